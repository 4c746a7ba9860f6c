// Salvage of what is beside the jobs: batches, idempotency keys, the history of queues, rate keys.
// The rows of the checkpoint, and over them what apply() made of the records behind it.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/apply.h"
#include "engine/history.h"
#include "engine/imported_rows.h"
#include "engine/salvage_internal.h"
#include "engine/unique.h"

namespace wq {
namespace {

constexpr size_t call_rows_max = 1'000;
constexpr size_t call_bytes_max = 4u << 20;

struct Range {
  std::string lower;
  std::string upper;
};

Range rows_of(char mark) {
  const std::string prefix(1, mark);
  return {prefix, prefix_end(prefix)};
}

bool is_sound_row(Family family, std::string_view key, std::string_view value) {
  if (family == Family::unique) {
    return parse_key_row_key(key) ? decode_key_row(value).has_value()
                                  : parse_key_expiry_key(key).has_value();
  }
  if (family == Family::batch) {
    const auto name = parse_batch_key(key);
    if (!name || name->kind == 'x') return name.has_value();
    return name->kind == 'b' ? decode_batch_row(value).has_value()
                             : decode_batch_share(value).has_value();
  }
  const auto name = parse_history_key(key);
  if (!name) return false;
  return name->by_id ? decode_done_seq(value).has_value() : decode_done_row(value).has_value();
}

// Images on their way into a queue of the new store, in calls of a bounded size. Owns what they
// point to.
template <typename Image>
class Calls {
 public:
  using Send = std::function<Status(QueueId, std::span<const Image>)>;
  explicit Calls(Send send) : send_(std::move(send)) {}

  void add(QueueId queue, const Image& image, std::string text,
           void (*point)(Image& image, const std::string& text)) {
    if (!status_.ok()) return;
    if (queue != queue_ || images_.size() >= call_rows_max || bytes_ >= call_bytes_max) flush();
    queue_ = queue;
    bytes_ += text.size();
    texts_.push_back(std::make_unique<std::string>(std::move(text)));
    point(images_.emplace_back(image), *texts_.back());
  }

  Status finish() {
    flush();
    return std::move(status_);
  }

 private:
  void flush() {
    if (!images_.empty() && status_.ok()) status_ = send_(queue_, images_);
    images_.clear();
    texts_.clear();
    bytes_ = 0;
  }

