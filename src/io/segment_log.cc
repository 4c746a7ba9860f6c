// SegmentLog: append, group commit, background flushing, trimming. How it is opened: log_open.cc.
//
// Group commit. The first waiter that finds the device idle flushes for everybody; whoever comes
// meanwhile forms the next group, and when the flush is over one of them is woken to be the next
// flusher. Waiters of the group in flight and of the group that forms sleep on two condition
// variables, so that nobody is woken who could only go back to sleep.
#include "io/segment_log_impl.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;
constexpr int64_t day_ns = 86'400'000 * ns_per_ms;

uint64_t us_of(int64_t ns) {
  return static_cast<uint64_t>(std::max<int64_t>(0, ns)) / 1'000;
}

constexpr uint64_t align_to_block(uint64_t offset) {
  return (offset + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
}

int64_t wait_ns(int64_t timeout_ms) {
  if (timeout_ms < 0 || timeout_ms > day_ns / ns_per_ms) return day_ns;
  return timeout_ms * ns_per_ms;
}

}  // namespace

SegmentLogImpl::SegmentLogImpl(Io& io, Clock& clock, LogOptions options, OpenedLog opened)
    : io_(io),
      clock_(clock),
      options_(std::move(options)),
      recovery_(std::move(opened.recovery)),
      found_(std::move(opened.segments)),
      spares_(std::move(opened.spares)),
      writer_(io, std::move(opened.queue), *spares_,
              options_.directory + "/" + std::string(log_directory_name), options_.uuid,
              found_.empty() ? nullptr : &found_.back()),
      last_lsn_(opened.next_lsn - 1),
      process_lsn_(opened.next_lsn - 1),
      durable_lsn_(opened.next_lsn - 1) {
  MutexLock lock(mutex_);
  for (const LogSegment& segment : found_) {
    live_.push_back({segment.path, segment.header.seq, segment.header.first_lsn,
                     segment.end - segment_header_bytes, false});
  }
  // What was found is never written to: the first append goes to a new segment.
  plan_segment(found_.empty() ? 1 : found_.back().header.seq + 1, options_.segment_bytes);
}

SegmentLogImpl::~SegmentLogImpl() = default;

void SegmentLogImpl::plan_segment(uint64_t seq, uint64_t segment_bytes) {
  place_ = {seq, frame_seed(options_.uuid, seq), segment_bytes, segment_header_bytes};
}

void SegmentLogImpl::make_place(uint64_t frame) {
  if (place_.offset + frame <= place_.segment_bytes) return;
  const uint64_t bytes =
      std::max(options_.segment_bytes, align_to_block(segment_header_bytes + frame));
  // A planned segment that has no frame yet is enlarged instead of being left empty.
  const bool unused = place_.offset == segment_header_bytes;
  plan_segment(unused ? place_.seq : place_.seq + 1, bytes);
}

// The first segment of a new store, and one that came before its spare was ready: as soon as there
// is a spare the log goes on in that.
void SegmentLogImpl::leave_growing_segment() {
  if (place_.seq != growing_seq_ || spares_->ready() == 0) return;
  plan_segment(place_.seq + 1, options_.segment_bytes);
}

Result<Lsn> SegmentLogImpl::append(Bytes body) {
  if (body.size() > frame_body_bytes_max) {
    return Status(Code::too_large, "log record of " + std::to_string(body.size()) +
                                       " bytes; at most " + std::to_string(frame_body_bytes_max));
  }
  const uint64_t frame = frame_bytes(body.size());
  bool wake = false;
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return Code::closed;
    WQ_TRY(failure_);
    make_place(frame);
    lsn = last_lsn_.load(std::memory_order_relaxed) + 1;
    active_.append(place_, FrameType::record, lsn, body);
    place_.offset += frame;
    ++stats_.appended_records;
    stats_.appended_bytes += body.size();
    const uint64_t before = active_.bytes() - frame;
    wake = before < options_.early_flush_bytes && active_.bytes() >= options_.early_flush_bytes &&
           flusher_ != FlusherState::awake;
    if (!undurable_) {
      undurable_ = true;
      undurable_since_ns_ = clock_.mono_ns();
      // Asleep without a deadline, it has to learn that there is one now.
      if (flusher_ == FlusherState::idle) wake = true;
    }
    unflushed_bytes_.store(active_.bytes() + flight_bytes_, std::memory_order_relaxed);
    // Release: whoever reads this LSN may wait for it.
    last_lsn_.store(lsn, std::memory_order_release);
    if (wake) flusher_ = FlusherState::awake;
  }
  if (wake) work_.notify_one();
  return lsn;
}

