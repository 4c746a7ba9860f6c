// What the log tests share: a simulated store directory, records whose bytes follow from their LSN,
// and checks of what a log holds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "io/segment_log.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

namespace wq {

inline StoreUuid test_uuid(uint8_t first = 7) {
  StoreUuid uuid{};
  uuid[0] = std::byte{first};
  uuid[15] = std::byte{0x5a};
  return uuid;
}

// Small segments, so that a short script meets rotations.
inline LogOptions small_options(const std::string& directory = "store") {
  LogOptions options;
  options.directory = directory;
  options.uuid = test_uuid();
  options.segment_bytes = 16 << 10;
  options.spare_segments = 1;
  return options;
}

// Sizes from 0 to 700 bytes, different bytes for each LSN.
inline std::string record_body(Lsn lsn, size_t bytes = SIZE_MAX) {
  Prng prng(lsn);
  const uint64_t usual_bytes = prng.below(701);
  if (bytes == SIZE_MAX) bytes = usual_bytes;
  std::string body(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = prng.next();
    std::memcpy(body.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return body;
}

// A disk with the directory "store", durable.
inline SimDisk make_store_disk(uint64_t seed = 1) {
  SimDisk disk(seed);
  const auto io = disk.mount();
  EXPECT_TRUE(io->make_dir("store").ok());
  EXPECT_TRUE(io->sync_dir(".").ok());
  return disk;
}

struct OpenLog {
  std::unique_ptr<Io> io;
  std::unique_ptr<SegmentLog> log;
  Status status;

  SegmentLog* operator->() { return log.get(); }
  bool ok() const { return log != nullptr; }
};

inline OpenLog open_log(SimDisk& disk, const LogOptions& options = small_options(),
                        Clock& clock = system_clock()) {
  OpenLog opened;
  opened.io = disk.mount();
  auto log = SegmentLog::open(*opened.io, clock, options);
  if (log.ok()) {
    opened.log = std::move(log).value();
  } else {
    opened.status = log.take_status();
  }
  return opened;
}

inline Lsn append_record(Log& log, size_t bytes = SIZE_MAX) {
  const Lsn lsn = log.last_lsn() + 1;
  const auto appended = log.append(as_bytes(record_body(lsn, bytes)));
  EXPECT_TRUE(appended.ok()) << appended.status().message();
  if (!appended.ok()) return 0;
  EXPECT_EQ(appended.value(), lsn);
  return lsn;
}

// Appends `count` records and waits for the last.
inline void append_records(Log& log, size_t count, Durability level = Durability::power) {
  Lsn last = 0;
  for (size_t i = 0; i < count; ++i) last = append_record(log);
  const Status status = log.wait(last, level);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Replays from `from` and checks each record against its LSN. Returns the newest LSN seen.
// Records of an unusual size are taken as they are unless `bytes` says what all must have.
inline Lsn check_records(Log& log, Lsn from, size_t bytes = SIZE_MAX) {
  Lsn next = from;
  const Status status = log.replay(from, [&](Lsn lsn, Bytes body) -> Status {
    EXPECT_EQ(lsn, next);
    // Not EXPECT_EQ: it would print the bytes.
    EXPECT_TRUE(as_text(body) == record_body(lsn, body.size())) << "wrong bytes in record " << lsn;
    EXPECT_TRUE(bytes == SIZE_MAX || body.size() == bytes) << "record " << lsn;
    ++next;
    return Code::ok;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return next - 1;
}

inline std::string segment_path(uint64_t seq, const std::string& directory = "store") {
  char name[64];
  std::snprintf(name, sizeof name, "/log/%016llx.seg", static_cast<unsigned long long>(seq));
  return directory + name;
}

}  // namespace wq
