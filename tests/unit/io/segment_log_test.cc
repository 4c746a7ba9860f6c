// The segment log from the outside: order, levels, padding, rotation, recycling, background
// flushing.
#include "io/segment_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "log_test_util.h"

namespace wq {
namespace {

struct SeenFrame {
  std::string segment;
  uint64_t offset;
  Lsn lsn;
  Lsn durable_lsn;
  uint16_t type;
  size_t bytes;
};

std::vector<SeenFrame> scan_frames(SimDisk& disk) {
  std::vector<SeenFrame> frames;
  const auto io = disk.mount();
  const LogScan scan = scan_log(*io, "store", test_uuid(), 0, [&](const ScannedFrame& frame) {
    frames.push_back(
        {frame.segment, frame.offset, frame.lsn, frame.durable_lsn, frame.type, frame.body.size()});
    return Status(Code::ok);
  });
  EXPECT_TRUE(scan.status.ok()) << scan.status.message();
  return frames;
}

size_t count_spares(const SimDisk& disk) {
  const auto files = disk.files();
  return static_cast<size_t>(std::count_if(files.begin(), files.end(), [](const std::string& path) {
    return path.find("spare-") != std::string::npos && path.ends_with(".seg");
  }));
}

TEST(SegmentLog, FreshLogIsEmptyAndWritesNoSegment) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    ASSERT_TRUE(log.ok()) << log.status.message();
    EXPECT_EQ(log->recovery().first_lsn, 0u);
    EXPECT_EQ(log->recovery().last_lsn, 0u);
    EXPECT_EQ(log->last_lsn(), 0u);
    EXPECT_EQ(log->durable_lsn(), 0u);
    EXPECT_TRUE(log->close().ok());
  }
  EXPECT_TRUE(disk.files().empty());
}

TEST(SegmentLog, RecordsComeBackInOrder) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    append_records(*log.log, 100);
    EXPECT_EQ(log->durable_lsn(), 100u);
    EXPECT_EQ(log->process_lsn(), 100u);
    EXPECT_TRUE(log->close().ok());
  }
  OpenLog log = open_log(disk);
  ASSERT_TRUE(log.ok()) << log.status.message();
  EXPECT_EQ(log->recovery().first_lsn, 1u);
  EXPECT_EQ(log->recovery().last_lsn, 100u);
  EXPECT_EQ(log->recovery().truncated_bytes, 0u) << log->recovery().truncated_where;
  EXPECT_EQ(check_records(*log.log, 1), 100u);
  EXPECT_EQ(check_records(*log.log, 42), 100u);
  append_records(*log.log, 1);
  EXPECT_EQ(log->durable_lsn(), 101u);
}

TEST(SegmentLog, FreshLogContinuesBehindACheckpoint) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.expected_applied_lsn = 41;
  {
    OpenLog log = open_log(disk, options);
    ASSERT_TRUE(log.ok());
    EXPECT_EQ(append_record(*log.log), 42u);
    EXPECT_TRUE(log->wait(42, Durability::power).ok());
  }
  OpenLog log = open_log(disk, options);
  ASSERT_TRUE(log.ok()) << log.status.message();
  EXPECT_EQ(check_records(*log.log, 42), 42u);
}

TEST(SegmentLog, MissingLogIsCorruptUnlessItMayBeCreated) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.create = false;
  options.expected_applied_lsn = 5;
  OpenLog log = open_log(disk, options);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.status.code(), Code::corrupt);
  EXPECT_NE(log.status.message().find("missing"), std::string::npos);
}

TEST(SegmentLog, PowerLevelSurvivesPowerLoss) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 10);
  SimDisk after = disk.image({});
  OpenLog again = open_log(after);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), 10u);
}

TEST(SegmentLog, ProcessLevelSurvivesKillButNotPowerLoss) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 3, Durability::power);
  append_records(*log.log, 4, Durability::process);
  EXPECT_EQ(log->process_lsn(), 7u);
  EXPECT_EQ(log->durable_lsn(), 3u);
  SimDisk killed = disk.copy();
  SimDisk cut = disk.image({});
  OpenLog after_kill = open_log(killed);
  ASSERT_TRUE(after_kill.ok()) << after_kill.status.message();
  EXPECT_EQ(check_records(*after_kill.log, 1), 7u);
  OpenLog after_cut = open_log(cut);
  ASSERT_TRUE(after_cut.ok()) << after_cut.status.message();
  EXPECT_EQ(check_records(*after_cut.log, 1), 3u);
  // Opening made what it found durable, so a power cut right after it takes nothing back.
  SimDisk cut_later = killed.image({});
  OpenLog after_both = open_log(cut_later);
  ASSERT_TRUE(after_both.ok()) << after_both.status.message();
  EXPECT_EQ(check_records(*after_both.log, 1), 7u);
}

