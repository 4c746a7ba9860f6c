// wq relay: jobs from the input to Redis, and into a queue while Redis is not to be had.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/line_reader.h"
#include "cli/made_queues.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "relay/redis.h"
#include "relay/relay.h"

namespace wq::cli {
namespace {

constexpr uint64_t line_bytes_max = 16ULL << 20;
// How many jobs come in, and go out, before the other side has its turn.
constexpr int pushes_in_a_row = 100;
constexpr uint64_t drains_in_a_row = 1'000;
constexpr int64_t look_again_ms = 1'000;

const char* outcome_name(relay::Outcome outcome) {
  switch (outcome) {
    case relay::Outcome::sent:
      return "sent";
    case relay::Outcome::duplicate:
      return "duplicate";
    case relay::Outcome::spooled:
      return "spooled";
    case relay::Outcome::refused:
      return "refused";
    case relay::Outcome::failed:
      return "failed";
  }
  return "";
}

relay::Options relay_options(const RelayOptions& options) {
  relay::Options out;
  std::string problem;
  const auto layout = relay::parse_layout(options.to, options.queue, problem);
  if (!layout) fail_usage("--to: " + problem);
  out.queue = options.queue;
  out.layout = *layout;
  out.mode = options.mode == "always"   ? relay::Mode::always
             : options.mode == "shadow" ? relay::Mode::shadow
                                        : relay::Mode::fallback;
  out.in_order = options.in_order;
  out.durability = durability_of("--durability", options.durability);
  if (!options.keep_ids.empty()) {
    out.seen.keep_ms = parse_duration_ms("--keep-ids", options.keep_ids);
  }
  out.seen.keep_count = options.keep_ids_count;
  return out;
}

relay::RedisOptions redis_options(const RelayOptions& options) {
  relay::RedisOptions out;
  std::string problem;
  if (!relay::parse_redis_address(options.redis, out, problem)) fail_usage("--redis: " + problem);
  const auto time = [](const char* name, const std::string& text, int64_t& ms) {
    if (!text.empty()) ms = parse_duration_ms(name, text);
    if (ms < 1) fail_usage(std::string(name) + ": 1 ms or more");
  };
  time("--connect-timeout", options.connect_timeout, out.connect_ms);
  time("--timeout", options.timeout, out.answer_ms);
  return out;
}

// What of a job has no way into Redis is told, not dropped.
relay::Job job_of(JobDraft draft) {
  const auto refuse = [](const char* what) {
    fail_usage(std::string(what) + ": is not carried by a relay");
  };
  if (draft.backoff.kind != 0) refuse("backoff");
  if (draft.expires_at_ms != 0) refuse("expires_at_ms");
  if (draft.retry_until_ms != 0) refuse("retry_until_ms");
  if (draft.timeout_ms != 0 || draft.fail_on_timeout) refuse("timeout_ms");
  if (draft.max_exceptions != 0) refuse("max_exceptions");
  if (!draft.keys.debounce.empty()) refuse("debounce");
  if (draft.batch != 0) refuse("batch");
  if (!draft.chain.empty()) refuse("chain");
  relay::Job job;
  job.id = std::move(draft.keys.idempotency);
  job.payload = std::move(draft.payload);
  job.headers = std::move(draft.headers);
  job.run_at_ms = draft.delay_ms != 0 ? wall_clock_ms() + draft.delay_ms : draft.run_at_ms;
  if (draft.has_priority) job.priority = static_cast<int32_t>(draft.priority);
  job.max_attempts = draft.max_attempts;
  job.unique_key = std::move(draft.keys.unique);
  job.group = std::move(draft.group);
  return job;
}

// The loop: input and drain in turns, until the input has ended and the queue is empty.
class RelayLoop {
 public:
  RelayLoop(Context& context, const RelayOptions& options, relay::Relay& relay)
      : context_(context),
        options_(options),
        relay_(relay),
        reader_(STDIN_FILENO, "standard input", '\n', line_bytes_max),
        has_input_(!options.no_input) {}

