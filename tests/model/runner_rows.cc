// The runner's history and schedules.
#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr const char* schedule_names[] = {"hourly", "s", "\xc3\xa4 b"};

}  // namespace

std::string Runner::history(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Queue* queue = live_.find(id);
  if (!queue) {
    const Code code = engine().history_list(id, 0, 1).status().code();
    return code == Code::not_found ? std::string()
                                   : wrong_code("history_list", code, Code::not_found);
  }
  WQ_SAME_OR_SAY(compare_history(engine(), id, live_, now(), 1 + dice.below(6)));
  const Known known = any_job(id, dice);
  JobId asked = known.id;
  if (!queue->done.empty() && dice.below(4) != 0) {
    asked = queue->done[dice.below(queue->done.size())].id;
  }
  const Result<DoneJob> told = engine().history_get(id, asked);
  const auto done = std::find_if(queue->done.begin(), queue->done.end(),
                                 [&](const Done& each) { return each.id == asked; });
  const bool kept = done != queue->done.end() &&
                    Model::is_kept(*queue, static_cast<size_t>(done - queue->done.begin()), now());
  if (told.ok()) {
    if (!kept) return "history_get: job " + std::to_string(asked) + " is there";
    WQ_SAME("history_get: result", told.value().result, done->result);
    WQ_SAME("history_get: done_ms", told.value().done_ms, done->done_ms);
    return {};
  }
  const Code code = told.status().code();
  if (code != Code::not_found) return wrong_code("history_get", code, Code::not_found);
  const int64_t age_ms = queue->config.keep_done_age_ms;
  const bool doubtful =
      kept && (done->uncertain || (age_ms != 0 && now().may_be_gone(done->done_ms + age_ms)));
  if (kept && !doubtful) return "history_get: job " + std::to_string(asked) + " is missing";
  return {};
}

// ---- schedules

std::string Runner::cron_put(Prng& dice) {
  const QueueId id = any_queue(dice);
  // One that waits for room tries again at a moment of the engine's choice: others would come
  // before it, or behind.
  const size_t names = setting_.limits & limit_depth ? 1 : std::size(schedule_names);
  const std::string name = schedule_names[dice.below(names)];
  Schedule wanted;
  wanted.queue = id;
  constexpr int64_t times[] = {1, 1, 3, 10};
  const int64_t scale_s = std::max<int64_t>(1, int64_t{setting_.time_scale_ms} / 1'000);
  const int64_t every_s = scale_s * times[dice.below(std::size(times))];
  wanted.every_ms = every_s * 1'000;
  wanted.catch_up = static_cast<uint32_t>(dice.below(4));
  wanted.payload = "slot of " + name + (dice.below(3) == 0 ? " again" : "");
  wanted.priority = any_priority(dice);
  const std::string expression = "@every " + std::to_string(every_s) + "s";
  CronSpec spec;
  spec.expression = expression;
  spec.catch_up = wanted.catch_up;
  spec.job.payload = as_bytes(wanted.payload);
  spec.job.priority = wanted.priority;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().cron_put(id, name, spec, call).code();
  const Code expected = live_.find(id) ? Code::ok : Code::not_found;
  if (got != expected) return wrong_code("cron_put", got, expected);
  if (got != Code::ok) return expect_written(before, 0);
  const auto old = live_.schedules.find(name);
  const int64_t now_ms = now().wall_ms;
  if (old == live_.schedules.end()) {
    wanted.created_ms = now_ms;
    wanted.next_due_ms = wanted.slot_after(now_ms);
  } else {
    const Schedule& is = old->second;
    const bool same = is.queue == id && is.every_ms == wanted.every_ms &&
                      is.catch_up == wanted.catch_up && is.payload == wanted.payload &&
                      is.priority == wanted.priority;
    if (same) return expect_written(before, 0);
    wanted.paused = is.paused;
    wanted.next_due_ms = is.next_due_ms;
    wanted.last_slot_ms = is.last_slot_ms;
    wanted.created_ms = is.created_ms;
    wanted.fired = is.fired;
    wanted.missed = is.missed;
    if (is.every_ms != wanted.every_ms) {
      wanted.next_due_ms = wanted.slot_after(std::max(now_ms, is.last_slot_ms));
    }
  }
  acknowledged(call, Durability::power);
  changed(call.lsn, [name, wanted](Model& model) { model.schedules[name] = wanted; });
  return expect_written(before, 1);
}

std::string Runner::cron_remove(Prng& dice) {
  const std::string name = schedule_names[dice.below(std::size(schedule_names))];
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().cron_remove(name, call).code();
  const Code expected = live_.schedules.contains(name) ? Code::ok : Code::not_found;
  if (got != expected) return wrong_code("cron_remove", got, expected);
  if (got != Code::ok) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [name](Model& model) { model.schedules.erase(name); });
  return expect_written(before, 1);
}

