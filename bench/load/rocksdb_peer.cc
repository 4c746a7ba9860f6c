// Peer: the queue that a careful engineer hand-rolls on RocksDB. Families jobs, ready and leased;
// one WriteBatch per step. What such an engineer knows is in here: the head of the queue is
// remembered and never searched, a window of ready ids is kept in memory, leases are mirrored in
// memory so that an ack reads nothing, index rows are written once and go by SingleDelete, writes
// of many threads run outside the mutex so that RocksDB groups their syncs, the log is recycled.
//
// Rows: jobs id -> payload; ready seq -> id; leased id generation -> deadline attempts. Integers
// are big-endian. The directory must be fresh: the code that finds head and leases after a restart
// would change no figure and is left out.
#include <rocksdb/db.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "queue_under_test.h"
#include "support.h"

namespace wq::bench {

namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;

constexpr size_t window_jobs_max = 8192;  // ready ids kept in memory
constexpr int64_t lease_ms = 60'000;
constexpr auto memory_window = std::chrono::milliseconds(50);  // as in wq

void check(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) fail(std::string("rocksdb: ") + what + ": " + status.ToString());
}

struct Key8 {
  char bytes[8];
  explicit Key8(uint64_t n) {
    const uint64_t big_endian = __builtin_bswap64(n);
    __builtin_memcpy(bytes, &big_endian, sizeof bytes);
  }
  Slice slice() const { return {bytes, sizeof bytes}; }
};

struct Key16 {
  char bytes[16];
  Key16(uint64_t first, uint64_t second) {
    __builtin_memcpy(bytes, Key8(first).bytes, 8);
    __builtin_memcpy(bytes + 8, Key8(second).bytes, 8);
  }
  Slice slice() const { return {bytes, sizeof bytes}; }
};

uint64_t number_of(const Slice& key) {
  uint64_t big_endian = 0;
  __builtin_memcpy(&big_endian, key.data(), sizeof big_endian);
  return __builtin_bswap64(big_endian);
}

struct ReadyEntry {
  uint64_t seq = 0;
  uint64_t id = 0;
};

class RocksdbPeer;

class RocksdbCaller : public Caller {
 public:
  explicit RocksdbCaller(RocksdbPeer& peer) : peer_(peer) {}
  void enqueue(std::span<const std::string_view> payloads) override;
  std::span<const LeasedJob> lease(size_t jobs_max) override;
  void ack(std::span<const LeasedJob> jobs) override;

 private:
  void read_payloads();

  RocksdbPeer& peer_;
  rocksdb::WriteBatch batch_;
  std::vector<ReadyEntry> taken_;
  std::vector<LeasedJob> leased_;
  std::vector<Key8> keys_;
  std::vector<Slice> slices_;
  std::vector<rocksdb::PinnableSlice> payloads_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksdbPeer : public QueueUnderTest {
 public:
  explicit RocksdbPeer(const QueueSettings& settings);
  ~RocksdbPeer() override { close(); }

  std::unique_ptr<Caller> caller() override { return std::make_unique<RocksdbCaller>(*this); }
  Counts counts() override { return {scan_count(ready_), scan_count(leased_)}; }
  std::string note() const override;
  void close() override;

 private:
  friend class RocksdbCaller;

  uint64_t scan_count(ColumnFamilyHandle* family);
  void write(rocksdb::WriteBatch& batch, Durability durability);
  uint64_t begin_enqueue(size_t jobs);
  void end_enqueue(uint64_t first, size_t jobs);
  void take(size_t jobs_max, std::vector<ReadyEntry>* taken, std::vector<LeasedJob>* leased);
  void refill_window();
  void forget_leases(std::span<const LeasedJob> jobs);
  void flush_log_periodically();

  const QueueSettings settings_;
  rocksdb::DB* db_ = nullptr;
  ColumnFamilyHandle* jobs_ = nullptr;
  ColumnFamilyHandle* ready_ = nullptr;
  ColumnFamilyHandle* leased_ = nullptr;
  std::vector<ColumnFamilyHandle*> families_;

  std::mutex mutex_;       // guards all below up to the flusher
  uint64_t next_seq_ = 1;  // also the next job id
  uint64_t head_ = 1;      // first seq that is not in the window yet
  uint64_t next_generation_ = 1;
  std::set<uint64_t> enqueuing_;   // first seqs of enqueues that are not visible yet
  std::deque<ReadyEntry> window_;  // ready jobs before head_, in order
  std::unordered_map<uint64_t, uint64_t> leases_;  // id -> generation

  std::mutex flusher_mutex_;  // guards stopping_
  std::condition_variable flusher_wake_;
  bool stopping_ = false;
  std::thread flusher_;  // memory level only
};

rocksdb::Options database_options(const QueueSettings& settings) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.error_if_exists = true;
  options.IncreaseParallelism(2);
  options.recycle_log_file_num = 4;
  options.allow_concurrent_memtable_write = false;  // insert hints exclude it, and bring more
  options.max_total_wal_size = 256ull << 20;
  options.bytes_per_sync = 1 << 20;
  // Level "memory": the log stays in the process until a thread flushes it, as wq does it.
  options.manual_wal_flush = settings.durability == Durability::memory;
  return options;
}

