// Unique, debounce and idempotency keys of a job on its way in: options of the command line,
// members of a line of JSON, and their form in wq.h. Thread model: plain values.
#pragma once

#include <wq.h>

#include <cstdint>
#include <string>

namespace wq::cli {

// As the command line has them, not read yet.
struct KeyOptions {
  std::string unique, until, unique_ttl;
  std::string debounce, debounce_window, debounce_max;
  std::string idempotency, idempotency_window;
};

struct JobKeys {
  std::string unique, debounce, idempotency;
  uint32_t unique_until = 0;  // WQ_UNIQUE_...; 0: until done
  int64_t unique_ttl_ms = 0;
  int64_t debounce_ms = 0, debounce_max_ms = 0;
  int64_t idempotency_ms = 0;
};
JobKeys parse_keys(const KeyOptions& options);

// Empty, or why wq would refuse them: field and limit.
std::string keys_problem(const JobKeys& keys, bool has_time);
// Views into `keys`, which must outlive the spec.
void fill_keys(const JobKeys& keys, wq_job_spec& spec);

}  // namespace wq::cli
