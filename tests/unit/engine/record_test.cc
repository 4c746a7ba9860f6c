// Encodings: decode(encode) is the identity at any alignment, damage is refused or read as
// something else but never crashes (run it under ASan and UBSan), and the bytes of one record of
// each kind are pinned, so that a change of the format does not go unnoticed.
#include "engine/record.h"
#include "engine/body.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "unit/engine/record_samples.h"

namespace wq {
namespace {

using Decoder = std::function<bool(Bytes)>;  // true = accepted

bool accepts_command(Bytes bytes) {
  Command command;
  const Status status = decode_command(bytes, command);
  if (status.ok()) {
    // Whatever was accepted must be usable.
    for (const NewJob& job : command.jobs) {
      EXPECT_TRUE(decode_envelope(job.envelope).ok());
      EXPECT_EQ(as_text(trusted_payload(job.envelope)),
                as_text(decode_envelope(job.envelope)->payload));
    }
    EXPECT_FALSE(command_to_json(command).empty());
  } else {
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find("command record: "), std::string::npos) << status.message();
  }
  return status.ok();
}

template <typename Value>
bool corrupt_or_ok(const Result<Value>& result) {
  if (!result.ok()) {
    EXPECT_EQ(result.status().code(), Code::corrupt);
  }
  return result.ok();
}

bool accepts_envelope(Bytes bytes) {
  return corrupt_or_ok(decode_envelope(bytes));
}
bool accepts_job_row(Bytes bytes) {
  return corrupt_or_ok(decode_job_row(bytes));
}
bool accepts_queue_row(Bytes bytes) {
  return corrupt_or_ok(decode_queue_row(bytes));
}
bool accepts_meta_row(Bytes bytes) {
  return corrupt_or_ok(decode_meta_row(bytes));
}

// `bytes` in a buffer of exactly their size that starts `shift` past an aligned address, so that
// ASan sees the first byte read outside.
class PlacedBytes {
 public:
  PlacedBytes(Bytes bytes, size_t shift) : buffer_(bytes.size() + shift), shift_(shift) {
    std::copy(bytes.begin(), bytes.end(), buffer_.begin() + static_cast<ptrdiff_t>(shift));
  }
  Bytes bytes() const { return Bytes(buffer_).subspan(shift_); }

 private:
  std::vector<std::byte> buffer_;
  size_t shift_;
};

TEST(RecordRoundTrip, Commands) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Encoder encoder;
  Command decoded;
  for (uint64_t round = 0; round < 200; ++round) {
    SampleMaker samples(seed + round);
    for (const CommandType type : all_command_types) {
      const Command command = samples.command(type);
      const PlacedBytes placed(encoder.command(command), round % 8);
      const Status status = decode_command(placed.bytes(), decoded);
      ASSERT_TRUE(status.ok()) << status.message() << " type " << static_cast<int>(type);
      ASSERT_TRUE(same_command(command, decoded)) << command_to_json(command) << "\n"
                                                  << command_to_json(decoded);
    }
  }
}

TEST(RecordRoundTrip, DecodedViewsLieInTheGivenBytes) {
  SampleMaker samples(1);
  Encoder encoder;
  for (size_t shift = 0; shift < 8; ++shift) {
    const Command command = samples.command(CommandType::enqueue);
    const PlacedBytes placed(encoder.command(command), shift);
    Command decoded;
    ASSERT_TRUE(decode_command(placed.bytes(), decoded).ok());
    const std::byte* begin = placed.bytes().data();
    const std::byte* end = begin + placed.bytes().size();
    for (const NewJob& job : decoded.jobs) {
      EXPECT_GE(job.envelope.data(), begin);
      EXPECT_LE(job.envelope.data() + job.envelope.size(), end);
    }
  }
}