RocksdbPeer::RocksdbPeer(const QueueSettings& settings) : settings_(settings) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = 64ull << 20;
  // Keys grow, so an insert begins where the last one ended: a fifth less CPU time a job.
  family.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
  family.compression = rocksdb::kNoCompression;  // the payloads are random
  const std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
      {rocksdb::kDefaultColumnFamilyName, family},
      {"jobs", family},
      {"ready", family},
      {"leased", family}};
  check(rocksdb::DB::Open(database_options(settings), settings.directory, descriptors, &families_,
                          &db_),
        "open");
  jobs_ = families_[1];
  ready_ = families_[2];
  leased_ = families_[3];
  if (settings.durability == Durability::memory) {
    flusher_ = std::thread([this] { flush_log_periodically(); });
  }
}

void RocksdbPeer::flush_log_periodically() {
  std::unique_lock lock(flusher_mutex_);
  while (!stopping_) {
    flusher_wake_.wait_for(lock, memory_window);
    check(db_->FlushWAL(true), "FlushWAL");
  }
}

void RocksdbPeer::close() {
  if (db_ == nullptr) return;
  if (flusher_.joinable()) {
    {
      const std::lock_guard lock(flusher_mutex_);
      stopping_ = true;
    }
    flusher_wake_.notify_one();
    flusher_.join();
  }
  check(db_->FlushWAL(true), "FlushWAL");
  for (ColumnFamilyHandle* family : families_) {
    check(db_->DestroyColumnFamilyHandle(family), "family");
  }
  check(db_->Close(), "close");
  delete db_;
  db_ = nullptr;
}

std::string RocksdbPeer::note() const {
  return "RocksDB " + std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
         std::to_string(ROCKSDB_PATCH);
}

uint64_t RocksdbPeer::scan_count(ColumnFamilyHandle* family) {
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions(), family));
  uint64_t rows = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) rows++;
  check(it->status(), "scan");
  return rows;
}

void RocksdbPeer::write(rocksdb::WriteBatch& batch, Durability durability) {
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::power;
  check(db_->Write(options, &batch), "write");
}

uint64_t RocksdbPeer::begin_enqueue(size_t jobs) {
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_seq_;
  next_seq_ += jobs;
  enqueuing_.insert(first);
  return first;
}

// Straight into the window if everything before is in it already; else a refill will find the rows.
void RocksdbPeer::end_enqueue(uint64_t first, size_t jobs) {
  const std::lock_guard lock(mutex_);
  enqueuing_.erase(first);
  if (head_ != first || window_.size() + jobs > window_jobs_max) return;
  for (uint64_t seq = first; seq < first + jobs; seq++) window_.push_back({seq, seq});
  head_ += jobs;
}

// Rows behind an enqueue that is still being written must wait, or the head would pass it by.
void RocksdbPeer::refill_window() {
  const uint64_t horizon = enqueuing_.empty() ? next_seq_ : *enqueuing_.begin();
  if (head_ >= horizon) return;
  const Key8 lower(head_);
  const Key8 upper(horizon);
  const Slice lower_slice = lower.slice();
  const Slice upper_slice = upper.slice();
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_slice;
  options.iterate_upper_bound = &upper_slice;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, ready_));
  for (it->Seek(lower_slice); it->Valid() && window_.size() < window_jobs_max; it->Next()) {
    window_.push_back({number_of(it->key()), number_of(it->value())});
  }
  check(it->status(), "refill");
  head_ = it->Valid() ? window_.back().seq + 1 : horizon;
}

