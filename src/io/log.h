// Log: the ordered, durable record of everything that happened to a store. The engine sees only
// this interface (DESIGN D9): nothing above may assume that a log is a local file. SegmentLog
// (segment_log.h) is the implementation on segments of the local file system.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/codec.h"
#include "base/histogram.h"
#include "base/result.h"
#include "base/status.h"

namespace wq {

using Lsn = uint64_t;  // 1, 2, 3, ... one per record; 0 = none

// What an OK promises to survive. The numbers are part of the C ABI.
enum class Durability : uint32_t {
  memory = 1,   // nothing yet; a background flush follows within LogOptions::memory_window_ms
  process = 2,  // the kernel has the bytes: survives kill -9, not power loss
  power = 3,    // the device has the bytes: survives power loss
};

// What opening found and did (R14). Silent repair is a bug: anything cut is named here.
struct LogRecovery {
  Lsn first_lsn = 0;  // oldest record still readable; 0 = the log is empty
  Lsn last_lsn = 0;   // newest valid record; 0 = the log is empty
  uint64_t segments = 0;
  uint64_t truncated_bytes = 0;  // torn tail that was cut
  uint64_t temp_files_removed = 0;
  // "log/0000000000000003.seg at 8192: no valid frame header"; empty = nothing cut
  std::string truncated_where;
};

struct LogStats {
  uint64_t appended_records = 0;
  uint64_t appended_bytes = 0;
  uint64_t written_bytes = 0;  // bytes handed to the device, padding and headers included
  uint64_t flushes = 0;        // groups that ended with a barrier
  uint64_t writes = 0;         // groups that ended in the kernel only
  uint64_t flush_ns_total = 0;
  uint64_t flush_ns_max = 0;
  uint64_t segments_live = 0;
  uint64_t segments_spare = 0;
  uint64_t live_bytes = 0;  // bytes of records that trim() has not released
  uint64_t waiters = 0;     // threads asleep until a group that somebody else flushes is done
  Histogram flush_us;       // of groups that ended with a barrier
  Histogram commit_us;      // of callers that waited in wait() until their record was safe
  uint64_t room_waits = 0;  // times that wait_for_room() had to wait
};

class Log {
 public:
  virtual ~Log() = default;

  // Copies one record into the buffer and gives it the next LSN. No I/O, no waiting. One caller at
  // a time, in the order that the LSNs shall have. POISONED after any failed write or flush.
  virtual Result<Lsn> append(Bytes body) = 0;

  // Called before append with no lock held: waits while more than the bound of unflushed bytes is
  // buffered, helping to flush. Keeps memory bounded and the never-reused ids rule checkable.
  virtual Status wait_for_room() = 0;

  // Blocks until `lsn` has reached `level`. The caller flushes for everybody if nobody is flushing
  // (greedy group commit: no timer, no thread switch for a serial caller); else it waits for the
  // group that covers it. OK only after the barrier's own completion was checked. POISONED with the
  // first cause after a failure. `timeout_ms` < 0 waits for ever; TIMEOUT leaves the record alone.
  virtual Status wait(Lsn lsn, Durability level, int64_t timeout_ms = -1) = 0;

  // Asks that `lsn` reach `level` soon without waiting: run_flusher() of another thread, or any
  // wait() that covers it, does the work. Progress is told to the listener.
  virtual void request(Lsn lsn, Durability level) = 0;

  // Body of the background flusher: waits at most `max_wait_ms` for requested or window-expired
  // bytes, flushes them, returns. With max_wait_ms = 0 it never sleeps.
  virtual Status run_flusher(int64_t max_wait_ms) = 0;
  // From now on run_flusher() does not sleep; a sleeping one wakes up. For who is about to join it.
  virtual void release_flusher() = 0;

  // Called with no lock of the log held, from whichever thread flushed, each time the durable or
  // process LSN advanced, and once when the log failed. Set before the first append.
  virtual void set_listener(std::function<void()> listener) = 0;

  virtual Lsn last_lsn() const = 0;     // newest appended
  virtual Lsn process_lsn() const = 0;  // all up to here survive kill -9
  virtual Lsn durable_lsn() const = 0;  // all up to here survive power loss; published in order
  virtual Status failure() const = 0;   // ok, or POISONED with the first cause

  // Calls `visit(lsn, body)` for each record from `from` on, in order, as found at open. CORRUPT
  // with file and offset if a record below last_lsn can not be read. Before the first append only.
  virtual Status replay(Lsn from, const std::function<Status(Lsn, Bytes)>& visit) = 0;

  // From now on trim() keeps the records from `from` on, until let_go(). One hold at a time, and
  // none is taken while trim() runs.
  virtual void hold(Lsn from) = 0;
  virtual void let_go() = 0;
  // Calls `visit(lsn, body)` for each record of [from, to], in order, while others go on appending.
  // Needs a hold at or below `from`; `to` must be durable. CORRUPT with file and offset if one can
  // not be read. A failure of `visit` ends it and is returned as it is.
  virtual Status read(Lsn from, Lsn to, const std::function<Status(Lsn, Bytes)>& visit) = 0;

  // Releases segments whose records are all below `lsn`; they are recycled, not deleted.
  virtual Status trim(Lsn lsn) = 0;

  // What the disk must have free so that the log can write what it has buffered and one record more
  // of `body_bytes`; 0 while all of that goes into segments made ahead of time, which is the rule.
  // For who is about to append: a write that finds no room is the end of the log.
  virtual uint64_t room_wanted(size_t body_bytes) const = 0;

  // Background work: zero-fills spare segments until the configured number is there, and begins
  // none that needs more than `room_bytes`. Does at most one step of a few MiB per call; true =
  // more to do.
  virtual Result<bool> prepare_spares(uint64_t room_bytes = UINT64_MAX) = 0;

  // Deletes a spare segment, for its space. False: there was none that the records appended so far
  // do without.
  virtual bool drop_spare() = 0;

  virtual LogStats stats() const = 0;

  // Flushes everything to power level, or reports why it could not. No call after it.
  virtual Status close() = 0;
};

}  // namespace wq
