// decode_command: any bytes are refused as CORRUPT or become a command that can be used and encoded
// again into an equal one.
#include "engine/record.h"
#include "fuzz_check.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  Command command;
  const Status status = decode_command(bytes, command);
  if (!status.ok()) {
    FUZZ_CHECK(status.code() == Code::corrupt);
    return 0;
  }
  for (const NewJob& job : command.jobs) {
    const auto envelope = decode_envelope(job.envelope);
    FUZZ_CHECK(envelope.ok());
    FUZZ_CHECK(as_text(trusted_payload(job.envelope)) == as_text(envelope.value().payload));
  }
  static Encoder encoder;
  Command again;
  FUZZ_CHECK(decode_command(encoder.command(command), again).ok());
  FUZZ_CHECK(command_to_json(again) == command_to_json(command));
  return 0;
}

}  // namespace wq
