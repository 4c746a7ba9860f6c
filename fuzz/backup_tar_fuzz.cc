// A tar that is said to hold a backup: a storage Failure of one line, or files with the names that
// a backup has, in its directory alone, no longer together than what was read.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/backup_tar.h"
#include "cli/failure.h"
#include "fuzz_check.h"
#include "input.h"
#include "work_directory.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

const fs::path& directory() {
  static const fs::path path = make_work_directory("backup_tar_fuzz");
  return path;
}

// What lies where the tar was unpacked, and nothing beside it.
void check_files(const fs::path& root, uint64_t bytes_max) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().lexically_relative(root).string();
    if (entry.is_directory()) {
      FUZZ_CHECK(name == "log" || name == "db");
      continue;
    }
    FUZZ_CHECK(entry.is_regular_file() && !entry.is_symlink());
    FUZZ_CHECK(fs::hard_link_count(entry.path()) == 1);
    FUZZ_CHECK(name == "BACKUP" || name.starts_with("log/") || name.starts_with("db/"));
    bytes += entry.file_size();
  }
  FUZZ_CHECK(bytes <= bytes_max);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fs::path outside = directory();
  const fs::path root = outside / "backup";
  fs::remove_all(root);
  fs::create_directories(root);
  const int fd = ::memfd_create("tar", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && ::write(fd, data, size) == static_cast<ssize_t>(size));
  FUZZ_CHECK(::lseek(fd, 0, SEEK_SET) == 0);
  try {
    cli::read_tar(fd, root.string(), [](uint64_t) {});
  } catch (const cli::Failure& failure) {
    FUZZ_CHECK(failure.exit_code == cli::exit_storage || failure.exit_code == cli::exit_other);
    FUZZ_CHECK(!failure.message.empty() && failure.message.find('\n') == std::string::npos);
  }
  ::close(fd);
  check_files(root, size);
  FUZZ_CHECK(std::distance(fs::directory_iterator(outside), fs::directory_iterator()) == 1);
  return 0;
}

}  // namespace wq