TEST(RecordRoundTrip, Envelopes) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  SampleMaker samples(seed);
  Encoder encoder;
  for (size_t round = 0; round < 2'000; ++round) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < 6; ++i) texts.push_back("n" + samples.bytes(40));
    std::vector<Header> headers;
    for (size_t i = 0; i < round % 4; ++i) {
      headers.push_back({as_bytes(texts[i]), i == 2 ? Bytes() : as_bytes(texts[5 - i])});
    }
    const std::string payload = samples.bytes(round % 300);
    const Backoff backoff = samples.backoff();
    const int64_t enqueued_ms = samples.time_ms();
    const JobTraits traits = samples.traits();
    const Bytes encoded =
        encoder.envelope(headers, as_bytes(payload), backoff, enqueued_ms, traits);
    const BodyRef body(encoded);
    const auto trusted = trusted_traits(body.bytes());
    ASSERT_EQ(trusted == nullptr, traits.empty());
    if (trusted) {
      ASSERT_EQ(*trusted, traits);
    }
    const PlacedBytes placed(encoded, round % 8);
    const auto decoded = decode_envelope(placed.bytes());
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    const Envelope& envelope = decoded.value();
    ASSERT_EQ(as_text(envelope.payload), payload);
    ASSERT_EQ(as_text(trusted_payload(placed.bytes())), payload);
    ASSERT_EQ(envelope.enqueued_ms, enqueued_ms);
    ASSERT_EQ(envelope.backoff, backoff);
    ASSERT_EQ(envelope.traits, traits);
    ASSERT_EQ(envelope.headers.size(), headers.size());
    for (size_t i = 0; i < headers.size(); ++i) {
      ASSERT_EQ(as_text(envelope.headers[i].name), as_text(headers[i].name));
      ASSERT_EQ(as_text(envelope.headers[i].value), as_text(headers[i].value));
    }
  }
}

// Each length of the payload leaves another gap behind it.
TEST(RecordRoundTrip, PlainEnvelopesOfEachLength) {
  Encoder encoder;
  std::string payload;
  for (size_t bytes = 0; bytes < 100; ++bytes) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    const Bytes plain =
        encoder.envelope({}, as_bytes(payload), Backoff(), static_cast<int64_t>(5 + bytes));
    EXPECT_EQ(plain.size() % 4, 0u);
    const std::string kept(as_text(plain));
    for (size_t shift = 0; shift < 8; ++shift) {
      const PlacedBytes placed(as_bytes(kept), shift);
      Result<Envelope> envelope = decode_envelope(placed.bytes());
      ASSERT_TRUE(envelope.ok()) << envelope.status().message();
      EXPECT_EQ(as_text(envelope->payload), payload);
      EXPECT_EQ(envelope->enqueued_ms, static_cast<int64_t>(5 + bytes));
      EXPECT_TRUE(envelope->headers.empty());
      EXPECT_EQ(envelope->traits, JobTraits());
      EXPECT_EQ(as_text(trusted_payload(placed.bytes())), payload);
    }
    payload.push_back(static_cast<char>('a' + bytes % 26));
  }
}

TEST(RecordRoundTrip, Rows) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Encoder encoder;
  for (size_t round = 0; round < 1'000; ++round) {
    SampleMaker samples(seed + round);
    const JobRow job = samples.job_row();
    const Bytes envelope = round % 3 == 0 ? Bytes() : samples.envelope();
    const PlacedBytes job_bytes(encoder.job_row(job, envelope), round % 8);
    const auto decoded_job = decode_job_row(job_bytes.bytes());
    ASSERT_TRUE(decoded_job.ok()) << decoded_job.status().message();
    ASSERT_TRUE(same_job_row(job, decoded_job.value().row));
    ASSERT_EQ(as_text(decoded_job.value().envelope), as_text(envelope));

    const QueueRow queue = samples.queue_row();
    const PlacedBytes queue_bytes(encoder.queue_row(queue), round % 8);
    const auto decoded_queue = decode_queue_row(queue_bytes.bytes());
    ASSERT_TRUE(decoded_queue.ok()) << decoded_queue.status().message();
    ASSERT_TRUE(same_queue_row(queue, decoded_queue.value()));

    const MetaRow meta = samples.meta_row();
    const PlacedBytes meta_bytes(encoder.meta_row(meta), round % 8);
    const auto decoded_meta = decode_meta_row(meta_bytes.bytes());
    ASSERT_TRUE(decoded_meta.ok()) << decoded_meta.status().message();
    ASSERT_TRUE(same_meta_row(meta, decoded_meta.value()));
  }
}

