#include "cli/backup_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t step_bytes = 256 << 10;
constexpr uint64_t entries_max = 1'000'000;
constexpr size_t name_bytes_max = 255;
constexpr mode_t file_mode = 0640;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

using Writer = std::unique_ptr<archive, int (*)(archive*)>;
using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

[[noreturn]] void fail_archive(archive* tar, const std::string& what) {
  const char* const text = archive_error_string(tar);
  // Damage of the tar has no errno of the system, or one that says nothing.
  const bool closed_pipe = archive_errno(tar) == EPIPE;
  fail(closed_pipe ? exit_other : exit_storage,
       what + ": " + (text != nullptr ? text : "unknown error"));
}

void write_file(archive* tar, const std::string& path, const std::string& name, uint64_t* done,
                const TarProgress& progress) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) fail_errno(path, errno);
  const Entry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), info.st_size);
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), file_mode);
  archive_entry_set_mtime(entry.get(), info.st_mtime, 0);
  if (archive_write_header(tar, entry.get()) != ARCHIVE_OK) fail_archive(tar, "tar: " + name);
  std::vector<char> buffer(step_bytes);
  for (uint64_t left = static_cast<uint64_t>(info.st_size); left > 0;) {
    const ssize_t got = ::read(file.get(), buffer.data(), std::min<uint64_t>(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_errno(path, got < 0 ? errno : EIO);
    if (archive_write_data(tar, buffer.data(), static_cast<size_t>(got)) != got) {
      fail_archive(tar, "tar: " + name);
    }
    left -= static_cast<uint64_t>(got);
    *done += static_cast<uint64_t>(got);
    progress(*done);
  }
}

std::vector<std::string> names_in(const std::string& directory, const std::string& label) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory + "/" + label, error)) {
    names.push_back(label + "/" + entry.path().filename().string());
  }
  if (error) fail_errno(directory + "/" + label, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
         c == '_' || c == '.';
}

// "BACKUP", "log/x" or "db/x". What is in them the library judges by its manifest.
bool is_backup_name(const std::string& name) {
  if (name == "BACKUP") return true;
  const size_t slash = name.find('/');
  if (slash == name.npos || name.size() > name_bytes_max) return false;
  const std::string directory = name.substr(0, slash), file = name.substr(slash + 1);
  return (directory == "log" || directory == "db") && !file.empty() && file[0] != '.' &&
         std::all_of(file.begin(), file.end(), is_plain);
}

// The name of a file to take; empty for a directory, which needs no entry.
std::string checked_name(archive_entry* entry) {
  const char* const given = archive_entry_pathname(entry);
  std::string name = given != nullptr ? given : "";
  while (name.starts_with("./")) name.erase(0, 2);
  const auto refuse = [&](const std::string& what) {
    fail(exit_storage, "tar: '" + printable(given != nullptr ? given : "", 100) + "' " + what +
                           "; this is no tar of a backup");
  };
  if (archive_entry_filetype(entry) == AE_IFDIR) {
    while (name.ends_with('/')) name.pop_back();
    if (name.empty() || name == "." || name == "log" || name == "db") return "";
    refuse("does not belong into a backup");
  }
  const bool link =
      archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr;
  if (link || archive_entry_filetype(entry) != AE_IFREG) refuse("is not a regular file");
  if (!is_backup_name(name)) refuse("does not belong into a backup");
  if (archive_entry_sparse_count(entry) > 0 || !archive_entry_size_is_set(entry)) {
    refuse("has holes");
  }
  return name;
}

void read_file(archive* tar, archive_entry* entry, const std::string& path, uint64_t* done,
               const TarProgress& progress) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode));
  if (file.get() < 0) fail_errno(path, errno);
  const int64_t size = archive_entry_size(entry);
  std::vector<char> buffer(step_bytes);
  int64_t written = 0;
  for (;;) {
    const la_ssize_t got = archive_read_data(tar, buffer.data(), buffer.size());
    if (got < 0) fail_archive(tar, "tar");
    if (got == 0) break;
    for (la_ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(file.get(), buffer.data() + at, static_cast<size_t>(got - at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_errno(path, errno);
      at += put;
    }
    written += got;
    if (written > size) fail(exit_storage, "tar: " + path + ": longer than its header says");
    *done += static_cast<uint64_t>(got);
    progress(*done);
  }
  if (written != size) fail(exit_storage, "tar: " + path + ": ends too early");
}

}  // namespace

void write_tar(const std::string& directory, int fd, const TarProgress& progress) {
  const Writer tar(archive_write_new(), archive_write_free);
  archive_write_set_format_pax_restricted(tar.get());
  archive_write_add_filter_none(tar.get());
  archive_write_set_bytes_in_last_block(tar.get(), 1);
  if (archive_write_open_fd(tar.get(), fd) != ARCHIVE_OK) fail_archive(tar.get(), "tar");
  std::vector<std::string> names = {"BACKUP"};
  for (const char* const label : {"db", "log"}) {
    for (std::string& name : names_in(directory, label)) names.push_back(std::move(name));
  }
  uint64_t done = 0;
  for (const std::string& name : names) {
    write_file(tar.get(), directory + "/" + name, name, &done, progress);
  }
  if (archive_write_close(tar.get()) != ARCHIVE_OK) fail_archive(tar.get(), "tar");
}

void read_tar(int fd, const std::string& directory, const TarProgress& progress) {
  for (const char* const label : {"log", "db"}) {
    const std::string path = directory + "/" + label;
    if (::mkdir(path.c_str(), 0750) != 0) fail_errno(path, errno);
  }
  const Reader tar(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(tar.get());
  if (archive_read_open_fd(tar.get(), fd, step_bytes) != ARCHIVE_OK) {
    fail_archive(tar.get(), "tar");
  }
  uint64_t done = 0;
  for (uint64_t entries = 0;; ++entries) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(tar.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    if (result != ARCHIVE_OK) fail_archive(tar.get(), "tar");
    if (entries >= entries_max) fail(exit_storage, "tar: too many entries for a backup");
    const std::string name = checked_name(entry);
    if (!name.empty()) read_file(tar.get(), entry, directory + "/" + name, &done, progress);
  }
}

}  // namespace wq::cli
