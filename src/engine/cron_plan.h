// CronPlan: which of the slots that are due run, and which were missed. A slot is a time at which a
// schedule is due; it runs at most once. Pure functions. Thread model: any.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cron_expr.h"

namespace wq {

constexpr uint32_t cron_catch_up_max = 1'000;
// A slot that is no later than this is on time: it runs whatever the catch-up policy says.
constexpr int64_t cron_on_time_ms = 10'000;
// Missed slots are counted up to here; of a longer gap only the newest are looked at.
constexpr size_t cron_count_max = 2'000;

struct CronPlan {
  std::vector<int64_t> slots;  // to run, oldest first
  uint64_t missed = 0;
  int64_t last_ms = 0;      // the newest slot that is due, run or missed
  int64_t next_due_ms = 0;  // 0 = never again
};

// `due_ms` is the first slot that is due, not after `now_ms`. The newest `catch_up` slots run.
Result<CronPlan> plan_cron(const CronExpr& expr, const Zone& zone, int64_t due_ms, int64_t now_ms,
                           uint32_t catch_up);

}  // namespace wq
