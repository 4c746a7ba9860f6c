#include "conformance/model_runner.h"

#include <algorithm>

namespace wq::conformance_model {

using ::conformance::queue_word;
using ::conformance::quoted;
using ::conformance::value_of_word;
using model::Job;
using model::Settlement;

namespace {

constexpr int64_t for_ever_ms = 1'000'000'000;
constexpr std::string_view not_found = "error WQ_E_NOT_FOUND";

// Operations that change nothing that the model follows.
const std::set<std::string, std::less<>> readers{
    "get",         "stats",        "config",     "explain",     "queue_explain", "errors",
    "history_get", "history_list", "dead_list",  "dead_get",    "queues",        "store_stats",
    "store_keys",
    "metrics",     "verify",       "recovery",   "kv_get",      "kv_put",        "kv_add",
    "kv_erase",    "kv_list",      "lock_take",  "lock_extend", "lock_release",  "cron_get",
    "cron_list",   "cron_next",    "events",     "key_holder",  "flow_status",   "flow_list",
    "sync",        "checkpoint",   "tick",       "backup",      "backup_verify", "open_again",
    "restore",     "cron_remove",  "cron_pause", "cron_resume", "open"};

const std::set<std::string, std::less<>> spec_keys{"q",
                                                   "as",
                                                   "payload",
                                                   "header",
                                                   "delay_ms",
                                                   "run_at_ms",
                                                   "priority",
                                                   "max_attempts",
                                                   "backoff_kind",
                                                   "backoff_base_ms",
                                                   "backoff_max_ms",
                                                   "backoff_list_ms",
                                                   "count"};

const std::set<std::string, std::less<>> config_keys{"q",
                                                     "as",
                                                     "max_running",
                                                     "max_retries",
                                                     "lease_ms",
                                                     "durability",
                                                     "backoff_kind",
                                                     "backoff_base_ms",
                                                     "backoff_max_ms",
                                                     "backoff_list_ms",
                                                     "backoff_jitter_permille",
                                                     "keep_done_count",
                                                     "keep_done_age_ms",
                                                     "version"};

bool only(const Line& line, const std::set<std::string, std::less<>>& keys) {
  return std::all_of(line.values.begin(), line.values.end(),
                     [&](const auto& value) { return keys.contains(value.first); });
}

Backoff backoff_of(const Line& line) {
  Backoff backoff;
  backoff.kind = static_cast<BackoffKind>(
      value_of_word(::conformance::backoffs, line.text("backoff_kind", "none")));
  backoff.base_ms = line.number_of("backoff_base_ms");
  backoff.max_ms = line.number_of("backoff_max_ms");
  backoff.jitter_permille = line.u32("backoff_jitter_permille");
  for (const std::string& delay : line.list("backoff_list_ms")) {
    backoff.list_ms.push_back(std::stoll(delay));
  }
  return backoff;
}

// The limit of wq.h: 4 KiB, cut at a character edge. That it was cut is said at the end of it.
std::string kept_error(const std::string& error) {
  constexpr std::string_view mark = " [cut]";
  if (error.size() <= error_bytes_max) return error;
  size_t size = error_bytes_max - mark.size();
  while (size > 0 && (static_cast<unsigned char>(error[size]) & 0xc0) == 0x80) size--;
  return error.substr(0, size).append(mark);
}

std::string if_set(std::string_view key, uint64_t value) {
  return value == 0 ? "" : " " + std::string(key) + "=" + std::to_string(value);
}

// For its arguments, or by a limit that the model does not know.
bool refused(const std::string& result) {
  for (const char* code : {"INVALID", "TOO_LARGE", "UNSUPPORTED", "FULL"}) {
    const std::string word = std::string("error WQ_E_") + code;
    if (result == word || result == word + " accepted=0") return true;
  }
  return false;
}

}  // namespace

Comparison ModelRunner::run(const std::vector<Line>& script,
                            const std::vector<std::string>& expected) {
  Comparison told;
  size_t at = 0;
  for (const Line& line : script) {
    Rows wanted;
    if (at < expected.size()) wanted.push_back(expected[at++]);
    while (at < expected.size() && expected[at].starts_with("  ")) wanted.push_back(expected[at++]);
    told.operations++;
    const bool error = wanted.empty() || wanted[0].starts_with("error ");
    if (error && (refused(wanted[0]) || line.op == "open")) {
      told.passed_over["(refused)"]++;
      continue;
    }
    Rows rows;
    if (lost_ || !answer(line, rows)) {
      told.passed_over[line.op]++;
      pass_over(line);
    } else if (rows == wanted) {
      told.equal++;
    } else {
      std::string both =
          "line " + std::to_string(line.number) + ": " + line.op + ": the model says";
      for (const std::string& row : rows) both += "\n    " + row;
      both += "\n  and there stands";
      for (const std::string& row : wanted) both += "\n    " + row;
      told.different.push_back(both);
    }
    remember_deaths();
  }
  return told;
}

bool ModelRunner::answer(const Line& line, Rows& rows) {
  if (line.has("async") || line.op == "await") return false;
  if (line.op == "open" || line.op == "close" || line.op == "shutdown" || line.op == "queues" ||
      line.op == "store_stats") {
    return store_op(line, rows);
  }
  if (line.op == "keep") {
    const auto found = jobs_.find(line.must("job"));
    if (found == jobs_.end()) return false;
    jobs_[line.must("as")] = found->second;
    names_.emplace(found->second.id, line.must("as"));
    rows = {"ok"};
    return true;
  }
  if (line.op == "forge") {
    const JobId id = static_cast<JobId>(line.number_of("id"));
    jobs_[line.must("as")] = {line.must("q"), id,
                              static_cast<Generation>(line.number_of("generation"))};
    names_.emplace(id, line.must("as"));
    rows = {"ok"};
    return true;
  }
  if (!open_ && (line.has("q") || line.has("job"))) {
    rows = {"error WQ_E_CLOSED"};
    return true;
  }
  if (line.op == "lease") return lease(line, rows);
  if (line.op == "extend") return extend(line, rows);
  if (line.op.starts_with("dead_")) return dead_op(line, rows);
  return line.has("job") ? job_op(line, rows) : queue_op(line, rows);
}

// What the operation may have changed is followed no more.
void ModelRunner::pass_over(const Line& line) {
  if (line.has("store") && line.op == "open") lost_ = true;
  if (readers.contains(line.op)) return;
  const auto of = [&](const Line& one) {
    for (const std::string& handle : one.list("q")) {
      passed_over_.insert(handle);
      for (const std::string& name : one.list("as")) jobs_[name] = {handle, 0, 0};
    }
    const auto job = jobs_.find(one.text("job"));
    if (job != jobs_.end()) passed_over_.insert(job->second.queue);
  };
  of(line);
  for (const Line& part : line.parts) of(part);
  for (const Line& part : line.parts) {
    if (line.has("q") && part.has("as")) jobs_[part.text("as")] = {line.text("q"), 0, 0};
  }
  if (line.op.starts_with("flow_") || line.op == "key_cancel") {
    for (const auto& [handle, queue] : handles_) passed_over_.insert(handle);
  }
}

QueueId ModelRunner::known(const std::string& handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() || passed_over_.contains(handle) ? 0 : found->second;
}

void ModelRunner::remember_deaths() {
  for (const auto& [id, queue] : model_.queues) {
    for (const JobId job : queue.dead) first_dead_ms_.emplace(job, now_.wall_ms);
  }
}

// ---- the store

bool ModelRunner::store_op(const Line& line, Rows& rows) {
  if (line.op == "open") {
    if (line.has("store")) return false;
    open_ = true;
    draining_ = false;
    handles_.clear();
    model_.reopen(now_);
    if (line.flag("expire_leases")) model_.expire(model_.expired(INT64_MAX), now_);
    rows = {"ok"};
  } else if (line.op == "close") {
    open_ = false;
    rows = {"ok"};
  } else if (!passed_over_.empty()) {
    return false;
  } else if (line.op == "shutdown") {
    draining_ = true;
    const bool held = model_.count(JobState::leased) + model_.count(JobState::running) != 0;
    rows = {held ? "timeout" : "ok"};
  } else if (line.op == "queues") {
    std::vector<std::string> names;
    for (const auto& [id, queue] : model_.queues) names.push_back(queue.name);
    std::sort(names.begin(), names.end());
    rows = {"ok"};
    for (const std::string& name : names) rows.push_back("  " + queue_word(name));
  } else {
    std::string text = std::string("ok status=") + (draining_ ? "draining" : "open");
    text += " queues=" + std::to_string(model_.queues.size());
    for (const JobState state : {JobState::ready, JobState::delayed, JobState::leased,
                                 JobState::running, JobState::dead}) {
      text += " " + std::string(::conformance::states[static_cast<size_t>(state)]) + "=" +
              std::to_string(model_.count(state));
    }
    rows = {text};
  }
  return true;
}

// ---- queues

bool ModelRunner::config_of(const Line& line, QueueConfig& config) const {
  if (!only(line, config_keys)) return false;
  if (line.has("max_running")) config.max_running = line.u32("max_running");
  if (line.has("max_retries")) config.max_retries = line.u32("max_retries");
  if (line.has("lease_ms")) config.lease_ms = line.number_of("lease_ms");
  if (line.has("durability")) {
    config.durability = static_cast<Durability>(
        value_of_word(::conformance::durabilities, line.text("durability")));
  }
  if (line.has("backoff_kind")) config.backoff = backoff_of(line);
  if (line.has("keep_done_count")) config.keep_done_count = line.u32("keep_done_count");
  return true;
}

bool ModelRunner::declare(const Line& line, Rows& rows) {
  const std::string handle = line.text("as", line.must("q"));
  QueueId id = 0;
  if (model_.find_name(line.must("q"), &id)) {
    handles_[handle] = id;
    rows = {"ok"};
    return !passed_over_.contains(handle);
  }
  if (line.flag("no_create")) {
    rows = {std::string(not_found)};
    return true;
  }
  QueueConfig config;
  if (!config_of(line, config)) {
    passed_over_.insert(handle);
    return false;
  }
  model_.declare(++last_queue_, line.must("q"), config);
  handles_[handle] = last_queue_;
  rows = {"ok"};
  return true;
}

bool ModelRunner::configure(const Line& line, Rows& rows) {
  const QueueId queue = known(line.must("q"));
  QueueConfig config = model_.find(queue)->config;
  if (!config_of(line, config)) return false;
  if (line.has("version")) {
    const auto version = versions_.find(line.text("version"));
    if (version == versions_.end()) return false;
    rows = {version->second == config.version ? "ok" : "conflict"};
    if (version->second != config.version) return true;
  }
  model_.configure(queue, config);
  rows = {"ok"};
  return true;
}

std::string ModelRunner::config_line(QueueId id) const {
  const QueueConfig& config = model_.queues.at(id).config;
  const auto word = [](const ::conformance::Words& words, auto value) {
    return std::string(words.at(static_cast<size_t>(value)));
  };
  std::string text = "ok status=" + word(::conformance::statuses, config.status);
  text += " max_running=" + std::to_string(config.max_running);
  text += " max_retries=" + std::to_string(config.max_retries);
  text += " lease_ms=" + std::to_string(config.lease_ms);
  text += " durability=" + word(::conformance::durabilities, config.durability);
  if (config.backoff.kind != BackoffKind::none) {
    text += " backoff_kind=" + word(::conformance::backoffs, config.backoff.kind);
  }
  text += if_set("backoff_base_ms", static_cast<uint64_t>(config.backoff.base_ms));
  text += if_set("backoff_max_ms", static_cast<uint64_t>(config.backoff.max_ms));
  for (size_t i = 0; i < config.backoff.list_ms.size(); i++) {
    text += (i == 0 ? " backoff_list_ms=" : ",") + std::to_string(config.backoff.list_ms[i]);
  }
  text += if_set("backoff_jitter_permille", config.backoff.jitter_permille);
  text += if_set("keep_done_count", config.keep_done_count) + " group_limit=1";
  return text +
         if_set("consumers_paused", config.pause_kept || config.status == QueueStatus::paused);
}

std::string ModelRunner::stats(QueueId id) const {
  const model::Queue& queue = model_.queues.at(id);
  const QueueTotals& totals = queue.totals;
  std::string text =
      "ok status=" +
      std::string(::conformance::statuses.at(static_cast<size_t>(queue.config.status)));
  for (const JobState state :
       {JobState::ready, JobState::delayed, JobState::leased, JobState::running, JobState::dead}) {
    text += " " + std::string(::conformance::states[static_cast<size_t>(state)]) + "=" +
            std::to_string(queue.count(state));
  }
  text += if_set("enqueued_total", totals.enqueued) + if_set("leased_total", totals.leased);
  text += if_set("acked_total", totals.acked) + if_set("nacked_total", totals.nacked);
  text += if_set("failed_total", totals.failed) + if_set("released_total", totals.released);
  text += if_set("expired_total", totals.expired) + if_set("dead_total", totals.dead);
  text += if_set("replayed_total", totals.replayed) + if_set("cancelled_total", totals.cancelled);
  return text + if_set("cleared_total", totals.cleared);
}

bool ModelRunner::queue_op(const Line& line, Rows& rows) {
  if (line.op == "queue") return declare(line, rows);
  const QueueId id = known(line.text("q"));
  if (id == 0) return false;
  model::Queue* queue = model_.find(id);
  if (!queue) {
    rows = {std::string(not_found)};
    return line.op != "enqueue_many" && line.op != "queue_close";
  }
  QueueConfig& config = queue->config;
  if (line.op == "configure") return configure(line, rows);
  if (line.op == "enqueue") return enqueue(line, rows);
  if (line.op == "enqueue_many") return enqueue_many(line, rows);
  if (line.op == "settle_many") return settle_many(line, rows);
  rows = {"ok"};
  if (line.op == "config") {
    rows = {config_line(id)};
    if (line.has("as")) versions_[line.text("as")] = config.version;
  } else if (line.op == "stats") {
    rows = {stats(id)};
  } else if (line.op == "pause") {
    if (config.status == QueueStatus::active) config.status = QueueStatus::paused;
    if (config.status == QueueStatus::disabled) config.pause_kept = true;
  } else if (line.op == "resume") {
    if (config.status == QueueStatus::paused) config.status = QueueStatus::active;
    config.pause_kept = false;
  } else if (line.op == "disable") {
    config.pause_kept |= config.status == QueueStatus::paused;
    config.status = QueueStatus::disabled;
  } else if (line.op == "enable") {
    if (config.status == QueueStatus::disabled) {
      config.status = config.pause_kept ? QueueStatus::paused : QueueStatus::active;
    }
    config.pause_kept = false;
  } else if (line.op == "clear") {
    uint32_t bits = 0;
    for (const std::string& state : line.list("states")) {
      bits |= 1u << value_of_word(::conformance::states, state);
    }
    if (bits == 0) bits = state_bit(JobState::ready) | state_bit(JobState::delayed);
    rows = {"ok removed=" + std::to_string(model_.clear(id, bits))};
  } else if (line.op == "delete") {
    model_.remove(id);
  } else {
    return false;
  }
  return true;
}

// ---- enqueue

bool ModelRunner::spec_of(const Line& line, model::Spec& spec) const {
  if (!only(line, spec_keys)) return false;
  spec.payload = line.text("payload");
  for (const auto& [key, value] : line.values) {
    if (key != "header") continue;
    const size_t cut = std::min(value.find('='), value.size());
    spec.headers.emplace_back(value.substr(0, cut), value.substr(std::min(cut + 1, value.size())));
  }
  spec.delay_ms = line.number_of("delay_ms");
  if (line.has("run_at_ms")) spec.run_at_ms = now_.wall_ms + line.number_of("run_at_ms");
  spec.priority = static_cast<uint8_t>(line.number_of("priority", default_priority));
  spec.max_attempts = line.u32("max_attempts");
  spec.backoff = backoff_of(line);
  return true;
}

void ModelRunner::add_job(QueueId queue, const model::Spec& spec, const std::string& as,
                          const std::string& handle) {
  model_.enqueue(queue, ++last_job_, spec, now_);
  if (as.empty()) return;
  jobs_[as] = {handle, last_job_, 0};
  names_.emplace(last_job_, as);
}

bool ModelRunner::enqueue(const Line& line, Rows& rows) {
  const QueueId queue = known(line.must("q"));
  model::Spec spec;
  if (!line.parts.empty() || !spec_of(line, spec)) return false;
  const bool disabled = model_.find(queue)->config.status == QueueStatus::disabled;
  rows = {disabled ? "disabled" : "ok"};
  if (!disabled) add_job(queue, spec, line.text("as"), line.text("q"));
  return true;
}

bool ModelRunner::enqueue_many(const Line& line, Rows& rows) {
  const QueueId queue = known(line.must("q"));
  if (line.has("flags")) return false;
  std::vector<std::pair<model::Spec, std::string>> specs;
  for (const Line& part : line.parts) {
    if (!spec_of(part, specs.emplace_back().first)) return false;
    specs.back().second = part.text("as");
  }
  if (line.has("count")) {
    model::Spec spec;
    if (!spec_of(line, spec)) return false;
    specs.assign(static_cast<size_t>(line.number_of("count")), {spec, ""});
  }
  const bool disabled = model_.find(queue)->config.status == QueueStatus::disabled;
  const std::string word = disabled ? "disabled" : "ok";
  rows = {word + " accepted=" + std::to_string(disabled ? 0 : specs.size())};
  if (!disabled) {
    for (const auto& [spec, as] : specs) add_job(queue, spec, as, line.text("q"));
  }
  rows.insert(rows.end(), line.parts.size(), "  " + word);
  return true;
}

// ---- jobs

std::string ModelRunner::name_of(JobId id, std::vector<std::string>* fresh) {
  const auto found = names_.find(id);
  if (found != names_.end()) return found->second;
  if (!fresh || fresh->empty()) return "?";
  const std::string name = fresh->front();
  fresh->erase(fresh->begin());
  names_[id] = name;
  return name;
}

void ModelRunner::learn(const std::string& queue, const Job& job) {
  const auto found = names_.find(job.id);
  if (found != names_.end()) jobs_[found->second] = {queue, job.id, job.generation};
}

std::string ModelRunner::job_row(QueueId id, const Job& job) {
  const model::Queue& queue = *model_.find(id);
  std::string text = "  " + name_of(job.id, nullptr) + " queue=" + queue_word(queue.name);
  text += " state=" + std::string(::conformance::states[static_cast<size_t>(job.state)]);
  text += " priority=" + std::to_string(job.spec.priority);
  text += " attempts=" + std::to_string(job.attempts);
  text += " max_attempts=" + std::to_string(model::attempts_allowed(queue, job));
  text += " payload=" + quoted(job.spec.payload);
  text += if_set("exceptions", job.exceptions) + if_set("replays", job.replays);
  if (job.state == JobState::dead) {
    text += " dead_reason=" + std::string(::conformance::reasons[static_cast<size_t>(job.reason)]);
  }
  if (job.deadline_ms != 0) text += " deadline_ms=set";
  if (job.state == JobState::dead) text += " dead_ms=set";
  if (first_dead_ms_.contains(job.id)) text += " first_dead_ms=set";
  for (const auto& [name, value] : job.spec.headers) {
    text += " header=" + quoted(name + "=" + value);
  }
  if (!job.error.empty()) text += " last_error=" + quoted(job.error);
  const auto note = notes_.find(job.id);
  if (note != notes_.end() && !note->second.empty()) text += " progress=" + quoted(note->second);
  return text;
}

bool ModelRunner::pass_time(int64_t until_ms) {
  int64_t next_ms = until_ms + 1;
  for (const auto& [id, queue] : model_.queues) {
    for (const auto& [job_id, job] : queue.jobs) {
      if (job.state == JobState::delayed) next_ms = std::min(next_ms, job.due_ms - now_.wall_ms);
      if (job.deadline_ms != 0) next_ms = std::min(next_ms, job.expires_ms - now_.run_ms);
    }
  }
  if (next_ms > until_ms) return false;
  next_ms = std::max<int64_t>(next_ms, 0);
  now_.wall_ms += next_ms;
  now_.run_ms += next_ms;
  model_.expire(model_.expired(now_.run_ms), now_);
  model_.promote(SIZE_MAX, now_);
  return true;
}

bool ModelRunner::lease(const Line& line, Rows& rows) {
  std::vector<QueueId> queues;
  std::map<QueueId, std::string> handles;
  size_t paused = 0;
  size_t disabled = 0;
  for (const std::string& handle : line.list("q")) {
    const QueueId queue = known(handle);
    if (queue == 0 || !model_.find(queue)) return false;
    queues.push_back(queue);
    handles[queue] = handle;
    paused += model_.find(queue)->config.status == QueueStatus::paused;
    disabled += model_.find(queue)->config.status == QueueStatus::disabled;
  }
  rows = {draining_ ? "error WQ_E_CLOSED" : "cancelled"};
  if (draining_ || line.has("cancelled")) return true;
  const auto max_jobs = static_cast<size_t>(line.number_of("max_jobs", 1));
  const int64_t wait_ms = line.number_of("wait_ms");
  std::vector<model::Pick> picks = model_.pick(queues, max_jobs, now_);
  while (picks.empty() && pass_time(wait_ms < 0 ? for_ever_ms : wait_ms)) {
    picks = model_.pick(queues, max_jobs, now_);
  }
  rows = {paused == queues.size() ? "paused" : disabled == queues.size() ? "disabled" : "empty"};
  if (picks.empty()) return true;
  rows = {"ok"};
  std::vector<std::string> fresh = line.list("as");
  for (const model::Pick& pick : picks) {
    const int64_t lease_ms = line.number_of("lease_ms");
    model_.lease(pick.queue, pick.id, ++last_generation_,
                 lease_ms ? lease_ms : model_.find(pick.queue)->config.lease_ms, now_);
    const Job& job = *model_.find(pick.queue, pick.id);
    name_of(pick.id, &fresh);
    learn(handles[pick.queue], job);
    rows.push_back(job_row(pick.queue, job));
  }
  return true;
}

std::string ModelRunner::no_lease(QueueId queue, const Named& job) const {
  for (const auto& [id, other] : model_.queues) {
    if (id != queue && other.jobs.contains(job.id)) return std::string(not_found);
  }
  return job.id <= last_job_ ? "stale" : std::string(not_found);
}

std::string ModelRunner::one_settle(const std::string& kind, const Line& line, QueueId queue,
                                    const Named& job) {
  if (!model_.holds(queue, job.id, job.generation)) return no_lease(queue, job);
  Settlement what;
  what.id = job.id;
  what.generation = job.generation;
  what.kind = kind == "ack"    ? model::Settle::ack
              : kind == "nack" ? model::Settle::nack
              : kind == "fail" ? model::Settle::fail
                               : model::Settle::release;
  what.front = line.flag("front");
  what.no_exception = line.flag("no_exception");
  if (line.has("priority")) what.priority = static_cast<int>(line.number_of("priority"));
  what.delay_ms = line.number_of("delay_ms", kind == "release" ? 0 : -1);
  what.error = kept_error(line.text("error"));
  model_.settle(queue, what, now_);
  // What a worker says of a death is no matter of the model.
  Job* left = model_.find(queue, job.id);
  if (left && left->state == JobState::dead && line.has("reason")) {
    left->reason =
        static_cast<DeadReason>(value_of_word(::conformance::reasons, line.text("reason")));
  }
  return "ok";
}

bool ModelRunner::settle_many(const Line& line, Rows& rows) {
  const QueueId queue = known(line.must("q"));
  for (const Line& part : line.parts) {
    const auto job = jobs_.find(part.must("job"));
    if (job == jobs_.end() || known(job->second.queue) == 0) return false;
  }
  rows = {"ok"};
  for (const Line& part : line.parts) {
    const Named job = jobs_.at(part.must("job"));
    const std::string word = one_settle(part.must("kind"), part, queue, job);
    if (rows[0] == "ok") rows[0] = word;
    rows.push_back("  " + name_of(job.id, nullptr) + " " + word);
  }
  return true;
}

bool ModelRunner::extend(const Line& line, Rows& rows) {
  const std::vector<std::string> names = line.list("jobs");
  rows = {"ok"};
  for (const std::string& name : names) {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) return false;
    const Named& job = found->second;
    const QueueId queue = known(line.text("q", jobs_.at(names[0]).queue));
    if (queue == 0) return false;
    const bool holds = model_.holds(queue, job.id, job.generation);
    const int64_t lease_ms = line.number_of("lease_ms");
    if (holds) {
      model_.extend(queue, job.id, lease_ms ? lease_ms : model_.find(queue)->config.lease_ms, now_);
    }
    const std::string word = holds ? "ok" : no_lease(queue, job);
    if (rows[0] == "ok") rows[0] = word;
    if (names.size() > 1) rows.push_back("  " + name_of(job.id, nullptr) + " " + word);
  }
  return true;
}

