// The runner's operations around a lease: lease, confirm, extend, settle.
#include <algorithm>
#include <set>

#include "model/runner_internal.h"

namespace wq::model {

std::string Runner::lease(Prng& dice) {
  std::vector<QueueId> from{any_queue(dice)};
  while (dice.below(3) == 0 && from.size() < 4) {
    const QueueId another = any_queue(dice);
    if (std::find(from.begin(), from.end(), another) == from.end()) from.push_back(another);
  }
  LeaseRequest request;
  request.queues = from;
  constexpr uint32_t most[] = {1, 1, 2, 5, 30};
  request.max_jobs = 1 + static_cast<uint32_t>(dice.below(most[dice.below(std::size(most))]));
  request.lease_ms = dice.below(2) == 0 ? 0 : any_ms(dice);
  if (order_is_open(now())) {
    if (in_checkpoint_) return {};  // a tick may begin another one within it
    WQ_SAME_OR_SAY(settle_time());
  }
  const size_t leases_after = live_.expired(INT64_MAX).size() + request.max_jobs;
  if (setting_.threads && leases_after > due_leases_max) return {};
  bool leave_out = false;
  WQ_SAME_OR_SAY(settle_guards(from, &leave_out));
  if (leave_out) return {};
  CallOptions call = make_call(dice);
  const EngineStats before = engine().stats();
  std::vector<JobView> jobs;
  const Status status = engine().lease(request, call, jobs);
  const bool all_there =
      std::all_of(from.begin(), from.end(), [&](QueueId id) { return live_.find(id) != nullptr; });
  if (!all_there || draining_for_ != 0) {
    const Code expected = all_there ? Code::closed : Code::not_found;
    if (status.code() != expected) return wrong_code("lease", status.code(), expected);
    return expect_written(before.last_lsn, 0);
  }
  if (status.ok() == jobs.empty()) return wrong_code("lease", status.code(), Code::internal);
  WQ_SAME_OR_SAY(follow_lease(from, request, call, before.last_lsn, jobs));
  const EngineStats after = engine().stats();
  const auto ready = static_cast<size_t>(JobState::ready);
  if (after.residency.loaded[ready] > before.residency.loaded[ready]) {
    note_rare(Rare::cold_refill);
  }
  if (!jobs.empty()) return {};

  Code expected = Code::empty;
  bool active = false;
  bool paused = false;
  for (const QueueId id : from) {
    active |= live_.queues.at(id).config.status == QueueStatus::active;
    paused |= live_.queues.at(id).config.status == QueueStatus::paused;
    if (live_.queues.at(id).count(JobState::ready) > 0) note_rare(Rare::slots_full);
  }
  if (!active) expected = paused ? Code::paused : Code::disabled;
  return status.code() == expected ? std::string() : wrong_code("lease", status.code(), expected);
}

// The jobs handed out are the first of `picks`, which the order allows.
std::string Runner::take_leased(std::span<const QueueId> from, const LeaseRequest& request,
                                const CallOptions& call, const std::vector<JobView>& jobs,
                                const std::vector<Pick>& picks) {
  if (jobs.size() > picks.size()) return differ("jobs leased", jobs.size(), picks.size());
  if (jobs.size() < picks.size()) note_rare(Rare::partial_lease);
  struct Taken {
    Pick pick;
    Generation generation;
    int64_t lease_ms;
  };
  std::vector<Taken> taken;
  for (size_t i = 0; i < jobs.size(); ++i) {
    WQ_SAME("leased job " + std::to_string(i), jobs[i].id, picks[i].id);
    WQ_SAME("its queue", from[jobs[i].queue_index], picks[i].queue);
    if (jobs[i].generation <= max_generation_) return "a generation was used before";
    max_generation_ = jobs[i].generation;
    const Queue& queue = live_.queues.at(picks[i].queue);
    const int64_t own_ms = lease_length_ms(queue, queue.jobs.at(picks[i].id));
    taken.push_back(
        Taken{picks[i], max_generation_, request.lease_ms != 0 ? request.lease_ms : own_ms});
    if (all_tokens_.size() == 1'000) all_tokens_.erase(all_tokens_.begin());
    all_tokens_.push_back(Known{picks[i].queue, picks[i].id, max_generation_});
  }
  acknowledged(call, Durability::process);
  changed(call.lsn, [taken, at = now()](Model& model) {
    for (const Taken& each : taken) {
      model.lease(each.pick.queue, each.pick.id, each.generation, each.lease_ms, at);
    }
  });
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Queue& queue = live_.queues.at(picks[i].queue);
    WQ_SAME_OR_SAY(compare_view(jobs[i], queue, queue.jobs.at(picks[i].id), now()));
  }
  return {};
}

// What a token of `queue` must be answered with.
Code Runner::expected_code(QueueId queue, const Known& token) {
  if (token.id == 0 || token.id > max_id_) return Code::not_found;
  if (live_.holds(queue, token.id, token.generation)) return Code::ok;
  if (live_.find(queue, token.id)) return Code::stale;
  for (auto& [id, other] : live_.queues) {
    if (live_.find(id, token.id)) return Code::not_found;
  }
  return Code::stale;
}

// Whose a job is that is not in memory is not looked up for a token that is stale anyway. Ids that
// were skipped after a crash count as given out.
bool Runner::same_code(QueueId queue, const Known& token, Code got, Code expected) {
  if (got == expected) return true;
  const bool refused = got == Code::stale || got == Code::not_found;
  return refused && expected == Code::not_found && !live_.find(queue, token.id);
}

std::string Runner::confirm(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Known token = any_token(id, dice);
  const int64_t run_ms = dice.below(2) == 0 ? 0 : any_ms(dice);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code expected = live_.find(id) ? expected_code(id, token) : Code::not_found;
  const Status status = engine().confirm(id, Token{token.id, token.generation}, run_ms, call);
  if (!same_code(id, token, status.code(), expected)) {
    return wrong_code("confirm", status.code(), expected);
  }
  if (expected != Code::ok) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn,
          [=, job = token.id, at = now()](Model& model) { model.confirm(id, job, run_ms, at); });
  return expect_written(before, 1);
}

