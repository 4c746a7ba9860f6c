// Failing devices. One failed write or barrier ends the log; what comes after a reopen is only what
// the device really has.
#include <gtest/gtest.h>

#include <functional>

#include "log_test_util.h"

namespace wq {
namespace {

TEST(LogFailure, FsyncGate) {
  // The barrier fails once and would succeed the next time, though the bytes are gone.
  for (const uint32_t ops : {sim_write_dsync, sim_fdatasync}) {
    SimDisk disk = make_store_disk();
    OpenLog log = open_log(disk);
    append_records(*log.log, 2);
    if (ops == sim_fdatasync) append_records(*log.log, 1, Durability::process);
    const Lsn durable = 2;
    const size_t fault = disk.inject({.ops = ops, .path = ".seg"});
    const Lsn lost = append_record(*log.log);
    const Status status = log->wait(lost, Durability::power);
    EXPECT_EQ(status.code(), Code::poisoned);
    EXPECT_EQ(status.os_errno(), EIO);
    EXPECT_NE(status.message().find(".seg: "), std::string::npos) << status.message();
    EXPECT_EQ(disk.fault_hits(fault), 1u);
    const uint64_t touched = disk.operations(sim_changes);
    EXPECT_EQ(log->wait(lost, Durability::power).code(), Code::poisoned);
    EXPECT_EQ(log->wait(lost, Durability::power).message(), status.message()) << "the first cause";
    EXPECT_EQ(log->append({}).status().code(), Code::poisoned);
    EXPECT_EQ(log->run_flusher(0).code(), Code::poisoned);
    EXPECT_EQ(log->trim(1).code(), Code::poisoned);
    EXPECT_EQ(log->close().code(), Code::poisoned);
    EXPECT_EQ(disk.operations(sim_changes), touched) << "nothing may be tried again";
    EXPECT_EQ(log->durable_lsn(), durable);
    // The page cache still shows the lost record. The device does not have it, and so it is not
    // there.
    log.log.reset();
    OpenLog again = open_log(disk);
    ASSERT_TRUE(again.ok()) << again.status.message();
    EXPECT_EQ(check_records(*again.log, 1), durable);
    SimDisk cut = disk.image({});
    OpenLog after_cut = open_log(cut);
    ASSERT_TRUE(after_cut.ok()) << after_cut.status.message();
    EXPECT_EQ(check_records(*after_cut.log, 1), durable);
  }
}

// A fixed script that meets every kind of operation. Returns the newest LSN acknowledged at power
// level.
struct ScriptResult {
  Lsn acknowledged = 0;
  Lsn appended = 0;
  Lsn applied = 0;  // as a checkpoint would have it
  Status status;
};

ScriptResult run_script(SimDisk& disk) {
  ScriptResult result;
  const auto attempt = [&]() -> Status {
    const auto io = disk.mount();
    LogOptions options = small_options();
    WQ_TRY_SET(const auto log, SegmentLog::open(*io, system_clock(), options));
    for (int i = 0; i < 16; ++i) {
      const Lsn next = log->last_lsn() + 1;
      WQ_TRY_SET(const Lsn lsn, log->append(as_bytes(record_body(next))));
      result.appended = lsn;
      const auto level = i % 4 == 1 ? Durability::process : Durability::power;
      WQ_TRY(log->wait(lsn, level));
      if (level == Durability::power) result.acknowledged = lsn;
      if (i == 6) {
        WQ_TRY_SET(const bool more, log->prepare_spares());
        EXPECT_FALSE(more);
      }
      if (i == 9) {
        result.applied = 7;  // durable before trim() is called
        WQ_TRY(log->trim(8));
      }
    }
    WQ_TRY(log->close());
    return Code::ok;
  };
  result.status = attempt();
  return result;
}

TEST(LogFailure, EveryOperationFailsOnceAndForEver) {
  int reached = 0;
  for (const int error : {EIO, ENOSPC}) {
    for (const bool sticky : {false, true}) {
      for (const bool crash : {false, true}) {
        for (uint64_t k = 0;; ++k) {
          SCOPED_TRACE("operation " + std::to_string(k) + " errno " + std::to_string(error) +
                       (sticky ? " sticky" : " once") + (crash ? " then power cut" : ""));
          SimDisk disk = make_store_disk();
          const size_t fault =
              disk.inject({.ops = sim_all, .skip = k, .sticky = sticky, .error = error});
          const ScriptResult result = run_script(disk);
          if (disk.fault_hits(fault) == 0) {
            EXPECT_TRUE(result.status.ok()) << result.status.message();
            EXPECT_GT(k, 50u) << "the script must meet many operations";
            break;
          }
          ++reached;
          EXPECT_FALSE(result.status.ok()) << "the failure was swallowed";
          const Code code = result.status.code();
          EXPECT_TRUE(code == Code::poisoned || code == Code::io || code == Code::no_space)
              << result.status.message();
          EXPECT_EQ(result.status.os_errno(), error) << result.status.message();
          disk.clear_faults();
          SimDisk after = crash ? disk.image({}) : disk.copy();
          LogOptions options = small_options();
          options.expected_applied_lsn = result.applied;
          OpenLog again = open_log(after, options);
          ASSERT_TRUE(again.ok()) << again.status.message();
          const Lsn last = check_records(*again.log, result.applied + 1);
          EXPECT_GE(last, result.acknowledged);
          EXPECT_LE(last, result.appended);
          append_records(*again.log, 3);
        }
      }
    }
  }
  EXPECT_GT(reached, 400);
}

TEST(LogFailure, ShortAndInterruptedOperationsAreCarriedThrough) {
  for (const int error : {0, EINTR, EAGAIN}) {
    for (uint64_t k = 0; k < 80; ++k) {
      SimDisk disk = make_store_disk();
      disk.inject({.ops = sim_writes | sim_read, .skip = k, .error = error});
      const ScriptResult result = run_script(disk);
      ASSERT_TRUE(result.status.ok()) << k << ": " << result.status.message();
      disk.clear_faults();
      LogOptions options = small_options();
      options.expected_applied_lsn = 7;
      SimDisk cut = disk.image({});
      OpenLog again = open_log(cut, options);
      ASSERT_TRUE(again.ok()) << again.status.message();
      EXPECT_EQ(check_records(*again.log, 8), 16u);
    }
  }
}

TEST(LogFailure, ADeviceThatIsAlwaysInterruptedEndsInAnError) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  append_records(*log.log, 1);
  disk.inject({.ops = sim_writes, .path = ".seg", .sticky = true, .error = EINTR});
  const Lsn lsn = append_record(*log.log);
  EXPECT_EQ(log->wait(lsn, Durability::power).code(), Code::poisoned);
}

TEST(LogFailure, FailedDirectorySyncAtTrimPoisons) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  for (int i = 0; i < 9; ++i) append_records(*log.log, 1);
  disk.inject({.ops = sim_sync_dir});
  EXPECT_FALSE(log->trim(7).ok());
  EXPECT_EQ(log->failure().code(), Code::poisoned);
  EXPECT_EQ(log->append({}).status().code(), Code::poisoned);
}

