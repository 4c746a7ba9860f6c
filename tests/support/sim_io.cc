// SimDisk, its mounts, crash images and the replay of recorded events.
#include "support/sim_io.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "base/hash.h"
#include "base/prng.h"

namespace wq {
namespace {

constexpr uint64_t block_bytes = 4096;

using ByteVector = std::vector<std::byte>;
using InodeId = uint64_t;

// A write, or a change of the length (no data), that no barrier has covered.
struct Uncovered {
  uint64_t offset = 0;
  ByteVector data;
  std::optional<uint64_t> resize;
  uint64_t order = 0;  // among all of the disk
};

void apply_bytes(ByteVector& file, uint64_t offset, Bytes data) {
  if (file.size() < offset + data.size()) file.resize(offset + data.size());
  if (!data.empty()) std::memcpy(file.data() + offset, data.data(), data.size());
}

void apply(ByteVector& file, const Uncovered& change) {
  if (change.resize) {
    file.resize(*change.resize);
  } else {
    apply_bytes(file, change.offset, change.data);
  }
}

struct Inode {
  ByteVector cached;    // what buffered reads see
  ByteVector pristine;  // what the device holds for certain
  std::vector<Uncovered> uncovered;
  bool dropped = false;       // a failed barrier lost bytes that `cached` still shows
  std::set<uint64_t> blocks;  // that occupy room

  ByteVector device_view() const {
    ByteVector view = pristine;
    for (const Uncovered& change : uncovered) apply(view, change);
    return view;
  }
  void cover_all() {
    for (const Uncovered& change : uncovered) apply(pristine, change);
    uncovered.clear();
  }
  // The bytes go to the device now, so no older write may come after them.
  void cover_range(uint64_t offset, Bytes data) {
    const uint64_t end = offset + data.size();
    std::vector<Uncovered> rest;
    for (Uncovered& change : uncovered) {
      const uint64_t change_end = change.offset + change.data.size();
      if (change.resize || change_end <= offset || change.offset >= end) {
        rest.push_back(std::move(change));
        continue;
      }
      if (change.offset < offset) {
        const auto keep = static_cast<ptrdiff_t>(offset - change.offset);
        rest.push_back(
            {change.offset, {change.data.begin(), change.data.begin() + keep}, {}, change.order});
      }
      if (change_end > end) {
        const auto skip = static_cast<ptrdiff_t>(end - change.offset);
        rest.push_back({end, {change.data.begin() + skip, change.data.end()}, {}, change.order});
      }
    }
    uncovered = std::move(rest);
    apply_bytes(pristine, offset, data);
  }
};

// A change of names in one directory.
struct NameChange {
  std::string directory;
  std::string from;  // rename, unlink
  std::string to;    // rename, create
  InodeId inode = 0;
  bool make_dir = false;
  bool of_dir = false;  // `from` is a directory: it goes away, or moves with all that is in it
};

using Names = std::map<std::string, InodeId>;

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void move_dir(Names& names, std::set<std::string>& dirs, const NameChange& change) {
  if (dirs.erase(change.from) == 0) return;
  if (change.to.empty()) return;
  dirs.insert(change.to);
  const std::string prefix = change.from + "/";
  const auto moved = [&](const std::string& path) {
    return change.to + "/" + path.substr(prefix.size());
  };
  std::set<std::string> old_dirs = std::exchange(dirs, {});
  for (const std::string& dir : old_dirs) dirs.insert(dir.starts_with(prefix) ? moved(dir) : dir);
  Names old_names = std::exchange(names, {});
  for (const auto& [path, id] : old_names)
    names[path.starts_with(prefix) ? moved(path) : path] = id;
}

void apply(Names& names, std::set<std::string>& dirs, const NameChange& change) {
  if (change.of_dir) return move_dir(names, dirs, change);
  if (change.make_dir) {
    dirs.insert(change.to);
    return;
  }
  if (!change.from.empty()) {
    const auto old = names.find(change.from);
    // Its creation did not survive, so there is nothing to move or remove.
    if (old == names.end() || old->second != change.inode) return;
    names.erase(old);
  }
  if (!change.to.empty()) names[change.to] = change.inode;
}

// What stands in a directory whose own name was lost is lost as well.
void drop_unreachable(Names& names, std::set<std::string>& dirs) {
  // In their order a directory comes before what is in it.
  for (auto dir = dirs.begin(); dir != dirs.end();) {
    dir = *dir == "." || dirs.contains(parent_of(*dir)) ? std::next(dir) : dirs.erase(dir);
  }
  std::erase_if(names, [&](const auto& name) { return !dirs.contains(parent_of(name.first)); });
}

struct Event {
  enum class Kind : uint8_t { write, resize, cover_range, cover_all, drop, name, sync_dir };
  Kind kind = Kind::write;
  InodeId inode = 0;
  uint64_t offset = 0;  // resize: the length
  ByteVector data;
  NameChange name;
  std::string directory;
};

const char* op_name(uint32_t op) {
  constexpr const char* names[] = {"read",  "write",    "write_dsync", "fdatasync", "fsync",
                                   "open",  "create",   "resize",      "rename",    "unlink",
                                   "mkdir", "sync_dir", "list",        "link"};
  return names[std::countr_zero(op)];
}

}  // namespace

struct SimState {
  struct Injected {
    SimFault fault;
    uint64_t seen = 0;
    uint64_t hits = 0;
  };

