// wq work: leases jobs, has a Runner handle them, settles them, and keeps their leases alive.
//
// One thread, one loop: every round leases as many jobs as there is room for, moves the processes
// on, settles all verdicts in one durable change per queue, and then waits for a pipe, a signal or
// the next thing due. While nothing runs it waits inside wq_lease, for a moment each time, so that
// a signal is seen soon.
//
// Stopping: the first SIGTERM, SIGINT or SIGHUP takes no new jobs, gives back what was not begun
// and waits for the rest; the second one kills the processes. After SIGKILL the leases stay until
// their deadline, or until --expire-leases takes them back.
//
// Where the commands write to our standard output, or --json does, the worker looks whether that is
// still there: before it takes jobs, and when a command failed. If it is gone every job would fail
// of it, so the worker stops, and jobs that fail meanwhile go back uncounted.
//
// What else goes wrong beside the jobs (the file of events, the input that is fed, a lease that is
// refused) stops the worker in the same order: nobody else could settle what is in work. Only a
// store that takes no settle any more ends it at once.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/event_view.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/line_reader.h"
#include "cli/progress.h"
#include "cli/queue_view.h"
#include "cli/runner.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/work_totals.h"

namespace wq::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t call_jobs_max = 10'000;
constexpr int64_t idle_wait_ms = 200;
// While jobs run and there is room for more: how often to ask whether one became ready.
constexpr int64_t poll_ready_ms = 100;
constexpr size_t feed_group_max = 1000;
constexpr uint64_t feed_line_bytes_max = 16 << 20;

class Worker {
 public:
  Worker(Context& context, const WorkOptions& options);
  int run();

 private:
  void open_queues();
  void loop();
  void mind_signals();
  void lease();
  bool rate_holds_back() const;
  void hand_out(const Batch& batch);
  void settle();
  void settle_queue(size_t queue_index, const std::vector<const Verdict*>& verdicts);
  void tell(const Verdict& verdict, int32_t code);
  void mind_output(bool after_failure);
  void excuse_failures(std::vector<Verdict>& verdicts);
  void lose_output(Failure failure);
  void try_or_stop(void (Worker::*step)());
  void write_events();
  void flush();
  void extend();
  void feed();
  void wait();
  bool takes_more() const { return !stopping_ && !(options_.once && totals_.leased > 0); }
  bool finished() const {
    return stopping_ && runner_->in_flight() == 0 && !runner_->has_processes();
  }
  void stop();
  void tell_start();
  void tell_summary();
  void fail_if_jobs_wait() const;

  Context& context_;
  const WorkOptions& options_;
  const uint32_t durability_;
  int64_t lease_ms_;
  const StopSignals signals_;
  Store store_;
  std::optional<EventFile> events_;
  std::vector<Queue> queues_;
  std::vector<wq_queue*> handles_;
  int64_t extend_every_ms_ = 0;
  steady_clock::time_point extend_at_{}, ask_at_{};
  std::optional<LineReader> feed_;
  std::unique_ptr<Runner> runner_;
  WorkTotals totals_;
  Stopwatch watch_;
  std::optional<Progress> progress_;
  bool stopping_ = false, killed_ = false, feed_has_more_ = false;
  std::optional<Failure> output_gone_;
  std::optional<Failure> stopped_by_;  // what else went wrong
};

RunnerOptions runner_options_of(const WorkOptions& options, bool json) {
  RunnerOptions runner;
  runner.command = options.command;
  runner.slots = options.once ? 1 : options.slots;
  runner.ahead = options.once ? 1 : options.ahead;
  if (!options.timeout.empty()) {
    runner.timeout_ms = parse_duration_ms("--timeout", options.timeout);
  }
  runner.stdout_to_stderr = json;
  runner.lines_json = options.lines == "json";
  return runner;
}

Worker::Worker(Context& context, const WorkOptions& options)
    : context_(context),
      options_(options),
      durability_(durability_of("--durability", options.durability)),
      lease_ms_(parse_lease_ms(options.lease)) {
  RunnerOptions runner = runner_options_of(options, context.out().json());
  runner_ = options.lines.empty() ? make_exec_runner(context.out(), std::move(runner))
                                  : make_lines_runner(context.out(), std::move(runner));
  OpenOptions open;
  open.mode = options.feed ? OpenMode::create : OpenMode::must_exist;
  open.expire_leases = options.expire_leases;
  context.mark_store_for_commands();
  if (!options.events.empty()) {
    open.events_max = events_kept;
    events_.emplace(options.events);  // a path that is wrong makes no store
  }
  store_ = context.open_store(open);
  if (events_) events_->follow(store_);
  open_queues();
  if (options.feed) feed_.emplace(STDIN_FILENO, "standard input", '\n', feed_line_bytes_max);
}