TEST(LogFailure, ReadErrorAtOpenIsAnErrorAndNoEmptyLog) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    append_records(*log.log, 5);
  }
  for (uint64_t k = 0; k < 2; ++k) {
    disk.inject({.ops = sim_read, .skip = k});
    OpenLog log = open_log(disk);
    ASSERT_FALSE(log.ok());
    EXPECT_EQ(log.status.code(), Code::io);
    disk.clear_faults();
  }
  OpenLog log = open_log(disk);
  EXPECT_EQ(check_records(*log.log, 1), 5u);
}

TEST(LogFailure, FillAndFreeCycles) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.spare_segments = 2;
  Lsn acknowledged = 0;
  for (int cycle = 0; cycle < 50; ++cycle) {
    OpenLog log = open_log(disk, options);
    ASSERT_TRUE(log.ok()) << log.status.message();
    ASSERT_EQ(check_records(*log.log, acknowledged + 1), acknowledged);
    bool prepared = true;
    while (prepared) prepared = log->prepare_spares().value();
    disk.set_capacity(1);
    Status status;
    while (status.ok()) {
      const Lsn lsn = append_record(*log.log);
      status = log->wait(lsn, Durability::power);
      if (status.ok()) acknowledged = lsn;
    }
    EXPECT_EQ(status.os_errno(), ENOSPC);
    disk.set_capacity(UINT64_MAX);
    options.expected_applied_lsn = acknowledged;
  }
  EXPECT_GE(acknowledged, 50u * 6);
}

}  // namespace
}  // namespace wq
