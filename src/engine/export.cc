// The walk of an export over the rows of a store.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/cron.h"
#include "engine/gate.h"
#include "engine/history.h"
#include "engine/keys.h"
#include "engine/kv.h"
#include "engine/residency.h"
#include "engine/store.h"
#include "engine/transfer.h"
#include "engine/unique.h"

namespace wq {
namespace {

std::unique_ptr<Cursor> whole(const Store& store, Family family) {
  return store.scan(family, std::string(), std::string());
}

Status not_all_found(uint64_t found, uint64_t counted) {
  return Status(Code::corrupt, "db: " + std::to_string(found) + " jobs were found, " +
                                   std::to_string(counted) + " are counted; run wq verify");
}

bool is_held(JobState state) {
  return state == JobState::leased || state == JobState::running;
}

}  // namespace

// Ready jobs of groups, of one priority, by their places in the queue.
using LineJobs = std::map<uint64_t, JobId>;

struct StoreExport::Cursors {
  Cursors(const Store& from, const Keyring& keyring)
      : keys(keyring),
        meta(whole(from, Family::meta)),
        job(whole(from, Family::job)),
        ready(whole(from, Family::ready)),
        lease(whole(from, Family::lease)),
        delay(whole(from, Family::delay)),
        dead(whole(from, Family::dlq)),
        kv(whole(from, Family::kv)),
        cron(whole(from, Family::cron)),
        unique(whole(from, Family::unique)),
        batch(whole(from, Family::batch)),
        history(whole(from, Family::history)) {}

  Status read_meta(std::string_view only);
  void open(Envelope& envelope, EncryptWish& encrypt, std::string_view queue_name, JobId id,
            std::vector<std::byte>& storage) const;
  Status tell(const QueueRow& queue, JobId id, const ExportVisitor& visitor);
  Status tell_queue_jobs(const QueueRow& queue, const ExportVisitor& visitor);
  Status tell_range(Cursor& cursor, const std::string& prefix, const QueueRow& queue,
                    const ExportVisitor& visitor);
  Status tell_lane(const std::string& prefix, const LineJobs& lines, const QueueRow& queue,
                   const ExportVisitor& visitor);
  Result<std::map<uint8_t, LineJobs>> find_lines(QueueId queue);
  Status tell_delayed(const ExportVisitor& visitor);
  template <typename Visit>
  Status each_kv(int64_t now_ms, Visit&& visit);
  Status read_schedules();
  Status tell_schedules(const QueueRow& queue, const ExportVisitor& visitor);
  Status tell_batches(const ExportVisitor& visitor);
  Status tell_keys(const QueueRow& queue, int64_t now_ms, const ExportVisitor& visitor);
  Status tell_history(const QueueRow& queue, int64_t now_ms, const ExportVisitor& visitor);
  Status tell_rate_keys(const QueueRow& queue, const ExportVisitor& visitor);
  Status tell_rows(bool with_batches, int64_t now_ms, const ExportVisitor& visitor);
  Status count_rows(bool with_batches, int64_t now_ms, StoreImage& image);

