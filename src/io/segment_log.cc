// SegmentLog: append, wait, background flushing, reading, trimming. What a flush is, and who does
// it: group_commit.cc. How it is opened: log_open.cc.
#include "io/segment_log_impl.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;
constexpr int64_t day_ns = 86'400'000 * ns_per_ms;

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
      barrier_queue_(std::move(opened.barrier_queue)),
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
    note_room_ahead();
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
      stats_.commit_us.add(to_us(waited_ns));
      return Code::ok;
    }
    WQ_TRY(failure_);
    want(lsn, level);
    if (timeout_ms == 0) {
      wake_flusher_for_wants();
      return Code::timeout;
    }
    if (may_flush(level)) {
      waited_ns += flush_group(level);
      continue;
    }
    Turn& turn = level == Durability::power ? barrier_ : write_;
    const int64_t before_ns = left_ns;
    const bool in_time = sleep_until_over(turn, turn.covering(lsn), &left_ns);
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

void SegmentLogImpl::request(Lsn lsn, Durability level) {
  if (level == Durability::memory || reached(level) >= lsn) return;
  MutexLock lock(mutex_);
  want(std::min(lsn, last_lsn_.load(std::memory_order_relaxed)), level);
  wake_flusher_for_wants();
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
    if (may_flush(Durability::power)) {
      flush_group(Durability::power);
    } else if (may_flush(Durability::process)) {
      flush_group(Durability::process);
    } else {
      Turn& turn = write_.taken ? write_ : barrier_;
      sleep_until_over(turn, turn.number, &left_ns);
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
      if (due) want(last_lsn_.load(std::memory_order_relaxed), Durability::power);
      if (const auto level = possible_flush()) {
        flush_group(*level);
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

// Segments up to this one that buffered frames are for and that no file was begun for.
uint64_t SegmentLogImpl::segments_planned(uint64_t newest_seq) const {
  const uint64_t begun_seq = live_.empty() ? 0 : live_.back().seq;
  return newest_seq > begun_seq ? newest_seq - begun_seq : 0;
}

// So that who asks before each record need not take the lock, as long as there is room.
void SegmentLogImpl::note_room_ahead() {
  const bool made_ahead = segments_planned(place_.seq) == 0 && place_.seq != growing_seq_;
  const uint64_t begin = place_.offset + io_block_bytes;  // the next group may be in a block more
  const bool has_room = made_ahead && begin < place_.segment_bytes;
  room_ahead_bytes_.store(has_room ? place_.segment_bytes - begin : 0, std::memory_order_relaxed);
}

uint64_t SegmentLogImpl::room_wanted(size_t body_bytes) const {
  // The header of a segment, the padding of groups, and what the file system needs for a name.
  constexpr uint64_t margin_bytes = 64 << 10;
  const uint64_t frame = frame_bytes(body_bytes);
  if (frame <= room_ahead_bytes_.load(std::memory_order_relaxed)) return 0;
  MutexLock lock(mutex_);
  const bool fits = place_.offset + frame <= place_.segment_bytes;
  const bool unused = place_.offset == segment_header_bytes;
  const uint64_t seq = fits || unused ? place_.seq : place_.seq + 1;
  const uint64_t planned = segments_planned(seq);
  const bool own_file = segment_header_bytes + frame > options_.segment_bytes ||
                        (fits && place_.segment_bytes != options_.segment_bytes);
  const bool made_ahead = planned == 0 ? seq != growing_seq_ : spares_->ready() >= planned;
  if (made_ahead && !own_file) return 0;
  return active_.bytes() + flight_bytes_ + frame + margin_bytes;
}

Result<bool> SegmentLogImpl::prepare_spares(uint64_t room_bytes) {
  WQ_TRY(failure());
  auto more = spares_->prepare_step(room_bytes);
  check_directory();
  return more;
}

bool SegmentLogImpl::drop_spare() {
  std::optional<SpareFile> spare;
  {
    MutexLock lock(mutex_);
    const bool has_frames = place_.offset > segment_header_bytes;
    const uint64_t planned = segments_planned(has_frames ? place_.seq : place_.seq - 1);
    if (spares_->ready() > planned) spare = spares_->take();
  }
  return spare && io_.unlink(spare->path).ok();
}

// After a failed sync of the directory no later rename can be relied on, so the log is over.
void SegmentLogImpl::check_directory() {
  const Status status = spares_->directory_failure();
  if (status.ok() || WQ_PLANTED(directory_failure_forgotten)) return;
  MutexLock lock(mutex_);
  fail(status);
  if (!write_.taken && !barrier_.taken) tell(false, false);
}

LogStats SegmentLogImpl::stats() const {
  MutexLock lock(mutex_);
  LogStats stats = stats_;
  stats.segments_live = live_.size();
  stats.segments_spare = spares_->ready();
  for (const Turn* turn : {&write_, &barrier_}) {
    stats.waiters += uint64_t{turn->sleepers[0]} + turn->sleepers[1];
  }
  for (const LiveSegment& segment : live_) stats.live_bytes += segment.frame_bytes;
  return stats;
}

Status SegmentLogImpl::close() {
  MutexLock lock(mutex_);
  if (closed_) return Code::ok;
  while (write_.taken || barrier_.taken) {
    Turn& turn = write_.taken ? write_ : barrier_;
    int64_t left_ns = day_ns;
    sleep_until_over(turn, turn.number, &left_ns);
  }
  WQ_TRY(failure_);
  const Lsn last = last_lsn_.load(std::memory_order_relaxed);
  if (last == recovery_.last_lsn) {
    closed_ = true;
    return Code::ok;  // nothing was appended, so no segment was begun
  }
  want(last, Durability::power);
  if (wants_unmet()) flush_group(Durability::power);
  WQ_TRY(failure_);
  closed_ = true;
  if (WQ_PLANTED(no_close_frame)) return Code::ok;
  // A frame of its own, behind the barrier: it proves that everything before it was durable, so
  // that damage to the last records can not pass for a torn tail.
  make_place(frame_bytes(0));
  active_.append(place_, FrameType::close, last, {});
  place_.offset += frame_bytes(0);
  flush_group(Durability::power);
  return failure_;
}

}  // namespace wq