  explicit SimState(uint64_t seed) : prng(seed) {}

  mutable Mutex mutex;
  CondVar gate_changed;
  Prng prng WQ_GUARDED_BY(mutex);
  std::map<InodeId, Inode> inodes WQ_GUARDED_BY(mutex);
  InodeId next_inode WQ_GUARDED_BY(mutex) = 1;
  uint64_t next_write WQ_GUARDED_BY(mutex) = 1;
  Names names WQ_GUARDED_BY(mutex);
  Names durable_names WQ_GUARDED_BY(mutex);
  std::set<std::string> dirs WQ_GUARDED_BY(mutex){"."};
  std::set<std::string> durable_dirs WQ_GUARDED_BY(mutex){"."};
  std::vector<NameChange> name_changes WQ_GUARDED_BY(mutex);
  std::set<std::string> locks WQ_GUARDED_BY(mutex);

  std::vector<Injected> faults WQ_GUARDED_BY(mutex);
  std::string first_struck WQ_GUARDED_BY(mutex);
  std::map<uint32_t, uint64_t> op_counts WQ_GUARDED_BY(mutex);
  uint64_t capacity WQ_GUARDED_BY(mutex) = UINT64_MAX;
  bool reorder WQ_GUARDED_BY(mutex) = true;
  uint64_t events WQ_GUARDED_BY(mutex) = 0;
  uint64_t stop_after WQ_GUARDED_BY(mutex) = UINT64_MAX;

  bool recording WQ_GUARDED_BY(mutex) = false;
  std::unique_ptr<SimState> recorded_start WQ_GUARDED_BY(mutex);
  std::vector<Event> recorded WQ_GUARDED_BY(mutex);

  uint32_t gate_ops WQ_GUARDED_BY(mutex) = 0;
  std::string gate_path WQ_GUARDED_BY(mutex);
  uint32_t gate_held WQ_GUARDED_BY(mutex) = 0;

