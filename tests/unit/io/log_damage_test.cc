// Damaged logs. The outcome is always one of two: the log opens with every record before the damage
// and says what it cut, or it is CORRUPT with file and offset. Never wrong bytes, never a missing
// middle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "base/hash.h"
#include "io/frame.h"
#include "io/segment.h"
#include "log_test_util.h"
#include "test_seed.h"

namespace wq {
namespace {

using ByteVector = std::vector<std::byte>;

struct Outcome {
  bool opened = false;
  Lsn last_lsn = 0;
  LogRecovery recovery;
  Status status;
};

// Opens and checks every record against its LSN; wrong bytes fail the test.
Outcome open_and_check(SimDisk& disk, const LogOptions& options = small_options(),
                       size_t bytes = SIZE_MAX) {
  Outcome outcome;
  OpenLog log = open_log(disk, options);
  outcome.status = log.status;
  if (!log.ok()) {
    EXPECT_TRUE(log.status.code() == Code::corrupt || log.status.code() == Code::version)
        << log.status.message();
    EXPECT_NE(log.status.message().find("log/0000"), std::string::npos)
        << "must name the file: " << log.status.message();
    return outcome;
  }
  outcome.opened = true;
  outcome.recovery = log->recovery();
  const Lsn from = options.expected_applied_lsn + 1;
  outcome.last_lsn = check_records(*log.log, from, bytes);
  EXPECT_EQ(outcome.last_lsn, outcome.recovery.last_lsn);
  return outcome;
}

// Six records of mixed size in one segment, in three groups; optionally closed in order.
SimDisk six_records(bool closed) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.segment_bytes = 32 << 10;
  OpenLog log = open_log(disk, options);
  append_records(*log.log, 3);
  append_records(*log.log, 2);
  append_records(*log.log, 1);
  if (closed) {
    EXPECT_TRUE(log->close().ok());
  }
  return disk.copy();
}

LogOptions six_options() {
  LogOptions options = small_options();
  options.segment_bytes = 32 << 10;
  return options;
}

struct FramePlace {
  size_t offset;
  size_t bytes;
  Lsn lsn;
  FrameType type;
};

std::vector<FramePlace> frame_places(const ByteVector& file, uint64_t seq) {
  std::vector<FramePlace> places;
  const uint64_t seed = frame_seed(test_uuid(), seq);
  for (size_t at = segment_header_bytes; at + frame_header_bytes <= file.size();) {
    FrameHeader header;
    if (frame_decode(Bytes(file).subspan(at), seed, &header) != FrameVerdict::valid) {
      at += frame_align_bytes;
      continue;
    }
    const auto bytes = static_cast<size_t>(frame_bytes(header.body_bytes));
    places.push_back({at, bytes, header.lsn, header.type});
    at += bytes;
  }
  return places;
}

TEST(LogDamage, EveryBitFlipOfAClosedLogIsFoundOrHarmless) {
  SimDisk good = six_records(true);
  const std::string path = segment_path(1);
  const ByteVector file = good.read_file(path);
  const auto places = frame_places(file, 1);
  ASSERT_EQ(places.size(), 7u);
  const size_t used = places.back().offset + places.back().bytes;
  // What no checksum covers because it means nothing: zeros behind frames.
  const auto covered = [&](size_t at) {
    if (at < segment_header_bytes) return true;
    return std::any_of(places.begin(), places.end(), [&](const FramePlace& place) {
      const size_t body = load_le<uint32_t>(file.data() + place.offset + 8);
      return at >= place.offset && at < place.offset + frame_header_bytes + body;
    });
  };
  size_t corrupt = 0;
  for (size_t bit = 0; bit < used * 8; ++bit) {
    const bool header_zeros = bit / 8 >= 128 && bit / 8 < 4080;
    // Samples are enough where all bits are treated alike.
    if ((header_zeros || !covered(bit / 8)) && bit % 251 != 0) continue;
    ByteVector damaged = file;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    good.write_file(path, damaged);
    const Outcome outcome = open_and_check(good, six_options());
    if (!covered(bit / 8)) {
      EXPECT_TRUE(outcome.opened) << bit << ": " << outcome.status.message();
      EXPECT_EQ(outcome.last_lsn, 6u);
      continue;
    }
    const bool in_close_frame = bit / 8 >= places.back().offset;
    if (in_close_frame) {
      // The close frame is no record: without it the log ends just as well, and says that it was
      // cut.
      ASSERT_TRUE(outcome.opened) << bit << ": " << outcome.status.message();
      EXPECT_EQ(outcome.last_lsn, 6u);
      EXPECT_GT(outcome.recovery.truncated_bytes, 0u);
    } else {
      ASSERT_FALSE(outcome.opened) << "bit " << bit << " of " << used * 8 << " was not noticed";
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, 10'000u);
}

TEST(LogDamage, EveryBitFlipOfAKilledLogLosesOnlyTheTail) {
  SimDisk good = six_records(false);
  const std::string path = segment_path(1);
  const ByteVector file = good.read_file(path);
  const auto places = frame_places(file, 1);
  ASSERT_EQ(places.size(), 6u);
  const FramePlace& last = places.back();  // nothing behind it can vouch for it
  for (size_t at = segment_header_bytes; at < last.offset + last.bytes; ++at) {
    if (file[at] == std::byte{} && at % 61 != 0) continue;  // mostly padding
    ByteVector damaged = file;
    damaged[at] ^= std::byte{0x10};
    good.write_file(path, damaged);
    const Outcome outcome = open_and_check(good, six_options());
    if (!outcome.opened) {
      EXPECT_LT(at, last.offset);
      EXPECT_GE(at, outcome.status.offset());
      continue;
    }
    if (outcome.last_lsn == 6) continue;  // padding
    EXPECT_EQ(outcome.last_lsn, 5u) << at;
    EXPECT_GE(at, last.offset) << "a record in the middle was left out";
    EXPECT_GT(outcome.recovery.truncated_bytes, 0u);
    EXPECT_NE(outcome.recovery.truncated_where.find("log/0000000000000001.seg at"),
              std::string::npos);
  }
}

TEST(LogDamage, EveryTruncationOpensWithAPrefixOrIsRefused) {
  for (const bool closed : {false, true}) {
    SimDisk good = six_records(closed);
    const std::string path = segment_path(1);
    const ByteVector file = good.read_file(path);
    const auto places = frame_places(file, 1);
    for (size_t length = 0; length < file.size(); length += length % 4096 < 1600 ? 1 : 97) {
      good.write_file(path, {file.begin(), file.begin() + static_cast<ptrdiff_t>(length)});
      const Outcome outcome = open_and_check(good, six_options());
      if (length < segment_header_bytes) {
        EXPECT_FALSE(outcome.opened) << length;
        continue;
      }
      ASSERT_TRUE(outcome.opened) << length << ": " << outcome.status.message();
      Lsn whole = 0;
      for (const FramePlace& place : places) {
        const size_t end =
            place.offset + frame_header_bytes + load_le<uint32_t>(file.data() + place.offset + 8);
        if (end <= length) whole = place.lsn;
      }
      EXPECT_EQ(outcome.last_lsn, whole) << length;
      if (!closed || whole < 6) {
        EXPECT_GT(outcome.recovery.truncated_bytes, 0u) << length;
      }
    }
  }
}

TEST(LogDamage, DuplicatedSwappedAndZeroedRecordsAreNoticed) {
  SimDisk good = six_records(true);
  const std::string path = segment_path(1);
  const ByteVector file = good.read_file(path);
  const auto places = frame_places(file, 1);
  const auto damage = [&](const std::function<void(ByteVector&)>& change) {
    ByteVector damaged = file;
    change(damaged);
    if (damaged == file) return;
    good.write_file(path, damaged);
    const Outcome outcome = open_and_check(good, six_options());
    EXPECT_FALSE(outcome.opened) << "opened with " << outcome.last_lsn;
  };
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const FramePlace& a = places[i];
    damage([&](ByteVector& bytes) { std::memset(bytes.data() + a.offset, 0, a.bytes); });
    for (size_t j = 0; j + 1 < places.size(); ++j) {
      if (i == j) continue;
      const FramePlace& b = places[j];
      damage([&](ByteVector& bytes) {  // a over b
        std::memcpy(bytes.data() + b.offset, file.data() + a.offset, std::min(a.bytes, b.bytes));
      });
      if (a.bytes <= b.bytes) continue;
      damage([&](ByteVector& bytes) {  // swapped, as far as the smaller one goes
        std::memcpy(bytes.data() + b.offset, file.data() + a.offset, b.bytes);
        std::memcpy(bytes.data() + a.offset, file.data() + b.offset, b.bytes);
      });
    }
  }
}

// A log of several segments.
SimDisk many_segments(uint8_t uuid = 7) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.uuid = test_uuid(uuid);
  OpenLog log = open_log(disk, options);
  for (int i = 0; i < 18; ++i) append_records(*log.log, 1);
  EXPECT_EQ(log->stats().segments_live, 6u);
  return disk.copy();
}

TEST(LogDamage, MissingSegmentIsCorruptAndNamed) {
  for (uint64_t seq = 1; seq <= 5; ++seq) {
    SimDisk disk = many_segments();
    disk.remove_file(segment_path(seq));
    const Outcome outcome = open_and_check(disk);
    ASSERT_FALSE(outcome.opened) << seq;
    if (seq > 1) {
      EXPECT_NE(outcome.status.message().find("000" + std::to_string(seq) + ".seg: the segment is"),
                std::string::npos)
          << outcome.status.message();
    }
  }
}

TEST(LogDamage, GapBelowTheCheckpointIsOnlyAnUnfinishedTrim) {
  SimDisk disk = many_segments();
  disk.remove_file(segment_path(3));  // records 7 to 9
  LogOptions options = small_options();
  options.expected_applied_lsn = 8;
  EXPECT_FALSE(open_and_check(disk, options).opened);
  options.expected_applied_lsn = 9;
  const Outcome outcome = open_and_check(disk, options);
  ASSERT_TRUE(outcome.opened) << outcome.status.message();
  EXPECT_EQ(outcome.last_lsn, 18u);
  EXPECT_FALSE(disk.has_file(segment_path(1)));
  EXPECT_FALSE(disk.has_file(segment_path(2)));
}

TEST(LogDamage, ForeignRenamedAndOlderSegmentsAreRefused) {
  const SimDisk other = many_segments(9);
  const SimDisk good = many_segments();
  struct Case {
    const char* what;
    ByteVector bytes;
    const char* text;
  };
  const Case cases[] = {
      {"of another store", other.read_file(segment_path(3)), "another store"},
      {"under another name", good.read_file(segment_path(2)), "under another one's name"},
      {"zeros", ByteVector(16 << 10), "all zeros"},
      {"empty", {}, "ends inside its header"},
  };
  for (const Case& c : cases) {
    SimDisk disk = good.copy();
    disk.write_file(segment_path(3), c.bytes);
    const Outcome outcome = open_and_check(disk);
    ASSERT_FALSE(outcome.opened) << c.what;
    EXPECT_NE(outcome.status.message().find(c.text), std::string::npos) << outcome.status.message();
    EXPECT_NE(outcome.status.message().find("0003.seg"), std::string::npos);
  }
}

TEST(LogDamage, SegmentOfAnotherHistoryOfTheSameStoreIsRefused) {
  // Two disks that shared the first records and then went apart, as after restoring an old copy.
  SimDisk one = make_store_disk();
  SimDisk two(1);
  {
    OpenLog log = open_log(one);
    for (int i = 0; i < 3; ++i) append_records(*log.log, 1);
    two = one.copy();
    for (int i = 0; i < 6; ++i) append_records(*log.log, 1);
  }
  {
    OpenLog log = open_log(two);
    for (int i = 0; i < 6; ++i) {
      // Of the same length, so that only the chain of checksums can tell.
      const size_t bytes = record_body(log->last_lsn() + 1).size();
      const auto lsn = log->append(as_bytes(std::string(bytes, 'a')));
      ASSERT_TRUE(log->wait(lsn.value(), Durability::power).ok());
    }
  }
  one.write_file(segment_path(2), two.read_file(segment_path(2)));
  const Outcome outcome = open_and_check(one);
  ASSERT_FALSE(outcome.opened);
  EXPECT_NE(outcome.status.message().find("does not end as"), std::string::npos)
      << outcome.status.message();
}

TEST(LogDamage, UnknownSegmentVersionIsRefusedAsSuch) {
  SimDisk disk = many_segments();
  ByteVector bytes = disk.read_file(segment_path(6));
  // A newer library writes its version and, as ours, a checksum over it.
  SegmentHeader header;
  uint64_t hash = 0;
  ASSERT_TRUE(segment_header_decode(bytes, test_uuid(), 6, &header, &hash).ok());
  store_le<uint32_t>(bytes.data() + 8, 2);
  store_le<uint64_t>(bytes.data() + 4088, hash64(Bytes(bytes).first(4088), 0x77712d7365676d74));
  disk.write_file(segment_path(6), bytes);
  const Outcome outcome = open_and_check(disk);
  EXPECT_FALSE(outcome.opened);
  EXPECT_EQ(outcome.status.code(), Code::version);
}

TEST(LogDamage, FlipsInEveryOlderSegmentAreCorrupt) {
  const SimDisk good = many_segments();
  for (uint64_t seq = 1; seq <= 5; ++seq) {
    const ByteVector file = good.read_file(segment_path(seq));
    for (const FramePlace& place : frame_places(file, seq)) {
      for (size_t at = place.offset; at < place.offset + frame_header_bytes; ++at) {
        SimDisk disk = good.copy();
        ByteVector damaged = file;
        damaged[at] ^= std::byte{0x80};
        disk.write_file(segment_path(seq), damaged);
        const Outcome outcome = open_and_check(disk);
        ASSERT_FALSE(outcome.opened) << seq << " at " << at;
        EXPECT_EQ(outcome.status.offset(), place.offset);
      }
    }
  }
}

TEST(LogDamage, DamageBelowTheCheckpointIsNotLookedFor) {
  SimDisk disk = many_segments();
  ByteVector file = disk.read_file(segment_path(1));
  file[5000] ^= std::byte{1};
  file[4100] ^= std::byte{1};
  disk.write_file(segment_path(1), file);
  LogOptions options = small_options();
  EXPECT_FALSE(open_and_check(disk, options).opened);
  options.expected_applied_lsn = 3;
  EXPECT_TRUE(open_and_check(disk, options).opened);
}

// R6, both ways: the same hole is a torn tail or damage, depending on what was known to be durable.
TEST(LogDamage, HoleBeforeUnacknowledgedRecordsIsATornTail) {
  SimDisk disk = make_store_disk();
  {
    LogOptions options = six_options();
    OpenLog log = open_log(disk, options);
    append_records(*log.log, 3, Durability::power);
    append_records(*log.log, 6, Durability::process);  // never covered by a barrier
  }
  const std::string path = segment_path(1);
  ByteVector file = disk.read_file(path);
  const auto places = frame_places(file, 1);
  ASSERT_EQ(places.size(), 9u);
  const FramePlace& hole = places[5];  // record 6: 7, 8 and 9 are still there
  std::memset(file.data() + hole.offset, 0, hole.bytes);
  disk.write_file(path, file);
  const Outcome outcome = open_and_check(disk, six_options());
  ASSERT_TRUE(outcome.opened) << outcome.status.message();
  EXPECT_EQ(outcome.last_lsn, 5u);
  EXPECT_EQ(outcome.recovery.truncated_bytes,
            places.back().offset + places.back().bytes - hole.offset);
  // The records behind the hole stay cut, also when the log goes on.
  {
    OpenLog log = open_log(disk, six_options());
    append_records(*log.log, 1);
    EXPECT_EQ(log->last_lsn(), 6u);
  }
  EXPECT_EQ(open_and_check(disk, six_options()).last_lsn, 6u);
}

// The last record has no later frame that knows it to have been durable, but the checkpoint does.
TEST(LogDamage, ATailThatTheCheckpointHoldsIsNotTorn) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    append_records(*log.log, 2);
    append_records(*log.log, 1);
  }
  constexpr size_t third_record = 8192;  // behind the block that the first barrier padded
  std::vector<std::byte> bytes = disk.read_file(segment_path(1));
  std::fill(bytes.begin() + third_record, bytes.end(), std::byte{0});
  disk.write_file(segment_path(1), bytes);
  LogOptions options = small_options();
  options.expected_applied_lsn = 2;
  {
    OpenLog log = open_log(disk, options);
    ASSERT_TRUE(log.ok()) << log.status.message();
    EXPECT_EQ(log->last_lsn(), 2u);
  }
  options.expected_applied_lsn = 3;
  const OpenLog log = open_log(disk, options);
  EXPECT_EQ(log.status.code(), Code::corrupt);
  EXPECT_NE(log.status.message().find("up to 3"), std::string::npos) << log.status.message();
}

