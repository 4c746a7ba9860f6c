// The damage matrix of the log: a small log, and every single damage of each kind that the plan
// names. One oracle judges them all, from the bytes alone: an open gives a prefix of what was
// written, with the right bytes, of all records before the damage at least; what it leaves out is
// told, and nothing in the file vouches for it; or it is CORRUPT with file and offset. So never a
// missing middle, never wrong bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "io/frame.h"
#include "io/segment.h"
#include "test_seed.h"
#include "unit/io/log_test_util.h"

namespace wq {
namespace {

using ByteVector = std::vector<std::byte>;

struct Place {
  size_t offset = 0;
  size_t end = 0;      // behind the padding
  size_t covered = 0;  // behind the last byte that a checksum covers
  Lsn lsn = 0;
  bool record = true;
};

std::vector<Place> places_of(const ByteVector& file) {
  std::vector<Place> places;
  const uint64_t seed = frame_seed(test_uuid(), 1);
  for (size_t at = segment_header_bytes; at + frame_header_bytes <= file.size();) {
    FrameHeader header;
    if (frame_decode(Bytes(file).subspan(at), seed, &header) != FrameVerdict::valid) {
      at += frame_align_bytes;
      continue;
    }
    const auto bytes = static_cast<size_t>(frame_bytes(header.body_bytes));
    places.push_back({at, at + bytes, at + frame_header_bytes + header.body_bytes, header.lsn,
                      header.type == FrameType::record});
    at += bytes;
  }
  return places;
}

// A log of six records of mixed size in one segment.
struct SmallLog {
  std::string name;
  SimDisk disk;
  ByteVector file;
  std::vector<Place> places;
};

constexpr Lsn records = 6;
const std::string& path() {
  static const std::string text = segment_path(1);
  return text;
}

// As a kill leaves it, or an orderly end.
SimDisk written_disk(const std::vector<size_t>& groups, bool closed) {
  SimDisk disk = make_store_disk();
  OpenLog open = open_log(disk);
  for (const size_t group : groups) append_records(*open.log, group);
  if (closed) {
    EXPECT_TRUE(open->close().ok());
  }
  return disk.copy();
}

SmallLog make_log(const std::string& name, const std::vector<size_t>& groups, bool closed) {
  SmallLog log{name, written_disk(groups, closed), {}, {}};
  log.file = log.disk.read_file(path());
  log.places = places_of(log.file);
  EXPECT_EQ(log.places.size(), records + (closed ? 1 : 0));
  return log;
}

std::vector<SmallLog> small_logs() {
  std::vector<SmallLog> logs;
  logs.push_back(make_log("one group, killed", {6}, false));
  logs.push_back(make_log("one group, closed", {6}, true));
  logs.push_back(make_log("three groups, killed", {3, 2, 1}, false));
  return logs;
}

// What the bytes themselves say was durable: the newest durable_lsn of any sound header.
Lsn vouched_for(const ByteVector& bytes) {
  const uint64_t seed = frame_seed(test_uuid(), 1);
  Lsn newest = 0;
  for (size_t at = segment_header_bytes; at + frame_header_bytes <= bytes.size();
       at += frame_align_bytes) {
    FrameHeader header;
    if (frame_decode_header(Bytes(bytes).subspan(at), seed, &header) == FrameVerdict::valid) {
      newest = std::max(newest, header.durable_lsn);
    }
  }
  return newest;
}

// Records before the first byte that is not as it was written.
Lsn untouched(const SmallLog& log, const ByteVector& bytes) {
  Lsn last = 0;
  for (const Place& place : log.places) {
    const bool same = bytes.size() >= place.covered &&
                      std::memcmp(bytes.data() + place.offset, log.file.data() + place.offset,
                                  place.covered - place.offset) == 0;
    if (!same) break;
    last = place.lsn;
  }
  return last;
}

struct Tally {
  size_t whole = 0, cut = 0, refused = 0;
  void print(const SmallLog& log, const char* what) const {
    std::printf("%s, %s: %zu opened whole, %zu cut, %zu refused\n", log.name.c_str(), what, whole,
                cut, refused);
  }
};

void judge(SmallLog& log, const ByteVector& bytes, const std::string& what, Tally& tally) {
  log.disk.write_file(path(), bytes);
  OpenLog open = open_log(log.disk);
  const Lsn before = untouched(log, bytes);
  const bool header_same =
      bytes.size() >= segment_header_bytes &&
      std::equal(bytes.begin(), bytes.begin() + segment_header_bytes, log.file.begin());
  if (!open.ok()) {
    ++tally.refused;
    ASSERT_TRUE(open.status.code() == Code::corrupt || open.status.code() == Code::version)
        << what << ": " << open.status.message();
    ASSERT_NE(open.status.message().find("log/0000000000000001.seg"), std::string::npos)
        << what << ": " << open.status.message();
    if (header_same) {
      // The offset is where the records end that are still good.
      ASSERT_LT(before, records) << what << " was refused with every record there";
      ASSERT_GE(open.status.offset(), segment_header_bytes) << what;
      ASSERT_LE(open.status.offset(), bytes.size()) << what;
    }
    return;
  }
  ASSERT_TRUE(header_same) << what << ": the header was not looked at";
  const Lsn last = check_records(*open.log, 1);
  const LogRecovery found = open->recovery();
  ASSERT_EQ(last, found.last_lsn) << what;
  ASSERT_GE(last, before) << what << ": a good record in front of the damage was dropped";
  ASSERT_LE(last, records) << what;
  ASSERT_GE(last, vouched_for(bytes)) << what << ": what was acknowledged was dropped";
  if (last == records) {
    ++tally.whole;
    return;
  }
  ++tally.cut;
  // Where everything behind is zero in a file of the right length there is nothing to tell.
  const bool remains = bytes.size() != log.file.size() ||
                       std::any_of(bytes.begin() + static_cast<ptrdiff_t>(log.places[last].offset),
                                   bytes.end(), [](std::byte b) { return b != std::byte{0}; });
  if (!remains) return;
  ASSERT_GT(found.truncated_bytes, 0u) << what << ": dropped without a word";
  ASSERT_NE(found.truncated_where.find("log/0000000000000001.seg at"), std::string::npos) << what;
}

TEST(LogMatrix, EveryBit) {
  for (SmallLog& log : small_logs()) {
    Tally tally;
    const size_t end = log.places.back().end + 64;
    for (size_t bit = 0; bit < end * 8 && !testing::Test::HasFatalFailure(); ++bit) {
      // The zeros between the fields of the header and its checksum are all treated alike.
      const size_t at = bit / 8;
      const bool zeros = at >= 128 && at < 4080;
      const bool padding = at >= segment_header_bytes && log.file[at] == std::byte{0};
      if ((zeros && bit % 61 != 0) || (padding && bit % 7 != 0)) continue;
      ByteVector damaged = log.file;
      damaged[at] ^= std::byte{1} << (bit % 8);
      judge(log, damaged, "bit " + std::to_string(bit), tally);
    }
    tally.print(log, "bits");
    EXPECT_GT(tally.refused, 1'000u);
  }
}

TEST(LogMatrix, EveryLength) {
  for (SmallLog& log : small_logs()) {
    Tally tally;
    for (size_t length = 0; length <= log.file.size() && !HasFatalFailure(); ++length) {
      // Blocks without a frame are all alike.
      const bool inside = std::any_of(log.places.begin(), log.places.end(), [&](const Place& p) {
        return length + 2 >= p.offset && length <= p.end + 2;
      });
      if (!inside && length % 509 != 0) continue;
      ByteVector damaged(log.file.begin(), log.file.begin() + static_cast<ptrdiff_t>(length));
      judge(log, damaged, "cut to " + std::to_string(length), tally);
      // The same, with the file as long as it was.
      damaged.resize(log.file.size());
      judge(log, damaged, "zeros from " + std::to_string(length), tally);
    }
    tally.print(log, "lengths");
    EXPECT_GT(tally.cut + tally.refused, 500u);
  }
}

// ---- whole records in the wrong place. The parts of a log are laid out anew, one behind the
// other.

ByteVector part(const ByteVector& file, size_t from, size_t to) {
  return {file.begin() + static_cast<ptrdiff_t>(from), file.begin() + static_cast<ptrdiff_t>(to)};
}

ByteVector laid_out(const SmallLog& log, const std::vector<ByteVector>& parts) {
  ByteVector bytes = part(log.file, 0, segment_header_bytes);
  for (const ByteVector& piece : parts) bytes.insert(bytes.end(), piece.begin(), piece.end());
  bytes.resize(std::max(bytes.size(), log.file.size()));
  return bytes;
}

std::vector<ByteVector> parts_of(const SmallLog& log) {
  std::vector<ByteVector> parts;
  size_t from = segment_header_bytes;
  for (const Place& place : log.places) {
    parts.push_back(part(log.file, from, place.end));  // with the padding in front of it
    from = place.end;
  }
  return parts;
}

TEST(LogMatrix, RecordsDuplicatedSwappedRemovedAndZeroed) {
  for (SmallLog& log : small_logs()) {
    Tally tally;
    const std::vector<ByteVector> parts = parts_of(log);
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string record = "part " + std::to_string(i);
      std::vector<ByteVector> changed = parts;
      changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
      judge(log, laid_out(log, changed), record + " removed", tally);
      changed = parts;
      std::fill(changed[i].begin(), changed[i].end(), std::byte{0});
      judge(log, laid_out(log, changed), record + " zeroed", tally);
      for (size_t j = 0; j < parts.size(); ++j) {
        const std::string both = record + " and " + std::to_string(j);
        changed = parts;
        changed.insert(changed.begin() + static_cast<ptrdiff_t>(j), parts[i]);
        judge(log, laid_out(log, changed), both + " duplicated", tally);
        changed = parts;
        std::swap(changed[i], changed[j]);
        judge(log, laid_out(log, changed), both + " swapped", tally);
        changed = parts;
        changed[j] = parts[i];
        judge(log, laid_out(log, changed), both + " replaced", tally);
        ByteVector over = log.file;
        const size_t bytes = std::min(log.places[i].end - log.places[i].offset,
                                      log.file.size() - log.places[j].offset);
        std::memcpy(over.data() + log.places[j].offset, log.file.data() + log.places[i].offset,
                    bytes);
        judge(log, over, both + " written over it", tally);
      }
    }
    tally.print(log, "records");
    EXPECT_GT(tally.refused + tally.cut, 50u);
  }
}

// Sectors of an older life of the file, of another store, of zeros and of noise, over each range.
TEST(LogMatrix, SectorsOfAnotherFile) {
  Prng prng(test_seed());
  SimDisk other = make_store_disk();
  SimDisk older = make_store_disk();
  LogOptions foreign = small_options();
  foreign.uuid = test_uuid(9);
  for (const bool same_store : {false, true}) {
    SimDisk& disk = same_store ? older : other;
    OpenLog open = open_log(disk, same_store ? small_options() : foreign);
    for (int i = 0; i < 9; ++i) append_records(*open.log, 1);
  }
  ByteVector noise(16 << 10);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(prng.next());
  const std::pair<const char*, ByteVector> sources[] = {
      {"older segment", older.read_file(segment_path(2))},
      {"foreign segment", other.read_file(segment_path(1))},
      {"zeros", ByteVector(16 << 10)},
      {"noise", noise},
  };
  constexpr size_t sector = 512;
  for (SmallLog& log : small_logs()) {
    Tally tally;
    const size_t sectors = (log.places.back().end + sector - 1) / sector + 1;
    for (const auto& [name, source] : sources) {
      for (size_t from = 0; from < sectors && !HasFatalFailure(); ++from) {
        for (size_t to = from + 1; to <= sectors; ++to) {
          if (to - from > 2 && (to - from) % 3 != 0) continue;
          ByteVector damaged = log.file;
          const size_t bytes = std::min({to * sector, damaged.size(), source.size()});
          if (bytes <= from * sector) continue;
          std::memcpy(damaged.data() + from * sector, source.data() + from * sector,
                      bytes - from * sector);
          judge(
              log, damaged,
              std::string(name) + " in sectors " + std::to_string(from) + ".." + std::to_string(to),
              tally);
        }
      }
    }
    tally.print(log, "sectors");
    EXPECT_GT(tally.refused + tally.cut, 100u);
  }
}

}  // namespace
}  // namespace wq