std::string Runner::extend(Prng& dice) {
  const QueueId id = any_queue(dice);
  std::vector<Known> known;
  std::vector<Token> tokens;
  for (size_t i = 0; i <= dice.below(5); ++i) {
    known.push_back(any_token(id, dice));
    tokens.push_back(Token{known.back().id, known.back().generation});
  }
  const int64_t asked_ms = dice.below(2) == 0 ? 0 : any_ms(dice);
  std::vector<Code> codes(tokens.size(), Code::internal);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().extend(id, tokens, asked_ms, call, codes);
  const Queue* queue = live_.find(id);
  if (!queue) {
    if (status.code() != Code::not_found) return wrong_code("gone", status.code(), Code::not_found);
    return expect_written(before, 0);
  }
  if (!status.ok()) return status.message();
  struct Extended {
    int64_t lease_ms;
    std::vector<JobId> jobs;
  };
  std::vector<Extended> extended;
  for (size_t i = 0; i < known.size(); ++i) {
    Code expected = expected_code(id, known[i]);
    const Job* job = expected == Code::ok ? live_.find(id, known[i].id) : nullptr;
    if (job && live_.is_cancelled(job->spec.flow.batch)) {
      expected = Code::cancelled;
      note_rare(Rare::worker_told_to_stop);
    }
    if (!same_code(id, known[i], codes[i], expected)) {
      return wrong_code("extend", codes[i], expected);
    }
    if (expected != Code::ok) continue;
    // One record for each run of jobs with leases of the same length.
    const int64_t lease_ms = asked_ms != 0 ? asked_ms : lease_length_ms(*queue, *job);
    if (extended.empty() || extended.back().lease_ms != lease_ms) {
      extended.push_back(Extended{lease_ms, {}});
    }
    extended.back().jobs.push_back(known[i].id);
  }
  if (extended.empty()) return expect_written(before, 0);
  acknowledged(call, Durability::process);
  Lsn lsn = call.lsn - extended.size();
  for (const Extended& each : extended) {
    changed(++lsn, [id, each, at = now()](Model& model) {
      for (const JobId job : each.jobs) model.extend(id, job, each.lease_ms, at);
    });
  }
  return expect_written(before, extended.size());
}

Settlement Runner::random_settlement(Prng& dice, const Known& token) {
  Settlement out;
  out.id = token.id;
  out.generation = token.generation;
  constexpr Settle kinds[] = {Settle::ack,  Settle::ack,  Settle::nack,
                              Settle::nack, Settle::fail, Settle::release};
  out.kind = kinds[dice.below(std::size(kinds))];
  const bool back = out.kind == Settle::nack || out.kind == Settle::release;
  const bool may_wait = live_.count(JobState::delayed) < 700;
  if (out.kind == Settle::release || (back && dice.below(2) == 0)) out.delay_ms = 0;
  if (back && may_wait && dice.below(4) == 0) out.delay_ms = any_ms(dice);
  if (back) out.front = dice.below(3) == 0;
  if (out.kind == Settle::nack) {
    out.no_exception = dice.below(4) == 0;
    if (dice.below(4) == 0) out.priority = any_priority(dice);
  }
  if (out.kind == Settle::nack || out.kind == Settle::fail) {
    constexpr size_t sizes[] = {0, 5, 5, 100, error_bytes_max, error_bytes_max + 1, 9000};
    out.error.assign(sizes[dice.below(std::size(sizes))], static_cast<char>('a' + made_ % 26));
    if ((setting_.flows & flow_limits) && dice.below(4) == 0) {
      out.reason = dice.below(2) == 0 ? DeadReason::unknown_type : DeadReason::cancelled;
    }
  }
  if (out.kind == Settle::ack && (setting_.flows & flow_history) && dice.below(3) != 0) {
    out.result = "result " + std::to_string(++made_);
  }
  return out;
}

