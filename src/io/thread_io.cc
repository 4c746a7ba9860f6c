// The plain backend: pwritev2, preadv2 and fdatasync. A single operation runs on the thread that
// waits for it, so a serial caller pays no thread switch; two or more at once go to a small pool
// that the first such wait starts. It is the fallback where io_uring is not to be had, and the
// backend of the sanitizer runs, since the kernel's own writes are invisible to them.
#include <deque>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "io/posix_io.h"

namespace wq {
namespace {

constexpr size_t pool_threads = 3;  // beside the waiting thread, which works too

class ThreadQueue final : public IoQueue {
 public:
  ~ThreadQueue() override;
  void submit(IoOp& op) override;
  void wait(size_t count) override;
  size_t in_flight() const override;

 private:
  void start_pool() WQ_REQUIRES(mutex_);
  void work();
  // Runs the oldest waiting operation with the lock given up meanwhile. False: there was none.
  bool run_one() WQ_REQUIRES(mutex_);

  // Rank: leaf. Guards everything below; never held over a system call that moves data.
  mutable Mutex mutex_;
  CondVar work_;      // something is to be run, or the pool shall stop
  CondVar finished_;  // something was run
  std::deque<IoOp*> waiting_ WQ_GUARDED_BY(mutex_);
  std::vector<IoOp*> ran_ WQ_GUARDED_BY(mutex_);  // not yet told to the owner
  size_t running_ WQ_GUARDED_BY(mutex_) = 0;
  bool stop_ WQ_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> pool_;  // by the owner only
};

ThreadQueue::~ThreadQueue() {
  wait(SIZE_MAX);
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

void ThreadQueue::submit(IoOp& op) {
  op.done = false;
  MutexLock lock(mutex_);
  waiting_.push_back(&op);
}

size_t ThreadQueue::in_flight() const {
  MutexLock lock(mutex_);
  return waiting_.size() + running_ + ran_.size();
}

void ThreadQueue::start_pool() {
  if (!pool_.empty()) return;
  pool_.reserve(pool_threads);
  for (size_t i = 0; i < pool_threads; ++i) pool_.emplace_back([this] { work(); });
}

bool ThreadQueue::run_one() {
  if (waiting_.empty()) return false;
  IoOp* const op = waiting_.front();
  waiting_.pop_front();
  ++running_;
  mutex_.unlock();
  op->result = run_blocking(*op);
  mutex_.lock();
  --running_;
  ran_.push_back(op);
  return true;
}

void ThreadQueue::work() {
  MutexLock lock(mutex_);
  while (!stop_) {
    if (run_one()) {
      finished_.notify_one();
    } else {
      work_.wait(mutex_);
    }
  }
}

void ThreadQueue::wait(size_t count) {
  MutexLock lock(mutex_);
  if (waiting_.size() + running_ > 1) {
    start_pool();
    work_.notify_all();
  }
  while (ran_.size() < count) {
    if (run_one()) continue;
    if (running_ == 0) break;
    finished_.wait(mutex_);
  }
  // `done` belongs to the owner's thread: it turns true inside the owner's own wait, never behind
  // it.
  for (IoOp* op : ran_) op->done = true;
  ran_.clear();
}

class ThreadIo final : public PosixIo {
 public:
  const char* name() const override { return "thread"; }
  Result<std::unique_ptr<IoQueue>> open_queue() override {
    return std::unique_ptr<IoQueue>(std::make_unique<ThreadQueue>());
  }
};

}  // namespace

std::unique_ptr<Io> make_thread_io() {
  return std::make_unique<ThreadIo>();
}

}  // namespace wq