  int run();

 private:
  void read_some();
  void take(std::string_view line);
  void tell(const relay::Pushed& pushed);
  void drain_some();
  bool is_done() const;
  void wait() const;
  void tell_end() const;

  Context& context_;
  const RelayOptions& options_;
  relay::Relay& relay_;
  LineReader reader_;
  const StopSignals signals_;
  bool has_input_;
  bool is_stopped_ = false;  // Redis did not take jobs at the last drain
  bool is_empty_ = false;    // nothing was due at the last drain
  std::string problem_;
  uint64_t counts_[5] = {};
  relay::Drained drained_;
};

void RelayLoop::take(std::string_view line) {
  JobDraft draft;
  if (options_.format == "jsonl") {
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    draft = parse_job_line(line, JobDraft());
  } else {
    draft.payload = line;
  }
  const std::string problem = draft_problem(draft, line_bytes_max);
  if (!problem.empty()) fail_usage(problem);
  tell(relay_.push(job_of(std::move(draft))));
}

void RelayLoop::read_some() {
  std::string_view line;
  for (int i = 0; has_input_ && i < pushes_in_a_row && signals_.count() == 0; ++i) {
    const LineReader::Next next = reader_.try_next(line);
    if (next == LineReader::Next::end) has_input_ = false;
    if (next != LineReader::Next::line) return;
    try {
      take(line);
    } catch (Failure& failure) {
      failure.message = "line " + std::to_string(reader_.line_number()) + ": " + failure.message +
                        "; the lines before it were taken";
      failure.help_helps = false;
      throw;
    }
  }
}

void RelayLoop::tell(const relay::Pushed& pushed) {
  ++counts_[static_cast<size_t>(pushed.outcome)];
  if (context_.out().json()) {
    Record record;
    record.add_bytes("id", pushed.id).add("outcome", outcome_name(pushed.outcome));
    if (!pushed.text.empty()) record.add_bytes("message", pushed.text);
    context_.out().record(record);
  } else if (pushed.outcome == relay::Outcome::refused) {
    context_.out().error_bytes("wq: line " + std::to_string(reader_.line_number()) + ": " +
                               printable(pushed.text) + "\n");
  }
}

void RelayLoop::drain_some() {
  const relay::Drained step = relay_.drain(drains_in_a_row);
  drained_.sent += step.sent;
  drained_.duplicate += step.duplicate;
  drained_.refused += step.refused;
  drained_.missing += step.missing;
  is_stopped_ = step.is_stopped;
  is_empty_ = !step.is_stopped &&
              step.sent + step.duplicate + step.refused + step.missing < drains_in_a_row;
  if (step.is_stopped && problem_.empty()) {
    context_.out().note("spooling: " + printable(step.text, 200));
  }
  if (!step.is_stopped && !problem_.empty()) context_.out().note("redis takes jobs again");
  problem_ = step.text;
}

bool RelayLoop::is_done() const {
  if (signals_.count() > 0) return true;
  if (has_input_ || options_.stay) return false;
  return options_.no_wait ? is_stopped_ || is_empty_
                          : is_empty_ && relay_.report().local_delayed == 0;
}

// For a line, a signal, or the time of the next attempt.
void RelayLoop::wait() const {
  if (!is_stopped_ && !is_empty_) return;
  pollfd ready[] = {{signals_.fd(), POLLIN, 0}, {has_input_ ? STDIN_FILENO : -1, POLLIN, 0}};
  const int64_t ahead = relay_.retry_at_ms() - wall_clock_ms();
  const int64_t timeout_ms =
      is_stopped_ ? std::clamp<int64_t>(ahead, 1, look_again_ms) : look_again_ms;
  if (has_input_ && !reader_.would_wait()) return;
  ::poll(ready, std::size(ready), static_cast<int>(timeout_ms));
}

int RelayLoop::run() {
  while (true) {
    read_some();
    context_.out().flush();  // an answer is of use to a producer that waits for it
    drain_some();
    if (is_done()) break;
    wait();
  }
  tell_end();
  const auto count = [&](relay::Outcome outcome) { return counts_[static_cast<size_t>(outcome)]; };
  const bool bad = count(relay::Outcome::refused) + drained_.refused > 0;
  return bad || count(relay::Outcome::failed) > 0 ? exit_refused : exit_ok;
}

void RelayLoop::tell_end() const {
  const relay::Report report = relay_.report();
  std::string text;
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + format_count(count) + " " + what;
  };
  for (size_t i = 0; i < std::size(counts_); ++i) {
    add(counts_[i], outcome_name(static_cast<relay::Outcome>(i)));
  }
  add(drained_.sent, "relayed");
  add(drained_.duplicate, "known to redis already");
  add(drained_.missing, "unknown to redis");
  add(drained_.refused, "refused by redis: see wq dead ls");
  add(report.local_ready + report.local_held, "still here");
  add(report.local_delayed, "not due yet");
  context_.out().note(text.empty() ? "nothing to do" : text);
}

Record report_record(const std::string& queue, const relay::Report& report) {
  Record direct, relayed, local;
  direct.add("sent", report.direct_sent)
      .add("duplicate", report.direct_duplicate)
      .add("refused", report.direct_refused)
      .add("failed", report.direct_failed);
  relayed.add("sent", report.sent)
      .add("duplicate", report.duplicate)
      .add("missing", report.missing)
      .add("dead", report.dead);
  local.add("ready", report.local_ready)
      .add("delayed", report.local_delayed)
      .add("held", report.local_held)
      .add("oldest_ready_age_ms", report.oldest_ready_age_ms);
  Record record;
  record.add_bytes("queue", queue);
  record.add("direct", std::move(direct))
      .add("spooled", report.spooled)
      .add("relayed", std::move(relayed))
      .add("local", std::move(local));
  return record;
}

}  // namespace

