// How wq work runs jobs. A Runner takes leased jobs, has processes handle them, and gives a verdict
// on each: acked, to be retried, failed for good, or given back because it was not begun. It never
// waits and never touches the store; work.cc leases, settles and keeps the leases alive. Thread
// model: one thread.
#pragma once

#include <poll.h>
#include <wq.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/failure.h"
#include "cli/output.h"

namespace wq::cli {

// Exit status of a command that says: this job can never work, do not try it again. EX_DATAERR of
// sysexits.h.
constexpr int fail_exit_status = 65;

struct LeasedJob {
  wq_token token{};
  uint32_t queue_index = 0;
  uint32_t attempt = 0, max_attempts = 0, priority = 0;
  int64_t timeout_ms = 0;  // its own; 0: that of the worker
  bool fail_on_timeout = false;
  bool last_exception = false;  // a nack is one too many
  int64_t retry_until_ms = 0;
  std::string queue, payload;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string json;  // the line of --lines json, without newline
};

struct Verdict {
  uint32_t kind = WQ_SETTLE_ACK;  // WQ_SETTLE_...
  wq_token token{};
  uint32_t queue_index = 0, attempt = 0;
  bool last_attempt = false;
  std::string error;
  uint32_t reason = 0;  // WQ_DEAD_...; 0: failed
};

Verdict verdict_of(const LeasedJob& job, uint32_t kind, std::string error = "");
Verdict timed_out(const LeasedJob& job, std::string error);
inline int64_t timeout_ms_of(const LeasedJob& job, int64_t of_worker_ms) {
  return job.timeout_ms != 0 ? job.timeout_ms : of_worker_ms;
}

struct RunnerOptions {
  std::vector<std::string> command;
  uint32_t slots = 1;
  uint32_t ahead = 1;             // lines: jobs that a handler is given before it answers
  int64_t timeout_ms = 0;         // of one job; 0: none
  bool stdout_to_stderr = false;  // standard output is for --json
  bool lines_json = false;
};

class Runner {
 public:
  Runner(Output& output, RunnerOptions runner_options)
      : out(output), options(std::move(runner_options)) {}
  virtual ~Runner() = default;

  virtual size_t room() const = 0;       // how many more jobs it takes now
  virtual size_t in_flight() const = 0;  // taken, and without verdict
  virtual bool has_processes() const = 0;
  virtual void take(LeasedJob job) = 0;

  // Moves everything on that can be moved without waiting.
  virtual void step() = 0;
  virtual void add_polls(std::vector<pollfd>& polls) const = 0;
  // When to move on at the latest, whatever the polls say.
  virtual int64_t wait_max_ms() const { return std::numeric_limits<int64_t>::max(); }

  // No more jobs will come: gives back what was not begun, lets the rest end.
  virtual void finish() = 0;
  // Ends it now: processes are killed.
  virtual void kill_all() = 0;

  virtual void each_job(const std::function<void(const LeasedJob&)>& visit) const = 0;
  // The lease of this job is lost: whatever comes of it counts no more.
  virtual void drop(const wq_token& token) = 0;

  std::vector<Verdict> take_verdicts() { return std::exchange(verdicts, {}); }
  // Why no further job can be run at all; the worker stops and says so.
  const std::optional<Failure>& broken() const { return broken_by; }

 protected:
  Output& out;
  const RunnerOptions options;
  std::vector<Verdict> verdicts;
  std::optional<Failure> broken_by;
};

std::unique_ptr<Runner> make_exec_runner(Output& out, RunnerOptions options);
std::unique_ptr<Runner> make_lines_runner(Output& out, RunnerOptions options);

// The last words of a process and how it ended: "disk on fire (exit status 3)".
std::string failure_text(std::string stderr_tail, const std::string& how);

}  // namespace wq::cli
