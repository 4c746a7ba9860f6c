// What an import brings in beside the jobs: batches, idempotency keys whose jobs may have ended,
// done jobs, rate keys. See imported_rows.h for the command that carries them.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/gate.h"
#include "engine/history.h"
#include "engine/imported_rows.h"
#include "engine/unique.h"

namespace wq {
namespace {

Status invalid(std::string what) {
  return Status(Code::invalid, std::move(what));
}

Status check_count(size_t count) {
  if (count > 0 && count <= jobs_per_call_max) return {};
  return invalid("n: " + std::to_string(count) + " rows in one call, give 1 to 10000");
}

Status admit_done(const DoneRow& row) {
  if (row.id == 0) return invalid("id: is 0");
  if (row.generation == 0) return invalid("generation: is 0");
  WQ_TRY(check_time("enqueued_ms", row.enqueued_ms));
  WQ_TRY(check_time("leased_ms", row.leased_ms));
  WQ_TRY(check_time("done_ms", row.done_ms));
  if (!check_result(row.result, row.sealed)) return invalid("result: is too long, or not sealed");
  return {};
}

Status admit_batch(const BatchImage& batch) {
  const BatchRow& row = batch.row;
  WQ_TRY(check_time("created_ms", row.created_ms));
  WQ_TRY(check_time("finished_ms", row.finished_ms));
  const uint64_t counted = row.pending + row.done + row.failed + row.cancelled;
  if (counted != row.total) return invalid("total: is not what pending and the others add up to");
  if (row.is_finished() && row.pending != 0) return invalid("pending: of a finished batch");
  if (!decode_batch_row(encode_batch_row(row))) {
    return invalid("on_complete, on_failure: are no jobs, or flags are not known");
  }
  return {};
}

}  // namespace

// Rows of one family on their way in. `probes` are the keys of rows that must not be there yet.
struct Engine::ArrivingRows {
  struct Row {
    std::string key;
    std::string value;
    JobId id = 0;  // to be below next_job_id, as `generation` below next_generation
    Generation generation = 0;
  };
  Family family = Family::meta;
  QueueId queue = 0;  // 0: of no queue
  std::vector<Row> rows;
  std::vector<std::string> probes;
};

// Appends them to the command. The seqs of done jobs are given here.
Status Engine::add_arriving(const ArrivingRows& rows, Command& command) {
  const Queue* queue = rows.queue == 0 ? nullptr : state_.find_queue(rows.queue);
  if (rows.queue != 0 && !queue) return no_such_queue();
  for (const ArrivingRows::Row& row : rows.rows) {
    const bool known = row.id < state_.next_job_id && row.generation < state_.next_generation;
    if (!known && !WQ_PLANTED(import_row_of_any_id)) {
      return invalid("id, generation: of " + std::to_string(row.id) +
                     " are not below next_job_id and next_generation");
    }
    command.kv.push_back({.key = row.key, .value = row.value});
  }
  return {};
}

Status Engine::import_rows(const ArrivingRows& rows, CallOptions& call) {
  std::vector<std::string> sorted = rows.probes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return invalid("key: is given twice");
  }
  WQ_TRY(wait_for_space());
  Lsn lsn = 0;
  std::vector<std::string> history_keys;  // the command points into them
  const auto put = [&]() WQ_REQUIRES(mutex_) -> Status {
    if (!state_.importing) return no_import();
    for (const std::string& probe : rows.probes) {
      const auto* value =
          rows.family == Family::meta ? nullptr : state_.side(rows.family).find(probe);
      if (value && *value && !WQ_PLANTED(import_row_twice)) return invalid("key: is given twice");
    }
    Command& command = begin(CommandType::import_rows);
    WQ_TRY(add_arriving(rows, command));
    if (rows.family == Family::history) {
      const uint64_t first = state_.find_queue(rows.queue)->history_next;
      history_keys.clear();
      for (size_t i = 0; i < command.kv.size(); ++i) {
        history_keys.push_back(
            imported_row_key(Family::history, done_row_key(rows.queue, first + i)));
      }
      for (size_t i = 0; i < command.kv.size(); ++i) command.kv[i].key = history_keys[i];
    }
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  if (rows.family == Family::meta) {
    MutexLock lock(mutex_);
    WQ_TRY(put());
  } else {
    WQ_TRY(with_rows(rows.family, rows.probes, put));
  }
  return finish(lsn, call, level_for(call, Durability::process));
}

Status Engine::import_batches(std::span<const BatchImage> batches, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(check_count(batches.size()));
  ArrivingRows rows;
  rows.family = Family::batch;
  for (const BatchImage& batch : batches) {
    if (batch.id == 0) return invalid("id: is 0");
    if (Status status = admit_batch(batch); !status.ok()) {
      return Status(status.code(), "batch " + std::to_string(batch.id) + ": " + status.message());
    }
    rows.probes.push_back(batch_row_key(batch.id));
    rows.rows.push_back({imported_row_key(Family::batch, rows.probes.back()),
                         encode_batch_row(arriving_batch(batch.row)), batch.id});
  }
  return import_rows(rows, call);
}

Status Engine::import_keys(QueueId queue, std::span<const KeyImage> keys, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(check_count(keys.size()));
  ArrivingRows rows;
  rows.family = Family::unique;
  rows.queue = queue;
  const int64_t now_ms = wall_ms();
  for (const KeyImage& key : keys) {
    WQ_TRY(admit_key("key", key.key));
    WQ_TRY(check_time("until_ms", key.until_ms));
    if (key.holder == 0) return invalid("job_id: is 0");
    if (key.until_ms <= now_ms) continue;
    rows.probes.push_back(key_row_key(KeyKind::idempotency, queue, key.key));
    rows.rows.push_back({imported_row_key(Family::unique, rows.probes.back()),
                         encode_key_row({key.holder, key.until_ms}), key.holder});
  }
  return rows.rows.empty() ? Status() : import_rows(rows, call);
}

Status Engine::import_history(QueueId queue, std::span<const DoneImage> jobs, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(check_count(jobs.size()));
  ArrivingRows rows;
  rows.family = Family::history;
  rows.queue = queue;
  uint64_t bytes = 0;
  for (const DoneImage& job : jobs) {
    if (Status status = admit_done(job.row); !status.ok()) {
      return Status(status.code(), "job " + std::to_string(job.row.id) + ": " + status.message());
    }
    rows.probes.push_back(done_id_key(queue, job.row.id));
    rows.rows.push_back({{}, encode_done_row(job.row), job.row.id, job.row.generation});
    bytes += job.row.result.size() + row_beside_bytes;
  }
  if (bytes > call_payload_bytes_max) {
    return Status(Code::too_large, "result: those of this call have over 512 MiB together");
  }
  return import_rows(rows, call);
}

Status Engine::import_rate_keys(QueueId queue, std::span<const RateKeyImage> keys,
                                CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(check_count(keys.size()));
  ArrivingRows rows;
  rows.queue = queue;
  for (const RateKeyImage& key : keys) {
    WQ_TRY(admit_key("key", key.key));
    WQ_TRY(check_time("cool_until_ms", key.breaker.cool_until_ms));
    const std::string value =
        encode_gate_row(GateName::rate_key, {.tat_ns = key.tat_ns, .breaker = key.breaker});
    if (key.breaker.failed_ms.size() > throttle_count_max ||
        !decode_gate_row(GateName::rate_key, value)) {
      return invalid("used_ns, exceptions_ms: are negative, not in order, or too many");
    }
    rows.probes.push_back(gate_row_key(queue, GateName(GateName::rate_key, key.key)));
    rows.rows.push_back({imported_row_key(Family::meta, rows.probes.back()), value});
  }
  return import_rows(rows, call);
}

}  // namespace wq
