#include "engine/payload_compress.h"

#include <zstd.h>

#include "base/planted.h"

namespace wq {

bool compress_payload(Bytes payload, std::vector<std::byte>& out) {
  // Room for less than there is: zstd gives up as soon as it would not pay.
  out.resize(payload.size());
  const size_t bytes = payload.empty()
                           ? 0
                           : ZSTD_compress(out.data(), payload.size() - 1, payload.data(),
                                           payload.size(), ZSTD_CLEVEL_DEFAULT);
  const bool smaller = !payload.empty() && ZSTD_isError(bytes) == 0;
  out.resize(smaller ? bytes : 0);
  return smaller;
}

Status decompress_payload(Bytes packed, size_t plain_bytes, std::vector<std::byte>& out) {
  out.resize(plain_bytes);
  const size_t bytes = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(bytes) == 0 && (bytes == plain_bytes || WQ_PLANTED(plain_size_unchecked))) {
    return {};
  }
  out.clear();
  return Status(Code::corrupt, "a compressed payload does not unpack to its " +
                                   std::to_string(plain_bytes) + " bytes");
}

}  // namespace wq
