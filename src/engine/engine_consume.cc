// Consume: lease, confirm, extend, settle.
#include <algorithm>
#include <array>
#include <list>
#include <utility>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/follow_up.h"
#include "engine/job_limits.h"
#include "engine/turns.h"

namespace wq {
namespace {

constexpr size_t queues_per_lease_max = 256;

Status admit_lease(const LeaseRequest& request) {
  if (request.queues.empty() || request.queues.size() > queues_per_lease_max) {
    return Status(Code::invalid, "n_queues: give 1 to 256");
  }
  if (request.max_jobs == 0 || request.max_jobs > jobs_per_call_max) {
    return Status(Code::invalid, "max_jobs: give 1 to 10000");
  }
  if (request.wait_ms < -1) return Status(Code::invalid, "wait_ms: give -1, 0 or more");
  return request.lease_ms == 0 ? Status() : admit_lease_ms("lease_ms", request.lease_ms);
}

// For planted bugs: the generation that a check of tokens would have to ask for.
[[maybe_unused]] Generation holder(const State& state, JobId id) {
  const Job* job = state.find_live(id);
  return job ? job->generation : 0;
}

// It is told only when a lease comes to the job whether its group has a slot for it.
bool guards_overlap(const Job& job) {
  return job.traits && job.traits->overlap != OverlapRule::park && !WQ_PLANTED(overlap_unguarded);
}

// A ready job has a timer if it is to end by itself.
bool has_expired(const Job& job, int64_t now_ms) {
  return job.has_timer() && job.timer_ms <= now_ms && !WQ_PLANTED(expired_job_leased);
}

// Jobs of one queue with one deadline stand together.
void add_to_lease(Command& command, const Job& job, int64_t deadline_ms) {
  command.ids.push_back(job.id);
  if (!command.groups.empty()) {
    LeaseGroup& last = command.groups.back();
    if (last.queue == job.queue->id && last.deadline_ms == deadline_ms) {
      ++last.count;
      return;
    }
  }
  command.groups.push_back(LeaseGroup{job.queue->id, 1, deadline_ms});
}

// The token can wake the waiter while this object lives. Made and destroyed without the engine's
// mutex.
class CancelScope {
 public:
  CancelScope(CancelToken* token, Waiter& waiter) : token_(token), waiter_(waiter) {
    if (token_) token_->attach(&waiter_);
  }
  ~CancelScope() {
    if (token_) token_->detach(&waiter_);
  }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  CancelToken* token_;
  Waiter& waiter_;
};

// The last gate that was picked goes back to what it is.
void forget_last(State& state, std::vector<KeyGate*>& picked) {
  KeyGate* const gate = picked.back();
  picked.pop_back();
  gate->picked = 0;
  gate->passed_over = false;
  if (gate->lines.empty()) state.settle_gate(*gate);  // made for this lease: it may go
}

struct PickedGoes {
  State& state;
  std::vector<KeyGate*>& picked;
  ~PickedGoes() {
    while (!picked.empty()) {
      caught([this]() -> Status {
        forget_last(state, picked);
        return {};
      }).ignore("its row is written later");
    }
  }
};

}  // namespace

// A waiter stands in the lists of its queues exactly while this object lives. The engine's mutex is
// held by whoever makes and destroys it.
struct Engine::WaitScope {
  WaitScope(Waiter& waiter, std::span<Queue* const> queues, uint64_t& waiting)
      : waiter_(waiter), waiting_(waiting) {
    waiter_.signaled = false;
    waiter_.nodes.resize(queues.size());
    ++waiting_;
    for (size_t i = 0; i < queues.size(); ++i) {
      waiter_.nodes[i].waiter = &waiter_;
      queues[i]->waiters.push_back(&waiter_.nodes[i]);
    }
  }
  ~WaitScope() {
    --waiting_;
    for (WaitNode& node : waiter_.nodes) {
      if (node.link.linked()) node.link.unlink();
    }
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  Waiter& waiter_;
  uint64_t& waiting_;
};

Status Engine::resolve(const LeaseRequest& request, std::span<Queue*> queues) {
  for (size_t i = 0; i < queues.size(); ++i) {
    WQ_TRY_SET(queues[i], queue_for(request.queues[i]));
    WQ_TRY(refuse_without_keys(*queues[i]));
  }
  return {};
}

// Why nothing can be had, when it is not for lack of jobs: every queue is paused or disabled.
Code Engine::blocked_code(std::span<Queue* const> queues) const {
  bool paused = false;
  for (const Queue* queue : queues) {
    if (queue->config.status == QueueStatus::active) return Code::empty;
    paused |= queue->config.status == QueueStatus::paused;
  }
  return paused ? Code::paused : Code::disabled;
}

// How many of `most` jobs the rate of the queue lets begin now. If it is none, whoever waits for
// one is woken in time.
uint64_t Engine::may_lease(Queue* queue, int64_t now_ms, uint64_t most) {
  if (most == 0 || queue->config.rate.count == 0) return most;
  const uint64_t tokens = queue->rate_tokens(now_ms);
  if (tokens == 0) watch_rate(queue);
  return std::min(most, tokens);
}

// After a step back of the clock the wait is counted from now.
Status Engine::rebase_rates(std::span<Queue* const> queues, int64_t now_ms) {
  for (Queue* queue : queues) {
    const int64_t tat_ns = queue->rate_tat_ns;
    const bool went_back =
        now_ms < std::exchange(queue->keys_ms, now_ms) && !WQ_PLANTED(key_clock_ignored);
    const bool keys = went_back && state_.keys_ahead(*queue, now_ms);
    // A key that began to cool down since then was judged by the later time.
    if (went_back && !keys && !WQ_PLANTED(keys_judged_ahead)) state_.settle_gates(queue);
    if (!keys && rate_rebased(queue->config.rate, tat_ns, now_ms) == tat_ns) continue;
    Command& command = begin(CommandType::rate_rebase, now_ms);
    command.queue = queue->id;
    WQ_TRY(commit(command).take_status());
  }
  return {};
}

void Engine::want_refill(Queue* queue, Lane& lane) {
  if (lane.refill_wanted) return;
  refills_.emplace_back(*queue, lane);
  lane.refill_wanted = true;
  maintenance_wake_.notify_one();
}

// Names up to `most` jobs of one priority in command_. `end` tells if it stopped at a job that is
// only in the store, at one that did not start in time, or at one that does not wait for its group.
uint32_t Engine::pick(const LeaseRequest& request, Lane& lane, uint32_t most, const Now& now,
                      PickEnd& end) {
  TurnPicker picker(lane, picked_, now.wall_ms);
  uint32_t taken = 0;
  Queue* queue = nullptr;
  while (taken < most) {
    Job* job = picker.next();
    if (!job) {
      end.cold = picker.cold();
      end.stop = picker.ended();
      break;
    }
    if (has_expired(*job, now.wall_ms)) {
      end.expired = &State::lane_of(job);
      end.stop = true;
      break;
    }
    if (guards_overlap(*job) && !state_.pick_slot(*job, picked_)) {
      end.blocked = &State::lane_of(job);
      end.stop = true;
      break;
    }
    queue = job->queue;
    const bool own_length = job->traits && request.lease_ms == 0;
    const int64_t lease_ms = request.lease_ms > 0 ? request.lease_ms : queue->config.lease_ms;
    add_to_lease(command_, *job, now.wall_ms + (own_length ? lease_length_ms(*job) : lease_ms));
    ++taken;
  }
  if (queue && lane.cold_count > 0 && lane.head_count < options_.lane_window / 2 + taken) {
    want_refill(queue, lane);
  }
  return taken;
}

// The gates that pick() has counted in go back to what they are; lines that run short are read on.
void Engine::let_picked_go() {
  for (const KeyGate* gate : picked_) {
    for (const auto& line : gate->lines) {
      if (line->cold_count > 0 && line->head_count <= gate->picked) {
        want_refill(gate->queue, *line);
      }
    }
  }
  while (!picked_.empty()) forget_last(state_, picked_);
}

// Fills command_ with the jobs to lease, in order of queue, priority and readiness. `refill` when
// the very first of them is only in the store, in lane `cold`, `expired` when it should have ended
// by now, and `blocked` when its group is full; one that comes later just ends the list.
Engine::Selection Engine::select(const LeaseRequest& request, std::span<Queue* const> queues,
                                 const Now& now, LaneId& cold) {
  // Memory may run out on the way: nobody shall find a slot taken that is free.
  const PickedGoes at_the_end{state_, picked_};
  Command& command = begin(CommandType::lease, now.wall_ms);
  command.first_generation = state_.next_generation;
  state_.lease_shift_ms = now.run_ms - now.wall_ms;
  uint32_t left = request.max_jobs;
  bool refill = false;
  bool stop = false;
  const Lane* expired = nullptr;
  const Lane* blocked = nullptr;
  for (Queue* queue : queues) {
    if (left == 0 || stop) break;
    if (!queue->consumable()) continue;
    uint64_t slots = std::min<uint64_t>(queue->eligible(), queue->free_slots());
    if (WQ_PLANTED(max_running_unchecked)) slots = left;
    const auto allowed =
        static_cast<uint32_t>(std::min<uint64_t>(left, may_lease(queue, now.wall_ms, slots)));
    uint32_t taken = 0;
    for (const auto& lane : queue->lanes) {
      PickEnd end;
      taken += pick(request, *lane, allowed - taken, now, end);
      if (end.cold) {
        refill = true;
        cold = LaneId(*queue, *end.cold);
      }
      expired = end.expired;
      blocked = end.blocked;
      stop = end.stop;
      if (taken == allowed || stop) break;
    }
    left -= taken;
  }
  let_picked_go();
  if (expired && command.ids.empty()) return select_expired(*expired, now);
  if (blocked && command.ids.empty()) return select_blocked(*blocked, now);
  if (!command.ids.empty()) return Selection::found;
  return refill ? Selection::refill : Selection::none;
}

// Fills command_ with what stands at the head of the lane and should have ended by now. Maintenance
// ends such jobs by their timers; this is for those that it has not come to yet.
Engine::Selection Engine::select_expired(const Lane& lane, const Now& now) {
  Command& command = begin(CommandType::expire_jobs, now.wall_ms);
  for (const Job* job = lane.head.front(); job; job = lane.head.next(job)) {
    if (command.ids.size() == due_step_max || !has_expired(*job, now.wall_ms)) break;
    command.ids.push_back(job->id);
  }
  return Selection::expired;
}

// Fills command_ with what comes next of the lane, and of the lines that it lists, and finds its
// group full, up to the first job that may be leased.
Engine::Selection Engine::select_blocked(const Lane& lane, const Now& now) {
  Command& command = begin(CommandType::overlap, now.wall_ms);
  LanePicker picker(lane, picked_, now.wall_ms);
  while (const Job* job = picker.next()) {
    if (command.ids.size() == due_step_max || !guards_overlap(*job)) break;
    if (has_expired(*job, now.wall_ms) || state_.pick_slot(*job, picked_)) break;
    command.ids.push_back(job->id);
  }
  let_picked_go();
  return Selection::blocked;
}

Status Engine::take_selected(const LeaseRequest& request, std::span<Queue* const> queues,
                             const Now& now, std::vector<JobView>& jobs, Lsn& lsn) {
  // Memory for the answer comes first: jobs that are leased must reach the caller.
  jobs.clear();
  jobs.resize(command_.ids.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job* job = state_.find(command_.ids[i]);
    if (job->last_error) jobs[i].last_error.reserve(job->last_error->size());
    if (job->progress) jobs[i].progress.reserve(job->progress->size());
    if (job->packed) jobs[i].queue_name = job->queue->name;
  }
  Result<Lsn> committed = commit(command_);
  if (!committed.ok()) {
    jobs.clear();
    return committed.take_status();
  }
  lsn = committed.value();
  size_t i = 0;
  for (const LeaseGroup& group : command_.groups) {
    const auto place = std::find(request.queues.begin(), request.queues.end(), group.queue);
    const auto queue_index = static_cast<uint32_t>(place - request.queues.begin());
    for (uint32_t n = 0; n < group.count; ++n, ++i) {
      JobView& view = jobs[i];
      view_of(*state_.find(command_.ids[i]), now, view);
      view.queue_index = queue_index;
    }
  }
  // Longer leases do not run out before the maintenance thread looks up by itself.
  const auto is_short = [&](const LeaseGroup& group) {
    return group.deadline_ms - now.wall_ms < sleep_ms_max;
  };
  if (std::any_of(command_.groups.begin(), command_.groups.end(), is_short)) wake_for_timers();
  // What is left may serve another waiter: a wake-up meant for two must not end with one.
  for (Queue* queue : queues) wake_queue(queue);
  return {};
}

// Sleeps until a job may be there, the time is up, or the store or the token says stop.
Status Engine::wait_for_job(const LeaseRequest& request, std::span<Queue* const> queues,
                            Waiter& waiter, int64_t deadline_ns) {
  WaitScope scope(waiter, queues, waiting_);
  const int64_t now_ns = environment_.clock->mono_ns();
  if (deadline_ns >= 0 && now_ns >= deadline_ns) return blocked_code(queues);
  // With a maintenance thread the timers are its business, and one sleeper wakes for them, not all.
  const int64_t sleep_ms = options_.threads ? sleep_ms_max : next_due_wait_ms();
  int64_t sleep_ns = std::min(sleep_ms_max, sleep_ms) * ns_per_ms;
  if (deadline_ns >= 0) sleep_ns = std::min(sleep_ns, deadline_ns - now_ns);
  const bool stop =
      waiter.signaled || closed_.load() || draining_ || (request.cancel && request.cancel->fired());
  if (!stop && sleep_ns > 0) waiter.wake.wait_for_ns(mutex_, sleep_ns);
  return {};
}

Status Engine::look_for_jobs(const LeaseRequest& request, Waiter& waiter, int64_t deadline_ns,
                             std::vector<JobView>& jobs, Lsn& lsn) {
  std::array<Queue*, queues_per_lease_max> places;
  const std::span<Queue*> queues(places.data(), request.queues.size());
  Now at;
  bool waited = false;
  WQ_TRY(resolve(request, queues));
  for (;;) {
    if (closed_.load() || draining_) return Code::closed;
    if (request.cancel && request.cancel->fired()) return Code::cancelled;
    const int64_t looked_ms = at.run_ms;
    at = now();
    if (waited) waits_.for_job_ms += at.run_ms - looked_ms;
    WQ_TRY(run_due(at, due_step_max).take_status());
    WQ_TRY(rebase_rates(queues, at.wall_ms));
    LaneId cold;
    const Selection selection = select(request, queues, at, cold);
    if (selection == Selection::found) break;
    if (selection == Selection::expired || selection == Selection::blocked) {
      WQ_TRY(commit(command_).take_status());
      if (selection == Selection::blocked) wake_for_timers();
      const MutexGap let_callers_in(mutex_);
    } else if (selection == Selection::refill) {
      WQ_TRY(refill_lane(cold));
    } else if (delays_wanted(at.wall_ms)) {
      WQ_TRY(load_delays());
    } else {
      if (request.wait_ms == 0) return blocked_code(queues);
      if (!waited) ++waits_.for_job;
      waited = true;
      WQ_TRY(wait_for_job(request, queues, waiter, deadline_ns));
    }
    WQ_TRY(resolve(request, queues));
  }
  return take_selected(request, queues, at, jobs, lsn);
}

Status Engine::take(const LeaseRequest& request, std::vector<JobView>& jobs, Lsn& lsn) {
  WQ_TRY(admit_lease(request));
  const bool for_ever = request.wait_ms < 0 || request.wait_ms > INT64_MAX / ns_per_ms / 2;
  int64_t deadline_ns = for_ever ? -1 : request.wait_ms * ns_per_ms;
  if (deadline_ns > 0) deadline_ns += environment_.clock->mono_ns();
  Waiter waiter;
  waiter.mutex = &mutex_;
  const CancelScope cancel_scope(request.cancel, waiter);
  MutexLock lock(mutex_);
  Status status = look_for_jobs(request, waiter, deadline_ns, jobs, lsn);
  const bool has_waited = !waiter.nodes.empty();
  if (status.ok() || !has_waited) return status;
  // Cancelled, or one of its queues was deleted: a wake-up for this call goes to the next.
  for (const QueueId id : request.queues) {
    if (Queue* queue = state_.find_queue(id)) wake_queue(queue);
  }
  return status;
}

// ---- holding a lease

Status Engine::confirm(QueueId id, Token token, int64_t run_ms_wanted, CallOptions& call) {
  WQ_ENTER();
  if (run_ms_wanted != 0) WQ_TRY(admit_lease_ms("run_ms", run_ms_wanted));
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    if (WQ_PLANTED(confirm_by_any_holder)) token.generation = holder(state_, token.id);
    WQ_TRY(check_lease(state_, queue, token.id, token.generation));
    Command& command = begin(CommandType::confirm);
    command.queue = id;
    command.deadline_ms = run_ms_wanted == 0 ? 0 : command.now_ms + run_ms_wanted;
    state_.lease_shift_ms = run_ms() - command.now_ms;
    SettleItem& item = command.settles.emplace_back();
    item.id = token.id;
    item.generation = token.generation;
    WQ_TRY_SET(lsn, commit(command));
    if (run_ms_wanted != 0) wake_for_timers();
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::extend(QueueId id, std::span<const Token> tokens, int64_t lease_ms,
                      CallOptions& call, std::span<Code> codes) {
  WQ_ENTER();
  if (lease_ms != 0) WQ_TRY(admit_lease_ms("lease_ms", lease_ms));
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    Command& command = command_;
    const auto begin_record = [&](int64_t length_ms) WQ_REQUIRES(mutex_) {
      begin(CommandType::extend);
      command.queue = id;
      command.deadline_ms = command.now_ms + length_ms;
      state_.lease_shift_ms = run_ms() - command.now_ms;
    };
    int64_t current_ms = lease_ms != 0 ? lease_ms : queue->config.lease_ms;
    begin_record(current_ms);
    for (size_t i = 0; i < tokens.size(); ++i) {
      Token token = tokens[i];
      if (WQ_PLANTED(extend_by_any_holder)) token.generation = holder(state_, token.id);
      codes[i] = check_lease(state_, queue, token.id, token.generation).code();
      if (codes[i] != Code::ok) continue;
      const Job* job = state_.find_live(token.id);
      // It should stop. Its lease stays as it is: time to end in order.
      if (job->traits && !may_run_again(state_, *job)) {
        codes[i] = Code::cancelled;
        continue;
      }
      const int64_t length_ms = lease_ms != 0 ? lease_ms : lease_length_ms(*job);
      if (length_ms != current_ms) {  // a record has one deadline
        if (!command.settles.empty()) {
          WQ_TRY_SET(lsn, commit(command));
        }
        current_ms = length_ms;
        begin_record(current_ms);
      }
      SettleItem& item = command.settles.emplace_back();
      item.id = token.id;
      item.generation = token.generation;
    }
    if (command.settles.empty()) return {};  // then no record was begun for another length either
    WQ_TRY_SET(lsn, commit(command));
    wake_for_timers();  // a lease may have become shorter
  }
  return finish(lsn, call, level_for(call, Durability::process));
}

// ---- settling

namespace {

// Jobs that the command under construction names are claimed. apply() gives them up; if it never
// comes to that they are given up here.
class ClaimScope {
 public:
  ClaimScope(State& state, const std::vector<SettleItem>& items) : state_(state), items_(items) {}
  ~ClaimScope() {
    if (applied_) return;
    for (const SettleItem& item : items_) {
      if (Job* job = state_.find(item.id)) job->claimed = false;
    }
  }
  ClaimScope(const ClaimScope&) = delete;
  ClaimScope& operator=(const ClaimScope&) = delete;
  void applied() { applied_ = true; }

