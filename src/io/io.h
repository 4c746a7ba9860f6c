// Io: every touch of the file system goes through here, so that a simulated disk can stand in for
// the real one. Names (open, list, rename, unlink, directory sync) are plain blocking calls; data
// moves through an IoQueue, which keeps several operations in flight and completes them in any
// order.
//
// Nothing here retries, orders or hides a failure: the rules for short writes, interrupted calls
// and barriers live in one place, io_transfer.h. A path is absolute or relative to the working
// directory. Thread model: Io and File may be used from any thread; an IoQueue belongs to one
// thread at a time, and handing it over needs a happens-before edge (a mutex) of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/result.h"
#include "base/status.h"

namespace wq {

// O_DIRECT wants addresses, offsets and lengths that are multiples of the logical block size; no
// disk in use has a larger one. It is also the size that log barriers are padded to.
constexpr size_t io_block_bytes = 4096;

enum class OpenMode : uint8_t {
  read,               // must exist
  read_direct,        // must exist, O_DIRECT: UNSUPPORTED where the file system has none
  read_write,         // must exist
  read_write_direct,  // must exist, O_DIRECT: UNSUPPORTED where the file system has none
  create,             // must not exist; read and write
};

class File {
 public:
  virtual ~File() = default;
  virtual const std::string& path() const = 0;
  virtual Result<uint64_t> size() = 0;
  // Of what has a place on the disk already, so that a write changes nothing but bytes; the rest is
  // holes. Less than that where the file system compresses.
  virtual Result<uint64_t> allocated_bytes() = 0;
  // Sets the length; new bytes read as zeros and occupy nothing until written.
  virtual Status resize(uint64_t bytes) = 0;
  // Data, length and all other metadata of the file, but not its name: see Io::sync_dir. A failure
  // is final: the kernel reports it once and drops the bytes, so asking again proves nothing.
  virtual Status sync() = 0;
  // A hint, after sync(): what the kernel has cached of the file is not needed.
  virtual void forget_cached() {}
};

enum class IoKind : uint8_t {
  read,
  write,
  write_dsync,  // a write and the barrier for its own bytes in one operation; covers no earlier
                // write
  fdatasync,    // the barrier for all writes to the file that completed before it was submitted
};

// One operation. The caller owns it and its buffer until `done`; both must stay where they are.
struct IoOp {
  IoKind kind = IoKind::read;
  File* file = nullptr;
  std::byte* data = nullptr;  // written to by reads only
  size_t bytes = 0;
  uint64_t offset = 0;
  int64_t result = 0;  // when done: bytes moved (maybe fewer than asked), or a negative errno
  bool done = false;
};

class IoQueue {
 public:
  // Waits for whatever is still in flight: the kernel may be reading the buffers.
  virtual ~IoQueue() = default;
  // Takes the operation. It may start at once or at the next wait(). Never fails: a queue that can
  // not start it completes it with an errno.
  virtual void submit(IoOp& op) = 0;
  // Returns when at least `count` of the operations in flight are done (all, if fewer are).
  virtual void wait(size_t count) = 0;
  virtual size_t in_flight() const = 0;
};

// Held while this process owns a directory; released by destruction. See dir_lock.h.
class DirLock {
 public:
  virtual ~DirLock() = default;
};

class Io {
 public:
  virtual ~Io() = default;
  virtual const char* name() const = 0;  // "uring", "thread"; told by build info and stats

  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<std::unique_ptr<IoQueue>> open_queue() = 0;

  // Ok if the directory is there already. Only the last component is made. The name is durable
  // after sync_dir of the parent.
  virtual Status make_dir(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;  // sorted names
  virtual Result<bool> exists(const std::string& path) = 0;
  // Replaces `to`. A directory replaces an empty one only.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status unlink(const std::string& path) = 0;
  virtual Status remove_dir(const std::string& path) = 0;  // must be empty
  // Makes creations, renames and removals in the directory durable.
  virtual Status sync_dir(const std::string& directory) = 0;

  // Room left for this user on the file system of the path.
  virtual Result<uint64_t> free_bytes(const std::string& path) = 0;
  // How large that file system is, all in all.
  virtual Result<uint64_t> capacity_bytes(const std::string& path) = 0;
  // "nfs", "cifs", ... where locks and barriers can not be relied on; empty for a local one.
  virtual Result<std::string> network_file_system(const std::string& path) = 0;
  // One opener per directory, across processes and within this one. LOCKED names the owner's pid.
  virtual Result<std::unique_ptr<DirLock>> lock_dir(const std::string& directory) = 0;
};

// `path` from the root on, by the working directory of now. Links and dots stay in it.
Result<std::string> absolute_path(const std::string& path);

enum class IoBackend : uint8_t { automatic, uring, thread };

// Automatic takes io_uring where the kernel lets this process have it, else plain system calls in
// threads; the environment variable WQ_IO=uring|threads overrides automatic. UNSUPPORTED when
// io_uring was asked for by name and is not to be had; the message says why.
Result<std::unique_ptr<Io>> make_io(IoBackend backend = IoBackend::automatic);

}  // namespace wq
