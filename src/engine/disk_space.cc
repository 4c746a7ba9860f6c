// Room on the disk: how much of it a store plans with, what it keeps back, and what it does when
// that becomes short.
//
// Leases, settles and the checkpoints that follow must go on when nothing can be enqueued any more,
// so a part of the disk is kept back for them: the reserve. Half of it may be spare segments of the
// log, which only the log can be written to; half of it is free for the checkpoints.
#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

// For messages, rounded up.
std::string mib_text(uint64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

}  // namespace

EngineOptions options_for_disk(uint64_t capacity_bytes) {
  constexpr uint64_t segment_bytes_min = 1 << 20;
  EngineOptions options;
  const uint64_t part = capacity_bytes / 16 / segment_bytes_min * segment_bytes_min;
  options.segment_bytes = std::clamp(part, segment_bytes_min, options.segment_bytes);
  options.disk_reserve_bytes = std::min(options.disk_reserve_bytes, capacity_bytes / 8);
  options.checkpoint_log_bytes = std::min(options.checkpoint_log_bytes, capacity_bytes / 4);
  // What RocksDB has to write when it opens must fit into half of the reserve.
  constexpr uint64_t buffer_bytes_min = 256 << 10;
  options.store_buffer_bytes =
      std::clamp(capacity_bytes / 64, buffer_bytes_min, options.store_buffer_bytes);
  return options;
}

// Before anything is enqueued: room on the disk, in memory and in the log's buffer.
Status Engine::wait_for_space() {
  // A fast producer writes more than the reserve between two looks of the maintenance. Recycled
  // segments take no new space, but what the checkpoints make of the log does.
  const uint64_t reserve_bytes = options_.disk_reserve_bytes;
  const uint64_t written_bytes = log_bytes_since_look_.load(std::memory_order_relaxed);
  if (reserve_bytes != 0 && written_bytes > reserve_bytes / 16) check_disk_space();
  const uint64_t missing_bytes = disk_missing_bytes_.load(std::memory_order_relaxed);
  if (missing_bytes != 0 && !WQ_PLANTED(disk_reserve_ignored)) {
    return Status(Code::no_space, "the disk is nearly full: to enqueue again, free " +
                                      mib_text(missing_bytes) + "; below the reserve of " +
                                      mib_text(reserve_bytes) + " only leases and settles go on");
  }
  const bool memory_full = memory_full_.load(std::memory_order_relaxed);
  if (memory_full && !WQ_PLANTED(memory_limit_ignored)) WQ_TRY(wait_for_memory());
  return log_->wait_for_room();
}

// A log that has to grow on a disk without room would end with this record.
Status Engine::check_log_room(uint64_t record_bytes) {
  const uint64_t wanted_bytes = log_->room_wanted(record_bytes);
  if (wanted_bytes == 0 || WQ_PLANTED(log_room_unchecked)) return {};
  const Result<uint64_t> free = environment_.io->free_bytes(options_.directory);
  if (!free.ok() || free.value() >= wanted_bytes) return {};
  return Status(Code::no_space,
                "the disk is full: nothing was changed, as the log has no room for it; "
                "free some space and try again");
}

Engine::LogRoom::LogRoom(Engine& engine, uint64_t bytes)
    : engine_(engine),
      status_(WQ_PLANTED(stored_jobs_without_room) ? Status() : engine.check_log_room(bytes)) {
  engine_.log_room_known_ = !WQ_PLANTED(stored_jobs_without_room);
}

// One step; true = there is more to do. Half of the reserve stays free for the checkpoints.
bool Engine::prepare_spares() {
  const uint64_t kept_bytes = options_.disk_reserve_bytes / 2;
  const Result<uint64_t> free = environment_.io->free_bytes(options_.directory);
  const uint64_t room_bytes = !free.ok()                  ? UINT64_MAX
                              : free.value() > kept_bytes ? free.value() - kept_bytes
                                                          : 0;
  const Result<bool> more = log_->prepare_spares(room_bytes);
  return more.ok() && more.value();  // no room for spares is no failure: rotation copes
}

// What leases and settles can still be written with: half of the reserve may be spare segments,
// which the log goes on in. Those above that are given up when the disk is short.
uint64_t Engine::room_left(uint64_t free_bytes) {
  const uint64_t reserve_bytes = options_.disk_reserve_bytes;
  if (free_bytes >= reserve_bytes) return free_bytes;
  uint64_t spare_bytes = log_->stats().segments_spare * options_.segment_bytes;
  while (free_bytes < reserve_bytes / 2 &&
         spare_bytes >= reserve_bytes / 2 + options_.segment_bytes && log_->drop_spare()) {
    spare_bytes -= options_.segment_bytes;
    free_bytes += options_.segment_bytes;
  }
  return free_bytes + std::min(spare_bytes, reserve_bytes / 2);
}

void Engine::check_disk_space() {
  log_bytes_since_look_.store(0, std::memory_order_relaxed);
  const Result<uint64_t> free = environment_.io->free_bytes(options_.directory);
  if (!free.ok()) return;
  const uint64_t left_bytes = room_left(free.value());
  const bool is_full = left_bytes < options_.disk_reserve_bytes;
  disk_missing_bytes_.store(is_full ? options_.disk_reserve_bytes - left_bytes : 0);
  {
    MutexLock lock(mutex_);
    if (checkpoint_postponed_ && !checkpoint_wanted_) {  // there may be room by now
      checkpoint_wanted_ = true;
      checkpoint_wake_.notify_one();
    }
  }
  if (!is_full || log_->stats().segments_live <= 1) return;
  // The reserve is for the log of what makes the store smaller. Each small record that is waited
  // for takes a block of it, so the log is cut long before its usual length.
  MutexLock lock(mutex_);
  if (checkpoint_wanted_ || log_->last_lsn() == applied_lsn_) return;
  checkpoint_wanted_ = true;
  checkpoint_wake_.notify_one();
}

}  // namespace wq
