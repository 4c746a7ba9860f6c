// A process per job: the payload on its standard input, or in place of {} in its arguments; the
// exit status is the verdict.
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <set>

#include "cli/child.h"
#include "cli/runner.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr std::string_view placeholder = "{}";
constexpr const char* header_prefix = "WQ_HEADER_";

std::string header_variable(const std::string& name) {
  std::string variable = header_prefix;
  for (const char byte : name) {
    const auto c = static_cast<unsigned char>(byte);
    variable += c < 0x80 && std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
  }
  return variable;
}

// Can be no variable.
bool has_nul(const std::string& value) {
  return value.find('\0') != value.npos;
}

// Of headers that become one variable the first counts.
void add_headers(const LeasedJob& job, std::vector<std::string>& variables) {
  std::set<std::string> taken;
  for (const auto& [name, value] : job.headers) {
    if (has_nul(value)) continue;
    const std::string variable = header_variable(name);
    if (taken.insert(variable).second) variables.push_back(variable + "=" + value);
  }
}

std::vector<std::string> environment_of(const LeasedJob& job) {
  std::vector<std::string> variables = {
      "WQ_JOB_ID=" + std::to_string(job.token.id),
      "WQ_GENERATION=" + std::to_string(job.token.generation),
      "WQ_TOKEN=" + token_text(job.token.id, job.token.generation),
      "WQ_ATTEMPT=" + std::to_string(job.attempt),
      "WQ_MAX_ATTEMPTS=" + std::to_string(job.max_attempts),
      "WQ_PRIORITY=" + std::to_string(job.priority),
      "WQ_QUEUE=" + job.queue};
  if (job.timeout_ms != 0) variables.push_back("WQ_TIMEOUT_MS=" + std::to_string(job.timeout_ms));
  add_headers(job, variables);
  return variables;
}

class ExecRunner final : public Runner {
 public:
  using Runner::Runner;

  size_t room() const override {
    return broken_by || finishing_ ? 0 : options.slots - tasks_.size();
  }
  size_t in_flight() const override { return tasks_.size(); }
  bool has_processes() const override { return !tasks_.empty(); }
  void take(LeasedJob job) override;
  void step() override;
  void add_polls(std::vector<pollfd>& polls) const override;
  void finish() override { finishing_ = true; }
  void kill_all() override;
  void each_job(const std::function<void(const LeasedJob&)>& visit) const override {
    for (const auto& task : tasks_) visit(task->job);
  }
  void drop(const wq_token& token) override;

 private:
  struct Task {
    LeasedJob job;
    Child child;
    std::string input;  // what standard input has not got yet
    SteadyTime timeout_at = SteadyTime::max();
    const char* ended_by = nullptr;  // why we ended it ourselves
    bool timed_out = false;
    bool dropped = false;
  };

  void tell_left_out(const LeasedJob& job);
  void refuse(const LeasedJob& job, int os_errno);
  // False if the job can not be an argument.
  bool fill_arguments(const LeasedJob& job, std::vector<std::string>& command, bool& filled) const;
  void end(Task& task, int status);

  std::vector<std::unique_ptr<Task>> tasks_;
  bool finishing_ = false;
  bool told_left_out_ = false;
};

bool ExecRunner::fill_arguments(const LeasedJob& job, std::vector<std::string>& command,
                                bool& filled) const {
  filled = false;
  for (size_t i = 1; i < command.size(); ++i) {
    size_t at = command[i].find(placeholder);
    for (; at != std::string::npos; at = command[i].find(placeholder, at)) {
      filled = true;
      command[i].replace(at, placeholder.size(), job.payload);
      at += job.payload.size();
    }
  }
  return !filled || job.payload.find('\0') == std::string::npos;
}

// Once: it may be so with every job.
void ExecRunner::tell_left_out(const LeasedJob& job) {
  const auto left_out = std::find_if(job.headers.begin(), job.headers.end(),
                                     [](const auto& header) { return has_nul(header.second); });
  if (told_left_out_ || left_out == job.headers.end()) return;
  told_left_out_ = true;
  out.warning("header '" + printable(left_out->first, 60) + "' of job " +
              std::to_string(job.token.id) +
              " holds a NUL byte, and is left out of the environment; --lines json tells it. This "
              "is said once");
}

void ExecRunner::take(LeasedJob job) {
  std::vector<std::string> command = options.command;
  bool filled = false;
  if (!fill_arguments(job, command, filled)) {
    verdicts.push_back(verdict_of(job, WQ_SETTLE_FAIL,
                                  "the payload holds a NUL byte and can not be an argument ({})"));
    return;
  }
  auto task = std::make_unique<Task>();
  Child::Options child_options;
  child_options.pipe_stdin = !filled;
  if (options.stdout_to_stderr) child_options.out = Child::Stdout::to_stderr;
  child_options.environment = environment_of(job);
  child_options.not_inherited = {header_prefix, "WQ_TIMEOUT_MS="};
  tell_left_out(job);
  const int failed = task->child.start(command, child_options);
  if (failed != 0) return refuse(job, failed);
  if (!filled) task->input = std::move(job.payload);
  task->job = std::move(job);
  if (const int64_t timeout_ms = timeout_ms_of(task->job, options.timeout_ms); timeout_ms > 0) {
    task->timeout_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  }
  tasks_.push_back(std::move(task));
}

