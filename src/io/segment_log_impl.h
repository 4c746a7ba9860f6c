// The class behind SegmentLog::open(). Private to segment_log.cc and log_open.cc.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "io/append_buffer.h"
#include "io/log_reader.h"
#include "io/log_writer.h"
#include "io/segment_log.h"
#include "io/spare_pool.h"

namespace wq {

// What open() hands over: verified segments, and the parts that the log goes on with.
struct OpenedLog {
  LogRecovery recovery;
  std::vector<LogSegment> segments;
  std::unique_ptr<SparePool> spares;
  std::unique_ptr<IoQueue> queue;
  Lsn next_lsn = 1;
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
  Result<bool> prepare_spares() override;
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
  void want(Lsn lsn, Durability level) WQ_REQUIRES(mutex_);
  bool wants_unmet() const WQ_REQUIRES(mutex_);
  bool flush_is_due(int64_t now_ns) const WQ_REQUIRES(mutex_);
  // Writes what is buffered, at the level that is wanted. Gives the lock up during I/O. Returns how
  // long that took.
  int64_t flush_group() WQ_REQUIRES(mutex_);
  Status write_flight(bool power, WriteOutcome* outcome);
  void finish_group(uint64_t group) WQ_REQUIRES(mutex_);
  Status account(const WriteOutcome& outcome, bool power, int64_t spent_ns) WQ_REQUIRES(mutex_);
  void fail(const Status& cause) WQ_REQUIRES(mutex_);
  bool sleep_for_group(uint64_t group, int64_t* left_ns) WQ_REQUIRES(mutex_);
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

  // By the flusher only, that is, by the thread that set flushing_.
  LogWriter writer_;
  AppendBuffer flight_;

  // Rank: below the engine's mutex, above those of Io. Guards what follows; never held over I/O or
  // the listener.
  mutable Mutex mutex_;
  std::array<CondVar, 2> group_done_;                         // by parity of the group
  std::array<uint32_t, 2> sleepers_ WQ_GUARDED_BY(mutex_){};  // on group_done_
  CondVar work_;                                              // the background flusher sleeps on it
  AppendBuffer active_ WQ_GUARDED_BY(mutex_);
  SegmentPlace place_ WQ_GUARDED_BY(mutex_);        // of the next frame
  uint64_t growing_seq_ WQ_GUARDED_BY(mutex_) = 0;  // the newest segment made without a spare
  bool flushing_ WQ_GUARDED_BY(mutex_) = false;
  uint64_t group_ WQ_GUARDED_BY(mutex_) = 0;  // number of the group in flight, or of the last one
  bool flight_power_ WQ_GUARDED_BY(mutex_) = false;
  Lsn flight_last_ WQ_GUARDED_BY(mutex_) = 0;
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
  std::atomic<bool> failed_{false};
};

}  // namespace wq
