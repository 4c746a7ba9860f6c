// frame_decode: any bytes get a verdict and nothing outside them is read; a frame of ours decodes
// to what went in, and with any one byte changed, or cut anywhere, it is not valid.
#include <string>
#include <vector>

#include "fuzz_check.h"
#include "input.h"
#include "io/frame.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FrameHeader header;
  const Bytes all(reinterpret_cast<const std::byte*>(data), size);
  const FrameVerdict alone = frame_decode_header(all, 1, &header);
  const FrameVerdict whole = frame_decode(all, 1, &header);
  FUZZ_CHECK((alone == FrameVerdict::valid) ==
             (whole != FrameVerdict::too_short && whole != FrameVerdict::bad_header));

  Input input(data, size);
  const auto seed = input.take<uint64_t>();
  const auto lsn = input.take<uint64_t>();
  const auto at = input.take<uint16_t>();
  const auto change = input.byte();
  const std::string body = input.rest();
  std::vector<std::byte> frame(static_cast<size_t>(frame_bytes(body.size())));
  frame_encode(frame.data(), seed, FrameType::record, lsn, as_bytes(body));
  const uint64_t hash = frame_seal(frame.data(), seed, lsn / 2);
  FUZZ_CHECK(frame_encoded_bytes(frame.data()) == frame.size());
  FUZZ_CHECK(frame_decode(frame, seed, &header) == FrameVerdict::valid);
  FUZZ_CHECK(header.lsn == lsn && header.durable_lsn == lsn / 2 && header.header_hash == hash);
  FUZZ_CHECK(header.body_bytes == body.size() && header.type == FrameType::record);
  const std::vector<std::byte> cut(
      frame.begin(), frame.begin() + at % static_cast<int>(frame_header_bytes + body.size()));
  FUZZ_CHECK(cut.size() == frame.size() || frame_decode(cut, seed, &header) != FrameVerdict::valid);
  const size_t place = at % (frame_header_bytes + body.size());
  frame[place] ^= static_cast<std::byte>(change);
  FUZZ_CHECK((frame_decode(frame, seed, &header) == FrameVerdict::valid) == (change == 0));
  return 0;
}

}  // namespace wq
