// What the types of types.h can compute by themselves. Pure functions, safe from any thread.
#include "engine/types.h"

#include <algorithm>

#include "base/prng.h"

namespace wq {
namespace {

// base * 2^(failures - 1), at most `cap_ms`, without ever leaving the range of int64_t.
int64_t doubled_ms(int64_t base_ms, uint32_t failures, int64_t cap_ms) {
  if (base_ms <= 0) return 0;
  const uint32_t shift = failures - 1;
  if (shift >= 63 || base_ms > (cap_ms >> shift)) return cap_ms;
  return base_ms << shift;
}

int64_t raw_delay_ms(const Backoff& policy, uint32_t failures) {
  switch (policy.kind) {
    case BackoffKind::none:
      return 0;
    case BackoffKind::fixed:
      return policy.base_ms;
    case BackoffKind::exponential:
      return doubled_ms(policy.base_ms, failures, std::min(policy.max_ms, delay_ms_max));
    case BackoffKind::list: {
      if (policy.list_ms.empty()) return 0;
      const size_t last = policy.list_ms.size() - 1;
      return policy.list_ms[std::min<size_t>(failures - 1, last)];
    }
  }
  return 0;
}

// Length of the UTF-8 sequence at text[0], 0 if it is not a valid one (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF).
size_t utf8_sequence_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (lead == 0xe0) second_min = 0xa0;
  if (lead == 0xed) second_max = 0x9f;
  if (lead == 0xf0) second_min = 0x90;
  if (lead == 0xf4) second_max = 0x8f;
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < second_min || byte(1) > second_max) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

}  // namespace

int64_t backoff_delay_ms(const Backoff& policy, uint32_t failures) {
  if (failures == 0) return 0;
  return std::clamp<int64_t>(raw_delay_ms(policy, failures), 0, delay_ms_max);
}

int64_t drawn_delay_ms(const Backoff& policy, uint32_t failures, Prng& prng) {
  const int64_t delay_ms = backoff_delay_ms(policy, failures);
  const auto spread_ms = static_cast<uint64_t>(delay_ms) * policy.jitter_permille / 1'000;
  return delay_ms - static_cast<int64_t>(prng.below(spread_ms + 1));
}

bool queue_name_valid(std::string_view name) {
  if (name.empty() || name.size() > queue_name_bytes_max) return false;
  while (!name.empty()) {
    const auto lead = static_cast<uint8_t>(name[0]);
    if (lead < 0x20 || lead == 0x7f) return false;
    const size_t length = utf8_sequence_bytes(name);
    if (length == 0) return false;
    name.remove_prefix(length);
  }
  return true;
}

std::string printable_text(std::string_view bytes, size_t bytes_max) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = utf8_sequence_bytes(bytes.substr(i));
    if (out.size() + std::max<size_t>(length, 1) > bytes_max) break;
    const auto first = static_cast<unsigned char>(bytes[i]);
    if (length == 0) {
      out += '?';
    } else if (length == 1 && (first < 0x20 || first == 0x7f)) {
      out += ' ';
    } else {
      out += bytes.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return out;
}

}  // namespace wq