  // False: the machine has stopped.
  bool happen(Event event) WQ_REQUIRES(mutex);
  void carry_out(const Event& event) WQ_REQUIRES(mutex);
  // The errno that strikes this operation; empty: none; 0: cut it short.
  std::optional<SimFault> strike(uint32_t op, const std::string& path,
                                 const std::string& other = "") WQ_REQUIRES(mutex);
  void pass_gate(uint32_t op, const std::string& path) WQ_REQUIRES(mutex);
  uint64_t used_bytes() const WQ_REQUIRES(mutex);
  size_t room_for(Inode& inode, uint64_t offset, size_t bytes) WQ_REQUIRES(mutex);
  int64_t run(const IoOp& op, const std::string& path, InodeId id, bool direct) WQ_REQUIRES(mutex);
  int64_t run_write(const IoOp& op, const std::string& path, InodeId id) WQ_REQUIRES(mutex);
  int64_t run_barrier(uint32_t kind, const std::string& path, InodeId id) WQ_REQUIRES(mutex);
  void copy_contents(const SimState& from) WQ_REQUIRES(mutex);
  // Writes that no barrier covers: their order and length.
  std::map<uint64_t, uint64_t> unsynced() const WQ_REQUIRES(mutex);
  bool stopped() const WQ_REQUIRES(mutex) { return events >= stop_after; }
};

void SimState::copy_contents(const SimState& from) WQ_NO_THREAD_SAFETY_ANALYSIS {
  inodes = from.inodes;
  next_inode = from.next_inode;
  next_write = from.next_write;
  names = from.names;
  durable_names = from.durable_names;
  dirs = from.dirs;
  durable_dirs = from.durable_dirs;
  name_changes = from.name_changes;
}

std::map<uint64_t, uint64_t> SimState::unsynced() const {
  std::map<uint64_t, uint64_t> found;
  for (const auto& [id, inode] : inodes) {
    for (const Uncovered& change : inode.uncovered) found[change.order] += change.data.size();
  }
  return found;
}

void SimState::carry_out(const Event& event) {
  Inode* const inode = event.inode != 0 ? &inodes[event.inode] : nullptr;
  switch (event.kind) {
    case Event::Kind::write:
      apply_bytes(inode->cached, event.offset, event.data);
      inode->uncovered.push_back({event.offset, event.data, {}, next_write++});
      break;
    case Event::Kind::resize:
      inode->cached.resize(event.offset);
      inode->uncovered.push_back({0, {}, event.offset, next_write++});
      break;
    case Event::Kind::cover_range:
      inode->cover_range(event.offset, event.data);
      break;
    case Event::Kind::cover_all:
      inode->cover_all();
      break;
    case Event::Kind::drop:
      inode->uncovered.clear();
      inode->dropped = true;
      break;
    case Event::Kind::name:
      // Also when replayed: an inode number is never given twice.
      next_inode = std::max(next_inode, event.name.inode + 1);
      apply(names, dirs, event.name);
      name_changes.push_back(event.name);
      break;
    case Event::Kind::sync_dir: {
      std::vector<NameChange> rest;
      for (NameChange& change : name_changes) {
        if (change.directory == event.directory) {
          apply(durable_names, durable_dirs, change);
        } else {
          rest.push_back(std::move(change));
        }
      }
      name_changes = std::move(rest);
      break;
    }
  }
}

bool SimState::happen(Event event) {
  if (stopped()) return false;
  ++events;
  carry_out(event);
  if (recording) recorded.push_back(std::move(event));
  return true;
}

std::optional<SimFault> SimState::strike(uint32_t op, const std::string& path,
                                         const std::string& other) {
  ++op_counts[op];
  if (stopped()) return SimFault{};
  std::optional<SimFault> struck;
  for (Injected& injected : faults) {
    const SimFault& fault = injected.fault;
    const bool named = path.find(fault.path) != std::string::npos ||
                       (!other.empty() && other.find(fault.path) != std::string::npos);
    if ((fault.ops & op) == 0 || !named) continue;
    const uint64_t number = injected.seen++;
    if (number < fault.skip || (number > fault.skip && !fault.sticky)) continue;
    ++injected.hits;
    if (first_struck.empty()) first_struck = std::string(op_name(op)) + " " + path;
    if (!struck) struck = fault;
  }
  return struck;
}

void SimState::pass_gate(uint32_t op, const std::string& path) {
  const auto closed = [&]() WQ_NO_THREAD_SAFETY_ANALYSIS {
    return (gate_ops & op) != 0 && path.find(gate_path) != std::string::npos;
  };
  if (!closed()) return;
  ++gate_held;
  gate_changed.notify_all();
  while (closed()) gate_changed.wait(mutex);
  --gate_held;
}

uint64_t SimState::used_bytes() const {
  uint64_t blocks = 0;
  for (const auto& [path, id] : names) {
    const auto inode = inodes.find(id);
    if (inode != inodes.end()) blocks += inode->second.blocks.size();
  }
  return blocks * block_bytes;
}

// How many of the bytes find room; takes it.
size_t SimState::room_for(Inode& inode, uint64_t offset, size_t bytes) {
  if (bytes == 0) return 0;
  uint64_t free = UINT64_MAX;
  if (capacity != UINT64_MAX) {
    const uint64_t used = used_bytes();
    free = used < capacity ? (capacity - used) / block_bytes : 0;
  }
  for (uint64_t block = offset / block_bytes; block <= (offset + bytes - 1) / block_bytes;
       ++block) {
    if (inode.blocks.contains(block)) continue;
    if (free == 0) return block * block_bytes <= offset ? 0 : block * block_bytes - offset;
    --free;
    inode.blocks.insert(block);
  }
  return bytes;
}

int64_t SimState::run_write(const IoOp& op, const std::string& path, InodeId id) {
  const uint32_t kind = op.kind == IoKind::write ? sim_write : sim_write_dsync;
  const auto struck = strike(kind, path);
  size_t bytes = op.bytes;
  const bool misdirected = struck && struck->misdirect != 0;
  if (struck && struck->error == 0 && !misdirected) bytes = bytes > 1 ? bytes / 2 : bytes;
  const bool fails = struck && struck->error != 0 && !misdirected;
  // EINTR and EAGAIN mean that nothing was begun; a device error may strike half way.
  if (fails && (struck->error == EINTR || struck->error == EAGAIN)) return -struck->error;
  if (fails && kind == sim_write) return -struck->error;
  Inode& inode = inodes[id];
  bytes = room_for(inode, op.offset, bytes);
  if (bytes == 0 && op.bytes > 0) return -ENOSPC;
  const Bytes data{op.data, bytes};
  const ByteVector copy(data.begin(), data.end());
  uint64_t offset = op.offset;
  if (misdirected) {
    offset = static_cast<uint64_t>(
        std::max<int64_t>(0, static_cast<int64_t>(offset) + struck->misdirect));
  }
  if (!happen({Event::Kind::write, id, offset, copy, {}, {}})) return -EIO;
  if (fails) {
    if (!struck->keep_data) happen({Event::Kind::drop, id, 0, {}, {}, {}});
    return -struck->error;
  }
  if (kind == sim_write_dsync && !happen({Event::Kind::cover_range, id, offset, copy, {}, {}})) {
    return -EIO;
  }
  return static_cast<int64_t>(bytes);
}

int64_t SimState::run_barrier(uint32_t kind, const std::string& path, InodeId id) {
  if (const auto struck = strike(kind, path); struck && struck->error != 0) {
    if (!struck->keep_data) happen({Event::Kind::drop, id, 0, {}, {}, {}});
    return -struck->error;
  }
  return happen({Event::Kind::cover_all, id, 0, {}, {}, {}}) ? 0 : -EIO;
}

int64_t SimState::run(const IoOp& op, const std::string& path, InodeId id, bool direct) {
  if (direct && op.kind != IoKind::fdatasync &&
      (reinterpret_cast<uintptr_t>(op.data) % block_bytes != 0 || op.offset % block_bytes != 0 ||
       op.bytes % block_bytes != 0)) {
    return -EINVAL;
  }
  switch (op.kind) {
    case IoKind::write:
      pass_gate(sim_write, path);
      return run_write(op, path, id);
    case IoKind::write_dsync:
      pass_gate(sim_write_dsync, path);
      return run_write(op, path, id);
    case IoKind::fdatasync:
      pass_gate(sim_fdatasync, path);
      return run_barrier(sim_fdatasync, path, id);
    case IoKind::read:
      break;
  }
  pass_gate(sim_read, path);
  const auto struck = strike(sim_read, path);
  if (struck && struck->error != 0) return -struck->error;
  const Inode& inode = inodes[id];
  const ByteVector view = direct && inode.dropped ? inode.device_view() : ByteVector{};
  const ByteVector& file = direct && inode.dropped ? view : inode.cached;
  if (op.offset >= file.size()) return 0;
  size_t bytes = std::min<size_t>(op.bytes, file.size() - op.offset);
  if (struck && bytes > 1) bytes /= 2;
  std::memcpy(op.data, file.data() + op.offset, bytes);
  return static_cast<int64_t>(bytes);
}

namespace {

class SimFile final : public File {
 public:
  SimFile(SimState& state, std::string path, InodeId id, bool direct)
      : state_(state), path_(std::move(path)), id_(id), direct_(direct) {}