  const Keyring& keys;
  std::unique_ptr<Cursor> meta, job, ready, lease, delay, dead, kv, cron, unique, batch, history;
  std::map<QueueId, std::map<std::string, CronState>> schedules;
  std::vector<CronImage> images;  // of the queue at hand
  std::vector<std::string> rows;  // what they point to
  std::vector<std::vector<std::byte>> payloads;
  MetaRow store;
  std::map<QueueId, QueueRow> queues;
  uint64_t told = 0;
};

// A payload that does not open goes as it is: a store that has its key reads it there.
void StoreExport::Cursors::open(Envelope& envelope, EncryptWish& encrypt,
                                std::string_view queue_name, JobId id,
                                std::vector<std::byte>& storage) const {
  if (!envelope.packing.is_packed()) return;
  if (envelope.packing.is_sealed()) encrypt = EncryptWish::yes;
  const Result<Bytes> payload = unpack_payload(keys, envelope, queue_name, id, storage);
  if (!payload.ok()) return;
  envelope.payload = payload.value();
  envelope.packing = Packing();
}

Status StoreExport::Cursors::read_meta(std::string_view only) {
  for (; meta->valid(); meta->next()) {
    if (meta->key() == meta_row_key()) {
      WQ_TRY_SET(store, decode_meta_row(as_bytes(meta->value())));
    } else if (parse_queue_row_key(meta->key())) {
      WQ_TRY_SET(QueueRow queue, decode_queue_row(as_bytes(meta->value())));
      if (only.empty() || queue.name == only) queues.emplace(queue.id, std::move(queue));
    }
  }
  return meta->status();
}

// Rows of jobs that clear and delete have ended are passed over.
Status StoreExport::Cursors::tell(const QueueRow& queue, JobId id, const ExportVisitor& visitor) {
  WQ_TRY_SET(StoredJob stored, read_job(*job, id));
  const JobRow& row = stored.row;
  const auto state = static_cast<size_t>(row.state);
  if (row.state == JobState::gone || row.queue != queue.id || row.epoch != queue.epochs[state]) {
    return {};
  }
  JobImage image;
  image.id = id;
  image.row = stored.full_row();
  image.queue_name = queue.name;
  WQ_TRY_SET(image.envelope, decode_envelope(stored.body.bytes()));
  std::vector<std::byte> storage;
  open(image.envelope, image.encrypt, queue.name, id, storage);
  ++told;
  return visitor.on_job(image);
}

Status StoreExport::Cursors::tell_range(Cursor& cursor, const std::string& prefix,
                                        const QueueRow& queue, const ExportVisitor& visitor) {
  for (cursor.seek(prefix); cursor.valid() && cursor.key().starts_with(prefix); cursor.next()) {
    const auto id = parse_id_value(cursor.value());
    if (!id) return Status(Code::corrupt, "db: malformed row of queue '" + queue.name + "'");
    WQ_TRY(tell(queue, *id, visitor));
  }
  return cursor.status();
}

Result<std::map<uint8_t, LineJobs>> StoreExport::Cursors::find_lines(QueueId queue) {
  std::map<uint8_t, LineJobs> lines;
  const std::string prefix = line_key(queue, 0, 0, 0).substr(0, 2 * sizeof(QueueId));
  for (ready->seek(prefix); ready->valid() && ready->key().starts_with(prefix); ready->next()) {
    const auto key = parse_line_key(ready->key());
    const auto id = parse_id_value(ready->value());
    if (!key || !id) return Status(Code::corrupt, "db: family ready: malformed row");
    lines[key->priority].emplace(key->seq, *id);
  }
  WQ_TRY(ready->status());
  return lines;
}

// The lane and the lines of one priority, merged: the order in which they would be leased.
Status StoreExport::Cursors::tell_lane(const std::string& prefix, const LineJobs& lines,
                                       const QueueRow& queue, const ExportVisitor& visitor) {
  auto next = lines.begin();
  for (ready->seek(prefix); ready->valid() && ready->key().starts_with(prefix); ready->next()) {
    const auto key = parse_ready_key(ready->key());
    const auto id = parse_id_value(ready->value());
    if (!key || !id)
      return Status(Code::corrupt, "db: malformed row of queue '" + queue.name + "'");
    for (; next != lines.end() && next->first < key->seq; ++next) {
      WQ_TRY(tell(queue, next->second, visitor));
    }
    WQ_TRY(tell(queue, *id, visitor));
  }
  WQ_TRY(ready->status());
  for (; next != lines.end(); ++next) WQ_TRY(tell(queue, next->second, visitor));
  return {};
}

Status StoreExport::Cursors::tell_queue_jobs(const QueueRow& queue, const ExportVisitor& visitor) {
  std::map<uint8_t, std::vector<JobId>> held;  // by priority, in the order of their leases
  const std::string prefix = lease_key(queue.id, 0).substr(0, sizeof(QueueId));
  for (lease->seek(prefix); lease->valid() && lease->key().starts_with(prefix); lease->next()) {
    const auto id = parse_id_value(lease->value());
    if (!id) return Status(Code::corrupt, "db: family lease: malformed row");
    WQ_TRY_SET(const StoredJob stored, read_job(*job, *id));
    if (is_held(stored.row.state)) held[stored.row.priority].push_back(*id);
  }
  WQ_TRY(lease->status());
  for (const LaneRow& lane : queue.lanes) held.try_emplace(lane.priority);
  WQ_TRY_SET(auto lines, find_lines(queue.id));
  for (const auto& [priority, jobs] : lines) held.try_emplace(priority);
  for (const auto& [priority, ids] : held) {
    for (const JobId id : ids) WQ_TRY(tell(queue, id, visitor));
    const std::string lane = ready_key(queue.id, priority, 0).substr(0, sizeof(QueueId) + 1);
    WQ_TRY(tell_lane(lane, lines[priority], queue, visitor));
  }
  return tell_range(*dead, prefix, queue, visitor);
}

Status StoreExport::Cursors::tell_delayed(const ExportVisitor& visitor) {
  for (; delay->valid(); delay->next()) {
    const auto key = parse_delay_key(delay->key());
    if (!key) return Status(Code::corrupt, "db: family delay: malformed row");
    const auto queue = queues.find(key->queue);
    if (queue != queues.end()) WQ_TRY(tell(queue->second, key->id, visitor));
  }
  return delay->status();
}

template <typename Visit>
Status StoreExport::Cursors::each_kv(int64_t now_ms, Visit&& visit) {
  for (kv->seek(kv_rows_begin); kv->valid() && kv->key() < kv_rows_end; kv->next()) {
    const auto key = parse_kv_row_key(kv->key());
    const std::optional<KvRow> row = decode_kv_row(kv->value());
    if (!key || !row) return Status(Code::corrupt, "db: family kv: malformed row");
    if (row->is_live(now_ms)) WQ_TRY(visit(KvImage{*key, row->value, row->expires_ms}));
  }
  return kv->status();
}

Status StoreExport::Cursors::read_schedules() {
  for (; cron->valid(); cron->next()) {
    const auto name = parse_cron_state_key(cron->key());
    if (!name) continue;
    const auto row = decode_cron_state(cron->value());
    if (!row) return Status(Code::corrupt, "db: family cron: malformed row; run wq verify");
    schedules[row->queue].emplace(*name, row->state);
  }
  return cron->status();
}

Status StoreExport::Cursors::tell_schedules(const QueueRow& queue, const ExportVisitor& visitor) {
  images.clear();
  rows.clear();
  payloads.clear();
  const auto& found = schedules[queue.id];
  rows.reserve(found.size());
  payloads.reserve(found.size());
  for (const auto& [name, state] : found) {
    const std::string key = cron_row_key(name);
    cron->seek(key);
    if (!cron->valid() || cron->key() != key) {
      return Status(Code::corrupt, "db: family cron: a row is missing; run wq verify");
    }
    rows.emplace_back(cron->value());
    CronImage& image = images.emplace_back();
    image.name = name;
    image.state = state;
    WQ_TRY_SET(image.row, decode_cron_row(as_bytes(rows.back())));
    WQ_TRY_SET(image.job, decode_envelope(image.row.envelope));
    open(image.job, image.encrypt, queue.name, sealed_for_any_job, payloads.emplace_back());
  }
  return visitor.on_schedules(images);
}

namespace {

Status malformed(Family family) {
  return Status(Code::corrupt, std::string("db: family ") + family_name(family) +
                                   ": malformed row; run wq verify");
}

// Each row whose key begins so.
template <typename Visit>
Status each_of(Cursor& cursor, const std::string& prefix, Visit&& visit) {
  for (cursor.seek(prefix); cursor.valid() && cursor.key().starts_with(prefix); cursor.next()) {
    WQ_TRY(visit(cursor.key(), cursor.value()));
  }
  return cursor.status();
}

}  // namespace

Status StoreExport::Cursors::tell_batches(const ExportVisitor& visitor) {
  return each_of(*batch, "b", [&](std::string_view key, std::string_view value) -> Status {
    const auto name = parse_batch_key(key);
    const auto row = decode_batch_row(value);
    if (!name || !row) return malformed(Family::batch);
    return visitor.on_batch({name->batch, *row});
  });
}

Status StoreExport::Cursors::tell_keys(const QueueRow& queue, int64_t now_ms,
                                       const ExportVisitor& visitor) {
  const std::string prefix = key_row_key(KeyKind::idempotency, queue.id, std::string_view());
  return each_of(*unique, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto name = parse_key_row_key(key);
    const auto row = decode_key_row(value);
    if (!name || !row) return malformed(Family::unique);
    if (row->until_ms <= now_ms) return {};
    return visitor.on_key({queue.name, name->key, row->holder, row->until_ms});
  });
}