TEST(SegmentLog, ProcessThenPowerCoversBoth) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 5, Durability::process);
  const uint64_t syncs = disk.operations(sim_fdatasync);
  append_records(*log.log, 5, Durability::power);
  // A dsync write covers only itself, so the earlier bytes need the real barrier.
  EXPECT_EQ(disk.operations(sim_fdatasync), syncs + 1);
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), 10u);
}

TEST(SegmentLog, PowerAfterEverythingWasWrittenIsOneBarrier) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 5, Durability::process);
  const uint64_t writes = disk.operations(sim_writes);
  EXPECT_TRUE(log->wait(5, Durability::power).ok());
  EXPECT_EQ(disk.operations(sim_writes), writes);
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(check_records(*again.log, 1), 5u);
}

TEST(SegmentLog, SerialPowerCostsOneOperation) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 1);
  const uint64_t before = disk.operations(sim_all);
  append_records(*log.log, 1);
  EXPECT_EQ(disk.operations(sim_all), before + 1);
}

TEST(SegmentLog, BarriersPadToBlocksAndProcessWritesDoNot) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    for (int i = 0; i < 2; ++i) {
      const Lsn lsn = append_record(*log.log, 100);
      ASSERT_TRUE(log->wait(lsn, Durability::power).ok());
    }
    for (int i = 0; i < 2; ++i) {
      const Lsn lsn = append_record(*log.log, 100);
      ASSERT_TRUE(log->wait(lsn, Durability::process).ok());
    }
    ASSERT_TRUE(log->wait(4, Durability::power).ok());
    append_record(*log.log, 100);
    ASSERT_TRUE(log->close().ok());
  }
  const auto frames = scan_frames(disk);
  ASSERT_EQ(frames.size(), 6u);
  EXPECT_EQ(frames[0].offset, 4096u);
  EXPECT_EQ(frames[1].offset, 8192u);
  EXPECT_EQ(frames[2].offset, 12288u);
  EXPECT_EQ(frames[3].offset, 12288u + 144u);
  EXPECT_EQ(frames[4].offset, 4096u);  // the first segment is full
  EXPECT_EQ(frames[5].offset, 8192u);  // the close frame comes behind the barrier
}

TEST(SegmentLog, FramesTellWhatWasDurable) {
  SimDisk disk = make_store_disk();
  {
    LogOptions options = small_options();
    options.segment_bytes = 64 << 10;
    OpenLog log = open_log(disk, options);
    append_records(*log.log, 3);
    append_records(*log.log, 2, Durability::process);
    append_records(*log.log, 2);
    ASSERT_TRUE(log->close().ok());
  }
  const auto frames = scan_frames(disk);
  ASSERT_EQ(frames.size(), 8u);
  const Lsn durable[] = {0, 0, 0, 3, 3, 3, 3, 7};
  for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i].durable_lsn, durable[i]) << i;
  EXPECT_EQ(frames.back().type, 2);
  EXPECT_EQ(frames.back().lsn, 7u);
}

TEST(SegmentLog, GoesOnInNewSegments) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    append_records(*log.log, 300);  // one group over several segments
    for (int i = 0; i < 20; ++i) append_records(*log.log, 1);
    EXPECT_GT(log->stats().segments_live, 5u);
  }
  SimDisk cut = disk.image({});
  OpenLog log = open_log(cut);
  ASSERT_TRUE(log.ok()) << log.status.message();
  EXPECT_EQ(check_records(*log.log, 1), 320u);
}