Lsn SegmentLogImpl::reached(Durability level) const {
  // Acquire pairs with the release in flush_group(): the bytes are where the level says.
  if (WQ_PLANTED(power_is_process)) level = Durability::process;
  return level == Durability::power ? durable_lsn_.load(std::memory_order_acquire)
                                    : process_lsn_.load(std::memory_order_acquire);
}

void SegmentLogImpl::want(Lsn lsn, Durability level) {
  Lsn& wanted = level == Durability::power ? wanted_power_ : wanted_process_;
  wanted = std::max(wanted, lsn);
}

bool SegmentLogImpl::wants_unmet() const {
  return wanted_power_ > durable_lsn_.load(std::memory_order_relaxed) ||
         wanted_process_ > process_lsn_.load(std::memory_order_relaxed);
}

Status SegmentLogImpl::wait(Lsn lsn, Durability level, int64_t timeout_ms) {
  if (level == Durability::memory)
    return failed_.load(std::memory_order_acquire) ? failure() : Status();
  if (reached(level) >= lsn) return Code::ok;
  if (lsn > last_lsn()) {
    return Status(Code::invalid, "log: wait for record " + std::to_string(lsn) +
                                     ", the newest is " + std::to_string(last_lsn()));
  }
  int64_t left_ns = wait_ns(timeout_ms);
  int64_t waited_ns = 0;  // put together from the clock readings of sleeps and flushes
  MutexLock lock(mutex_);
  for (;;) {
    if (reached(level) >= lsn) {
      stats_.commit_us.add(us_of(waited_ns));
      return Code::ok;
    }
    WQ_TRY(failure_);
    want(lsn, level);
    if (timeout_ms == 0) {
      wake_flusher_for_wants();
      return Code::timeout;
    }
    if (!flushing_) {
      waited_ns += flush_group();
      continue;
    }
    const bool in_flight = flight_last_ >= lsn && (level == Durability::process || flight_power_);
    const int64_t before_ns = left_ns;
    const bool in_time = sleep_for_group(in_flight ? group_ : group_ + 1, &left_ns);
    waited_ns += before_ns - left_ns;
    if (!in_time) {
      if (timeout_ms < 0) {
        left_ns = day_ns;
        continue;
      }
      if (reached(level) >= lsn) return Code::ok;
      pass_turn_on();
      return failure_.ok() ? Status(Code::timeout) : failure_;
    }
  }
}

bool SegmentLogImpl::sleep_for_group(uint64_t group, int64_t* left_ns) {
  const size_t slot = group & 1;
  const int64_t from_ns = clock_.mono_ns();
  ++sleepers_[slot];
  const bool woken = group_done_[slot].wait_for_ns(mutex_, *left_ns);
  --sleepers_[slot];
  *left_ns -= woken ? std::max<int64_t>(0, clock_.mono_ns() - from_ns) : *left_ns;
  return *left_ns > 0;
}

// A sleeper that leaves may have been the one that was woken to flush.
void SegmentLogImpl::pass_turn_on() {
  if (flushing_) return;
  const size_t slot = (group_ + 1) & 1;
  if (sleepers_[slot] > 0) {
    group_done_[slot].notify_one();
  } else {
    wake_flusher_for_wants();
  }
}

void SegmentLogImpl::wake_flusher_for_wants() {
  if (flusher_ == FlusherState::awake || flushing_ || !wants_unmet()) return;
  flusher_ = FlusherState::awake;
  work_.notify_one();
}

void SegmentLogImpl::request(Lsn lsn, Durability level) {
  if (level == Durability::memory || reached(level) >= lsn) return;
  MutexLock lock(mutex_);
  want(std::min(lsn, last_lsn_.load(std::memory_order_relaxed)), level);
  wake_flusher_for_wants();
}

