// A command as one line of JSON, for people and for `wq log dump`. Payloads and error texts show by
// length only: a log dump may be pasted into a bug report.
#include <cinttypes>
#include <cstdio>

#include "engine/payload_seal.h"
#include "engine/record.h"
#include "engine/record_internal.h"

namespace wq {
namespace {

struct CommandName {
  CommandType type;
  const char* name;
};

constexpr CommandName command_names[] = {
    {CommandType::open, "open"},
    {CommandType::close, "close"},
    {CommandType::queue_declare, "queue_declare"},
    {CommandType::queue_configure, "queue_configure"},
    {CommandType::queue_clear, "queue_clear"},
    {CommandType::queue_delete, "queue_delete"},
    {CommandType::enqueue, "enqueue"},
    {CommandType::lease, "lease"},
    {CommandType::confirm, "confirm"},
    {CommandType::extend, "extend"},
    {CommandType::settle, "settle"},
    {CommandType::expire, "expire"},
    {CommandType::promote, "promote"},
    {CommandType::cancel, "cancel"},
    {CommandType::dead_replay, "dead_replay"},
    {CommandType::dead_remove, "dead_remove"},
    {CommandType::import_begin, "import_begin"},
    {CommandType::import_queue, "import_queue"},
    {CommandType::import_jobs, "import_jobs"},
    {CommandType::import_end, "import_end"},
    {CommandType::kv_write, "kv_write"},
    {CommandType::transact, "transact"},
    {CommandType::expire_jobs, "expire_jobs"},
    {CommandType::overlap, "overlap"},
    {CommandType::reprioritise, "reprioritise"},
    {CommandType::progress, "progress"},
    {CommandType::key_release, "key_release"},
    {CommandType::key_forget, "key_forget"},
    {CommandType::cron_put, "cron_put"},
    {CommandType::cron_remove, "cron_remove"},
    {CommandType::cron_fire, "cron_fire"},
    {CommandType::dead_drop, "dead_drop"},
    {CommandType::drop_oldest, "drop_oldest"},
    {CommandType::rate_rebase, "rate_rebase"},
    {CommandType::batch_create, "batch_create"},
    {CommandType::batch_seal, "batch_seal"},
    {CommandType::batch_cancel, "batch_cancel"},
    {CommandType::batch_lost, "batch_lost"},
    {CommandType::batch_forget, "batch_forget"},
    {CommandType::import_rows, "import_rows"},
};

const char* command_name(CommandType type) {
  for (const CommandName& known : command_names) {
    if (known.type == type) return known.name;
  }
  return "unknown";
}

const char* settle_name(SettleKind kind) {
  switch (kind) {
    case SettleKind::ack:
      return "ack";
    case SettleKind::nack:
      return "nack";
    case SettleKind::fail:
      return "fail";
    case SettleKind::release:
      return "release";
  }
  return "unknown";
}

const char* backoff_name(BackoffKind kind) {
  switch (kind) {
    case BackoffKind::none:
      return "none";
    case BackoffKind::fixed:
      return "fixed";
    case BackoffKind::exponential:
      return "exponential";
    case BackoffKind::list:
      return "list";
  }
  return "unknown";
}

const char* durability_name(Durability durability) {
  switch (durability) {
    case Durability::memory:
      return "memory";
    case Durability::process:
      return "process";
    case Durability::power:
      return "power";
  }
  return "unknown";
}

const char* status_name(QueueStatus status) {
  switch (status) {
    case QueueStatus::active:
      return "active";
    case QueueStatus::paused:
      return "paused";
    case QueueStatus::disabled:
      return "disabled";
  }
  return "unknown";
}

// Appends members to one JSON text; puts the commas.
class JsonLine {
 public:
  void open(char bracket) {
    comma();
    text_.push_back(bracket);
    first_ = true;
  }
  void close(char bracket) {
    text_.push_back(bracket);
    first_ = false;
  }
  void key(const char* name) {
    comma();
    text_.append("\"").append(name).append("\":");
    first_ = true;  // the value follows without a comma
  }
  void raw(const std::string& value) {
    comma();
    text_.append(value);
  }
  void number(const char* name, uint64_t value) {
    key(name);
    raw(std::to_string(value));
  }
  void time(const char* name, int64_t value) {
    key(name);
    raw(std::to_string(value));
  }
  void flag(const char* name, bool value) {
    key(name);
    raw(value ? "true" : "false");
  }
  void string(const char* name, std::string_view value) {
    key(name);
    comma();
    text_.push_back('"');
    for (const char c : value) escape(c);
    text_.push_back('"');
  }
  std::string take() { return std::move(text_); }

