#include "data/transcript_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace wq {
namespace {

// What is not plain text as \xNN.
std::string escape(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7f) {
      out += character;
    } else {
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

const char* state_name(JobState state) {
  constexpr const char* names[] = {"gone", "ready", "delayed", "leased", "running", "dead"};
  return names[static_cast<size_t>(state)];
}

const char* reason_name(DeadReason reason) {
  constexpr const char* names[] = {"none",      "failed",      "lease_expired",
                                   "timeout",   "retry_until", "max_exceptions",
                                   "cancelled", "expired",     "unknown_type"};
  return names[static_cast<size_t>(reason)];
}

DeadReason parse_reason(const std::string& name) {
  auto reason = DeadReason::none;
  while (reason < dead_reason_last && name != reason_name(reason)) {
    reason = static_cast<DeadReason>(static_cast<int>(reason) + 1);
  }
  return reason;
}

const char* queue_status_name(QueueStatus status) {
  constexpr const char* names[] = {"active", "paused", "disabled"};
  return names[static_cast<size_t>(status)];
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at = text.find(by); at != std::string::npos; at = text.find(by, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// fixed:5s, exponential:1s:1m, list:1s,2s, none
Backoff parse_backoff(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  Backoff backoff;
  if (parts[0] == "fixed") {
    backoff.kind = BackoffKind::fixed;
    backoff.base_ms = parse_duration_ms(parts[1]);
  } else if (parts[0] == "exponential") {
    backoff.kind = BackoffKind::exponential;
    backoff.base_ms = parse_duration_ms(parts[1]);
    backoff.max_ms = parse_duration_ms(parts[2]);
  } else if (parts[0] == "list") {
    backoff.kind = BackoffKind::list;
    if (parts.size() > 1) {
      for (const std::string& delay : split(parts[1], '/')) {
        backoff.list_ms.push_back(parse_duration_ms(delay));
      }
    }
  } else {
    EXPECT_EQ(text, "none");
  }
  return backoff;
}

std::string backoff_text(const Backoff& backoff) {
  switch (backoff.kind) {
    case BackoffKind::none:
      return "none";
    case BackoffKind::fixed:
      return "fixed:" + std::to_string(backoff.base_ms);
    case BackoffKind::exponential:
      return "exponential:" + std::to_string(backoff.base_ms) + ":" +
             std::to_string(backoff.max_ms);
    case BackoffKind::list:
      break;
  }
  std::string text = "list:";
  for (const int64_t delay_ms : backoff.list_ms) {
    text += (text.back() == ':' ? "" : "/") + std::to_string(delay_ms);
  }
  return text;
}

uint32_t parse_config(const Arguments& args, QueueConfig& config) {
  uint32_t fields = 0;
  const auto take = [&](const char* name, uint32_t field) {
    if (args.has(name)) fields |= field;
    return args.has(name);
  };
  if (take("max_running", config_max_running)) {
    config.max_running = static_cast<uint32_t>(args.number("max_running"));
  }
  if (take("max_retries", config_max_retries)) {
    config.max_retries = static_cast<uint32_t>(args.number("max_retries"));
  }
  if (take("lease", config_lease_ms)) config.lease_ms = args.duration_ms("lease");
  if (take("durability", config_durability)) {
    config.durability = static_cast<Durability>(args.number("durability"));
  }
  if (take("backoff", config_backoff)) config.backoff = parse_backoff(args.text("backoff"));
  if (take("job_ttl", config_job_ttl)) config.job_ttl_ms = args.duration_ms("job_ttl");
  if (take("version", config_version)) {
    config.version = static_cast<uint64_t>(args.number("version"));
  }
  if (take("status", config_status)) {
    const std::string status = args.text("status");
    config.status = status == "paused"     ? QueueStatus::paused
                    : status == "disabled" ? QueueStatus::disabled
                                           : QueueStatus::active;
  }
  return fields;
}

uint32_t parse_states(const std::string& text) {
  uint32_t states = 0;
  for (const std::string& name : split(text, ',')) {
    for (uint32_t i = 0; i < job_state_count; ++i) {
      if (name == state_name(static_cast<JobState>(i))) states |= 1u << i;
    }
    if (name == "other") states |= 1u << 30;
  }
  return states;
}

// A job's options; what the spec points to lives in here.
struct DraftJob {
  std::string name;
  std::string payload;
  std::vector<std::pair<std::string, std::string>> header_texts;
  std::vector<Header> headers;
  JobSpec spec;

  DraftJob(const Arguments& job, const Arguments& common, int64_t start_ms) : name(job.verb) {
    Arguments all = job;
    for (const auto& [key, value] : common.options) all.options.emplace(key, value);
    payload = all.text("payload", name);
    for (const auto& [key, value] : all.options) {
      if (key.starts_with("header.")) header_texts.emplace_back(key.substr(7), value);
    }
    spec.delay_ms = all.duration_ms("delay");
    if (all.has("run_at")) {
      const int64_t offset_ms = all.duration_ms("run_at");
      const bool absolute = offset_ms == INT64_MAX || offset_ms == INT64_MIN;
      spec.run_at_ms = absolute ? offset_ms : start_ms + offset_ms;
    }
    spec.priority = static_cast<uint8_t>(all.number("priority", default_priority));
    spec.max_attempts = static_cast<uint32_t>(all.number("max_attempts"));
    if (all.has("backoff")) spec.backoff = parse_backoff(all.text("backoff"));
    JobTraits& traits = spec.traits;
    if (all.has("expires")) traits.expires_ms = start_ms + all.duration_ms("expires");
    if (all.has("retry_until")) traits.retry_until_ms = start_ms + all.duration_ms("retry_until");
    traits.timeout_ms = all.duration_ms("timeout");
    traits.fail_on_timeout = all.text("fail_on_timeout") == "yes";
    traits.max_exceptions = static_cast<uint32_t>(all.number("max_exceptions"));
  }

  const JobSpec& finish() {
    for (const auto& [key, value] : header_texts) {
      headers.push_back(Header{as_bytes(key), as_bytes(value)});
    }
    spec.payload = as_bytes(payload);
    spec.headers = headers;
    return spec;
  }
};

CallOptions call_options(const Arguments& args) {
  CallOptions call;
  call.durability = static_cast<uint32_t>(args.number("level"));
  return call;
}

// One line if all went alike, else one for each that did not.
std::string codes_text(const std::vector<std::string>& names, const std::vector<Code>& codes) {
  const bool alike =
      std::all_of(codes.begin(), codes.end(), [&](Code code) { return code == codes.front(); });
  if (alike) return std::string(code_name(codes.front())) + "\n";
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += names[i] + " " + code_name(codes[i]) + "\n";
  return text;
}

SettleKind parse_settle_kind(const std::string& verb) {
  if (verb == "ack") return SettleKind::ack;
  if (verb == "nack") return SettleKind::nack;
  if (verb == "fail") return SettleKind::fail;
  EXPECT_EQ(verb, "release");
  return SettleKind::release;
}

}  // namespace

// Far enough from 1970 for clocks that are set back.
TranscriptRunner::TranscriptRunner(const HarnessOptions& options) : harness_(options) {
  harness_.clock().step_wall(1'700'000'000'000);
  start_ms_ = harness_.clock().wall_ms();
}

const std::map<std::string, TranscriptRunner::Method>& TranscriptRunner::table() {
  using R = TranscriptRunner;
  static const std::map<std::string, Method> methods = {
      {"open", &R::open},
      {"close", &R::close},
      {"reopen", &R::reopen},
      {"kill", &R::kill},
      {"cut", &R::cut},
      {"recovery", &R::recovery},
      {"checkpoint", &R::checkpoint},
      {"verify", &R::verify},
      {"sync", &R::sync},
      {"shutdown", &R::shutdown},
      {"advance", &R::advance},
      {"wait", &R::wait},
      {"step_wall", &R::step_wall},
      {"tick", &R::tick},
      {"queue", &R::queue},
      {"configure", &R::configure},
      {"config", &R::config},
      {"pause", &R::status},
      {"resume", &R::status},
      {"disable", &R::status},
      {"enable", &R::status},
      {"queues", &R::queues},
      {"clear", &R::clear},
      {"delete", &R::remove_queue},
      {"stats", &R::stats},
      {"enqueue", &R::enqueue},
      {"enqueue_many", &R::enqueue_many},
      {"cancel", &R::cancel},
      {"reprioritise", &R::reprioritise},
      {"progress", &R::progress},
      {"get", &R::get},
      {"dump", &R::dump},
      {"lease", &R::lease},
      {"confirm", &R::confirm},
      {"extend", &R::extend},
      {"ack", &R::settle},
      {"nack", &R::settle},
      {"fail", &R::settle},
      {"release", &R::settle},
      {"settle", &R::settle},
      {"dead", &R::dead},
      {"dead_get", &R::dead_one},
      {"replay", &R::dead_one},
      {"remove", &R::dead_one},
      {"purge", &R::clear},
  };
  return methods;
}

std::string TranscriptRunner::run(const std::string& line) {
  const Arguments args = parse_arguments(line);
  const auto found = table().find(args.verb);
  if (found == table().end()) {
    ADD_FAILURE() << "no such command: " << line;
    return "no such command\n";
  }
  return (this->*found->second)(args);
}

// ---- names

// The message may name a job by its id, which depends on how often the store was reopened.
std::string TranscriptRunner::status_text(const Status& status) const {
  const std::string code = code_name(status.code());
  if (!status.detail()) return code + "\n";
  std::string message = status.message();
  constexpr std::string_view before = "job ";
  const size_t place = message.find(before);
  if (place != std::string::npos) {
    const size_t from = place + before.size();
    const size_t digits = message.find_first_not_of("0123456789", from) - from;
    if (digits > 0) message.replace(from, digits, name_of(std::stoull(message.substr(from))));
  }
  return code + ": " + message + "\n";
}

QueueId TranscriptRunner::queue_id(const std::string& name) const {
  const auto found = queues_.find(name);
  EXPECT_NE(found, queues_.end()) << "queue " << name << " was not opened by a queue command";
  return found == queues_.end() ? 0 : found->second;
}

TranscriptRunner::Known& TranscriptRunner::known(const std::string& name) {
  EXPECT_TRUE(jobs_.count(name)) << "job " << name << " was not enqueued";
  return jobs_[name];
}

void TranscriptRunner::remember(const std::string& name, const std::string& queue,
                                const std::string& payload, JobId id) {
  EXPECT_FALSE(jobs_.count(name)) << "job " << name << " is enqueued twice";
  if (!names_.empty()) {
    EXPECT_GT(id, names_.rbegin()->first) << "ids must grow";
  }
  jobs_[name] = Known{queue, payload, id, 0};
  names_[id] = name;
}

std::string TranscriptRunner::name_of(JobId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "UNKNOWN-" + std::to_string(id) : found->second;
}

// Given in the order of first sight; a new one must be larger than all before.
uint64_t TranscriptRunner::ordinal(Generation generation) {
  const auto found = ordinals_.find(generation);
  if (found != ordinals_.end()) return found->second;
  if (!ordinals_.empty()) {
    EXPECT_GT(generation, ordinals_.rbegin()->first) << "generations must grow";
  }
  return ordinals_[generation] = ordinals_.size() + 1;
}

// The latest lease of the job, or the one that gen=N names by its ordinal.
Token TranscriptRunner::token(const std::string& name, const Arguments& args) {
  const Known& job = known(name);
  Token token{job.id, job.generation};
  if (args.has("gen")) {
    const auto wanted = static_cast<uint64_t>(args.number("gen"));
    token.generation = UINT64_MAX;  // one that nobody was ever given
    for (const auto& [generation, number] : ordinals_) {
      if (number == wanted) token.generation = generation;
    }
  }
  return token;
}

std::string TranscriptRunner::time_text(int64_t wall_ms) const {
  const int64_t offset_ms = wall_ms - start_ms_;
  return (offset_ms < 0 ? "t" : "t+") + std::to_string(offset_ms);
}

std::string TranscriptRunner::check_payload(const Known& job, const JobView& view) const {
  return payload_of(view) == job.payload ? "" : " WRONG PAYLOAD";
}

// All fields, leaving out those that are zero or follow from the state.
std::string TranscriptRunner::describe(const std::string& name, const JobView& job) {
  std::string text = name + " " + state_name(job.state);
  const auto add = [&](const char* label, const std::string& value) {
    text += std::string(" ") + label + "=" + value;
  };
  if (job.priority != default_priority) add("priority", std::to_string(job.priority));
  add("attempts", std::to_string(job.attempts) + "/" + std::to_string(job.max_attempts));
  if (job.exceptions != 0) add("exceptions", std::to_string(job.exceptions));
  if (job.replays != 0) add("replays", std::to_string(job.replays));
  if (job.generation != 0) add("gen", std::to_string(ordinal(job.generation)));
  add("since", time_text(job.since_ms));
  if (job.due_ms != 0) add("due", time_text(job.due_ms));
  if (job.state == JobState::leased || job.state == JobState::running) {
    add("leased", time_text(job.leased_ms));
    add("deadline", job.deadline_ms == 0 ? "none" : time_text(job.deadline_ms));
    if (job.deadline_ms != 0) add("remaining", std::to_string(job.remaining_ms));
  }
  if (job.reason != DeadReason::none) add("reason", reason_name(job.reason));
  if (!job.last_error.empty()) {
    const std::string_view error = job.last_error;
    add("error", error.size() <= 60 ? '"' + escape(error) + '"'
                                    : std::to_string(error.size()) + ":\"..." +
                                          escape(error.substr(error.size() - 12)) + '"');
  }
  if (!job.progress.empty()) add("progress", '"' + escape(job.progress) + '"');
  const Result<Envelope> envelope = decode_envelope(job.body.bytes());
  EXPECT_TRUE(envelope.ok());
  if (!envelope.ok()) return text + " DAMAGED\n";
  add("enqueued", time_text(envelope.value().enqueued_ms));
  for (const Header& header : envelope.value().headers) {
    add("header", escape(as_text(header.name)) + ":" + escape(as_text(header.value)));
  }
  if (jobs_.count(name)) text += check_payload(jobs_[name], job);
  return text + "\n";
}

// ---- store

void TranscriptRunner::apply_open_options(const Arguments& args) {
  EngineOptions& options = harness_.options().engine;
  options.expire_leases = args.text("expire_leases") == "yes";
  options.create = args.text("create") != "no";
  if (args.has("payload_max")) {
    options.payload_bytes_max = static_cast<uint64_t>(args.number("payload_max"));
  }
}

std::string TranscriptRunner::open(const Arguments& args) {
  apply_open_options(args);
  const Status status = harness_.open();
  return status.ok() ? "ok\n" : std::string(code_name(status.code())) + "\n";
}

std::string TranscriptRunner::close(const Arguments&) {
  return status_text(harness_.close());
}

std::string TranscriptRunner::reopen(const Arguments& args) {
  const Status closed = harness_.close();
  if (!closed.ok()) return status_text(closed);
  harness_.clock().advance(args.duration_ms("down"));
  return open(args);
}

// The engine stands still while time passes, so that is as good as being down.
std::string TranscriptRunner::kill(const Arguments& args) {
  apply_open_options(args);
  harness_.clock().advance(args.duration_ms("down"));
  return status_text(harness_.kill_and_open());
}

std::string TranscriptRunner::cut(const Arguments& args) {
  apply_open_options(args);
  harness_.clock().advance(args.duration_ms("down"));
  CrashImage image;
  const std::string data = args.text("data", "none");
  image.data = data == "all"      ? CrashData::all
               : data == "random" ? CrashData::random
               : data == "torn"   ? CrashData::torn
                                  : CrashData::none;
  image.names = args.text("names") == "random" ? CrashNames::random : CrashNames::none;
  image.seed = static_cast<uint64_t>(args.number("seed", 1));
  return status_text(harness_.cut_and_open(image));
}

std::string TranscriptRunner::recovery(const Arguments&) {
  const Recovery& found = harness_.engine().recovery();
  return std::string(found.clean ? "clean" : "unclean") +
         " leases_kept=" + std::to_string(found.leases_kept) +
         " leases_expired=" + std::to_string(found.leases_expired) + "\n";
}

std::string TranscriptRunner::checkpoint(const Arguments&) {
  return status_text(harness_.engine().checkpoint());
}

std::string TranscriptRunner::verify(const Arguments&) {
  Result<VerifyReport> report = harness_.engine().verify();
  if (!report.ok()) return status_text(report.status());
  if (report.value().problems != 0) return "UNSOUND: " + report.value().first_problem + "\n";
  return "sound, jobs=" + std::to_string(report.value().jobs) + "\n";
}

std::string TranscriptRunner::sync(const Arguments&) {
  return status_text(harness_.engine().sync());
}

std::string TranscriptRunner::shutdown(const Arguments& args) {
  return status_text(harness_.engine().shutdown(args.duration_ms("timeout")));
}

// ---- time

std::string TranscriptRunner::advance(const Arguments& args) {
  harness_.advance(parse_duration_ms(args.words.at(0)));
  return {};
}

std::string TranscriptRunner::wait(const Arguments& args) {
  harness_.clock().advance(parse_duration_ms(args.words.at(0)));
  return {};
}

std::string TranscriptRunner::step_wall(const Arguments& args) {
  harness_.clock().step_wall(parse_duration_ms(args.words.at(0)));
  return {};
}

std::string TranscriptRunner::tick(const Arguments&) {
  harness_.tick();
  return {};
}

// ---- queues

std::string TranscriptRunner::queue(const Arguments& args) {
  QueueConfig config;
  const uint32_t fields = parse_config(args, config);
  CallOptions call = call_options(args);
  const std::string& name = args.words.at(0);
  Result<QueueId> id =
      harness_.engine().open_queue(name, config, fields, args.text("create") != "no", call);
  if (!id.ok()) return status_text(id.status());
  queues_[name] = id.value();
  return "ok\n";
}

std::string TranscriptRunner::configure(const Arguments& args) {
  QueueConfig config;
  const uint32_t fields = parse_config(args, config);
  CallOptions call = call_options(args);
  return status_text(harness_.engine().configure(queue_id(args.words.at(0)), config, fields, call));
}

std::string TranscriptRunner::config(const Arguments& args) {
  Result<QueueConfig> found = harness_.engine().config(queue_id(args.words.at(0)));
  if (!found.ok()) return status_text(found.status());
  const QueueConfig& config = found.value();
  return std::string(queue_status_name(config.status)) +
         " max_running=" + std::to_string(config.max_running) +
         " max_retries=" + std::to_string(config.max_retries) +
         " lease=" + std::to_string(config.lease_ms) +
         " durability=" + std::to_string(static_cast<uint32_t>(config.durability)) +
         " backoff=" + backoff_text(config.backoff) + " version=" + std::to_string(config.version) +
         "\n";
}

std::string TranscriptRunner::status(const Arguments& args) {
  using Change = Engine::StatusChange;
  const std::map<std::string, Change> changes = {{"pause", Change::pause},
                                                 {"resume", Change::resume},
                                                 {"disable", Change::disable},
                                                 {"enable", Change::enable}};
  CallOptions call = call_options(args);
  return status_text(
      harness_.engine().change_status(queue_id(args.words.at(0)), changes.at(args.verb), call));
}

std::string TranscriptRunner::queues(const Arguments&) {
  Result<std::vector<std::string>> names = harness_.engine().queue_names();
  if (!names.ok()) return status_text(names.status());
  std::string text;
  for (const std::string& name : names.value()) text += (text.empty() ? "" : " ") + name;
  return (text.empty() ? "none" : text) + "\n";
}

std::string TranscriptRunner::clear(const Arguments& args) {
  uint32_t states = args.has("states") ? parse_states(args.text("states")) : 0;
  if (args.verb == "purge") states = state_bit(JobState::dead);
  CallOptions call = call_options(args);
  Result<uint64_t> count = harness_.engine().clear(queue_id(args.words.at(0)), states, call);
  return count.ok() ? std::to_string(count.value()) + "\n" : status_text(count.status());
}

std::string TranscriptRunner::remove_queue(const Arguments& args) {
  CallOptions call = call_options(args);
  return status_text(harness_.engine().remove_queue(queue_id(args.words.at(0)), call));
}

std::string TranscriptRunner::stats(const Arguments& args) {
  Result<QueueStats> found = harness_.engine().queue_stats(queue_id(args.words.at(0)));
  if (!found.ok()) return status_text(found.status());
  const QueueStats& stats = found.value();
  std::string text = queue_status_name(stats.status);
  const auto add = [&](const std::string& label, uint64_t value) {
    if (value != 0) text += " " + label + "=" + std::to_string(value);
  };
  for (size_t i = 1; i < job_state_count; ++i) {
    add(state_name(static_cast<JobState>(i)), stats.counts[i]);
  }
  add("oldest_ready_age", static_cast<uint64_t>(stats.oldest_ready_age_ms));
  const QueueTotals& totals = stats.totals;
  text += " |";
  const std::pair<const char*, uint64_t> all[] = {
      {"enqueued", totals.enqueued}, {"leased", totals.leased},
      {"acked", totals.acked},       {"nacked", totals.nacked},
      {"failed", totals.failed},     {"released", totals.released},
      {"expired", totals.expired},   {"dead", totals.dead},
      {"replayed", totals.replayed}, {"cancelled", totals.cancelled},
      {"cleared", totals.cleared},   {"jobs_expired", totals.jobs_expired}};
  for (const auto& [label, value] : all) add(label, value);
  return text + "\n";
}

// ---- jobs

std::string TranscriptRunner::enqueue(const Arguments& args) {
  const std::string& queue = args.words.at(0);
  std::string text;
  for (size_t i = 1; i < args.words.size(); ++i) {
    DraftJob draft(parse_job_word(args.words[i]), args, start_ms_);
    CallOptions call = call_options(args);
    JobId id = 0;
    const Status status = harness_.engine().enqueue(queue_id(queue), draft.finish(), call, id);
    if (status.ok()) {
      remember(draft.name, queue, draft.payload, id);
    } else {
      text += draft.name + " " + status_text(status);
    }
  }
  return text.empty() ? "ok\n" : text;
}

std::string TranscriptRunner::enqueue_many(const Arguments& args) {
  const std::string& queue = args.words.at(0);
  std::vector<DraftJob> drafts;
  drafts.reserve(args.words.size());
  for (size_t i = 1; i < args.words.size(); ++i) {
    drafts.emplace_back(parse_job_word(args.words[i]), args, start_ms_);
  }
  std::vector<JobSpec> specs;
  for (DraftJob& draft : drafts) specs.push_back(draft.finish());
  std::vector<EnqueueOutcome> outcomes(specs.size());
  CallOptions call = call_options(args);
  Result<size_t> accepted = harness_.engine().enqueue_many(
      queue_id(queue), specs, args.text("partial") == "yes", call, outcomes);
  if (!accepted.ok()) return status_text(accepted.status());
  std::string text = "accepted " + std::to_string(accepted.value()) + "\n";
  for (size_t i = 0; i < specs.size(); ++i) {
    if (outcomes[i].code == Code::ok) {
      remember(drafts[i].name, queue, drafts[i].payload, outcomes[i].id);
    } else {
      text += drafts[i].name + " " + code_name(outcomes[i].code) + "\n";
    }
  }
  return text;
}

std::string TranscriptRunner::cancel(const Arguments& args) {
  std::string text;
  for (size_t i = 1; i < args.words.size(); ++i) {
    CallOptions call = call_options(args);
    const JobId id = known(args.words[i]).id;
    text += status_text(harness_.engine().cancel(queue_id(args.words[0]), id, call));
  }
  return text;
}

// reprioritise Q JOB... priority=N
std::string TranscriptRunner::reprioritise(const Arguments& args) {
  std::string text;
  for (size_t i = 1; i < args.words.size(); ++i) {
    CallOptions call = call_options(args);
    text += status_text(
        harness_.engine().reprioritise(queue_id(args.words[0]), known(args.words[i]).id,
                                       static_cast<uint8_t>(args.number("priority")), call));
  }
  return text;
}

// progress Q JOB note=TEXT
std::string TranscriptRunner::progress(const Arguments& args) {
  CallOptions call = call_options(args);
  const std::string note = args.text("note");
  return status_text(harness_.engine().set_progress(queue_id(args.words.at(0)),
                                                    token(args.words.at(1), args), note, call));
}

std::string TranscriptRunner::get(const Arguments& args) {
  std::string text;
  for (size_t i = 1; i < args.words.size(); ++i) {
    const std::string& name = args.words[i];
    Result<JobView> job = harness_.engine().get(queue_id(args.words[0]), known(name).id);
    text +=
        job.ok() ? describe(name, job.value()) : name + " " + code_name(job.status().code()) + "\n";
  }
  return text;
}

// Every job that the transcript knows of and that is still there, by queue, state and age.
std::string TranscriptRunner::dump(const Arguments& args) {
  std::map<std::tuple<std::string, JobState, JobId>, std::string> lines;
  for (const auto& [name, job] : jobs_) {
    if (!args.words.empty() && job.queue != args.words[0]) continue;
    Result<JobView> view = harness_.engine().get(queue_id(job.queue), job.id);
    if (view.ok()) {
      lines[{job.queue, view.value().state, job.id}] = describe(name, view.value());
    } else {
      EXPECT_EQ(view.status().code(), Code::not_found);
    }
  }
  std::string text;
  for (const auto& [place, line] : lines) text += line;
  return text.empty() ? "nothing\n" : text;
}

// Repeats the call until it has all n jobs or no more can be had: how many a single call finds
// depends on what is in memory.
std::string TranscriptRunner::lease(const Arguments& args) {
  const std::vector<std::string> names = split(args.words.at(0), ',');
  std::vector<QueueId> ids;
  for (const std::string& name : names) ids.push_back(queue_id(name));
  LeaseRequest request;
  request.queues = ids;
  request.max_jobs = static_cast<uint32_t>(args.number("n", 1));
  request.lease_ms = args.duration_ms("lease");
  request.wait_ms = args.duration_ms("wait");
  std::string text;
  do {
    CallOptions call = call_options(args);
    std::vector<JobView> jobs;
    const Status status = harness_.engine().lease(request, call, jobs);
    if (!status.ok()) return text.empty() ? status_text(status) : text;
    EXPECT_LE(jobs.size(), request.max_jobs);
    for (const JobView& job : jobs) text += handed_out(job, names);
    request.max_jobs -= static_cast<uint32_t>(jobs.size());
  } while (request.max_jobs > 0);
  return text;
}

std::string TranscriptRunner::handed_out(const JobView& job,
                                         const std::vector<std::string>& queues) {
  const std::string name = name_of(job.id);
  Known& job_known = known(name);
  EXPECT_EQ(job_known.queue, queues[job.queue_index]);
  EXPECT_EQ(job.state, JobState::leased);
  EXPECT_FALSE(ordinals_.count(job.generation)) << "generation given twice";
  job_known.generation = job.generation;
  std::string text = name;
  if (queues.size() > 1) text += " queue=" + queues[job.queue_index];
  return text + " attempt=" + std::to_string(job.attempts) +
         " gen=" + std::to_string(ordinal(job.generation)) +
         " for=" + std::to_string(job.remaining_ms) + check_payload(job_known, job) + "\n";
}

std::string TranscriptRunner::confirm(const Arguments& args) {
  std::string text;
  for (size_t i = 1; i < args.words.size(); ++i) {
    CallOptions call = call_options(args);
    text += status_text(harness_.engine().confirm(
        queue_id(args.words[0]), token(args.words[i], args), args.duration_ms("for"), call));
  }
  return text;
}

std::string TranscriptRunner::extend(const Arguments& args) {
  const std::vector<std::string> names(args.words.begin() + 1, args.words.end());
  std::vector<Token> tokens;
  for (const std::string& name : names) tokens.push_back(token(name, args));
  std::vector<Code> codes(tokens.size(), Code::internal);
  CallOptions call = call_options(args);
  const Status status = harness_.engine().extend(queue_id(args.words.at(0)), tokens,
                                                 args.duration_ms("lease"), call, codes);
  return status.ok() ? codes_text(names, codes) : status_text(status);
}

// ack, nack, fail, release Q JOB...: one call with the options for all. settle Q JOB{as=ack,...}
// JOB{as=nack,...}: one call with options for each.
std::string TranscriptRunner::settle(const Arguments& args) {
  std::vector<std::string> names;
  std::vector<std::string> errors(args.words.size());
  std::vector<SettleItem> items;
  for (size_t i = 1; i < args.words.size(); ++i) {
    Arguments one = parse_job_word(args.words[i]);
    for (const auto& [key, value] : args.options) one.options.emplace(key, value);
    names.push_back(one.verb);
    const Token which = token(one.verb, one);
    SettleItem& item = items.emplace_back();
    item.id = which.id;
    item.generation = which.generation;
    item.kind = parse_settle_kind(args.verb == "settle" ? one.text("as") : args.verb);
    item.delay_ms = one.duration_ms("delay", item.kind == SettleKind::nack ? -1 : 0);
    if (one.text("front") == "yes") item.flags |= settle_front;
    if (one.text("exception") == "no") item.flags |= settle_no_exception;
    if (one.has("priority")) {
      item.flags |= settle_priority;
      item.priority = static_cast<uint8_t>(one.number("priority"));
    }
    item.reason = parse_reason(one.text("reason", "none"));
    errors[i] = one.text("error");
    item.error = errors[i];
  }
  std::vector<Code> codes(items.size(), Code::internal);
  CallOptions call = call_options(args);
  const Status status = harness_.engine().settle(queue_id(args.words.at(0)), items, call, codes);
  return status.ok() ? codes_text(names, codes) : status_text(status);
}

// ---- dead letters

// Reads page by page, n at a time; where the pages end is no part of the output.
std::string TranscriptRunner::dead(const Arguments& args) {
  DeadQuery query;
  query.limit = static_cast<uint32_t>(args.number("n", 100));
  query.oldest_first = args.text("oldest") == "yes";
  query.reason = parse_reason(args.text("reason", "none"));
  if (args.has("from")) query.from_ms = start_ms_ + args.duration_ms("from");
  if (args.has("until")) query.until_ms = start_ms_ + args.duration_ms("until");
  std::string text;
  do {
    Result<DeadPage> page = harness_.engine().dead_list(queue_id(args.words.at(0)), query);
    if (!page.ok()) return status_text(page.status());
    EXPECT_LE(page.value().jobs.size(), query.limit);
    for (const JobView& job : page.value().jobs) {
      EXPECT_EQ(job.queue_name, args.words[0]);
      text += describe(name_of(job.id), job);
    }
    query.cursor = page.value().next_cursor;
  } while (query.cursor != 0);
  return text.empty() ? "none\n" : text;
}

std::string TranscriptRunner::dead_one(const Arguments& args) {
  const QueueId id = queue_id(args.words.at(0));
  const std::string& name = args.words.at(1);
  const Token entry = token(name, args);
  CallOptions call = call_options(args);
  if (args.verb == "replay") return status_text(harness_.engine().dead_replay(id, entry, call));
  if (args.verb == "remove") return status_text(harness_.engine().dead_remove(id, entry, call));
  Result<JobView> job = harness_.engine().dead_get(id, entry);
  return job.ok() ? describe(name, job.value()) : status_text(job.status());
}

}  // namespace wq