int64_t SegmentLogImpl::flush_group() {
  WQ_CHECK(!flushing_);
  WQ_CHECK(flight_.empty());
  flushing_ = true;
  ++group_;
  const bool power = wanted_power_ > durable_lsn_.load(std::memory_order_relaxed);
  std::swap(active_, flight_);
  // Whole blocks: the kernel need not read the rest of a block that only a part of is written to,
  // and past the page cache nothing else can be written. Blocks that a barrier covers are never
  // written again.
  const uint64_t edge = align_to_block(place_.offset);
  if (!flight_.empty()) flight_.pad(static_cast<size_t>(edge - place_.offset));
  if (power) {
    if (!WQ_PLANTED(acknowledged_block_rewritten)) place_.offset = edge;
    undurable_ = false;
  }
  flight_power_ = power;
  flight_last_ = last_lsn_.load(std::memory_order_relaxed);
  flight_bytes_ = flight_.bytes();
  const uint64_t group = group_;
  if (WQ_PLANTED(ok_before_write)) {
    process_lsn_.store(flight_last_, std::memory_order_release);
    if (power) durable_lsn_.store(flight_last_, std::memory_order_release);
  }

  mutex_.unlock();
  const int64_t from_ns = clock_.mono_ns();
  WriteOutcome outcome;
  Status status = write_flight(power, &outcome);
  const int64_t spent_ns = clock_.mono_ns() - from_ns;
  mutex_.lock();

  if (status.ok()) status = account(outcome, power, spent_ns);
  if (status.ok()) leave_growing_segment();
  if (status.ok()) {
    // Only the flusher stores these, one at a time, so they grow in order. Release: see reached().
    process_lsn_.store(flight_last_, std::memory_order_release);
    durable_lsn_.store(power ? flight_last_ : outcome.durable_lsn, std::memory_order_release);
  } else {
    fail(status);
  }
  flight_.clear();
  flight_bytes_ = 0;
  unflushed_bytes_.store(active_.bytes(), std::memory_order_relaxed);
  flushing_ = false;
  finish_group(group);
  return spent_ns;
}

Status SegmentLogImpl::write_flight(bool power, WriteOutcome* outcome) {
  // Out of memory, or a broken invariant: how far the group got is not known.
  return caught([&] {
    return writer_.write(flight_, power, durable_lsn_.load(std::memory_order_relaxed), outcome);
  });
}

void SegmentLogImpl::finish_group(uint64_t group) {
  const size_t done = group & 1;
  const size_t next = done ^ 1;
  const bool failed = !failure_.ok();
  const bool next_has_sleepers = sleepers_[next] > 0 && !WQ_PLANTED(next_group_not_started);
  const bool wake_flusher =
      flusher_ != FlusherState::awake &&
      (failed || flusher_ == FlusherState::turn || (!next_has_sleepers && wants_unmet()));
  if (wake_flusher) flusher_ = FlusherState::awake;
  const bool wake_done = sleepers_[done] > 0 && !WQ_PLANTED(group_wakes_nobody);
  // Outside the lock, or the woken would run into it at once. The condition variables outlive them:
  // nobody destroys a log that has callers in it.
  mutex_.unlock();
  if (wake_done) group_done_[done].notify_all();
  if (next_has_sleepers) {
    if (failed) {
      group_done_[next].notify_all();
    } else {
      group_done_[next].notify_one();
    }
  }
  if (wake_flusher) work_.notify_one();
  if (listener_) listener_();
  mutex_.lock();
}

Status SegmentLogImpl::account(const WriteOutcome& outcome, bool power, int64_t spent_ns) {
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
  ++(power ? stats_.flushes : stats_.writes);
  const auto spent = static_cast<uint64_t>(std::max<int64_t>(0, spent_ns));
  stats_.flush_ns_total += spent;
  if (power) stats_.flush_us.add(us_of(spent_ns));
  stats_.flush_ns_max = std::max(stats_.flush_ns_max, spent);
  return {};
}

void SegmentLogImpl::fail(const Status& cause) {
  if (!failure_.ok() || WQ_PLANTED(log_failure_forgotten)) return;
  failure_ = status_with_text(
      Code::poisoned,
      [&] { return cause.message() + "; nothing more is written, reopen the store"; },
      cause.code() == Code::no_memory ? ENOMEM : cause.os_errno(), cause.offset());
  failed_.store(true, std::memory_order_release);
}

