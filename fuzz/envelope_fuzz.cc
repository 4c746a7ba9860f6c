// decode_envelope: refused as CORRUPT, or every part can be read and encoded again.
#include "engine/record.h"
#include "fuzz_check.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto decoded = decode_envelope(bytes);
  if (!decoded.ok()) {
    FUZZ_CHECK(decoded.status().code() == Code::corrupt);
    return 0;
  }
  const Envelope& envelope = decoded.value();
  FUZZ_CHECK(as_text(trusted_payload(bytes)) == as_text(envelope.payload));
  static Encoder encoder;
  const auto again =
      decode_envelope(encoder.envelope(envelope.headers, envelope.payload, envelope.backoff,
                                       envelope.enqueued_ms, envelope.traits, envelope.packing));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again.value().packing == envelope.packing);
  FUZZ_CHECK(trusted_packing(bytes) == envelope.packing);
  FUZZ_CHECK(again.value().headers.size() == envelope.headers.size());
  FUZZ_CHECK(again.value().backoff == envelope.backoff);
  return 0;
}

}  // namespace wq
