// ops_queue.cc: operations on queues, and enqueues.
#include "runner.hpp"

namespace conformance {
namespace {

template <typename T>
std::optional<T> number(const Line& line, std::string_view key) {
  if (!line.has(key)) return std::nullopt;
  return static_cast<T>(line.number_of(key));
}

std::optional<wq::Millis> millis(const Line& line, std::string_view key) {
  if (!line.has(key)) return std::nullopt;
  return line.millis(key);
}

wq::Backoff backoff_of(const Line& line) {
  wq::Backoff backoff;
  backoff.kind = value_of_word(backoffs, line.text("backoff_kind", "none"));
  backoff.base = line.millis("backoff_base_ms");
  backoff.max = line.millis("backoff_max_ms");
  backoff.jitter_permille = line.u32("backoff_jitter_permille");
  for (const std::string& delay : line.list("backoff_list_ms")) {
    backoff.list.emplace_back(std::stoll(delay));
  }
  return backoff;
}

bool has_any(const Line& line, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](auto key) { return line.has(key); });
}

wq::QueueConfig config_of(Runner& r, const Line& line) {
  wq::QueueConfig config;
  config.max_running = number<std::uint32_t>(line, "max_running");
  config.max_retries = number<std::uint32_t>(line, "max_retries");
  config.lease = millis(line, "lease_ms");
  if (line.has("durability")) config.durability = durability_of(line);
  if (has_any(line, {"backoff_kind", "backoff_base_ms", "backoff_max_ms", "backoff_list_ms",
                     "backoff_jitter_permille"})) {
    config.backoff = backoff_of(line);
  }
  config.job_ttl = millis(line, "job_ttl_ms");
  config.max_depth = number<std::uint64_t>(line, "max_depth");
  config.max_bytes = number<std::uint64_t>(line, "max_bytes");
  if (line.has("full_policy")) config.drop_oldest = line.text("full_policy") == "drop_oldest";
  config.dead_max_count = number<std::uint64_t>(line, "dead_max_count");
  config.dead_max_age = millis(line, "dead_max_age_ms");
  if (has_any(line, {"keep_done_count", "keep_done_age_ms"})) {
    config.keep_done = wq::KeepDone{line.u32("keep_done_count"), line.millis("keep_done_age_ms")};
  }
  if (has_any(line, {"rate_count", "rate_burst", "rate_window_ms"})) {
    config.rate =
        wq::Rate{line.u32("rate_count"), line.millis("rate_window_ms"), line.u32("rate_burst")};
  }
  if (has_any(line, {"key_rate_count", "key_rate_burst", "key_rate_window_ms"})) {
    config.key_rate = wq::Rate{line.u32("key_rate_count"), line.millis("key_rate_window_ms"),
                               line.u32("key_rate_burst")};
  }
  if (has_any(line, {"throttle_count", "throttle_window_ms", "throttle_cool_ms"})) {
    config.throttle = wq::Throttle{line.u32("throttle_count"), line.millis("throttle_window_ms"),
                                   line.millis("throttle_cool_ms")};
  }
  config.encrypt = number<bool>(line, "encrypt");
  config.compress_min_bytes = number<std::uint32_t>(line, "compress_min_bytes");
  config.group_limit = number<std::uint32_t>(line, "group_limit");
  if (line.has("version")) config.version = r.versions.at(line.text("version"));
  return config;
}

void open_queue(Runner& r, const Line& line) {
  auto queue = r.store.queue(line.must("q"), config_of(r, line), !line.flag("no_create"));
  r.print(queue ? "ok" : failure(queue));
  if (queue) r.bind_queue(line.text("as", line.must("q")), *std::move(queue));
}

void configure(Runner& r, const Line& line) {
  wq::QueueConfig config = config_of(r, line);
  r.print(outcome(r.queue_of(line).configure(config)));
}

std::string backoff_text(const wq::Backoff& backoff) {
  if (backoff.kind == 0) return if_set("backoff_jitter_permille", backoff.jitter_permille);
  std::string text = " backoff_kind=" + std::string(backoffs.at(backoff.kind));
  text += if_set("backoff_base_ms", static_cast<std::uint64_t>(backoff.base.count()));
  text += if_set("backoff_max_ms", static_cast<std::uint64_t>(backoff.max.count()));
  for (std::size_t i = 0; i < backoff.list.size(); i++) {
    text += (i == 0 ? " backoff_list_ms=" : ",") + std::to_string(backoff.list[i].count());
  }
  return text + if_set("backoff_jitter_permille", backoff.jitter_permille);
}

