// Parsers of keys: whatever parses is exactly what the builder makes of it, and prefix_end() is
// above every key with that prefix.
#include <string>

#include "engine/keys.h"
#include "fuzz_check.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  if (const auto job = parse_job_key(key)) {
    FUZZ_CHECK((job->is_state ? job_state_key(job->id) : job_body_key(job->id)) == key);
  }
  if (const auto ready = parse_ready_key(key)) {
    FUZZ_CHECK(ready_key(ready->queue, ready->priority, ready->seq) == key);
  }
  if (const auto delay = parse_delay_key(key)) {
    FUZZ_CHECK(delay_key(delay->due_ms, delay->queue, delay->id) == key);
  }
  if (const auto seq = parse_seq_key(key)) {
    FUZZ_CHECK(lease_key(seq->queue, seq->seq) == key);
    FUZZ_CHECK(dead_key(seq->queue, seq->seq) == key);
  }
  if (const auto queue = parse_queue_row_key(key)) FUZZ_CHECK(queue_row_key(*queue) == key);
  if (const auto id = parse_id_value(key)) FUZZ_CHECK(id_value(*id) == key);
  const std::string end = prefix_end(key);
  FUZZ_CHECK(end.empty() || end > key);
  if (!end.empty()) FUZZ_CHECK(std::string(key) + "\xff\xff\xff" < end);
  return 0;
}

}  // namespace wq
