// hash64 is part of the file format: the values below are the vectors that the xxHash project
// publishes for XXH3-64, over its own test buffer. A library or wrapper that gives others must
// never read a store.
#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace wq {
namespace {

constexpr uint64_t vector_seed = 0x9e3779b185ebca8d;

std::string vector_buffer(size_t size) {
  std::string buffer;
  uint64_t generator = 2654435761;
  for (size_t i = 0; i < size; ++i) {
    buffer.push_back(static_cast<char>(generator >> 56));
    generator *= vector_seed;
  }
  return buffer;
}

struct HashVector {
  size_t size_bytes;
  uint64_t seed;
  uint64_t value;
};

TEST(Hash, PublishedVectors) {
  // Sizes on both sides of every branch of the algorithm: 0, 1-3, 4-8, 9-16, 17-128, 129-240,
  // longer.
  constexpr HashVector vectors[] = {
      {0, 0, 0x2d06800538d394c2},
      {1, 0, 0xc44bdff4074eecdb},
      {1, vector_seed, 0x032be332dd766ef8},
      {6, 0, 0x27b56a84cd2d7325},
      {6, vector_seed, 0x84589c116ab59ab9},
      {12, 0, 0xa713daf0dfbb77e7},
      {12, vector_seed, 0xe7303e1b2336de0e},
      {24, 0, 0xa3fe70bf9d3510eb},
      {24, vector_seed, 0x850e80fc35bdd690},
      {48, 0, 0x397da259ecba1f11},
      {48, vector_seed, 0xadc2cbaa44acc616},
      {80, 0, 0xbcdefbbb2c47c90a},
      {80, vector_seed, 0xc6dd0cb699532e73},
      {195, 0, 0xcd94217ee362ec3a},
      {195, vector_seed, 0xba68003d370cb3d9},
      {403, 0, 0xcdeb804d65c6dea4},
      {403, vector_seed, 0x6259f6ecfd6443fd},
      {512, 0, 0x617e49599013cb6b},
      {512, vector_seed, 0x3ce457de14c27708},
      {2048, 0, 0xdd59e2c3a5f038e0},
      {2048, vector_seed, 0x66f81670669ababc},
  };
  const std::string buffer = vector_buffer(2048);
  for (const HashVector& vector : vectors) {
    const Bytes bytes = as_bytes(buffer).first(vector.size_bytes);
    EXPECT_EQ(hash64(bytes, vector.seed), vector.value)
        << vector.size_bytes << " bytes, seed " << vector.seed;
  }
}

TEST(Hash, EveryBitCounts) {
  std::string buffer = vector_buffer(300);
  const uint64_t whole = hash64(as_bytes(buffer), 1);
  for (size_t bit = 0; bit < buffer.size() * 8; ++bit) {
    buffer[bit / 8] = static_cast<char>(buffer[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(hash64(as_bytes(buffer), 1), whole) << "bit " << bit;
    buffer[bit / 8] = static_cast<char>(buffer[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_NE(hash64(as_bytes(buffer), 2), whole);
}

}  // namespace
}  // namespace wq