bool ModelRunner::until(const Line& line, QueueId queue, const Named& job, Rows& rows) {
  const auto wanted =
      static_cast<JobState>(value_of_word(::conformance::states, line.must("state")));
  while (model_.find(queue, job.id)->state != wanted) {
    if (!pass_time(for_ever_ms)) return false;
    remember_deaths();
  }
  const Job& found = *model_.find(queue, job.id);
  learn(line.text("q", job.queue), found);
  rows = {"ok", job_row(queue, found)};
  return true;
}

bool ModelRunner::reprioritise(const Line& line, QueueId id, const Named& job, Rows& rows) {
  Job& found = *model_.find(id, job.id);
  const auto priority = static_cast<uint8_t>(line.number_of("priority"));
  const bool waits = found.state == JobState::ready || found.state == JobState::delayed;
  rows = {waits ? "ok" : "conflict"};
  if (!waits || found.spec.priority == priority) return true;
  model::Queue& queue = *model_.find(id);
  if (found.state == JobState::ready) {
    std::erase(queue.ready[found.spec.priority], job.id);
    queue.ready[priority].push_back(job.id);
  }
  found.spec.priority = priority;
  return true;
}

bool ModelRunner::job_op(const Line& line, Rows& rows) {
  const auto found = jobs_.find(line.must("job"));
  if (found == jobs_.end()) return false;
  const Named job = found->second;
  const QueueId queue = known(line.text("q", job.queue));
  if (queue == 0 || known(job.queue) == 0) return false;
  if (!model_.find(queue)) {
    rows = {std::string(not_found)};
    return true;
  }
  if (line.op == "ack" || line.op == "nack" || line.op == "fail" || line.op == "release") {
    rows = {one_settle(line.op, line, queue, job)};
    return true;
  }
  if (line.op == "progress") {
    const bool holds = model_.holds(queue, job.id, job.generation);
    if (holds) notes_[job.id] = line.text("note");
    rows = {holds ? "ok" : no_lease(queue, job)};
    return true;
  }
  if (line.op == "confirm") {
    const bool holds = model_.holds(queue, job.id, job.generation);
    if (holds) model_.confirm(queue, job.id, line.number_of("run_ms"), now_);
    rows = {holds ? "ok" : no_lease(queue, job)};
    return true;
  }
  const bool by_id =
      line.op == "get" || line.op == "cancel" || line.op == "reprioritise" || line.op == "until";
  if (!by_id) return false;
  const Job* known_job = model_.find(queue, job.id);
  rows = {std::string(not_found)};
  if (!known_job) return true;
  if (line.op == "until") return until(line, queue, job, rows);
  if (line.op == "reprioritise") return reprioritise(line, queue, job, rows);
  if (line.op == "cancel") {
    const bool dead = known_job->state == JobState::dead;
    if (!dead) model_.cancel(queue, job.id, now_);
    rows = {dead ? "conflict" : "ok"};
    return true;
  }
  learn(line.text("q", job.queue), *known_job);
  rows = {"ok", job_row(queue, *known_job)};
  return true;
}

