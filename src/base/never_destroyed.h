// NeverDestroyed: an object of static storage without a destructor. exit() waits for no thread, so
// whatever a thread may still use then must not be destroyed by it; and no heap is needed for it.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace wq {

template <typename T>
class NeverDestroyed {
 public:
  template <typename... Args>
  explicit NeverDestroyed(Args&&... args) {
    new (place_) T(std::forward<Args>(args)...);
  }
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  T& get() { return *std::launder(reinterpret_cast<T*>(place_)); }

 private:
  alignas(T) std::byte place_[sizeof(T)];
};

}  // namespace wq