TEST(LogDamage, HoleBeforeALaterBarrierIsCorrupt) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk, six_options());
    append_records(*log.log, 3, Durability::power);
    append_records(*log.log, 6, Durability::power);
    append_records(*log.log, 1, Durability::process);  // knows that 9 was durable
  }
  const std::string path = segment_path(1);
  ByteVector file = disk.read_file(path);
  const auto places = frame_places(file, 1);
  const FramePlace& hole = places[5];
  std::memset(file.data() + hole.offset, 0, hole.bytes);
  disk.write_file(path, file);
  const Outcome outcome = open_and_check(disk, six_options());
  ASSERT_FALSE(outcome.opened);
  EXPECT_EQ(outcome.status.offset(), hole.offset);
  EXPECT_NE(outcome.status.message().find("records 6 to 9 are missing"), std::string::npos)
      << outcome.status.message();
}

TEST(LogDamage, SplicedBytesOfAnOlderSegmentAreNotTaken) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    for (int i = 0; i < 9; ++i) {
      const Lsn lsn = append_record(*log.log, 200);
      ASSERT_TRUE(log->wait(lsn, Durability::power).ok());
    }
  }
  // The newest segment holds records 7, 8, 9; the frames of segment 2 lie at the same offsets.
  const ByteVector old = disk.read_file(segment_path(2));
  ByteVector file = disk.read_file(segment_path(3));
  std::memcpy(file.data() + 12288, old.data() + 12288, 4096);
  disk.write_file(segment_path(3), file);
  const Outcome outcome = open_and_check(disk, small_options(), 200);
  ASSERT_TRUE(outcome.opened) << outcome.status.message();
  EXPECT_EQ(outcome.last_lsn, 8u);
  EXPECT_GT(outcome.recovery.truncated_bytes, 0u);
  // In the middle it is damage: record 9 knows that 8 was durable.
  file = disk.read_file(segment_path(3));
  SimDisk middle = many_segments();
  ByteVector bytes = middle.read_file(segment_path(6));
  std::memcpy(bytes.data() + 8192, middle.read_file(segment_path(5)).data() + 8192, 4096);
  middle.write_file(segment_path(6), bytes);
  EXPECT_FALSE(open_and_check(middle).opened);
}

