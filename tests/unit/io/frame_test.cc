// Frames and segment headers as pure bytes.
#include "io/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "io/segment.h"
#include "test_seed.h"

namespace wq {
namespace {

using ByteVector = std::vector<std::byte>;

constexpr uint64_t seed = 0x1234;

ByteVector make_frame(const std::string& body, Lsn lsn = 7, Lsn durable_lsn = 5) {
  ByteVector frame(frame_bytes(body.size()), std::byte{0xaa});
  frame_encode(frame.data(), seed, FrameType::record, lsn, as_bytes(body));
  frame_seal(frame.data(), seed, durable_lsn);
  return frame;
}

TEST(Frame, RoundTrip) {
  const size_t sizes[] = {0, 1, 7, 8, 9, 240, 241, 1000, 100'000};
  for (const size_t bytes : sizes) {
    const std::string body(bytes, 'b');
    const ByteVector frame = make_frame(body, 42, 40);
    EXPECT_EQ(frame.size() % 8, 0u);
    EXPECT_EQ(frame_encoded_bytes(frame.data()), frame.size());
    FrameHeader header;
    ASSERT_EQ(frame_decode(frame, seed, &header), FrameVerdict::valid);
    EXPECT_EQ(header.body_bytes, bytes);
    EXPECT_EQ(header.lsn, 42u);
    EXPECT_EQ(header.durable_lsn, 40u);
    EXPECT_EQ(header.type, FrameType::record);
    EXPECT_EQ(as_text(Bytes(frame).subspan(40, bytes)), body);
    for (size_t i = 40 + bytes; i < frame.size(); ++i) EXPECT_EQ(frame[i], std::byte{0});
  }
}

// The bytes of version 1, for ever.
TEST(Frame, GoldenBytes) {
  const StoreUuid uuid = {std::byte{1}, std::byte{2}, std::byte{3}};
  const uint64_t golden_seed = frame_seed(uuid, 9);
  EXPECT_EQ(golden_seed, 0xdcf16176afcc3aceu);
  ByteVector frame(48);
  frame_encode(frame.data(), golden_seed, FrameType::record, 0x0102, as_bytes("hello"));
  frame_seal(frame.data(), golden_seed, 0x0100);
  const uint8_t expected[48] = {
      0xb4, 0x5a, 0x61, 0x13, 0xf6, 0x0c, 0x5a, 0x70,  // header hash
      5,    0,    0,    0,    1,    0,    0,    0,     // body bytes, type, reserved
      2,    1,    0,    0,    0,    0,    0,    0,     // lsn
      0,    1,    0,    0,    0,    0,    0,    0,     // durable lsn
      0x21, 0x20, 0x95, 0xf7, 0xe0, 0x0a, 0x2a, 0x11,  // body hash
      'h',  'e',  'l',  'l',  'o',  0,    0,    0,
  };
  for (size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(static_cast<uint8_t>(frame[i]), expected[i]) << i;
  }
}

TEST(Frame, EveryBitFlipIsNoticed) {
  const std::string body = "some body that is not a multiple of eight";
  const ByteVector good = make_frame(body);
  for (size_t bit = 0; bit < (40 + body.size()) * 8; ++bit) {
    ByteVector frame = good;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    FrameHeader header;
    EXPECT_NE(frame_decode(frame, seed, &header), FrameVerdict::valid) << bit;
  }
}

TEST(Frame, EveryTruncationIsNoticed) {
  const std::string body(100, 'x');
  const ByteVector good = make_frame(body);
  for (size_t length = 0; length < 40 + body.size(); ++length) {
    FrameHeader header;
    const FrameVerdict verdict = frame_decode(Bytes(good).first(length), seed, &header);
    EXPECT_EQ(verdict, length < 40 ? FrameVerdict::too_short : FrameVerdict::cut_body) << length;
  }
}

TEST(Frame, OtherSegmentsAndStoresDoNotValidate) {
  StoreUuid a{};
  StoreUuid b{};
  b[15] = std::byte{1};
  EXPECT_NE(frame_seed(a, 1), frame_seed(a, 2));
  EXPECT_NE(frame_seed(a, 1), frame_seed(b, 1));
  const ByteVector frame = make_frame("body");
  FrameHeader header;
  EXPECT_EQ(frame_decode(frame, seed + 1, &header), FrameVerdict::bad_header);
}

TEST(Frame, ZerosDoNotValidateUnderAnySeed) {
  const ByteVector zeros(4096);
  FrameHeader header;
  Prng prng(test_seed());
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(frame_decode(zeros, prng.next(), &header), FrameVerdict::bad_header);
  }
}

TEST(Frame, LengthOverTheLimitIsRefusedThoughTheChecksumIsGood) {
  ByteVector frame = make_frame("body");
  FrameHeader header;
  store_le<uint32_t>(frame.data() + 8, frame_body_bytes_max);
  frame_seal(frame.data(), seed, 0);
  EXPECT_EQ(frame_decode(frame, seed, &header), FrameVerdict::cut_body);
  store_le<uint32_t>(frame.data() + 8, frame_body_bytes_max + 1);
  frame_seal(frame.data(), seed, 0);
  EXPECT_EQ(frame_decode(frame, seed, &header), FrameVerdict::bad_header);
}

TEST(Frame, RandomBytesDoNotValidate) {
  Prng prng(test_seed());
  ByteVector bytes(256);
  for (int i = 0; i < 20'000; ++i) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    // Past the cheap tests, so that the checksum has to do it.
    store_le<uint32_t>(bytes.data() + 8, static_cast<uint32_t>(prng.below(200)));
    store_le<uint32_t>(bytes.data() + 12, 1);
    FrameHeader header;
    EXPECT_EQ(frame_decode(bytes, prng.next(), &header), FrameVerdict::bad_header);
  }
}

SegmentHeader sample_header() {
  SegmentHeader header;
  header.uuid[3] = std::byte{9};
  header.seq = 12;
  header.first_lsn = 100;
  header.prev_seq = 11;
  header.prev_end = 8192;
  header.prev_hash = 0xabcdef;
  header.segment_bytes = 1 << 20;
  header.recycled = true;
  return header;
}

TEST(SegmentHeader, RoundTripAndEveryBitFlip) {
  const SegmentHeader header = sample_header();
  ByteVector block(segment_header_bytes);
  const uint64_t hash = segment_header_encode(block.data(), header);
  SegmentHeader decoded;
  uint64_t decoded_hash = 0;
  ASSERT_TRUE(segment_header_decode(block, header.uuid, 12, &decoded, &decoded_hash).ok());
  EXPECT_EQ(decoded_hash, hash);
  EXPECT_EQ(decoded.first_lsn, 100u);
  EXPECT_EQ(decoded.prev_seq, 11u);
  EXPECT_EQ(decoded.prev_end, 8192u);
  EXPECT_EQ(decoded.prev_hash, 0xabcdefu);
  EXPECT_EQ(decoded.segment_bytes, uint64_t{1} << 20);
  EXPECT_TRUE(decoded.recycled);
  for (size_t bit = 0; bit < block.size() * 8; ++bit) {
    block[bit / 8] ^= std::byte{1} << (bit % 8);
    const Status status = segment_header_decode(block, header.uuid, 12, &decoded, &decoded_hash);
    EXPECT_EQ(status.code(), Code::corrupt) << bit;
    block[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(SegmentHeader, KnowsForeignStoresAndWrongNames) {
  const SegmentHeader header = sample_header();
  ByteVector block(segment_header_bytes);
  segment_header_encode(block.data(), header);
  SegmentHeader decoded;
  uint64_t hash = 0;
  const Status foreign = segment_header_decode(block, StoreUuid{}, 12, &decoded, &hash);
  EXPECT_EQ(foreign.code(), Code::corrupt);
  EXPECT_NE(foreign.message().find("another store"), std::string::npos);
  const Status renamed = segment_header_decode(block, header.uuid, 13, &decoded, &hash);
  EXPECT_EQ(renamed.code(), Code::corrupt);
  EXPECT_NE(renamed.message().find("log/000000000000000d.seg"), std::string::npos);
}

TEST(SegmentNames, AreExact) {
  EXPECT_EQ(segment_file_name(0x1f), "000000000000001f.seg");
  EXPECT_EQ(parse_segment_name("000000000000001f.seg"), 0x1fu);
  for (const char* name : {"000000000000001F.seg", "1f.seg", "0000000000000000.seg", "spare-1.seg",
                           "000000000000001f.seg.tmp", "000000000000001g.seg", "", "LOCK"}) {
    EXPECT_FALSE(parse_segment_name(name)) << name;
  }
  EXPECT_EQ(parse_spare_name("spare-17.seg"), 17u);
  for (const char* name : {"spare-.seg", "spare-x.seg", "spare-1.tmp", "spare.seg"}) {
    EXPECT_FALSE(parse_spare_name(name)) << name;
  }
}

}  // namespace
}  // namespace wq
