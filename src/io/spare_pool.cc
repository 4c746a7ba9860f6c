// Zero-filling, recycling and handing out of spare segments.
#include "io/spare_pool.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "io/io_transfer.h"
#include "io/segment.h"

namespace wq {
namespace {

constexpr uint64_t zero_step_bytes = uint64_t{4} << 20;

}  // namespace

std::string SparePool::next_path(const char* suffix) {
  MutexLock lock(mutex_);
  const std::string path = options_.log_directory + "/" + spare_file_name(next_number_++);
  return path + suffix;
}

uint64_t SparePool::ready() const {
  MutexLock lock(mutex_);
  return ready_.size();
}

Status SparePool::directory_failure() const {
  MutexLock lock(mutex_);
  return directory_failure_;
}

Status SparePool::sync_directory() {
  Status status = io_.sync_dir(options_.log_directory);
  if (!status.ok()) {
    MutexLock lock(mutex_);
    if (directory_failure_.ok()) directory_failure_ = status;
  }
  return status;
}

Status SparePool::adopt(const std::vector<std::string>& paths, uint64_t number_max) {
  {
    MutexLock lock(mutex_);
    next_number_ = number_max + 1;
  }
  for (const std::string& path : paths) {
    WQ_TRY_SET(const auto file, io_.open(path, OpenMode::read));
    WQ_TRY_SET(const uint64_t bytes, file->size());
    if (bytes != options_.segment_bytes) {
      WQ_TRY(io_.unlink(path));
      continue;
    }
    MutexLock lock(mutex_);
    // A name that is visible may not be durable yet. It need not be: the rename that makes the file
    // a segment is synced in any case. What it holds is not known, so it counts as recycled.
    ready_.push_back({path, true});
  }
  return Code::ok;
}

std::optional<SpareFile> SparePool::take() {
  MutexLock lock(mutex_);
  if (ready_.empty()) return std::nullopt;
  SpareFile spare = std::move(ready_.back());
  ready_.pop_back();
  return spare;
}

// One that grew while it was written to has holes, at least behind its last frame: a write into
// those is dear, and finds no room on a full disk.
Result<bool> SparePool::fit_for_spare(const std::string& path) {
  WQ_TRY_SET(const auto file, io_.open(path, OpenMode::read));
  WQ_TRY_SET(const uint64_t bytes, file->size());
  if (bytes != options_.segment_bytes) return false;
  WQ_TRY_SET(const uint64_t allocated_bytes, file->allocated_bytes());
  return allocated_bytes >= bytes;
}

Status SparePool::recycle(const std::vector<std::string>& paths) {
  if (paths.empty()) return Code::ok;
  std::vector<SpareFile> renamed;
  for (const std::string& path : paths) {
    WQ_TRY_SET(const bool fit, fit_for_spare(path));
    if (!fit || ready() + renamed.size() >= options_.kept_max) {
      WQ_TRY(io_.unlink(path));
      continue;
    }
    const std::string spare = next_path("");
    WQ_TRY(io_.rename(path, spare));
    renamed.push_back({spare, true});
  }
  // Not before this may one of them be written to: were its rename undone by a crash, a new
  // segment's header would stand under the old one's name.
  if (!WQ_PLANTED(recycled_name_unsynced)) WQ_TRY(sync_directory());
  MutexLock lock(mutex_);
  ready_.insert(ready_.end(), renamed.begin(), renamed.end());
  return Code::ok;
}

Status SparePool::begin_spare() {
  WQ_TRY_SET(unfinished_, io_.open(next_path(".tmp"), OpenMode::create));
  zeroed_bytes_ = 0;
  return Code::ok;
}

void SparePool::drop_unfinished() {
  const std::string path = unfinished_->path();
  unfinished_.reset();
  io_.unlink(path).ignore("open() removes temp files, too");
}

Status SparePool::finish_spare() {
  WQ_TRY(unfinished_->sync());
  // Zeros written in large pieces are cached in large pieces, and each small write into one of
  // those costs time in proportion to the piece (ext4, Linux 6.16 and later).
  unfinished_->forget_cached();
  const std::string path = next_path("");
  WQ_TRY(io_.rename(unfinished_->path(), path));
  unfinished_.reset();
  WQ_TRY(sync_directory());
  MutexLock lock(mutex_);
  // Behind the recycled ones, so that it is taken first.
  ready_.push_back({path, false});
  return Code::ok;
}

Result<bool> SparePool::zero_step(IoQueue& queue) {
  const uint64_t step = std::min(zero_step_bytes, options_.segment_bytes - zeroed_bytes_);
  WQ_TRY(write_zeros(queue, *unfinished_, zeroed_bytes_, step));
  zeroed_bytes_ += step;
  if (zeroed_bytes_ < options_.segment_bytes) return true;
  WQ_TRY(finish_spare());
  return ready() < options_.prepared_max;
}

Result<bool> SparePool::prepare_step(uint64_t room_bytes) {
  MutexLock work(work_mutex_);
  WQ_TRY(directory_failure());
  if (unfinished_ == nullptr) {
    if (ready() >= options_.prepared_max || room_bytes < options_.segment_bytes) return false;
    WQ_TRY(begin_spare());
  }
  // A queue per step: steps are rare, and an idle store keeps no ring for them.
  auto queue = io_.open_queue();
  if (!queue.ok()) return queue.take_status();
  auto more = zero_step(**queue);
  if (!more.ok() && unfinished_ != nullptr) drop_unfinished();
  return more;
}

}  // namespace wq
