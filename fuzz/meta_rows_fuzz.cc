// decode_queue_row and decode_meta_row: refused as CORRUPT, or the row can be encoded again into
// the bytes that a fresh encoding gives.
#include <string>

#include "engine/record.h"
#include "fuzz_check.h"

namespace wq {

namespace {

void try_queue_row(Encoder& encoder, Bytes bytes) {
  const auto decoded = decode_queue_row(bytes);
  if (!decoded.ok()) {
    FUZZ_CHECK(decoded.status().code() == Code::corrupt);
    return;
  }
  const std::string encoded(as_text(encoder.queue_row(decoded.value())));
  const auto again = decode_queue_row(as_bytes(encoded));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(as_text(encoder.queue_row(again.value())) == encoded);
}

void try_meta_row(Encoder& encoder, Bytes bytes) {
  const auto decoded = decode_meta_row(bytes);
  if (!decoded.ok()) {
    FUZZ_CHECK(decoded.status().code() == Code::corrupt);
    return;
  }
  const std::string encoded(as_text(encoder.meta_row(decoded.value())));
  const auto again = decode_meta_row(as_bytes(encoded));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(as_text(encoder.meta_row(again.value())) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  static Encoder encoder;
  try_queue_row(encoder, bytes);
  try_meta_row(encoder, bytes);
  return 0;
}

}  // namespace wq
