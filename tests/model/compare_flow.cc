#include "model/compare_flow.h"

#include <set>

#include "engine/batch.h"
#include "model/compare.h"

namespace wq::model {
namespace {

constexpr int64_t batch_kept_ms = int64_t{7} * 24 * 3600 * 1000;

std::string compare_done(const std::string& what, const DoneJob& got, const Done& done) {
  WQ_SAME(what + "id", got.id, done.id);
  WQ_SAME(what + "generation", got.generation, done.generation);
  WQ_SAME(what + "enqueued_ms", got.enqueued_ms, done.enqueued_ms);
  WQ_SAME(what + "leased_ms", got.leased_ms, done.leased_ms);
  WQ_SAME(what + "done_ms", got.done_ms, done.done_ms);
  WQ_SAME(what + "batch", got.batch, done.batch);
  WQ_SAME(what + "attempts", got.attempts, done.attempts);
  WQ_SAME(what + "exceptions", got.exceptions, done.exceptions);
  WQ_SAME(what + "replays", got.replays, done.replays);
  WQ_SAME(what + "priority", int{got.priority}, int{done.priority});
  WQ_SAME(what + "result", got.result, done.result);
  return {};
}

}  // namespace

std::string key_name(size_t i) {
  constexpr const char* names[key_names_count] = {"k", "key/1", "\x01\xff"};
  return names[i % key_names_count];
}

std::string compare_flow_view(const std::string& what, const JobView& view, const Job& job) {
  WQ_SAME(what + "progress", view.progress, job.progress);
  WQ_SAME(what + "batch", view.batch, job.spec.flow.batch);
  WQ_SAME(what + "chain_jobs", size_t{view.chain_jobs}, job.spec.flow.chain.size());
  return {};
}

std::string compare_stop(const std::string& what, const JobView& view, const Model& model,
                         const Job& job) {
  if (job.state != JobState::leased && job.state != JobState::running) return {};
  WQ_SAME(what + "batch_cancelled", view.batch_cancelled, model.is_cancelled(job.spec.flow.batch));
  return {};
}

// ---- history

std::string compare_history(Engine& engine, QueueId id, const Model& model, Now now, size_t page) {
  const Queue& queue = model.queues.at(id);
  const std::string what = "history of '" + queue.name + "': ";
  const int64_t age_ms = queue.config.keep_done_age_ms;
  uint64_t cursor = 0;
  size_t at = queue.done.size();
  do {
    const Result<DonePage> told = engine.history_list(id, cursor, page);
    if (!told.ok()) return what + told.status().message();
    for (const DoneJob& job : told.value().jobs) {
      for (;; --at) {
        if (at == 0) return what + "job " + std::to_string(job.id) + " is too many";
        const Done& done = queue.done[at - 1];
        if (done.id == job.id) break;
        const bool doubtful =
            done.uncertain || (age_ms != 0 && now.may_be_gone(done.done_ms + age_ms));
        if (Model::is_kept(queue, at - 1, now) && !doubtful) {
          return what + "job " + std::to_string(done.id) + " is missing";
        }
      }
      if (!Model::is_kept(queue, at - 1, now)) {
        return what + "job " + std::to_string(job.id) + " is kept too long";
      }
      WQ_SAME_OR_SAY(compare_done(what, job, queue.done[--at]));
    }
    cursor = told.value().next_cursor;
  } while (cursor != 0);
  for (; at > 0; --at) {
    const Done& done = queue.done[at - 1];
    const bool doubtful = done.uncertain || (age_ms != 0 && now.may_be_gone(done.done_ms + age_ms));
    if (Model::is_kept(queue, at - 1, now) && !doubtful) {
      return what + "job " + std::to_string(done.id) + " is missing at the end";
    }
  }
  return {};
}

// ---- kv rows

std::string compare_kv(Engine& engine, const Model& model, Now now, const std::string& prefix,
                       size_t page) {
  std::string after;
  auto expected = model.kv.lower_bound(prefix);
  // Up to the row `key`, or to the end: what is not told must not be there.
  const auto pass = [&](const std::string* key) -> std::string {
    for (; expected != model.kv.end() && (!key || expected->first != *key); ++expected) {
      const auto& [name, row] = *expected;
      if (key && name > *key) break;
      if (!name.starts_with(prefix) || !row.is_live(now)) continue;
      if (row.expires_ms != 0 && now.may_be_gone(row.expires_ms)) continue;
      return "kv row '" + name + "' is missing";
    }
    return {};
  };
  for (bool more = true; more;) {
    const Result<KvPage> told = engine.kv_list(prefix, after, page);
    if (!told.ok()) return "kv: " + told.status().message();
    for (size_t i = 0; i < told.value().keys.size(); ++i) {
      const std::string& key = told.value().keys[i];
      const KvEntry& got = told.value().entries[i];
      WQ_SAME_OR_SAY(pass(&key));
      const std::string what = "kv row '" + key + "': ";
      if (expected == model.kv.end() || expected->first != key) return what + "is too many";
      const KvRow& row = expected->second;
      if (!row.is_live(now)) return what + "has run out";
      WQ_SAME(what + "value", got.value, row.value);
      WQ_SAME(what + "version", got.version, row.version);
      WQ_SAME(what + "expires_ms", got.expires_ms, row.expires_ms);
      ++expected;
      after = key;
    }
    more = told.value().more;
  }
  return pass(nullptr);
}

// ---- batches

std::string compare_batch(const BatchStatus& got, uint64_t id, const Batch& batch) {
  const std::string what = "batch " + std::to_string(id) + ": ";
  uint32_t flags = batch.sealed ? batch_sealed : 0u;
  if (batch.cancelled_whole) flags |= batch_cancelled;
  if (batch.allows_failures) flags |= batch_allows_failures;
  WQ_SAME(what + "id", got.id, id);
  WQ_SAME(what + "flags", got.flags, flags);
  WQ_SAME(what + "total", got.total, batch.total());
  WQ_SAME(what + "pending", got.pending, batch.pending);
  WQ_SAME(what + "done", got.done, batch.done);
  WQ_SAME(what + "failed", got.failed, batch.failed);
  WQ_SAME(what + "cancelled", got.cancelled, batch.cancelled);
  WQ_SAME(what + "created_ms", got.created_ms, batch.created_ms);
  WQ_SAME(what + "finished_ms", got.finished_ms, batch.finished_ms);
  WQ_SAME(what + "follow_up", got.follow_up, batch.follow_up);
  return {};
}

std::string compare_batches(Engine& engine, const Model& model, Now now, size_t page) {
  std::set<uint64_t> told;
  uint64_t cursor = 0;
  uint64_t last = UINT64_MAX;
  do {
    const Result<BatchPage> got = engine.batch_list(cursor, page);
    if (!got.ok()) return "batches: " + got.status().message();
    for (const BatchStatus& status : got.value().batches) {
      if (status.id >= last) return "batches: not in order";
      last = status.id;
      const auto batch = model.batches.find(status.id);
      if (batch == model.batches.end()) {
        return "batch " + std::to_string(status.id) + " is too many";
      }
      WQ_SAME_OR_SAY(compare_batch(status, status.id, batch->second));
      told.insert(status.id);
    }
    cursor = got.value().next_cursor;
  } while (cursor != 0);
  for (const auto& [id, batch] : model.batches) {
    if (told.contains(id)) continue;
    if (batch.finished_ms != 0 && now.may_be_gone(batch.finished_ms + batch_kept_ms)) continue;
    return "batch " + std::to_string(id) + " is missing";
  }
  return {};
}

// ---- schedules

std::string compare_schedules(Engine& engine, const Model& model, Now now) {
  const Result<CronPage> page = engine.cron_list(0, "", 1'000);
  if (!page.ok()) return "schedules: " + page.status().message();
  WQ_SAME("schedules", page.value().schedules.size(), model.schedules.size());
  auto expected = model.schedules.begin();
  for (const CronView& view : page.value().schedules) {
    const auto& [name, schedule] = *expected++;
    const std::string what = "schedule '" + name + "': ";
    WQ_SAME(what + "name", view.name, name);
    WQ_SAME(what + "queue", view.queue, schedule.queue);
    WQ_SAME(what + "paused", view.state.paused, schedule.paused);
    WQ_SAME(what + "next_due_ms", view.state.next_due_ms, schedule.next_due_ms);
    WQ_SAME(what + "last_slot_ms", view.state.last_slot_ms, schedule.last_slot_ms);
    WQ_SAME(what + "created_ms", view.state.created_ms, schedule.created_ms);
    WQ_SAME(what + "fired", view.state.fired, schedule.fired);
    WQ_SAME(what + "missed", view.state.missed, schedule.missed);
    // What is said while the queue is full stays until a slot runs.
    const bool may_wait = model.queues.at(schedule.queue).was_limited;
    constexpr int64_t on_time_ms = 10'000;
    const bool set_back = !schedule.paused && schedule.last_slot_ms - on_time_ms > now.wall_ms;
    if (!may_wait) WQ_SAME(what + "has a problem", !view.problem.empty(), set_back);
    const Result<CronRow> row = decode_cron_row(as_bytes(view.row));
    if (!row.ok()) return what + row.status().message();
    WQ_SAME(what + "catch_up", row.value().catch_up, schedule.catch_up);
    WQ_SAME(what + "expression", row.value().expression,
            "@every " + std::to_string(schedule.every_ms / 1'000) + "s");
  }
  return {};
}

// ---- keys

std::string compare_keys(Engine& engine, const Model& model, Now now) {
  if (model.keys.empty()) return {};
  for (const auto& [queue_id, queue] : model.queues) {
    for (const KeyKind kind : {KeyKind::unique, KeyKind::debounce, KeyKind::idempotency}) {
      for (size_t i = 0; i < key_names_count; ++i) {
        const KeyName key{queue_id, kind, key_name(i)};
        const Result<JobId> got = engine.key_holder(queue_id, kind, key_name(i));
        const JobId expected = model.holder(key, now);
        const std::string what = "holder of key " + std::to_string(i) + " of kind " +
                                 std::to_string(static_cast<int>(kind)) + " of '" + queue.name +
                                 "'";
        if (!got.ok() && got.status().code() != Code::not_found) {
          return what + ": " + got.status().message();
        }
        const JobId holder = got.ok() ? got.value() : 0;
        if (holder == 0 && expected != 0 && now.may_be_gone(model.key_end_ms(key))) continue;
        WQ_SAME(what, holder, expected);
      }
    }
  }
  return {};
}

std::string compare_flows(Engine& engine, const Model& model, Now now) {
  for (const auto& [id, queue] : model.queues) {
    if (!queue.done.empty()) WQ_SAME_OR_SAY(compare_history(engine, id, model, now, 5));
  }
  WQ_SAME_OR_SAY(compare_kv(engine, model, now, "", 4));
  WQ_SAME_OR_SAY(compare_batches(engine, model, now, 5));
  WQ_SAME_OR_SAY(compare_schedules(engine, model, now));
  return compare_keys(engine, model, now);
}

// ---- what is due

DueWork due_work(Engine& engine, Model& model, Now now) {
  DueWork out;
  for (const Pick& pick : model.due(now.wall_ms)) {
    const Result<JobView> view = engine.get(pick.queue, pick.id);
    if (view.ok() && view.value().state == JobState::delayed) break;
    ++out.promoted;
  }
  for (const Pick& pick : model.overdue(now.wall_ms, out.promoted)) {
    const Code code = engine.get(pick.queue, pick.id).status().code();
    if (code == Code::not_found) out.ended.push_back(pick);
  }
  for (const std::string& name : model.due_schedules(now.wall_ms)) {
    const Result<CronView> view = engine.cron_get(name);
    const int64_t next_due_ms = view.ok() ? view.value().state.next_due_ms : INT64_MAX;
    if (next_due_ms != model.schedules.at(name).next_due_ms) {
      out.fired.push_back({name, next_due_ms});
    }
  }
  for (const auto& [id, queue] : model.queues) {
    std::vector<JobId> gone;
    for (const JobId letter : Model::over_dead_caps(queue, now)) {
      if (engine.get(id, letter).status().code() != Code::not_found) break;
      gone.push_back(letter);
    }
    if (!gone.empty()) out.dead_dropped[id] = std::move(gone);
  }
  return out;
}

void DueWork::apply(Model& model, Now now) const {
  model.promote(promoted, now);
  model.end_overdue(ended, now);
  for (const auto& [name, next_due_ms] : fired) {
    // A full queue takes some of the slots, and more of them when it has dropped jobs for those.
    const Schedule& schedule = model.schedules.at(name);
    do {
      if (!model.fire(name, now)) break;
    } while (schedule.next_due_ms <= now.wall_ms && schedule.next_due_ms < next_due_ms);
  }
  for (const auto& [queue, letters] : dead_dropped) model.drop_dead(queue, letters, now);
}

}  // namespace wq::model
