// SIGINT and SIGTERM as something to wait for. The first one asks to stop: it makes the descriptor
// readable, and a thread fires the cancel token, if one is given (a handler must not). The second
// one asks to stop now. SIGCHLD only makes the descriptor readable. One instance per process, alive
// while the command runs. Thread model: one thread; the handler itself may run on any.
#pragma once

#include <wq.h>

#include <cstdint>
#include <thread>

namespace wq::cli {

class StopSignals {
 public:
  explicit StopSignals(wq_cancel* cancel = nullptr);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int count() const;        // how many asked to stop
  int last_signal() const;  // the last one that did; 0 if none
  int fd() const;           // readable after a signal
  void drain() const;       // makes it unreadable

  // Waits until a signal arrives or the time is over. True if it is to stop.
  bool wait_ms(int64_t timeout_ms) const;

 private:
  std::thread canceller_;
};

}  // namespace wq::cli
