// unpack_payload: what a file says of a payload is refused, or unpacks to its recorded size; and a
// sealed one that opens does not open once it, or its place, is altered.
//
// flags:1 plain_bytes:4 job:8 alter:2, then the payload as it is stored, in the queue "q" of a
// store whose key 1 is 32 letters k.
#include "engine/packing.h"
#include "fuzz_check.h"
#include "input.h"

namespace wq {
namespace {

const Keyring& keys() {
  static const Keyring* const keys = [] {
    auto* made = new Keyring;
    const std::string bytes(seal_key_bytes, 'k');
    FUZZ_CHECK(made->add(1, as_bytes(bytes)).ok() && made->make_current(1).ok());
    return made;
  }();
  return *keys;
}

bool unpacks(const Envelope& envelope, std::string_view queue, JobId job) {
  std::vector<std::byte> storage;
  const Result<Bytes> out = unpack_payload(keys(), envelope, queue, job, storage);
  if (out.ok()) {
    FUZZ_CHECK(!envelope.packing.is_packed() || out.value().size() == envelope.packing.plain_bytes);
    return true;
  }
  FUZZ_CHECK(out.status().code() == Code::no_key || out.status().code() == Code::corrupt);
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Envelope envelope;
  envelope.packing.flags = in.byte();
  envelope.packing.plain_bytes = in.take<uint32_t>() % (1u << 20);
  const auto job = in.take<JobId>();
  const auto alter = in.take<uint16_t>();
  std::string payload = in.rest();
  envelope.payload = as_bytes(payload);
  if (check_packing(envelope.payload, envelope.packing)) return 0;
  if (!unpacks(envelope, "q", job) || !envelope.packing.is_sealed()) return 0;
  FUZZ_CHECK(!unpacks(envelope, "other", job));
  payload[alter % payload.size()] ^= 1;
  FUZZ_CHECK(!unpacks(envelope, "q", job));
  return 0;
}

}  // namespace wq