TEST(LogDamage, Case38LastRecordCutAtEveryLength) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk, six_options());
    append_records(*log.log, 4, Durability::power);
    append_records(*log.log, 1, Durability::process);
  }
  const std::string path = segment_path(1);
  const ByteVector file = disk.read_file(path);
  const FramePlace last = frame_places(file, 1).back();
  for (size_t kept = 0; kept < last.bytes; ++kept) {
    const size_t body = load_le<uint32_t>(file.data() + last.offset + 8);
    const bool whole = kept >= frame_header_bytes + body;
    for (const bool zeros_behind : {false, true}) {
      ByteVector damaged(file.begin(), file.begin() + static_cast<ptrdiff_t>(last.offset + kept));
      if (zeros_behind) damaged.resize(file.size());
      disk.write_file(path, damaged);
      const Outcome outcome = open_and_check(disk, six_options());
      ASSERT_TRUE(outcome.opened) << outcome.status.message();
      EXPECT_EQ(outcome.last_lsn, whole ? 5u : 4u) << kept;
      if (!whole && kept > 0) {
        EXPECT_GT(outcome.recovery.truncated_bytes, 0u) << kept;
      }
    }
  }
}

TEST(LogDamage, Case38ZerosBehindTheLogAreNothing) {
  for (const bool closed : {false, true}) {
    SimDisk disk = six_records(closed);
    ByteVector file = disk.read_file(segment_path(1));
    file.resize(file.size() + 4096);
    disk.write_file(segment_path(1), file);
    const Outcome outcome = open_and_check(disk, six_options());
    ASSERT_TRUE(outcome.opened) << outcome.status.message();
    EXPECT_EQ(outcome.last_lsn, 6u);
    EXPECT_EQ(outcome.recovery.truncated_bytes, 0u) << outcome.recovery.truncated_where;
  }
}

