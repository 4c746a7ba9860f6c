#include "alloc/alloc_fault.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace wq {
namespace {

// Plain and constant-initialised: the first allocations come before any constructor of ours.
AllocFaultPlan plan;
std::atomic<bool> armed{false};
std::atomic<uint64_t> count{0};
std::atomic<bool> fault_struck{false};
thread_local bool chosen_thread = false;
thread_local int quiet_depth = 0;

bool must_fail() {
  if (!armed.load(std::memory_order_acquire) || quiet_depth > 0) return false;
  if (!plan.all_threads && !chosen_thread) return false;
  const uint64_t number = count.fetch_add(1) + 1;
  const bool strikes = number == plan.fail_at || (plan.sticky && number > plan.fail_at);
  if (plan.fail_at == 0 || !strikes) return false;
  fault_struck.store(true);
  return true;
}

void* allocate(size_t bytes, size_t alignment) {
  if (must_fail()) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

AllocFault::AllocFault(const AllocFaultPlan& wanted) {
  plan = wanted;
  count.store(0);
  fault_struck.store(false);
  chosen_thread = true;
  armed.store(true, std::memory_order_release);
}

AllocFault::~AllocFault() {
  armed.store(false);
  chosen_thread = false;
}

uint64_t AllocFault::seen() const {
  return count.load();
}

bool AllocFault::struck() const {
  return fault_struck.load();
}

Quiet::Quiet() {
  ++quiet_depth;
}

Quiet::~Quiet() {
  --quiet_depth;
}

}  // namespace wq

void* operator new(size_t bytes) {
  return wq::allocate_or_throw(bytes, 0);
}
void* operator new[](size_t bytes) {
  return wq::allocate_or_throw(bytes, 0);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return wq::allocate_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return wq::allocate_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return wq::allocate(bytes, 0);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return wq::allocate(bytes, 0);
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return wq::allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return wq::allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
