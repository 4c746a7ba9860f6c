// SIGINT, SIGTERM and SIGHUP as something to wait for. The first one asks to stop, the second one
// to stop now; both make the descriptor readable, and so does SIGCHLD. A SIGHUP behind another one
// does not count, and none does where it was ignored from the start (nohup). One instance per
// process, alive while the command runs. Thread model: one thread; the handler itself may run on
// any.
#pragma once

#include <cstdint>

namespace wq::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int count() const;        // how many asked to stop
  int last_signal() const;  // the last one that did; 0 if none
  const char* last_signal_name() const;
  int fd() const;      // readable after a signal
  void drain() const;  // makes it unreadable

  // Waits until a signal arrives or the time is over. True if it is to stop.
  bool wait_ms(int64_t timeout_ms) const;
};

}  // namespace wq::cli
