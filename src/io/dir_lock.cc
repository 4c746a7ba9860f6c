// flock() on LOCK and the registry of directories held by this process.
#include "io/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/never_destroyed.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr mode_t lock_file_mode = 0640;

using DirectoryId = std::pair<dev_t, ino_t>;

// Rank: leaf. Guards the set of directories that handles of this process hold.
struct Registry {
  Mutex mutex;
  std::set<DirectoryId> held WQ_GUARDED_BY(mutex);
};

Registry& registry() {
  static NeverDestroyed<Registry> instance;
  return instance.get();
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A claim on the registry that is given back unless the lock file was locked, too.
class Claim {
 public:
  explicit Claim(DirectoryId id) : id_(id) {
    MutexLock lock(registry().mutex);
    held_ = registry().held.insert(id_).second;
  }
  Claim(Claim&& other) noexcept : id_(other.id_), held_(std::exchange(other.held_, false)) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim() {
    if (!held_) return;
    MutexLock lock(registry().mutex);
    registry().held.erase(id_);
  }
  bool held() const { return held_; }

 private:
  const DirectoryId id_;
  bool held_ = false;
};

// Members die in reverse order: the OS lock goes first, then the claim. The other way round a new
// opener of this process could pass the registry and meet its own process's lock.
class FlockDirLock final : public DirLock {
 public:
  FlockDirLock(Claim claim, Descriptor lock) : claim_(std::move(claim)), lock_(std::move(lock)) {}

 private:
  Claim claim_;
  Descriptor lock_;
};

// Field 22 of /proc/self/stat: clock ticks between boot and the start of this process.
std::string process_start_ticks() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may hold spaces and brackets
  if (name_end == std::string::npos) return "unknown";
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int fields_to_start = 20;
  std::string field;
  for (int i = 0; i < fields_to_start; ++i) fields >> field;
  return field;
}

std::string owner_pid(int lock_fd) {
  std::array<char, 64> text{};
  const ssize_t count = ::pread(lock_fd, text.data(), text.size() - 1, 0);
  long pid = 0;
  if (count <= 0 || std::sscanf(text.data(), "pid %ld", &pid) != 1) return "unknown";
  return std::to_string(pid);
}

Status write_owner(int lock_fd, const std::string& path) {
  const std::string text =
      "pid " + std::to_string(::getpid()) + " start_ticks " + process_start_ticks() + "\n";
  // For messages only, so never synced; a cut or stale text harms nobody.
  if (::ftruncate(lock_fd, 0) != 0 ||
      ::pwrite(lock_fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return status_from_errno(errno, path, "write");
  }
  return Code::ok;
}

Status locked_by(const std::string& directory, const std::string& pid) {
  return Status(Code::locked, directory + ": open in process " + pid +
                                  "; close it there, or open another directory");
}

}  // namespace

Result<std::unique_ptr<DirLock>> acquire_dir_lock(const std::string& directory) {
  Descriptor dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.get() < 0) {
    const int os_errno = errno;
    if (os_errno != ENOENT && os_errno != ENOTDIR) {
      return status_from_errno(os_errno, directory, "open");
    }
    return Status(Code::not_found, directory + ": open: " + std::strerror(os_errno), os_errno);
  }
  struct stat info {};
  if (::fstat(dir.get(), &info) != 0) return status_from_errno(errno, directory, "fstat");
  Claim claim({info.st_dev, info.st_ino});
  const bool again = !claim.held() && WQ_PLANTED(two_opens_in_one_process);
  if (!claim.held() && !again)
    return locked_by(directory, std::to_string(::getpid()) + " (this one)");

  const std::string path = directory + "/LOCK";
  // Without O_CREAT first: a refused opener must not even touch the directory's time. No link is
  // followed, since what it leads to would be cut to nothing.
  int fd = ::openat(dir.get(), "LOCK", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) {
    fd = ::openat(dir.get(), "LOCK", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, lock_file_mode);
  }
  Descriptor lock(fd);
  if (fd < 0) return status_from_errno(errno, path, "open");
  int result = 0;
  do {
    result = WQ_PLANTED(lock_not_taken) || again ? 0 : ::flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    if (errno == EWOULDBLOCK) return locked_by(directory, owner_pid(fd));
    return status_from_errno(errno, path, "flock");
  }
  WQ_TRY(write_owner(fd, path));
  return std::unique_ptr<DirLock>(
      std::make_unique<FlockDirLock>(std::move(claim), std::move(lock)));
}

}  // namespace wq
