// Sized structs (wq.h convention 3): how the boundary reads what an older or newer program hands
// in, and writes back no more than it has room for. `T::struct_size` is trusted only after it was
// checked against the size of the first release, which is the smallest that any program can have.
// Thread model: free functions on the caller's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/status.h"

namespace wq {

// Size of each struct in release 0.1; layout.cc pins them.
template <typename T>
constexpr size_t first_release_bytes = sizeof(T);

// A caller can not mean a struct of more than this; it bounds the search for a dirty tail.
constexpr size_t struct_bytes_max = 64 * 1024;

inline bool all_zero(const void* data, size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  return std::all_of(p, p + bytes, [](unsigned char byte) { return byte == 0; });
}

Status bad_struct_size(const char* what, size_t given, size_t smallest);
// The size that a caller passes for one element of an array.
Status bad_stride(const char* field, size_t given, size_t smallest);
Status dirty_struct_tail(const char* what);

// The whole truth about `given` (its declared size) of a struct that lies at `in`.
template <typename T>
Status check_struct(const void* in, size_t given, const char* what) {
  if (given == sizeof(T)) [[likely]]
    return {};
  if (given < first_release_bytes<T> || given > struct_bytes_max) {
    return bad_struct_size(what, given, first_release_bytes<T>);
  }
  if (given > sizeof(T) && !all_zero(static_cast<const char*>(in) + sizeof(T), given - sizeof(T))) {
    return dirty_struct_tail(what);
  }
  return {};
}

// A sized input struct as this library knows it: the caller's own when the sizes agree, a copy with
// zeros for missing fields otherwise, all zeros for NULL.
template <typename T>
class SizedIn {
 public:
  Status read(const T* in, const char* what) {
    if (!in) {
      copy_ = T{};
      view_ = &copy_;
      return {};
    }
    return read_bytes(in, in->struct_size, what);
  }

  // Element `i` of an array with `stride` bytes per element.
  Status read_element(const T* array, size_t i, size_t stride, const char* what) {
    const auto* in = reinterpret_cast<const T*>(reinterpret_cast<const char*>(array) + i * stride);
    if (in->struct_size > stride) return bad_struct_size(what, in->struct_size, stride);
    return read_bytes(in, in->struct_size, what);
  }

  const T* operator->() const { return view_; }
  const T& operator*() const { return *view_; }

 private:
  Status read_bytes(const T* in, size_t given, const char* what) {
    WQ_TRY(check_struct<T>(in, given, what));
    if (given >= sizeof(T)) [[likely]] {
      view_ = in;
      return {};
    }
    copy_ = T{};
    std::memcpy(&copy_, in, given);
    view_ = &copy_;
    return {};
  }

  T copy_;
  const T* view_ = nullptr;
};

// Writes `value` into a caller's struct of `room` bytes; struct_size stays the caller's.
template <typename T>
void write_struct(T* out, size_t room, T value) {
  value.struct_size = static_cast<uint32_t>(room);
  std::memcpy(out, &value, std::min(room, sizeof(T)));
  if (room > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, room - sizeof(T));
}

// An output struct: NULL and a wrong size are usage errors. The tail may hold anything.
template <typename T>
Status check_out(const T* out, const char* what) {
  if (!out) return Status(Code::invalid, std::string(what) + " is NULL");
  if (out->struct_size < first_release_bytes<T> || out->struct_size > struct_bytes_max) {
    return bad_struct_size(what, out->struct_size, first_release_bytes<T>);
  }
  return {};
}

}  // namespace wq