// Too long for an argument or variable: the job's own fault. Anything else is a fault of the place
// we run in, and would hit every job: stop instead of burning their attempts.
void ExecRunner::refuse(const LeasedJob& job, int os_errno) {
  if (os_errno == E2BIG) {
    verdicts.push_back(verdict_of(job, WQ_SETTLE_FAIL,
                                  "the payload is too long for an argument ({}) or a header for "
                                  "the environment"));
    return;
  }
  verdicts.push_back(verdict_of(job, WQ_SETTLE_RELEASE));
  broken_by = Failure{exit_other, 0,
                      "can not start '" + options.command[0] + "': " + std::strerror(os_errno)};
}

void ExecRunner::step() {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (auto& task : tasks_) {
    Child& child = task->child;
    child.write_some(task->input);
    if (task->input.empty()) child.close_stdin();
    child.pass_stderr(out);
    if (now >= task->timeout_at && task->ended_by == nullptr) {
      task->ended_by = "timed out";
      task->timed_out = true;
      child.terminate();
    }
    child.tick();
    int status = 0;
    if (child.reap(status)) end(*task, status);
  }
  std::erase_if(tasks_, [](const auto& task) { return !task->child.running(); });
}

void ExecRunner::end(Task& task, int status) {
  task.child.pass_stderr(out);  // what it said between our last look and its end
  if (task.dropped) return;
  if (task.ended_by != nullptr) {
    std::string error = failure_text(task.child.stderr_tail(), task.ended_by);
    verdicts.push_back(task.timed_out ? timed_out(task.job, std::move(error))
                                      : verdict_of(task.job, WQ_SETTLE_NACK, std::move(error)));
    return;
  }
  const bool exited = WIFEXITED(status);
  if (exited && WEXITSTATUS(status) == 0) {
    verdicts.push_back(verdict_of(task.job, WQ_SETTLE_ACK));
    return;
  }
  const bool for_good = exited && WEXITSTATUS(status) == fail_exit_status;
  verdicts.push_back(verdict_of(task.job, for_good ? WQ_SETTLE_FAIL : WQ_SETTLE_NACK,
                                failure_text(task.child.stderr_tail(), describe_exit(status))));
}

void ExecRunner::add_polls(std::vector<pollfd>& polls) const {
  for (const auto& task : tasks_) task->child.add_polls(polls, !task->input.empty());
}

void ExecRunner::kill_all() {
  finishing_ = true;
  for (auto& task : tasks_) {
    task->ended_by = "killed when the worker was told to stop at once";
    task->child.kill_now();
  }
}

void ExecRunner::drop(const wq_token& token) {
  for (auto& task : tasks_) {
    if (task->job.token.id != token.id || task->job.token.generation != token.generation) continue;
    task->dropped = true;
    task->child.terminate();
  }
}

}  // namespace

Verdict verdict_of(const LeasedJob& job, uint32_t kind, std::string error) {
  const bool too_late = job.retry_until_ms != 0 && wall_clock_ms() >= job.retry_until_ms;
  const bool last_attempt = job.attempt >= job.max_attempts || job.last_exception || too_late;
  return {kind, job.token, job.queue_index, job.attempt, last_attempt, std::move(error)};
}

Verdict timed_out(const LeasedJob& job, std::string error) {
  Verdict verdict =
      verdict_of(job, job.fail_on_timeout ? WQ_SETTLE_FAIL : WQ_SETTLE_NACK, std::move(error));
  verdict.reason = WQ_DEAD_TIMEOUT;
  return verdict;
}

std::string failure_text(std::string stderr_tail, const std::string& how) {
  while (!stderr_tail.empty() && std::isspace(static_cast<unsigned char>(stderr_tail.back()))) {
    stderr_tail.pop_back();
  }
  // The tail may begin inside a character.
  size_t begin = 0;
  while (begin < stderr_tail.size() && begin < 4 &&
         (static_cast<unsigned char>(stderr_tail[begin]) & 0xc0) == 0x80) {
    ++begin;
  }
  stderr_tail.erase(0, begin);
  return stderr_tail.empty() ? how : stderr_tail + " (" + how + ")";
}

std::unique_ptr<Runner> make_exec_runner(Output& out, RunnerOptions options) {
  return std::make_unique<ExecRunner>(out, std::move(options));
}

}  // namespace wq::cli
