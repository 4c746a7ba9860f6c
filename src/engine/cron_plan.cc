#include "engine/cron_plan.h"

#include <algorithm>

#include "base/planted.h"

namespace wq {
namespace {

struct Search {
  const CronExpr& expr;
  const Zone& zone;

  // 0 = never again.
  Result<int64_t> next(int64_t from_ms) const {
    WQ_TRY_SET(const std::optional<int64_t> found, cron_next(expr, zone, from_ms));
    return found.value_or(0);
  }

  // Up to `limit` slots after `from_ms` and not after `until_ms`; `next_ms` is the one behind them.
  Status collect(int64_t from_ms, int64_t until_ms, size_t limit, std::vector<int64_t>& slots,
                 int64_t& next_ms) const {
    slots.clear();
    WQ_TRY_SET(next_ms, next(from_ms));
    while (next_ms != 0 && next_ms <= until_ms && slots.size() < limit) {
      slots.push_back(next_ms);
      WQ_TRY_SET(next_ms, next(next_ms));
    }
    return {};
  }

  // The newest `count` slots after `from_ms` and not after `until_ms`, of which there are more:
  // halves the time in question until it holds just that many.
  Status newest(int64_t from_ms, int64_t until_ms, size_t count,
                std::vector<int64_t>& slots) const {
    int64_t low_ms = from_ms;
    int64_t high_ms = until_ms;
    int64_t next_ms = 0;
    while (high_ms - low_ms > 1) {
      const int64_t middle_ms = low_ms + (high_ms - low_ms) / 2;
      WQ_TRY(collect(middle_ms, until_ms, count, slots, next_ms));
      (slots.size() < count ? high_ms : low_ms) = middle_ms;
    }
    return collect(low_ms, until_ms, count, slots, next_ms);
  }
};

}  // namespace

Result<CronPlan> plan_cron(const CronExpr& expr, const Zone& zone, int64_t due_ms, int64_t now_ms,
                           uint32_t catch_up) {
  const Search search{expr, zone};
  std::vector<int64_t> due{due_ms};
  std::vector<int64_t> later;
  CronPlan plan;
  WQ_TRY(search.collect(due_ms, now_ms, cron_count_max, later, plan.next_due_ms));
  due.insert(due.end(), later.begin(), later.end());
  const bool more = plan.next_due_ms != 0 && plan.next_due_ms <= now_ms;
  if (more) {
    WQ_TRY(search.newest(due_ms, now_ms, std::max<uint32_t>(1, catch_up), later));
    WQ_TRY_SET(plan.next_due_ms, search.next(now_ms));
  } else {
    later = due;
  }
  // `later` ends with the newest slots now, and has as many as may run.
  plan.last_ms = later.back();
  const bool on_time = now_ms - later.back() <= cron_on_time_ms;
  size_t running = std::min<size_t>(later.size(), std::max<uint32_t>(catch_up, on_time ? 1 : 0));
  if (WQ_PLANTED(cron_catch_up_ignored)) running = std::min<size_t>(later.size(), 1);
  plan.slots.assign(later.end() - static_cast<ptrdiff_t>(running), later.end());
  plan.missed = due.size() - std::min(due.size(), running);
  return plan;
}

}  // namespace wq
