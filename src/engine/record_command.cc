// Reading commands. The FlatBuffers verifier proves that every offset stays inside the buffer, the
// field table that a type carries its own fields and no other, check_command() that the values make
// sense. Structs and vectors of integers are read by copies: they may lie unaligned.
#include "base/planted.h"
#include "engine/batch.h"
#include "engine/record_internal.h"
#include "engine/schema/command_generated.h"

namespace wq {
namespace {

struct FieldSlot {
  uint32_t field;
  flatbuffers::voffset_t slot;
};

constexpr FieldSlot field_slots[] = {
    {field_queue, fb::Command::VT_QUEUE},
    {field_jobs, fb::Command::VT_JOBS},
    {field_jobs, fb::Command::VT_ENVELOPES},
    {field_tokens, fb::Command::VT_TOKENS},
    {field_ids, fb::Command::VT_IDS},
    {field_groups, fb::Command::VT_GROUPS},
    {field_first_generation, fb::Command::VT_FIRST_GENERATION},
    {field_settles, fb::Command::VT_SETTLES},
    {field_deadline, fb::Command::VT_DEADLINE_MS},
    {field_states, fb::Command::VT_STATES},
    {field_unclean, fb::Command::VT_UNCLEAN},
    {field_name, fb::Command::VT_NAME},
    {field_config, fb::Command::VT_CONFIG},
    {field_imports, fb::Command::VT_IMPORTS},
    {field_kv, fb::Command::VT_KV},
    {field_batch, fb::Command::VT_BATCH},
    {field_cron, fb::Command::VT_CRON},
    {field_row | field_imports, fb::Command::VT_ROWS},
    {field_parts, fb::Command::VT_PARTS},
    {field_delays, fb::Command::VT_DELAYS_MS},
    {field_priority, fb::Command::VT_PRIORITY},
    {field_note, fb::Command::VT_NOTE},
};

bool has_only(const uint8_t* data, uint32_t fields) {
  const auto* root = flatbuffers::GetRoot<flatbuffers::Table>(data);
  for (const FieldSlot& entry : field_slots) {
    if ((fields & entry.field) == 0 && root->CheckField(entry.slot)) return false;
  }
  return true;
}

const char* read_jobs(const AlignedImage& image, const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->jobs());
  const size_t count = bytes.size() / sizeof(fb::NewJob);
  if (count > command_items_max) return "too many jobs";
  Bytes envelopes = vector_bytes(table->envelopes());
  command.jobs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    fb::NewJob job;
    std::memcpy(&job, bytes.data() + i * sizeof job, sizeof job);
    if (job.envelope_bytes() > envelopes.size()) return "envelopes are cut short";
    const Bytes envelope = envelopes.first(job.envelope_bytes());
    envelopes = envelopes.subspan(envelope.size());
    if (const char* reason = check_envelope(envelope)) return reason;
    command.jobs.push_back({.id = job.id(),
                            .due_ms = job.due_ms(),
                            .max_attempts = job.max_attempts(),
                            .priority = job.priority(),
                            .envelope = image.in_input(envelope)});
  }
  return envelopes.empty() ? nullptr : "envelopes without a job";
}

const char* read_tokens(const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->tokens());
  const size_t count = bytes.size() / sizeof(fb::Token);
  if (count > command_items_max) return "too many tokens";
  command.settles.resize(count);
  for (size_t i = 0; i < count; ++i) {
    fb::Token token;
    std::memcpy(&token, bytes.data() + i * sizeof token, sizeof token);
    command.settles[i].id = token.id();
    command.settles[i].generation = token.generation();
  }
  return nullptr;
}

const char* read_settles(const AlignedImage& image, const fb::Command* table, Command& command) {
  const auto* settles = table->settles();
  if (settles->size() > command_items_max) return "too many settles";
  command.settles.reserve(settles->size());
  for (const fb::SettleItem* item : *settles) {
    command.settles.push_back({.id = item->id(),
                               .generation = item->generation(),
                               .kind = static_cast<SettleKind>(item->kind()),
                               .flags = item->flags(),
                               .priority = item->priority(),
                               .delay_ms = item->delay_ms(),
                               .error = as_text(image.in_input(vector_bytes(item->error()))),
                               .reason = static_cast<DeadReason>(item->reason()),
                               .result = as_text(image.in_input(vector_bytes(item->result())))});
  }
  return nullptr;
}

