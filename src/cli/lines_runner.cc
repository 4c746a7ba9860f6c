// Long-lived handlers: each reads one line per job on its standard input and answers with one line
// per job, in the same order, on its standard output: "ok", "retry TEXT", "fail TEXT" or "release".
// A handler is given a few jobs ahead, so that it never waits for us.
//
// A job counts as begun when a byte of its line was handed to the pipe. Whole lines are written at
// once where the pipe promises that (up to PIPE_BUF bytes); a longer one can be cut if we are
// killed, so handlers must ignore a last line without newline.
//
// An answer counts for a job only if the handler had read the whole line of that job: what is
// written is compared with what is left in the pipe. The newline of the first line is held back
// until the handler has read the rest of it, so that what it said before it began to read is seen
// to be no answer. A handler that answers no job has lost count: it is ended, its jobs go back.
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>

#include "cli/child.h"
#include "cli/runner.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t answer_bytes_max = 64 << 10;
// So many handlers in a row that died without one answer: it is not the jobs.
constexpr uint32_t deaths_max = 5;
constexpr std::chrono::seconds leave_grace{5};

bool same(const wq_token& a, const wq_token& b) {
  return a.id == b.id && a.generation == b.generation;
}

struct Handler {
  Child child;
  std::deque<LeasedJob> jobs;      // in the order they are told; the first begun() were told
  std::deque<std::string> lines;   // of the jobs that were not
  std::deque<uint64_t> line_ends;  // where the line of each begun job ends in all it is given
  uint64_t given_bytes = 0;        // of lines, moved to the input so far
  uint64_t written_bytes = 0;      // of those, into the pipe
  std::string input;               // on its way into the pipe
  std::string output;              // not yet a whole line
  SteadyTime head_since{};         // since when jobs.front() is the one to be answered
  SteadyTime leave_by{};           // when one that should end by itself must be gone
  SteadyTime started_at{};
  bool newline_held = false;  // of the first line
  bool answered = false;
  bool output_closed = false;
  std::string ended_by;     // why we ended it ourselves
  bool timed_out = false;   // because of the time that a job took
  bool lost_count = false;  // that was an answer to no job

  // It is about to end, by its will or ours: nothing more is given to it.
  bool leaving() const {
    return child.running() && (!ended_by.empty() || output_closed || child.stdin_refused());
  }

  size_t begun() const { return jobs.size() - lines.size(); }
  bool has_read_first() const {
    return begun() > 0 && written_bytes - child.stdin_unread() >= line_ends.front();
  }
};

class LinesRunner final : public Runner {
 public:
  LinesRunner(Output& output, RunnerOptions runner_options)
      : Runner(output, std::move(runner_options)), handlers_(options.slots) {}

  size_t room() const override;
  size_t in_flight() const override;
  bool has_processes() const override {
    return std::any_of(handlers_.begin(), handlers_.end(),
                       [](const Handler& handler) { return handler.child.running(); });
  }
  void take(LeasedJob job) override;
  void step() override;
  void add_polls(std::vector<pollfd>& polls) const override;
  int64_t wait_max_ms() const override;
  void finish() override;
  void kill_all() override;
  void each_job(const std::function<void(const LeasedJob&)>& visit) const override;
  void drop(const wq_token& token) override { dropped_.push_back(token); }

 private:
  bool start(Handler& handler);
  std::string line_of(const LeasedJob& job) const;
  void feed(Handler& handler);
  void give_newline(Handler& handler);
  void read_answers(Handler& handler);
  void answer(Handler& handler, std::string_view line);
  void check_time(Handler& handler);
  void bury(Handler& handler, int status);
  void see_off(Handler& handler);
  void give_back(Handler& handler, size_t first);
  void tell(Verdict verdict);

  std::vector<Handler> handlers_;
  std::vector<wq_token> dropped_;
  bool finishing_ = false;
  uint32_t deaths_ = 0;   // in a row, without an answer
  uint64_t died_of_ = 0;  // job of the last one
};

size_t LinesRunner::room() const {
  if (broken_by || finishing_) return 0;
  size_t room = 0;
  for (const Handler& handler : handlers_) {
    if (handler.leaving()) continue;
    room += options.ahead - std::min<size_t>(options.ahead, handler.jobs.size());
  }
  return room;
}

size_t LinesRunner::in_flight() const {
  size_t count = 0;
  for (const Handler& handler : handlers_) count += handler.jobs.size();
  return count;
}

void LinesRunner::take(LeasedJob job) {
  if (!options.lines_json && job.payload.find('\n') != job.payload.npos) {
    verdicts.push_back(
        verdict_of(job, WQ_SETTLE_FAIL, "the payload holds a newline; --lines json can tell it"));
    return;
  }
  auto best = handlers_.end();
  for (auto handler = handlers_.begin(); handler != handlers_.end(); ++handler) {
    if (handler->leaving()) continue;
    if (best == handlers_.end() || handler->jobs.size() < best->jobs.size()) best = handler;
  }
  if (best == handlers_.end() || !start(*best)) {
    verdicts.push_back(verdict_of(job, WQ_SETTLE_RELEASE));
    return;
  }
  if (best->jobs.empty()) best->head_since = std::chrono::steady_clock::now();
  best->lines.push_back(line_of(job));
  job.payload.clear();
  job.json.clear();
  best->jobs.push_back(std::move(job));
}