 private:
  State& state_;
  const std::vector<SettleItem>& items_;
  bool applied_ = false;
};

}  // namespace

void complete_settle(const Queue& queue, const Job& job, SettleItem& item) {
  if (!queue.keeps_done()) item.result = {};
  if (item.kind != SettleKind::ack) return;
  const bool sealed = !item.result.empty() && (item.flags & settle_sealed) != 0;
  const bool chain = job.traits && job.traits->chain_jobs != 0;
  item.flags = static_cast<uint8_t>((sealed ? settle_sealed : 0) | (chain ? settle_chain : 0));
}

Status Engine::settle(QueueId id, std::span<const SettleItem> items, CallOptions& call,
                      std::span<Code> codes) {
  WQ_ENTER();
  std::vector<SettleItem> sealed;
  std::list<std::string> sealed_results;  // empty it needs no memory, as a deque would
  uint64_t bytes = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    WQ_TRY(admit_settle(items[i]));
    bytes += counted_bytes(items[i]);
    if (bytes > call_payload_bytes_max) {
      return Status(Code::too_large, "result: those of this call have over 512 MiB together");
    }
    if (items[i].result.empty()) continue;
    if (sealed.empty()) sealed.assign(items.begin(), items.end());
    WQ_TRY(seal_result(id, sealed[i], sealed_results.emplace_back()));
  }
  if (!sealed.empty()) items = sealed;
  std::vector<std::string> cut_texts;  // long texts: their bytes stay where they are when it grows
  Lsn lsn = 0;
  Durability level = Durability::power;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    level = level_for(call, queue->config.durability);
    Command& command = begin(CommandType::settle);
    command.queue = id;
    ClaimScope claims(state_, command.settles);
    bool delayed = false;
    for (size_t i = 0; i < items.size(); ++i) {
      SettleItem item = items[i];
      if (WQ_PLANTED(settle_by_any_holder)) item.generation = holder(state_, item.id);
      codes[i] = check_lease(state_, queue, item.id, item.generation).code();
      if (codes[i] != Code::ok) continue;
      Job* job = state_.find_live(item.id);
      if (job->claimed && !WQ_PLANTED(settled_twice)) {
        codes[i] = Code::stale;  // named twice in this call: the first one settles it
        continue;
      }
      if (item.kind == SettleKind::nack && item.delay_ms < 0) {
        item.delay_ms = drawn_retry_delay_ms(*job, prng_);
      }
      command.settles.push_back(item);
      job->claimed = true;
      if (item.error.size() > error_bytes_max) {
        command.settles.back().error = cut_error(item.error, cut_texts.emplace_back());
      }
      complete_settle(*queue, *job, command.settles.back());
      delayed |= item.kind != SettleKind::ack || job->traits;
    }
    if (command.settles.empty()) return {};
    WQ_TRY_SET(lsn, commit(command));
    claims.applied();
    if (delayed) wake_for_timers();
    if (draining_) idle_.notify_all();
  }
  return finish(lsn, call, level);
}

}  // namespace wq