const char* read_ids(const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->ids());
  const size_t count = bytes.size() / sizeof(JobId);
  if (count > command_items_max) return "too many ids";
  command.ids.resize(count);
  if (count != 0) std::memcpy(command.ids.data(), bytes.data(), bytes.size());
  return nullptr;
}

const char* read_delays(const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->delays_ms());
  const size_t count = bytes.size() / sizeof(int64_t);
  if (count > command_items_max) return "too many delays";
  command.delays_ms.resize(count);
  if (count != 0) std::memcpy(command.delays_ms.data(), bytes.data(), bytes.size());
  return nullptr;
}

const char* read_groups(const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->groups());
  const size_t count = bytes.size() / sizeof(fb::LeaseGroup);
  if (count > command_items_max) return "too many lease groups";
  for (size_t i = 0; i < count; ++i) {
    fb::LeaseGroup group;
    std::memcpy(&group, bytes.data() + i * sizeof group, sizeof group);
    command.groups.push_back({group.queue(), group.count(), group.deadline_ms()});
  }
  return nullptr;
}

const char* read_imports(const AlignedImage& image, const fb::Command* table, Command& command) {
  const Bytes bytes = vector_bytes(table->imports());
  const size_t count = bytes.size() / sizeof(fb::ImportedJob);
  if (count > command_items_max) return "too many jobs";
  Bytes rows = vector_bytes(table->rows());
  command.imports.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    fb::ImportedJob job;
    std::memcpy(&job, bytes.data() + i * sizeof job, sizeof job);
    if (job.row_bytes() > rows.size()) return "rows are cut short";
    const Bytes row = rows.first(job.row_bytes());
    rows = rows.subspan(row.size());
    const Result<DecodedJobRow> decoded = decode_job_row(row);
    if (!decoded.ok()) return "row of a job";
    if (decoded.value().envelope.empty()) return "job has no envelope";
    if (const char* reason = check_imported_row(decoded.value().row, table->queue())) return reason;
    command.imports.push_back({job.id(), image.in_input(row)});
  }
  return rows.empty() ? nullptr : "rows without a job";
}

bool is_sound_row(CommandType type, Bytes row) {
  if (type == CommandType::import_begin) return decode_meta_row(row).ok();
  if (type == CommandType::import_queue) return decode_queue_row(row).ok();
  if (type == CommandType::cron_put) return decode_cron_row(row).ok();
  return decode_batch_row(as_text(row)).has_value();
}

// import_begin has the row of a store, import_queue that of a queue, cron_put that
// of a schedule, batch_create that of a batch.
const char* read_row(const AlignedImage& image, const fb::Command* table, Command& command) {
  const Bytes row = vector_bytes(table->rows());
  if (!is_sound_row(command.type, row)) return "row of an import, a schedule or a batch";
  command.row = image.in_input(row);
  return nullptr;
}

const char* read_cron(const fb::Command* table, Command& command) {
  if (table->cron() == nullptr) return "no state of the schedule";
  fb::CronChange change;
  std::memcpy(&change, static_cast<const void*>(table->cron()), sizeof change);
  command.cron.slot_ms = change.slot_ms();
  command.cron.state = {.paused = change.paused(),
                        .next_due_ms = change.next_due_ms(),
                        .last_slot_ms = change.last_slot_ms(),
                        .created_ms = change.created_ms(),
                        .fired = change.fired(),
                        .missed = change.missed()};
  return nullptr;
}

