#include "engine/state.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/batch.h"
#include "engine/follow_up.h"
#include "engine/job_limits.h"
#include "engine/observer.h"

namespace wq {

State::~State() {
  // Nothing looks at the table or a list any more.
  jobs_.for_each([this](Job* job) { pool_.free(job); });
}

// ---- queues

Queue* State::find_queue(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

Queue* State::add_queue(QueueId id, std::string name) {
  if (queues_.size() <= id) queues_.resize(id + 1);
  WQ_CHECK(!queues_[id]);
  auto queue = std::make_unique<Queue>();
  queue->id = id;
  queue->name = std::move(name);
  Queue* added = queue.get();
  WQ_CHECK(names_.emplace(added->name, added).second);
  queues_[id] = std::move(queue);
  return added;
}

Queue* State::load_queue(const QueueRow& row) {
  Queue* queue = add_queue(row.id, row.name);
  queue->config = row.config;
  queue->totals = row.totals;
  for (size_t i = 0; i < job_state_count; ++i) {
    queue->counts[i] = row.counts[i];
    queue->epochs[i] = row.epochs[i];
    queue->bytes[i] = row.bytes[i];
    job_bytes_ += row.bytes[i];
  }
  queue->next_tail_seq = row.next_tail_seq;
  queue->next_front_seq = row.next_front_seq;
  queue->next_dead_seq = row.next_dead_seq;
  queue->created_ms = row.created_ms;
  queue->history_first = row.history_first;
  queue->history_next = row.history_next;
  queue->rate_tat_ns = row.rate_tat_ns;
  queue->expiring = row.expiring;
  if (row.counts[static_cast<size_t>(JobState::ready)] > 0) cold_expiry_ms = 0;
  queue->next_turn = 0;
  for (const TurnRow& turn : row.turns) queue->lane(turn.priority).turn = turn.turn;
  for (const LaneRow& lane_row : row.lanes) {
    Lane& lane = queue->lane(lane_row.priority);
    lane.count = lane.cold_count = lane_row.count;
    lane.cold_low = lane_row.head_hint;
    lane.cold_high = row.next_tail_seq - 1;
  }
  const uint64_t delayed = queue->count(JobState::delayed);
  delayed_count_ += delayed;
  if (delayed > 0) delay_cursor = DelayKey{};
  return queue;
}

void State::remove_queue(Queue* queue) {
  if (observer) observer->deleting(*queue);
  forget_keys(queue);
  names_.erase(queue->name);
  queue->deleted = true;  // the object lives on until garbage jobs no longer point to it
  removed_queues_.push_back(queue->id);
}

// ---- jobs

namespace {

// All of it but the texts.
void copy_history(Job* job, const JobRow& row) {
  job->priority = row.priority;
  job->attempts = row.attempts;
  job->exceptions = row.exceptions;
  job->failures = row.failures;
  job->max_attempts = row.max_attempts;
  job->replays = row.replays;
  job->generation = row.generation;
  job->leased_ms = row.leased_ms;
  job->key_until_ms = row.key_until_ms;
  job->first_dead_ms = row.first_dead_ms;
}

bool names_end(const Job& job) {
  return job.traits && job.traits->expires_ms != 0;
}

// Null for an empty text.
std::unique_ptr<std::string> kept_text(std::string_view text) {
  return text.empty() ? nullptr : std::make_unique<std::string>(text);
}

}  // namespace

Job* State::add(Queue* queue, JobId id, BodyRef body) {
  auto job = pool_.make();
  job->queue = queue;
  job->id = id;
  job->body = std::move(body);
  job->traits = trusted_traits(job->body.bytes());
  job->packed = trusted_packing(job->body.bytes()).is_packed();
  hold_rows(*job);
  jobs_.insert(job.get());
  resident_bytes_ += job->resident_bytes();
  link_dirty(job.get());
  return job.release();
}

Job* State::add_stored(Queue* queue, JobId id, const JobRow& row, BodyRef body,
                       bool has_state_row) {
  // For what follows and can not fail: a job that is resident has its timer.
  delays_.make_room();
  expiries_.make_room();
  leases_.make_room();
  auto job = pool_.make();
  job->queue = queue;
  job->id = id;
  job->body = std::move(body);
  job->traits = trusted_traits(job->body.bytes());
  job->packed = trusted_packing(job->body.bytes()).is_packed();
  job->state = row.state;
  job->reason = row.reason;
  job->epoch = row.epoch;
  job->position = row.position;
  job->since_ms = row.since_ms;
  job->deadline_ms = row.deadline_ms;
  job->deadline_set_ms = row.deadline_set_ms;
  if (row.state == JobState::ready && !gate_name_of(*job).empty()) {
    job->gate = gate_of(queue, gate_name_of(*job));
    job->line = job->gate->number;
    if (Lane* line = job->gate->find_line(row.priority)) note_stored(*line, *job);
  }
  job->stored =
      StoredPlace{row.state, row.priority, has_state_row, row.position, queue->id, job->line};
  copy_history(job.get(), row);
  job->last_error = kept_text(row.last_error);
  job->progress = kept_text(row.progress);
  hold_rows(*job);
  // Nothing fails from here on: the table does not own the job.
  ++residency.loaded[static_cast<size_t>(row.state)];
  jobs_.insert(job.get());
  resident_bytes_ += job->resident_bytes();
  return job.release();
}

void State::link_stored(Job* job) {
  switch (job->state) {
    case JobState::delayed:
      delays_.add(job, static_cast<int64_t>(job->position));
      break;
    case JobState::leased:
    case JobState::running:
      job->queue->leased.push_back(job);
      hold_slot(job, true);
      if (job->deadline_ms != 0) leases_.add(job, job->deadline_ms);
      break;
    default:
      WQ_CHECK(false);
  }
}

void State::evict(Job* job) {
  WQ_CHECK(is_stored(job));
  if (job->place.linked()) job->place.unlink();
  if (job->state == JobState::delayed) delays_.remove(job);
  if (job->state == JobState::ready && job->has_timer()) {
    cold_expiry_ms = std::min(cold_expiry_ms, job->timer_ms);
    expiries_.remove(job);
  }
  ++residency.evicted;
  free_job(job);
}

// What a change of the job may have to change besides is known as long as the job is.
void State::hold_rows(const Job& job) {
  if (!job.traits || job.traits->batch == 0) return;
  side(Family::batch).pin(batch_row_key(job.traits->batch));
}

void State::let_rows_go(const Job& job) {
  if (!job.traits || job.traits->batch == 0) return;
  side(Family::batch).unpin(batch_row_key(job.traits->batch));
}

void State::free_job(Job* job) {
  let_rows_go(*job);
  resident_bytes_ -= job->resident_bytes();
  jobs_.erase(job->id);
  pool_.free(job);
}

void State::link_dirty(Job* job) {
  job->changed_in = checkpoint_number_;
  dirty_.push_back(job);
  ++dirty_count_;
}

void State::touch(Job* job) {
  if (is_frozen(job) && !WQ_PLANTED(checkpoint_of_the_current_image)) {
    ++residency.copied_on_write;
    capture(job);
  }
  if (!job->changed.linked()) link_dirty(job);
}

void State::leave(Job* job) {
  touch(job);
  Queue* queue = job->queue;
  switch (job->state) {
    case JobState::gone:
      return;
    case JobState::ready: {
      Lane& lane = lane_of(job);
      if (job->place.linked()) {
        if (lane.in_head(job)) --lane.head_count;
        job->place.unlink();
      }
      if (job->has_timer()) expiries_.remove(job);
      // Rows of versions that did not count them say that there is none.
      if (names_end(*job) && queue->expiring > 0) --queue->expiring;
      --lane.count;
      if (lane.turns) settle_turn(*queue, lane);
      if (lane.tenants != LineTenants::one && lane.head.empty()) {
        lane.tenants = LineTenants::unread;
      }
      break;
    }
    case JobState::delayed:
      if (job->has_timer()) delays_.remove(job);
      --delayed_count_;
      break;
    case JobState::leased:
    case JobState::running:
      if (job->has_timer()) leases_.remove(job);
      job->place.unlink();
      want_wake(queue);  // a slot is free
      break;
    case JobState::dead:
      if (job->place.linked()) job->place.unlink();
      break;
  }
  count_out(job);
  job->deadline_ms = job->deadline_set_ms = 0;
  if (job->gate) leave_gate(job);
}

void State::count_in(Job* job) {
  Queue* queue = job->queue;
  const auto state = static_cast<size_t>(job->state);
  ++queue->counts[state];
  queue->bytes[state] += job->body.size();
  job_bytes_ += job->body.size();
  touch(queue);
}

void State::count_out(Job* job) {
  Queue* queue = job->queue;
  const auto state = static_cast<size_t>(job->state);
  --queue->counts[state];
  queue->bytes[state] -= job->body.size();
  job_bytes_ -= job->body.size();
  touch(queue);
}

void State::enter_ready(Job* job, int64_t now_ms, bool front) {
  if (observer) observer->entering(*job, JobState::ready, 0);
  Queue* queue = job->queue;
  job->state = JobState::ready;
  job->epoch = queue->epoch(JobState::ready);
  job->since_ms = now_ms;
  job->position = front ? queue->next_front_seq-- : queue->next_tail_seq++;
  if (!gate_name_of(*job).empty()) enter_line(job);
  Lane& lane = lane_of(job);
  ++lane.count;
  if (names_end(*job)) ++queue->expiring;
  if (front) {
    lane.head.push_front(job);
    ++lane.head_count;
  } else {
    if (lane.cold_count == 0) {
      lane.head.push_back(job);
      ++lane.head_count;
    } else {
      lane.tail.push_back(job);
    }
  }
  watch_expiry(job);
  count_in(job);
  if (job->gate) settle_gate(*job->gate);
  if (lane.turns) settle_turn(*queue, lane);
  want_wake(queue);
}

void State::enter_delayed(Job* job, int64_t now_ms, int64_t due_ms) {
  if (observer) observer->entering(*job, JobState::delayed, due_ms);
  Queue* queue = job->queue;
  job->state = JobState::delayed;
  job->epoch = queue->epoch(JobState::delayed);
  job->since_ms = now_ms;
  job->position = static_cast<uint64_t>(due_ms);
  delays_.add(job, due_ms);
  ++delayed_count_;
  count_in(job);
}

void State::enter_leased(Job* job, int64_t now_ms, Generation generation, int64_t deadline_ms) {
  if (observer) observer->leasing(*job, generation, deadline_ms);
  Queue* queue = job->queue;
  job->state = JobState::leased;
  job->epoch = queue->epoch(JobState::leased);
  job->since_ms = now_ms;
  job->leased_ms = now_ms;
  job->generation = generation;
  job->position = generation;
  job->deadline_ms = deadline_ms;
  leases_.add(job, deadline_ms + lease_shift_ms);
  queue->leased.push_back(job);
  count_in(job);
  hold_slot(job, false);
  if (!job->traits) return;
  charge_key(*job);
  on_leased(*this, *job, now_ms);
}

void State::enter_running(Job* job, int64_t now_ms, int64_t deadline_ms) {
  if (observer) observer->confirming(*job, deadline_ms);
  Queue* queue = job->queue;
  job->state = JobState::running;
  job->epoch = queue->epoch(JobState::running);
  job->since_ms = now_ms;
  job->position = job->generation;
  job->deadline_ms = deadline_ms;
  if (deadline_ms != 0) {
    job->deadline_set_ms = now_ms;
    leases_.add(job, deadline_ms + lease_shift_ms);
  }
  queue->leased.push_back(job);
  count_in(job);
  hold_slot(job, true);
}

void State::enter_dead(Job* job, int64_t now_ms, DeadReason reason) {
  if (observer) observer->dying(*job, reason);
  Queue* queue = job->queue;
  job->state = JobState::dead;
  job->epoch = queue->epoch(JobState::dead);
  job->since_ms = now_ms;
  job->reason = reason;
  job->position = queue->next_dead_seq++;
  if (job->first_dead_ms == 0) job->first_dead_ms = now_ms;
  queue->dead.push_back(job);
  ++queue->totals.dead;
  count_in(job);
  note_dead(queue, now_ms);
  if (job->traits) on_dead(*this, *job, now_ms);
}

// The maintenance drops what is over the caps, oldest first.
void State::note_dead(Queue* queue, int64_t now_ms) {
  const QueueConfig& config = queue->config;
  int64_t due_ms = INT64_MAX;
  if (config.dead_max_age_ms != 0) due_ms = now_ms + config.dead_max_age_ms;
  if (config.dead_max_count != 0 && queue->count(JobState::dead) > config.dead_max_count) {
    due_ms = 0;
  }
  queue->dead_due_ms = std::min(queue->dead_due_ms, due_ms);
  dead_trim_ms = std::min(dead_trim_ms, due_ms);
}

void State::end(Job* job, EndReason reason, int64_t now_ms) {
  if (observer) observer->ending(*job, reason);
  if (job->traits) on_end(*this, *job, reason, now_ms);
  discard(job);
}

void State::discard(Job* job) {
  if (job->stored.state == JobState::gone && !is_frozen(job)) {
    job->changed.unlink();
    --dirty_count_;
    free_job(job);
    return;
  }
  touch(job);
  let_rows_go(*job);
  resident_bytes_ -= job->resident_bytes();
  job->state = JobState::gone;
  job->gate = nullptr;
  job->line = 0;
  job->traits.reset();
  job->body = BodyRef();
  job->last_error.reset();
  job->progress.reset();
  resident_bytes_ += job->resident_bytes();
}

void State::set_deadline(Job* job, int64_t now_ms, int64_t deadline_ms) {
  touch(job);
  job->deadline_ms = deadline_ms;
  job->deadline_set_ms = now_ms;
  leases_.move(job, deadline_ms + lease_shift_ms);
}

void State::set_error(Job* job, std::string_view error) {
  resident_bytes_ -= job->resident_bytes();
  job->last_error = error.empty() ? nullptr : std::make_unique<std::string>(error);
  resident_bytes_ += job->resident_bytes();
}

void State::set_progress(Job* job, std::string_view note) {
  resident_bytes_ -= job->resident_bytes();
  job->progress = note.empty() ? nullptr : std::make_unique<std::string>(note);
  resident_bytes_ += job->resident_bytes();
}

void State::watch_expiry(Job* job) {
  if (!job->traits && job->queue->config.job_ttl_ms == 0) return;
  if (const int64_t at_ms = expiry_ms(*job); at_ms != 0) expiries_.add(job, at_ms);
}

void State::renew_expiries(Queue* queue) {
  drop_expiries(queue);
  const auto watch_all = [&](const Lanes& lanes) {
    for (const auto& lane : lanes) {
      for (Job* job = lane->head.front(); job; job = lane->head.next(job)) watch_expiry(job);
      for (Job* job = lane->tail.front(); job; job = lane->tail.next(job)) watch_expiry(job);
    }
  };
  watch_all(queue->lanes);
  for (const auto& [key, gate] : queue->gates) watch_all(gate->lines);
}

void State::drop_expiries(Queue* queue) {
  std::vector<Job*> watched;
  expiries_.for_each([&](Job* job) {
    if (job->queue == queue) watched.push_back(job);
  });
  for (Job* job : watched) expiries_.remove(job);
}

void State::set_history(Job* job, const JobRow& row) {
  copy_history(job, row);
  set_error(job, row.last_error);
  set_progress(job, row.progress);
}

// ---- clear

uint64_t State::clear_state(Queue* queue, JobState state, Lsn lsn) {
  const uint64_t cleared = queue->count(state);
  TrashRow row;
  row.queue = queue->id;
  row.state = state;
  row.lsn = lsn;
  if (state == JobState::ready) {
    row.seq_low = queue->next_front_seq + 1;
    row.seq_high = queue->next_tail_seq - 1;
    drop_expiries(queue);
    queue->expiring = 0;
    for (const auto& lane : queue->lanes) {
      if (lane->count == 0) continue;
      garbage_.splice_back(lane->head);
      garbage_.splice_back(lane->tail);
      lane->count = lane->cold_count = lane->head_count = 0;
      row.priority = lane->priority;
      trash.push_back(row);
    }
    const auto waits = [](const auto& entry) { return entry.second->waiting > 0; };
    if (std::any_of(queue->gates.begin(), queue->gates.end(), waits)) {
      row.priority = 0;
      row.lines = true;
      trash.push_back(row);
      clear_lines(queue);
    }
    for (const auto& lane : queue->lanes) {
      if (lane->turns) settle_turn(*queue, *lane);
    }
  } else if (state == JobState::dead) {
    garbage_.splice_back(queue->dead);
    row.seq_low = 0;
    row.seq_high = queue->next_dead_seq - 1;
    if (cleared > 0) trash.push_back(row);
  } else {
    WQ_CHECK(state == JobState::delayed);
    std::vector<Job*> resident;
    delays_.for_each([&](Job* job) {
      if (job->queue == queue) resident.push_back(job);
    });
    for (Job* job : resident) {
      delays_.remove(job);
      garbage_.push_back(job);
    }
    delayed_count_ -= cleared;
    row.epoch_below = queue->epoch(state) + 1;
    if (cleared > 0) trash.push_back(row);
  }
  ++queue->epoch(state);
  queue->count(state) = 0;
  job_bytes_ -= std::exchange(queue->bytes[static_cast<size_t>(state)], 0);
  touch(queue);
  return cleared;
}

bool State::sweep_garbage(size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    Job* job = garbage_.front();
    if (!job) return false;
    touch(job);
    garbage_.pop_front();
    discard(job);
  }
  return !garbage_.empty();
}

// ---- lanes

void State::join_lane(Lane& lane) {
  if (lane.cold_count > 0) return;
  lane.head.splice_back(lane.tail);
  lane.head_count = lane.count;
}

// ---- checkpoint

void State::freeze() {
  WQ_CHECK(!freezing_ && garbage_.empty() && frozen_.empty());
  captured_.reserve(dirty_count_);  // never grown: doubling it would cost more than all it holds
  freezing_ = true;
  ++checkpoint_number_;
  frozen_.splice_back(dirty_);
  dirty_count_ = 0;
  removing_queues_ = std::exchange(removed_queues_, {});
  for (const Family family : side_families) side(family).freeze();
}

void State::capture(Job* job) {
  job->changed.unlink();
  job->captured_in = checkpoint_number_;
  CapturedJob& out = captured_.emplace_back();
  out.id = job->id;
  out.before = job->stored;
  JobRow& row = out.row;
  row.queue = job->queue->id;
  row.state = job->state;
  if (job->state == JobState::gone) {
    job->stored = StoredPlace{};
    ended_.push_back(job);
    return;
  }
  row.priority = job->priority;
  row.reason = job->reason;
  row.epoch = job->epoch;
  row.attempts = job->attempts;
  row.exceptions = job->exceptions;
  row.failures = job->failures;
  row.max_attempts = job->max_attempts;
  row.replays = job->replays;
  row.position = job->position;
  row.generation = job->generation;
  row.since_ms = job->since_ms;
  row.leased_ms = job->leased_ms;
  row.first_dead_ms = job->first_dead_ms;
  row.deadline_ms = job->deadline_ms;
  row.deadline_set_ms = job->deadline_set_ms;
  row.key_until_ms = job->key_until_ms;
  out.line = job->line;
  if (job->last_error) out.error = *job->last_error;
  if (job->progress) out.progress = *job->progress;
  const bool body_is_new = job->stored.state == JobState::gone;
  if (body_is_new) out.body = job->body;
  job->stored = StoredPlace{job->state,    job->priority,  !body_is_new,
                            job->position, job->queue->id, job->line};
}

bool State::capture_some(size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    Job* job = frozen_.front();
    if (!job) return false;
    capture(job);
  }
  return !frozen_.empty();
}