  const std::string& path() const override { return path_; }
  Result<uint64_t> size() override {
    MutexLock lock(state_.mutex);
    if (state_.stopped()) return status_from_errno(EIO, path_, "fstat");
    return static_cast<uint64_t>(state_.inodes[id_].cached.size());
  }
  Result<uint64_t> allocated_bytes() override {
    MutexLock lock(state_.mutex);
    return state_.inodes[id_].blocks.size() * block_bytes;
  }
  Status resize(uint64_t bytes) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_resize, path_)) {
      return status_from_errno(struck->error, path_, "ftruncate");
    }
    if (!state_.happen({Event::Kind::resize, id_, bytes, {}, {}, {}})) {
      return status_from_errno(EIO, path_, "ftruncate");
    }
    return Code::ok;
  }
  Status sync() override {
    MutexLock lock(state_.mutex);
    state_.pass_gate(sim_fsync, path_);
    const int64_t result = state_.run_barrier(sim_fsync, path_, id_);
    return result == 0 ? Status(Code::ok)
                       : status_from_errno(static_cast<int>(-result), path_, "fsync");
  }
  InodeId id() const { return id_; }
  bool direct() const { return direct_; }

 private:
  SimState& state_;
  const std::string path_;
  const InodeId id_;
  const bool direct_;
};

class SimQueue final : public IoQueue {
 public:
  explicit SimQueue(SimState& state) : state_(state) {}
  ~SimQueue() override { wait(SIZE_MAX); }

