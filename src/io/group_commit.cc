// Group commit of SegmentLog: who flushes, what a flush does, who is woken.
//
// Whoever needs a record flushed and finds nobody at it flushes for everybody; those who come
// meanwhile form the next group, and when the flush is over one of them is woken to be the next.
//
// There are two turns. Who holds `write_` hands a group to the kernel, which takes microseconds;
// who holds `barrier_` waits for the device, which takes a hundred times as long. A flush at power
// level takes both. Where one write with a barrier of its own can do it, they end together. Where
// earlier groups are in the kernel only, the group is written, the write turn ends, and one barrier
// for all of it follows: meanwhile others write on, so who needs no device (a lease) does not wait
// for those who do (acks). At most one barrier is under way, and no segment ends meanwhile: the
// kernel reports a failed write-back once per open file, so two barriers at a time on one file
// could share one error, and one of them would lie.
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "io/io_transfer.h"
#include "io/segment_log_impl.h"

namespace wq {

void Turn::begin(Lsn newest) {
  taken = true;
  ++number;
  last = newest;
}

CondVar* Turn::release(uint64_t step) {
  const size_t set = step & 1;
  if (sleepers[set] == 0) return nullptr;
  sleepers[set] = 0;
  ++rounds[set];
  return &over[set];
}

bool SegmentLogImpl::may_flush(Durability level) const {
  if (write_.taken) return false;
  if (!barrier_.taken) return true;
  const bool same_segment =
      active_.runs().empty() || active_.runs().back().place.seq == written_seq_;
  return level == Durability::process && (same_segment || WQ_PLANTED(barriers_at_once));
}

// For the background flusher: what is wanted and can be done now.
std::optional<Durability> SegmentLogImpl::possible_flush() const {
  const bool power = wanted_power_ > durable_lsn_.load(std::memory_order_relaxed);
  if (power && may_flush(Durability::power)) return Durability::power;
  const bool process = wanted_process_ > process_lsn_.load(std::memory_order_relaxed);
  if (process && may_flush(Durability::process)) return Durability::process;
  return std::nullopt;
}

int64_t SegmentLogImpl::flush_group(Durability level) {
  WQ_CHECK(may_flush(level));
  const bool power = level == Durability::power;
  const Lsn durable = durable_lsn_.load(std::memory_order_relaxed);
  take_flight(power);

  mutex_.unlock();
  const int64_t from_ns = clock_.mono_ns();
  WriteOutcome outcome;
  // Caught: out of memory, or a broken invariant. How far the group got is not known then.
  Status status = caught([&] { return writer_.write(flight_, power, durable, &outcome); });
  int64_t spent_ns = clock_.mono_ns() - from_ns;
  mutex_.lock();

  status = end_write(std::move(status), outcome, power);
  const bool barrier_left = status.ok() && outcome.unsynced != nullptr;
  if (barrier_left) {
    tell(true, false);
    mutex_.unlock();
    status = caught([&] {
      return write_fully(*barrier_queue_, *outcome.unsynced, {}, 0, WriteMode::sync_after);
    });
    spent_ns = clock_.mono_ns() - from_ns;
    mutex_.lock();
  }
  if (power) end_barrier(status);
  count_flush(power, spent_ns);
  tell(!barrier_left, power);
  return spent_ns;
}

void SegmentLogImpl::take_flight(bool power) {
  WQ_CHECK(flight_.empty());
  const Lsn last = last_lsn_.load(std::memory_order_relaxed);
  write_.begin(last);
  if (power) barrier_.begin(last);
  std::swap(active_, flight_);
  // Whole blocks: the kernel need not read the rest of a block that only a part of is written to,
  // and past the page cache nothing else can be written. Blocks that a barrier covers are never
  // written again.
  const uint64_t edge = align_to_block(place_.offset);
  if (!flight_.empty()) {
    flight_.pad(static_cast<size_t>(edge - place_.offset));
    written_seq_ = flight_.runs().back().place.seq;
  }
  if (power) {
    if (!WQ_PLANTED(acknowledged_block_rewritten)) place_.offset = edge;
    undurable_ = false;
  }
  flight_bytes_ = flight_.bytes();
  if (WQ_PLANTED(ok_before_write)) {
    process_lsn_.store(last, std::memory_order_release);
    if (power) durable_lsn_.store(last, std::memory_order_release);
  }
}

// The group is in the kernel, or it is the end. Only who holds the turn publishes, so LSNs grow in
// order. Release: see reached().
Status SegmentLogImpl::end_write(Status status, const WriteOutcome& outcome, bool power) {
  if (status.ok()) status = account(outcome);
  if (status.ok()) leave_growing_segment();
  if (!status.ok()) fail(status);
  if (status.ok()) status = failure_;  // a barrier under way, or the directory, failed meanwhile
  if (status.ok()) {
    process_lsn_.store(write_.last, std::memory_order_release);
    const bool covered = power && outcome.unsynced == nullptr;
    const Lsn durable = covered ? write_.last : outcome.durable_lsn;
    if (durable > durable_lsn_.load(std::memory_order_relaxed)) {
      durable_lsn_.store(durable, std::memory_order_release);
    }
  }
  flight_.clear();
  flight_bytes_ = 0;
  unflushed_bytes_.store(active_.bytes(), std::memory_order_relaxed);
  write_.taken = false;
  return status;
}

void SegmentLogImpl::end_barrier(const Status& status) {
  if (!status.ok()) fail(status);
  if (status.ok() && failure_.ok()) {
    const Lsn covered = WQ_PLANTED(late_record_durable) ? process_lsn() : barrier_.last;
    const Lsn durable = std::max(covered, durable_lsn_.load(std::memory_order_relaxed));
    durable_lsn_.store(durable, std::memory_order_release);
  }
  barrier_.taken = false;
}

Status SegmentLogImpl::account(const WriteOutcome& outcome) {
  try {
    live_.insert(live_.end(), outcome.begun.begin(), outcome.begun.end());
  } catch (const std::bad_alloc&) {
    return Code::no_memory;  // a segment that nobody knows of would never be released
  }
  for (const LiveSegment& begun : outcome.begun) {
    if (begun.grows) growing_seq_ = begun.seq;
  }
  for (const AppendRun& run : flight_.runs()) {
    for (LiveSegment& segment : live_) {
      if (segment.seq == run.place.seq) segment.frame_bytes += run.frames_end - run.begin;
    }
  }
  stats_.written_bytes += outcome.written_bytes;
  return {};
}

void SegmentLogImpl::count_flush(bool power, int64_t spent_ns) {
  ++(power ? stats_.flushes : stats_.writes);
  const auto spent = static_cast<uint64_t>(std::max<int64_t>(0, spent_ns));
  stats_.flush_ns_total += spent;
  if (power) stats_.flush_us.add(to_us(spent_ns));
  stats_.flush_ns_max = std::max(stats_.flush_ns_max, spent);
}

void SegmentLogImpl::fail(const Status& cause) {
  if (!failure_.ok() || WQ_PLANTED(log_failure_forgotten)) return;
  failure_ = status_with_text(
      Code::poisoned,
      [&] { return cause.message() + "; nothing more is written, reopen the store"; },
      cause.code() == Code::no_memory ? ENOMEM : cause.os_errno(), cause.offset());
  failed_.store(true, std::memory_order_release);
}

bool SegmentLogImpl::sleep_until_over(Turn& turn, uint64_t number, int64_t* left_ns) {
  const size_t set = number & 1;
  const uint64_t round = turn.rounds[set];
  const int64_t from_ns = clock_.mono_ns();
  ++turn.sleepers[set];
  const bool woken = turn.over[set].wait_for_ns(mutex_, *left_ns);
  if (turn.rounds[set] == round) --turn.sleepers[set];
  *left_ns -= woken ? std::max<int64_t>(0, clock_.mono_ns() - from_ns) : *left_ns;
  return *left_ns > 0;
}

// One who sleeps until the next step is over, and can do it. Rather one who needs the device, as a
// flush at power level serves the others too; so nobody is named where the background flusher shall
// do that. Otherwise those who need no device could keep it from its turn for ever.
CondVar* SegmentLogImpl::next_flusher() {
  if (WQ_PLANTED(next_group_not_started)) return nullptr;
  const size_t next_barrier = (barrier_.number + 1) & 1;
  if (may_flush(Durability::power) && barrier_.sleepers[next_barrier] > 0) {
    return &barrier_.over[next_barrier];
  }
  if (flusher_ != FlusherState::awake && possible_flush() == Durability::power) return nullptr;
  const size_t next_write = (write_.number + 1) & 1;
  if (may_flush(Durability::process) && write_.sleepers[next_write] > 0) {
    return &write_.over[next_write];
  }
  return nullptr;
}

// Wakes those whose step is over, and who does the next one. Gives the lock up for it, or the woken
// would run into it at once; the condition variables outlive them, as nobody destroys a log that
// has callers in it.
void SegmentLogImpl::tell(bool write_over, bool barrier_over) {
  const bool failed = !failure_.ok();
  std::array<CondVar*, 4> all{};
  if (!WQ_PLANTED(group_wakes_nobody)) {
    if (write_over || failed) all[0] = write_.release(write_.number);
    if (barrier_over || failed) all[1] = barrier_.release(barrier_.number);
  }
  if (failed) {
    all[2] = write_.release(write_.number + 1);
    all[3] = barrier_.release(barrier_.number + 1);
  }
  CondVar* const next = failed ? nullptr : next_flusher();
  const bool wake_flusher = flusher_ != FlusherState::awake &&
                            (failed || (next == nullptr && possible_flush().has_value()));
  if (wake_flusher) flusher_ = FlusherState::awake;
  mutex_.unlock();
  for (CondVar* const over : all) {
    if (over != nullptr) over->notify_all();
  }
  if (next != nullptr) next->notify_one();
  if (wake_flusher) work_.notify_one();
  if (listener_) listener_();
  mutex_.lock();
}

// A sleeper that leaves may have been the one that was woken to flush.
void SegmentLogImpl::pass_turn_on() {
  if (CondVar* const next = next_flusher()) {
    next->notify_one();
  } else {
    wake_flusher_for_wants();
  }
}

void SegmentLogImpl::wake_flusher_for_wants() {
  if (flusher_ == FlusherState::awake || !possible_flush()) return;
  flusher_ = FlusherState::awake;
  work_.notify_one();
}

}  // namespace wq
