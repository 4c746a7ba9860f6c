// Compression of payloads through zstd, which payload_compress.cc alone includes. Thread model:
// free functions.
#pragma once

#include <cstddef>
#include <vector>

#include "base/codec.h"
#include "base/result.h"

namespace wq {

// False, and nothing in `out`, unless the result is smaller than the payload.
bool compress_payload(Bytes payload, std::vector<std::byte>& out);
// CORRUPT unless exactly `plain_bytes` come out, and never more than those are written.
Status decompress_payload(Bytes packed, size_t plain_bytes, std::vector<std::byte>& out);

}  // namespace wq