void config(Runner& r, const Line& line) {
  const auto config = r.queue_of(line).config();
  if (!config) return r.print(failure(config));
  if (line.has("as")) r.versions[line.text("as")] = *config->version;
  const auto ms = [](wq::Millis value) { return static_cast<std::uint64_t>(value.count()); };
  std::string text = "ok status=" + std::string(statuses.at(static_cast<size_t>(config->status)));
  text += " max_running=" + std::to_string(*config->max_running);
  text += " max_retries=" + std::to_string(*config->max_retries);
  text += " lease_ms=" + std::to_string(config->lease->count());
  text += " durability=" + std::string(durabilities.at(static_cast<size_t>(*config->durability)));
  text += backoff_text(*config->backoff);
  text += if_set("job_ttl_ms", ms(*config->job_ttl)) + if_set("max_depth", *config->max_depth);
  text += if_set("max_bytes", *config->max_bytes);
  if (*config->drop_oldest) text += " full_policy=drop_oldest";
  text += if_set("dead_max_count", *config->dead_max_count);
  text += if_set("dead_max_age_ms", ms(*config->dead_max_age));
  text += if_set("keep_done_age_ms", ms(config->keep_done->age));
  text += if_set("keep_done_count", config->keep_done->count);
  text += if_set("group_limit", *config->group_limit);
  text += if_set("rate_count", config->rate->count) + if_set("rate_burst", config->rate->burst);
  text += if_set("rate_window_ms", ms(config->rate->window));
  text += if_set("encrypt", *config->encrypt);
  text += if_set("compress_min_bytes", *config->compress_min_bytes);
  text += if_set("key_rate_count", config->key_rate->count);
  text += if_set("key_rate_burst", config->key_rate->burst);
  text += if_set("key_rate_window_ms", ms(config->key_rate->window));
  text += if_set("throttle_count", config->throttle->count);
  text += if_set("throttle_window_ms", ms(config->throttle->window));
  text += if_set("throttle_cool_ms", ms(config->throttle->cool));
  r.print(text + if_set("consumers_paused", config->consumers_paused));
}

void pause(Runner& r, const Line& line) {
  r.print(outcome(r.queue_of(line).pause()));
}
void resume(Runner& r, const Line& line) {
  r.print(outcome(r.queue_of(line).resume()));
}
void disable(Runner& r, const Line& line) {
  r.print(outcome(r.queue_of(line).disable()));
}
void enable(Runner& r, const Line& line) {
  r.print(outcome(r.queue_of(line).enable()));
}
void remove(Runner& r, const Line& line) {
  r.print(outcome(r.queue_of(line).remove()));
}

void close_queue(Runner& r, const Line& line) {
  wq::Queue queue = r.queue_of(line);
  queue.close();
  r.print("ok");
}

void clear(Runner& r, const Line& line) {
  std::uint32_t bits = 0;
  for (const std::string& state : line.list("states")) {
    bits |= WQ_STATE_BIT(value_of_word(states, state));
  }
  const auto removed = r.queue_of(line).clear(bits);
  r.print(removed ? "ok removed=" + std::to_string(*removed) : failure(removed));
}

void stats(Runner& r, const Line& line) {
  const auto told = r.queue_of(line).stats();
  if (!told) return r.print(failure(told));
  const wq::QueueStats& s = *told;
  std::string text = "ok status=" + std::string(statuses.at(s.status));
  const std::pair<const char*, std::uint64_t> now[] = {{"ready", s.ready},
                                                       {"delayed", s.delayed},
                                                       {"leased", s.leased},
                                                       {"running", s.running},
                                                       {"dead", s.dead}};
  for (const auto& [key, value] : now) {
    text += " " + std::string(key) + "=" + std::to_string(value);
  }
  const std::pair<const char*, std::uint64_t> totals[] = {
      {"enqueued_total", s.enqueued_total},   {"leased_total", s.leased_total},
      {"acked_total", s.acked_total},         {"nacked_total", s.nacked_total},
      {"failed_total", s.failed_total},       {"released_total", s.released_total},
      {"expired_total", s.expired_total},     {"dead_total", s.dead_total},
      {"replayed_total", s.replayed_total},   {"cancelled_total", s.cancelled_total},
      {"cleared_total", s.cleared_total},     {"jobs_expired_total", s.jobs_expired_total},
      {"dropped_total", s.dropped_total},     {"dead_dropped_total", s.dead_dropped_total},
      {"chain_cut_total", s.chain_cut_total}, {"parked", s.parked},
      {"skipped_total", s.skipped_total}};
  for (const auto& [key, value] : totals) text += if_set(key, value);
  r.print(text);
}

void explain(Runner& r, const Line& line) {
  const auto told = r.queue_of(line).explain();
  if (!told) return r.print(failure(told));
  const wq_queue_explanation& e = told->raw;
  const std::string why = bit_words(e.causes, causes);
  r.print("ok status=" + std::string(statuses.at(e.status)) +
          " causes=" + (why.empty() ? "none" : why) + " leasable=" + std::to_string(e.leasable) +
          " slots_taken=" + std::to_string(e.slots_taken) +
          " slots_max=" + std::to_string(e.slots_max) + " parked=" + std::to_string(e.parked));
}

void errors(Runner& r, const Line& line) {
  const auto told = r.queue_of(line).errors();
  if (!told) return r.print(failure(told));
  r.print(told->empty() ? "empty" : "ok");
  for (const wq::QueueError& error : *told) {
    r.row(r.name_of(error.job_id) + " kind=" + std::string(events.at(error.kind)) +
          " attempt=" + std::to_string(error.attempt) +
          " text=" + quoted(std::string_view(error.text, error.text_len)));
  }
}

