// runner.cc: names, and how jobs and outcomes are printed; see runner.hpp.
#include "runner.hpp"

#include <algorithm>

namespace conformance {

void Runner::run(const std::vector<Line>& script) {
  for (const Line& line : script) {
    bool known = false;
    for (const Table* table : {&store_ops, &queue_ops, &job_ops, &dead_ops, &row_ops, &flow_ops}) {
      const auto op = table->find(line.op);
      if (op == table->end()) continue;
      known = true;
      op->second(*this, line);
    }
    if (!known) throw ScriptError{"line " + std::to_string(line.number) + ": no op " + line.op};
  }
}

void Runner::open(wq::Store opened) {
  completions_.reset();
  queues_.clear();
  store = std::move(opened);
  cursor = {};
}

wq::Completions& Runner::completions() {
  if (!completions_) completions_ = wq::Completions::open(store).value();
  return *completions_;
}

const wq::Queue& Runner::queue(const std::string& name) {
  const auto found = queues_.find(name);
  if (found == queues_.end()) throw ScriptError{"no queue handle " + name};
  return found->second;
}

Named& Runner::named(const std::string& name) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) throw ScriptError{"no job has the name " + name};
  return found->second;
}

std::pair<const wq::Queue*, wq::Token> Runner::target(const Line& line) {
  const Named& job = named(line.must("job"));
  return {&queue(line.text("q", job.queue)), job.token};
}

void Runner::bind(const std::string& name, const std::string& queue, wq::Token token) {
  jobs_[name] = {queue, token};
  job_names_.emplace(token.id, name);
}

std::string Runner::name_of(std::uint64_t id, std::vector<std::string>* fresh,
                            const std::string& queue) {
  const auto found = job_names_.find(id);
  if (found != job_names_.end()) return found->second;
  if (!fresh || fresh->empty()) return "?";
  const std::string name = fresh->front();
  fresh->erase(fresh->begin());
  bind(name, queue, {id, 0});
  return name;
}

std::string Runner::handle_of(wq::Bytes queue_name) const {
  for (const auto& [handle, queue] : queues_) {
    if (queue.handle() && queue.name() == queue_name.view()) return handle;
  }
  return queue_name.str();
}

void Runner::learn(const wq::Job& job, std::vector<std::string>* fresh) {
  const std::string name = name_of(job.id(), fresh, handle_of(job.queue_name()));
  if (name != "?") jobs_[name] = {handle_of(job.queue_name()), job.token()};
}

void Runner::bind_flow(const std::string& name, std::uint64_t flow) {
  flows_[name] = flow;
  flow_names_.emplace(flow, name);
}

std::uint64_t Runner::flow(const std::string& name) const {
  const auto found = flows_.find(name);
  if (found == flows_.end()) throw ScriptError{"no flow has the name " + name};
  return found->second;
}

std::string Runner::flow_name(std::uint64_t flow) const {
  const auto found = flow_names_.find(flow);
  return found == flow_names_.end() ? "?" : found->second;
}

std::string Runner::header_text(const wq::Header& header) const {
  std::string value = header.value.str();
  if (header.name == wq::Bytes("wq-slot-ms")) value = "*";
  if (header.name == wq::Bytes("wq-batch")) {
    for (const auto& [flow, name] : flow_names_) {
      if (value == std::to_string(flow)) {
        value = name;
        break;
      }
    }
  }
  return quoted(header.name.str() + "=" + value);
}

std::string if_set(std::string_view key, std::uint64_t value) {
  return value == 0 ? "" : " " + std::string(key) + "=" + std::to_string(value);
}

std::string key_text(std::uint32_t key_id, std::string_view key, std::int32_t code) {
  std::string text = if_set("key_id", key_id);
  if (code == WQ_OK) return text;
  return text + " " + std::string(key) + "=WQ_E_" + std::string(wq_error_name(code));
}

void Runner::print_job(const wq::Job& job) {
  const wq_job& raw = job.raw();
  const auto bytes = [](std::string_view key, wq::Bytes value) {
    return value.empty() ? "" : " " + std::string(key) + "=" + quoted(value);
  };
  const auto set = [](std::string_view key, std::int64_t value) {
    return value == 0 ? "" : " " + std::string(key) + "=set";
  };
  std::string text = name_of(job.id()) + " queue=" + queue_word(job.queue_name());
  text += " state=" + std::string(states.at(raw.state));
  text += " priority=" + std::to_string(raw.priority);
  text += " attempts=" + std::to_string(raw.attempts);
  text += " max_attempts=" + std::to_string(raw.max_attempts);
  text += " payload=" + quoted(job.payload());
  text += if_set("exceptions", raw.exceptions) + if_set("replays", raw.replays);
  if (raw.dead_reason) text += " dead_reason=" + std::string(reasons.at(raw.dead_reason));
  text += set("deadline_ms", raw.deadline_ms) + set("dead_ms", raw.dead_ms);
  text += set("first_dead_ms", raw.first_dead_ms);
  for (const wq::Header& header : job.headers()) text += " header=" + header_text(header);
  const bool own_text = job.last_error().view().starts_with("the payload of job");
  text += own_text ? " last_error=*" : bytes("last_error", job.last_error());
  text += if_set("timeout_ms", static_cast<std::uint64_t>(raw.timeout_ms));
  text += set("expires_at_ms", raw.expires_at_ms) + set("retry_until_ms", raw.retry_until_ms);
  text += if_set("max_exceptions", raw.max_exceptions);
  const std::string flags = bit_words(
      raw.flags, {{WQ_JOB_FAIL_ON_TIMEOUT, "fail_on_timeout"}, {WQ_JOB_ENCRYPT, "encrypt"}});
  if (!flags.empty()) text += " flags=" + flags;
  text += bytes("progress", job.progress_note());
  if (raw.flow) text += " flow=" + flow_name(raw.flow);
  text += if_set("chain_count", raw.chain_count) + if_set("flow_cancelled", raw.flow_cancelled);
  text += bytes("group", job.group()) + if_set("parked", raw.parked);
  text += bytes("tenant", job.tenant()) + bytes("rate_key", job.rate_key());
  if (!job.rate_key().empty()) text += if_set("rate_cost", job.rate_cost());
  row(text + key_text(job.key_id(), "payload_code", raw.payload_code));
}

std::string word(wq::Outcome outcome) {
  std::string name(wq::name_of(outcome));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

std::string word(const wq::Error& error) {
  return "error WQ_E_" + std::string(error.name());
}

std::string code_word(std::int32_t code) {
  if (code < 0) return word(wq::Error(static_cast<wq::Errc>(code)));
  return word(static_cast<wq::Outcome>(code));
}

}  // namespace conformance
