// Keys: parse(build) is the identity, byte order is number order, and no foreign bytes parse.
#include "engine/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/prng.h"

namespace wq {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out.push_back(digits[static_cast<uint8_t>(c) >> 4]);
    out.push_back(digits[static_cast<uint8_t>(c) & 15]);
  }
  return out;
}

// Numbers around every byte boundary, where a wrong byte order shows.
std::vector<uint64_t> edge_numbers(uint64_t max) {
  std::vector<uint64_t> numbers = {1, 2, max - 1, max};
  for (uint64_t bit = 7; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t number : {power - 1, power, power + 1}) {
      if (number <= max) numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

TEST(Keys, GoldenBytes) {
  EXPECT_EQ(hex(job_body_key(0x0102030405060708)), "010203040506070800");
  EXPECT_EQ(hex(job_state_key(0x0102030405060708)), "010203040506070801");
  EXPECT_EQ(hex(ready_key(0x0a0b0c0d, 100, 7)), "0a0b0c0d640000000000000007");
  EXPECT_EQ(hex(lease_key(3, 0x1122)), "000000030000000000001122");
  EXPECT_EQ(hex(dead_key(3, 0x1122)), "000000030000000000001122");
  EXPECT_EQ(hex(delay_key(0x0193, 3, 9)), "0000000000000193000000030000000000000009");
  EXPECT_EQ(hex(queue_row_key(0x0a0b0c0d)), "710a0b0c0d");
  EXPECT_EQ(hex(meta_row_key()), "6d");
  EXPECT_EQ(hex(id_value(0x0102030405060708)), "0102030405060708");
}

TEST(Keys, JobKeysRoundTripInOrder) {
  std::string last;
  for (const uint64_t id : edge_numbers(std::numeric_limits<uint64_t>::max())) {
    const std::string body = job_body_key(id);
    const std::string state = job_state_key(id);
    ASSERT_LT(last, body);
    ASSERT_LT(body, state);
    ASSERT_EQ(parse_job_key(body)->id, id);
    ASSERT_FALSE(parse_job_key(body)->is_state);
    ASSERT_EQ(parse_job_key(state)->id, id);
    ASSERT_TRUE(parse_job_key(state)->is_state);
    last = state;
  }
}

TEST(Keys, RandomReadyKeysSortLikeTheirParts) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prng prng(seed);
  const std::vector<uint64_t> queues = edge_numbers(std::numeric_limits<uint32_t>::max());
  const std::vector<uint64_t> seqs = edge_numbers(std::numeric_limits<uint64_t>::max());
  using Parts = std::tuple<QueueId, uint8_t, uint64_t>;
  const auto draw = [&] {
    return Parts{static_cast<QueueId>(queues[prng.below(queues.size())]),
                 static_cast<uint8_t>(prng.below(256)), seqs[prng.below(seqs.size())]};
  };
  for (int i = 0; i < 20'000; ++i) {
    const Parts a = draw();
    const Parts b = draw();
    const std::string key_a = ready_key(std::get<0>(a), std::get<1>(a), std::get<2>(a));
    const std::string key_b = ready_key(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    ASSERT_EQ(a < b, key_a < key_b);
    const auto parsed = parse_ready_key(key_a);
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(a, Parts(parsed->queue, parsed->priority, parsed->seq));
  }
}

// The jobs of groups lie before all lanes, by queue, line, priority and place.
TEST(Keys, RandomLineKeysSortLikeTheirParts) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prng prng(seed);
  const std::vector<uint64_t> queues = edge_numbers(std::numeric_limits<uint32_t>::max());
  const std::vector<uint64_t> numbers = edge_numbers(std::numeric_limits<uint64_t>::max());
  using Parts = std::tuple<QueueId, uint64_t, uint8_t, uint64_t>;
  const auto draw = [&] {
    return Parts{static_cast<QueueId>(queues[prng.below(queues.size())]),
                 numbers[prng.below(numbers.size())], static_cast<uint8_t>(prng.below(256)),
                 numbers[prng.below(numbers.size())]};
  };
  const auto key_of = [](const Parts& parts) {
    return line_key(std::get<0>(parts), std::get<1>(parts), std::get<2>(parts), std::get<3>(parts));
  };
  for (int i = 0; i < 20'000; ++i) {
    const Parts a = draw();
    const std::string key = key_of(a);
    const Parts b = draw();
    ASSERT_EQ(a < b, key < key_of(b));
    const auto parsed = parse_line_key(key);
    const bool is_row = std::get<0>(a) != 0 && std::get<1>(a) != 0;
    ASSERT_EQ(parsed.has_value(), is_row);
    if (parsed) {
      ASSERT_EQ(a, Parts(parsed->queue, parsed->line, parsed->priority, parsed->seq));
    }
    ASSERT_LT(key, ready_key(1, 0, 0));
    ASSERT_FALSE(parse_ready_key(key).has_value());
    ASSERT_FALSE(parse_line_key(key.substr(1)).has_value());
  }
  EXPECT_FALSE(parse_line_key(ready_key(1, 0, 0)).has_value());
}

TEST(Keys, RandomDelayKeysSortLikeTheirParts) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prng prng(seed);
  const std::vector<uint64_t> queues = edge_numbers(std::numeric_limits<uint32_t>::max());
  const std::vector<uint64_t> dues = edge_numbers(std::numeric_limits<int64_t>::max());
  const std::vector<uint64_t> ids = edge_numbers(std::numeric_limits<uint64_t>::max());
  const auto draw = [&] {
    return DelayKey{static_cast<int64_t>(dues[prng.below(dues.size())]),
                    static_cast<QueueId>(queues[prng.below(queues.size())]),
                    ids[prng.below(ids.size())]};
  };
  for (int i = 0; i < 20'000; ++i) {
    const DelayKey a = draw();
    const DelayKey b = draw();
    const std::string key_a = delay_key(a.due_ms, a.queue, a.id);
    ASSERT_EQ(a < b, key_a < delay_key(b.due_ms, b.queue, b.id));
    ASSERT_TRUE(parse_delay_key(key_a) == a);
  }
}

