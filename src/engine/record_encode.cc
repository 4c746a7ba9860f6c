// The encoding half of record.h. Builders are kept and reused, so the hot calls (one envelope, one
// enqueue, one lease, one settle) do not allocate; memory that a huge record needed is given back
// at the next call. Tables add their fields from the widest type to the narrowest, which saves
// padding.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/payload_seal.h"
#include "engine/record_flat.h"
#include "engine/record_internal.h"
#include "engine/schema/command_generated.h"
#include "engine/schema/envelope_generated.h"
#include "engine/schema/rows_generated.h"

namespace wq {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;
using ByteVector = Offset<Vector<uint8_t>>;

// A builder that held more than this is emptied to the ground instead of being kept.
constexpr uint32_t builder_keep_bytes = 1u << 20;
// Room for what stands around the variable parts of one item: table, vtable, lengths, padding.
constexpr uint64_t item_overhead_bytes = 128;

class ReusedBuilder {
 public:
  FlatBufferBuilder& start() {
    // A buffer that could not grow believes that it did: nothing of it can be used again.
    if (building_ || builder_.GetSize() > builder_keep_bytes) {
      builder_.Reset();
    } else {
      builder_.Clear();
    }
    building_ = true;
    return builder_;
  }
  Bytes bytes() {
    building_ = false;
    return {reinterpret_cast<const std::byte*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  FlatBufferBuilder builder_;
  bool building_ = false;  // start() was called and bytes() was not: an exception came between
};

// Null (and so no byte in the record) for an empty input.
ByteVector put_bytes(FlatBufferBuilder& b, Bytes bytes) {
  if (bytes.empty()) return {};
  return b.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// Only what the kind uses is stored.
Offset<fb::Backoff> put_backoff(FlatBufferBuilder& b, const Backoff& backoff) {
  if (backoff.kind == BackoffKind::none) return {};
  Offset<Vector<int64_t>> list;
  if (backoff.kind == BackoffKind::list) list = b.CreateVector(backoff.list_ms);
  fb::BackoffBuilder table(b);
  if (backoff.kind == BackoffKind::exponential) table.add_max_ms(backoff.max_ms);
  if (backoff.kind != BackoffKind::list) table.add_base_ms(backoff.base_ms);
  table.add_list_ms(list);
  table.add_jitter_permille(static_cast<uint16_t>(backoff.jitter_permille));
  table.add_kind(static_cast<uint8_t>(backoff.kind));
  return table.Finish();
}

Offset<fb::QueueConfig> put_config(FlatBufferBuilder& b, const QueueConfig& config) {
  const auto backoff = put_backoff(b, config.backoff);
  fb::QueueConfigBuilder table(b);
  table.add_version(config.version);
  table.add_keep_done_age_ms(config.keep_done_age_ms);
  table.add_lease_ms(config.lease_ms);
  table.add_job_ttl_ms(config.job_ttl_ms);
  table.add_max_depth(config.max_depth);
  table.add_max_bytes(config.max_bytes);
  table.add_dead_max_count(config.dead_max_count);
  table.add_dead_max_age_ms(config.dead_max_age_ms);
  table.add_backoff(backoff);
  table.add_max_retries(config.max_retries);
  table.add_max_running(config.max_running);
  table.add_compress_min_bytes(config.compress_min_bytes);
  table.add_keep_done_count(config.keep_done_count);
  table.add_status(static_cast<uint8_t>(config.status));
  table.add_durability(static_cast<uint8_t>(config.durability));
  table.add_full_policy(static_cast<uint8_t>(config.full_policy));
  table.add_pause_kept(config.pause_kept);
  table.add_encrypt(config.encrypt);
  table.add_rate_window_ms(config.rate.window_ms);
  table.add_rate_count(config.rate.count);
  table.add_rate_burst(config.rate.burst);
  table.add_group_limit(config.group_limit);
  table.add_key_rate_window_ms(config.key_rate.window_ms);
  table.add_key_rate_count(config.key_rate.count);
  table.add_key_rate_burst(config.key_rate.burst);
  table.add_throttle_window_ms(config.throttle.window_ms);
  table.add_throttle_cool_ms(config.throttle.cool_ms);
  table.add_throttle_count(config.throttle.count);
  return table.Finish();
}

template <typename Element, typename From>
Offset<Vector<const Element*>> put_structs(FlatBufferBuilder& b, const std::vector<From>& from) {
  Element* out = nullptr;
  const auto offset = b.CreateUninitializedVectorOfStructs<Element>(from.size(), &out);
  fill(out, from);
  return Offset<Vector<const Element*>>(offset);
}

ByteVector put_envelopes(FlatBufferBuilder& b, const std::vector<NewJob>& jobs) {
  uint8_t* out = nullptr;
  const ByteVector offset(b.CreateUninitializedVector<uint8_t>(envelopes_size(jobs), &out));
  fill_envelopes(out, jobs);
  return offset;
}

Offset<Vector<const fb::ImportedJob*>> put_imports(FlatBufferBuilder& b,
                                                   const std::vector<ImportedJob>& imports) {
  fb::ImportedJob* out = nullptr;
  const auto offset = b.CreateUninitializedVectorOfStructs<fb::ImportedJob>(imports.size(), &out);
  for (size_t i = 0; i < imports.size(); ++i) {
    out[i] = fb::ImportedJob(imports[i].id, static_cast<uint32_t>(imports[i].row.size()));
  }
  return Offset<Vector<const fb::ImportedJob*>>(offset);
}

ByteVector put_import_rows(FlatBufferBuilder& b, const std::vector<ImportedJob>& imports) {
  size_t total_bytes = 0;
  for (const ImportedJob& job : imports) total_bytes += job.row.size();
  uint8_t* out = nullptr;
  const ByteVector offset(b.CreateUninitializedVector<uint8_t>(total_bytes, &out));
  for (const ImportedJob& job : imports) {
    std::memcpy(out, job.row.data(), job.row.size());
    out += job.row.size();
  }
  return offset;
}

Offset<fb::SettleItem> put_settle(FlatBufferBuilder& b, const SettleItem& item) {
  const bool ack = item.kind == SettleKind::ack;
  const auto error = ack ? ByteVector() : put_bytes(b, as_bytes(item.error));
  const auto result = put_bytes(b, as_bytes(item.result));
  fb::SettleItemBuilder table(b);
  table.add_id(item.id);
  table.add_generation(item.generation);
  if (!ack) table.add_delay_ms(item.delay_ms);
  table.add_error(error);
  table.add_result(result);
  table.add_kind(static_cast<uint8_t>(item.kind));
  table.add_flags(item.flags);
  if (!ack) table.add_priority(item.priority);
  if (!ack) table.add_reason(static_cast<uint8_t>(item.reason));
  return table.Finish();
}

Offset<fb::KvChange> put_kv_change(FlatBufferBuilder& b, const KvChange& change) {
  const auto key = put_bytes(b, as_bytes(change.key));
  const auto value = put_bytes(b, as_bytes(change.value));
  fb::KvChangeBuilder table(b);
  table.add_expires_ms(change.expires_ms);
  table.add_key(key);
  table.add_value(value);
  table.add_erase(change.erase);
  return table.Finish();
}

Offset<Vector<Offset<fb::KvChange>>> put_kv(FlatBufferBuilder& b,
                                            const std::vector<KvChange>& changes) {
  std::vector<Offset<fb::KvChange>> offsets;
  offsets.reserve(changes.size());
  for (const KvChange& change : changes) offsets.push_back(put_kv_change(b, change));
  return b.CreateVector(offsets);
}

Offset<fb::Traits> put_traits(FlatBufferBuilder& b, const JobTraits& traits) {
  const auto key = put_bytes(b, as_bytes(traits.key));
  const auto idempotency_key = put_bytes(b, as_bytes(traits.idempotency_key));
  const auto chain = put_bytes(b, as_bytes(traits.chain));
  const auto group = put_bytes(b, as_bytes(traits.group));
  const auto tenant = put_bytes(b, as_bytes(traits.tenant));
  const auto rate_key = put_bytes(b, as_bytes(traits.rate_key));
  fb::TraitsBuilder table(b);
  table.add_expires_ms(traits.expires_ms);
  table.add_retry_until_ms(traits.retry_until_ms);
  table.add_timeout_ms(traits.timeout_ms);
  table.add_max_exceptions(traits.max_exceptions);
  table.add_fail_on_timeout(traits.fail_on_timeout);
  table.add_key_ms(traits.key_ms);
  table.add_idempotency_ms(traits.idempotency_ms);
  table.add_key(key);
  table.add_idempotency_key(idempotency_key);
  table.add_key_rule(static_cast<uint8_t>(traits.key_rule));
  table.add_batch(traits.batch);
  table.add_chain(chain);
  table.add_chain_jobs(traits.chain_jobs);
  table.add_group(group);
  table.add_group_limit(traits.group_limit);
  table.add_tenant(tenant);
  table.add_overlap_ms(traits.overlap_ms);
  table.add_overlap(static_cast<uint8_t>(traits.overlap));
  table.add_rate_key(rate_key);
  table.add_rate_cost(traits.rate_cost);
  return table.Finish();
}

uint64_t envelope_bytes_bound(std::span<const Header> headers, Bytes payload) {
  uint64_t header_bytes = 0;
  for (const Header& header : headers) {
    WQ_CHECK(!header.name.empty());
    WQ_CHECK(header.name.size() <= header_name_bytes_max);
    header_bytes += header.name.size() + header.value.size();
  }
  WQ_CHECK(headers.size() <= headers_count_max);
  WQ_CHECK(header_bytes <= headers_bytes_max);
  return payload.size();
}

}  // namespace

uint64_t command_bytes_bound(const Command& command) {
  uint64_t items = 1 + command.jobs.size() + command.settles.size() + command.groups.size();
  uint64_t bytes = (command.ids.size() + command.delays_ms.size()) * sizeof(JobId);
  bytes += command.row.size() + command.note.size();
  for (const NewJob& job : command.jobs) bytes += job.envelope.size();
  for (const SettleItem& item : command.settles) bytes += item.error.size() + item.result.size();
  items += command.imports.size() + command.kv.size();
  for (const ImportedJob& job : command.imports) bytes += job.row.size();
  for (const KvChange& change : command.kv) bytes += change.key.size() + change.value.size();
  for (const Command& part : command.parts) bytes += command_bytes_bound(part);
  return bytes + items * item_overhead_bytes + queue_name_bytes_max +
         backoff_list_max * sizeof(int64_t);
}

struct Encoder::Impl {
  ReusedBuilder whole;  // a command
  ReusedBuilder part;   // of the command under construction
  ReusedBuilder envelope;
  ReusedBuilder row;
  FlatRecords flat;
  std::vector<Offset<fb::SettleItem>> settle_offsets;
  std::vector<Offset<fb::Header>> headers;

  struct FewParts;
  Bytes encode(const Command& command, ReusedBuilder& builder);
  FewParts put_few(FlatBufferBuilder& b, const Command& command, uint32_t fields);
  Offset<Vector<Offset<fb::Part>>> put_parts(FlatBufferBuilder& b, const Command& command);
  Offset<Vector<Offset<fb::SettleItem>>> put_settles(FlatBufferBuilder& b,
                                                     const std::vector<SettleItem>& settles);
};

Encoder::Encoder() : impl_(std::make_unique<Impl>()) {}
Encoder::~Encoder() = default;

Bytes Encoder::command(const Command& command) {
  const char* reason = check_command(command);
  if (reason) check_failed(reason, __FILE__, __LINE__);
  return impl_->encode(command, impl_->whole);
}

// Each part is a record of its own within the record. Parts have none themselves.
Offset<Vector<Offset<fb::Part>>> Encoder::Impl::put_parts(FlatBufferBuilder& b,
                                                          const Command& command) {
  std::vector<Offset<fb::Part>> offsets;
  offsets.reserve(command.parts.size());
  for (const Command& one : command.parts) {
    offsets.push_back(fb::CreatePart(b, put_bytes(b, encode(one, part))));
  }
  return b.CreateVector(offsets);
}

Offset<Vector<Offset<fb::SettleItem>>> Encoder::Impl::put_settles(
    FlatBufferBuilder& b, const std::vector<SettleItem>& settles) {
  settle_offsets.clear();
  for (const SettleItem& item : settles) settle_offsets.push_back(put_settle(b, item));
  return b.CreateVector(settle_offsets);
}

// What of them is put before the table of the command is begun.
struct Encoder::Impl::FewParts {
  Offset<Vector<Offset<fb::Part>>> parts;
  Offset<Vector<int64_t>> delays;
  ByteVector note;
  Offset<Vector<Offset<fb::KvChange>>> kv;
  Offset<Vector<const fb::ImportedJob*>> imports;
  ByteVector rows;
  Offset<fb::QueueConfig> config;
  ByteVector name;

  void add_to(fb::CommandBuilder& table) const {
    table.add_name(name);
    table.add_config(config);
    table.add_imports(imports);
    table.add_kv(kv);
    table.add_parts(parts);
    table.add_rows(rows);
    table.add_delays_ms(delays);
    table.add_note(note);
  }
};

Encoder::Impl::FewParts Encoder::Impl::put_few(FlatBufferBuilder& b, const Command& command,
                                               uint32_t fields) {
  FewParts out;
  if (fields & field_parts) out.parts = put_parts(b, command);
  const bool delayed = (fields & field_delays) && !command.delays_ms.empty();
  if (delayed) out.delays = b.CreateVector(command.delays_ms);
  if (fields & field_note) out.note = put_bytes(b, as_bytes(command.note));
  if (fields & field_kv) out.kv = put_kv(b, command.kv);
  if (fields & field_imports) {
    out.rows = put_import_rows(b, command.imports);
    out.imports = put_imports(b, command.imports);
  }
  if (fields & field_row) out.rows = put_bytes(b, command.row);
  if (fields & field_config) out.config = put_config(b, command.config);
  if (fields & field_name) out.name = put_bytes(b, as_bytes(command.name));
  return out;
}

// Small values of the commands that few use.
void add_few_values(fb::CommandBuilder& table, const Command& command, uint32_t fields) {
  if (fields & field_batch) table.add_batch(command.batch);
  if (fields & field_states) table.add_states(command.states);
  if (fields & field_unclean) table.add_unclean(command.unclean);
  if (fields & field_priority) table.add_priority(command.priority);
  if ((fields & field_cron) == 0) return;
  const CronState& after = command.cron.state;
  const fb::CronChange cron(command.cron.slot_ms, after.next_due_ms, after.last_slot_ms,
                            after.created_ms, after.fired, after.missed, after.paused);
  table.add_cron(&cron);
}

Bytes Encoder::Impl::encode(const Command& command, ReusedBuilder& builder) {
  const uint32_t fields = command_fields(command.type);
  if (FlatRecords::fits(command, fields)) return flat.command(command, fields);
  WQ_CHECK(command_bytes_bound(command) <= command_bytes_max);
  const bool few = (fields & fields_of_few) != 0;
  FlatBufferBuilder& b = builder.start();
  FewParts few_parts;
  if (few) few_parts = put_few(b, command, fields);
  Offset<Vector<const fb::NewJob*>> jobs;
  ByteVector envelopes;
  if ((fields & field_jobs) && !command.jobs.empty()) {
    envelopes = put_envelopes(b, command.jobs);
    jobs = put_structs<fb::NewJob>(b, command.jobs);
  }
  Offset<Vector<Offset<fb::SettleItem>>> settles;
  Offset<Vector<const fb::Token*>> tokens;
  if ((fields & field_settles) && !all_acks(command.settles)) {
    settles = put_settles(b, command.settles);
  } else if (fields & field_tokens) {
    tokens = put_structs<fb::Token>(b, command.settles);
  }
  Offset<Vector<const fb::LeaseGroup*>> groups;
  Offset<Vector<uint64_t>> ids;
  if (fields & field_groups) groups = put_structs<fb::LeaseGroup>(b, command.groups);
  if (fields & field_ids) ids = b.CreateVector(command.ids);

  fb::CommandBuilder table(b);
  table.add_now_ms(command.now_ms);
  if (fields & field_first_generation) table.add_first_generation(command.first_generation);
  if (fields & field_deadline) table.add_deadline_ms(command.deadline_ms);
  table.add_jobs(jobs);
  table.add_envelopes(envelopes);
  table.add_tokens(tokens);
  table.add_ids(ids);
  table.add_groups(groups);
  table.add_settles(settles);
  if (few) few_parts.add_to(table);
  if (fields & field_queue) table.add_queue(command.queue);
  if (few) add_few_values(table, command, fields);
  table.add_type(static_cast<uint16_t>(command.type));
  b.Finish(table.Finish(), command_identifier);
  return builder.bytes();
}

Bytes Encoder::envelope(std::span<const Header> headers, Bytes payload, const Backoff& backoff,
                        int64_t enqueued_ms, const JobTraits& traits, const Packing& packing) {
  WQ_CHECK(envelope_bytes_bound(headers, payload) <= payload_bytes_absolute_max + seal_extra_bytes);
  WQ_CHECK(!check_packing(payload, packing));
  WQ_CHECK(enqueued_ms >= 0);
  const bool plain = traits.empty();
  WQ_CHECK(plain || !check_traits(traits));
  WQ_CHECK(backoff.jitter_permille <= jitter_permille_max);
  WQ_CHECK(traits.chain.size() <= 2 * chain_bytes_max);
  WQ_CHECK(!check_backoff(backoff.kind, backoff.base_ms, backoff.max_ms, backoff.list_ms));
  const bool has_policy = backoff.kind != BackoffKind::none;
  if (plain && headers.empty() && !has_policy && packing == Packing()) {
    return impl_->flat.envelope(payload, enqueued_ms);
  }
  FlatBufferBuilder& b = impl_->envelope.start();

  Offset<Vector<Offset<fb::Header>>> header_vector;
  if (!headers.empty()) {
    impl_->headers.clear();
    for (const Header& header : headers) {
      const auto name = put_bytes(b, header.name);
      const auto value = put_bytes(b, header.value);
      impl_->headers.push_back(fb::CreateHeader(b, name, value));
    }
    header_vector = b.CreateVector(impl_->headers);
  }
  const auto policy = put_backoff(b, backoff);
  const auto more = plain ? Offset<fb::Traits>() : put_traits(b, traits);
  const auto body = put_bytes(b, payload);
  fb::EnvelopeBuilder table(b);
  table.add_enqueued_ms(enqueued_ms);
  table.add_payload(body);
  table.add_headers(header_vector);
  table.add_backoff(policy);
  table.add_traits(more);
  table.add_plain_bytes(packing.plain_bytes);
  table.add_packing(packing.flags);
  b.Finish(table.Finish());
  return impl_->envelope.bytes();
}

Bytes Encoder::job_row(const JobRow& row, Bytes envelope) {
  const char* reason = check_job_row(row);
  if (reason) check_failed(reason, __FILE__, __LINE__);
  FlatBufferBuilder& b = impl_->row.start();
  const auto body = put_bytes(b, envelope);
  const auto error = put_bytes(b, as_bytes(row.last_error));
  const auto progress = put_bytes(b, as_bytes(row.progress));
  fb::JobRowBuilder table(b);
  table.add_position(row.position);
  table.add_since_ms(row.since_ms);
  table.add_generation(row.generation);
  table.add_leased_ms(row.leased_ms);
  table.add_deadline_ms(row.deadline_ms);
  table.add_key_until_ms(row.key_until_ms);
  table.add_first_dead_ms(row.first_dead_ms);
  table.add_deadline_set_ms(row.deadline_set_ms);
  table.add_queue(row.queue);
  table.add_envelope(body);
  table.add_epoch(row.epoch);
  table.add_attempts(row.attempts);
  table.add_exceptions(row.exceptions);
  table.add_failures(row.failures);
  table.add_last_error(error);
  table.add_progress(progress);
  table.add_replays(row.replays);
  table.add_max_attempts(row.max_attempts);
  table.add_state(static_cast<uint8_t>(row.state));
  table.add_priority(row.priority);
  table.add_reason(static_cast<uint8_t>(row.reason));
  b.Finish(table.Finish());
  return impl_->row.bytes();
}

Bytes Encoder::queue_row(const QueueRow& row) {
  const char* reason = check_queue_row(row);
  if (reason) check_failed(reason, __FILE__, __LINE__);
  FlatBufferBuilder& b = impl_->row.start();
  const auto config = put_config(b, row.config);
  const auto name = put_bytes(b, as_bytes(row.name));
  const QueueTotals& t = row.totals;
  const auto totals =
      fb::CreateQueueTotals(b, t.enqueued, t.leased, t.acked, t.nacked, t.failed, t.released,
                            t.expired, t.dead, t.replayed, t.cancelled, t.cleared, t.jobs_expired,
                            t.dropped, t.dead_dropped, t.chain_cut, t.skipped);
  const auto counts = b.CreateVector(row.counts, job_state_count);
  const auto epochs = b.CreateVector(row.epochs, job_state_count);
  Offset<Vector<uint64_t>> bytes;  // absent for a queue without jobs
  const bool has_bytes = std::any_of(std::begin(row.bytes), std::end(row.bytes), std::identity());
  if (has_bytes) bytes = b.CreateVector(row.bytes, job_state_count);
  std::vector<fb::Lane> lanes;
  for (const LaneRow& lane : row.lanes) {
    lanes.emplace_back(lane.head_hint, lane.count, lane.priority);
  }
  const auto lane_vector = b.CreateVectorOfStructs(lanes);
  std::vector<fb::Turn> turns;
  for (const TurnRow& turn : row.turns) turns.emplace_back(turn.turn, turn.priority);
  Offset<Vector<const fb::Turn*>> turn_vector;
  if (!turns.empty()) turn_vector = b.CreateVectorOfStructs(turns);
  fb::QueueRowBuilder table(b);
  table.add_expiring(row.expiring);
  table.add_rate_tat_ns(row.rate_tat_ns);
  table.add_created_ms(row.created_ms);
  table.add_next_dead_seq(row.next_dead_seq);
  table.add_next_front_seq(row.next_front_seq);
  table.add_next_tail_seq(row.next_tail_seq);
  if (row.history_next != 1) {  // a queue that kept nothing yet has none of the two
    table.add_history_first(row.history_first);
    table.add_history_next(row.history_next);
  }
  table.add_lanes(lane_vector);
  table.add_turns(turn_vector);
  table.add_bytes(bytes);
  table.add_epochs(epochs);
  table.add_counts(counts);
  table.add_totals(totals);
  table.add_config(config);
  table.add_name(name);
  table.add_id(row.id);
  b.Finish(table.Finish(), queue_row_identifier);
  return impl_->row.bytes();
}

Bytes Encoder::meta_row(const MetaRow& row) {
  const char* reason = check_meta_row(row);
  if (reason) check_failed(reason, __FILE__, __LINE__);
  FlatBufferBuilder& b = impl_->row.start();
  std::vector<fb::Trash> entries;
  for (const TrashRow& trash : row.trash) {
    entries.emplace_back(trash.seq_low, trash.seq_high, trash.lsn, trash.queue, trash.epoch_below,
                         static_cast<uint8_t>(trash.state), trash.priority, trash.lines);
  }
  const auto trash_vector = b.CreateVectorOfStructs(entries);
  fb::MetaRowBuilder table(b);
  table.add_applied_lsn(row.applied_lsn);
  table.add_next_job_id(row.next_job_id);
  table.add_next_generation(row.next_generation);
  table.add_uuid_low(row.uuid_low);
  table.add_uuid_high(row.uuid_high);
  table.add_next_queue_id(row.next_queue_id);
  table.add_trash(trash_vector);
  table.add_batch_members(row.batch_members);
  table.add_members_lost(row.members_lost);
  table.add_importing(row.importing);
  b.Finish(table.Finish(), meta_row_identifier);
  return impl_->row.bytes();
}

Bytes Encoder::cron_row(const CronRow& row) {
  const char* reason = check_cron_row(row);
  WQ_CHECK(reason == nullptr);
  FlatBufferBuilder& b = impl_->row.start();
  const auto envelope = put_bytes(b, row.envelope);
  const auto zone = put_bytes(b, as_bytes(row.zone));
  const auto expression = put_bytes(b, as_bytes(row.expression));
  fb::CronRowBuilder table(b);
  table.add_expression(expression);
  table.add_zone(zone);
  table.add_envelope(envelope);
  table.add_catch_up(row.catch_up);
  table.add_max_attempts(row.max_attempts);
  table.add_priority(row.priority);
  b.Finish(table.Finish(), cron_row_identifier);
  return impl_->row.bytes();
}

}  // namespace wq