const char* read_kv(const AlignedImage& image, const fb::Command* table, Command& command) {
  const auto* changes = table->kv();
  if (changes == nullptr) return "no change";
  if (changes->size() > command_items_max) return "too many changes";
  command.kv.reserve(changes->size());
  for (const fb::KvChange* change : *changes) {
    command.kv.push_back({.key = as_text(image.in_input(vector_bytes(change->key()))),
                          .value = as_text(image.in_input(vector_bytes(change->value()))),
                          .expires_ms = change->expires_ms(),
                          .erase = change->erase()});
  }
  return nullptr;
}

const char* read_command(const AlignedImage& image, Command& command, bool is_part);

const char* read_parts(const AlignedImage& image, const fb::Command* table, Command& command) {
  const auto* parts = table->parts();
  if (parts == nullptr) return "no part";
  if (parts->size() > command_items_max) return "too many parts";
  command.parts.resize(parts->size());
  for (size_t i = 0; i < command.parts.size(); ++i) {
    const Bytes part = vector_bytes(parts->Get(static_cast<uint32_t>(i))->command());
    if (part.empty()) return "an empty part";
    // A part has none of its own, so this goes one step down and no further.
    const AlignedImage part_image(image.in_input(part));
    if (const char* reason = read_command(part_image, command.parts[i], true)) return reason;
  }
  return nullptr;
}

const char* read_fields(const AlignedImage& image, const fb::Command* table, uint32_t fields,
                        Command& command) {
  if ((fields & field_tokens) && table->tokens() && table->settles()) return "tokens and settles";
  const char* reason = nullptr;
  if (fields & field_jobs) reason = read_jobs(image, table, command);
  if (!reason && (fields & field_settles) && table->settles()) {
    reason = read_settles(image, table, command);
  } else if (!reason && (fields & field_tokens)) {
    reason = read_tokens(table, command);
  }
  if (!reason && (fields & field_ids)) reason = read_ids(table, command);
  if (!reason && (fields & field_groups)) reason = read_groups(table, command);
  if (!reason && (fields & field_config)) reason = read_config(table->config(), command.config);
  if (!reason && (fields & field_imports)) reason = read_imports(image, table, command);
  if (!reason && (fields & field_kv)) reason = read_kv(image, table, command);
  if (!reason && (fields & field_delays)) reason = read_delays(table, command);
  if (!reason && (fields & field_row)) reason = read_row(image, table, command);
  if (!reason && (fields & field_parts)) reason = read_parts(image, table, command);
  if (!reason && (fields & field_cron)) reason = read_cron(table, command);
  return reason;
}

const char* read_command(const AlignedImage& image, Command& command, bool is_part) {
  if (image.size() > command_bytes_max) return "longer than any record";
  // Every settle, change or part, the command itself, its config and backoff.
  constexpr flatbuffers::uoffset_t tables_max = command_items_max + 3;
  flatbuffers::Verifier verifier(image.data(), image.size(), record_depth_max, tables_max);
  const bool sound = verifier.VerifyBuffer<fb::Command>(command_identifier);
  if (!sound && !WQ_PLANTED(record_unverified)) return "not well formed";
  const auto* table = flatbuffers::GetRoot<fb::Command>(image.data());
  command.reset(static_cast<CommandType>(table->type()), table->now_ms());
  if (is_part && !may_be_part(command.type)) return "a part that can be none";
  const uint32_t fields = command_fields(command.type);
  if (!has_only(image.data(), fields)) return "a field that its type does not have";
  command.queue = table->queue();
  command.batch = table->batch();
  command.states = table->states();
  command.unclean = table->unclean();
  command.deadline_ms = table->deadline_ms();
  command.first_generation = table->first_generation();
  command.name = as_text(image.in_input(vector_bytes(table->name())));
  command.priority = table->priority();
  command.note = as_text(image.in_input(vector_bytes(table->note())));
  if (const char* reason = read_fields(image, table, fields, command)) return reason;
  return check_command(command);
}

}  // namespace

Status decode_command(Bytes bytes, Command& command) {
  const AlignedImage image(bytes);
  if (const char* reason = read_command(image, command, false))
    return corrupt_record("command", reason);
  return {};
}

}  // namespace wq
