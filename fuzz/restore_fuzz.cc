// A directory with a backup in it, any of whose files may be anything: it is refused as CORRUPT,
// VERSION or NOT_FOUND and no store is left, or the store holds the files of the backup, byte for
// byte, and FORMAT. The manifest is the input's own, or one that fits the files (with an odd first
// byte), of which a byte may be changed. Nothing in the backup changes.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/backup_internal.h"
#include "fuzz_check.h"
#include "input.h"
#include "io/segment.h"
#include "support/sim_io.h"

namespace wq {
namespace {

constexpr const char* backup = "backup";

using Files = std::map<std::string, std::string>;

std::string contents_of(const SimDisk& disk, const std::string& path) {
  const std::vector<std::byte> bytes = disk.read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Files files_below(const SimDisk& disk, const std::string& directory) {
  Files files;
  for (const std::string& path : disk.files()) {
    if (path.starts_with(directory + "/")) files[path] = contents_of(disk, path);
  }
  return files;
}

void write(SimDisk& disk, const std::string& path, const std::string& text) {
  disk.write_file(path, {as_bytes(text).begin(), as_bytes(text).end()});
}

// Files with the names that a backup has, and a manifest of them.
BackupManifest make_files(SimDisk& disk, Input& input) {
  BackupManifest manifest;
  manifest.format.version = store_format_version;
  manifest.last_lsn = 1 + input.byte();
  manifest.checkpoint_lsn = input.byte() % (manifest.last_lsn + 1);
  manifest.created_ms = input.take<uint32_t>();
  Files files;
  for (uint32_t n = input.byte() % 5; n > 0; --n) {
    const uint8_t number = input.byte();
    const std::string name = number & 1 ? "db/00000" + std::to_string(number % 10) + ".sst"
                                        : "log/" + segment_file_name(1 + number % 9);
    files[name] = input.bytes(input.take<uint16_t>() % 3'000);
  }
  for (const auto& [name, contents] : files) {
    write(disk, std::string(backup) + "/" + name, contents);
    manifest.files.push_back({name, contents.size(), hash_of_file(contents)});
  }
  return manifest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t how = input.byte();
  SimDisk disk;
  const auto io = disk.mount();
  for (const std::string name : {"", "/log", "/db"}) {
    FUZZ_CHECK(io->make_dir(backup + name).ok());
  }
  const BackupManifest manifest = make_files(disk, input);
  std::string text = encode_manifest(manifest);
  if (how & 2) {
    const size_t at = input.take<uint16_t>() % text.size();
    text[at] = static_cast<char>(text[at] ^ (1 + input.byte() % 255));
  }
  if ((how & 4) && !manifest.files.empty()) {
    const BackupFile& file = manifest.files[input.byte() % manifest.files.size()];
    write(disk, std::string(backup) + "/" + file.name, input.bytes(input.byte()));
  }
  if (!(how & 1)) text = input.rest();
  write(disk, std::string(backup) + "/" + std::string(backup_manifest_name), text);
  const Files before = files_below(disk, backup);

  const BackupProgress progress = [](uint64_t done, uint64_t total) -> Status {
    FUZZ_CHECK(done <= total);
    return {};
  };
  const Result<BackupReport> verified = verify_backup(*io, backup, progress);
  const Result<BackupReport> restored = restore_backup(*io, backup, "store", progress);
  FUZZ_CHECK(verified.ok() == restored.ok());
  FUZZ_CHECK(files_below(disk, backup) == before);
  Files made = files_below(disk, "store");
  if (!restored.ok()) {
    const Code code = restored.status().code();
    FUZZ_CHECK(code == Code::corrupt || code == Code::version || code == Code::not_found);
    FUZZ_CHECK(made.empty() && files_below(disk, "store.restoring").empty());
    return 0;
  }
  FUZZ_CHECK(read_format(*io, "store", Access::write).ok());
  Files expected;
  Result<BackupManifest> taken = decode_manifest(text, "BACKUP");
  FUZZ_CHECK(taken.ok());
  for (const BackupFile& file : taken->files) {
    expected["store/" + file.name] = before.at(std::string(backup) + "/" + file.name);
  }
  std::erase_if(made, [](const auto& file) {
    return !file.first.starts_with("store/log/") && !file.first.starts_with("store/db/");
  });
  FUZZ_CHECK(made == expected);
  return 0;
}

}  // namespace wq
