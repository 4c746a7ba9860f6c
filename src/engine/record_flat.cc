#include "engine/record_flat.h"

#include <algorithm>

#include "base/check.h"
#include "engine/schema/command_generated.h"
#include "engine/schema/envelope_generated.h"

namespace wq {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;
using ByteVector = Offset<Vector<uint8_t>>;

// Stands where a record has a vector of its own.
ByteVector no_bytes(FlatBufferBuilder& b) {
  return b.CreateVector(static_cast<const uint8_t*>(nullptr), 0);
}

FlatHead head_of(const FlatBufferBuilder& b) {
  return FlatHead({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()});
}

FlatHead make_head(CommandType type, uint32_t fields) {
  FlatBufferBuilder b;
  b.ForceDefaults(true);
  const ByteVector none = no_bytes(b);
  fb::CommandBuilder table(b);
  table.add_now_ms(0);
  if (fields & field_first_generation) table.add_first_generation(0);
  if (fields & field_deadline) table.add_deadline_ms(0);
  if (fields & field_jobs) table.add_jobs(Offset<Vector<const fb::NewJob*>>(none.o));
  if (fields & field_jobs) table.add_envelopes(none);
  if (fields & field_tokens) table.add_tokens(Offset<Vector<const fb::Token*>>(none.o));
  if (fields & field_ids) table.add_ids(Offset<Vector<uint64_t>>(none.o));
  if (fields & field_groups) table.add_groups(Offset<Vector<const fb::LeaseGroup*>>(none.o));
  if (fields & field_queue) table.add_queue(0);
  table.add_type(static_cast<uint16_t>(type));
  b.Finish(table.Finish(), command_identifier);
  return head_of(b);
}

// Of an envelope that has a payload and no more.
FlatHead make_envelope_head() {
  FlatBufferBuilder b;
  b.ForceDefaults(true);
  const ByteVector none = no_bytes(b);
  fb::EnvelopeBuilder table(b);
  table.add_enqueued_ms(0);
  table.add_payload(none);
  b.Finish(table.Finish());
  return head_of(b);
}

}  // namespace

bool all_acks(const std::vector<SettleItem>& settles) {
  for (const SettleItem& item : settles) {
    if (item.kind != SettleKind::ack || item.flags != 0 || !item.result.empty()) return false;
  }
  return true;
}

void fill(fb::Token* out, const std::vector<SettleItem>& settles) {
  for (const SettleItem& item : settles) *out++ = fb::Token(item.id, item.generation);
}

void fill(fb::LeaseGroup* out, const std::vector<LeaseGroup>& groups) {
  for (const LeaseGroup& group : groups) {
    *out++ = fb::LeaseGroup(group.deadline_ms, group.queue, group.count);
  }
}

void fill(fb::NewJob* out, const std::vector<NewJob>& jobs) {
  for (const NewJob& job : jobs) {
    const auto envelope_bytes = static_cast<uint32_t>(job.envelope.size());
    *out++ = fb::NewJob(job.id, job.due_ms, envelope_bytes, job.max_attempts, job.priority);
  }
}

size_t envelopes_size(const std::vector<NewJob>& jobs) {
  size_t total_bytes = 0;
  for (const NewJob& job : jobs) total_bytes += job.envelope.size();
  return total_bytes;
}

void fill_envelopes(uint8_t* out, const std::vector<NewJob>& jobs) {
  for (const NewJob& job : jobs) {
    std::memcpy(out, job.envelope.data(), job.envelope.size());
    out += job.envelope.size();
  }
}

FlatRecords::FlatRecords() : envelope_head_(make_envelope_head()) {}

bool FlatRecords::fits(const Command& command, uint32_t fields) {
  if (fields & fields_of_few) return false;
  if ((fields & field_jobs) && command.jobs.empty()) return false;
  return !(fields & field_settles) || all_acks(command.settles);
}

Bytes FlatRecords::command(const Command& command, uint32_t fields) {
  constexpr size_t vectors_max = 5;
  const bool has_jobs = (fields & field_jobs) != 0;
  const size_t envelope_bytes = has_jobs ? envelopes_size(command.jobs) : 0;
  const size_t bytes_max =
      command.jobs.size() * sizeof(fb::NewJob) + envelope_bytes +
      command.settles.size() * sizeof(fb::Token) + command.ids.size() * sizeof(JobId) +
      command.groups.size() * sizeof(fb::LeaseGroup) + vectors_max * 2 * sizeof(uint64_t);
  WQ_CHECK(bytes_max <= command_bytes_max);
  std::unique_ptr<FlatHead>& head = heads_[static_cast<size_t>(command.type)];
  if (!head) head = std::make_unique<FlatHead>(make_head(command.type, fields));
  writer_.start(*head, bytes_max);
  writer_.set(fb::Command::VT_NOW_MS, command.now_ms);
  if (fields & field_first_generation) {
    writer_.set(fb::Command::VT_FIRST_GENERATION, command.first_generation);
  }
  if (fields & field_deadline) writer_.set(fb::Command::VT_DEADLINE_MS, command.deadline_ms);
  if (fields & field_queue) writer_.set(fb::Command::VT_QUEUE, command.queue);
  if (fields & field_ids) {
    std::copy(command.ids.begin(), command.ids.end(),
              writer_.vector<JobId>(fb::Command::VT_IDS, command.ids.size()));
  }
  if (fields & field_groups) {
    fill(writer_.vector<fb::LeaseGroup>(fb::Command::VT_GROUPS, command.groups.size()),
         command.groups);
  }
  if (has_jobs) {
    fill(writer_.vector<fb::NewJob>(fb::Command::VT_JOBS, command.jobs.size()), command.jobs);
    fill_envelopes(writer_.vector<uint8_t>(fb::Command::VT_ENVELOPES, envelope_bytes),
                   command.jobs);
  }
  if (fields & field_tokens) {
    fill(writer_.vector<fb::Token>(fb::Command::VT_TOKENS, command.settles.size()),
         command.settles);
  }
  return writer_.bytes();
}

Bytes FlatRecords::envelope(Bytes payload, int64_t enqueued_ms) {
  envelope_writer_.start(envelope_head_, payload.size() + 2 * sizeof(uint64_t));
  envelope_writer_.set(fb::Envelope::VT_ENQUEUED_MS, enqueued_ms);
  auto* out = envelope_writer_.vector<std::byte>(fb::Envelope::VT_PAYLOAD, payload.size());
  std::copy(payload.begin(), payload.end(), out);
  return envelope_writer_.bytes();
}

}  // namespace wq