std::vector<CapturedJob> State::take_captured() {
  return std::exchange(captured_, {});
}

std::vector<QueueRow> State::take_changed_queues() {
  std::vector<QueueRow> rows;
  for (Queue* queue : changed_queues_) {
    queue->changed = false;
    if (queue->deleted) continue;
    QueueRow& row = rows.emplace_back();
    row.id = queue->id;
    row.name = queue->name;
    row.config = queue->config;
    row.totals = queue->totals;
    for (size_t i = 0; i < job_state_count; ++i) {
      row.counts[i] = queue->counts[i];
      row.epochs[i] = queue->epochs[i];
      row.bytes[i] = queue->bytes[i];
    }
    row.next_tail_seq = queue->next_tail_seq;
    row.next_front_seq = queue->next_front_seq;
    row.next_dead_seq = queue->next_dead_seq;
    row.created_ms = queue->created_ms;
    row.history_first = queue->history_first;
    row.history_next = queue->history_next;
    row.rate_tat_ns = queue->rate_tat_ns;
    row.expiring = queue->expiring;
    for (const auto& lane : queue->lanes) {
      if (lane->count == 0) continue;
      row.lanes.push_back(
          LaneRow{lane->priority, lane->first_position(queue->next_front_seq + 1), lane->count});
    }
    for (const auto& lane : queue->lanes) {
      if (lane->turn != 0) row.turns.push_back({lane->priority, lane->turn});
    }
  }
  changed_queues_.clear();
  return rows;
}

bool State::drop_ended(size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    if (ended_.empty()) return false;
    Job* job = ended_.back();
    ended_.pop_back();
    free_job(job);
  }
  return !ended_.empty();
}

void State::complete() {
  WQ_CHECK(freezing_ && frozen_.empty() && ended_.empty());
  freezing_ = false;
  completed_checkpoint_ = checkpoint_number_;
  for (const Family family : side_families) side(family).complete();
  // Garbage was swept before the freeze and the jobs that ended are freed by now: nothing points to
  // a queue that was deleted before the freeze.
  for (const QueueId id : removing_queues_) queues_[id].reset();
  removing_queues_.clear();
}

}  // namespace wq