TEST(SegmentLog, JumboRecordHasASegmentOfItsOwn) {
  SimDisk disk = make_store_disk();
  const size_t sizes[] = {100, 100'000, 100, 16 << 10, 12 << 10, (16 << 10) - 4096 - 40, 300'001};
  {
    OpenLog log = open_log(disk);
    for (const size_t bytes : sizes) append_record(*log.log, bytes);
    ASSERT_TRUE(log->wait(7, Durability::power).ok());
  }
  SimDisk cut = disk.image({});
  OpenLog log = open_log(cut);
  ASSERT_TRUE(log.ok()) << log.status.message();
  Lsn next = 1;
  ASSERT_TRUE(log->replay(1,
                          [&](Lsn lsn, Bytes body) -> Status {
                            EXPECT_TRUE(as_text(body) == record_body(lsn, sizes[lsn - 1])) << lsn;
                            ++next;
                            return Code::ok;
                          })
                  .ok());
  EXPECT_EQ(next, 8u);
}

TEST(SegmentLog, RefusesRecordsOverTheLimit) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  // Only the length is looked at, so the span may promise bytes that are not there.
  const std::byte byte{};
  const auto result = log->append({&byte, (size_t{512} << 20) + 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::too_large);
  EXPECT_EQ(append_record(*log.log), 1u);
}

TEST(SegmentLog, TrimRecyclesAndTheRestStaysReadable) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  Lsn first = 0;
  {
    OpenLog log = open_log(disk, options);
    for (int i = 0; i < 60; ++i) append_records(*log.log, 1);
    const uint64_t live = log->stats().segments_live;
    EXPECT_EQ(live, 20u);  // three blocks in each
    ASSERT_TRUE(log->trim(31).ok());
    EXPECT_EQ(log->stats().segments_live, 10u);
    EXPECT_EQ(log->stats().segments_spare, options.recycled_segments_max);
    EXPECT_EQ(count_spares(disk), options.recycled_segments_max);
    for (int i = 0; i < 30; ++i) append_records(*log.log, 1);
    EXPECT_EQ(log->stats().segments_spare, 0u);
    ASSERT_TRUE(log->trim(1000).ok());
    EXPECT_EQ(log->stats().segments_live, 1u);
  }
  options.expected_applied_lsn = 89;
  SimDisk cut = disk.image({});
  OpenLog log = open_log(cut, options);
  ASSERT_TRUE(log.ok()) << log.status.message();
  first = log->recovery().first_lsn;
  EXPECT_GT(first, 80u);
  EXPECT_EQ(check_records(*log.log, first), 90u);
  const auto too_early = log->replay(1, [](Lsn, Bytes) { return Status(Code::ok); });
  EXPECT_EQ(too_early.code(), Code::corrupt);
}

TEST(SegmentLog, TrimNeverReleasesARecordAtOrAboveItsLimit) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  for (int i = 0; i < 12; ++i) append_records(*log.log, 1);  // segments begin with 1, 4, 7, 10
  const uint64_t live[] = {4, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 1};
  for (Lsn lsn = 0; lsn < 14; ++lsn) {
    ASSERT_TRUE(log->trim(lsn).ok());
    EXPECT_EQ(log->stats().segments_live, live[lsn]) << lsn;
  }
}

TEST(SegmentLog, PreparesZeroedSparesInSteps) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.segment_bytes = 12 << 20;
  options.spare_segments = 2;
  OpenLog log = open_log(disk, options);
  int steps = 0;
  for (bool more = true; more; ++steps) {
    const auto result = log->prepare_spares();
    ASSERT_TRUE(result.ok()) << result.status().message();
    more = result.value();
  }
  EXPECT_EQ(steps, 6);  // 4 MiB each
  EXPECT_EQ(log->stats().segments_spare, 2u);
  EXPECT_EQ(count_spares(disk), 2u);
  const uint64_t created = disk.operations(sim_create);
  append_records(*log.log, 1);
  EXPECT_EQ(disk.operations(sim_create), created) << "a spare was ready and must be used";
  EXPECT_EQ(log->stats().segments_spare, 1u);
}

// The first segment of a store has no spare to begin with; waiting for its end would keep 32 MiB of
// barriers slow.
TEST(SegmentLog, ASegmentThatGrowsIsLeftOnceThereIsASpare) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.segment_bytes = 1 << 20;
  options.spare_segments = 1;
  OpenLog log = open_log(disk, options);
  append_records(*log.log, 2);
  EXPECT_EQ(log->stats().segments_live, 1u);
  while (log->prepare_spares().value()) {
  }
  for (int i = 0; i < 2; ++i) append_records(*log.log, 1);  // the first one is in the old segment
  EXPECT_EQ(log->stats().segments_live, 2u);
  EXPECT_EQ(log->stats().segments_spare, 0u);
  while (log->prepare_spares().value()) {
  }
  for (int i = 0; i < 5; ++i) append_records(*log.log, 1);
  EXPECT_EQ(log->stats().segments_live, 2u) << "one that does not grow is filled to its end";
  ASSERT_TRUE(log->close().ok());
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut, options);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), 9u);
}

