// Reading the rows of the store: jobs, queues and the meta row.
#include <algorithm>
#include <iterator>

#include "engine/record_internal.h"
#include "engine/schema/rows_generated.h"

namespace wq {
namespace {

// The largest record holds one table of each kind below it.
constexpr flatbuffers::uoffset_t row_tables_max = 4;

template <typename Table>
const Table* verified_root(const AlignedImage& image, const char* identifier) {
  if (image.size() > command_bytes_max) return nullptr;
  flatbuffers::Verifier verifier(image.data(), image.size(), record_depth_max, row_tables_max);
  if (!verifier.VerifyBuffer<Table>(identifier)) return nullptr;
  return flatbuffers::GetRoot<Table>(image.data());
}

void read_totals(const fb::QueueTotals* table, QueueTotals& totals) {
  if (table == nullptr) return;
  totals = {.enqueued = table->enqueued(),
            .leased = table->leased(),
            .acked = table->acked(),
            .nacked = table->nacked(),
            .failed = table->failed(),
            .released = table->released(),
            .expired = table->expired(),
            .dead = table->dead(),
            .replayed = table->replayed(),
            .cancelled = table->cancelled(),
            .cleared = table->cleared(),
            .jobs_expired = table->jobs_expired(),
            .dropped = table->dropped(),
            .dead_dropped = table->dead_dropped(),
            .chain_cut = table->chain_cut(),
            .skipped = table->skipped()};
}

const char* read_lanes(const fb::QueueRow* table, QueueRow& row) {
  const Bytes bytes = vector_bytes(table->lanes());
  const size_t count = bytes.size() / sizeof(fb::Lane);
  if (count > lanes_max) return "too many lanes";
  for (size_t i = 0; i < count; ++i) {
    fb::Lane lane;
    std::memcpy(&lane, bytes.data() + i * sizeof lane, sizeof lane);
    row.lanes.push_back({lane.priority(), lane.head_hint(), lane.count()});
  }
  return nullptr;
}

const char* read_turns(const fb::QueueRow* table, QueueRow& row) {
  const Bytes bytes = vector_bytes(table->turns());
  const size_t count = bytes.size() / sizeof(fb::Turn);
  if (count > lanes_max) return "too many turns";
  for (size_t i = 0; i < count; ++i) {
    fb::Turn turn;
    std::memcpy(&turn, bytes.data() + i * sizeof turn, sizeof turn);
    row.turns.push_back({turn.priority(), turn.turn()});
  }
  return nullptr;
}

const char* read_queue_row(const AlignedImage& image, QueueRow& row) {
  const auto* table = verified_root<fb::QueueRow>(image, queue_row_identifier);
  if (table == nullptr) return "not well formed";
  const Bytes counts = vector_bytes(table->counts());
  const Bytes epochs = vector_bytes(table->epochs());
  if (counts.size() != sizeof row.counts) return "number of counts";
  if (epochs.size() != sizeof row.epochs) return "number of epochs";
  std::memcpy(row.counts, counts.data(), counts.size());
  std::memcpy(row.epochs, epochs.data(), epochs.size());
  const auto no_job = [](uint64_t count) { return count == 0; };
  row.bytes_known = table->bytes() != nullptr ||
                    std::all_of(std::begin(row.counts), std::end(row.counts), no_job);
  if (table->bytes() != nullptr) {
    const Bytes bytes = vector_bytes(table->bytes());
    if (bytes.size() != sizeof row.bytes) return "number of bytes by state";
    std::memcpy(row.bytes, bytes.data(), bytes.size());
  }
  row.id = table->id();
  row.name = as_text(vector_bytes(table->name()));
  row.next_tail_seq = table->next_tail_seq();
  row.next_front_seq = table->next_front_seq();
  row.next_dead_seq = table->next_dead_seq();
  row.created_ms = table->created_ms();
  row.history_first = std::max<uint64_t>(1, table->history_first());
  row.history_next = std::max<uint64_t>(1, table->history_next());
  row.rate_tat_ns = table->rate_tat_ns();
  row.expiring = table->expiring();
  read_totals(table->totals(), row.totals);
  if (const char* reason = read_config(table->config(), row.config)) return reason;
  if (const char* reason = read_lanes(table, row)) return reason;
  if (const char* reason = read_turns(table, row)) return reason;
  return check_queue_row(row);
}

const char* read_meta_row(const AlignedImage& image, MetaRow& row) {
  const auto* table = verified_root<fb::MetaRow>(image, meta_row_identifier);
  if (table == nullptr) return "not well formed";
  row.applied_lsn = table->applied_lsn();
  row.next_job_id = table->next_job_id();
  row.next_generation = table->next_generation();
  row.next_queue_id = table->next_queue_id();
  row.uuid_low = table->uuid_low();
  row.uuid_high = table->uuid_high();
  row.importing = table->importing();
  row.batch_members = table->batch_members();
  row.members_lost = table->members_lost();
  const Bytes bytes = vector_bytes(table->trash());
  const size_t count = bytes.size() / sizeof(fb::Trash);
  for (size_t i = 0; i < count; ++i) {
    fb::Trash trash;
    std::memcpy(&trash, bytes.data() + i * sizeof trash, sizeof trash);
    row.trash.push_back({.queue = trash.queue(),
                         .state = static_cast<JobState>(trash.state()),
                         .epoch_below = trash.epoch_below(),
                         .priority = trash.priority(),
                         .seq_low = trash.seq_low(),
                         .seq_high = trash.seq_high(),
                         .lsn = trash.lsn(),
                         .lines = trash.lines() != 0});
  }
  return check_meta_row(row);
}

const char* read_job_row(const AlignedImage& image, DecodedJobRow& decoded) {
  const auto* table = verified_root<fb::JobRow>(image, nullptr);
  if (table == nullptr) return "not well formed";
  const Bytes envelope = vector_bytes(table->envelope());
  if (table->envelope() != nullptr) {
    if (const char* reason = check_envelope(envelope)) return reason;
  }
  decoded.envelope = image.in_input(envelope);
  decoded.row = {.queue = table->queue(),
                 .state = static_cast<JobState>(table->state()),
                 .priority = table->priority(),
                 .reason = static_cast<DeadReason>(table->reason()),
                 .epoch = table->epoch(),
                 .attempts = table->attempts(),
                 .exceptions = table->exceptions(),
                 .failures = table->failures(),
                 .max_attempts = table->max_attempts(),
                 .replays = table->replays(),
                 .position = table->position(),
                 .generation = table->generation(),
                 .since_ms = table->since_ms(),
                 .leased_ms = table->leased_ms(),
                 .deadline_ms = table->deadline_ms(),
                 .first_dead_ms = table->first_dead_ms(),
                 .last_error = as_text(image.in_input(vector_bytes(table->last_error()))),
                 .progress = as_text(image.in_input(vector_bytes(table->progress()))),
                 .key_until_ms = table->key_until_ms(),
                 .deadline_set_ms = table->deadline_set_ms()};
  return check_job_row(decoded.row);
}

const char* read_cron_row(const AlignedImage& image, CronRow& row) {
  const auto* table = verified_root<fb::CronRow>(image, cron_row_identifier);
  if (table == nullptr) return "not well formed";
  const Bytes envelope = vector_bytes(table->envelope());
  if (const char* reason = check_envelope(envelope)) return reason;
  row = {.expression = as_text(image.in_input(vector_bytes(table->expression()))),
         .zone = as_text(image.in_input(vector_bytes(table->zone()))),
         .catch_up = table->catch_up(),
         .max_attempts = table->max_attempts(),
         .priority = table->priority(),
         .envelope = image.in_input(envelope)};
  return check_cron_row(row);
}

}  // namespace

Result<DecodedJobRow> decode_job_row(Bytes bytes) {
  const AlignedImage image(bytes);
  DecodedJobRow decoded;
  if (const char* reason = read_job_row(image, decoded)) return corrupt_record("job", reason);
  return decoded;
}

Result<QueueRow> decode_queue_row(Bytes bytes) {
  const AlignedImage image(bytes);
  QueueRow row;
  if (const char* reason = read_queue_row(image, row)) return corrupt_record("queue", reason);
  return row;
}

Result<MetaRow> decode_meta_row(Bytes bytes) {
  const AlignedImage image(bytes);
  MetaRow row;
  if (const char* reason = read_meta_row(image, row)) return corrupt_record("meta", reason);
  return row;
}

Result<CronRow> decode_cron_row(Bytes bytes) {
  const AlignedImage image(bytes);
  CronRow row;
  if (const char* reason = read_cron_row(image, row)) return corrupt_record("cron", reason);
  return row;
}

}  // namespace wq
