// Ends ready jobs that did not start in time and are only in the store. Those in memory have
// timers, and nobody can lease one before it comes to memory; but counts, depths and batches would
// take such a job for one that waits, for ever in a queue that nobody leases from. An index on the
// disk would cost each job that names an end two rows more, so this looks at the jobs themselves:
// in passes over the queues that may have any, a page at a time, and not before the next one is to
// end as far as is known. The longer a pass takes, the longer the next one waits. Threads: the
// maintenance thread, or whoever ticks.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/job_limits.h"

namespace wq {
namespace {

constexpr int64_t pass_gap_ms = 10'000;
constexpr int64_t gap_of_duration = 20;  // a pass in twenty of its lengths

struct Ending {
  int64_t end_ms = 0;
  StoredJob job;
};

struct EndingPage {
  std::vector<Ending> over;
  std::vector<std::pair<int64_t, JobId>> later;
  std::string next;  // the key that follows
  bool complete = false;
};

bool has_cold(const Lanes& lanes) {
  return std::any_of(lanes.begin(), lanes.end(),
                     [](const auto& lane) { return lane->cold_count > 0; });
}

// Whether a job of the queue that is only in the store may have to end.
bool may_have_any(const Queue* queue) {
  if (!queue || (queue->expiring == 0 && queue->config.job_ttl_ms == 0)) return false;
  return has_cold(queue->lanes) ||
         std::any_of(queue->gates.begin(), queue->gates.end(),
                     [](const auto& entry) { return has_cold(entry.second->lines); });
}

Result<EndingPage> read_ending(const Store& store, const std::string& lower,
                               const std::string& upper, int64_t ttl_ms, int64_t now_ms) {
  EndingPage page;
  StoredJobReader jobs(store);
  const auto cursor = store.scan(Family::ready, lower, upper);
  size_t rows = 0;
  size_t bytes = 0;
  for (; cursor->valid(); cursor->next()) {
    page.next = std::string(cursor->key());
    if (rows++ >= page_limits.rows || bytes >= page_limits.bytes) return page;
    if (page.over.size() >= due_step_max) return page;
    const auto id = parse_id_value(cursor->value());
    if (!id) return Status(Code::corrupt, "db: family ready: malformed row; run wq verify");
    WQ_TRY_SET(StoredJob job, jobs.read(*id));
    bytes += job.body.size();
    if (job.row.state != JobState::ready) continue;
    const int64_t end_ms = expiry_ms(job.row, job.body.bytes(), ttl_ms);
    if (end_ms == 0) continue;
    if (end_ms > now_ms) {
      page.later.emplace_back(end_ms, *id);
    } else {
      page.over.push_back({end_ms, std::move(job)});
    }
  }
  WQ_TRY(cursor->status());
  page.complete = true;
  return page;
}

}  // namespace

bool Engine::cold_expiry_wanted() {
  return cold_expiry_wait_ms() == 0 && !state_.importing;
}

int64_t Engine::cold_expiry_wait_ms() {
  if (WQ_PLANTED(cold_expiry_ignored)) return sleep_ms_max;
  int64_t wait_ms = 0;
  if (!cold_pass_.running) {
    wait_ms = std::max<int64_t>(0, state_.cold_expiry_ms - wall_ms());
    if (cold_pass_.not_before_ms > run_ms()) {
      wait_ms = std::max(wait_ms, cold_pass_.not_before_ms - run_ms());
    }
  }
  const bool has_room = state_.resident_bytes() <= memory_limit_;  // memory comes first
  return has_room ? wait_ms : std::max(wait_ms, no_room_poll_ms);
}

void Engine::end_cold_pass() {
  ColdPass done = std::exchange(cold_pass_, {});
  const int64_t now_ms = run_ms();
  const int64_t took_ms = std::max<int64_t>(0, now_ms - done.began_ms);
  cold_pass_.not_before_ms = now_ms + std::max(pass_gap_ms, gap_of_duration * took_ms);
  state_.cold_expiry_ms = std::min(state_.cold_expiry_ms, done.first_ms);
}

// A step of the pass; true = there is more to do at once. Jobs that leave memory meanwhile tell
// State::cold_expiry_ms when they are to end.
Result<bool> Engine::expire_cold() {
  ColdPass& pass = cold_pass_;
  if (!std::exchange(pass.running, true)) {
    pass.queue = 1;
    pass.began_ms = run_ms();
    state_.cold_expiry_ms = INT64_MAX;
  }
  for (size_t i = 0; i < due_step_max; ++i) {
    if (pass.queue >= state_.next_queue_id) {
      end_cold_pass();
      return false;
    }
    if (may_have_any(state_.find_queue(pass.queue))) return expire_page();
    ++pass.queue;
    pass.lines = false;
    pass.after.clear();
  }
  return true;
}

Result<bool> Engine::expire_page() {
  ColdPass& pass = cold_pass_;
  const QueueId id = pass.queue;
  const int64_t ttl_ms = state_.find_queue(id)->config.job_ttl_ms;
  const int64_t now_ms = wall_ms();
  const std::string first = pass.lines ? line_key(id, 0, 0, 0) : ready_key(id, 0, 0);
  const std::string last = pass.lines ? line_key(id, UINT64_MAX, UINT8_MAX, UINT64_MAX)
                                      : ready_key(id, UINT8_MAX, UINT64_MAX);
  const std::string from = pass.after.empty() ? first : pass.after;
  const uint64_t version = store_version_;
  const auto read = [&] {
    MutexGap gap(mutex_);
    Result<EndingPage> page = read_ending(*store_, from, prefix_end(last), ttl_ms, now_ms);
    if (environment_.page_was_read) environment_.page_was_read();
    return page;
  };
  Result<EndingPage> page = read();
  if (!page.ok()) return page.take_status();
  const Queue* queue = state_.find_queue(id);
  if (!queue || version != store_version_ || queue->config.job_ttl_ms != ttl_ms) return true;
  for (const auto& [end_ms, job] : page->later) {
    if (!state_.find(job)) pass.first_ms = std::min(pass.first_ms, end_ms);
  }
  std::erase_if(page->over, [&](const Ending& each) {
    mutex_.assert_held();
    return state_.find(each.job.id) || !is_live_row(queue, each.job.row);
  });
  std::sort(page->over.begin(), page->over.end(), [](const Ending& a, const Ending& b) {
    return std::pair(a.end_ms, a.job.id) < std::pair(b.end_ms, b.job.id);
  });
  pass.after = std::move(page->next);
  if (page->complete) {
    pass.after.clear();
    if (std::exchange(pass.lines, !pass.lines)) ++pass.queue;
  }
  if (page->over.empty()) return true;
  Command& command = begin(CommandType::expire_jobs, now_ms);
  for (const Ending& each : page->over) command.ids.push_back(each.job.id);
  const LogRoom room(*this, LogRoom::few_jobs_bytes);
  WQ_TRY(room.status());
  try {
    for (Ending& each : page->over) WQ_TRY(bring_in(std::move(each.job)));
    WQ_TRY(commit(command).take_status());
  } catch (...) {
    set_failure("stored jobs could not be ended");
    throw;
  }
  return true;
}

}  // namespace wq