  void submit(IoOp& op) override {
    op.done = false;
    waiting_.push_back(&op);
  }
  // Completes as few as asked for, picked at random: the others stay late.
  void wait(size_t count) override {
    MutexLock lock(state_.mutex);
    for (size_t i = 0; i < count && !waiting_.empty(); ++i) {
      const size_t pick = state_.reorder ? state_.prng.below(waiting_.size()) : 0;
      IoOp* const op = waiting_[pick];
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(pick));
      const auto* const file = static_cast<const SimFile*>(op->file);
      op->result = state_.run(*op, file->path(), file->id(), file->direct());
      op->done = true;
    }
  }
  size_t in_flight() const override { return waiting_.size(); }

 private:
  SimState& state_;
  std::vector<IoOp*> waiting_;
};

class SimDirLock final : public DirLock {
 public:
  SimDirLock(SimState& state, std::string directory)
      : state_(state), directory_(std::move(directory)) {}
  ~SimDirLock() override {
    MutexLock lock(state_.mutex);
    state_.locks.erase(directory_);
  }

 private:
  SimState& state_;
  const std::string directory_;
};

Status no_entry(const std::string& path, const char* operation) {
  return Status(Code::not_found, path + ": " + operation + ": No such file or directory", ENOENT);
}

class SimIo final : public Io {
 public:
  explicit SimIo(SimState& state) : state_(state) {}
  const char* name() const override { return "sim"; }

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    MutexLock lock(state_.mutex);
    const bool create = mode == OpenMode::create;
    if (const auto struck = state_.strike(create ? sim_create : sim_open, path)) {
      return status_from_errno(struck->error, path, "open");
    }
    if (!state_.dirs.contains(parent_of(path))) return no_entry(path, "open");
    const auto found = state_.names.find(path);
    if (!create && found == state_.names.end()) return no_entry(path, "open");
    if (create && found != state_.names.end()) return status_from_errno(EEXIST, path, "open");
    InodeId id = create ? state_.next_inode++ : found->second;
    if (create) {
      const NameChange change{parent_of(path), "", path, id, false};
      if (!state_.happen({Event::Kind::name, id, 0, {}, change, {}})) {
        return status_from_errno(EIO, path, "open");
      }
    }
    const bool direct = mode == OpenMode::read_direct || mode == OpenMode::read_write_direct;
    return std::unique_ptr<File>(std::make_unique<SimFile>(state_, path, id, direct));
  }
  Result<std::unique_ptr<IoQueue>> open_queue() override {
    return std::unique_ptr<IoQueue>(std::make_unique<SimQueue>(state_));
  }
  Status make_dir(const std::string& path) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_make_dir, path)) {
      return status_from_errno(struck->error, path, "mkdir");
    }
    if (state_.dirs.contains(path)) return Code::ok;
    if (!state_.dirs.contains(parent_of(path))) return no_entry(path, "mkdir");
    const NameChange change{parent_of(path), "", path, 0, true};
    return change_name(change, path, "mkdir");
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_list, directory)) {
      return status_from_errno(struck->error, directory, "opendir");
    }
    if (!state_.dirs.contains(directory)) return no_entry(directory, "opendir");
    std::vector<std::string> entries;
    for (const auto& [path, id] : state_.names) {
      if (parent_of(path) == directory) entries.push_back(path.substr(path.rfind('/') + 1));
    }
    for (const std::string& path : state_.dirs) {
      if (path != "." && parent_of(path) == directory) {
        entries.push_back(path.substr(path.rfind('/') + 1));
      }
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  Result<bool> exists(const std::string& path) override {
    MutexLock lock(state_.mutex);
    if (state_.stopped()) return status_from_errno(EIO, path, "lstat");
    return state_.names.contains(path) || state_.dirs.contains(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_rename, from, to)) {
      return status_from_errno(struck->error, from, "rename");
    }
    WQ_CHECK(parent_of(from) == parent_of(to));
    if (state_.dirs.contains(from)) {
      if (!is_empty_dir(to)) return status_from_errno(ENOTEMPTY, from, "rename");
      return change_name({parent_of(to), from, to, 0, false, true}, from, "rename");
    }
    const auto found = state_.names.find(from);
    if (found == state_.names.end()) return no_entry(from, "rename");
    return change_name({parent_of(to), from, to, found->second, false}, from, "rename");
  }
  Status unlink(const std::string& path) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_unlink, path)) {
      return status_from_errno(struck->error, path, "unlink");
    }
    const auto found = state_.names.find(path);
    if (found == state_.names.end()) return no_entry(path, "unlink");
    return change_name({parent_of(path), path, "", found->second, false}, path, "unlink");
  }
  Status remove_dir(const std::string& path) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_unlink, path)) {
      return status_from_errno(struck->error, path, "rmdir");
    }
    if (!state_.dirs.contains(path)) return no_entry(path, "rmdir");
    if (!is_empty_dir(path)) return status_from_errno(ENOTEMPTY, path, "rmdir");
    return change_name({parent_of(path), path, "", 0, false, true}, path, "rmdir");
  }
  Status sync_dir(const std::string& directory) override {
    MutexLock lock(state_.mutex);
    if (const auto struck = state_.strike(sim_sync_dir, directory)) {
      return status_from_errno(struck->error, directory, "fsync");
    }
    if (!state_.dirs.contains(directory)) return no_entry(directory, "open");
    if (!state_.happen({Event::Kind::sync_dir, 0, 0, {}, {}, directory})) {
      return status_from_errno(EIO, directory, "fsync");
    }
    return Code::ok;
  }
  Result<uint64_t> free_bytes(const std::string&) override {
    MutexLock lock(state_.mutex);
    const uint64_t used = state_.used_bytes();
    return state_.capacity > used ? state_.capacity - used : 0;
  }
  Result<uint64_t> capacity_bytes(const std::string&) override {
    MutexLock lock(state_.mutex);
    return state_.capacity;
  }
  Result<std::string> network_file_system(const std::string&) override { return std::string(); }
  Result<std::unique_ptr<DirLock>> lock_dir(const std::string& directory) override {
    MutexLock lock(state_.mutex);
    if (!state_.dirs.contains(directory)) return no_entry(directory, "open");
    if (!state_.locks.insert(directory).second) {
      return Status(Code::locked, directory + ": open in process 1 (this one)");
    }
    return std::unique_ptr<DirLock>(std::make_unique<SimDirLock>(state_, directory));
  }

 private:
  bool is_empty_dir(const std::string& path) WQ_REQUIRES(state_.mutex) {
    const std::string prefix = path + "/";
    const auto inside = [&](const std::string& name) { return name.starts_with(prefix); };
    return std::none_of(state_.dirs.begin(), state_.dirs.end(), inside) &&
           std::none_of(state_.names.begin(), state_.names.end(),
                        [&](const auto& entry) { return inside(entry.first); });
  }
  Status change_name(const NameChange& change, const std::string& path, const char* operation)
      WQ_REQUIRES(state_.mutex) {
    if (state_.happen({Event::Kind::name, 0, 0, {}, change, {}})) return Code::ok;
    return status_from_errno(EIO, path, operation);
  }

  SimState& state_;
};