TEST(LogDamage, NothingIsReadBehindAnOrderlyEnd) {
  SimDisk disk = six_records(true);
  ByteVector file = disk.read_file(segment_path(1));
  const FramePlace close = frame_places(file, 1).back();
  ASSERT_EQ(close.type, FrameType::close);
  std::memset(file.data() + close.offset + close.bytes, 0x55, 100);
  disk.write_file(segment_path(1), file);
  const Outcome outcome = open_and_check(disk, six_options());
  ASSERT_TRUE(outcome.opened) << outcome.status.message();
  EXPECT_EQ(outcome.last_lsn, 6u);
  EXPECT_EQ(outcome.recovery.truncated_bytes, 0u) << outcome.recovery.truncated_where;
}

TEST(LogDamage, AHugeLengthIsNeverAllocated) {
  // A header with a good checksum and a length far over the file: only its own seed can make one,
  // so forge it.
  SimDisk disk = six_records(false);
  ByteVector file = disk.read_file(segment_path(1));
  const auto places = frame_places(file, 1);
  const uint64_t seed = frame_seed(test_uuid(), 1);
  std::byte* const frame = file.data() + places[5].offset;
  store_le<uint32_t>(frame + 8, frame_body_bytes_max);
  frame_seal(frame, seed, 5);
  disk.write_file(segment_path(1), file);
  Outcome outcome = open_and_check(disk, six_options());
  ASSERT_TRUE(outcome.opened);
  EXPECT_EQ(outcome.last_lsn, 5u);
  store_le<uint32_t>(frame + 8, UINT32_MAX);
  frame_seal(frame, seed, 5);
  disk.write_file(segment_path(1), file);
  outcome = open_and_check(disk, six_options());
  ASSERT_TRUE(outcome.opened);
  EXPECT_EQ(outcome.last_lsn, 5u);
}