// ---- dead letters

bool ModelRunner::dead_op(const Line& line, Rows& rows) {
  if (line.has("job")) return dead_entry(line, rows);
  const QueueId queue = known(line.must("q"));
  if (queue == 0) return false;
  if (line.op == "dead_list") return dead_list(line, rows);
  if (line.op != "dead_purge") return dead_many(line, queue, rows);
  rows = {"ok removed=" + std::to_string(model_.clear(queue, state_bit(JobState::dead)))};
  return true;
}

bool ModelRunner::dead_entry(const Line& line, Rows& rows) {
  const auto found = jobs_.find(line.must("job"));
  if (found == jobs_.end()) return false;
  const Named job = found->second;
  const QueueId queue = known(line.text("q", job.queue));
  if (queue == 0) return false;
  const Job* letter = model_.find(queue, job.id);
  rows = {std::string(not_found)};
  if (!letter) return true;
  const bool there = letter->state == JobState::dead && letter->generation == job.generation;
  rows = {there ? "ok" : "stale"};
  if (!there) return true;
  if (line.op == "dead_get") rows.push_back(job_row(queue, *letter));
  if (line.op == "dead_replay") model_.replay(queue, job.id, ++last_generation_, now_);
  if (line.op == "dead_remove") model_.remove_dead(queue, job.id, now_);
  return true;
}

