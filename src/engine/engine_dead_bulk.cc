// Dead letters in great numbers: replay or removal of all that a query wants, and the caps of a
// queue. Both go step by step, oldest first: a step reads up to dead_step_max letters with the lock
// released, and changes them by one command. So a million of them hold nobody up for longer than a
// few milliseconds, and a crash in the middle leaves each letter either as it was or changed.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/batch.h"
#include "engine/dead_scan.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/follow_up.h"

namespace wq {

struct Engine::DeadStep {
  struct Found {
    uint64_t seq = 0;
    Token token;
    int64_t died_ms = 0;
    uint64_t bytes = 0;     // of its envelope
    uint64_t examined = 0;  // stored or resident ones up to this one
    StoredJob stored;       // id 0: it is resident
  };
  QueueId queue = 0;
  uint64_t cursor = 0;  // all up to this seq were looked at
  uint64_t end = 0;     // the walk ends before this seq
  size_t limit = dead_step_max;
  std::vector<Found> found;  // by seq
  uint64_t examined = 0;     // by this step
  bool complete = false;
  Load planned;  // dry run: what would have been replayed so far

  // Leaves to the next step what is too much for this one.
  void cut() {
    found.resize(limit);
    cursor = found.back().seq;
    complete = false;
    uint64_t of_stored = 0;
    uint64_t of_resident = 0;
    for (const Found& one : found) (one.stored.id != 0 ? of_stored : of_resident) = one.examined;
    examined = of_stored + of_resident;
  }
};

// Fills step.found with the next letters that the query wants and moves the cursor on. The lock is
// released meanwhile, but not between the last look and the return.
Status Engine::find_dead(const DeadQuery& query, DeadStep& step) {
  const DeadRange range{step.queue, step.cursor + 1, step.end, false};
  const PageLimits limits{step.limit, dead_step_bytes_max};
  for (;;) {
    const uint64_t version = store_version_;
    const auto read = [&] {
      const MutexGap gap(mutex_);
      Result<DeadScan> scan = scan_dead(*store_, range, query, limits);
      if (environment_.page_was_read) environment_.page_was_read();
      return scan;
    };
    Result<DeadScan> scan = read();
    if (!scan.ok()) return scan.take_status();
    if (version != store_version_) continue;
    const Queue* queue = state_.find_queue(step.queue);
    if (!queue) return no_such_queue();
    step.found.clear();
    step.complete = scan->complete;
    const uint64_t last = scan->complete ? step.end - 1 : scan->last_seq;
    for (ScannedDead& row : scan->rows) {
      if (state_.find(row.job.id) || !is_live_row(queue, row.job.row)) continue;
      const Token token{row.job.id, row.job.row.generation};
      step.found.push_back({row.seq, token, row.job.row.since_ms, row.job.body.size(), row.examined,
                            std::move(row.job)});
    }
    size_t resident = 0;
    uint64_t looked_at = 0;
    for (const Job* job = queue->dead.front(); job; job = queue->dead.next(job)) {
      if (job->position <= step.cursor) continue;
      if (job->position > last || resident > step.limit) break;
      ++looked_at;
      const std::string_view error = job->last_error ? *job->last_error : std::string_view();
      if (!query.wants(job->reason, job->since_ms, error)) continue;
      ++resident;
      step.found.push_back({job->position,
                            Token{job->id, job->generation},
                            job->since_ms,
                            job->body.size(),
                            looked_at,
                            {}});
    }
    std::sort(step.found.begin(), step.found.end(),
              [](const auto& a, const auto& b) { return a.seq < b.seq; });
    step.cursor = last;
    step.examined = scan->examined + looked_at;
    if (step.found.size() > step.limit) step.cut();
    return {};
  }
}

// One command for all that was found; under the lock of find_dead().
Status Engine::change_found(CommandType type, DeadStep& step, Lsn& lsn) {
  Command& command = begin(type);
  command.queue = step.queue;
  if (type == CommandType::dead_replay) command.first_generation = state_.next_generation;
  for (const DeadStep::Found& found : step.found) {
    SettleItem& item = command.settles.emplace_back();
    item.id = found.token.id;
    item.generation = found.token.generation;
  }
  const LogRoom room(*this, LogRoom::few_jobs_bytes);
  WQ_TRY(room.status());
  try {
    for (DeadStep::Found& found : step.found) {
      if (found.stored.id == 0) continue;
      WQ_TRY(bring_in(std::move(found.stored)));
    }
    WQ_TRY_SET(lsn, commit(command));
  } catch (...) {
    set_failure("stored dead letters could not be changed");
    throw;
  }
  return {};
}

// ---- bulk changes

Status no_room_for_replay() {
  return Status(Code::full, "the queue is at its max_depth or max_bytes; a replay drops no job");
}

Status batch_is_cancelled(uint64_t batch) {
  return Status(Code::conflict, "its flow " + std::to_string(batch) +
                                    " was cancelled and waits for jobs that still run; replay it "
                                    "when that has finished");
}

uint64_t cancelled_batch_of(const State& state, JobId id, const StoredJob* stored) {
  if (const Job* job = state.find(id)) {
    return job->traits && !may_run_again(state, *job) ? job->traits->batch : 0;
  }
  if (!stored || stored->batch == 0) return 0;
  if (state.side(Family::batch).find(batch_row_key(stored->batch))) {  // it may have changed since
    return is_batch_cancelled(state, stored->batch) ? stored->batch : 0;
  }
  const auto row = stored->batch_row ? decode_batch_row(*stored->batch_row) : std::nullopt;
  const bool cancelled = row && !row->is_finished() && (row->flags & batch_cancelled) != 0;
  return cancelled ? stored->batch : 0;
}

namespace {

// What a replay of many answers for one of them. CONFLICT is of its batch: no import is open.
bool is_passed_over(Code code) {
  return code == Code::stale || code == Code::not_found || code == Code::duplicate ||
         code == Code::conflict;
}

}  // namespace

// From the first that takes a key again, which somebody else may hold: each has a record of its
// own, and so have those behind it, as the oldest come first.
std::vector<Token> Engine::take_from_keyed(DeadStep& step) {
  const auto has_key = [&](const DeadStep::Found& found) {
    mutex_.assert_held();
    const Job* job = found.stored.id == 0 ? state_.find(found.token.id) : nullptr;
    const auto stored = job ? nullptr : trusted_traits(found.stored.body.bytes());
    const JobTraits* traits = job ? job->traits.get() : stored.get();
    return traits && traits->key_rule == KeyRule::until_done;
  };
  const auto first = std::find_if(step.found.begin(), step.found.end(), has_key);
  std::vector<Token> taken;
  for (auto found = first; found != step.found.end(); ++found) taken.push_back(found->token);
  step.found.erase(first, step.found.end());
  return taken;
}

// One that is gone by now, whose key is held, or whose batch was cancelled, is passed over.
Status Engine::replay_each(QueueId id, std::span<const Token> entries, DeadBulkReport& report,
                           Lsn& lsn) {
  for (const Token& entry : entries) {
    CallOptions one;
    one.durability = static_cast<uint32_t>(Durability::memory);
    Status status = dead_replay(id, entry, one);
    if (is_passed_over(status.code())) continue;
    WQ_TRY(std::move(status));
    ++report.changed;
    if (one.lsn != 0) lsn = one.lsn;
  }
  return {};
}

Status Engine::bulk_step(const DeadBulk& bulk, DeadStep& step, DeadBulkReport& report, Lsn& lsn) {
  if (bulk.progress) WQ_TRY(bulk.progress(report.changed, report.examined));
  WQ_TRY(wait_for_room());
  std::vector<Token> one_by_one;
  WQ_TRY(bulk_records(bulk, step, one_by_one, report, lsn));
  return replay_each(step.queue, one_by_one, report, lsn);
}

Status Engine::bulk_records(const DeadBulk& bulk, DeadStep& step, std::vector<Token>& one_by_one,
                            DeadBulkReport& report, Lsn& lsn) {
  MutexLock lock(mutex_);
  WQ_TRY(queue_for(step.queue).take_status());
  step.limit = dead_step_max;
  if (bulk.limit != 0) step.limit = std::min(step.limit, size_t{bulk.limit - report.changed});
  WQ_TRY(find_dead(bulk.query, step));
  report.examined += step.examined;
  Status stop;
  if (!bulk.remove) {
    std::erase_if(step.found, [&](const DeadStep::Found& found) {
      mutex_.assert_held();
      return cancelled_batch_of(state_, found.token.id, &found.stored) != 0;
    });
  }
  if (!bulk.remove && !bulk.dry_run) one_by_one = take_from_keyed(step);
  if (!bulk.remove) {
    const Queue* queue = state_.find_queue(step.queue);
    Load load = step.planned;
    size_t fitting = 0;
    for (const DeadStep::Found& found : step.found) {
      if (!queue->has_room(load.jobs + 1, load.bytes + found.bytes)) break;
      load.add(found.bytes);
      ++fitting;
    }
    if (fitting < step.found.size()) stop = no_room_for_replay();
    step.found.resize(fitting);
    if (bulk.dry_run) step.planned = load;
  }
  if (!bulk.dry_run && !step.found.empty()) {
    const auto type = bulk.remove ? CommandType::dead_remove : CommandType::dead_replay;
    WQ_TRY(change_found(type, step, lsn));
  }
  report.changed += step.found.size();
  return stop;
}

Status Engine::bulk_query(QueueId id, const DeadBulk& bulk, DeadBulkReport& report, Lsn& lsn) {
  DeadStep step;
  step.queue = id;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    step.end = queue->next_dead_seq;  // none that dies from now on, also not again
  }
  while (!step.complete && (bulk.limit == 0 || report.changed < bulk.limit)) {
    WQ_TRY(bulk_step(bulk, step, report, lsn));
  }
  return {};
}

