// Linked into drain_child: the linker's --wrap puts a clock around that of the system, whose wall
// time is off by what a file says, and the test writes that file while the process runs. Time that
// only grows is that of the machine. Nothing of it is in the library. Thread model: any thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/clock.h"

namespace wq {

Clock& real_clock() asm("__real__ZN2wq12system_clockEv");
Clock& stepped_clock() asm("__wrap__ZN2wq12system_clockEv");

namespace {

class SteppedClock final : public Clock {
 public:
  SteppedClock() {
    const char* const path = std::getenv("WQ_CLOCK_FILE");
    const int fd = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void* const bytes =
        ::mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (bytes != MAP_FAILED) off_ms_ = static_cast<std::atomic<int64_t>*>(bytes);
  }
  int64_t wall_ms() override {
    return real_clock().wall_ms() + (off_ms_ ? off_ms_->load(std::memory_order_relaxed) : 0);
  }
  int64_t mono_ns() override { return real_clock().mono_ns(); }

 private:
  std::atomic<int64_t>* off_ms_ = nullptr;
};

}  // namespace

Clock& stepped_clock() {
  static SteppedClock clock;
  return clock;
}

}  // namespace wq