void Worker::open_queues() {
  uint64_t waiting = 0;
  int64_t shortest_ms = 0;
  for (const std::string& name : options_.queues) {
    // Only the queue that is fed may be new.
    const bool create = options_.feed && queues_.empty();
    queues_.push_back(
        context_.open_queue(store_, name, create ? OpenMode::create : OpenMode::must_exist));
    handles_.push_back(queues_.back().get());
    wq_error err = WQ_ERROR_INIT;
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
    check(wq_queue_get_config(handles_.back(), &config, &err), err);
    check(wq_queue_get_stats(handles_.back(), &stats, &err), err);
    waiting += stats.ready;
    if (stats.status != WQ_STATUS_ACTIVE) {
      context_.out().note("no job is handed out: " + status_problem(name, stats.status));
    }
    shortest_ms = shortest_ms == 0 ? config.lease_ms : std::min(shortest_ms, config.lease_ms);
  }
  // Said with each lease: else a job with a timeout would have a lease of that length, and lose it
  // while it waits for its turn. Its time begins when it does.
  if (lease_ms_ == 0) lease_ms_ = shortest_ms;
  extend_every_ms_ = std::clamp<int64_t>(lease_ms_ / 3, 1, int64_t{24} * 3600 * 1000);
  extend_at_ = steady_clock::now() + milliseconds(extend_every_ms_);
  progress_.emplace(context_.out(), "work",
                    options_.stop_when_empty && !options_.feed ? waiting : 0);
}

int Worker::run() {
  tell_start();
  try {
    loop();
  } catch (...) {
    runner_->kill_all();  // what they do can not be settled any more
    throw;
  }
  wq_error err = WQ_ERROR_INIT;
  check(wq_store_sync(store_.get(), &err), err);
  tell_summary();
  if (runner_->broken()) throw Failure(*runner_->broken());
  if (output_gone_) throw Failure(*output_gone_);
  if (stopped_by_) throw Failure(*stopped_by_);
  if (killed_) return 128 + signals_.last_signal();
  if (options_.strict && totals_.nacked + totals_.failed > 0) return exit_job_failed;
  if (signals_.count() > 0) return exit_ok;
  const bool once_for_nothing = options_.once && totals_.leased == 0;
  if (once_for_nothing || options_.stop_when_empty || options_.feed) fail_if_jobs_wait();
  return once_for_nothing ? exit_empty : exit_ok;
}

// It ended for want of work, but there is some that is not handed out.
void Worker::fail_if_jobs_wait() const {
  for (size_t i = 0; i < handles_.size(); ++i) {
    int32_t code = WQ_OK;
    const std::string why = why_jobs_wait(options_.queues[i], handles_[i], code);
    if (code != WQ_OK) throw Failure{exit_refused, code, why};
  }
}

void Worker::loop() {
  while (!finished()) {
    mind_signals();
    if (runner_->broken()) stop();
    if (takes_more()) mind_output(false);
    if (takes_more()) try_or_stop(&Worker::feed);
    if (takes_more()) try_or_stop(&Worker::lease);
    runner_->step();
    settle();
    try_or_stop(&Worker::write_events);
    // Not before its job is settled: a stop gives back what was not begun.
    if (!takes_more() && !stopping_ && runner_->in_flight() == 0) stop();
    extend();
    progress_->update(totals_.acked, std::to_string(runner_->in_flight()) + " in work, " +
                                         std::to_string(totals_.nacked + totals_.failed) +
                                         " failed");
    flush();
    wait();
  }
  settle();
  try_or_stop(&Worker::write_events);
}

void Worker::try_or_stop(void (Worker::*step)()) {
  try {
    (this->*step)();
  } catch (Failure& failure) {
    const int32_t code = failure.code;
    if (code == WQ_E_IO || code == WQ_E_CORRUPT || code == WQ_E_POISONED) throw;
    failure.message += "; the worker stopped, jobs not begun were given back uncounted";
    failure.help_helps = false;
    if (!stopped_by_) stopped_by_ = std::move(failure);
    if (!stopping_) stop();
  }
}