TEST(LogDamage, ScanTellsTheSameAsOpenAndWritesNothing) {
  SimDisk disk = many_segments();
  const uint64_t events = disk.events();
  const auto io = disk.mount();
  LogScan scan = scan_log(*io, "store", test_uuid(), 0, {});
  EXPECT_TRUE(scan.status.ok());
  EXPECT_EQ(scan.frames, 18u);
  EXPECT_EQ(scan.found.last_lsn, 18u);
  EXPECT_EQ(scan.found.segments, 6u);
  ByteVector file = disk.read_file(segment_path(4));
  file[8200] ^= std::byte{1};
  disk.write_file(segment_path(4), file);
  scan = scan_log(*io, "store", test_uuid(), 0, {});
  EXPECT_EQ(scan.status.code(), Code::corrupt);
  EXPECT_EQ(scan.status.offset(), 8192u);
  EXPECT_EQ(scan.frames, 10u) << "everything before the damage is still shown";
  EXPECT_EQ(disk.events(), events);
  const LogScan stopped = scan_log(*io, "store", test_uuid(), 0, [](const ScannedFrame& frame) {
    return frame.lsn == 3 ? Status(Code::cancelled) : Status(Code::ok);
  });
  EXPECT_EQ(stopped.status.code(), Code::cancelled);
}

TEST(LogDamage, RandomBytesAreNeverARecord) {
  Prng prng(test_seed());
  for (int round = 0; round < 300; ++round) {
    SimDisk disk = six_records(prng.below(2) == 0);
    ByteVector file = disk.read_file(segment_path(1));
    const size_t edits = 1 + prng.below(4);
    for (size_t i = 0; i < edits; ++i) {
      const size_t at = prng.below(file.size());
      const size_t bytes = std::min<size_t>(file.size() - at, 1 + prng.below(600));
      for (size_t j = 0; j < bytes; ++j) file[at + j] = static_cast<std::byte>(prng.next());
    }
    disk.write_file(segment_path(1), file);
    open_and_check(disk, six_options());  // checks every record that it finds
  }
}

}  // namespace
}  // namespace wq
