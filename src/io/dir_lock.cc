// flock() on LOCK and the registry of directories held by this process.
#include "io/dir_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
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

constexpr int no_lock = -1;

// Rank: leaf. Guards the directories that handles of this process hold, with the descriptor of the
// lock, or no_lock until it is taken and in a child that was forked.
struct Registry {
  Mutex mutex;
  std::map<DirectoryId, int> held WQ_GUARDED_BY(mutex);

  Registry();
};

Registry& registry() {
  static NeverDestroyed<Registry> instance;
  return instance.get();
}

// A child that is forked without an exec has the descriptors, too, and flock() belongs to all of
// them together: the directory would stay locked until the child ends, whatever the parent does.
void before_fork() WQ_NO_THREAD_SAFETY_ANALYSIS {
  registry().mutex.lock();
}

void after_fork() WQ_NO_THREAD_SAFETY_ANALYSIS {
  registry().mutex.unlock();
}

void after_fork_in_child() WQ_NO_THREAD_SAFETY_ANALYSIS {
  for (auto& [id, lock] : registry().held) {
    if (lock != no_lock) ::close(std::exchange(lock, no_lock));
  }
  registry().mutex.unlock();
}

Registry::Registry() {
  // Without memory for it a forked child keeps locks for as long as it lives, as is documented.
  static_cast<void>(::pthread_atfork(before_fork, after_fork, after_fork_in_child));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A claim on the registry, with the lock file that goes with it. The OS lock goes before the claim:
// the other way round a new opener of this process could pass the registry and meet its own
// process's lock. Descriptors come and go under the registry's mutex, so that a child closes none
// that is something else by then.
class Claim {
 public:
  explicit Claim(DirectoryId id) : id_(id) {
    MutexLock lock(registry().mutex);
    held_ = registry().held.emplace(id_, no_lock).second;
  }
  Claim(Claim&& other) noexcept
      : id_(other.id_),
        held_(std::exchange(other.held_, false)),
        fd_(std::exchange(other.fd_, no_lock)) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim() {
    MutexLock lock(registry().mutex);
    const auto mine = registry().held.find(id_);
    const bool forked = held_ && mine->second == no_lock;  // the child has closed it already
    if (fd_ != no_lock && !forked) {
      // Not by the close alone: whoever else has the descriptor would keep the lock.
      ::flock(fd_, LOCK_UN);
      ::close(fd_);
    }
    if (held_) registry().held.erase(mine);
  }
  bool held() const { return held_; }

  // Without O_CREAT first: a refused opener must not even touch the directory's time. No link is
  // followed, since what it leads to would be cut to nothing. -1 and errno if it can not be opened.
  int open_lock(int directory) {
    MutexLock lock(registry().mutex);
    fd_ = ::openat(directory, "LOCK", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd_ < 0 && errno == ENOENT) {
      fd_ = ::openat(directory, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, lock_file_mode);
    }
    if (held_) registry().held[id_] = fd_;
    return fd_;
  }

 private:
  const DirectoryId id_;
  bool held_ = false;
  int fd_ = no_lock;
};

class FlockDirLock final : public DirLock {
 public:
  explicit FlockDirLock(Claim claim) : claim_(std::move(claim)) {}

 private:
  Claim claim_;
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
  const int fd = claim.open_lock(dir.get());
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
  return std::unique_ptr<DirLock>(std::make_unique<FlockDirLock>(std::move(claim)));
}

}  // namespace wq
