// A job on its way to Redis, and its form while it waits in a queue of wq: payload and headers as
// they are, what else it has in headers of the relay's own.
#pragma once

#include <wq.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wq::relay {

struct Job {
  std::string id = {};  // empty: the relay draws one. The same id is taken in by Redis once
  std::string payload = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  int64_t run_at_ms = 0;      // not before; 0: at once
  int32_t priority = -1;      // 0..255, -1: none of its own
  uint32_t max_attempts = 0;  // 0: none of its own
  uint32_t attempts = 0;      // made before it came here
  std::string unique_key = {};
  std::string group = {};
};

// Views into a job, as wq_enqueue wants them: the job must outlive it unchanged.
class SpooledSpec {
 public:
  // `hold` keeps the job in the queue until it is due; without it Redis is given the time. With
  // `in_order` the priority does not count in the queue, it goes with the job.
  SpooledSpec(const Job& job, bool hold, bool in_order);
  const wq_job_spec* get() const { return &spec_; }

 private:
  void add(std::string_view name, std::string_view value);

  std::string numbers_[4];
  std::vector<wq_header> headers_;
  wq_job_spec spec_ = WQ_JOB_SPEC_INIT;
};

// The job number `i` of a batch. A job that some other program put into the queue has no id of the
// relay: it gets one made of its wq id, the same at each attempt.
Job spooled_job(const wq_batch* batch, size_t i, const wq_job& stored, std::string_view store_id);

}  // namespace wq::relay
