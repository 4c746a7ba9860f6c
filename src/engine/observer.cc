#include "engine/observer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

#include "base/planted.h"
#include "engine/queue.h"

namespace wq {
namespace {

// Of the way to the present rate, that one tick goes.
double tick_share(double window_ms) {
  return 1 - std::exp(-static_cast<double>(rate_tick_ms) / window_ms);
}

const double share_1m = tick_share(60'000);
const double share_5m = tick_share(300'000);

void end_ticks(Rate& rate, uint64_t counted, uint64_t ticks, bool is_first) {
  const double now = static_cast<double>(counted) * 1000 / static_cast<double>(rate_tick_ms);
  if (is_first) {
    rate = Rate{now, now};
  } else {
    rate.per_s_1m += share_1m * (now - rate.per_s_1m);
    rate.per_s_5m += share_5m * (now - rate.per_s_5m);
  }
  const auto idle = static_cast<double>(ticks - 1);
  rate.per_s_1m *= std::pow(1 - share_1m, idle);
  rate.per_s_5m *= std::pow(1 - share_5m, idle);
}

}  // namespace

EventRing::EventRing(uint32_t size) : slots_(size == 0 ? 0 : std::bit_ceil(size_t{size})) {}

// ---- what is kept of a queue

void AttemptCounts::add(uint32_t attempts) {
  const auto place = std::lower_bound(std::begin(bounds), std::end(bounds), attempts);
  ++up_to[place - std::begin(bounds)];
  sum += attempts;
}

QueueMeter::~QueueMeter() {
  while (KeptError* kept = errors.pop_front()) {
    kept->of_store.unlink();
    delete kept;
  }
}

void QueueMeter::roll(int64_t now_ms) {
  // The clock was set back, or nothing was counted before: a tick begins.
  if (tick_start_ms == 0 || now_ms < tick_start_ms) tick_start_ms = now_ms;
  const int64_t ticks = (now_ms - tick_start_ms) / rate_tick_ms;
  if (ticks == 0) return;
  for (size_t i = 0; i < kinds; ++i) {
    end_ticks(rate[i], counted[i], static_cast<uint64_t>(ticks), !has_rate);
    counted[i] = 0;
  }
  has_rate = true;
  tick_start_ms += ticks * rate_tick_ms;
}

Rates QueueMeter::rates_at(int64_t now_ms) const {
  if (tick_start_ms == 0) return {};
  Rates out;
  const int64_t ticks = std::max<int64_t>(0, now_ms - tick_start_ms) / rate_tick_ms;
  Rate* const rates[kinds] = {&out.enqueued, &out.leased, &out.acked};
  for (size_t i = 0; i < kinds; ++i) {
    *rates[i] = rate[i];
    if (ticks > 0) end_ticks(*rates[i], counted[i], static_cast<uint64_t>(ticks), !has_rate);
  }
  return out;
}

Observer::~Observer() {
  meters_.clear();  // their errors leave the list of the store
}

// Null if there is no memory: then this is not counted, and nothing else suffers.
QueueMeter* Observer::meter(QueueId queue) {
  if (queue < meters_.size() && meters_[queue]) [[likely]]
    return meters_[queue].get();
  try {
    if (queue >= meters_.size()) meters_.resize(queue + 1);
    meters_[queue] = std::make_unique<QueueMeter>();
    return meters_[queue].get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The meter of a queue, about to count something that happens now.
QueueMeter* Observer::counting(QueueId queue) {
  if (counting_ && queue == counting_queue_) return counting_;
  QueueMeter* const found = meter(queue);
  if (!found) return nullptr;
  const int64_t into_tick_ms = now_ms_ - found->tick_start_ms;
  if (into_tick_ms < 0 || into_tick_ms >= rate_tick_ms) found->roll(now_ms_);
  counting_ = found;
  counting_queue_ = queue;
  return found;
}

// ---- events

Event* Observer::tell(EventKind kind, const Job& job, int64_t time_ms) {
  if (!ring.is_on()) return nullptr;
  Event& event = ring.push();
  event.lsn = lsn_;
  event.at_ms = now_ms_;
  event.time_ms = time_ms;
  event.job = job.id;
  event.generation = job.generation;
  event.count = 1;
  event.queue = job.queue->id;
  event.attempt = job.attempts;
  event.kind = kind;
  event.reason = DeadReason::none;
  return &event;
}

void Observer::tell_cause(const Job& job, int64_t time_ms) {
  tell(cause_, job, time_ms);
  cause_ = EventKind::released;
}

void Observer::nacked(const Job& job, std::string_view error, bool counts) {
  cause_ = EventKind::nacked;
  if (counts || !error.empty()) keep_error(job, EventKind::nacked, error);
}

void Observer::failed(const Job& job, std::string_view error) {
  cause_ = EventKind::dead;
  keep_error(job, EventKind::dead, error);
}

void Observer::expired(const Job& job) {
  cause_ = EventKind::expired;
  keep_error(job, EventKind::expired, {});
}

void Observer::entering(const Job& job, JobState state, int64_t due_ms) {
  switch (job.state) {
    case JobState::gone:
      if (QueueMeter* found = counting(job.queue->id)) ++found->counted[QueueMeter::enqueued];
      tell(EventKind::queued, job, due_ms);
      return;
    case JobState::delayed:
      if (state == JobState::ready) tell(EventKind::promoted, job);
      return;
    case JobState::leased:
    case JobState::running:
      tell_cause(job, due_ms);
      return;
    case JobState::dead:
      tell(EventKind::replayed, job, due_ms);
      return;
    case JobState::ready:
      if (state == JobState::delayed) tell(EventKind::released, job, due_ms);
      return;
  }
}

void Observer::leasing(const Job& job, Generation generation, int64_t deadline_ms) {
  if (QueueMeter* found = counting(job.queue->id)) {
    ++found->counted[QueueMeter::leased];
    const int64_t wait_ms = WQ_PLANTED(lease_wait_uncounted) ? 0 : now_ms_ - job.since_ms;
    found->lease_wait_ms.add(static_cast<uint64_t>(std::max<int64_t>(0, wait_ms)));
  }
  if (Event* event = tell(EventKind::leased, job, deadline_ms)) event->generation = generation;
}

void Observer::confirming(const Job& job, int64_t deadline_ms) {
  tell(EventKind::confirmed, job, deadline_ms);
}

void Observer::dying(const Job& job, DeadReason reason) {
  if (QueueMeter* found = meter(job.queue->id)) found->attempts.add(job.attempts);
  const bool was_held = job.state == JobState::leased || job.state == JobState::running;
  // A fail is the death; a nack and a lost lease were something before it.
  const bool was_more = cause_ == EventKind::nacked || cause_ == EventKind::expired;
  if (was_held && was_more) tell(cause_, job);
  cause_ = EventKind::released;
  if (Event* event = tell(EventKind::dead, job)) event->reason = reason;
}

void Observer::ending(const Job& job, EndReason reason) {
  switch (reason) {
    case EndReason::acked:
      if (QueueMeter* found = counting(job.queue->id)) {
        ++found->counted[QueueMeter::acked];
        found->attempts.add(job.attempts);
      }
      tell(EventKind::acked, job);
      return;
    case EndReason::cancelled:
      // A failed attempt that has no next one, since its batch was cancelled.
      if (cause_ != EventKind::released) tell_cause(job, 0);
      tell(EventKind::cancelled, job);
      return;
    case EndReason::expired:
      tell(EventKind::job_expired, job);
      return;
    case EndReason::dropped:
      tell(EventKind::dropped, job);
      return;
    case EndReason::skipped:
      tell(EventKind::skipped, job);
      return;
    case EndReason::cleared:
      // One dead letter; of a whole queue one event tells for all.
      if (job.state == JobState::dead) tell(EventKind::cleared, job);
      return;
  }
}

void Observer::batch_finished(uint64_t batch, uint64_t members) {
  queue_event(EventKind::batch_finished, 0, members);
  if (ring.is_on()) ring.newest().job = batch;
}

void Observer::queue_event(EventKind kind, QueueId queue, uint64_t count) {
  if (!ring.is_on()) return;
  Event& event = ring.push();
  event = Event{};
  event.lsn = lsn_;
  event.at_ms = now_ms_;
  event.count = count;
  event.queue = queue;
  event.kind = kind;
}

void Observer::checkpoint(Lsn lsn, int64_t now_ms) {
  begin(lsn, now_ms);
  queue_event(EventKind::checkpoint, 0, 0);
}

// The event of the end comes next, and older ones name the queue as well.
void Observer::deleting(const Queue& queue) {
  counting_ = nullptr;
  if (queue.id < meters_.size() && meters_[queue.id]) {
    error_count_ -= meters_[queue.id]->error_count;
    meters_[queue.id].reset();
  }
  if (!ring.is_on()) return;
  while (!deleted_.empty() && deleted_.front().sequence < ring.first()) deleted_.pop_front();
  try {
    deleted_.push_back(DeletedName{queue.id, ring.last() + 1, queue.name});
  } catch (const std::bad_alloc&) {
    // its events go without the name
  }
}

std::string_view Observer::deleted_name(QueueId queue) const {
  const auto found = std::find_if(deleted_.begin(), deleted_.end(),
                                  [queue](const DeletedName& row) { return row.queue == queue; });
  return found == deleted_.end() ? std::string_view() : std::string_view(found->name);
}

// ---- errors

// A queue that has as many as it may, or a store, gives up the oldest one.
void Observer::keep_error(const Job& job, EventKind kind, std::string_view text) {
  QueueMeter* const found = meter(job.queue->id);
  if (!found) return;
  QueueMeter::KeptError* kept = nullptr;
  if (found->error_count == queue_errors_max) kept = found->errors.front();
  if (!kept && error_count_ >= store_errors_max) kept = errors_.front();
  if (kept) {
    kept->of_queue.unlink();
    kept->of_store.unlink();
    --kept->meter->error_count;
  } else {
    kept = new (std::nothrow) QueueMeter::KeptError;
    if (!kept) return;
    ++error_count_;
  }
  QueueError& error = kept->error;
  error.at_ms = now_ms_;
  error.job = job.id;
  error.generation = job.generation;
  error.attempt = job.attempts;
  error.kind = kind;
  try {
    error.text = printable_text(text, queue_error_bytes_max);
  } catch (const std::bad_alloc&) {
    error.text.clear();
  }
  kept->meter = found;
  found->errors.push_back(kept);
  errors_.push_back(kept);
  ++found->error_count;
}

}  // namespace wq