void RocksdbPeer::take(size_t jobs_max, std::vector<ReadyEntry>* taken,
                       std::vector<LeasedJob>* leased) {
  const std::lock_guard lock(mutex_);
  if (window_.size() < jobs_max) refill_window();
  const size_t jobs = std::min(jobs_max, window_.size());
  for (size_t i = 0; i < jobs; i++) {
    const ReadyEntry entry = window_.front();
    window_.pop_front();
    const uint64_t generation = next_generation_++;
    leases_.emplace(entry.id, generation);
    taken->push_back(entry);
    leased->push_back({entry.id, generation, {}});
  }
}

void RocksdbPeer::forget_leases(std::span<const LeasedJob> jobs) {
  const std::lock_guard lock(mutex_);
  for (const LeasedJob& job : jobs) {
    const auto lease = leases_.find(job.id);
    if (lease == leases_.end() || lease->second != job.generation) fail("rocksdb: stale lease");
    leases_.erase(lease);
  }
}

void RocksdbCaller::enqueue(std::span<const std::string_view> payloads) {
  const uint64_t first = peer_.begin_enqueue(payloads.size());
  batch_.Clear();
  for (size_t i = 0; i < payloads.size(); i++) {
    const Key8 key(first + i);
    batch_.Put(peer_.jobs_, key.slice(), Slice(payloads[i].data(), payloads[i].size()));
    batch_.Put(peer_.ready_, key.slice(), key.slice());
  }
  peer_.write(batch_, peer_.settings_.durability);
  peer_.end_enqueue(first, payloads.size());
}

void RocksdbCaller::read_payloads() {
  keys_.clear();
  slices_.clear();
  payloads_.clear();
  for (const LeasedJob& job : leased_) keys_.emplace_back(job.id);
  for (const Key8& key : keys_) slices_.push_back(key.slice());
  payloads_.resize(leased_.size());
  statuses_.resize(leased_.size());
  peer_.db_->MultiGet(rocksdb::ReadOptions(), peer_.jobs_, slices_.size(), slices_.data(),
                      payloads_.data(), statuses_.data(), true);
  for (size_t i = 0; i < leased_.size(); i++) {
    check(statuses_[i], "read");
    leased_[i].payload = {payloads_[i].data(), payloads_[i].size()};
  }
}

std::span<const LeasedJob> RocksdbCaller::lease(size_t jobs_max) {
  taken_.clear();
  leased_.clear();
  peer_.take(jobs_max, &taken_, &leased_);
  if (taken_.empty()) return {};
  const auto deadline_ms = static_cast<uint64_t>(lease_ms) + now_ns() / 1'000'000;
  const Key16 lease_value(deadline_ms, 1);
  batch_.Clear();
  for (size_t i = 0; i < taken_.size(); i++) {
    const Key16 lease_key(leased_[i].id, leased_[i].generation);
    batch_.SingleDelete(peer_.ready_, Key8(taken_[i].seq).slice());
    batch_.Put(peer_.leased_, lease_key.slice(), lease_value.slice());
  }
  peer_.write(batch_, peer_.settings_.lease_durability);
  read_payloads();
  return leased_;
}

void RocksdbCaller::ack(std::span<const LeasedJob> jobs) {
  peer_.forget_leases(jobs);
  batch_.Clear();
  for (const LeasedJob& job : jobs) {
    batch_.SingleDelete(peer_.leased_, Key16(job.id, job.generation).slice());
    batch_.SingleDelete(peer_.jobs_, Key8(job.id).slice());
  }
  peer_.write(batch_, peer_.settings_.durability);
}

}  // namespace

std::unique_ptr<QueueUnderTest> open_rocksdb_peer(const QueueSettings& settings) {
  return std::make_unique<RocksdbPeer>(settings);
}

}  // namespace wq::bench