// What came due while it was paused was not wanted.
std::string Runner::cron_pause(Prng& dice) {
  const std::string name = schedule_names[dice.below(std::size(schedule_names))];
  const bool pause = dice.below(3) == 0;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().cron_pause(name, pause, call).code();
  const auto schedule = live_.schedules.find(name);
  const Code expected = schedule == live_.schedules.end() ? Code::not_found : Code::ok;
  if (got != expected) return wrong_code("cron_pause", got, expected);
  if (got != Code::ok || schedule->second.paused == pause) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [name, pause, now_ms = now().wall_ms](Model& model) {
    Schedule& each = model.schedules.at(name);
    each.paused = pause;
    if (!pause) each.next_due_ms = each.slot_after(std::max(now_ms, each.last_slot_ms));
  });
  return expect_written(before, 1);
}

// Before a drain: a year has too many slots.
std::string Runner::remove_schedules() {
  while (!live_.schedules.empty()) {
    const std::string name = live_.schedules.begin()->first;
    CallOptions call;
    const Status status = engine().cron_remove(name, call);
    if (!status.ok()) return "drain: " + status.message();
    live_.schedules.erase(name);
  }
  return {};
}

// Before it is done on the model.
void Runner::note_due(const DueWork& work, Now at) {
  for (const auto& [id, letters] : work.dead_dropped) {
    const Queue& queue = live_.queues.at(id);
    const uint64_t most = queue.config.dead_max_count;
    const size_t over = most != 0 && queue.dead.size() > most ? queue.dead.size() - most : 0;
    note_rare(Rare::dead_over_count, std::min(over, letters.size()));
    if (letters.size() > over) note_rare(Rare::dead_over_age);
  }
  const size_t due = live_.due(at.wall_ms).size();
  if (work.promoted < due) note_rare(Rare::partial_promotion);
  const size_t overdue = live_.overdue(at.wall_ms, work.promoted).size();
  if (work.ended.size() < overdue) note_rare(Rare::expired_job_stays_cold);
  for (const Pick& pick : work.ended) {
    const Job* job = live_.find(pick.queue, pick.id);
    if (job->state == JobState::delayed) note_rare(Rare::delayed_job_expired);
  }
  for (const auto& [name, next_due_ms] : work.fired) {
    Model after = live_;
    if (!after.fire(name, at)) continue;
    const Schedule& was = live_.schedules.at(name);
    const Schedule& is = after.schedules.at(name);
    if (is.fired > was.fired) note_rare(Rare::slot_ran);
    if (is.fired > was.fired + 1) note_rare(Rare::slot_caught_up);
    if (is.missed > was.missed) note_rare(Rare::slot_missed);
    const QueueTotals& totals = live_.queues.at(was.queue).totals;
    if (after.queues.at(was.queue).totals.dropped > totals.dropped) {
      note_rare(Rare::slot_dropped_a_job);
    }
    if (is.next_due_ms <= at.wall_ms) note_rare(Rare::slot_waited_for_room);
  }
}

}  // namespace wq::model
