// Codecs: exact bytes (they are the format), round trips, and order of big-endian keys.
#include "base/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "base/prng.h"
#include "test_seed.h"

namespace wq {
namespace {

TEST(Codec, LittleEndianBytesAreExact) {
  std::array<std::byte, 8> buffer{};
  store_le<uint64_t>(buffer.data(), 0x0102030405060708);
  for (size_t i = 0; i < buffer.size(); ++i) {
    EXPECT_EQ(std::to_integer<size_t>(buffer[i]), 8 - i);
  }
  store_le<uint32_t>(buffer.data(), 0xa1b2c3d4);
  EXPECT_EQ(std::to_integer<int>(buffer[0]), 0xd4);
  EXPECT_EQ(std::to_integer<int>(buffer[3]), 0xa1);
  EXPECT_EQ(std::to_integer<int>(buffer[4]), 4) << "a 32-bit store touched the byte behind it";
}

TEST(Codec, BigEndianBytesAreExact) {
  std::string key;
  put_be32(key, 0x01020304);
  put_be64(key, 0x05060708090a0b0c);
  EXPECT_EQ(key, std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c", 12));
}

TEST(Codec, RoundTripsAtAnyAlignment) {
  Prng prng(test_seed());
  std::array<std::byte, 24> buffer{};
  for (size_t shift = 0; shift < 8; ++shift) {
    const uint64_t value = prng.next();
    store_le<uint64_t>(buffer.data() + shift, value);
    EXPECT_EQ(load_le<uint64_t>(buffer.data() + shift), value);
    std::string key(shift, 'p');
    put_be64(key, value);
    put_be32(key, static_cast<uint32_t>(value));
    EXPECT_EQ(get_be64(key.data() + shift), value);
    EXPECT_EQ(get_be32(key.data() + shift + 8), static_cast<uint32_t>(value));
  }
  for (const uint64_t edge : {uint64_t{0}, uint64_t{1}, std::numeric_limits<uint64_t>::max()}) {
    std::string key;
    put_be64(key, edge);
    EXPECT_EQ(get_be64(key.data()), edge);
  }
}

TEST(Codec, BigEndianByteOrderIsNumberOrder) {
  Prng prng(test_seed());
  for (int i = 0; i < 10'000; ++i) {
    // Of every magnitude: a shift leaves short and long numbers equally often.
    const uint64_t a = prng.next() >> prng.below(64);
    const uint64_t b = prng.next() >> prng.below(64);
    std::string key_a;
    std::string key_b;
    put_be64(key_a, a);
    put_be64(key_b, b);
    ASSERT_EQ(a < b, key_a < key_b) << a << " " << b;
  }
}

TEST(Codec, BytesAndTextAreViewsOfTheSameMemory) {
  const std::string text("a\0b", 3);
  const Bytes bytes = as_bytes(text);
  EXPECT_EQ(bytes.size(), 3u);
  EXPECT_EQ(static_cast<const void*>(bytes.data()), static_cast<const void*>(text.data()));
  EXPECT_EQ(as_text(bytes), text);
  EXPECT_TRUE(as_text(Bytes{}).empty());
}

}  // namespace
}  // namespace wq
