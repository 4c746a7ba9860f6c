#include "cli/backup_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/descriptor.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t step_bytes = 256 << 10;
constexpr uint64_t entries_max = 1'000'000;
constexpr size_t name_bytes_max = 255;
constexpr mode_t file_mode = 0640;

using Writer = std::unique_ptr<archive, int (*)(archive*)>;
using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

// Damage of a tar has no errno of the system, or one that says nothing.
[[noreturn]] void fail_read(archive* tar) {
  const char* const text = archive_error_string(tar);
  const int os_errno = archive_errno(tar);
  const bool is_damage = os_errno <= 0 || os_errno == EILSEQ || os_errno == EINVAL;
  const std::string cause = is_damage ? "" : std::string(": ") + std::strerror(os_errno);
  fail(exit_storage, std::string("tar: ") + (text != nullptr ? text : "unknown error") + cause);
}

[[noreturn]] void fail_write(archive* tar, const std::string& name) {
  fail_errno("tar: writing " + name, archive_errno(tar));
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  fail(exit_storage,
       "tar: '" + printable(name, 100) + "' " + what + "; this is no tar of a backup");
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
  if (archive_write_header(tar, entry.get()) != ARCHIVE_OK) fail_write(tar, name);
  std::vector<char> buffer(step_bytes);
  for (uint64_t left = static_cast<uint64_t>(info.st_size); left > 0;) {
    const ssize_t got = ::read(file.get(), buffer.data(), std::min<uint64_t>(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_errno(path, got < 0 ? errno : EIO);
    if (archive_write_data(tar, buffer.data(), static_cast<size_t>(got)) != got) {
      fail_write(tar, name);
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

// "monday/" and what is below it: somebody packed the directory, and not what is in it.
bool is_of_a_packed_directory(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == name.npos || slash == 0) return false;
  const std::string below = name.substr(slash + 1);
  return below.empty() || below == "log/" || below == "db/" || is_backup_name(below);
}

[[noreturn]] void refuse_name(const std::string& given, const std::string& name) {
  if (!is_of_a_packed_directory(name)) refuse(given, "does not belong into a backup");
  refuse(given, "does not belong into a backup; if '" +
                    printable(name.substr(0, name.find('/')), 60) +
                    "' is one, pack what is in it, with tar -C DIRECTORY -cf FILE .");
}

// The name of a file to take; empty for a directory, which needs no entry.
std::string checked_name(archive_entry* entry) {
  const char* const pathname = archive_entry_pathname(entry);
  const std::string given = pathname != nullptr ? pathname : "";
  std::string name = given;
  while (name.starts_with("./")) name.erase(0, 2);
  if (archive_entry_filetype(entry) == AE_IFDIR) {
    std::string directory = name;
    while (directory.ends_with('/')) directory.pop_back();
    if (directory.empty() || directory == "." || directory == "log" || directory == "db") return "";
    refuse_name(given, name);
  }
  const bool link =
      archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr;
  if (link || archive_entry_filetype(entry) != AE_IFREG) refuse(given, "is not a regular file");
  if (!is_backup_name(name)) refuse_name(given, name);
  if (archive_entry_sparse_count(entry) > 0 || !archive_entry_size_is_set(entry)) {
    refuse(given, "has holes");
  }
  return name;
}

void write_block(int fd, const char* block, size_t bytes, const std::string& path) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t put = ::write(fd, block + at, bytes - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_errno(path, errno);
    at += static_cast<size_t>(put);
  }
}

// By blocks as they stand in the tar, since what reads bytes would fill the gaps between them, and
// a header of a few bytes can promise any size.
void read_file(archive* tar, archive_entry* entry, const std::string& name, const std::string& path,
               uint64_t* done, const TarProgress& progress) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode));
  if (file.get() < 0 && errno == EEXIST) refuse(name, "is in it twice");
  if (file.get() < 0) fail_errno(path, errno);
  const int64_t size = archive_entry_size(entry);
  int64_t written = 0;
  for (;;) {
    const void* block = nullptr;
    size_t bytes = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(tar, &block, &bytes, &offset);
    if (result != ARCHIVE_OK && result != ARCHIVE_EOF) fail_read(tar);
    if (result == ARCHIVE_EOF) break;
    if (offset != written) refuse(name, "has holes");
    write_block(file.get(), static_cast<const char*>(block), bytes, path);
    written += static_cast<int64_t>(bytes);
    if (written > size) refuse(name, "is longer than its header says");
    *done += bytes;
    progress(*done);
  }
  if (written != size) refuse(name, "ends too early");
}

}  // namespace

void write_tar(const std::string& directory, int fd, const TarProgress& progress) {
  const Writer tar(archive_write_new(), archive_write_free);
  archive_write_set_format_pax_restricted(tar.get());
  archive_write_add_filter_none(tar.get());
  archive_write_set_bytes_in_last_block(tar.get(), 1);
  if (archive_write_open_fd(tar.get(), fd) != ARCHIVE_OK) fail_write(tar.get(), "its beginning");
  std::vector<std::string> names = {"BACKUP"};
  for (const char* const label : {"db", "log"}) {
    for (std::string& name : names_in(directory, label)) names.push_back(std::move(name));
  }
  uint64_t done = 0;
  for (const std::string& name : names) {
    write_file(tar.get(), directory + "/" + name, name, &done, progress);
  }
  if (archive_write_close(tar.get()) != ARCHIVE_OK) fail_write(tar.get(), "its end");
}

void read_tar(int fd, const std::string& directory, const TarProgress& progress) {
  for (const char* const label : {"log", "db"}) {
    const std::string path = directory + "/" + label;
    if (::mkdir(path.c_str(), 0750) != 0) fail_errno(path, errno);
  }
  const Reader tar(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(tar.get());
  if (archive_read_open_fd(tar.get(), fd, step_bytes) != ARCHIVE_OK) {
    // What the archive library sets for a form that it does not know; else the input is unreadable.
    if (archive_errno(tar.get()) != EILSEQ) fail_read(tar.get());
    fail(exit_storage,
         "tar: the input is no tar; unpack a compressed one first: zstd -dc FILE | wq restore -");
  }
  uint64_t done = 0;
  for (uint64_t entries = 0;; ++entries) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(tar.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    if (result != ARCHIVE_OK) fail_read(tar.get());
    if (entries >= entries_max) fail(exit_storage, "tar: too many entries for a backup");
    const std::string name = checked_name(entry);
    if (name.empty()) continue;
    read_file(tar.get(), entry, name, directory + "/" + name, &done, progress);
  }
}

}  // namespace wq::cli