// A file that refused once is not asked again: a gap would look like all there was.
void Worker::write_events() {
  if (!events_) return;
  try {
    events_->write_new();
  } catch (const Failure&) {
    events_.reset();
    throw;
  }
}

void Worker::mind_signals() {
  signals_.drain();
  if (signals_.count() > 0 && !stopping_) {
    stop();
    const size_t jobs = runner_->in_flight();
    const std::string signal = signals_.last_signal_name();
    context_.out().note(signal + ": " +
                        (jobs == 0 ? "no job is in work"
                                   : "waiting for " + plural(jobs, "job") +
                                         "; a second signal kills " + (jobs == 1 ? "it" : "them")));
  }
  if (signals_.count() > 1 && !killed_) {
    killed_ = true;
    runner_->kill_all();
  }
}

// Handlers with --lines have a pipe to us in place of our standard output.
void Worker::mind_output(bool after_failure) {
  if (output_gone_ || (!options_.lines.empty() && !context_.out().json())) return;
  const int problem = Output::standard_output_problem(after_failure);
  if (problem == EBADF) {
    lose_output(Failure{exit_other, 0, "standard output is closed; >/dev/null leaves it out"});
  } else if (problem != 0) {
    lose_output(failure_of_errno("standard output", problem));
  }
}

void Worker::lose_output(Failure failure) {
  if (output_gone_) return;
  failure.message += "; the worker stopped, jobs that failed of it were given back uncounted";
  output_gone_ = std::move(failure);
  if (!stopping_) stop();
}

// Nobody can tell whether a job failed for want of the output, or would have failed anyway; it was
// not given a fair attempt. Last one first, so that they stand in the queue in their old order.
void Worker::excuse_failures(std::vector<Verdict>& verdicts) {
  const auto is_failure = [](const Verdict& verdict) {
    return verdict.kind == WQ_SETTLE_NACK || verdict.kind == WQ_SETTLE_FAIL;
  };
  if (std::none_of(verdicts.begin(), verdicts.end(), is_failure)) return;
  mind_output(true);
  if (!output_gone_ || !options_.lines.empty()) return;
  for (Verdict& verdict : verdicts) {
    if (!is_failure(verdict)) continue;
    verdict.kind = WQ_SETTLE_RELEASE;
    verdict.error.clear();
    verdict.reason = 0;
  }
  std::reverse(verdicts.begin(), verdicts.end());
}

// What is in work is settled also if there is nobody left to tell it to.
void Worker::flush() {
  try {
    context_.out().flush();
  } catch (Failure& failure) {
    lose_output(std::move(failure));
  }
}

void Worker::stop() {
  stopping_ = true;
  runner_->finish();
}

void Worker::lease() {
  const size_t room = std::min(runner_->room(), call_jobs_max);
  const bool idle = runner_->in_flight() == 0;
  if (room == 0 || ((!idle || feed_) && steady_clock::now() < ask_at_)) return;
  const bool ends = options_.once || options_.stop_when_empty || (options_.feed && !feed_);
  const bool may_wait = idle && (!ends || rate_holds_back()) && !feed_;
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = static_cast<uint32_t>(room);
  take.wait_ms = may_wait ? idle_wait_ms : 0;
  take.lease_ms = lease_ms_;
  wq_error err = WQ_ERROR_INIT;
  Batch batch;
  const int32_t code = wq_lease(store_.get(), handles_.data(), handles_.size(), &take, nullptr,
                                nullptr, batch.out(), &err);
  // Paused and disabled queues are empty for now; somebody may open them again.
  if (code != WQ_EMPTY && code != WQ_PAUSED && code != WQ_DISABLED) {
    check(code, err);
    hand_out(batch);
    return;
  }
  if (idle && ends && !rate_holds_back()) stop();
  // A settle may make a job ready at once and asks again; so does time, now and then.
  ask_at_ = steady_clock::now() + milliseconds(poll_ready_ms);
}

// A queue is not empty because its rate, or that of its keys, lets no job begin just now.
bool Worker::rate_holds_back() const {
  if (options_.once) return false;
  for (wq_queue* queue : handles_) {
    wq_error err = WQ_ERROR_INIT;
    wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
    check(wq_queue_get_stats(queue, &stats, &err), err);
    const bool active = stats.status == WQ_STATUS_ACTIVE;
    if (active && stats.rate_wait_ms > 0 && stats.ready > 0) return true;
  }
  return false;
}

