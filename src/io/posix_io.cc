// File names and metadata by plain system calls, and the choice of the backend.
#include "io/posix_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "io/dir_lock.h"

namespace wq {
namespace {

constexpr mode_t file_mode = 0640;
constexpr mode_t dir_mode = 0750;

Status errno_status(const std::string& path, const char* operation) {
  const int os_errno = errno;
  if (os_errno == ENOENT || os_errno == ENOTDIR) {
    return Status(Code::not_found, path + ": " + operation + ": " + std::strerror(os_errno),
                  os_errno);
  }
  return status_from_errno(os_errno, path, operation);
}

// An interrupted open has opened nothing; network file systems do this.
int open_retrying(const char* path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, file_mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::read_direct:
      return O_RDONLY | O_DIRECT;
    case OpenMode::read_write:
      return O_RDWR;
    case OpenMode::read_write_direct:
      return O_RDWR | O_DIRECT;
    case OpenMode::create:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

struct FsName {
  uint32_t magic;
  const char* name;
};
// From linux/magic.h and the file systems' own sources, as far as that header does not have them.
constexpr FsName network_file_systems[] = {
    {NFS_SUPER_MAGIC, "nfs"},   {SMB_SUPER_MAGIC, "smb"}, {0xFF534D42, "cifs"},
    {0xFE534D42, "smb2"},       {AFS_FS_MAGIC, "afs"},    {AFS_SUPER_MAGIC, "afs"},
    {CEPH_SUPER_MAGIC, "ceph"}, {V9FS_MAGIC, "9p"},       {CODA_SUPER_MAGIC, "coda"},
    {0x0BD00BD0, "lustre"},     {0x01161970, "gfs2"},     {OCFS2_SUPER_MAGIC, "ocfs2"},
    {0x47504653, "gpfs"},       {0x19830326, "fhgfs"},
};

}  // namespace

PosixFile::~PosixFile() {
  // Whatever close() could still report, the barriers before it have reported or were not asked
  // for.
  ::close(fd_);
}

Result<uint64_t> PosixFile::size() {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return errno_status(path_, "fstat");
  return static_cast<uint64_t>(info.st_size);
}

Result<uint64_t> PosixFile::allocated_bytes() {
  constexpr uint64_t stat_block_bytes = 512;  // whatever st_blksize says
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return errno_status(path_, "fstat");
  return static_cast<uint64_t>(info.st_blocks) * stat_block_bytes;
}

Status PosixFile::resize(uint64_t bytes) {
  int result = 0;
  do {
    result = ::ftruncate(fd_, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? Status(Code::ok) : errno_status(path_, "ftruncate");
}

Status PosixFile::sync() {
  return ::fsync(fd_) == 0 ? Status(Code::ok) : errno_status(path_, "fsync");
}

void PosixFile::forget_cached() {
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);  // of a hint, a failure is nothing to act on
}

// A FIFO in the place of a file would block the open for ever, and a device has no end.
Result<std::unique_ptr<File>> PosixIo::open(const std::string& path, OpenMode mode) {
  struct stat info {};
  if (mode != OpenMode::create && ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return Status(Code::corrupt, path + ": open: is no regular file");
  }
  const int fd = open_retrying(path.c_str(), open_flags(mode));
  if (fd < 0) {
    const bool direct = mode == OpenMode::read_direct || mode == OpenMode::read_write_direct;
    if (errno == EINVAL && direct) {
      return Status(Code::unsupported, path + ": open: the file system has no direct transfers",
                    EINVAL);
    }
    return errno_status(path, "open");
  }
  return std::unique_ptr<File>(std::make_unique<PosixFile>(path, fd));
}

Status PosixIo::make_dir(const std::string& path) {
  if (::mkdir(path.c_str(), dir_mode) == 0) return Code::ok;
  if (errno != EEXIST) return errno_status(path, "mkdir");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_status(path, "stat");
  if (S_ISDIR(info.st_mode)) return Code::ok;
  return Status(Code::io, path + ": mkdir: there is a file of that name", ENOTDIR);
}

Result<std::vector<std::string>> PosixIo::list(const std::string& directory) {
  // Closed also if there is no memory for a name.
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (stream == nullptr) return errno_status(directory, "opendir");
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int read_errno = errno;
  if (read_errno != 0) return status_from_errno(read_errno, directory, "readdir");
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> PosixIo::exists(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return errno_status(path, "lstat");
}

Status PosixIo::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status(Code::ok) : errno_status(from, "rename");
}

Status PosixIo::unlink(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? Status(Code::ok) : errno_status(path, "unlink");
}

Status PosixIo::remove_dir(const std::string& path) {
  return ::rmdir(path.c_str()) == 0 ? Status(Code::ok) : errno_status(path, "rmdir");
}

Status PosixIo::sync_dir(const std::string& directory) {
  const int fd = open_retrying(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return errno_status(directory, "open");
  Status status;
  if (::fsync(fd) != 0) status = errno_status(directory, "fsync");
  ::close(fd);
  return status;
}

Result<uint64_t> PosixIo::free_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return errno_status(path, "statvfs");
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

Result<uint64_t> PosixIo::capacity_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return errno_status(path, "statvfs");
  return static_cast<uint64_t>(info.f_blocks) * info.f_frsize;
}

Result<std::string> PosixIo::network_file_system(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return errno_status(path, "statfs");
  const auto magic = static_cast<uint32_t>(info.f_type);
  for (const FsName& row : network_file_systems) {
    if (row.magic == magic) return std::string(row.name);
  }
  return std::string();
}

Result<std::unique_ptr<DirLock>> PosixIo::lock_dir(const std::string& directory) {
  return acquire_dir_lock(directory);
}

int64_t run_blocking(const IoOp& op) {
  const int fd = static_cast<const PosixFile*>(op.file)->fd();
  const iovec part{op.data, op.bytes};
  const auto offset = static_cast<off_t>(op.offset);
  ssize_t result = 0;
  switch (op.kind) {
    case IoKind::read:
      result = ::preadv2(fd, &part, 1, offset, 0);
      break;
    case IoKind::write:
      result = ::pwritev2(fd, &part, 1, offset, 0);
      break;
    case IoKind::write_dsync:
      result = ::pwritev2(fd, &part, 1, offset, RWF_DSYNC);
      break;
    case IoKind::fdatasync:
      result = ::fdatasync(fd);
      break;
  }
  return result >= 0 ? result : -static_cast<int64_t>(errno);
}

Result<std::string> absolute_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  char directory[PATH_MAX];
  if (::getcwd(directory, sizeof directory) != nullptr) return std::string(directory) + '/' + path;
  const int os_errno = errno;
  return Status(os_errno == ENOENT ? Code::not_found : Code::io,
                path + ": named from the working directory on, which can not be found: " +
                    std::strerror(os_errno) + "; change to another one, or give the whole path",
                os_errno);
}

Result<std::unique_ptr<Io>> make_io(IoBackend backend) {
  bool fall_back = backend == IoBackend::automatic;
  if (backend == IoBackend::automatic) {
    const char* const asked = std::getenv("WQ_IO");
    const std::string_view name = asked != nullptr ? asked : "";
    if (name == "threads" || name == "thread") return make_thread_io();
    if (name == "uring") {
      fall_back = false;
    } else if (!name.empty()) {
      return Status(Code::invalid,
                    "WQ_IO: must be uring or threads, not '" + std::string(name) + "'");
    }
  }
  if (backend == IoBackend::thread) return make_thread_io();
  auto uring = make_uring_io();
  if (uring.ok() || !fall_back) return uring;
  return make_thread_io();
}

}  // namespace wq