 private:
  void comma() {
    if (!first_) text_.push_back(',');
    first_ = false;
  }
  void escape(char c) {
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (static_cast<uint8_t>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
      text_.append(buffer);
    } else {
      text_.push_back(c);
    }
  }

  std::string text_;
  bool first_ = true;
};

void add_config(JsonLine& json, const QueueConfig& config) {
  json.key("config");
  json.open('{');
  json.number("version", config.version);
  json.string("status", status_name(config.status));
  json.string("durability", durability_name(config.durability));
  json.number("max_running", config.max_running);
  json.number("max_retries", config.max_retries);
  json.time("lease_ms", config.lease_ms);
  if (config.job_ttl_ms != 0) json.time("job_ttl_ms", config.job_ttl_ms);
  if (config.max_depth != 0) json.number("max_depth", config.max_depth);
  if (config.max_bytes != 0) json.number("max_bytes", config.max_bytes);
  if (config.full_policy == FullPolicy::drop_oldest) json.string("full_policy", "drop_oldest");
  if (config.dead_max_count != 0) json.number("dead_max_count", config.dead_max_count);
  if (config.dead_max_age_ms != 0) json.time("dead_max_age_ms", config.dead_max_age_ms);
  if (config.pause_kept) json.flag("pause_kept", true);
  if (config.encrypt) json.flag("encrypt", true);
  if (config.compress_min_bytes != 0) {
    json.number("compress_min_bytes", config.compress_min_bytes);
  }
  if (config.group_limit != 1) json.number("group_limit", config.group_limit);
  if (config.rate.count != 0) {
    json.number("rate_count", config.rate.count);
    json.number("rate_burst", config.rate.burst);
    json.time("rate_window_ms", config.rate.window_ms);
  }
  if (config.key_rate.count != 0) {
    json.number("key_rate_count", config.key_rate.count);
    json.number("key_rate_burst", config.key_rate.burst);
    json.time("key_rate_window_ms", config.key_rate.window_ms);
  }
  if (config.throttle.count != 0) {
    json.number("throttle_count", config.throttle.count);
    json.time("throttle_window_ms", config.throttle.window_ms);
    json.time("throttle_cool_ms", config.throttle.cool_ms);
  }
  json.string("backoff", backoff_name(config.backoff.kind));
  if (config.backoff.jitter_permille != 0) {
    json.number("backoff_jitter_permille", config.backoff.jitter_permille);
  }
  const BackoffKind kind = config.backoff.kind;
  if (kind == BackoffKind::fixed || kind == BackoffKind::exponential) {
    json.time("backoff_base_ms", config.backoff.base_ms);
  }
  if (kind == BackoffKind::exponential) json.time("backoff_max_ms", config.backoff.max_ms);
  if (kind == BackoffKind::list) {
    json.key("backoff_list_ms");
    json.open('[');
    for (const int64_t delay_ms : config.backoff.list_ms) json.raw(std::to_string(delay_ms));
    json.close(']');
  }
  json.close('}');
}

void add_packing(JsonLine& json, Bytes envelope) {
  const Packing packing = trusted_packing(envelope);
  if (!packing.is_packed()) return;
  json.number("plain_bytes", packing.plain_bytes);
  if ((packing.flags & packing_compressed) != 0) json.flag("compressed", true);
  if (packing.is_sealed()) json.number("key_id", seal_key_id(trusted_payload(envelope)));
}

void add_jobs(JsonLine& json, const std::vector<NewJob>& jobs) {
  json.key("jobs");
  json.open('[');
  for (const NewJob& job : jobs) {
    json.open('{');
    json.number("id", job.id);
    json.number("priority", job.priority);
    if (job.due_ms != 0) json.time("due_ms", job.due_ms);
    if (job.max_attempts != 0) json.number("max_attempts", job.max_attempts);
    if (!job.envelope.empty()) {
      json.number("payload_bytes", trusted_payload(job.envelope).size());
      add_packing(json, job.envelope);
      json.number("envelope_bytes", job.envelope.size());
    }
    json.close('}');
  }
  json.close(']');
}

void add_groups(JsonLine& json, const std::vector<LeaseGroup>& groups) {
  json.key("groups");
  json.open('[');
  for (const LeaseGroup& group : groups) {
    json.open('{');
    json.number("queue", group.queue);
    json.number("count", group.count);
    json.time("deadline_ms", group.deadline_ms);
    json.close('}');
  }
  json.close(']');
}

void add_settles(JsonLine& json, const Command& command) {
  const bool full = command.type == CommandType::settle;
  json.key(full ? "settles" : "tokens");
  json.open('[');
  for (const SettleItem& item : command.settles) {
    json.open('{');
    json.number("id", item.id);
    json.number("generation", item.generation);
    if (full) json.string("kind", settle_name(item.kind));
    if (full && !item.result.empty()) json.number("result_bytes", item.result.size());
    if (full && item.kind == SettleKind::ack && (item.flags & settle_sealed)) {
      json.number("key_id", seal_key_id(as_bytes(item.result)));
    }
    if (full && item.kind != SettleKind::ack) {
      if (item.kind != SettleKind::fail) json.time("delay_ms", item.delay_ms);
      if (item.flags & settle_front) json.flag("front", true);
      if (item.flags & settle_no_exception) json.flag("no_exception", true);
      if (item.flags & settle_priority) json.number("priority", item.priority);
      if (!item.error.empty()) json.number("error_bytes", item.error.size());
      if (item.reason != DeadReason::none) {
        json.number("reason", static_cast<uint64_t>(item.reason));
      }
    }
    json.close('}');
  }
  json.close(']');
}

void add_imports(JsonLine& json, const std::vector<ImportedJob>& imports) {
  json.key("imports");
  json.open('[');
  for (const ImportedJob& job : imports) {
    json.open('{');
    json.number("id", job.id);
    json.number("row_bytes", job.row.size());
    json.close('}');
  }
  json.close(']');
}

void add_ids(JsonLine& json, const std::vector<JobId>& ids) {
  json.key("ids");
  json.open('[');
  for (const JobId id : ids) json.raw(std::to_string(id));
  json.close(']');
}

void add_delays(JsonLine& json, const std::vector<int64_t>& delays_ms) {
  json.key("delays_ms");
  json.open('[');
  for (const int64_t delay_ms : delays_ms) json.raw(std::to_string(delay_ms));
  json.close(']');
}

// Keys and values may be secrets: only their lengths.
void add_kv(JsonLine& json, const std::vector<KvChange>& changes) {
  json.key("kv");
  json.open('[');
  for (const KvChange& change : changes) {
    json.open('{');
    json.number("key_bytes", change.key.size());
    if (change.erase) json.flag("erase", true);
    if (!change.erase) json.number("value_bytes", change.value.size());
    if (change.expires_ms != 0) json.time("expires_ms", change.expires_ms);
    json.close('}');
  }
  json.close(']');
}

void add_cron(JsonLine& json, const CronChange& change) {
  if (change.slot_ms != 0) json.time("slot_ms", change.slot_ms);
  json.time("next_due_ms", change.state.next_due_ms);
  json.number("fired", change.state.fired);
  json.number("missed", change.state.missed);
  if (change.state.paused) json.flag("paused", true);
}

void add_command(JsonLine& json, const Command& command) {
  const uint32_t fields = command_fields(command.type);
  json.open('{');
  json.string("type", command_name(command.type));
  json.time("now_ms", command.now_ms);
  if (fields & field_unclean) json.flag("unclean", command.unclean);
  if (fields & field_queue) json.number("queue", command.queue);
  if (fields & field_name) json.string("name", command.name);
  if (fields & field_batch) json.number("batch", command.batch);
  if (fields & field_states) json.number("states", command.states);
  if (fields & field_deadline) json.time("deadline_ms", command.deadline_ms);
  if (fields & field_first_generation) json.number("first_generation", command.first_generation);
  if (fields & field_config) add_config(json, command.config);
  if (fields & field_groups) add_groups(json, command.groups);
  if (fields & field_ids) add_ids(json, command.ids);
  if (fields & field_jobs) add_jobs(json, command.jobs);
  if (fields & field_tokens) add_settles(json, command);
  if (fields & field_row) json.number("row_bytes", command.row.size());
  if (fields & field_imports) add_imports(json, command.imports);
  if (fields & field_kv) add_kv(json, command.kv);
  if (fields & field_parts) {
    json.key("parts");
    json.open('[');
    for (const Command& part : command.parts) add_command(json, part);
    json.close(']');
  }
  if (!command.delays_ms.empty()) add_delays(json, command.delays_ms);
  if (fields & field_priority) json.number("priority", command.priority);
  if (fields & field_note) json.number("note_bytes", command.note.size());
  if (fields & field_cron) add_cron(json, command.cron);
  json.close('}');
}

}  // namespace

std::string command_to_json(const Command& command) {
  JsonLine json;
  add_command(json, command);
  return json.take();
}

const char* command_type_name(CommandType type) {
  return command_name(type);
}

}  // namespace wq
