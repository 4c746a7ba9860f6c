// The io_uring backend: one small ring per queue, no SQPOLL, no registered resources. An operation
// is prepared by submit() and handed over by the next wait(); one that is alone is run by wait()
// itself. More operations than the ring holds wait in a list of our own; the completion queue can
// not overflow, because no more than its size is ever in flight.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "io/posix_io.h"

#ifdef WQ_WITH_URING
#include <liburing.h>
#endif

namespace wq {

#ifdef WQ_WITH_URING
namespace {

constexpr unsigned ring_entries = 32;
constexpr int refusals_max = 100'000;  // in a row, by a kernel that is short of memory

class UringQueue final : public IoQueue {
 public:
  UringQueue() = default;
  ~UringQueue() override;
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  int init();  // 0 or a negative errno
  void submit(IoOp& op) override { waiting_.push_back(reset(op)); }
  void wait(size_t count) override;
  size_t in_flight() const override { return waiting_.size() + in_ring_.size(); }
  int run_nothing();  // one empty operation; 0 or a negative errno

 private:
  static IoOp* reset(IoOp& op) {
    op.done = false;
    return &op;
  }
  void fill_ring();
  void prepare(io_uring_sqe* sqe, IoOp& op);
  size_t reap();
  void run_lone();
  void give_up(int os_errno);

  io_uring ring_{};
  bool ready_ = false;
  std::deque<IoOp*> waiting_;
  std::vector<IoOp*> in_ring_;  // at most ring_entries
  int broken_errno_ = 0;
};

UringQueue::~UringQueue() {
  if (!ready_) return;
  wait(SIZE_MAX);
  io_uring_queue_exit(&ring_);
}

int UringQueue::init() {
  io_uring_params params{};
  // Completions are picked up by the waiting system call; without this flag the kernel interrupts
  // the thread for each. Kernels before 5.19 do not know it.
  params.flags = IORING_SETUP_COOP_TASKRUN;
  int result = io_uring_queue_init_params(ring_entries, &ring_, &params);
  if (result == -EINVAL) {
    params = {};
    result = io_uring_queue_init_params(ring_entries, &ring_, &params);
  }
  in_ring_.reserve(ring_entries);
  ready_ = result == 0;
  return result;
}

void UringQueue::prepare(io_uring_sqe* sqe, IoOp& op) {
  const int fd = static_cast<PosixFile*>(op.file)->fd();
  // Larger ones are cut short on purpose: the caller goes on behind what was moved, as it must
  // anyway.
  constexpr size_t op_bytes_max = size_t{1} << 30;
  const auto bytes = static_cast<unsigned>(op.bytes < op_bytes_max ? op.bytes : op_bytes_max);
  switch (op.kind) {
    case IoKind::read:
      io_uring_prep_read(sqe, fd, op.data, bytes, op.offset);
      break;
    case IoKind::write:
      io_uring_prep_write(sqe, fd, op.data, bytes, op.offset);
      break;
    case IoKind::write_dsync:
      io_uring_prep_write(sqe, fd, op.data, bytes, op.offset);
      sqe->rw_flags = RWF_DSYNC;
      break;
    case IoKind::fdatasync:
      io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
      break;
  }
  io_uring_sqe_set_data(sqe, &op);
}

void UringQueue::fill_ring() {
  while (!waiting_.empty() && in_ring_.size() < ring_entries) {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return;  // prepared but not yet taken by the kernel; the next round goes on
    IoOp* const op = waiting_.front();
    waiting_.pop_front();
    prepare(sqe, *op);
    in_ring_.push_back(op);
  }
}

size_t UringQueue::reap() {
  size_t reaped = 0;
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    auto* const op = static_cast<IoOp*>(io_uring_cqe_get_data(cqe));
    const auto place = std::find(in_ring_.begin(), in_ring_.end(), op);
    WQ_CHECK(place != in_ring_.end());
    *place = in_ring_.back();
    in_ring_.pop_back();
    op->result = cqe->res;
    op->done = true;
    io_uring_cqe_seen(&ring_, cqe);
    ++reaped;
  }
  return reaped;
}

// The ring does not answer any more, for example because the host closed its descriptor. The
// outcome of what is in flight is unknown, which its owner must take for a failure.
void UringQueue::give_up(int os_errno) {
  broken_errno_ = os_errno;
  for (IoOp* op : in_ring_) waiting_.push_back(op);
  in_ring_.clear();
  for (IoOp* op : waiting_) {
    op->result = -os_errno;
    op->done = true;
  }
  waiting_.clear();
}

// Nothing to overlap with, and the caller waits: the plain system call does the same. Through the
// ring the kernel would hand a write with a barrier to a worker thread, and the two switches cost a
// serial caller up to half of what the device can do (docs/design/0001-log-writes.md).
void UringQueue::run_lone() {
  IoOp* const op = waiting_.front();
  waiting_.pop_front();
  op->result = run_blocking(*op);
  op->done = true;
}

void UringQueue::wait(size_t count) {
  if (broken_errno_ != 0) give_up(broken_errno_);
  if (count > 0 && in_ring_.empty() && waiting_.size() == 1) return run_lone();
  size_t reaped = reap();
  int refusals = 0;
  while (in_flight() > 0 && reaped < count) {
    fill_ring();
    const int result = io_uring_submit_and_wait(&ring_, 1);
    const size_t now = reap();
    reaped += now;
    if (result >= 0 || result == -EINTR || now > 0) {
      refusals = 0;
      continue;
    }
    // Short of memory, or completions were to be picked up first: nothing was lost, and what the
    // kernel did not take stays in the ring for the next round.
    const bool transient = result == -EAGAIN || result == -EBUSY || result == -ENOMEM;
    if (!transient || ++refusals >= refusals_max) return give_up(-result);
    sched_yield();
  }
}

int UringQueue::run_nothing() {
  io_uring_prep_nop(io_uring_get_sqe(&ring_));
  const int entered = io_uring_submit_and_wait(&ring_, 1);
  io_uring_cqe* cqe = nullptr;
  if (entered < 0) return entered;
  if (io_uring_peek_cqe(&ring_, &cqe) != 0) return -EIO;
  const int result = cqe->res;
  io_uring_cqe_seen(&ring_, cqe);
  return result;
}

// Set-up alone does not show a seccomp filter on io_uring_enter, so one empty operation goes
// through.
Status probe() {
  UringQueue queue;
  int result = queue.init();
  const char* const call = result < 0 ? "io_uring_setup" : "io_uring_enter";
  if (result == 0) result = queue.run_nothing();
  if (result == 0) return Code::ok;
  std::string why = std::string(call) + ": " + std::strerror(-result);
  int disabled = 0;
  std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
  if (disabled != 0) why += " (kernel.io_uring_disabled is " + std::to_string(disabled) + ")";
  return Status(Code::unsupported, why, -result);
}

class UringIo final : public PosixIo {
 public:
  const char* name() const override { return "uring"; }
  Result<std::unique_ptr<IoQueue>> open_queue() override {
    auto queue = std::make_unique<UringQueue>();
    const int result = queue->init();
    if (result < 0) return status_from_errno(-result, "io_uring", "setup");
    return std::unique_ptr<IoQueue>(std::move(queue));
  }
};

}  // namespace

Result<std::unique_ptr<Io>> make_uring_io() {
  WQ_TRY(probe());
  return std::unique_ptr<Io>(std::make_unique<UringIo>());
}

#else

Result<std::unique_ptr<Io>> make_uring_io() {
  return Status(Code::unsupported, "io_uring: this library was built without it");
}

#endif

}  // namespace wq