// Writes of one file that survive a crash, in their order.
ByteVector surviving_data(const Inode& inode, const CrashImage& crash, uint64_t prefix,
                          bool in_order, Prng& prng) {
  ByteVector file = inode.pristine;
  if (crash.data == CrashData::none) return file;
  if (crash.data == CrashData::prefix) {
    for (const Uncovered& change : inode.uncovered) {
      if (change.order < prefix) apply(file, change);
      if (change.order != prefix || change.resize) continue;
      apply_bytes(
          file, change.offset,
          Bytes(change.data).first(std::min<uint64_t>(crash.tear_bytes, change.data.size())));
    }
    return file;
  }
  if (in_order && crash.data != CrashData::all) {
    const size_t whole = prng.below(inode.uncovered.size() + 1);
    for (size_t i = 0; i < whole; ++i) apply(file, inode.uncovered[i]);
    if (whole == inode.uncovered.size() || inode.uncovered[whole].resize) return file;
    const Uncovered& torn = inode.uncovered[whole];
    apply_bytes(file, torn.offset, Bytes(torn.data).first(prng.below(torn.data.size() + 1)));
    return file;
  }
  const uint64_t sector = std::max<uint32_t>(1, crash.sector_bytes);
  // One file keeps nearly nothing, another nearly all: even odds everywhere would make both rare.
  constexpr uint64_t odds[] = {5, 50, 95};
  const uint64_t keep_percent = odds[prng.below(3)];
  for (size_t i = 0; i < inode.uncovered.size(); ++i) {
    const Uncovered& change = inode.uncovered[i];
    const bool last = i + 1 == inode.uncovered.size();
    if (crash.data == CrashData::all || (crash.data == CrashData::torn && !last)) {
      apply(file, change);
      continue;
    }
    if (change.resize) {
      if (prng.below(2) == 0) apply(file, change);
      continue;
    }
    const uint64_t end = change.offset + change.data.size();
    const uint64_t cut = change.offset + prng.below(change.data.size() + 1);
    for (uint64_t at = change.offset; at < end;) {
      const uint64_t next = std::min(end, at / sector * sector + sector);
      const bool keep =
          crash.data == CrashData::torn ? next <= cut : prng.below(100) < keep_percent;
      if (keep) {
        apply_bytes(file, at, Bytes(change.data).subspan(at - change.offset, next - at));
      }
      at = next;
    }
  }
  return file;
}

}  // namespace