Status StoreExport::Cursors::tell_history(const QueueRow& queue, int64_t now_ms,
                                          const ExportVisitor& visitor) {
  const std::string prefix = done_row_key(queue.id, 0).substr(0, 1 + sizeof(QueueId));
  return each_of(*history, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto name = parse_history_key(key);
    const auto row = decode_done_row(value);
    if (!name || !row) return malformed(Family::history);
    if (!is_kept(queue, name->number, *row, now_ms)) return {};
    return visitor.on_done({queue.name, *row});
  });
}

Status StoreExport::Cursors::tell_rate_keys(const QueueRow& queue, const ExportVisitor& visitor) {
  // The key of no key: what all of the queue begin with.
  const std::string prefix =
      gate_row_key(queue.id, GateName(GateName::rate_key, "k")).substr(0, 1 + sizeof(QueueId));
  return each_of(*meta, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto name = parse_gate_row_key(key);
    const auto row = decode_gate_row(GateName::rate_key, value);
    if (!name || !row) return malformed(Family::meta);
    if (row->tat_ns == 0 && row->breaker == Breaker()) return {};
    return visitor.on_rate_key({queue.name, name->name.key, row->tat_ns, row->breaker});
  });
}

Status StoreExport::Cursors::tell_rows(bool with_batches, int64_t now_ms,
                                       const ExportVisitor& visitor) {
  if (with_batches && visitor.on_batch) WQ_TRY(tell_batches(visitor));
  for (const auto& [id, queue] : queues) {
    if (visitor.on_key) WQ_TRY(tell_keys(queue, now_ms, visitor));
    if (visitor.on_done) WQ_TRY(tell_history(queue, now_ms, visitor));
    if (visitor.on_rate_key) WQ_TRY(tell_rate_keys(queue, visitor));
  }
  return {};
}

