#include "engine/exit_gate.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace wq {
namespace {

// How many threads are inside, and whether the gate is shut. No destructors: they are used after
// exit() has called those.
constexpr uint32_t shut = uint32_t{1} << 31;
std::atomic<uint32_t> gate{0};
std::atomic<void (*)()> call_once_shut{nullptr};
std::atomic<pid_t> armed_by{0};
thread_local uint32_t stays = 0;  // of this thread

// In a forked child those inside are not there. A thread that calls exit() inside, which only a
// signal handler can do, would wait for itself.
void shut_gate() {
  if (getpid() != armed_by.load() || stays > 0) return;
  uint32_t inside = gate.fetch_or(shut) | shut;
  while (inside != shut) {
    gate.wait(inside);
    inside = gate.load();
  }
  if (void (*const call)() = call_once_shut.exchange(nullptr)) call();
}

}  // namespace

GateStay::GateStay() noexcept : ok_(true) {
  if (stays == 0 && (gate.fetch_add(1, std::memory_order_acquire) & shut) != 0) {
    ok_ = false;
    if (gate.fetch_sub(1) == shut + 1) gate.notify_all();
    return;
  }
  ++stays;
}

GateStay::~GateStay() {
  if (!ok_ || --stays > 0) return;
  // Pairs with shut_gate(), which sees what was done inside.
  if (gate.fetch_sub(1, std::memory_order_release) == shut + 1) gate.notify_all();
}

Status GateStay::status() const {
  return ok_ ? Status() : Status(Code::closed, "the process is exiting");
}

void arm_exit_gate(void (*once_shut)()) noexcept {
  if (once_shut) call_once_shut.store(once_shut);
  armed_by.store(getpid());
  std::atexit(shut_gate);  // without memory for it, an exit is as dangerous as without this
}

}  // namespace wq
