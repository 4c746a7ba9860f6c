// Reading the structs that say what to enqueue or to settle, for the calls that take one and for
// those that take several. Thread model: free functions on the caller's memory.
#pragma once

#include <span>
#include <vector>

#include "capi/capi_internal.h"

namespace wq {

// What a JobSpec borrows: the header views of one or more jobs. Offsets while it grows, spans
// after.
class HeaderViews {
 public:
  Status read(const wq_header* headers, size_t count);
  size_t size() const { return views_.size(); }
  std::span<const Header> from(size_t offset, size_t count) const {
    return {views_.data() + offset, count};
  }

 private:
  std::vector<Header> views_;
};

// All but `out.headers`, which go to `headers`. produce.cc
Status read_spec(const wq_job_spec& in, HeaderViews& headers, JobSpec& out);
// settle.cc
Status read_item(const wq_settle_item& in, SettleItem& out);
// Key, condition and times of a change of a kv row. kv.cc
Status read_kv(const void* key, size_t key_len, const wq_kv_options* options, KvWrite& out);

}  // namespace wq