Status StoreExport::Cursors::count_rows(bool with_batches, int64_t now_ms, StoreImage& image) {
  const auto count_row = [&](const auto&) -> Status {
    ++image.rows;
    return {};
  };
  ExportVisitor counter;
  counter.on_batch = [&](const BatchImage&) -> Status {
    ++image.batches;
    return {};
  };
  counter.on_key = count_row;
  counter.on_done = count_row;
  counter.on_rate_key = count_row;
  return tell_rows(with_batches, now_ms, counter);
}

StoreExport::StoreExport(const Store& store, const Keyring& keys)
    : cursors_(std::make_unique<Cursors>(store, keys)) {}
StoreExport::~StoreExport() = default;

Status StoreExport::run(std::string_view only, int64_t now_ms, const ExportVisitor& visitor) {
  WQ_TRY(cursors_->read_meta(only));
  const MetaRow& meta = cursors_->store;
  if (meta.importing) {
    return Status(Code::conflict, "an import into this store was not finished; nothing to export");
  }
  if (!only.empty() && cursors_->queues.empty()) {
    return Status(Code::not_found, "no queue '" + std::string(only) + "' in this store");
  }
  StoreImage image{meta.applied_lsn, meta.next_job_id, meta.next_generation,
                   cursors_->queues.size()};
  for (const auto& [id, queue] : cursors_->queues) {
    for (size_t i = 1; i < job_state_count; ++i) image.jobs += queue.counts[i];
  }
  const auto count = [&](const KvImage&) -> Status {
    ++image.kv_rows;
    return {};
  };
  if (only.empty()) WQ_TRY(cursors_->each_kv(now_ms, count));
  WQ_TRY(cursors_->count_rows(only.empty(), now_ms, image));
  WQ_TRY(visitor.on_store(image));
  WQ_TRY(cursors_->read_schedules());
  for (const auto& [id, queue] : cursors_->queues) {
    if (visitor.on_schedules) WQ_TRY(cursors_->tell_schedules(queue, visitor));
    WQ_TRY(visitor.on_queue(queue));
  }
  if (only.empty()) WQ_TRY(cursors_->each_kv(now_ms, visitor.on_kv));
  WQ_TRY(cursors_->tell_rows(only.empty(), now_ms, visitor));
  for (const auto& [id, queue] : cursors_->queues) {
    WQ_TRY(cursors_->tell_queue_jobs(queue, visitor));
  }
  WQ_TRY(cursors_->tell_delayed(visitor));
  return cursors_->told == image.jobs ? Status() : not_all_found(cursors_->told, image.jobs);
}

}  // namespace wq
