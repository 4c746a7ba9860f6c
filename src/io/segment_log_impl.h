// The class behind SegmentLog::open(). Private to segment_log.cc, group_commit.cc and log_open.cc.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "io/append_buffer.h"
#include "io/log_reader.h"
#include "io/log_writer.h"
#include "io/segment_log.h"
#include "io/spare_pool.h"

namespace wq {

inline uint64_t to_us(int64_t ns) {
  return static_cast<uint64_t>(std::max<int64_t>(0, ns)) / 1'000;
}

constexpr uint64_t align_to_block(uint64_t offset) {
  return (offset + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
}

// What open() hands over: verified segments, and the parts that the log goes on with.
struct OpenedLog {
  LogRecovery recovery;
  std::vector<LogSegment> segments;
  std::unique_ptr<SparePool> spares;
  std::unique_ptr<IoQueue> queue;
  std::unique_ptr<IoQueue> barrier_queue;
  Lsn next_lsn = 1;
};

// A step that one thread does for many, and those who sleep until it is over. Who comes too late
// for the step under way sleeps until the next one is over. So there are two sets of sleepers, by
// parity of the step's number, and nobody is woken who could only go back to sleep.
struct Turn {
  bool taken = false;
  uint64_t number = 0;  // of the step under way, or of the last one
  Lsn last = 0;         // the newest record that it covers
  // Without those who were woken and do not run yet: they will not take a turn.
  std::array<uint32_t, 2> sleepers{};
  std::array<uint64_t, 2> rounds{};  // how often all sleepers of the set were woken
  std::array<CondVar, 2> over;

  // The step whose end tells about this record.
  uint64_t covering(Lsn lsn) const { return taken && last >= lsn ? number : number + 1; }
  void begin(Lsn newest);
  // Who sleeps in this set is woken by the caller, once the lock is given up; null: nobody sleeps.
  CondVar* release(uint64_t step);
};

class SegmentLogImpl final : public SegmentLog {
 public:
  SegmentLogImpl(Io& io, Clock& clock, LogOptions options, OpenedLog opened);
  ~SegmentLogImpl() override;

  Result<Lsn> append(Bytes body) override;
  Status wait_for_room() override;
  Status wait(Lsn lsn, Durability level, int64_t timeout_ms) override;
  void request(Lsn lsn, Durability level) override;
  Status run_flusher(int64_t max_wait_ms) override;
  void release_flusher() override;
  void set_listener(std::function<void()> listener) override { listener_ = std::move(listener); }
  Lsn last_lsn() const override { return last_lsn_.load(std::memory_order_acquire); }
  Lsn process_lsn() const override { return reached(Durability::process); }
  Lsn durable_lsn() const override { return reached(Durability::power); }
  Status failure() const override;
  Status replay(Lsn from, const std::function<Status(Lsn, Bytes)>& visit) override;
  void hold(Lsn from) override;
  void let_go() override;
  Status read(Lsn from, Lsn to, const std::function<Status(Lsn, Bytes)>& visit) override;
  Status trim(Lsn lsn) override;
  uint64_t room_wanted(size_t body_bytes) const override;
  Result<bool> prepare_spares(uint64_t room_bytes) override;
  bool drop_spare() override;
  LogStats stats() const override;
  Status close() override;
  const LogRecovery& recovery() const override { return recovery_; }

 private:
  // Where the background flusher is. Asleep `idle` it must be woken by the first append, `timed` it
  // wakes by itself when the memory window ends, `turn` it waits for the device.
  enum class FlusherState : uint8_t { awake, idle, timed, turn };

  Lsn reached(Durability level) const;
  void plan_segment(uint64_t seq, uint64_t segment_bytes) WQ_REQUIRES(mutex_);
  void make_place(uint64_t frame) WQ_REQUIRES(mutex_);
  void leave_growing_segment() WQ_REQUIRES(mutex_);
  uint64_t segments_planned(uint64_t newest_seq) const WQ_REQUIRES(mutex_);
  void note_room_ahead() WQ_REQUIRES(mutex_);
  void want(Lsn lsn, Durability level) WQ_REQUIRES(mutex_);
  bool wants_unmet() const WQ_REQUIRES(mutex_);
  bool flush_is_due(int64_t now_ns) const WQ_REQUIRES(mutex_);
  bool may_flush(Durability level) const WQ_REQUIRES(mutex_);
  std::optional<Durability> possible_flush() const WQ_REQUIRES(mutex_);
  // Writes what is buffered, at this level. Gives the lock up during I/O. Returns how long it took.
  int64_t flush_group(Durability level) WQ_REQUIRES(mutex_);
  void take_flight(bool power) WQ_REQUIRES(mutex_);
  Status end_write(Status status, const WriteOutcome& outcome, bool power) WQ_REQUIRES(mutex_);
  void end_barrier(const Status& status) WQ_REQUIRES(mutex_);
  Status account(const WriteOutcome& outcome) WQ_REQUIRES(mutex_);
  void count_flush(bool power, int64_t spent_ns) WQ_REQUIRES(mutex_);
  void fail(const Status& cause) WQ_REQUIRES(mutex_);
  bool sleep_until_over(Turn& turn, uint64_t number, int64_t* left_ns) WQ_REQUIRES(mutex_);
  CondVar* next_flusher() WQ_REQUIRES(mutex_);
  void tell(bool write_over, bool barrier_over) WQ_REQUIRES(mutex_);
  void pass_turn_on() WQ_REQUIRES(mutex_);
  void wake_flusher_for_wants() WQ_REQUIRES(mutex_);
  void check_directory();

  Io& io_;
  Clock& clock_;
  const LogOptions options_;
  const LogRecovery recovery_;
  const std::vector<LogSegment> found_;  // at open; for replay()
  const std::unique_ptr<SparePool> spares_;
  std::function<void()> listener_;  // set before the first append

  // By who took write_ only.
  LogWriter writer_;
  AppendBuffer flight_;
  // By who took barrier_ only.
  const std::unique_ptr<IoQueue> barrier_queue_;

  // Rank: below the engine's mutex, above those of Io. Guards what follows; never held over I/O or
  // the listener.
  mutable Mutex mutex_;
  Turn write_ WQ_GUARDED_BY(mutex_);    // a group goes to the kernel
  Turn barrier_ WQ_GUARDED_BY(mutex_);  // and to the device
  CondVar work_;                        // the background flusher sleeps on it
  AppendBuffer active_ WQ_GUARDED_BY(mutex_);
  SegmentPlace place_ WQ_GUARDED_BY(mutex_);        // of the next frame
  uint64_t growing_seq_ WQ_GUARDED_BY(mutex_) = 0;  // the newest segment made without a spare
  uint64_t written_seq_ WQ_GUARDED_BY(mutex_) = 0;  // the segment that the last group ended in
  uint64_t flight_bytes_ WQ_GUARDED_BY(mutex_) = 0;
  Lsn wanted_power_ WQ_GUARDED_BY(mutex_) = 0;
  Lsn wanted_process_ WQ_GUARDED_BY(mutex_) = 0;
  bool undurable_ WQ_GUARDED_BY(mutex_) = false;  // some record waits for no barrier yet
  int64_t undurable_since_ns_ WQ_GUARDED_BY(mutex_) = 0;
  FlusherState flusher_ WQ_GUARDED_BY(mutex_) = FlusherState::awake;
  bool flusher_released_ WQ_GUARDED_BY(mutex_) = false;
  bool closed_ WQ_GUARDED_BY(mutex_) = false;
  Status failure_ WQ_GUARDED_BY(mutex_);
  std::vector<LiveSegment> live_ WQ_GUARDED_BY(mutex_);  // oldest first
  Lsn held_from_ WQ_GUARDED_BY(mutex_) = UINT64_MAX;     // trim() keeps what is not below
  LogStats stats_ WQ_GUARDED_BY(mutex_);

  // Written under the mutex, read without it.
  std::atomic<Lsn> last_lsn_;
  std::atomic<Lsn> process_lsn_;
  std::atomic<Lsn> durable_lsn_;
  std::atomic<uint64_t> unflushed_bytes_{0};
  std::atomic<uint64_t> room_ahead_bytes_{0};  // for frames, in a segment that was made ahead
  std::atomic<bool> failed_{false};
};

}  // namespace wq