Status SegmentLogImpl::wait_for_room() {
  if (unflushed_bytes_.load(std::memory_order_relaxed) <= options_.unflushed_bytes_max) {
    return Code::ok;
  }
  MutexLock lock(mutex_);
  if (active_.bytes() + flight_bytes_ > options_.unflushed_bytes_max) ++stats_.room_waits;
  while (active_.bytes() + flight_bytes_ > options_.unflushed_bytes_max) {
    WQ_TRY(failure_);
    want(last_lsn_.load(std::memory_order_relaxed), Durability::power);
    int64_t left_ns = day_ns;
    if (flushing_) {
      sleep_for_group(group_, &left_ns);
    } else {
      flush_group();
    }
  }
  return Code::ok;
}

bool SegmentLogImpl::flush_is_due(int64_t now_ns) const {
  if (active_.bytes() >= options_.early_flush_bytes) return true;
  return undurable_ && now_ns - undurable_since_ns_ >= options_.memory_window_ms * ns_per_ms;
}

Status SegmentLogImpl::run_flusher(int64_t max_wait_ms) {
  int64_t left_ns = wait_ns(max_wait_ms);
  MutexLock lock(mutex_);
  for (;;) {
    WQ_TRY(failure_);
    if (closed_) return Code::closed;
    const int64_t now_ns = clock_.mono_ns();
    const bool due = flush_is_due(now_ns);
    if (due || wants_unmet()) {
      if (!flushing_) {
        if (due) want(last_lsn_.load(std::memory_order_relaxed), Durability::power);
        flush_group();
        return failure_;
      }
      flusher_ = FlusherState::turn;
    } else {
      flusher_ = undurable_ ? FlusherState::timed : FlusherState::idle;
    }
    int64_t sleep_ns = left_ns;
    if (flusher_ == FlusherState::timed) {
      sleep_ns =
          std::min(sleep_ns, undurable_since_ns_ + options_.memory_window_ms * ns_per_ms - now_ns);
    }
    if (left_ns <= 0 || flusher_released_) {
      flusher_ = FlusherState::awake;
      return Code::ok;
    }
    const bool woken = work_.wait_for_ns(mutex_, sleep_ns);
    flusher_ = FlusherState::awake;
    left_ns -= woken ? std::max<int64_t>(0, clock_.mono_ns() - now_ns) : sleep_ns;
  }
}

void SegmentLogImpl::release_flusher() {
  MutexLock lock(mutex_);
  flusher_released_ = true;
  work_.notify_all();
}

Status SegmentLogImpl::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

Status SegmentLogImpl::replay(Lsn from, const std::function<Status(Lsn, Bytes)>& visit) {
  WQ_CHECK(last_lsn() == recovery_.last_lsn);
  if (from > recovery_.last_lsn) return Code::ok;
  if (from < recovery_.first_lsn || recovery_.first_lsn == 0) {
    return Status(Code::corrupt, "log: record " + std::to_string(from) +
                                     " is asked for, the oldest is " +
                                     std::to_string(recovery_.first_lsn));
  }
  WQ_TRY_SET(const auto queue, io_.open_queue());
  const FrameVisitor filter = [&](const ScannedFrame& frame) -> Status {
    if (frame.type != static_cast<uint16_t>(FrameType::record) || frame.lsn < from) return Code::ok;
    return visit(frame.lsn, frame.body);
  };
  for (size_t i = 0; i < found_.size(); ++i) {
    LogSegment segment = found_[i];
    if (segment.last_lsn < from) continue;
    const LogSegment* const next = i + 1 < found_.size() ? &found_[i + 1] : nullptr;
    TornTail tail;
    WQ_TRY(walk_segment(io_, *queue, segment, next, next == nullptr ? &tail : nullptr, filter));
    if (segment.last_lsn != found_[i].last_lsn) {
      return Status(Code::corrupt, segment_label(segment.header.seq) + ": ended with record " +
                                       std::to_string(found_[i].last_lsn) +
                                       " when it was opened, now with " +
                                       std::to_string(segment.last_lsn));
    }
  }
  return Code::ok;
}

void SegmentLogImpl::hold(Lsn from) {
  MutexLock lock(mutex_);
  WQ_CHECK(held_from_ == UINT64_MAX);
  held_from_ = from;
}