// ---- enqueue

void tell_enqueued(Runner& r, const wq::Result<wq::Enqueued>& result, const std::string& as,
                   const std::string& queue) {
  if (!result) return r.print(failure(result));
  if (result->outcome == wq::Outcome::duplicate) {
    return r.print("duplicate job=" + r.name_of(result->id));
  }
  if (result->outcome == wq::Outcome::ok && !as.empty()) r.bind(as, queue, {result->id, 0});
  r.print(word(result->outcome));
}

void enqueue(Runner& r, const Line& line) {
  wq::JobOptions options = job_options(r, line);
  for (const Line& part : line.parts) options.chain.add(next_job(r, part));
  const wq::Queue& queue = r.queue_of(line);
  change(
      r, line,
      [&](const wq::Call& call) { return queue.enqueue(line.text("payload"), options, call); },
      [as = line.text("as"), q = line.text("q")](Runner& runner,
                                                 const wq::Result<wq::Enqueued>& result) {
        tell_enqueued(runner, result, as, q);
      });
}

void tell_many(Runner& r, const wq::ManyEnqueued& many, const Line& line) {
  for (std::size_t i = 0; i < line.parts.size(); i++) {
    const std::string& as = line.parts[i].text("as");
    if (many.jobs[i].code == WQ_OK && !as.empty()) {
      r.bind(as, line.text("q"), {many.jobs[i].job_id, 0});
    }
  }
  r.print(outcome(many.result) + " accepted=" + std::to_string(many.accepted));
  for (std::size_t i = 0; i < line.parts.size(); i++) {
    const wq_enqueued& job = many.jobs[i];
    r.row(code_word(job.code) + (job.code == WQ_DUPLICATE ? " job=" + r.name_of(job.job_id) : ""));
  }
}

void enqueue_many(Runner& r, const Line& line) {
  std::vector<wq::NewJob> jobs;
  for (const Line& part : line.parts) jobs.push_back({part.text("payload"), job_options(r, part)});
  if (line.has("count")) {
    jobs.assign(static_cast<std::size_t>(line.number_of("count")),
                {line.text("payload"), job_options(r, line)});
  }
  const wq::EnqueueMode mode =
      line.flag("partial") ? wq::EnqueueMode::up_to_first_refusal : wq::EnqueueMode::all_or_none;
  const wq::Queue& queue = r.queue_of(line);
  change(
      r, line, [&](const wq::Call& call) { return queue.enqueue_many(jobs, mode, call); },
      [line](Runner& runner, const wq::ManyEnqueued& many) { tell_many(runner, many, line); });
}

}  // namespace

wq::JobOptions job_options(Runner& r, const Line& line) {
  wq::JobOptions options;
  options.delay = line.millis("delay_ms");
  options.run_at = line.time("run_at_ms");
  options.priority = number<std::uint32_t>(line, "priority");
  options.max_attempts = line.u32("max_attempts");
  options.backoff = backoff_of(line);
  for (const auto& [key, value] : line.values) {
    if (key != "header") continue;
    const std::size_t cut = std::min(value.find('='), value.size());
    const std::string_view text = value;
    options.headers.push_back({text.substr(0, cut), text.substr(std::min(cut + 1, text.size()))});
  }
  options.unique = {
      line.text("unique_key"),
      static_cast<wq::UniqueUntil>(value_of_word(uniques, line.text("unique_until", "none"))),
      line.millis("unique_ttl_ms")};
  options.debounce = {line.text("debounce_key"), line.millis("debounce_ms"),
                      line.millis("debounce_max_ms")};
  options.idempotency = {line.text("idempotency_key"), line.millis("idempotency_ms")};
  options.group = {line.text("group"), line.u32("group_limit"),
                   static_cast<wq::Overlap>(value_of_word(overlaps, line.text("overlap", "park"))),
                   line.millis("overlap_ms")};
  options.tenant = line.text("tenant");
  options.rate_key = {line.text("rate_key"), line.u32("rate_cost")};
  if (line.flag("encrypt") || line.flag("plain")) options.encrypt = line.flag("encrypt");
  if (line.has("flow")) options.flow = r.flow(line.text("flow"));
  options.expires_at = line.time("expires_at_ms");
  options.retry_until = line.time("retry_until_ms");
  options.timeout = line.millis("timeout_ms");
  options.max_exceptions = line.u32("max_exceptions");
  options.fail_on_timeout = line.flag("fail_on_timeout");
  options.dry_run = line.flag("dry_run");
  return options;
}

wq::NextJob next_job(Runner& r, const Line& part) {
  return {part.text("q"), part.text("payload"), job_options(r, part)};
}

const Table queue_ops{
    {"queue", open_queue}, {"configure", configure}, {"config", config},
    {"pause", pause},      {"resume", resume},       {"disable", disable},
    {"enable", enable},    {"delete", remove},       {"queue_close", close_queue},
    {"clear", clear},      {"stats", stats},         {"queue_explain", explain},
    {"errors", errors},    {"enqueue", enqueue},     {"enqueue_many", enqueue_many}};

}  // namespace conformance