// Entries that are stale by now, or can not be replayed, are passed over.
Status Engine::bulk_entries(QueueId id, const DeadBulk& bulk, DeadBulkReport& report, Lsn& lsn) {
  for (const Token& entry : bulk.entries) {
    if (bulk.limit != 0 && report.changed >= bulk.limit) return {};
    if (bulk.progress) WQ_TRY(bulk.progress(report.changed, report.examined));
    WQ_TRY(wait_for_room());
    CallOptions one;
    one.durability = static_cast<uint32_t>(Durability::memory);
    Status status = bulk.dry_run  ? dead_get(id, entry).take_status()
                    : bulk.remove ? dead_remove(id, entry, one)
                                  : dead_replay(id, entry, one);
    ++report.examined;
    if (is_passed_over(status.code())) {
      MutexLock lock(mutex_);
      WQ_TRY(queue_for(id).take_status());
      continue;
    }
    WQ_TRY(std::move(status));
    ++report.changed;
    if (one.lsn != 0) lsn = one.lsn;
  }
  return {};
}

Status Engine::dead_bulk(QueueId id, const DeadBulk& bulk, CallOptions& call,
                         DeadBulkReport& report) {
  WQ_ENTER();
  report = DeadBulkReport();
  Lsn lsn = 0;
  Status stopped = bulk.entries.empty() ? bulk_query(id, bulk, report, lsn)
                                        : bulk_entries(id, bulk, report, lsn);
  if (lsn == 0) return stopped;
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return stopped;
}