SimDisk::SimDisk(uint64_t seed) : state_(std::make_unique<SimState>(seed)) {}
SimDisk::SimDisk(std::unique_ptr<SimState> state) : state_(std::move(state)) {}
SimDisk::~SimDisk() = default;
SimDisk::SimDisk(SimDisk&&) noexcept = default;
SimDisk& SimDisk::operator=(SimDisk&&) noexcept = default;

std::unique_ptr<Io> SimDisk::mount() {
  return std::make_unique<SimIo>(*state_);
}

Status SimDisk::link(const std::string& from, const std::string& to) {
  MutexLock lock(state_->mutex);
  if (const auto struck = state_->strike(sim_link, from, to)) {
    return status_from_errno(struck->error, from, "link");
  }
  const auto found = state_->names.find(from);
  if (found == state_->names.end()) return no_entry(from, "link");
  if (state_->names.contains(to)) return status_from_errno(EEXIST, to, "link");
  const NameChange change{parent_of(to), "", to, found->second, false};
  if (state_->happen({Event::Kind::name, 0, 0, {}, change, {}})) return Code::ok;
  return status_from_errno(EIO, to, "link");
}

std::vector<uint64_t> SimDisk::unsynced_writes() const {
  MutexLock lock(state_->mutex);
  std::vector<uint64_t> lengths;
  for (const auto& [order, bytes] : state_->unsynced()) lengths.push_back(bytes);
  return lengths;
}

SimDisk SimDisk::copy() const {
  auto state = std::make_unique<SimState>(1);
  MutexLock to(state->mutex);
  MutexLock from(state_->mutex);
  state->copy_contents(*state_);
  to.unlock();
  return SimDisk(std::move(state));
}

SimDisk SimDisk::image(const CrashImage& crash) const {
  auto state = std::make_unique<SimState>(crash.seed);
  MutexLock from(state_->mutex);
  {
    MutexLock to(state->mutex);
    Prng prng(crash.seed);
    state->names = state_->durable_names;
    state->dirs = state_->durable_dirs;
    const uint64_t prefix = prng.below(state_->name_changes.size() + 1);
    const auto unsynced = state_->unsynced();
    auto first_lost = unsynced.begin();
    for (uint64_t i = 0; i < crash.keep && first_lost != unsynced.end(); ++i) ++first_lost;
    const uint64_t lost_from = first_lost == unsynced.end() ? UINT64_MAX : first_lost->first;
    for (size_t i = 0; i < state_->name_changes.size(); ++i) {
      const bool keep = crash.names == CrashNames::all ||
                        (crash.names == CrashNames::prefix && i < prefix) ||
                        (crash.names == CrashNames::random && prng.below(2) == 0);
      if (keep) apply(state->names, state->dirs, state_->name_changes[i]);
    }
    drop_unreachable(state->names, state->dirs);
    state->durable_names = state->names;
    state->durable_dirs = state->dirs;
    state->next_inode = state_->next_inode;
    for (const auto& [path, id] : state->names) {
      Inode& inode = state->inodes[id];
      const Inode& old = state_->inodes[id];
      const bool in_order = crash.in_order && path.find(crash.in_order) != std::string::npos;
      inode.pristine = surviving_data(old, crash, lost_from, in_order, prng);
      inode.cached = inode.pristine;
      inode.blocks = old.blocks;
    }
  }
  return SimDisk(std::move(state));
}

size_t SimDisk::inject(const SimFault& fault) {
  MutexLock lock(state_->mutex);
  state_->faults.push_back({fault, 0, 0});
  return state_->faults.size() - 1;
}

uint64_t SimDisk::fault_hits(size_t fault) const {
  MutexLock lock(state_->mutex);
  return state_->faults.at(fault).hits;
}

void SimDisk::clear_faults() {
  MutexLock lock(state_->mutex);
  state_->faults.clear();
}

std::string SimDisk::first_struck() const {
  MutexLock lock(state_->mutex);
  return state_->first_struck;
}

void SimDisk::add_dir(const std::string& path) {
  MutexLock lock(state_->mutex);
  state_->dirs.insert(path);
  state_->durable_dirs.insert(path);
}

void SimDisk::set_capacity(uint64_t bytes) {
  MutexLock lock(state_->mutex);
  state_->capacity = bytes;
}

void SimDisk::set_reorder(bool reorder) {
  MutexLock lock(state_->mutex);
  state_->reorder = reorder;
}

