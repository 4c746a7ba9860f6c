// The runner's dead letters: lists, replay and removal of one or of many.
#include <algorithm>

#include "model/runner_internal.h"

namespace wq::model {

DeadQuery Runner::any_dead_query(Prng& dice) {
  DeadQuery query;
  query.limit = static_cast<uint32_t>(1 + dice.below(12));
  query.oldest_first = dice.below(2) == 0;
  if (dice.below(2) == 0) query.reason = static_cast<DeadReason>(dice.below(9));
  if (dice.below(3) == 0) query.from_ms = std::max<int64_t>(0, now().wall_ms - any_ms(dice));
  if (dice.below(3) == 0) query.until_ms = std::max<int64_t>(0, now().wall_ms - any_ms(dice));
  return query;
}

std::string Runner::dead_list(Prng& dice) {
  const QueueId id = any_queue(dice);
  const DeadQuery query = any_dead_query(dice);
  if (live_.find(id)) return compare_dead(engine(), id, live_, now(), query);
  const Code got = engine().dead_list(id, query).status().code();
  return got == Code::not_found ? std::string() : wrong_code("gone", got, Code::not_found);
}

// Mostly an entry of the list.
Token Runner::any_dead(QueueId id, Prng& dice) {
  const Known known = any_job(id, dice);
  Token entry{known.id, known.generation};
  if (Queue* queue = live_.find(id); queue && !queue->dead.empty() && dice.below(4) != 0) {
    entry.id = queue->dead[dice.below(queue->dead.size())];
    entry.generation = queue->jobs.at(entry.id).generation;
  }
  if (dice.below(8) == 0) entry.generation += dice.below(3) - 1;
  return entry;
}

std::string Runner::change_dead(Prng& dice, bool replay) {
  const QueueId id = any_queue(dice);
  const Token known = any_dead(id, dice);
  const Job* job = live_.find(id, known.id);
  if (job) WQ_SAME_OR_SAY(learn_keys(id, job->spec.keys));
  learn_sizes(id);
  Code expected = Code::ok;
  if (!job) {
    expected = Code::not_found;
  } else if (job->state != JobState::dead || job->generation != known.generation) {
    expected = Code::stale;
  } else if (replay && job->spec.keys.rule == KeyRule::until_done &&
             live_.holder(KeyName{id, KeyKind::unique, job->spec.keys.key}, now()) != 0) {
    expected = Code::duplicate;
    note_rare(Rare::replay_met_holder);
  } else if (replay && live_.is_cancelled(job->spec.flow.batch)) {
    expected = Code::conflict;
  } else if (replay && !has_room_for_replay(live_, id, known.id)) {
    expected = Code::full;
  }
  CallOptions call = make_call(dice);
  const EngineStats before = engine().stats();
  const Status status =
      replay ? engine().dead_replay(id, known, call) : engine().dead_remove(id, known, call);
  if (status.code() != expected) return wrong_code("dead letter", status.code(), expected);
  if (expected != Code::ok) return expect_written(before.last_lsn, 0);
  if (engine().stats().resident_jobs > before.resident_jobs) note_rare(Rare::cold_dead_replay);
  acknowledged(call, Durability::power);
  Generation fresh = 0;
  if (replay) {
    fresh = engine().get(id, known.id).value().generation;
    if (fresh <= max_generation_) return "a replay has a generation that was used before";
    max_generation_ = fresh;
  }
  changed(call.lsn, [=, job_id = known.id, at = now()](Model& model) {
    if (replay) {
      model.replay(id, job_id, fresh, at);
    } else {
      model.remove_dead(id, job_id, at);
    }
  });
  return expect_written(before.last_lsn, 1);
}

// ---- of many

// `entries` that are dead letters, or all that the query wants.
std::vector<JobId> Runner::wanted_dead(QueueId id, const DeadBulk& bulk) {
  const Queue& queue = *live_.find(id);
  if (bulk.entries.empty()) return dead_by(queue, bulk.query);
  std::vector<JobId> wanted;
  for (const Token& entry : bulk.entries) {
    const Job* job = live_.find(id, entry.id);
    const bool is_entry =
        job && job->state == JobState::dead && job->generation == entry.generation;
    if (is_entry) wanted.push_back(entry.id);
  }
  return wanted;
}

// Which of them are changed, and what is answered. A dry run looks at no keys, and for entries at
// nothing else.
Code Runner::plan_dead(QueueId id, const DeadBulk& bulk, std::vector<JobId>* changed) {
  Model after = live_;
  for (const JobId job_id : wanted_dead(id, bulk)) {
    if (bulk.limit != 0 && changed->size() == bulk.limit) return Code::ok;
    const Job* found = after.find(id, job_id);
    if (!found || found->state != JobState::dead) continue;  // it was named twice
    const Job& job = *found;
    const bool looks = !bulk.dry_run || bulk.entries.empty();
    if (!bulk.remove && looks) {
      const bool held = !bulk.dry_run && job.spec.keys.rule == KeyRule::until_done &&
                        after.holder(KeyName{id, KeyKind::unique, job.spec.keys.key}, now()) != 0;
      if (held) note_rare(Rare::bulk_met_holder);
      if (held || after.is_cancelled(job.spec.flow.batch)) continue;
      if (!has_room_for_replay(after, id, job_id)) return Code::full;
      after.replay(id, job_id, 0, now());
    } else if (bulk.remove && !bulk.dry_run) {
      after.remove_dead(id, job_id, now());
    }
    changed->push_back(job_id);
  }
  return Code::ok;
}

std::string Runner::change_many_dead(Prng& dice) {
  constexpr size_t letters_max = 200;  // below what one step of the engine reads
  const QueueId id = any_queue(dice);
  const Queue* queue = live_.find(id);
  if (queue && queue->dead.size() > letters_max) return {};
  DeadBulk bulk;
  bulk.remove = dice.below(4) == 0;
  bulk.dry_run = dice.below(5) == 0;
  if (dice.below(2) == 0) bulk.limit = 1 + dice.below(6);
  bulk.query = any_dead_query(dice);
  std::vector<Token> entries;
  if (queue && dice.below(4) == 0) {
    for (size_t i = 0; i <= dice.below(4); ++i) entries.push_back(any_dead(id, dice));
    bulk.query = DeadQuery();
    bulk.entries = entries;
  }
  std::vector<JobId> planned;
  Code expected = Code::not_found;
  if (queue) {
    for (const JobId letter : queue->dead) {
      WQ_SAME_OR_SAY(learn_keys(id, queue->jobs.at(letter).spec.keys));
    }
    learn_sizes(id);
    expected = plan_dead(id, bulk, &planned);
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  DeadBulkReport report;
  const Code got = engine().dead_bulk(id, bulk, call, report).code();
  if (got != expected) return wrong_code("dead letters", got, expected);
  WQ_SAME("dead letters changed", report.changed, planned.size());
  if (planned.empty() || bulk.dry_run) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  return changed_dead(id, bulk.remove, before, call.lsn, planned);
}

// Several records, in the order of the letters: a crash leaves the first ones changed.
std::string Runner::changed_dead(QueueId id, bool remove, Lsn before, Lsn last,
                                 const std::vector<JobId>& letters) {
  if (last - before > letters.size() && !may_have_kept_house()) return "more records than letters";
  std::vector<Generation> fresh(letters.size());
  for (size_t i = 0; i < letters.size() && !remove; ++i) {
    fresh[i] = engine().get(id, letters[i]).value().generation;
    if (fresh[i] <= max_generation_) return "a replay has a generation that was used before";
    max_generation_ = fresh[i];
  }
  const auto change = [=, at = now()](Model& model, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (remove) {
        model.remove_dead(id, letters[i], at);
      } else {
        model.replay(id, letters[i], fresh[i], at);
      }
    }
  };
  note_rare(Rare::dead_changed_in_bulk, letters.size());
  Entry entry{before + 1, last, [=](Model& model) { change(model, letters.size()); }, false, now()};
  entry.part = [=](Model& model, Engine& engine) {
    size_t count = 0;
    for (; count < letters.size(); ++count) {
      const Result<JobView> view = engine.get(id, letters[count]);
      if (view.ok() && view.value().state == JobState::dead) break;
    }
    change(model, count);
  };
  changed(std::move(entry));
  return {};
}

}  // namespace wq::model