// A single replay that is refused leaves the job where it was.
Status Engine::refuse_replay(const Queue& queue, Job* job) {
  Status status;
  const uint64_t batch = cancelled_batch_of(state_, job->id, nullptr);
  if (batch != 0 && !WQ_PLANTED(cancelled_flow_replayed)) status = batch_is_cancelled(batch);
  const bool full = !queue.has_room(1, job->body.size()) && !WQ_PLANTED(queue_limit_ignored);
  if (status.ok() && full) status = no_room_for_replay();
  if (!status.ok() && !job->place.linked()) {  // read for this call only
    state_.evict(job);
    ++store_version_;
  }
  return status;
}

// ---- caps (maintenance)

// A pass over the queues, one step of it per call; true = there is more to do at once. After a pass
// state_.dead_trim_ms says when the next is due.
Result<bool> Engine::trim_dead(int64_t now_ms) {
  if (state_.resident_bytes() > memory_limit_) {  // a step reads letters: memory comes first
    checkpoint_wanted_ = true;
    checkpoint_wake_.notify_one();
    return false;
  }
  if (trim_queue_ == 0) {
    trim_queue_ = 1;
    state_.dead_trim_ms = INT64_MAX;  // noted anew by whoever dies meanwhile
  }
  for (size_t i = 0; i < due_step_max; ++i, ++trim_queue_) {
    if (trim_queue_ >= state_.next_queue_id) {
      trim_queue_ = 0;
      return state_.dead_trim_ms <= now_ms;
    }
    Queue* queue = state_.find_queue(trim_queue_);
    if (!queue) continue;
    const QueueConfig& config = queue->config;
    const bool capped = (config.dead_max_count != 0 || config.dead_max_age_ms != 0) &&
                        !WQ_PLANTED(dead_cap_ignored);
    if (!capped || queue->count(JobState::dead) == 0) queue->dead_due_ms = INT64_MAX;
    if (queue->dead_due_ms <= now_ms) {
      WQ_TRY(trim_queue(queue->id, now_ms));
      return true;
    }
    state_.dead_trim_ms = std::min(state_.dead_trim_ms, queue->dead_due_ms);
  }
  return true;
}

