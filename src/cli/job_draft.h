// A job on its way in: what the command line or a line of JSON says about it, checked against the
// limits of wq.h before anything is pushed. Thread model: plain values.
#pragma once

#include <wq.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job_keys.h"

namespace wq::cli {

struct Backoff {
  uint32_t kind = 0;  // WQ_BACKOFF_...; 0: none of its own
  int64_t base_ms = 0, max_ms = 0;
  std::vector<int64_t> list_ms;
  uint32_t jitter_permille = 0;
};

// "fixed:5s", "exponential:1s..10m", "list:1s,5s,1m", each with jitter behind it: "fixed:5s~20%";
// "none" is kind 0.
Backoff parse_backoff(std::string_view option, std::string_view text);
std::string backoff_text(const wq_queue_config& config);
// 100/1m, 100/1m:20 or none, into the rate_ fields.
struct RateParts {
  uint32_t count = 0;  // 0: no limit
  uint32_t burst = 0;
  int64_t window_ms = 0;
};
RateParts parse_rate(std::string_view option, std::string_view text);
void set_rate(std::string_view text, wq_queue_config& config);  // of --rate
std::string rate_text(const RateParts& rate);
// 10/5m, 10/5m:1m or none, into the throttle_ fields.
struct ThrottleParts {
  uint32_t count = 0;  // 0: none
  int64_t window_ms = 0;
  int64_t cool_ms = 0;
};
ThrottleParts parse_throttle(std::string_view option, std::string_view text);
std::string throttle_text(const ThrottleParts& throttle);

// A job of a chain.
struct NextDraft {
  std::string queue;  // empty: that of the job before
  std::string payload;
  int64_t delay_ms = 0;
};

struct JobDraft {
  std::string payload;
  std::vector<std::pair<std::string, std::string>> headers;
  int64_t delay_ms = 0, run_at_ms = 0;
  bool has_priority = false;
  uint32_t priority = 0;
  uint32_t max_attempts = 0;
  Backoff backoff;
  int64_t expires_at_ms = 0, retry_until_ms = 0, timeout_ms = 0;
  uint32_t max_exceptions = 0;
  bool fail_on_timeout = false;
  uint32_t encrypt_flag = 0;  // WQ_JOB_ENCRYPT, WQ_JOB_PLAIN; 0: as the queue is configured
  JobKeys keys;
  uint64_t batch = 0;
  std::vector<NextDraft> chain;
  std::string group;
  uint32_t group_limit = 0;  // 0: the queue's
  uint32_t overlap = 0;      // WQ_OVERLAP_...
  int64_t overlap_ms = 0;
  std::string tenant;
  std::string rate_key;
  uint32_t rate_cost = 0;  // 0: 1
};

inline constexpr const char* overlap_names[] = {"park", "release", "skip"};  // by WQ_OVERLAP_...

// "NAME=VALUE"
std::pair<std::string, std::string> parse_header(std::string_view text);

// One line of JSON over the defaults in `base`. Throws a usage Failure whose message begins with
// the field, such as "priority: must be a whole number from 0 to 255".
JobDraft parse_job_line(std::string_view line, const JobDraft& base);

// Empty, or why wq would refuse the job: field and limit.
std::string draft_problem(const JobDraft& draft, uint64_t payload_bytes_max);

// Drafts as wq_enqueue_many wants them. Keeps views into the drafts: they must outlive it
// unchanged.
class SpecList {
 public:
  explicit SpecList(const std::vector<JobDraft>& drafts);
  const wq_job_spec* data() const { return specs_.data(); }
  size_t size() const { return specs_.size(); }

 private:
  std::vector<wq_job_spec> specs_;
  std::vector<wq_header> headers_;
  std::vector<wq_job_spec> chain_specs_;
  std::vector<wq_next_job> chain_;
};

}  // namespace wq::cli