void SegmentLogImpl::let_go() {
  MutexLock lock(mutex_);
  held_from_ = UINT64_MAX;
}

Status SegmentLogImpl::read(Lsn from, Lsn to, const std::function<Status(Lsn, Bytes)>& visit) {
  std::vector<LiveSegment> live;
  {
    MutexLock lock(mutex_);
    WQ_CHECK(held_from_ <= from);
    WQ_CHECK(to <= durable_lsn_.load(std::memory_order_relaxed));
    live = live_;
  }
  if (live.empty() || live.front().first_lsn > from) {
    return Status(Code::corrupt, "log: record " + std::to_string(from) + " is not there any more");
  }
  WQ_TRY_SET(const auto queue, io_.open_queue());
  const FrameVisitor filter = [&](const ScannedFrame& frame) -> Status {
    if (frame.type != static_cast<uint16_t>(FrameType::record) || frame.lsn < from) return Code::ok;
    return visit(frame.lsn, frame.body);
  };
  for (size_t i = 0; i < live.size() && live[i].first_lsn <= to; ++i) {
    const Lsn last = i + 1 < live.size() ? std::min(to, live[i + 1].first_lsn - 1) : to;
    if (last < from || last < live[i].first_lsn) continue;
    WQ_TRY(read_segment(io_, *queue, options_.directory, options_.uuid, live[i].seq, last, filter));
  }
  return Code::ok;
}

Status SegmentLogImpl::trim(Lsn lsn) {
  std::vector<std::string> released;
  {
    MutexLock lock(mutex_);
    WQ_TRY(failure_);
    lsn = std::min(lsn, held_from_);
    released.reserve(live_.size());
    // The newest segment stays: it tells the next LSN and sequence number.
    while (live_.size() > 1 && live_[1].first_lsn <= lsn) {
      released.push_back(std::move(live_.front().path));
      live_.erase(live_.begin());
    }
  }
  Status status = spares_->recycle(released);
  check_directory();
  return status;
}

Result<bool> SegmentLogImpl::prepare_spares() {
  WQ_TRY(failure());
  auto more = spares_->prepare_step();
  check_directory();
  return more;
}

bool SegmentLogImpl::drop_spare() {
  const std::optional<SpareFile> spare = spares_->take();
  return spare && io_.unlink(spare->path).ok();
}

// After a failed sync of the directory no later rename can be relied on, so the log is over.
void SegmentLogImpl::check_directory() {
  const Status status = spares_->directory_failure();
  if (status.ok() || WQ_PLANTED(directory_failure_forgotten)) return;
  MutexLock lock(mutex_);
  fail(status);
  if (!flushing_) finish_group(group_);
}

LogStats SegmentLogImpl::stats() const {
  MutexLock lock(mutex_);
  LogStats stats = stats_;
  stats.segments_live = live_.size();
  stats.segments_spare = spares_->ready();
  stats.waiters = uint64_t{sleepers_[0]} + sleepers_[1];
  for (const LiveSegment& segment : live_) stats.live_bytes += segment.frame_bytes;
  return stats;
}

Status SegmentLogImpl::close() {
  MutexLock lock(mutex_);
  if (closed_) return Code::ok;
  while (flushing_) {
    int64_t left_ns = day_ns;
    sleep_for_group(group_, &left_ns);
  }
  WQ_TRY(failure_);
  const Lsn last = last_lsn_.load(std::memory_order_relaxed);
  if (last == recovery_.last_lsn) {
    closed_ = true;
    return Code::ok;  // nothing was appended, so no segment was begun
  }
  want(last, Durability::power);
  if (wants_unmet()) flush_group();
  WQ_TRY(failure_);
  closed_ = true;
  if (WQ_PLANTED(no_close_frame)) return Code::ok;
  // A frame of its own, behind the barrier: it proves that everything before it was durable, so
  // that damage to the last records can not pass for a torn tail.
  make_place(frame_bytes(0));
  active_.append(place_, FrameType::close, last, {});
  place_.offset += frame_bytes(0);
  wanted_power_ = last + 1;  // no record asks for it, so it is asked for by hand
  flush_group();
  wanted_power_ = last;
  return failure_;
}

}  // namespace wq