TEST(RecordRoundTrip, LimitsAreInside) {
  Encoder encoder;
  const std::string name(header_name_bytes_max, 'n');
  std::vector<Header> headers(headers_count_max, {as_bytes(std::string_view("x")), {}});
  headers[0].name = as_bytes(name);
  const std::string rest(headers_bytes_max - name.size() - (headers_count_max - 1), 'v');
  headers[0].value = as_bytes(rest);
  const Bytes envelope = encoder.envelope(headers, {}, Backoff(), 1);
  EXPECT_TRUE(decode_envelope(envelope).ok());

  Command command;
  command.reset(CommandType::promote, 1);
  command.ids.assign(command_items_max, 7);
  Command decoded;
  EXPECT_TRUE(decode_command(encoder.command(command), decoded).ok());
  EXPECT_EQ(decoded.ids.size(), command_items_max);

  const std::string error(error_bytes_max, 'e');
  command.reset(CommandType::settle, 1);
  command.queue = 1;
  command.settles.assign(1'000, {.id = 1, .generation = 1, .kind = SettleKind::fail});
  command.settles[7].error = error;
  EXPECT_TRUE(decode_command(encoder.command(command), decoded).ok());
  EXPECT_EQ(decoded.settles[7].error, error);
}

TEST(RecordRoundTrip, BuilderForgetsAHugeRecord) {
  Encoder encoder;
  const std::string huge(8u << 20, 'p');
  const std::string before(as_text(encoder.envelope({}, as_bytes("x"), Backoff(), 5)));
  const Bytes big = encoder.envelope({}, as_bytes(huge), Backoff(), 5);
  EXPECT_EQ(trusted_payload(big).size(), huge.size());
  EXPECT_TRUE(decode_envelope(big).ok());
  EXPECT_EQ(as_text(encoder.envelope({}, as_bytes("x"), Backoff(), 5)), before);
}

struct Sample {
  std::string what;
  std::string bytes;
  Decoder accepts;
};

std::vector<Sample> all_samples(uint64_t seed) {
  SampleMaker samples(seed);
  Encoder encoder;
  std::vector<Sample> out;
  const auto add = [&](std::string what, Bytes bytes, Decoder accepts) {
    out.push_back({std::move(what), std::string(as_text(bytes)), std::move(accepts)});
  };
  for (const CommandType type : all_command_types) {
    Command command = samples.command(type);
    while (command.jobs.size() > 3) command.jobs.pop_back();
    add("command " + std::to_string(static_cast<int>(type)), encoder.command(command),
        accepts_command);
  }
  add("envelope", samples.envelope(), accepts_envelope);
  add("job row", encoder.job_row(samples.job_row(), samples.envelope()), accepts_job_row);
  add("state row", encoder.job_row(samples.job_row(), {}), accepts_job_row);
  QueueRow queue = samples.queue_row();
  queue.lanes = {{100, 1, 2}, {7, 8, 9}};
  add("queue row", encoder.queue_row(queue), accepts_queue_row);
  add("meta row", encoder.meta_row(samples.meta_row()), accepts_meta_row);
  return out;
}

// Each look costs as much as the record is long: large ones, with a chain of jobs in them, are
// damaged here and there. An odd step meets every alignment.
size_t step_of(size_t bytes) {
  return bytes / 4'096 * 2 + 1;
}

TEST(RecordDamage, EveryTruncationIsSafe) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const Sample& sample : all_samples(seed)) {
    SCOPED_TRACE(sample.what);
    const Bytes whole = as_bytes(sample.bytes);
    ASSERT_TRUE(sample.accepts(whole));
    for (size_t size = 0; size < whole.size(); size += step_of(whole.size())) {
      const PlacedBytes placed(whole.first(size), size % 8);
      // The last bytes of a record may be padding or unused, but half of one is never accepted.
      const bool accepted = sample.accepts(placed.bytes());
      if (size < whole.size() / 2) {
        ASSERT_FALSE(accepted) << size;
      }
    }
  }
}

TEST(RecordDamage, EveryBitFlipIsSafe) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (Sample& sample : all_samples(seed)) {
    SCOPED_TRACE(sample.what);
    const size_t size = std::min<size_t>(sample.bytes.size(), 1'500);
    for (size_t i = 0; i < size; i += step_of(sample.bytes.size())) {
      const char original = sample.bytes[i];
      for (int bit = 0; bit < 8; ++bit) {
        sample.bytes[i] = static_cast<char>(original ^ (1 << bit));
        const PlacedBytes placed(as_bytes(sample.bytes), i % 4);
        sample.accepts(placed.bytes());
      }
      for (const char value : {'\x00', '\x7f', '\x80', '\xff'}) {
        sample.bytes[i] = value;
        const PlacedBytes placed(as_bytes(sample.bytes), i % 4);
        sample.accepts(placed.bytes());
      }
      sample.bytes[i] = original;
    }
    ASSERT_TRUE(sample.accepts(as_bytes(sample.bytes)));
  }
}

