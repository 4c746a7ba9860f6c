// wq_log_scan on a directory with any files under the names that a store uses, and a sound FORMAT
// unless the input has another: one of its documented codes, and nothing in the directory changes.
// The cold store is RocksDB's own business and stays out.
#include <wq.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "fuzz_check.h"
#include "input.h"
#include "work_directory.h"
#include "io/format_file.h"
#include "io/io.h"
#include "io/segment.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

const fs::path& directory() {
  static const fs::path path = make_work_directory("log_scan_fuzz");
  return path;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

// Names and lengths of all files but the lock, which is taken.
std::string told(const fs::path& root) {
  std::set<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().filename() == "LOCK") continue;
    lines.insert(entry.path().string() + " " + std::to_string(entry.file_size()));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

int32_t visit(const wq_log_record* record, void* context) {
  FUZZ_CHECK(record->segment.len > 0 && record->type.len > 0);
  ++*static_cast<uint64_t*>(context);
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fs::path root = directory();
  fs::remove_all(root);
  fs::create_directories(root / "log");
  static const auto io = make_io(IoBackend::thread).value();
  FUZZ_CHECK(write_format(*io, root.string(), StoreFormat{}).ok());
  static const std::string names[] = {"FORMAT",
                                      "log/" + segment_file_name(1),
                                      "log/" + segment_file_name(2),
                                      "log/spare-1.seg",
                                      "log/0000000000000003.seg.tmp",
                                      "log/x",
                                      "LOCK",
                                      "FORMAT.tmp"};
  Input input(data, size);
  while (!input.empty()) {
    const std::string& name = names[input.byte() % std::size(names)];
    write(root / name, input.bytes(input.take<uint16_t>()));
  }
  const std::string before = told(root);
  uint64_t records = 0;
  switch (wq_log_scan(root.c_str(), visit, &records, nullptr)) {
    case WQ_OK:
    case WQ_E_NOT_FOUND:
    case WQ_E_VERSION:
    case WQ_E_CORRUPT:
      break;
    default:
      FUZZ_CHECK(false);  // a code that is not documented
  }
  FUZZ_CHECK(told(root) == before);
  fs::remove_all(root);
  return 0;
}

}  // namespace wq
