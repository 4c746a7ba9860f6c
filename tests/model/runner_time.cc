// The runner's passing time: what falls due, in which order, in which log records.
#include <algorithm>

#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr size_t due_max = 1000;  // the engine's bound of one step

}  // namespace

std::string Runner::advance(Prng& dice) {
  WQ_SAME_OR_SAY(pass_time(any_ms(dice)));
  if (setting_.threads) return {};
  // Often nobody ticks: a lease that follows has to find what is due by itself.
  return dice.below(3) == 0 ? settle_time() : std::string();
}

std::string Runner::step_wall(Prng& dice) {
  int64_t by_ms = any_ms(dice);
  const bool back = dice.below(2) == 0;
  if (back) by_ms = std::min(by_ms, step_back_max_ms());
  if (setting_.threads && draining_for_ != 0) WQ_SAME_OR_SAY(close_and_open());
  const Lsn before = last_lsn();
  harness_.clock().step_wall(back ? -std::min(by_ms, harness_.clock().wall_ms() / 2) : by_ms);
  wall_was_set_back_ |= back;
  if (back) note_rare(Rare::wall_back);
  return setting_.threads ? await_due(before) : std::string();
}

// With threads, one clock after the other: the maintenance thread reads both, and what it does with
// one of them old and the other new would be right but not to be foretold.
std::string Runner::pass_time(int64_t ms) {
  if (!setting_.threads) {
    harness_.clock().advance(ms);
    return {};
  }
  // One that drains leases nothing, so nobody could tell when all that is due is done.
  if (draining_for_ != 0) WQ_SAME_OR_SAY(close_and_open());
  const bool wall_first = ms % 2 == 0;
  for (const bool wall : {wall_first, !wall_first}) {
    const Lsn before = last_lsn();
    wall ? harness_.clock().step_wall(ms) : harness_.clock().advance_mono(ms);
    WQ_SAME_OR_SAY(await_due(before));
  }
  return {};
}

// With threads: leases from an empty queue until nothing is due any more. The maintenance thread is
// at it, too, and may have been done before; who does it makes no difference to the order, as long
// as the leases fit into one step (see due_leases_max). `before`: the newest record when nothing
// was due.
std::string Runner::await_due(Lsn before) {
  LeaseRequest request;
  request.queues = std::span(&probe_, 1);
  Lsn after = 0;
  do {
    after = last_lsn();
    CallOptions call;
    std::vector<JobView> none;
    const Status status = engine().lease(request, call, none);
    if (status.code() != Code::empty) return wrong_code("probe", status.code(), Code::empty);
  } while (last_lsn() != after);
  const Now at = now();
  const uint64_t leases = live_.expired(at.run_ms).size();
  const uint64_t delays = live_.due(at.wall_ms).size();
  if (leases + delays == 0) return expect_written(before, 0);
  // Housekeeping may have been what was written last, but nothing else was.
  if (after == before) return differ("jobs that were due and left", leases + delays, uint64_t{0});
  const auto due = [at](Model& model) {
    model.expire(model.expired(at.run_ms), at);
    model.promote(model.due(at.wall_ms).size(), at);
  };
  changed(Entry{before + 1, after, due, false, at});
  return {};
}

std::string Runner::tick_once(int64_t* wait_ms) {
  const Lsn before = last_lsn();
  const uint64_t loaded = engine().stats().residency.loaded[static_cast<int>(JobState::delayed)];
  const Result<int64_t> next = engine().tick();
  if (!next.ok()) return "tick: " + next.status().message();
  *wait_ms = next.value();
  if (engine().stats().residency.loaded[static_cast<int>(JobState::delayed)] > loaded) {
    note_rare(Rare::cold_promotion);
  }
  return account_due(before, 0);
}

// Without threads: works off all that is due, and sees that it comes to an end.
std::string Runner::settle_time() {
  if (setting_.threads) return {};
  constexpr size_t ticks_max = 3'000;
  int64_t wait_ms = 0;
  for (size_t ticks = 0; wait_ms == 0; ++ticks) {
    if (ticks == ticks_max) return "tick does not come to rest";
    WQ_SAME_OR_SAY(tick_once(&wait_ms));
  }
  WQ_SAME("leases left past their deadline", live_.expired(now().run_ms).size(), size_t{0});
  WQ_SAME("delayed jobs left past their time", live_.due(now().wall_ms).size(), size_t{0});
  return at_rest();
}

// After a call that works off what is due and wrote `leases` records behind it. Leases that ran out
// are always in memory and go first, in one record. Of the rest it is learned how far it has come
// (see DueWork). `ahead`: queues whose rates were rebased meanwhile, with a record for each, before
// or behind what was only in the store.
std::string Runner::account_due(Lsn before, uint64_t leases, const std::vector<QueueId>& ahead) {
  const Now at = now();
  Lsn lsn = before;
  std::vector<Pick> expired = live_.expired(at.run_ms);
  if (expired.size() > due_max) expired.resize(due_max);
  if (!expired.empty()) {
    for (const Pick& pick : expired) {
      if (opened_before_ && live_.find(pick.queue, pick.id)->leased_ms < opened_wall_ms_) {
        note_rare(Rare::expired_after_reopen);
      }
    }
    note_rare(Rare::expired, expired.size());
    const uint64_t dead = live_.count(JobState::dead);
    changed(++lsn, [expired, at](Model& model) { model.expire(expired, at); });
    note_rare(Rare::died_by_expiry, live_.count(JobState::dead) - dead);
  }
  const Lsn last = last_lsn() - leases;
  const DueWork work = due_work(engine(), live_, at);
  note_due(work, at);
  const auto rebase = [ahead, at](Model& model) {
    for (const QueueId id : ahead) model.rebase(id, at);
  };
  if (work.any() && last > lsn + ahead.size()) {
    changed(Entry{.first = lsn + 1,
                  .last = last,
                  .change =
                      [=](Model& model) {
                        work.apply(model, at);
                        rebase(model);
                      },
                  .part =
                      [=](Model& model, Engine& of) {
                        const DueWork done = due_work(of, model, at);
                        if (!done.any()) rebase(model);  // some record there is
                        done.apply(model, at);
                      }});
    lsn = last;
  } else {
    for (const QueueId id : ahead) {
      changed(++lsn, [id, at](Model& model) { model.rebase(id, at); });
    }
  }
  if (last > lsn && may_have_kept_house()) return {};
  WQ_SAME("newest log record", last, lsn);
  return {};
}

// A lease that works off what is due in several steps may end a job between two that it promotes.
// The end of a batch that this is would enqueue a job in between, and nobody could tell where.
bool Runner::order_is_open(Now at) {
  if (setting_.threads || live_.due(at.wall_ms).empty()) return false;
  for (const Pick& pick : live_.overdue(at.wall_ms, SIZE_MAX)) {
    if (live_.find(pick.queue, pick.id)->spec.flow.batch != 0) return true;
  }
  return false;
}

}  // namespace wq::model