bool LinesRunner::start(Handler& handler) {
  if (handler.child.running()) return true;
  Child::Options child_options;
  child_options.out = Child::Stdout::pipe;
  const int failed = handler.child.start(options.command, child_options);
  if (failed != 0) {
    broken_by = Failure{exit_other, 0,
                        "can not start '" + options.command[0] + "': " + std::strerror(failed)};
    return false;
  }
  handler.answered = handler.output_closed = false;
  handler.leave_by = SteadyTime{};
  handler.given_bytes = handler.written_bytes = 0;
  handler.started_at = std::chrono::steady_clock::now();
  handler.newline_held = false;
  handler.input.clear();
  handler.output.clear();
  return true;
}

std::string LinesRunner::line_of(const LeasedJob& job) const {
  if (options.lines_json) return job.json + "\n";
  return std::to_string(job.token.id) + "\t" + std::to_string(job.token.generation) + "\t" +
         std::to_string(job.attempt) + "\t" + job.payload + "\n";
}

void LinesRunner::feed(Handler& handler) {
  for (;;) {
    const size_t before = handler.input.size();
    handler.child.write_some(handler.input);
    if (!handler.child.stdin_refused()) handler.written_bytes += before - handler.input.size();
    if (!handler.input.empty()) break;
    if (handler.newline_held) give_newline(handler);
    if (handler.newline_held || handler.leaving()) break;
    if (handler.input.empty() && handler.lines.empty()) break;
    while (!handler.lines.empty() && !handler.newline_held &&
           (handler.input.empty() ||
            handler.input.size() + handler.lines.front().size() <= PIPE_BUF)) {
      handler.newline_held = handler.given_bytes == 0;
      handler.input += handler.lines.front();
      handler.given_bytes += handler.lines.front().size();
      handler.line_ends.push_back(handler.given_bytes);
      handler.lines.pop_front();
      if (handler.newline_held) handler.input.pop_back();
    }
  }
  const bool all_given = handler.input.empty() && handler.lines.empty() && !handler.newline_held;
  if (finishing_ && all_given) handler.child.close_stdin();
}

// Looks for answers only after it was seen that the handler reads: they were said before.
void LinesRunner::give_newline(Handler& handler) {
  if (handler.child.stdin_unread() > 0) return;
  read_answers(handler);
  if (handler.leaving()) return;
  handler.newline_held = false;
  handler.input = "\n";
}

void LinesRunner::read_answers(Handler& handler) {
  handler.output_closed = !handler.child.read_stdout(handler.output);
  size_t begin = 0;
  for (size_t end; (end = handler.output.find('\n', begin)) != std::string::npos; begin = end + 1) {
    answer(handler, std::string_view(handler.output).substr(begin, end - begin));
  }
  handler.output.erase(0, begin);
  if (handler.output.size() > answer_bytes_max) handler.ended_by = "it answered no line";
  if (!handler.ended_by.empty()) handler.child.terminate();
}

void LinesRunner::answer(Handler& handler, std::string_view line) {
  if (!handler.ended_by.empty()) return;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  const std::string text(blank == line.npos ? "" : line.substr(blank + 1));
  uint32_t kind = 0;
  if (word == "ok") kind = WQ_SETTLE_ACK;
  if (word == "retry") kind = WQ_SETTLE_NACK;
  if (word == "fail") kind = WQ_SETTLE_FAIL;
  if (word == "release") kind = WQ_SETTLE_RELEASE;
  if (kind == 0) {
    handler.ended_by =
        "it answered '" + printable(line, 60) + "', which is none of ok, retry, fail, release";
  } else if (!handler.has_read_first()) {
    handler.lost_count = true;
    handler.ended_by = "it answered '" + printable(line, 60) + "' to no job that it had read";
  } else {
    handler.answered = true;
    deaths_ = 0;
    tell(verdict_of(handler.jobs.front(), kind,
                    kind == WQ_SETTLE_NACK || kind == WQ_SETTLE_FAIL ? text : ""));
    handler.jobs.pop_front();
    handler.line_ends.pop_front();
    handler.head_since = std::chrono::steady_clock::now();
  }
}

void LinesRunner::check_time(Handler& handler) {
  if (handler.begun() == 0 || !handler.ended_by.empty()) return;
  const int64_t timeout_ms = timeout_ms_of(handler.jobs.front(), options.timeout_ms);
  if (timeout_ms <= 0) return;
  const auto limit = std::chrono::milliseconds(timeout_ms);
  if (std::chrono::steady_clock::now() - handler.head_since < limit) return;
  handler.ended_by = "timed out";
  handler.timed_out = true;
  handler.child.terminate();
}

