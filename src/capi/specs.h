// Reading the structs that say what to enqueue or to settle, for the calls that take one and for
// those that take several. What the engine gets borrows from the caller's memory and from a
// SpecParts, which must stay where it is. Thread model: free functions on the caller's memory.
#pragma once

#include <list>
#include <span>
#include <vector>

#include "capi/capi_internal.h"

namespace wq {

// What a JobSpec borrows besides bytes of the caller: views of headers, the jobs of its chain.
class SpecParts {
 public:
  Status read_headers(const wq_header* headers, size_t count, std::span<const Header>& out);
  Status read_chain(const wq_job_spec& in, std::span<const NextSpec>& out);
  Status read_next(const wq_next_job& in, NextSpec& out);
  bool empty() const { return headers_.empty() && chain_.empty(); }

 private:
  std::vector<Header> headers_;
  std::vector<NextSpec> chain_;
  std::list<SpecParts> chain_parts_;  // empty it needs no memory, as a deque would
};

Status read_spec(const wq_job_spec& in, SpecParts& parts, JobSpec& out);
// settle.cc
Status read_item(const wq_settle_item& in, SettleItem& out);
// Key, condition and times of a change of a kv row. kv.cc
Status read_kv(const void* key, size_t key_len, const wq_kv_options* options, KvWrite& out);

}  // namespace wq