SettleItem to_item(const Settlement& what) {
  SettleItem item;
  item.id = what.id;
  item.generation = what.generation;
  item.kind = static_cast<SettleKind>(1 + static_cast<int>(what.kind));
  if (what.front) item.flags |= settle_front;
  if (what.no_exception) item.flags |= settle_no_exception;
  if (what.priority >= 0) item.flags |= settle_priority;
  item.priority = static_cast<uint8_t>(std::max(0, what.priority));
  item.delay_ms = what.kind == Settle::ack || what.kind == Settle::fail ? 0 : what.delay_ms;
  item.error = what.error;
  item.reason = what.reason;
  item.result = what.result;
  return item;
}

std::string Runner::settle(Prng& dice) {
  const QueueId id = any_queue(dice);
  std::vector<Known> known;
  std::vector<Settlement> asked;
  std::vector<SettleItem> items;
  const size_t count = 1 + dice.below(dice.below(3) == 0 ? 8 : 1);
  asked.reserve(count);  // the items point into it
  for (size_t i = 0; i < count; ++i) {
    known.push_back(any_token(id, dice));
    asked.push_back(random_settlement(dice, known.back()));
    items.push_back(to_item(asked.back()));
  }
  std::vector<Code> codes(count, Code::internal);
  CallOptions call = make_call(dice);
  const EngineStats before = engine().stats();
  const Status status = engine().settle(id, items, call, codes);
  Queue* queue = live_.find(id);
  if (!queue) {
    if (status.code() != Code::not_found) return wrong_code("gone", status.code(), Code::not_found);
    return expect_written(before.last_lsn, 0);
  }
  if (!status.ok()) return status.message();
  std::vector<Settlement> done;
  std::set<JobId> settled;
  bool chains = false;
  for (size_t i = 0; i < count; ++i) {
    Code expected = expected_code(id, known[i]);
    if (expected == Code::ok && !settled.insert(known[i].id).second) expected = Code::stale;
    if (!same_code(id, known[i], codes[i], expected)) {
      return wrong_code("settle", codes[i], expected);
    }
    if (expected == Code::stale) note_rare(Rare::stale_settle);
    if (expected != Code::ok) continue;
    const Job& job = queue->jobs.at(known[i].id);
    const bool late = job.deadline_ms != 0 && job.expires_ms <= now().run_ms;
    if (late) note_rare(Rare::settled_past_deadline);
    done.push_back(asked[i]);
    chains |= asked[i].kind == Settle::ack && !job.spec.flow.chain.empty();
  }
  if (done.empty()) return expect_written(before.last_lsn, 0);
  const JobId next_id = live_.next_id;
  const uint64_t dead = queue->count(JobState::dead);
  const uint64_t delayed = queue->count(JobState::delayed);
  const uint64_t ready = queue->count(JobState::ready);
  uint64_t elsewhere = live_.count(JobState::dead) + live_.count(JobState::delayed);
  elsewhere += live_.count(JobState::ready) - ready;
  const uint64_t all =
      elsewhere + ready + live_.count(JobState::leased) + live_.count(JobState::running);
  acknowledged(call, queue->config.durability);
  changed(call.lsn, [=, at = now()](Model& model) {
    for (const Settlement& each : done) model.settle(id, each, at);
  });
  if (chains && live_.next_id > next_id) note_rare(Rare::chain_went_on);
  if (queue->count(JobState::dead) > dead) note_rare(Rare::died_by_nack);
  if (queue->count(JobState::delayed) > delayed) note_rare(Rare::retried_with_delay);
  // More jobs are only in the store than there are outside this queue's ready ones.
  const bool one_lane = queue->ready.size() == 1;
  if (one_lane && all > before.resident_jobs + elsewhere && done[0].front) {
    note_rare(Rare::front_before_cold);
  }
  return expect_written(before.last_lsn, 1);
}

}  // namespace wq::model
