#include "cli/device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/failure.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t block_bytes = 4096;
constexpr int flushes = 100;
constexpr auto flush_time_max = std::chrono::milliseconds(1500);
// No device that keeps a write through a power cut by itself answers a flush faster than this.
constexpr double plausible_flush_us = 15;

struct Mount {
  std::string type, options, source;
};

// The mount that a device number stands for; the last one wins, it lies on top.
Mount find_mount(dev_t device) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  Mount mount;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string id, parent, dev, root, place, options, word;
    words >> id >> parent >> dev >> root >> place >> options;
    if (dev != number) continue;
    while (words >> word && word != "-") {
    }
    std::string super;
    words >> mount.type >> mount.source >> super;
    mount.options = options + "," + super;
  }
  return mount;
}

bool has_option(const std::string& options, std::string_view wanted) {
  std::istringstream words(options);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word == wanted) return true;
  }
  return false;
}

bool is_network(const std::string& type) {
  constexpr std::array<std::string_view, 12> types = {"nfs",  "nfs4",  "cifs",      "smb3",
                                                      "afs",  "ceph",  "9p",        "lustre",
                                                      "gfs2", "ocfs2", "glusterfs", "fuse.sshfs"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

void look_at_mount(dev_t device, std::vector<DeviceFact>& facts) {
  const Mount mount = find_mount(device);
  DeviceFact system{"file system", mount.type.empty() ? "unknown" : mount.type, Verdict::good, ""};
  if (mount.type.empty()) system.verdict = Verdict::note;
  if (is_network(mount.type)) {
    system.verdict = Verdict::warning;
    system.meaning = "a network file system: neither locks nor flushes can be relied on";
  } else if (mount.type == "tmpfs" || mount.type == "ramfs") {
    system.verdict = Verdict::warning;
    system.meaning = "memory: nothing in it survives a power cut";
  } else if (mount.type.starts_with("fuse")) {
    system.verdict = Verdict::warning;
    system.meaning = "a program of its own decides what a flush does";
  }
  facts.push_back(std::move(system));
  const bool off = has_option(mount.options, "nobarrier") || has_option(mount.options, "barrier=0");
  facts.push_back({"mount options", mount.options.empty() ? "unknown" : mount.options,
                   off ? Verdict::warning : Verdict::good,
                   off ? "write barriers are off: a flush does not reach the device" : ""});
}

void look_at_cache(dev_t device, std::vector<DeviceFact>& facts) {
  const std::string link =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::error_code error;
  fs::path place = fs::canonical(link, error);
  if (!error && !fs::exists(place / "queue")) place = place.parent_path();  // of a partition
  std::ifstream file(place / "queue" / "write_cache");
  std::string cache;
  if (error || !std::getline(file, cache)) {
    facts.push_back({"write cache", "unknown", Verdict::note, "no block device is to be seen"});
    return;
  }
  const bool back = cache == "write back";
  facts.push_back({"write cache", cache + " (" + place.filename().string() + ")", Verdict::good,
                   back ? "the kernel flushes the device's cache at each barrier"
                        : "the device says it has no cache that a power cut empties"});
}

struct Block {
  Block() : memory(static_cast<char*>(std::aligned_alloc(block_bytes, block_bytes)), std::free) {
    if (memory) std::memset(memory.get(), 'x', block_bytes);
  }
  std::unique_ptr<char, void (*)(void*)> memory;
};

DeviceFact works(std::string check, bool ok, int os_errno, Verdict otherwise, std::string meaning) {
  if (ok) return {std::move(check), "works", Verdict::good, ""};
  return {std::move(check), std::strerror(os_errno), otherwise, std::move(meaning)};
}

void try_operations(const std::string& directory, std::vector<DeviceFact>& facts) {
  const int dir = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = dir >= 0 && ::fsync(dir) == 0;
  facts.push_back(
      works("directory fsync", synced, errno, Verdict::bad, "new files may vanish in a power cut"));
  if (dir >= 0) ::close(dir);
  const std::string path = directory + "/probe";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail_errno(path, errno);
  const bool allocated = ::fallocate(fd, 0, 0, block_bytes * 16) == 0;
  facts.push_back(works("fallocate", allocated, errno, Verdict::note, "wq does not need it"));
  ::close(fd);
  const Block block;
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  const bool written =
      direct >= 0 && ::pwrite(direct, block.memory.get(), block_bytes, 0) == ssize_t{block_bytes};
  facts.push_back(works("O_DIRECT", written, errno, Verdict::note,
                        "recovery must believe the page cache; writes take a copy more"));
  if (direct >= 0) ::close(direct);
  ::unlink(path.c_str());
}

// Overwrites of blocks that are there, each with its barrier.
void time_flushes(const std::string& directory, std::vector<DeviceFact>& facts) {
  const std::string path = directory + "/probe";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail_errno(path, errno);
  const Block block;
  std::vector<double> us;
  const auto begin = SteadyClock::now();
  bool ok = ::pwrite(fd, block.memory.get(), block_bytes, 0) > 0 && ::fsync(fd) == 0;
  while (ok && us.size() < flushes && SteadyClock::now() - begin < flush_time_max) {
    const auto from = SteadyClock::now();
    ok = ::pwrite(fd, block.memory.get(), block_bytes, 0) > 0 && ::fdatasync(fd) == 0;
    us.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - from).count());
  }
  const int os_errno = errno;
  ::close(fd);
  ::unlink(path.c_str());
  if (!ok || us.empty()) {
    facts.push_back(
        {"fdatasync", std::strerror(os_errno), Verdict::bad, "nothing can be promised"});
    return;
  }
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  const bool fast = median < plausible_flush_us;
  facts.push_back({"write + fdatasync",
                   std::to_string(static_cast<int64_t>(median)) + " us (median of " +
                       std::to_string(us.size()) + ")",
                   fast ? Verdict::warning : Verdict::good,
                   fast ? "faster than a device can make a write last, unless it has a battery or "
                          "capacitors; the flush may go nowhere"
                        : "as long as a real flush may take"});
}

}  // namespace

std::vector<DeviceFact> look_at_device(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) fail_errno(directory, errno);
  std::vector<DeviceFact> facts;
  look_at_mount(info.st_dev, facts);
  look_at_cache(info.st_dev, facts);
  try_operations(directory, facts);
  time_flushes(directory, facts);
  return facts;
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::note:
      return "note";
    case Verdict::warning:
      return "warning";
    case Verdict::bad:
      return "bad";
  }
  return "unknown";
}

}  // namespace wq::cli
