// Reading of wq_job_spec and wq_next_job. The engine's form of them borrows from the caller's
// memory and from a SpecParts, which must stay where it is. Thread model: plain values.
#pragma once

#include <deque>
#include <vector>

#include "capi/capi_internal.h"

namespace wq {

// What a JobSpec borrows besides bytes of the caller: views of headers, the jobs of its chain.
class SpecParts {
 public:
  Status read_headers(const wq_header* headers, size_t count, std::span<const Header>& out);
  Status read_chain(const wq_job_spec& in, std::span<const NextSpec>& out);
  // `in` itself and its spec.
  Status read_next(const wq_next_job& in, NextSpec& out);
  bool empty() const { return headers_.empty() && chain_.empty(); }

 private:
  std::vector<Header> headers_;
  std::vector<NextSpec> chain_;
  std::deque<SpecParts> chain_parts_;
};

Status read_spec(const wq_job_spec& in, SpecParts& parts, JobSpec& out);

}  // namespace wq