int run_relay(Context& context, const RelayOptions& options) {
  const relay::Options how = relay_options(options);
  auto primary = relay::make_redis(redis_options(options));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  if (!options.rate.empty()) set_rate(options.rate, config);
  const Store store = context.open_store({OpenMode::create, false, 0});
  try {
    relay::Relay relay(store.get(), how, std::move(primary));
    if (!options.rate.empty()) {
      const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
      wq_error err = WQ_ERROR_INIT;
      check(wq_queue_configure(queue.get(), &config, nullptr, &err), err);
    }
    return RelayLoop(context, options, relay).run();
  } catch (const relay::Error& error) {
    throw Failure{exit_code_of(error.code), error.code, error.what()};
  }
}

int run_relay_report(Context& context, const RelayOptions& options) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  relay::Report report;
  try {
    report = relay::read_report(store.get(), queue.get(), options.queue);
  } catch (const relay::Error& error) {
    throw Failure{exit_code_of(error.code), error.code, error.what()};
  }
  if (options.prometheus) {
    context.out().raw(relay::metrics_text(options.queue, report, relay::Health()));
  } else if (context.out().json()) {
    context.out().record(report_record(options.queue, report));
  } else {
    Card card;
    card.add("sent at once", format_count(report.direct_sent));
    card.add("known to redis at once", format_count(report.direct_duplicate));
    card.add("refused at once", format_count(report.direct_refused));
    card.add("spooled", format_count(report.spooled));
    card.add("relayed", format_count(report.sent));
    card.add("known to redis already", format_count(report.duplicate));
    if (report.missing > 0) card.add("unknown to redis", format_count(report.missing));
    card.add("refused, dead", format_count(report.dead));
    card.add("still here", format_count(report.local_ready + report.local_held));
    card.add("not due yet", format_count(report.local_delayed));
    card.add("oldest waits", format_duration(report.oldest_ready_age_ms));
    card.print(context.out());
  }
  return exit_ok;
}

}  // namespace wq::cli