namespace {

bool wanted_letter(const Line& line, const Job& job, int64_t now_ms) {
  const DeadReason reason =
      static_cast<DeadReason>(value_of_word(::conformance::reasons, line.text("reason", "none")));
  if (reason != DeadReason::none && job.reason != reason) return false;
  if (line.has("from_ms") && job.since_ms < now_ms + line.number_of("from_ms")) return false;
  if (line.has("until_ms") && job.since_ms >= now_ms + line.number_of("until_ms")) return false;
  return job.error.find(line.text("error_part")) != std::string::npos;
}

}  // namespace

bool ModelRunner::dead_list(const Line& line, Rows& rows) {
  const QueueId id = known(line.must("q"));
  const model::Queue& queue = *model_.find(id);
  std::vector<JobId> letters = queue.dead;
  if (!line.flag("oldest_first")) std::reverse(letters.begin(), letters.end());
  std::erase_if(letters, [&](JobId letter) {
    return !wanted_letter(line, queue.jobs.at(letter), now_.wall_ms);
  });
  const auto limit = static_cast<size_t>(line.number_of("limit", 100));
  rows = {"empty"};
  if (letters.empty()) return true;
  rows = {"ok pages=" + std::to_string((letters.size() + limit - 1) / limit)};
  for (const JobId letter : letters) {
    const Job& job = *model_.find(id, letter);
    learn(line.must("q"), job);
    rows.push_back(job_row(id, job));
  }
  return true;
}

bool ModelRunner::dead_many(const Line& line, QueueId id, Rows& rows) {
  std::vector<JobId> chosen;
  for (const JobId letter : model_.find(id)->dead) {
    const Job& job = *model_.find(id, letter);
    bool wanted = wanted_letter(line, job, now_.wall_ms);
    if (line.has("jobs")) {
      wanted = false;
      for (const std::string& name : line.list("jobs")) {
        const Named& entry = jobs_.at(name);
        wanted |= entry.id == letter && entry.generation == job.generation;
      }
    }
    if (wanted) chosen.push_back(letter);
  }
  if (line.has("limit")) {
    chosen.resize(std::min(chosen.size(), static_cast<size_t>(line.number_of("limit"))));
  }
  if (!line.flag("dry_run")) {
    for (const JobId letter : chosen) {
      if (line.op == "dead_replay_many") {
        model_.replay(id, letter, ++last_generation_, now_);
      } else {
        model_.remove_dead(id, letter, now_);
      }
    }
  }
  rows = {"ok changed=" + std::to_string(chosen.size())};
  return true;
}

}  // namespace wq::conformance_model
