// What stands between threads that go on while the process exits, and the libraries below us.
//
// exit() takes down what RocksDB and libcrypto have made at their beginning, and waits for nobody,
// though callers' threads and ours may be in there or come. So who goes in there stays inside this
// gate meanwhile. A function that exit() calls before it takes them down shuts the gate and waits
// until everybody is out; who comes later is told that the store is closed, and leaves alone what
// it would have freed. Nothing waits for a caller's code: no callback runs inside the gate.
// Thread model: any thread.
#pragma once

#include "base/status.h"

namespace wq {

// A stay inside, by one thread. They nest: inside of another one it is always granted.
class GateStay {
 public:
  GateStay() noexcept;
  ~GateStay();
  GateStay(const GateStay&) = delete;
  GateStay& operator=(const GateStay&) = delete;
  bool ok() const { return ok_; }  // false: the process is exiting
  Status status() const;           // the same for who is to be told

 private:
  bool ok_;
};

// To be called, once each, behind what makes a library below register with exit(): what is
// registered last is called first. `once_shut`, if it is not null, is called when everybody is out.
void arm_exit_gate(void (*once_shut)()) noexcept;

}  // namespace wq