uint64_t SimDisk::events() const {
  MutexLock lock(state_->mutex);
  return state_->events;
}

void SimDisk::stop_after(uint64_t count) {
  MutexLock lock(state_->mutex);
  state_->stop_after = count;
}

bool SimDisk::has_stopped() const {
  MutexLock lock(state_->mutex);
  return state_->stopped();
}

void SimDisk::start_recording() {
  auto start = std::make_unique<SimState>(1);
  MutexLock lock(state_->mutex);
  {
    MutexLock to(start->mutex);
    start->copy_contents(*state_);
  }
  state_->recording = true;
  state_->recorded.clear();
  state_->recorded_start = std::move(start);
}

uint64_t SimDisk::operations(uint32_t ops) const {
  MutexLock lock(state_->mutex);
  uint64_t total = 0;
  for (const auto& [op, count] : state_->op_counts) {
    if ((op & ops) != 0) total += count;
  }
  return total;
}

std::vector<std::byte> SimDisk::read_file(const std::string& path) const {
  MutexLock lock(state_->mutex);
  return state_->inodes.at(state_->names.at(path)).cached;
}

void SimDisk::write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  MutexLock lock(state_->mutex);
  const auto found = state_->names.find(path);
  const InodeId id = found != state_->names.end() ? found->second : state_->next_inode++;
  state_->names[path] = id;
  state_->durable_names[path] = id;
  Inode& inode = state_->inodes[id];
  inode = Inode{};
  inode.cached = bytes;
  inode.pristine = bytes;
}

bool SimDisk::has_file(const std::string& path) const {
  MutexLock lock(state_->mutex);
  return state_->names.contains(path);
}

std::vector<std::string> SimDisk::files() const {
  MutexLock lock(state_->mutex);
  std::vector<std::string> paths;
  for (const auto& [path, id] : state_->names) paths.push_back(path);
  return paths;
}

void SimDisk::remove_file(const std::string& path) {
  MutexLock lock(state_->mutex);
  state_->names.erase(path);
  state_->durable_names.erase(path);
}

uint64_t SimDisk::trace_hash() const {
  MutexLock lock(state_->mutex);
  const auto number = [](uint64_t value, uint64_t hash) {
    std::byte bytes[sizeof(uint64_t)];
    store_le(bytes, value);
    return hash64(bytes, hash);
  };
  std::set<InodeId> of_rocks;
  uint64_t hash = 1;
  for (const Event& event : state_->recorded) {
    hash = number(static_cast<uint64_t>(event.kind), hash);
    hash = number(event.inode, hash);
    hash = number(event.offset, hash);
    hash = number(event.data.size(), hash);
    hash = hash64(as_bytes(event.directory), hash);
    hash = hash64(as_bytes(event.name.from), hash);
    hash = hash64(as_bytes(event.name.to), hash);
    const std::string parent = parent_of(event.name.to);
    if (parent.ends_with("/db") || parent.ends_with("/tmp")) of_rocks.insert(event.name.inode);
    if (!of_rocks.contains(event.inode)) hash = hash64(event.data, hash);
  }
  return hash;
}

SimHistory::SimHistory(const SimDisk& recorded) : recorded_(recorded), disk_(1) {
  MutexLock lock(recorded_.state_->mutex);
  WQ_CHECK(recorded_.state_->recorded_start != nullptr);
  MutexLock to(disk_.state_->mutex);
  disk_.state_->copy_contents(*recorded_.state_->recorded_start);
}

SimHistory::~SimHistory() = default;

bool SimHistory::step() {
  MutexLock lock(recorded_.state_->mutex);
  if (event_ == recorded_.state_->recorded.size()) return false;
  MutexLock to(disk_.state_->mutex);
  disk_.state_->carry_out(recorded_.state_->recorded[event_++]);
  return true;
}

SimGate::SimGate(SimDisk& disk, uint32_t ops, std::string path) : state_(*disk.state_) {
  MutexLock lock(state_.mutex);
  state_.gate_ops = ops;
  state_.gate_path = std::move(path);
}

SimGate::~SimGate() {
  open();
}

void SimGate::wait_until_held(uint32_t operations) {
  MutexLock lock(state_.mutex);
  while (state_.gate_held < operations) state_.gate_changed.wait(state_.mutex);
}

uint32_t SimGate::held() const {
  MutexLock lock(state_.mutex);
  return state_.gate_held;
}

void SimGate::open() {
  MutexLock lock(state_.mutex);
  state_.gate_ops = 0;
  state_.gate_changed.notify_all();
}

}  // namespace wq