  Send send_;
  Status status_;
  QueueId queue_ = 0;
  size_t bytes_ = 0;
  std::vector<Image> images_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

CallOptions from_memory() {
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  return call;
}

}  // namespace

Status ColdSide::read_rows(Family family, const FindingVisitor& visit) {
  uint64_t rows = 0;
  std::string problem;
  const auto count = [&](std::string_view key, std::string_view value) {
    const bool sound = is_sound_row(family, key, value);
    rows += sound ? 1 : 0;
    return sound;
  };
  // All keys begin with a small letter.
  walk_rows(*stores[0].store, family, std::string(1, 'a'), std::string(1, '{'), count, problem);
  note_whole(family, problem.empty());
  return tell_family(visit, family, rows, problem);
}

// ---- the log over them

// Records that the checkpoint covers are counted in its rows: what they recover of jobs that can
// not be read is not counted again.
void Salvager::know_batches() {
  if (std::exchange(batches_known_, true) || WQ_PLANTED(salvage_without_batches)) return;
  SideTable& table = state_.side(Family::batch);
  const Range rows = rows_of('b');
  cold_.each_row(Family::batch, rows.lower, rows.upper,
                 [&](std::string_view key, std::string_view value) {
                   const auto name = parse_batch_key(key);
                   if (!name || !decode_batch_row(value) || name->batch >= imported_id_max) {
                     return false;
                   }
                   job_id_limit_ = std::max(job_id_limit_, name->batch + 1);
                   table.load(key, std::string(value));
                   return true;
                 });
  const Range members = rows_of('m');
  cold_.each_row(Family::batch, members.lower, members.upper,
                 [&](std::string_view key, std::string_view value) {
                   table.load(key, std::string(value));
                   ++state_.batch_members;
                   return true;
                 });
}

void Salvager::on_batch(const Command& command, Lsn lsn) {
  if (command.batch >= imported_id_max) return;
  const bool creates = command.type == CommandType::batch_create;
  if (creates) job_id_limit_ = std::max(job_id_limit_, command.batch + 1);
  if (lsn <= applied_lsn_) return;
  const std::optional<BatchRow> row = find_batch(state_, command.batch);
  if (creates) {
    if (row) return misfit(lsn, "they make a batch that is there already");
    state_.next_job_id = command.batch;
    change(command, lsn);
    return;
  }
  if (!row) return misfit(lsn, "they name a batch that is not there");
  if (row->is_finished() != (command.type == CommandType::batch_forget)) {
    return misfit(lsn, "they name a batch in another state");
  }
  if (command.type != CommandType::batch_lost) return change_and_follow(command, lsn);
  Command lost;
  lost.reset(command.type, command.now_ms);
  lost.batch = command.batch;
  for (const JobId id : command.ids) {
    const auto* member = state_.side(Family::batch).find(batch_member_key(command.batch, id));
    if (member && *member) {
      lost.ids.push_back(id);
    } else {
      misfit(lsn, no_such_job_why);
    }
  }
  if (!lost.ids.empty()) change_and_follow(lost, lsn);
}

// Those of idempotency keys; rows of other keys follow from the jobs.
void Salvager::forget_keys(const Command& command, Lsn lsn) {
  if (lsn > applied_lsn_) change(command, lsn);
}

void Salvager::on_import_row(const KvChange& row, const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_) return;
  const auto key = parse_imported_row_key(row.key);
  if (!key) return misfit(lsn, "they do not fit what is known");
  Command one = single(command);
  one.kv.push_back(row);
  state_.next_job_id = UINT64_MAX;
  change(one, lsn);
}

// ---- what there is at the end

void Salvager::each_batch(const std::function<void(const BatchImage&)>& visit) const {
  state_.side(Family::batch)
      .for_each([&](const std::string& key, const std::optional<std::string>& value) {
        const auto name = parse_batch_key(key);
        const bool is_row = value && name && name->kind == 'b' && name->batch < imported_id_max;
        const auto row = is_row ? decode_batch_row(*value) : std::nullopt;
        if (row) visit({name->batch, *row});
      });
}

void Salvager::each_key(const std::function<void(QueueId, const KeyImage&)>& visit) const {
  const SideTable& table = state_.side(Family::unique);
  const auto tell = [&](std::string_view key, std::string_view value) {
    const auto name = parse_key_row_key(key);
    const auto row = decode_key_row(value);
    if (!name || name->kind != KeyKind::idempotency || !row) return false;
    if (row->holder < imported_id_max && row->until_ms <= imported_time_max) {
      visit(name->queue, {{}, name->key, row->holder, row->until_ms});
    }
    return true;
  };
  const Range rows = rows_of('i');
  cold_.each_row(Family::unique, rows.lower, rows.upper,
                 [&](std::string_view key, std::string_view value) {
                   return table.find(key) != nullptr || tell(key, value);
                 });
  table.for_each([&](const std::string& key, const std::optional<std::string>& value) {
    if (value && !WQ_PLANTED(salvage_without_new_keys)) tell(key, *value);
  });
}

// Oldest first, none twice.
void Salvager::each_done(const std::function<void(QueueId, const DoneRow&)>& visit) const {
  const SideTable& table = state_.side(Family::history);
  std::map<QueueId, std::unordered_set<JobId>> told;
  const auto tell = [&](std::string_view key, std::string_view value) {
    const auto name = parse_history_key(key);
    const auto row = decode_done_row(value);
    if (!name || name->by_id || !row) return false;
    const Queue* queue = state_.find_queue(name->queue);
    const bool kept = queue && name->number >= queue->history_first;
    if (!kept || row->id >= imported_id_max || row->generation >= imported_id_max) return true;
    if (told[name->queue].insert(row->id).second) visit(name->queue, *row);
    return true;
  };
  const Range rows = rows_of('d');
  cold_.each_row(Family::history, rows.lower, rows.upper,
                 [&](std::string_view key, std::string_view value) {
                   return table.find(key) != nullptr || tell(key, value);
                 });
  std::map<std::string_view, std::string_view> newer;
  table.for_each([&](const std::string& key, const std::optional<std::string>& value) {
    if (value) newer.emplace(key, *value);
  });
  for (const auto& [key, value] : newer) tell(key, value);
}

void Salvager::each_rate_key(const std::function<void(QueueId, const RateKeyImage&)>& visit) const {
  for (const auto& [queue_name, queue] : state_.queues()) {
    for (const auto& [name, gate] : queue->gates) {
      if (!gate->is_rate() || (gate->tat_ns == 0 && gate->breaker == Breaker())) continue;
      visit(queue->id, {{}, GateName(gate->name).key, gate->tat_ns, gate->breaker});
    }
  }
}

// Raises the limits of ids as well: what comes along must be below them.
Status Salvager::tell_rows(const FindingVisitor& visit) {
  know_batches();
  uint64_t batches = 0, keys = 0, done = 0, rate_keys = 0;
  each_batch([&](const BatchImage& batch) {
    job_id_limit_ = std::max(job_id_limit_, batch.id + 1);
    ++batches;
  });
  each_key([&](QueueId, const KeyImage& key) {
    job_id_limit_ = std::max(job_id_limit_, key.holder + 1);
    ++keys;
  });
  each_done([&](QueueId, const DoneRow& row) {
    job_id_limit_ = std::max(job_id_limit_, row.id + 1);
    generation_limit_ = std::max(generation_limit_, row.generation + 1);
    ++done;
  });
  each_rate_key([&](QueueId, const RateKeyImage&) { ++rate_keys; });
  const auto tell = [&](const char* where, uint64_t count, const char* what) -> Status {
    if (count == 0) return {};
    SalvageFinding finding;
    finding.where = where;
    finding.what = std::to_string(count) + " " + what + " can be read";
    finding.count = count;
    return visit(finding);
  };
  WQ_TRY(tell("batches", batches, "batches"));
  WQ_TRY(tell("keys", keys, "idempotency keys"));
  WQ_TRY(tell("history", done, "done jobs"));
  return tell("rate keys", rate_keys, "rate keys in use");
}

Status Salvager::write_rows(Engine& engine, const std::map<QueueId, QueueId>& ids) const {
  const auto new_id = [&](QueueId queue) {
    const auto found = ids.find(queue);
    return found == ids.end() ? QueueId{0} : found->second;
  };
  Calls<BatchImage> batches([&](QueueId, std::span<const BatchImage> images) {
    CallOptions call = from_memory();
    return engine.import_batches(images, call);
  });
  each_batch([&](const BatchImage& batch) {
    batches.add(
        0, batch, encode_batch_row(batch.row),
        [](BatchImage& image, const std::string& text) { image.row = *decode_batch_row(text); });
  });
  WQ_TRY(batches.finish());
  Calls<KeyImage> keys([&](QueueId queue, std::span<const KeyImage> images) {
    CallOptions call = from_memory();
    return engine.import_keys(queue, images, call);
  });
  each_key([&](QueueId queue, const KeyImage& key) {
    const QueueId id = new_id(queue);
    if (id == 0) return;
    keys.add(id, key, std::string(key.key),
             [](KeyImage& image, const std::string& text) { image.key = text; });
  });
  WQ_TRY(keys.finish());
  Calls<DoneImage> done([&](QueueId queue, std::span<const DoneImage> images) {
    CallOptions call = from_memory();
    return engine.import_history(queue, images, call);
  });
  each_done([&](QueueId queue, const DoneRow& row) {
    const QueueId id = new_id(queue);
    if (id == 0) return;
    done.add(id, {{}, row}, std::string(row.result),
             [](DoneImage& image, const std::string& text) { image.row.result = text; });
  });
  WQ_TRY(done.finish());
  Calls<RateKeyImage> rate_keys([&](QueueId queue, std::span<const RateKeyImage> images) {
    CallOptions call = from_memory();
    return engine.import_rate_keys(queue, images, call);
  });
  each_rate_key([&](QueueId queue, const RateKeyImage& key) {
    rate_keys.add(new_id(queue), key, std::string(key.key),
                  [](RateKeyImage& image, const std::string& text) { image.key = text; });
  });
  return rate_keys.finish();
}

}  // namespace wq