TEST(RecordDamage, RandomBytesAreSafe) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  SampleMaker samples(seed);
  for (int i = 0; i < 20'000; ++i) {
    const std::string noise = samples.bytes(64);
    const PlacedBytes placed(as_bytes(noise), 0);
    EXPECT_FALSE(accepts_command(placed.bytes()));
    EXPECT_FALSE(accepts_queue_row(placed.bytes()));
    EXPECT_FALSE(accepts_meta_row(placed.bytes()));
    accepts_envelope(placed.bytes());
    accepts_job_row(placed.bytes());
  }
}

TEST(RecordDamage, OneKindIsNotTakenForAnother) {
  SampleMaker samples(3);
  Encoder encoder;
  const std::string queue(as_text(encoder.queue_row(samples.queue_row())));
  const std::string meta(as_text(encoder.meta_row(samples.meta_row())));
  const std::string command(as_text(encoder.command(samples.command(CommandType::expire))));
  EXPECT_FALSE(accepts_command(as_bytes(queue)));
  EXPECT_FALSE(accepts_command(as_bytes(meta)));
  EXPECT_FALSE(accepts_queue_row(as_bytes(meta)));
  EXPECT_FALSE(accepts_queue_row(as_bytes(command)));
  EXPECT_FALSE(accepts_meta_row(as_bytes(queue)));
  EXPECT_FALSE(accepts_meta_row(as_bytes(command)));
}

std::string hex(Bytes bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out.push_back(digits[static_cast<uint8_t>(byte) >> 4]);
    out.push_back(digits[static_cast<uint8_t>(byte) & 15]);
  }
  return out;
}

// One record of each kind, with values that are easy to find in a dump.
struct Golden {
  Encoder encoder;
  std::string envelope;
  Command command;

  Golden() {
    const Header header{as_bytes("key"), as_bytes("value")};
    const Backoff backoff{.kind = BackoffKind::list, .list_ms = {0x10, 0x20}};
    envelope = as_text(encoder.envelope({&header, 1}, as_bytes("payload"), backoff, 0x0a0b));
  }
  std::string enqueue() {
    command.reset(CommandType::enqueue, 0x0102);
    command.queue = 3;
    command.jobs.push_back(
        {.id = 4, .due_ms = 5, .max_attempts = 6, .priority = 7, .envelope = as_bytes(envelope)});
    return hex(encoder.command(command));
  }
  std::string lease() {
    command.reset(CommandType::lease, 0x0102);
    command.first_generation = 8;
    command.groups.push_back({.queue = 3, .count = 2, .deadline_ms = 9});
    command.ids = {4, 5};
    return hex(encoder.command(command));
  }
  std::string acks() {
    command.reset(CommandType::settle, 0x0102);
    command.queue = 3;
    command.settles.push_back({.id = 4, .generation = 8});
    return hex(encoder.command(command));
  }
  std::string mixed() {
    acks();
    command.settles.push_back({.id = 5,
                               .generation = 9,
                               .kind = SettleKind::nack,
                               .flags = settle_front | settle_priority,
                               .priority = 1,
                               .delay_ms = -1,
                               .error = "oops"});
    return hex(encoder.command(command));
  }
  std::string declare() {
    command.reset(CommandType::queue_declare, 0x0102);
    command.queue = 3;
    command.name = "mail";
    return hex(encoder.command(command));
  }
};

