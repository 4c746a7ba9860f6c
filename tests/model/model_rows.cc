// The model's kv rows, history and schedules.
#include "model/model.h"

namespace wq::model {

const KvRow* Model::live_row(const std::string& key, Now now) const {
  const auto row = kv.find(key);
  return row == kv.end() || !row->second.is_live(now) ? nullptr : &row->second;
}

// ---- history

// The newest are kept, as far as count and age of the configuration allow. What the count kept out
// when another job was acked is out for good.
void Model::keep_done(Queue& queue, const Job& job, const Settlement& what, Now now) {
  const QueueConfig& config = queue.config;
  if (config.keep_done_count == 0 && config.keep_done_age_ms == 0) return;
  Done done;
  done.id = job.id;
  done.generation = job.generation;
  done.enqueued_ms = job.enqueued_ms;
  done.leased_ms = job.leased_ms;
  done.done_ms = now.wall_ms;
  done.batch = job.spec.flow.batch;
  done.attempts = job.attempts;
  done.exceptions = job.exceptions;
  done.replays = job.replays;
  done.priority = job.spec.priority;
  done.result = what.result;
  queue.done.push_back(std::move(done));
  if (config.keep_done_count == 0 || queue.done.size() <= config.keep_done_count) return;
  for (size_t i = 0; i < queue.done.size() - config.keep_done_count; ++i) {
    queue.done[i].outside = true;
  }
}

bool Model::is_kept(const Queue& queue, size_t at, Now now) {
  const QueueConfig& config = queue.config;
  if (config.keep_done_count == 0 && config.keep_done_age_ms == 0) return false;
  if (queue.done[at].outside) return false;
  const size_t newer = queue.done.size() - at - 1;
  if (config.keep_done_count != 0 && newer >= config.keep_done_count) return false;
  return config.keep_done_age_ms == 0 ||
         now.wall_ms - queue.done[at].done_ms < config.keep_done_age_ms;
}

// What the configuration does not keep now may be gone when another one would keep it again.
void Model::doubt_history(Queue& queue, Now now) {
  Now latest = now;
  latest.wall_ms = std::max(now.wall_ms, now.wall_max_ms);
  for (size_t i = 0; i < queue.done.size(); ++i) {
    if (!is_kept(queue, i, latest)) queue.done[i].uncertain = true;
  }
}

// ---- schedules

std::vector<std::string> Model::due_schedules(int64_t wall_ms) const {
  std::map<std::pair<int64_t, std::string>, std::string> due;
  for (const auto& [name, schedule] : schedules) {
    if (schedule.paused || schedule.next_due_ms == 0 || schedule.next_due_ms > wall_ms) continue;
    due[{schedule.next_due_ms, name}] = name;
  }
  std::vector<std::string> names;
  for (const auto& [place, name] : due) names.push_back(name);
  return names;
}

// The newest slots run: those of the catch-up, and one that is no more than 10 s late in any case.
// Of a disabled queue they are all missed; those that a full one has no room for stay due.
bool Model::fire(const std::string& name, Now now) {
  constexpr int64_t on_time_ms = 10'000;
  constexpr uint64_t counted_max = 2'001;  // more missed ones are not counted
  Schedule& schedule = schedules.at(name);
  const auto due =
      static_cast<uint64_t>((now.wall_ms - schedule.next_due_ms) / schedule.every_ms) + 1;
  const int64_t newest_ms =
      schedule.next_due_ms + static_cast<int64_t>(due - 1) * schedule.every_ms;
  const bool on_time = now.wall_ms - newest_ms <= on_time_ms;
  uint64_t running = std::min<uint64_t>(due, std::max(schedule.catch_up, on_time ? 1u : 0u));
  Queue& queue = queues.at(schedule.queue);
  if (queue.config.status == QueueStatus::disabled) running = 0;
  const auto slot_ms = [&](uint64_t i) {
    return newest_ms - static_cast<int64_t>(running - 1 - i) * schedule.every_ms;
  };
  Intake in;
  std::vector<JobId> dropped;
  for (; in.jobs < running; ++in.jobs) {
    std::vector<JobId> more;
    Intake with_next = in;
    ++with_next.jobs;
    if (admit(queue, with_next, {}, &more) != Code::ok) break;
    dropped = std::move(more);
  }
  if (in.jobs == 0 && running != 0) return false;
  schedule.missed += std::min(due, counted_max) - running;
  schedule.fired += in.jobs;
  const JobId first = next_id;
  reserve(first + in.jobs - 1);
  for (uint64_t i = 0; i < in.jobs; ++i) {
    Spec spec;
    spec.payload = schedule.payload;
    spec.priority = schedule.priority;
    spec.max_attempts = schedule.max_attempts;
    spec.headers.emplace_back("wq-schedule", name);
    spec.headers.emplace_back("wq-slot-ms", std::to_string(slot_ms(i)));
    enqueue(schedule.queue, first + i, spec, now);
  }
  drop(schedule.queue, dropped, now);
  schedule.last_slot_ms = in.jobs == 0 ? newest_ms : slot_ms(in.jobs - 1);
  schedule.next_due_ms = schedule.last_slot_ms + schedule.every_ms;
  return true;
}

}  // namespace wq::model