TEST(SegmentLog, FullDiskFailsSparesOnly) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.segment_bytes = 1 << 20;
  OpenLog log = open_log(disk, options);
  disk.set_capacity(512 << 10);
  const auto result = log->prepare_spares();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::no_space);
  EXPECT_TRUE(disk.files().empty()) << "what was begun must be given back";
  EXPECT_TRUE(log->failure().ok());
  append_records(*log.log, 10);
}

TEST(SegmentLog, RecordsGoOnWithAFullDiskAsLongAsSparesLast) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.spare_segments = 3;
  OpenLog log = open_log(disk, options);
  while (log->prepare_spares().value()) {
  }
  disk.set_capacity(1);                                     // full
  for (int i = 0; i < 9; ++i) append_records(*log.log, 1);  // three blocks in each spare
  append_record(*log.log);
  const Status status = log->wait(10, Durability::power);
  EXPECT_EQ(status.code(), Code::poisoned);
  EXPECT_EQ(status.os_errno(), ENOSPC);
  disk.set_capacity(UINT64_MAX);
  OpenLog again = open_log(disk, options);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), 9u);
}

TEST(SegmentLog, CloseIsDurableAndFinal) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_record(*log.log);
  append_record(*log.log);
  ASSERT_TRUE(log->close().ok());
  ASSERT_TRUE(log->close().ok());
  EXPECT_EQ(log->append({}).status().code(), Code::closed);
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(check_records(*again.log, 1), 2u);
}

TEST(SegmentLog, RunFlusherHonoursRequests) {
  SimDisk disk = make_store_disk();
  ManualClock clock;
  OpenLog log = open_log(disk, small_options(), clock);
  append_record(*log.log);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->process_lsn(), 0u) << "nothing was asked for and the window is not over";
  log->request(1, Durability::process);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->process_lsn(), 1u);
  EXPECT_EQ(log->durable_lsn(), 0u);
  log->request(1, Durability::power);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 1u);
}

TEST(SegmentLog, MemoryWindowBoundsTheLoss) {
  SimDisk disk = make_store_disk();
  ManualClock clock;
  LogOptions options = small_options();
  options.memory_window_ms = 50;
  OpenLog log = open_log(disk, options, clock);
  append_record(*log.log);
  clock.advance(30);
  append_record(*log.log);  // does not push the end of the window out
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 0u);
  clock.advance(20);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 2u);
  // A process-level record is inside the same window.
  append_records(*log.log, 1, Durability::process);
  clock.advance(49);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 2u);
  clock.advance(1);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 3u);
}

TEST(SegmentLog, ALotOfBufferedBytesIsFlushedBeforeTheWindowEnds) {
  SimDisk disk = make_store_disk();
  ManualClock clock;
  LogOptions options = small_options();
  options.early_flush_bytes = 4000;
  OpenLog log = open_log(disk, options, clock);
  append_record(*log.log, 3000);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 0u);
  append_record(*log.log, 1000);
  ASSERT_TRUE(log->run_flusher(0).ok());
  EXPECT_EQ(log->durable_lsn(), 2u);
}

TEST(SegmentLog, WaitForRoomBoundsTheBuffer) {
  SimDisk disk = make_store_disk();
  ManualClock clock;
  LogOptions options = small_options();
  options.unflushed_bytes_max = 10'000;
  OpenLog log = open_log(disk, options, clock);
  for (int i = 0; i < 9; ++i) append_record(*log.log, 1000);
  ASSERT_TRUE(log->wait_for_room().ok());
  EXPECT_EQ(log->process_lsn(), 0u) << "there is room, so nothing is flushed";
  append_record(*log.log, 1000);
  ASSERT_TRUE(log->wait_for_room().ok());
  EXPECT_EQ(log->durable_lsn(), 10u);
}

TEST(SegmentLog, WaitWithoutTimeDoesNoIo) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_record(*log.log);
  const uint64_t before = disk.operations(sim_all);
  EXPECT_EQ(log->wait(1, Durability::power, 0).code(), Code::timeout);
  EXPECT_EQ(disk.operations(sim_all), before);
  ASSERT_TRUE(log->run_flusher(0).ok());  // the wish was kept
  EXPECT_TRUE(log->wait(1, Durability::power, 0).ok());
}

