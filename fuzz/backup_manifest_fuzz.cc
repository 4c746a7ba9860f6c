// The manifest of a backup: any text is refused as CORRUPT or VERSION, or is one that reads back
// the same when it is written again, byte for byte. With an odd first byte the input is the lines
// and the last one, with count and checksum, is put behind them, so that all of the reader is
// reached.
#include <algorithm>
#include <string>

#include "base/hash.h"
#include "engine/backup_internal.h"
#include "fuzz_check.h"
#include "input.h"

namespace wq {
namespace {

std::string with_end(std::string lines) {
  constexpr uint64_t hash_seed = 0x77712d6261636b75;
  if (!lines.ends_with('\n')) lines += '\n';
  size_t files = 0;
  for (size_t at = 0; (at = lines.find("\nfile ", at)) != lines.npos; ++at) ++files;
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(hash64(as_bytes(lines), hash_seed)));
  return lines + "end " + std::to_string(files) + " " + hash + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const bool repair = input.byte() & 1;
  std::string text = input.rest();
  if (repair) text = with_end(std::move(text));
  Result<BackupManifest> decoded = decode_manifest(text, "BACKUP");
  if (!decoded.ok()) {
    const Code code = decoded.status().code();
    FUZZ_CHECK(code == Code::corrupt || code == Code::version);
    FUZZ_CHECK(decoded.status().message().find('\n') == std::string::npos);
    return 0;
  }
  FUZZ_CHECK(encode_manifest(*decoded) == text);
  for (const BackupFile& file : decoded->files) {
    FUZZ_CHECK(is_backup_file_name(file.name));
    FUZZ_CHECK(file.name.find("..") != 0 && file.name.front() != '/');
  }
  return 0;
}

}  // namespace wq