void Worker::hand_out(const Batch& batch) {
  for (size_t i = 0; i < wq_batch_count(batch.get()); ++i) {
    const wq_job job = job_at(batch, i);
    LeasedJob leased;
    leased.token = {job.id, job.generation};
    leased.queue_index = job.queue_index;
    leased.attempt = job.attempts;
    leased.max_attempts = job.max_attempts;
    leased.priority = job.priority;
    leased.last_exception = job.max_exceptions != 0 && job.exceptions + 1 >= job.max_exceptions;
    leased.retry_until_ms = job.retry_until_ms;
    leased.timeout_ms = job.timeout_ms;
    leased.fail_on_timeout = (job.flags & WQ_JOB_FAIL_ON_TIMEOUT) != 0;
    leased.queue = options_.queues[job.queue_index];
    leased.payload = view_of(job.payload);
    for (size_t h = 0; h < job.headers_count && options_.lines.empty(); ++h) {
      wq_header header{};
      if (wq_batch_header(batch.get(), i, h, &header) != WQ_OK) break;
      leased.headers.emplace_back(view_of(header.name), view_of(header.value));
    }
    if (options_.lines == "json") leased.json = to_json(job_record(batch, i));
    runner_->take(std::move(leased));
    ++totals_.leased;
  }
}

void Worker::settle() {
  std::vector<Verdict> verdicts = runner_->take_verdicts();
  if (verdicts.empty()) return;
  excuse_failures(verdicts);
  for (size_t queue_index = 0; queue_index < queues_.size(); ++queue_index) {
    std::vector<const Verdict*> of_queue;
    for (const Verdict& verdict : verdicts) {
      if (verdict.queue_index == queue_index) of_queue.push_back(&verdict);
      if (of_queue.size() == call_jobs_max) settle_queue(queue_index, std::exchange(of_queue, {}));
    }
    if (!of_queue.empty()) settle_queue(queue_index, of_queue);
  }
  ask_at_ = {};
}

void Worker::settle_queue(size_t queue_index, const std::vector<const Verdict*>& verdicts) {
  std::vector<wq_settle_item> items;
  for (const Verdict* const verdict : verdicts) {
    wq_settle_item item = WQ_SETTLE_ITEM_INIT;
    item.kind = verdict->kind;
    item.id = verdict->token.id;
    item.generation = verdict->token.generation;
    if (verdict->kind == WQ_SETTLE_RELEASE) item.flags = WQ_RELEASE_FRONT;
    item.error = bytes_of(verdict->error);
    item.reason = verdict->reason;
    items.push_back(item);
  }
  std::vector<int32_t> codes(items.size(), WQ_OK);
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_settle_many(handles_[queue_index], items.data(), items.size(),
                                      sizeof(wq_settle_item), codes.data(), &call, &err);
  // A refused item (its job was removed or reclaimed) does not stop the others.
  const bool only_items = std::find(codes.begin(), codes.end(), code) != codes.end();
  if (code != WQ_OK && !only_items) check(code, err);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    totals_.count(*verdicts[i], codes[i]);
    tell(*verdicts[i], codes[i]);
  }
}

void Worker::tell(const Verdict& verdict, int32_t code) {
  constexpr const char* names[] = {"", "ack", "retry", "fail", "release"};
  if (!context_.out().json() || output_gone_) return;
  Record record;
  record.add("event", "settled")
      .add("id", verdict.token.id)
      .add("token", token_text(verdict.token.id, verdict.token.generation));
  record.add_bytes("queue", options_.queues[verdict.queue_index]);
  record.add("attempt", verdict.attempt)
      .add("outcome", code == WQ_OK ? names[verdict.kind] : wq_error_name(code))
      .add("dead", code == WQ_OK && is_deadly(verdict));
  if (!verdict.error.empty()) record.add_bytes("error", verdict.error);
  try {
    context_.out().record(record);
  } catch (Failure& failure) {
    lose_output(std::move(failure));
  }
}

