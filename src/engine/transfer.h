// Transfer: what moves a whole store somewhere else. Export reads it as of one moment, import
// builds it anew in a store that never had a queue, salvage (salvage.h) feeds the same import with
// what it could read. The unit is the same everywhere: a queue with its configuration and totals,
// and a job with all that is known of it but its place, which its order stands for. Thread model:
// plain data.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/batch.h"
#include "engine/command.h"
#include "engine/history.h"
#include "engine/kv.h"
#include "engine/packing.h"
#include "engine/record.h"
#include "engine/throttle.h"
#include "engine/types.h"

namespace wq {

class Store;

// Ids above these would leave no room for the gaps of unclean stops.
constexpr uint64_t imported_id_max = uint64_t{1} << 62;
constexpr int64_t imported_time_max = int64_t{1} << 52;  // far beyond any clock, far from overflow

struct StoreImage {
  Lsn lsn = 0;
  JobId next_job_id = 1;
  Generation next_generation = 1;
  uint64_t queues = 0;
  uint64_t jobs = 0;
  uint64_t kv_rows = 0;  // none if only one queue is told
  uint64_t batches = 0;  // likewise
  uint64_t rows = 0;     // idempotency keys, done jobs, rate keys
};

// `row.position` counts for delayed jobs only: it is their due time. Other places follow from the
// order: jobs that are leased or running stand in front of the ready ones of their priority, where
// an import makes them ready.
struct JobImage {
  JobId id = 0;
  JobRow row;
  // Its payload is packed only if it could not be opened, or not be looked at.
  Envelope envelope;
  std::string_view queue_name;
  EncryptWish encrypt = EncryptWish::by_queue;  // yes = it is, or was, sealed
};

struct CronImage {
  std::string_view name;
  CronState state;
  CronRow row;
  Envelope job;  // decoded from the row; its payload is as that of a JobImage
  EncryptWish encrypt = EncryptWish::by_queue;
};

// The rest of what a queue has. Names are those of the queue in an export; an import is told the
// queue by itself.
struct KeyImage {  // an idempotency key, whatever became of its job
  std::string_view queue_name = {};
  std::string_view key = {};
  JobId holder = 0;  // the first job of the key
  int64_t until_ms = 0;
};

struct DoneImage {
  std::string_view queue_name = {};
  DoneRow row;  // its result is as it is stored, sealed or not
};

struct RateKeyImage {  // one that is used up or cools down, or counts exceptions
  std::string_view queue_name = {};
  std::string_view key = {};
  int64_t tat_ns = 0;
  Breaker breaker = {};
};

struct BatchImage {
  BatchId id = 0;
  BatchRow row;  // what follows its end is as it is stored
};

struct ExportVisitor {
  std::function<Status(const StoreImage&)> on_store;
  // May be null. The schedules of a queue, right before it; valid until on_queue has returned.
  std::function<Status(std::span<const CronImage>)> on_schedules;
  std::function<Status(const QueueRow&)> on_queue;
  std::function<Status(const KvImage&)> on_kv;
  // These may be null.
  std::function<Status(const BatchImage&)> on_batch;
  std::function<Status(const KeyImage&)> on_key;
  std::function<Status(const DoneImage&)> on_done;
  std::function<Status(const RateKeyImage&)> on_rate_key;
  std::function<Status(const JobImage&)> on_job;
};

// The walk behind an export: queues in the order of their ids; the kv rows that are live at
// `now_ms`, in the order of their keys, and the batches; the idempotency keys, the history (oldest
// first) and the rate keys of each queue; the leased, ready and dead jobs of each queue; then all
// delayed ones, by due time. An object holds one consistent view of the store from
// its construction on, whatever checkpoints follow. CORRUPT if it does not find each job that the
// queues count. An empty `only` takes all queues; a single one goes without kv rows and batches.
class StoreExport {
 public:
  StoreExport(const Store& store, const Keyring& keys);
  ~StoreExport();
  StoreExport(const StoreExport&) = delete;
  StoreExport& operator=(const StoreExport&) = delete;
  Status run(std::string_view only, int64_t now_ms, const ExportVisitor& visitor);

 private:
  struct Cursors;
  std::unique_ptr<Cursors> cursors_;
};

}  // namespace wq
