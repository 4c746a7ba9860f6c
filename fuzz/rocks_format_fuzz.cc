// What is looked at in RocksDB's tables and manifests before RocksDB does: any bytes get an answer,
// and nothing outside of them is read.
#include "engine/rocks_format.h"

#include <string>

#include "fuzz_check.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto read = [&](uint64_t offset, size_t count, std::string& out) -> Status {
    FUZZ_CHECK(offset <= size && count <= size - offset);
    out = as_text(bytes.subspan(static_cast<size_t>(offset), count));
    return {};
  };
  for (const Status& status : {check_table(size, read), check_manifest(bytes)}) {
    FUZZ_CHECK(status.ok() || status.code() == Code::corrupt);
  }
  return 0;
}

}  // namespace wq