TEST(SegmentLog, WaitForARecordThatDoesNotExistIsInvalid) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_record(*log.log);
  EXPECT_EQ(log->wait(2, Durability::power).code(), Code::invalid);
}

TEST(SegmentLog, MemoryLevelReturnsAtOnce) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_record(*log.log);
  EXPECT_TRUE(log->wait(1, Durability::memory).ok());
  EXPECT_EQ(log->process_lsn(), 0u);
}

TEST(SegmentLog, ListenerHearsOfProgress) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  std::vector<Lsn> heard;
  log->set_listener([&] { heard.push_back(log->durable_lsn()); });
  append_records(*log.log, 2);
  append_records(*log.log, 1);
  EXPECT_EQ(heard, (std::vector<Lsn>{2, 3}));
}

TEST(SegmentLog, RecycledSegmentNeverShowsItsOldRecords) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  OpenLog log = open_log(disk, options);
  // Full segments of equal frames, so that old frames lie exactly where new ones would.
  for (int i = 0; i < 300; ++i) append_record(*log.log, 80);
  ASSERT_TRUE(log->wait(300, Durability::power).ok());
  ASSERT_TRUE(log->trim(300).ok());
  ASSERT_GT(log->stats().segments_spare, 0u);
  // Goes on in recycled files.
  while (log->last_lsn() < 420) {
    const Lsn lsn = append_record(*log.log, 80);
    ASSERT_TRUE(log->wait(lsn, Durability::process).ok());
  }
  ASSERT_TRUE(log->wait(log->last_lsn(), Durability::power).ok());
  options.expected_applied_lsn = 299;
  for (const CrashData data : {CrashData::none, CrashData::all}) {
    SimDisk after = disk.image({data});
    OpenLog again = open_log(after, options);
    ASSERT_TRUE(again.ok()) << again.status.message();
    EXPECT_EQ(check_records(*again.log, 300, 80), 420u);
    EXPECT_EQ(again->recovery().truncated_bytes, 0u) << again->recovery().truncated_where;
  }
}

TEST(SegmentLog, Case36EndOfLogIsFoundByScanning) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  {
    OpenLog log = open_log(disk, options);
    append_records(*log.log, 13);
  }
  SimDisk killed = disk.image({});
  options.expected_applied_lsn = 10;  // the checkpoint lags behind the log
  {
    OpenLog log = open_log(killed, options);
    ASSERT_TRUE(log.ok()) << log.status.message();
    EXPECT_EQ(check_records(*log.log, 11), 13u);
    for (int i = 0; i < 3; ++i) append_record(*log.log);
    ASSERT_TRUE(log->wait(16, Durability::power).ok());
  }
  SimDisk killed_again = killed.image({});
  OpenLog log = open_log(killed_again, options);
  ASSERT_TRUE(log.ok()) << log.status.message();
  EXPECT_EQ(check_records(*log.log, 1), 16u);
  // A checkpoint ahead of the log means that the log lost records.
  options.expected_applied_lsn = 17;
  SimDisk ahead_disk = killed.image({});
  OpenLog ahead = open_log(ahead_disk, options);
  ASSERT_FALSE(ahead.ok());
  EXPECT_EQ(ahead.status.code(), Code::corrupt);
  EXPECT_NE(ahead.status.message().find("checkpoint"), std::string::npos);
}

TEST(SegmentLog, LogThatBeginsBehindTheCheckpointIsCorrupt) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  {
    OpenLog log = open_log(disk, options);
    for (int i = 0; i < 12; ++i) append_records(*log.log, 1);
    ASSERT_TRUE(log->trim(8).ok());  // begins with 7 now
  }
  options.expected_applied_lsn = 5;
  OpenLog log = open_log(disk, options);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.status.code(), Code::corrupt);
  options.expected_applied_lsn = 6;
  OpenLog right = open_log(disk, options);
  EXPECT_TRUE(right.ok()) << right.status.message();
}

TEST(SegmentLog, RejectsBadOptions) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.segment_bytes = 5000;
  EXPECT_EQ(open_log(disk, options).status.code(), Code::invalid);
}

}  // namespace
}  // namespace wq
