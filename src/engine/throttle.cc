#include "engine/throttle.h"

#include <algorithm>

#include "base/planted.h"

namespace wq {

bool Breaker::note_exception(const Throttle& throttle, int64_t now_ms) {
  if (throttle.count == 0 || is_cooling(now_ms)) return false;
  *this = rebased(throttle, now_ms);
  if (!WQ_PLANTED(throttle_window_stands)) {
    std::erase_if(failed_ms, [&](int64_t at_ms) { return now_ms - at_ms >= throttle.window_ms; });
  }
  failed_ms.push_back(now_ms);
  if (failed_ms.size() < throttle.count) return false;
  failed_ms.clear();
  cool_until_ms = now_ms + throttle.cool_ms;
  return true;
}

Breaker Breaker::rebased(const Throttle& throttle, int64_t now_ms) const {
  if (throttle.count == 0) return {};
  Breaker out = *this;
  out.cool_until_ms = std::min(cool_until_ms, now_ms + throttle.cool_ms);
  for (int64_t& at_ms : out.failed_ms) at_ms = std::min(at_ms, now_ms);
  return out;
}

int64_t Breaker::kept_until_ms(const Throttle& throttle) const {
  if (throttle.count == 0) return 0;
  const int64_t counts_until_ms = failed_ms.empty() ? 0 : failed_ms.back() + throttle.window_ms;
  return std::max(cool_until_ms, counts_until_ms);
}

}  // namespace wq
