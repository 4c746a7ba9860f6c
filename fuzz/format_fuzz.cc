// The FORMAT file: any bytes are refused as CORRUPT or VERSION, or are a format that reads back the
// same when it is written again. With an odd first byte the checksum is put right, so that what
// lies behind it is reached.
#include <vector>

#include "base/hash.h"
#include "fuzz_check.h"
#include "input.h"
#include "io/format_file.h"
#include "support/sim_io.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t hashed_bytes = 56;
  constexpr uint64_t hash_seed = 0x77712d666f726d61;
  Input input(data, size);
  const bool repair = input.byte() & 1;
  const std::string text = input.rest();
  std::vector<std::byte> bytes(as_bytes(text).begin(), as_bytes(text).end());
  if (repair && bytes.size() >= hashed_bytes + sizeof(uint64_t)) {
    store_le<uint64_t>(bytes.data() + hashed_bytes,
                       hash64({bytes.data(), hashed_bytes}, hash_seed));
  }
  SimDisk disk;
  const auto io = disk.mount();
  FUZZ_CHECK(make_store_directory(*io, "store").ok());
  disk.write_file("store/FORMAT", bytes);
  for (const Access access : {Access::read, Access::write}) {
    const auto read = read_format(*io, "store", access);
    if (!read.ok()) {
      const Code code = read.status().code();
      FUZZ_CHECK(code == Code::corrupt || code == Code::version);
      continue;
    }
    const StoreFormat& format = read.value();
    FUZZ_CHECK(format.version == store_format_version && format.incompatible == 0);
    FUZZ_CHECK(write_format(*io, "store", format).ok());
    const auto again = read_format(*io, "store", access);
    FUZZ_CHECK(again.ok() && again.value().uuid == format.uuid);
    FUZZ_CHECK(again.value().compatible == format.compatible);
  }
  return 0;
}

}  // namespace wq