// Leaves in `step` what is over the caps of the queue. True: what follows is not. One that died
// while the clock was ahead says nothing of those behind it. `low_seq`: as long as none is kept,
// all up to there go.
bool Engine::leave_over_caps(Queue& queue, int64_t now_ms, DeadStep& step, bool& none_kept,
                             uint64_t& low_seq) {
  const QueueConfig& config = queue.config;
  const uint64_t count = queue.count(JobState::dead);
  const uint64_t over = config.dead_max_count != 0 && count > config.dead_max_count
                            ? count - config.dead_max_count
                            : 0;
  size_t going = 0;
  bool ends = false;
  for (DeadStep::Found& letter : step.found) {
    const int64_t due_ms = letter.died_ms + config.dead_max_age_ms;
    const bool too_old = config.dead_max_age_ms != 0 && due_ms <= now_ms;
    if (going < over || too_old) {
      if (none_kept) low_seq = letter.seq;
      std::swap(step.found[going++], letter);
      continue;
    }
    none_kept = false;
    if (config.dead_max_age_ms != 0) queue.dead_due_ms = std::min(queue.dead_due_ms, due_ms);
    ends = config.dead_max_age_ms == 0 || letter.died_ms <= now_ms;
    if (ends) break;
  }
  step.found.resize(going);
  return ends;
}

Status Engine::trim_queue(QueueId id, int64_t now_ms) {
  Queue* queue = state_.find_queue(id);
  queue->dead_due_ms = INT64_MAX;  // noted anew by whoever dies while the letters are read
  DeadStep step;
  step.queue = id;
  step.cursor = queue->dead_low_seq;
  step.end = queue->next_dead_seq;
  uint64_t low_seq = step.cursor;
  for (bool none_kept = true, ends = false; !ends;) {
    Status status = find_dead(DeadQuery(), step);
    if (status.code() == Code::not_found) return {};  // deleted meanwhile
    WQ_TRY(std::move(status));
    queue = state_.find_queue(id);
    ends = leave_over_caps(*queue, now_ms, step, none_kept, low_seq);
    ends |= step.complete || !step.found.empty();
  }
  if (step.found.empty()) return {};
  queue->dead_due_ms = 0;  // there may be more
  queue->dead_low_seq = low_seq;
  Lsn ignored = 0;
  return change_found(CommandType::dead_drop, step, ignored);
}

}  // namespace wq
