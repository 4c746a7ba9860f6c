// decode_job_row: refused as CORRUPT, or the row can be encoded again and its envelope decoded.
#include "engine/record.h"
#include "fuzz_check.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto decoded = decode_job_row(bytes);
  if (!decoded.ok()) {
    FUZZ_CHECK(decoded.status().code() == Code::corrupt);
    return 0;
  }
  const DecodedJobRow& row = decoded.value();
  if (!row.envelope.empty()) FUZZ_CHECK(decode_envelope(row.envelope).ok());
  static Encoder encoder;
  const auto again = decode_job_row(encoder.job_row(row.row, row.envelope));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again.value().row.position == row.row.position);
  FUZZ_CHECK(again.value().row.last_error == row.row.last_error);
  FUZZ_CHECK(as_text(again.value().envelope) == as_text(row.envelope));
  return 0;
}

}  // namespace wq
