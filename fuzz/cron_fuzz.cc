// Cron expressions: a refusal that names what is wrong; or times that grow, each of which a walk
// with the C library's calendar finds due as well, and none of the seconds looked at in between.
// Input: zone:1 from:8 samples:2, then the text.
#include <string>

#include "engine/cron_expr.h"
#include "fuzz_check.h"
#include "input.h"
#include "support/cron_reference.h"

namespace wq {
namespace {

constexpr const char* zones[] = {"",
                                 "America/New_York",
                                 "Europe/Berlin",
                                 "Australia/Lord_Howe",
                                 "America/Santiago",
                                 "Pacific/Apia",
                                 "Asia/Kathmandu"};
constexpr int times_max = 8;
constexpr int64_t samples_max = 64;

void check_times(const CronExpr& expr, const Zone& zone, int64_t from_ms, uint32_t seed) {
  const CronReference reference(expr, zone);
  for (int i = 0; i < times_max; ++i) {
    const auto next = cron_next(expr, zone, from_ms);
    FUZZ_CHECK(next.ok());
    if (!next.value()) return;
    const int64_t next_ms = *next.value();
    FUZZ_CHECK(next_ms > from_ms && next_ms <= cron_time_ms_max);
    if (expr.every_ms != 0) {
      FUZZ_CHECK(next_ms % expr.every_ms == 0 && next_ms - from_ms <= expr.every_ms);
    } else {
      FUZZ_CHECK(next_ms % 1'000 == 0 && reference.is_due(next_ms / 1'000));
      const int64_t first_s = from_ms / 1'000 + 1;
      const int64_t between_s = next_ms / 1'000 - first_s;
      for (int64_t s = 0; s < samples_max && s < between_s; ++s) {
        seed = seed * 1'103'515'245 + 12'345;
        const int64_t at_s = first_s + (s < 8 ? s : int64_t{seed >> 8} % between_s);
        FUZZ_CHECK(!reference.is_due(at_s));
      }
    }
    from_ms = next_ms;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto zone = Zone::load(zones[input.byte() % std::size(zones)]);
  FUZZ_CHECK(zone.ok());
  const auto from_ms =
      static_cast<int64_t>(input.take<uint64_t>() % static_cast<uint64_t>(cron_time_ms_max + 1));
  const uint32_t seed = input.below(65'536);
  const std::string text = input.rest();
  const auto expr = parse_cron(text);
  if (!expr.ok()) {
    FUZZ_CHECK(expr.status().code() == Code::invalid);
    FUZZ_CHECK(expr.status().message().starts_with("expression: "));
    return 0;
  }
  check_times(expr.value(), zone.value(), from_ms, seed);
  return 0;
}

}  // namespace wq