TEST(RecordGolden, CommandsAndEnvelope) {
  Golden golden;
  EXPECT_EQ(hex(as_bytes(golden.envelope)),
            "100000000c0018000c001000080004000c0000002c000000480000000c0000000b0a000000000000"
            "070000007061796c6f6164000c000c0007000000000008000c000000000000030400000002000000"
            "10000000000000002000000000000000010000000c00000008000c00040008000800000014000000"
            "040000000500000076616c7565000000030000006b657900");
  EXPECT_EQ(golden.enqueue(),
            "1c0000005751434d0000000000000e00200006001400080010000c000e0000000000070003000000"
            "38000000100000000201000000000000000000000100000004000000000000000500000000000000"
            "9000000006000000070000000000000090000000100000000c0018000c001000080004000c000000"
            "2c000000480000000c0000000b0a000000000000070000007061796c6f6164000c000c0007000000"
            "000008000c0000000000000304000000020000001000000000000000200000000000000001000000"
            "0c00000008000c00040008000800000014000000040000000500000076616c756500000003000000"
            "6b657900");
  EXPECT_EQ(golden.lease(),
            "200000005751434d0000160024000600180000000000000000000c00080010001600000000000800"
            "34000000180000000800000000000000020100000000000000000000020000000400000000000000"
            "0500000000000000000000000100000009000000000000000300000002000000");
  EXPECT_EQ(golden.acks(),
            "180000005751434d10001c00060010000800000000000c001000000000000b000300000010000000"
            "0201000000000000000000000100000004000000000000000800000000000000");
  EXPECT_EQ(golden.mixed(),
            "200000005751434d18001c000600100008000000000000000000000000000c001800000000000b00"
            "03000000100000000201000000000000000000000200000054000000180000000000120028001c00"
            "14000700060005000c000800120000000001050220000000ffffffffffffffff0900000000000000"
            "050000000000000000000000040000006f6f7073080014000c000400080000000800000000000000"
            "0400000000000000");
  EXPECT_EQ(golden.declare(),
            "2c0000005751434d000022001c000600140008000000000000000000000000000000000000000000"
            "10000c002200000000000300030000002c0000000c0000000201000000000000040000006d61696c"
            "000012001c00000008000c00070000000000140012000000000000030300000060ea000000000000"
            "0100000000000000");
}

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// Both are records of format 1: where its vectors stand, and whether a default is written, is free.
TEST(RecordGolden, WhatABuilderWroteIsReadAsWell) {
  Golden golden;
  const auto expect_same = [&](std::string_view builders) {
    const std::vector<std::byte> bytes = from_hex(builders);
    Command command;  // its views lie in the bytes
    ASSERT_TRUE(decode_command(bytes, command).ok());
    EXPECT_EQ(command_to_json(command), command_to_json(golden.command));
  };
  golden.enqueue();
  expect_same(
      "1c0000005751434d0000000000000e00200006001400080010000c000e0000000000070003000000"
      "44000000100000000201000000000000000000000100000004000000000000000500000000000000"
      "9000000006000000070000000000000000000000000000000000000090000000100000000c001800"
      "0c001000080004000c0000002c000000480000000c0000000b0a000000000000070000007061796c"
      "6f6164000c000c0007000000000008000c0000000000000304000000020000001000000000000000"
      "2000000000000000010000000c00000008000c000400080008000000140000000400000005000000"
      "76616c7565000000030000006b657900");
  golden.acks();
  expect_same(
      "200000005751434d000000000000000010001c00060010000800000000000c001000000000000b00"
      "03000000100000000201000000000000000000000100000004000000000000000800000000000000");
}

TEST(RecordGolden, JobRows) {
  Golden golden;
  const JobRow job{.queue = 3,
                   .state = JobState::dead,
                   .priority = 7,
                   .reason = DeadReason::failed,
                   .epoch = 1,
                   .attempts = 2,
                   .exceptions = 3,
                   .failures = 4,
                   .max_attempts = 5,
                   .replays = 6,
                   .position = 8,
                   .generation = 9,
                   .since_ms = 10,
                   .leased_ms = 11,
                   .deadline_ms = 12,
                   .last_error = "oops"};
  EXPECT_EQ(hex(golden.encoder.job_row(job, as_bytes(golden.envelope))),
            "2c000000000026005800280007004c0044002400200006001c003c0034002c001800140010000500"
            "0c000800260000000001070505000000060000004800000004000000030000000200000001000000"
            "3c000000030000000c000000000000000b0000000000000009000000000000000a00000000000000"
            "080000000000000000000000040000006f6f707390000000100000000c0018000c00100008000400"
            "0c0000002c000000480000000c0000000b0a000000000000070000007061796c6f6164000c000c00"
            "07000000000008000c00000000000003040000000200000010000000000000002000000000000000"
            "010000000c00000008000c00040008000800000014000000040000000500000076616c7565000000"
            "030000006b657900");
  EXPECT_EQ(hex(golden.encoder.job_row(job, {})),
            "300000000000000000002600500024000700480040000000200006001c0038003000280018001400"
            "100005000c0008002600000000010705050000000600000040000000040000000300000002000000"
            "01000000030000000c000000000000000b0000000000000009000000000000000a00000000000000"
            "0800000000000000040000006f6f7073");
}

