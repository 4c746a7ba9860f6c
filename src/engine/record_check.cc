// The semantic rules of records: which values a well-formed record can hold. Checked when a record
// is made (by WQ_CHECK) and when it is read (CORRUPT). No knowledge of the encoding here.
#include <array>
#include <bitset>

#include "engine/cron_plan.h"
#include "engine/payload_seal.h"
#include "engine/record_internal.h"

namespace wq {
namespace {

constexpr uint32_t settle_flags_all = settle_front | settle_no_exception | settle_priority;

const char* check_jobs(const std::vector<NewJob>& jobs) {
  if (jobs.empty()) return "no job";
  if (jobs.size() > command_items_max) return "too many jobs";
  for (const NewJob& job : jobs) {
    if (job.id == 0) return "job id is 0";
    if (job.due_ms < 0) return "due time is negative";
    if (job.envelope.empty()) return "job has no envelope";
    if (job.envelope.size() % record_align_bytes != 0) return "length of an envelope";
  }
  return nullptr;
}

const char* check_ids(const std::vector<JobId>& ids) {
  if (ids.empty()) return "no id";
  if (ids.size() > command_items_max) return "too many ids";
  for (const JobId id : ids) {
    if (id == 0) return "id is 0";
  }
  return nullptr;
}

const char* check_groups(const Command& command) {
  uint64_t total = 0;
  if (command.groups.size() > command_items_max) return "too many lease groups";
  for (const LeaseGroup& group : command.groups) {
    if (group.queue == 0) return "lease group without a queue";
    if (group.count == 0) return "lease group is empty";
    if (group.deadline_ms < 0) return "lease deadline is negative";
    total += group.count;
  }
  if (total != command.ids.size()) return "lease groups do not add up to the ids";
  return nullptr;
}

const char* check_first_generation(const Command& command) {
  // Replays of earlier versions left a job the generation that it had.
  const bool replay = command.type == CommandType::dead_replay;
  if (command.first_generation == 0) return replay ? nullptr : "first generation is 0";
  const size_t count = replay ? command.settles.size() : command.ids.size();
  const uint64_t last = command.first_generation + (count - 1);
  if (last < command.first_generation) return "generations wrap around";
  return nullptr;
}

const char* check_settle_item(const SettleItem& item) {
  if (item.generation == 0) return "settle of generation 0";
  const bool ack = item.kind == SettleKind::ack;
  const bool sealed = ack && (item.flags & settle_sealed) != 0;
  if (!check_result(item.result, sealed) || (!ack && !item.result.empty())) {
    return "result of a settle";
  }
  switch (item.kind) {
    case SettleKind::ack:
      return (item.flags & ~(settle_chain | settle_sealed)) == 0 ? nullptr : "unknown settle flag";
    case SettleKind::nack:
    case SettleKind::fail:
    case SettleKind::release:
      break;
    default:
      return "unknown kind of settle";
  }
  const int64_t delay_ms_min = item.kind == SettleKind::nack ? -1 : 0;
  if ((item.flags & ~settle_flags_all) != 0) return "unknown settle flag";
  if (item.delay_ms < delay_ms_min || item.delay_ms > delay_ms_max) return "settle delay";
  if (item.error.size() > error_bytes_max) return "error text is too long";
  if (item.kind == SettleKind::release && !item.error.empty()) return "release with an error text";
  if (item.kind == SettleKind::release && item.reason != DeadReason::none) {
    return "release with a reason";
  }
  if (!is_workers_reason(item.reason) && item.reason != DeadReason::unreadable) {
    return "reason of a settle";
  }
  return nullptr;
}

const char* check_settles(const Command& command) {
  const bool one = command.type == CommandType::confirm || command.type == CommandType::progress;
  const bool full = command.type == CommandType::settle;
  if (command.settles.empty()) return "no token";
  if (command.settles.size() > (one ? 1 : command_items_max)) return "too many tokens";
  for (const SettleItem& item : command.settles) {
    if (item.id == 0) return "token with id 0";
    if (!full) continue;
    if (const char* reason = check_settle_item(item)) return reason;
  }
  return nullptr;
}

const char* check_delays(const Command& command) {
  if (command.delays_ms.empty()) return nullptr;
  if (command.delays_ms.size() != command.ids.size()) return "number of delays";
  for (const int64_t delay_ms : command.delays_ms) {
    if (delay_ms < -1 || delay_ms > delay_ms_max) return "delay of a retry";
  }
  return nullptr;
}

const char* check_row_bytes(Bytes row) {
  if (row.empty()) return "no row";
  return row.size() % record_align_bytes == 0 ? nullptr : "length of a row";
}

const char* check_imports(const std::vector<ImportedJob>& imports) {
  if (imports.empty()) return "no job";
  if (imports.size() > command_items_max) return "too many jobs";
  for (const ImportedJob& job : imports) {
    if (job.id == 0) return "job id is 0";
    if (const char* reason = check_row_bytes(job.row)) return reason;
  }
  return nullptr;
}

const char* check_kv(CommandType type, const std::vector<KvChange>& changes) {
  const bool forget = type == CommandType::key_forget;
  const bool imports = type == CommandType::import_rows;
  size_t key_max = key_bytes_max;
  if (forget) key_max = unique_row_key_bytes_max;
  if (imports) key_max = 1 + unique_row_key_bytes_max;  // those of rate keys are no longer
  const size_t value_max = imports ? imported_row_bytes_max : kv_value_bytes_max;
  if (changes.empty()) return "no change";
  if (changes.size() > command_items_max) return "too many changes";
  for (const KvChange& change : changes) {
    if (change.key.empty() || change.key.size() > key_max) return "length of a key";
    if (forget && !change.erase) return "a row of a key that is not to go";
    if (imports && (change.erase || change.expires_ms != 0)) return "row of an import";
    if (change.value.size() > value_max) return "value is too long";
    if (change.expires_ms < 0) return "expiry is negative";
    if (change.erase && (!change.value.empty() || change.expires_ms != 0)) {
      return "a row that ends has a value";
    }
  }
  return nullptr;
}

const char* check_parts(const Command& command) {
  if (command.parts.empty()) return "no part";
  if (command.parts.size() > command_items_max) return "too many parts";
  for (const Command& part : command.parts) {
    if (!may_be_part(part.type)) return "a part that can be none";
    if (part.now_ms != command.now_ms) return "a part of another time";
    if (const char* reason = check_command(part)) return reason;
  }
  return nullptr;
}

const char* check_keys(const JobTraits& traits) {
  if (traits.key_rule > KeyRule::debounce) return "unknown rule of a key";
  if ((traits.key_rule == KeyRule::none) != traits.key.empty()) return "key and rule of a job";
  if (traits.key.size() > key_bytes_max) return "length of a key";
  if (traits.key_ms < 0 || traits.key_ms > delay_ms_max) return "time that a key is held";
  if (traits.key.empty() && traits.key_ms != 0) return "time of no key";
  if (traits.idempotency_key.size() > key_bytes_max) return "length of an idempotency key";
  if (traits.idempotency_ms < 0 || traits.idempotency_ms > delay_ms_max) {
    return "window of an idempotency key";
  }
  if (traits.idempotency_key.empty() != (traits.idempotency_ms == 0)) {
    return "idempotency key and window";
  }
  return nullptr;
}

const char* check_cron(const Command& command) {
  const CronState& state = command.cron.state;
  const bool fires = command.type == CommandType::cron_fire;
  if (state.next_due_ms < 0 || state.last_slot_ms < 0 || state.created_ms < 0) {
    return "time of a schedule is negative";
  }
  if (!fires) return command.cron.slot_ms == 0 ? nullptr : "slot without a run";
  if (command.cron.slot_ms <= 0 || state.last_slot_ms < command.cron.slot_ms) return "slot";
  if (state.paused) return "a paused schedule runs";
  // What makes a slot run once.
  if (state.next_due_ms != 0 && state.next_due_ms <= state.last_slot_ms) {
    return "the next slot is not behind the last one";
  }
  return nullptr;
}

bool queue_status_known(QueueStatus status) {
  return status == QueueStatus::active || status == QueueStatus::paused ||
         status == QueueStatus::disabled;
}

bool durability_known(Durability durability) {
  return durability == Durability::memory || durability == Durability::process ||
         durability == Durability::power;
}

bool stored_state(JobState state) {
  const auto number = static_cast<uint32_t>(state);
  return number != 0 && number < job_state_count;
}

}  // namespace

namespace {

// Of the commands about rows beside the jobs: kv, batches, schedules.
constexpr uint32_t row_command_fields(CommandType type) {
  switch (type) {
    case CommandType::kv_write:
    case CommandType::key_forget:
    case CommandType::import_rows:
      return field_kv;
    case CommandType::transact:
      return field_parts;
    case CommandType::batch_create:
      return field_batch | field_row;
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_forget:
      return field_batch;
    case CommandType::batch_lost:
      return field_batch | field_ids;
    case CommandType::cron_put:
      return field_queue | field_name | field_row | field_cron;
    case CommandType::cron_remove:
      return field_name;
    case CommandType::cron_fire:
      return field_queue | field_name | field_cron | field_jobs | field_ids;
    default:
      return field_of_no_command;
  }
}

constexpr uint32_t fields_of(CommandType type) {
  switch (type) {
    case CommandType::open:
      return field_unclean;
    case CommandType::close:
    case CommandType::import_end:
      return 0;
    case CommandType::queue_declare:
      return field_queue | field_name | field_config;
    case CommandType::queue_configure:
      return field_queue | field_config;
    case CommandType::queue_clear:
      return field_queue | field_states;
    case CommandType::queue_delete:
    case CommandType::rate_rebase:
      return field_queue;
    case CommandType::enqueue:
      return field_queue | field_jobs;
    case CommandType::lease:
      return field_first_generation | field_groups | field_ids;
    case CommandType::confirm:
    case CommandType::extend:
      return field_queue | field_deadline | field_tokens;
    case CommandType::settle:
      return field_queue | field_tokens | field_settles;
    case CommandType::expire:
      return field_ids | field_delays;
    case CommandType::promote:
    case CommandType::expire_jobs:
    case CommandType::overlap:
      return field_ids;
    case CommandType::cancel:
      return field_queue | field_ids;
    case CommandType::reprioritise:
      return field_queue | field_ids | field_priority;
    case CommandType::progress:
      return field_queue | field_tokens | field_note;
    case CommandType::dead_replay:
      return field_queue | field_tokens | field_first_generation;
    case CommandType::dead_remove:
    case CommandType::dead_drop:
    case CommandType::key_release:
      return field_queue | field_tokens;
    case CommandType::drop_oldest:
      return field_queue | field_ids | field_jobs;
    case CommandType::import_begin:
      return field_row;
    case CommandType::import_queue:
      return field_queue | field_row;
    case CommandType::import_jobs:
      return field_queue | field_imports;
    default:
      return row_command_fields(type);
  }
}

// One look instead of two switches: each record asks several times.
constexpr auto fields_by_type = [] {
  std::array<uint32_t, 64> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = fields_of(static_cast<CommandType>(i));
  return table;
}();

}  // namespace

uint32_t command_fields(CommandType type) {
  const auto i = static_cast<size_t>(type);
  return i < fields_by_type.size() ? fields_by_type[i] : fields_of(type);
}

bool may_be_part(CommandType type) {
  return type == CommandType::enqueue || type == CommandType::settle ||
         type == CommandType::kv_write;
}

const char* check_command(const Command& command) {
  const uint32_t fields = command_fields(command.type);
  if (fields & field_of_no_command) return "unknown type of command";
  if (command.now_ms < 0) return "time is negative";
  if ((fields & field_queue) && command.queue == 0) return "queue is 0";
  if ((fields & field_batch) && command.batch == 0) return "batch is 0";
  if ((fields & field_deadline) && command.deadline_ms < 0) return "deadline is negative";
  if (fields & field_states) {
    if (command.states == 0) return "no state to clear";
    if ((command.states & ~clearable_states) != 0) return "unknown state to clear";
  }
  if ((fields & field_name) && !queue_name_valid(command.name)) return "queue name";
  const char* reason = nullptr;
  if (fields & field_config) reason = check_config(command.config);
  const bool jobs_optional =
      (command.type == CommandType::drop_oldest || command.type == CommandType::cron_fire) &&
      command.jobs.empty();
  if (!reason && (fields & field_jobs) && !jobs_optional) reason = check_jobs(command.jobs);
  const bool ids_optional = command.type == CommandType::cron_fire && command.ids.empty();
  if (!reason && (fields & field_ids) && !ids_optional) reason = check_ids(command.ids);
  if (!reason && (fields & field_groups)) reason = check_groups(command);
  if (!reason && (fields & field_first_generation)) reason = check_first_generation(command);
  if (!reason && (fields & field_tokens)) reason = check_settles(command);
  if (!reason && (fields & field_row)) reason = check_row_bytes(command.row);
  if (!reason && (fields & field_imports)) reason = check_imports(command.imports);
  if (!reason && (fields & field_kv)) reason = check_kv(command.type, command.kv);
  if (!reason && (fields & field_parts)) reason = check_parts(command);
  if (!reason && (fields & field_delays)) reason = check_delays(command);
  if (!reason && (fields & field_priority) && command.ids.size() != 1) reason = "more than one id";
  if (!reason && command.note.size() > progress_bytes_max) reason = "note is too long";
  if (!reason && (fields & field_cron)) reason = check_cron(command);
  return reason;
}

const char* check_traits(const JobTraits& traits) {
  if (traits.expires_ms < 0) return "time of expiry is negative";
  if (traits.retry_until_ms < 0) return "end of the retries is negative";
  if (traits.chain.empty() != (traits.chain_jobs == 0)) return "length of a chain";
  if (traits.chain_jobs > chain_jobs_max) return "chain is too long";
  if (traits.timeout_ms < 0 || traits.timeout_ms > delay_ms_max) return "timeout";
  if (traits.group.size() > key_bytes_max) return "length of a group key";
  if (traits.group_limit > group_limit_max) return "limit of a group";
  if (traits.group.empty() && traits.group_limit != 0) return "limit without a group";
  if (traits.tenant.size() > key_bytes_max) return "length of a tenant key";
  if (traits.overlap > overlap_rule_last) return "what to do if a group is full";
  if (traits.group.empty() && traits.overlap != OverlapRule::park) return "overlap without a group";
  const bool releases = traits.overlap == OverlapRule::release;
  if (traits.overlap_ms < 0 || traits.overlap_ms > delay_ms_max ||
      releases != (traits.overlap_ms != 0)) {
    return "delay of an overlap";
  }
  if (traits.rate_key.size() > key_bytes_max) return "length of a rate key";
  if (traits.rate_cost == 0 || traits.rate_cost > rate_count_max) return "cost of a job";
  if (traits.rate_key.empty() && traits.rate_cost != 1) return "cost without a rate key";
  if (!traits.rate_key.empty() && !traits.group.empty()) return "rate key beside a group";
  return check_keys(traits);
}

const char* check_backoff(BackoffKind kind, int64_t base_ms, int64_t max_ms,
                          std::span<const int64_t> list_ms) {
  switch (kind) {
    case BackoffKind::none:
      return nullptr;
    case BackoffKind::fixed:
      if (base_ms < 0 || base_ms > delay_ms_max) return "backoff base";
      return nullptr;
    case BackoffKind::exponential:
      if (base_ms < 0 || base_ms > max_ms) return "backoff base";
      if (max_ms > delay_ms_max) return "backoff cap";
      return nullptr;
    case BackoffKind::list:
      if (list_ms.empty() || list_ms.size() > backoff_list_max) return "length of the backoff list";
      for (const int64_t delay_ms : list_ms) {
        if (delay_ms < 0 || delay_ms > delay_ms_max) return "delay in the backoff list";
      }
      return nullptr;
  }
  return "unknown kind of backoff";
}

const char* check_packing(Bytes payload, const Packing& packing) {
  if (!packing.is_packed()) {
    if (packing.plain_bytes != 0) return "plain size of a payload that is not packed";
    return payload.size() > payload_bytes_absolute_max ? "payload size" : nullptr;
  }
  if ((packing.flags & ~(packing_compressed | packing_sealed)) != 0) return "unknown packing";
  if (packing.plain_bytes > payload_bytes_absolute_max) return "plain size of a payload";
  size_t bytes = payload.size();
  if (packing.is_sealed()) {
    if (bytes < seal_extra_bytes) return "sealed payload is too short";
    bytes -= seal_extra_bytes;
  }
  const bool compressed = (packing.flags & packing_compressed) != 0;
  const bool fits = compressed ? bytes < packing.plain_bytes : bytes == packing.plain_bytes;
  return fits ? nullptr : "size of a packed payload";
}

bool check_result(std::string_view result, bool sealed) {
  if (!sealed) return result.size() <= result_bytes_max;
  const bool long_enough = result.size() >= seal_extra_bytes;
  return long_enough && result.size() - seal_extra_bytes <= result_bytes_max &&
         seal_key_id(as_bytes(result)) != 0;
}

namespace {

const char* check_rate(const RateLimit& rate) {
  if (rate.count == 0) return rate == RateLimit() ? nullptr : "rate without a count";
  if (rate.count > rate_count_max) return "count of the rate";
  if (rate.burst == 0 || rate.burst > rate.count) return "burst of the rate";
  if (rate.window_ms < 1 || rate.window_ms > rate_window_ms_max) return "window of the rate";
  return nullptr;
}

const char* check_throttle(const Throttle& throttle) {
  if (throttle.count == 0) return throttle == Throttle() ? nullptr : "throttle without a count";
  if (throttle.count > throttle_count_max) return "count of the throttle";
  for (const int64_t span_ms : {throttle.window_ms, throttle.cool_ms}) {
    if (span_ms < 1 || span_ms > rate_window_ms_max) return "time of the throttle";
  }
  return nullptr;
}

}  // namespace

const char* check_config(const QueueConfig& config) {
  if (config.max_retries > max_retries_max) return "max retries";
  if (config.lease_ms < 1 || config.lease_ms > delay_ms_max) return "lease time";
  if (!durability_known(config.durability)) return "unknown durability";
  if (!queue_status_known(config.status)) return "unknown queue status";
  if (config.version == 0) return "version of the configuration is 0";
  if (config.job_ttl_ms < 0 || config.job_ttl_ms > delay_ms_max) return "time to live of jobs";
  if (config.backoff.jitter_permille > jitter_permille_max) return "jitter of the backoff";
  if (config.full_policy > FullPolicy::drop_oldest) return "unknown policy of a full queue";
  if (config.dead_max_age_ms < 0 || config.dead_max_age_ms > delay_ms_max) return "age of the dead";
  if (config.pause_kept && config.status != QueueStatus::disabled) return "pause that is kept";
  if (config.compress_min_bytes > payload_bytes_absolute_max) return "least size to compress";
  if (config.keep_done_age_ms < 0 || config.keep_done_age_ms > delay_ms_max) {
    return "age of the history";
  }
  if (config.group_limit == 0 || config.group_limit > group_limit_max) return "limit of the groups";
  if (const char* reason = check_rate(config.rate)) return reason;
  if (const char* reason = check_rate(config.key_rate)) return reason;
  if (const char* reason = check_throttle(config.throttle)) return reason;
  return check_backoff(config.backoff.kind, config.backoff.base_ms, config.backoff.max_ms,
                       config.backoff.list_ms);
}

const char* check_job_row(const JobRow& row) {
  if (row.queue == 0) return "queue is 0";
  if (!stored_state(row.state)) return "unknown job state";
  if (row.reason > dead_reason_last) return "unknown dead reason";
  for (const int64_t time_ms :
       {row.since_ms, row.leased_ms, row.deadline_ms, row.first_dead_ms, row.deadline_set_ms}) {
    if (time_ms < 0) return "time is negative";
  }
  if (row.state == JobState::delayed && row.position > static_cast<uint64_t>(INT64_MAX)) {
    return "due time is negative";
  }
  const bool held = row.state == JobState::leased || row.state == JobState::running;
  if (held && row.generation == 0) return "lease of generation 0";
  if (row.last_error.size() > error_bytes_max) return "error text is too long";
  if (row.progress.size() > progress_bytes_max) return "progress note is too long";
  if (row.key_until_ms < 0) return "time that a key is held";
  return nullptr;
}

const char* check_imported_row(const JobRow& row, QueueId queue) {
  if (row.queue != queue) return "job of another queue";
  if (row.state == JobState::leased || row.state == JobState::running) return "job with a lease";
  if ((row.state == JobState::dead) != (row.reason != DeadReason::none)) return "dead reason";
  return nullptr;
}

const char* check_queue_row(const QueueRow& row) {
  if (row.id == 0) return "queue is 0";
  if (!queue_name_valid(row.name)) return "queue name";
  if (row.created_ms < 0 || row.rate_tat_ns < 0) return "time is negative";
  if (row.lanes.size() > lanes_max) return "too many lanes";
  if (row.history_first == 0 || row.history_first > row.history_next) return "range of the history";
  if (row.turns.size() > lanes_max) return "too many turns";
  std::bitset<lanes_max> seen;
  for (const LaneRow& lane : row.lanes) {
    if (seen.test(lane.priority)) return "two lanes of one priority";
    seen.set(lane.priority);
  }
  return check_config(row.config);
}

const char* check_meta_row(const MetaRow& row) {
  if (row.next_job_id == 0) return "next job id is 0";
  if (row.next_generation == 0) return "next generation is 0";
  if (row.next_queue_id == 0) return "next queue id is 0";
  for (const TrashRow& trash : row.trash) {
    if (trash.queue == 0) return "trash without a queue";
    const bool ranged = trash.state == JobState::ready || trash.state == JobState::dead;
    if (!ranged && trash.state != JobState::delayed) return "state of trash";
    if (trash.lines && trash.state != JobState::ready) return "state of trash";
    if (ranged && trash.seq_low > trash.seq_high) return "range of trash";
  }
  return nullptr;
}

const char* check_cron_row(const CronRow& row) {
  if (row.expression.empty() || row.expression.size() > cron_expression_bytes_max) {
    return "length of an expression";
  }
  if (row.zone.size() > zone_name_bytes_max) return "length of a zone's name";
  if (row.catch_up > cron_catch_up_max) return "catch-up of a schedule";
  if (row.max_attempts > max_retries_max + 1) return "max attempts";
  if (row.envelope.empty()) return "schedule has no envelope";
  return row.envelope.size() % record_align_bytes == 0 ? nullptr : "length of an envelope";
}

}  // namespace wq