// Keeps every lease that is in work alive. One that is lost all the same (this process was stopped
// for longer than the lease) is dropped: its job belongs to somebody else.
void Worker::extend() {
  if (steady_clock::now() < extend_at_) return;
  extend_at_ = steady_clock::now() + milliseconds(extend_every_ms_);
  std::vector<std::vector<wq_token>> tokens(queues_.size());
  runner_->each_job([&](const LeasedJob& job) { tokens[job.queue_index].push_back(job.token); });
  for (size_t queue_index = 0; queue_index < tokens.size(); ++queue_index) {
    const std::vector<wq_token>& all = tokens[queue_index];
    for (size_t first = 0; first < all.size(); first += call_jobs_max) {
      const size_t count = std::min(call_jobs_max, all.size() - first);
      std::vector<int32_t> codes(count, WQ_OK);
      wq_call call = WQ_CALL_INIT;
      call.durability = WQ_PROCESS;  // after a power cut nobody works on them anyway
      wq_error err = WQ_ERROR_INIT;
      const int32_t code = wq_extend(handles_[queue_index], all.data() + first, count, lease_ms_,
                                     codes.data(), &call, &err);
      const bool only_items = std::find(codes.begin(), codes.end(), code) != codes.end();
      if (code != WQ_OK && !only_items) check(code, err);
      for (size_t i = 0; i < count; ++i) {
        if (codes[i] == WQ_OK) continue;
        ++totals_.stale;
        runner_->drop(all[first + i]);
      }
    }
  }
}

// Pushes the lines that standard input has now, as one durable change.
void Worker::feed() {
  if (!feed_) return;
  std::vector<std::string> lines;
  std::string_view line;
  LineReader::Next next = LineReader::Next::line;
  while (lines.size() < feed_group_max &&
         (next = feed_->try_next(line)) == LineReader::Next::line) {
    lines.emplace_back(line);
  }
  feed_has_more_ = lines.size() == feed_group_max;
  if (next == LineReader::Next::end) feed_.reset();
  if (lines.empty()) return;
  std::vector<wq_job_spec> specs(lines.size(), WQ_JOB_SPEC_INIT);
  for (size_t i = 0; i < lines.size(); ++i) specs[i].payload = bytes_of(lines[i]);
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_;
  wq_error err = WQ_ERROR_INIT;
  check(wq_enqueue_many(handles_[0], specs.data(), specs.size(), sizeof(wq_job_spec), 0, &call,
                        nullptr, 0, nullptr, &err),
        err);
  totals_.fed += lines.size();
  ask_at_ = {};
}

void Worker::wait() {
  if (finished() || (takes_more() && feed_ && feed_has_more_)) return;
  // Nothing runs: the wait is that of wq_lease.
  if (!stopping_ && runner_->in_flight() == 0 && !feed_) return;
  std::vector<pollfd> polls = {{signals_.fd(), POLLIN, 0}};
  if (feed_ && takes_more()) polls.push_back({STDIN_FILENO, POLLIN, 0});
  runner_->add_polls(polls);
  const auto now = steady_clock::now();
  int64_t timeout_ms = std::chrono::duration_cast<milliseconds>(extend_at_ - now).count();
  timeout_ms = std::clamp<int64_t>(timeout_ms, 0, poll_ready_ms);
  timeout_ms = std::min(timeout_ms, runner_->wait_max_ms());
  ::poll(polls.data(), polls.size(), static_cast<int>(timeout_ms));
}

void Worker::tell_start() {
  wq_error err = WQ_ERROR_INIT;
  wq_recovery recovery = WQ_RECOVERY_INIT;
  check(wq_store_get_recovery(store_.get(), &recovery, &err), err);
  if (recovery.leases_expired > 0) {
    context_.out().note("took back " + plural(recovery.leases_expired, "lease") +
                        " of a worker that is gone");
  }
}

void Worker::tell_summary() {
  const double seconds = watch_.seconds();
  progress_.reset();
  if (context_.out().json()) {
    if (!output_gone_) context_.out().record(totals_.record(seconds));
  } else {
    context_.out().note(totals_.text(seconds, options_.queues));
  }
}

void check_options(const WorkOptions& options) {
  if (options.command.empty()) {
    fail_usage("work: say which command handles the jobs, behind --");
  }
  if (!program_exists(options.command[0])) {
    if (program_is_a_file(options.command[0])) {
      fail_usage("work: '" + printable(options.command[0], 80) + "' is not an executable file");
    }
    fail_usage("work: there is no program '" + printable(options.command[0], 80) +
               "' to run (looked in PATH)");
  }
  if (!options.lines.empty() && options.lines != "json" && options.lines != "tab") {
    fail_usage("--lines: '" + printable(options.lines, 60) + "' is none of json, tab");
  }
}

}  // namespace

int run_work(Context& context, const WorkOptions& options) {
  check_options(options);
  Worker worker(context, options);
  return worker.run();
}

}  // namespace wq::cli