// The first job without an answer is the one that it died of; those behind it were not begun yet,
// for all that is known of a handler that works in order.
void LinesRunner::bury(Handler& handler, int status) {
  handler.child.pass_stderr(out);
  const std::string how =
      handler.ended_by.empty() ? "the handler ended: " + describe_exit(status) : handler.ended_by;
  const bool died_of_job = handler.begun() > 0 && !handler.lost_count;
  const uint64_t id = died_of_job ? handler.jobs.front().token.id : 0;
  // One bad job that is tried again and again is not counted twice.
  if (!handler.answered && (!died_of_job || id != died_of_)) ++deaths_;
  if (handler.lost_count) out.warning("a handler was ended: " + handler.ended_by);
  if (died_of_job) {
    died_of_ = id;
    const LeasedJob& job = handler.jobs.front();
    std::string error = failure_text(handler.child.stderr_tail(), how);
    tell(handler.timed_out ? timed_out(job, std::move(error))
                           : verdict_of(job, WQ_SETTLE_NACK, std::move(error)));
  }
  give_back(handler, died_of_job ? 1 : 0);
  handler.jobs.clear();
  handler.lines.clear();
  handler.line_ends.clear();
  handler.child.close_stdin();
  if (deaths_ >= deaths_max && !finishing_) {
    broken_by = Failure{exit_other, 0,
                        std::to_string(deaths_max) +
                            " handlers in a row ended without a valid answer; the last one: " +
                            printable(failure_text(handler.child.stderr_tail(), how), 200)};
  }
  handler.ended_by.clear();
  handler.timed_out = false;
  handler.lost_count = false;
}

// To the head of the queue, last one first, so that they stand there in their old order.
void LinesRunner::give_back(Handler& handler, size_t first) {
  for (size_t i = handler.jobs.size(); i > first; --i) {
    tell(verdict_of(handler.jobs[i - 1], WQ_SETTLE_RELEASE));
  }
}

void LinesRunner::tell(Verdict verdict) {
  const auto dropped = std::find_if(dropped_.begin(), dropped_.end(), [&](const wq_token& token) {
    return same(token, verdict.token);
  });
  if (dropped != dropped_.end()) {
    dropped_.erase(dropped);
    return;
  }
  verdicts.push_back(std::move(verdict));
}

void LinesRunner::step() {
  for (Handler& handler : handlers_) {
    if (!handler.child.running()) continue;
    // What it said before it is given a job is no answer to that job.
    read_answers(handler);
    feed(handler);
    handler.child.pass_stderr(out);
    check_time(handler);
    see_off(handler);
    handler.child.tick();
    int status = 0;
    if (handler.child.reap(status)) {
      read_answers(handler);
      bury(handler, status);
    }
  }
}

// A handler that has nothing left to do was told so by the end of its input, and one that closed a
// pipe is as good as gone. Whoever stays all the same is asked to leave.
void LinesRunner::see_off(Handler& handler) {
  const bool has_nothing = finishing_ && handler.jobs.empty() && !handler.child.stdin_open();
  if (!has_nothing && !handler.leaving()) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  if (handler.leave_by == SteadyTime{}) handler.leave_by = now + leave_grace;
  if (now >= handler.leave_by) handler.child.terminate();
}

void LinesRunner::add_polls(std::vector<pollfd>& polls) const {
  for (const Handler& handler : handlers_) {
    if (!handler.child.running()) continue;
    const bool wants_write = !handler.newline_held && !handler.lines.empty();
    handler.child.add_polls(polls, !handler.input.empty() || wants_write);
  }
}

// Nothing tells that a pipe was read. So a new handler is looked at often, one that takes long to
// start less and less.
int64_t LinesRunner::wait_max_ms() const {
  int64_t wait_ms = std::numeric_limits<int64_t>::max();
  for (const Handler& handler : handlers_) {
    if (!handler.child.running() || !handler.newline_held || handler.leaving()) continue;
    const auto age = std::chrono::steady_clock::now() - handler.started_at;
    const int64_t age_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
    wait_ms = std::min(wait_ms, std::max<int64_t>(1, age_ms / 8));
  }
  return wait_ms;
}

void LinesRunner::finish() {
  if (finishing_) return;
  finishing_ = true;
  for (Handler& handler : handlers_) {
    give_back(handler, handler.begun());
    handler.jobs.erase(handler.jobs.begin() + static_cast<std::ptrdiff_t>(handler.begun()),
                       handler.jobs.end());
    handler.lines.clear();
  }
}

void LinesRunner::kill_all() {
  finish();
  for (Handler& handler : handlers_) {
    if (!handler.child.running()) continue;
    handler.ended_by = "killed when the worker was told to stop at once";
    handler.child.kill_now();
  }
}

void LinesRunner::each_job(const std::function<void(const LeasedJob&)>& visit) const {
  for (const Handler& handler : handlers_) {
    for (const LeasedJob& job : handler.jobs) visit(job);
  }
}

}  // namespace

std::unique_ptr<Runner> make_lines_runner(Output& out, RunnerOptions options) {
  return std::make_unique<LinesRunner>(out, std::move(options));
}

}  // namespace wq::cli