TEST(Keys, SeqAndQueueRowKeysRoundTrip) {
  for (const uint64_t queue : edge_numbers(std::numeric_limits<uint32_t>::max())) {
    const auto id = static_cast<QueueId>(queue);
    ASSERT_EQ(parse_queue_row_key(queue_row_key(id)), id);
    for (const uint64_t seq : edge_numbers(std::numeric_limits<uint64_t>::max())) {
      const auto parsed = parse_seq_key(lease_key(id, seq));
      ASSERT_TRUE(parsed.has_value());
      ASSERT_EQ(parsed->queue, id);
      ASSERT_EQ(parsed->seq, seq);
    }
  }
}

TEST(Keys, ParsersRefuseWrongLengths) {
  const std::string longest(32, '\1');
  for (size_t size = 0; size <= longest.size(); ++size) {
    const std::string_view key = std::string_view(longest).substr(0, size);
    EXPECT_EQ(parse_job_key(key).has_value(), size == 9) << size;
    EXPECT_EQ(parse_ready_key(key).has_value(), size == 13) << size;
    EXPECT_EQ(parse_seq_key(key).has_value(), size == 12) << size;
    EXPECT_EQ(parse_delay_key(key).has_value(), size == 20) << size;
    EXPECT_EQ(parse_id_value(key).has_value(), size == 8) << size;
    EXPECT_FALSE(parse_queue_row_key(key).has_value()) << size;  // does not start with 'q'
  }
}

TEST(Keys, ParsersRefuseWhatNoRowHas) {
  EXPECT_FALSE(parse_job_key(job_body_key(0)).has_value());
  EXPECT_FALSE(parse_job_key(std::string("\0\0\0\0\0\0\0\1\2", 9)).has_value());
  EXPECT_FALSE(parse_ready_key(ready_key(0, 100, 1)).has_value());
  EXPECT_FALSE(parse_seq_key(lease_key(0, 1)).has_value());
  EXPECT_FALSE(parse_delay_key(delay_key(1, 0, 1)).has_value());
  EXPECT_FALSE(parse_delay_key(delay_key(1, 1, 0)).has_value());
  EXPECT_FALSE(parse_delay_key(std::string(20, '\xff')).has_value());
  EXPECT_FALSE(parse_queue_row_key(queue_row_key(0)).has_value());
  EXPECT_FALSE(parse_queue_row_key("m").has_value());
  EXPECT_FALSE(parse_id_value(std::string(8, '\0')).has_value());
}

TEST(Keys, NegativeDueTimeIsABrokenInvariant) {
  EXPECT_THROW(delay_key(-1, 1, 1), CheckFailed);
}

TEST(Keys, PrefixEnd) {
  EXPECT_EQ(prefix_end("a"), "b");
  EXPECT_EQ(prefix_end(std::string("a\xff", 2)), "b");
  EXPECT_EQ(prefix_end(std::string("\xff\xff", 2)), "");
  EXPECT_EQ(prefix_end(""), "");
  EXPECT_EQ(prefix_end(std::string("\x7f", 1)), std::string("\x80", 1));
  for (const uint64_t queue : {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{65'535}}) {
    std::string prefix;
    put_be32(prefix, static_cast<QueueId>(queue));
    const std::string end = prefix_end(prefix);
    EXPECT_LT(ready_key(static_cast<QueueId>(queue), 255, ~uint64_t{0}), end);
    EXPECT_GE(ready_key(static_cast<QueueId>(queue + 1), 0, 0), end);
  }
}

}  // namespace
}  // namespace wq
