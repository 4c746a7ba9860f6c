// A simulated file system for tests: SimDisk is the hardware and survives a crash, mount() gives an
// Io on it, which does not.
//
// Fault model. Each file has the bytes that the device holds for certain (pristine) and a list of
// writes that no barrier has covered; each directory has the names that are durable and a list of
// changes that no directory sync has covered. A crash keeps any part of what is not covered, in any
// order, torn at sectors: see CrashImage. A write with RWF_DSYNC covers its own bytes and nothing
// else. A barrier that fails drops what it should have covered, while reads through the page cache
// go on showing it, as on ext4 and XFS; direct reads tell the truth. Operations of one queue
// complete in a seeded random order.
//
// Ways to use it:
//   faults        disk.inject({.ops = sim_writes, .path = ".seg", .skip = 3, .error = EIO});
//   crash here    SimDisk after = disk.image({.data = CrashData::random, .seed = 7});
//   crash at k    disk.start_recording(); ...script...; for (SimHistory h(disk); h.step();)
//                   check(h.disk().image(...));  // the state after each event in turn
//   full disk     disk.set_capacity(bytes);
//   blocked disk  SimGate gate(disk, sim_syncs, ".seg"); gate.wait_until_held(); gate.open();
//   fsync-gate    disk.inject({.ops = sim_syncs, .error = EIO});  // the data is dropped as well
// Thread model: a SimDisk and its mounts may be used from any thread.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "io/io.h"

namespace wq {

// Kinds of operations, as bits of a mask.
enum SimOps : uint32_t {
  sim_read = 1U << 0,
  sim_write = 1U << 1,  // plain
  sim_write_dsync = 1U << 2,
  sim_fdatasync = 1U << 3,
  sim_fsync = 1U << 4,  // File::sync
  sim_open = 1U << 5,   // of an existing file
  sim_create = 1U << 6,
  sim_resize = 1U << 7,
  sim_rename = 1U << 8,
  sim_unlink = 1U << 9,
  sim_make_dir = 1U << 10,
  sim_sync_dir = 1U << 11,
  sim_list = 1U << 12,
  sim_link = 1U << 13,
  sim_writes = sim_write | sim_write_dsync,
  sim_syncs = sim_fdatasync | sim_fsync | sim_write_dsync,
  sim_changes = sim_writes | sim_syncs | sim_create | sim_resize | sim_rename | sim_unlink |
                sim_make_dir | sim_sync_dir | sim_link,
  sim_all = 0xffffffff,
};

struct SimFault {
  uint32_t ops = sim_changes;
  std::string path{};      // part of the path; empty = any. A rename matches by either name.
  uint64_t skip = 0;       // matching operations that pass before it strikes
  bool sticky = false;     // strikes once, or from then on
  int error = EIO;         // 0 = cut the transfer short instead of failing it
  bool keep_data = false;  // a failing barrier leaves its bytes dirty instead of dropping them
  int64_t misdirect = 0;   // not 0: a write succeeds, so many bytes away from where it belongs
};

enum class CrashData : uint8_t {
  none,    // nothing that no barrier covers
  all,     // everything
  random,  // each sector of each write by the toss of a coin
  torn,    // everything but a part of the last write
  prefix,  // the first `keep` writes and the first `tear_bytes` bytes of the next one
};
enum class CrashNames : uint8_t { none, all, prefix, random };

struct CrashImage {
  CrashData data = CrashData::none;
  CrashNames names = CrashNames::none;
  uint32_t sector_bytes = 512;  // unit of `random` and `torn`; 1 tears inside sectors
  uint64_t seed = 1;
  uint64_t keep = 0;        // of `prefix`: in the order in which they were made, over all files
  uint64_t tear_bytes = 0;  // of `prefix`
  // Files whose path has this in it keep a prefix of their writes, cut anywhere, in place of
  // sectors here and there: what ext4 and XFS give to a file that only grows, whose length they
  // change last.
  const char* in_order = nullptr;
};

struct SimState;

class SimDisk {
 public:
  explicit SimDisk(uint64_t seed = 1);
  ~SimDisk();
  SimDisk(SimDisk&&) noexcept;
  SimDisk& operator=(SimDisk&&) noexcept;

  // An Io on the disk as it is now. It must not outlive the disk.
  std::unique_ptr<Io> mount();

  // A second name for a file, also in another directory. Io has none, RocksDB wants it.
  Status link(const std::string& from, const std::string& to);

  // What a machine would find on this disk if it lost power now. The disk itself goes on.
  SimDisk image(const CrashImage& crash) const;
  SimDisk copy() const;  // with all that is not durable
  // The lengths of the writes that no barrier covers, in the order in which they were made.
  std::vector<uint64_t> unsynced_writes() const;

  // Returns a number for fault_hits().
  size_t inject(const SimFault& fault);
  uint64_t fault_hits(size_t fault) const;
  void clear_faults();
  std::string first_struck() const;  // what the first fault met: "write store/log/...seg"

  void add_dir(const std::string& path);  // one that is there from the beginning, beside "."
  void set_capacity(uint64_t bytes);      // of all files together, in 4096-byte blocks
  void set_reorder(bool reorder);         // default true

  // Each change of the disk, and each barrier, is one event.
  uint64_t events() const;
  // From event `count` on nothing happens any more and every call fails with EIO, as if the machine
  // had stopped there.
  void stop_after(uint64_t count);
  bool has_stopped() const;
  void start_recording();
  // Of the kinds, places and lengths of all recorded events; of the bytes only outside of RocksDB's
  // directories, whose files hold random session ids.
  uint64_t trace_hash() const;
  uint64_t operations(uint32_t ops) const;  // carried out so far

  // Direct access for tests that damage files. Both change what is durable.
  std::vector<std::byte> read_file(const std::string& path) const;
  void write_file(const std::string& path, const std::vector<std::byte>& bytes);
  bool has_file(const std::string& path) const;
  std::vector<std::string> files() const;  // all paths, sorted
  void remove_file(const std::string& path);

 private:
  friend class SimHistory;
  friend class SimGate;
  explicit SimDisk(std::unique_ptr<SimState> state);
  std::unique_ptr<SimState> state_;
};

// Steps through the events that a disk recorded.
class SimHistory {
 public:
  explicit SimHistory(const SimDisk& recorded);
  ~SimHistory();
  // Carries out the next event; false when there is none. disk() starts as it was at
  // start_recording().
  bool step();
  uint64_t event() const { return event_; }  // number of events carried out
  const SimDisk& disk() const { return disk_; }

 private:
  const SimDisk& recorded_;
  SimDisk disk_;
  uint64_t event_ = 0;
};

// Holds matching data operations back until it is opened or destroyed.
class SimGate {
 public:
  SimGate(SimDisk& disk, uint32_t ops, std::string path);
  ~SimGate();
  void wait_until_held(uint32_t operations = 1);  // so many are waiting at the gate
  uint32_t held() const;
  void open();

 private:
  SimState& state_;
};

}  // namespace wq