TEST(RecordGolden, StoreRows) {
  Golden golden;
  QueueRow queue{.id = 3,
                 .name = "mail",
                 .next_tail_seq = 1,
                 .next_front_seq = 2,
                 .next_dead_seq = 3,
                 .created_ms = 4,
                 .lanes = {{7, 5, 6}}};
  queue.totals = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (size_t i = 0; i < job_state_count; ++i) {
    queue.counts[i] = i;
    queue.epochs[i] = static_cast<uint32_t>(16 + i);
  }
  EXPECT_EQ(hex(golden.encoder.queue_row(queue)),
            "28000000575151520000000000001a004400040008000c0010001400180020002800300038001c00"
            "1a000000030000002001000038010000bc0000006800000048000000280000000100000000000000"
            "02000000000000000300000000000000040000000000000000000000010000000500000000000000"
            "06000000000000000700000000000000060000001000000011000000120000001300000014000000"
            "15000000060000000000000000000000010000000000000002000000000000000300000000000000"
            "0400000000000000050000000000000000001a005c0004000c0014001c0024002c0034003c004400"
            "4c0054001a0000000100000000000000020000000000000003000000000000000400000000000000"
            "05000000000000000600000000000000070000000000000008000000000000000900000000000000"
            "0a000000000000000b00000000000000040000006d61696c000012001c00000008000c0007000000"
            "0000140012000000000000030300000060ea0000000000000100000000000000");

  MetaRow meta{.applied_lsn = 1,
               .next_job_id = 2,
               .next_generation = 3,
               .next_queue_id = 4,
               .uuid_low = 5,
               .uuid_high = 6};
  meta.trash.push_back({.queue = 1,
                        .state = JobState::ready,
                        .epoch_below = 2,
                        .priority = 3,
                        .seq_low = 4,
                        .seq_high = 5,
                        .lsn = 6});
  EXPECT_EQ(hex(golden.encoder.meta_row(meta)),
            "1c00000057514d520000120038002c0024001c00080014000c000400120000003400000004000000"
            "06000000000000000500000000000000030000000000000002000000000000000100000000000000"
            "00000000010000000400000000000000050000000000000006000000000000000100000002000000"
            "0103000000000000");
}

TEST(RecordJson, ShowsIdsAndSizesButNoContent) {
  Golden golden;
  golden.enqueue();
  EXPECT_EQ(command_to_json(golden.command),
            R"({"type":"enqueue","now_ms":258,"queue":3,"jobs":[{"id":4,"priority":7,)"
            R"("due_ms":5,"max_attempts":6,"payload_bytes":7,"envelope_bytes":)" +
                std::to_string(golden.envelope.size()) + "}]}");
  golden.lease();
  EXPECT_EQ(command_to_json(golden.command),
            R"({"type":"lease","now_ms":258,"first_generation":8,)"
            R"("groups":[{"queue":3,"count":2,"deadline_ms":9}],"ids":[4,5]})");
  golden.mixed();
  EXPECT_EQ(command_to_json(golden.command),
            R"({"type":"settle","now_ms":258,"queue":3,"settles":[)"
            R"({"id":4,"generation":8,"kind":"ack"},)"
            R"({"id":5,"generation":9,"kind":"nack","delay_ms":-1,"front":true,"priority":1,)"
            R"("error_bytes":4}]})");
  golden.declare();
  golden.command.name = "a\"b\\c";
  golden.command.config.backoff = {.kind = BackoffKind::list, .list_ms = {1, 2}};
  EXPECT_EQ(command_to_json(golden.command),
            R"({"type":"queue_declare","now_ms":258,"queue":3,"name":"a\"b\\c","config":{)"
            R"("version":1,"status":"active","durability":"power","max_running":0,)"
            R"("max_retries":3,"lease_ms":60000,"backoff":"list","backoff_list_ms":[1,2]}})");
}

}  // namespace
}  // namespace wq
