// Power cuts at every event of a script, with many images each; recovery is run twice, and crashed
// at every event itself.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "log_test_util.h"
#include "test_seed.h"

namespace wq {
namespace {

// What the script knew when the disk had seen so many events.
struct Promise {
  uint64_t events = 0;
  Lsn durable = 0;   // acknowledged at power level
  Lsn appended = 0;  // nothing above it can exist
  Lsn applied = 0;   // what a durable checkpoint held
};

class Script {
 public:
  explicit Script(SimDisk& disk) : disk_(disk) {}

  void open() {
    options_.expected_applied_lsn = promise_.applied;
    opened_ = open_log(disk_, options_);
    ASSERT_TRUE(opened_.ok()) << opened_.status.message();
  }
  void kill() { opened_ = OpenLog{}; }
  void close() {
    ASSERT_TRUE(opened_->close().ok());
    kill();
  }
  void append(size_t count, Durability level, size_t bytes = SIZE_MAX) {
    for (size_t i = 0; i < count; ++i) {
      promise_.appended = append_record(*opened_.log, bytes);
      note();
    }
    ASSERT_TRUE(opened_->wait(promise_.appended, level).ok());
    promise_.durable = opened_->durable_lsn();
    note();
  }
  void checkpoint_and_trim(Lsn applied) {
    promise_.applied = applied;
    note();
    ASSERT_TRUE(opened_->trim(applied + 1).ok());
  }
  void prepare_spares() {
    while (opened_->prepare_spares().value()) {
    }
  }
  const std::vector<Promise>& promises() const { return promises_; }

 private:
  void note() {
    promise_.events = disk_.events();
    promises_.push_back(promise_);
  }

  SimDisk& disk_;
  LogOptions options_ = small_options();
  OpenLog opened_;
  Promise promise_;
  std::vector<Promise> promises_;
};

void run_full_script(Script& script) {
  script.open();
  script.append(2, Durability::power);
  script.append(3, Durability::process);
  script.append(1, Durability::power);
  script.prepare_spares();
  script.append(30, Durability::power);  // a group over a rotation
  script.append(2, Durability::process);
  script.kill();
  script.open();
  script.append(1, Durability::power);
  script.append(1, Durability::power, 40'000);  // jumbo
  script.append(2, Durability::process);
  script.checkpoint_and_trim(30);
  for (int i = 0; i < 8; ++i) script.append(1, Durability::power);  // into recycled segments
  script.append(40, Durability::process);
  script.append(1, Durability::power);
  script.close();
  script.open();
  script.append(3, Durability::process);
  script.checkpoint_and_trim(88);
  script.append(2, Durability::power);
  script.kill();
}

// What must hold after `events` events: the last promise made by then, and the first one made later
// bounds what may exist.
struct Expectation {
  Lsn durable = 0;
  Lsn appended = 0;
  Lsn applied = 0;
};

Expectation expectation_at(const std::vector<Promise>& promises, uint64_t events) {
  Expectation expected;
  for (const Promise& promise : promises) {
    // Appended before its bytes could be written, so at or below this event count.
    if (promise.events <= events) {
      expected.durable = promise.durable;
      expected.applied = promise.applied;
      expected.appended = promise.appended;
    }
  }
  return expected;
}

struct Recovered {
  Lsn first = 0;
  Lsn last = 0;
};

// Opens, checks and returns what is there.
Recovered recover(SimDisk& disk, const Expectation& expected) {
  LogOptions options = small_options();
  options.expected_applied_lsn = expected.applied;
  OpenLog log = open_log(disk, options);
  EXPECT_TRUE(log.ok()) << log.status.message();
  if (!log.ok()) return {};
  const Lsn last = check_records(*log.log, expected.applied + 1);
  EXPECT_GE(last, expected.durable) << "an acknowledged record is lost";
  EXPECT_LE(last, expected.appended);
  EXPECT_EQ(last, std::max(log->last_lsn(), expected.applied));
  return {log->recovery().first_lsn, last};
}

const CrashData all_data[] = {CrashData::none, CrashData::all, CrashData::random, CrashData::torn};
const CrashNames all_names[] = {CrashNames::none, CrashNames::all, CrashNames::prefix,
                                CrashNames::random};
const uint32_t all_sectors[] = {512, 4096, 1};

// Calls `check` with images of the disk: every mode, and random ones from several seeds.
void for_images(const SimDisk& disk, uint64_t seed, const std::function<void(SimDisk&)>& check) {
  for (const CrashData data : all_data) {
    for (const CrashNames names : all_names) {
      for (const uint32_t sector : all_sectors) {
        const bool has_sectors = data == CrashData::random || data == CrashData::torn;
        if (!has_sectors && sector != 512) continue;
        CrashImage crash;
        crash.data = data;
        crash.names = names;
        crash.sector_bytes = sector;
        crash.seed = seed++;
        SimDisk image = disk.image(crash);
        check(image);
      }
    }
  }
}

TEST(LogCrash, PowerCutAtEveryEvent) {
  const uint64_t seed = test_seed();
  SimDisk disk = make_store_disk(seed);
  disk.start_recording();
  const uint64_t start = disk.events();
  Script script(disk);
  run_full_script(script);
  uint64_t states = 0;
  SimHistory history(disk);
  do {
    const Expectation expected = expectation_at(script.promises(), start + history.event());
    SCOPED_TRACE("event " + std::to_string(history.event()));
    for_images(history.disk(), seed + history.event() * 1000, [&](SimDisk& image) {
      ++states;
      const Recovered first = recover(image, expected);
      // Recovery again, after one more power cut: the same result.
      SimDisk again = image.image({});
      const Recovered second = recover(again, expected);
      EXPECT_EQ(first.first, second.first);
      EXPECT_EQ(first.last, second.last);
    });
    if (testing::Test::HasFailure()) return;
  } while (history.step());
  EXPECT_GT(history.event(), 130u);
  EXPECT_GT(states, 4'000u);
  RecordProperty("states", static_cast<int>(states));
}

TEST(LogCrash, KillAtEveryEvent) {
  // The process dies, the kernel lives: everything that was written is still there.
  SimDisk disk = make_store_disk();
  disk.start_recording();
  const uint64_t start = disk.events();
  Script script(disk);
  run_full_script(script);
  SimHistory history(disk);
  do {
    SCOPED_TRACE("event " + std::to_string(history.event()));
    SimDisk killed = history.disk().copy();
    const Expectation expected = expectation_at(script.promises(), start + history.event());
    const Recovered found = recover(killed, expected);
    // Recovered is durable: a power cut right after it takes nothing back.
    SimDisk cut = killed.image({});
    EXPECT_EQ(recover(cut, expected).last, found.last);
    if (testing::Test::HasFailure()) return;
  } while (history.step());
}

// Crashes recovery, and the first records after it, at every event.
TEST(LogCrash, PowerCutAtEveryEventOfRecovery) {
  const uint64_t seed = test_seed();
  SimDisk disk = make_store_disk(seed);
  disk.start_recording();
  const uint64_t start = disk.events();
  Script script(disk);
  run_full_script(script);
  Prng prng(seed);
  SimHistory history(disk);
  while (history.step()) {
    if (prng.below(4) != 0) continue;
    const Expectation before = expectation_at(script.promises(), start + history.event());
    CrashImage crash;
    crash.data = all_data[prng.below(4)];
    crash.names = all_names[prng.below(4)];
    crash.sector_bytes = all_sectors[prng.below(3)];
    crash.seed = prng.next();
    SCOPED_TRACE("event " + std::to_string(history.event()) + " image seed " +
                 std::to_string(crash.seed));
    SimDisk crashed = history.disk().image(crash);
    crashed.start_recording();
    const uint64_t recovery_start = crashed.events();
    std::vector<Promise> promises;
    LogOptions options = small_options();
    options.expected_applied_lsn = before.applied;
    {
      OpenLog log = open_log(crashed, options);
      ASSERT_TRUE(log.ok()) << log.status.message();
      const Lsn found = log->last_lsn();
      promises.push_back({crashed.events(), found, found, before.applied});
      for (int i = 0; i < 3; ++i) {
        const Lsn lsn = append_record(*log.log);
        promises.push_back({crashed.events(), log->durable_lsn(), lsn, before.applied});
        ASSERT_TRUE(log->wait(lsn, Durability::power).ok());
        promises.push_back({crashed.events(), lsn, lsn, before.applied});
      }
    }
    SimHistory recovery(crashed);
    do {
      SCOPED_TRACE("recovery event " + std::to_string(recovery.event()));
      Expectation expected = expectation_at(promises, recovery_start + recovery.event());
      if (expected.appended == 0) expected = before;
      CrashImage second = crash;
      second.seed = prng.next();
      SimDisk image = recovery.disk().image(second);
      recover(image, expected);
      if (testing::Test::HasFailure()) return;
    } while (recovery.step());
  }
}

// R7: a name that was not synced may be gone. No record is acknowledged in a segment that can
// vanish.
TEST(LogCrash, SegmentsDoNotVanish) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk);
  for (int i = 0; i < 10; ++i) {
    append_records(*log.log, 1);
    SimDisk image = disk.image({CrashData::none, CrashNames::none});
    OpenLog again = open_log(image);
    ASSERT_TRUE(again.ok()) << again.status.message();
    EXPECT_EQ(check_records(*again.log, 1), log->durable_lsn());
  }
}

// The same for a name that opening finds: it may be in the kernel only.
TEST(LogCrash, NamesThatOpeningFindsAreMadeDurable) {
  SimDisk disk = make_store_disk();
  {
    OpenLog log = open_log(disk);
    ASSERT_TRUE(log.ok());
    disk.inject({.ops = sim_sync_dir, .path = "log"});
    append_record(*log.log);
    EXPECT_FALSE(log->wait(1, Durability::power).ok());
  }
  ASSERT_TRUE(disk.has_file(segment_path(1)));
  EXPECT_FALSE(disk.image({}).has_file(segment_path(1)));
  OpenLog again = open_log(disk);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_TRUE(disk.image({}).has_file(segment_path(1)));
}

// Random scripts, random cuts, many lives of one disk.
TEST(LogCrash, ManyLives) {
  const uint64_t seed = test_seed();
  Prng prng(seed);
  for (int round = 0; round < 40; ++round) {
    SimDisk disk = make_store_disk(prng.next());
    LogOptions options = small_options();
    Expectation expected;
    for (int life = 0; life < 12; ++life) {
      SCOPED_TRACE("round " + std::to_string(round) + " life " + std::to_string(life));
      options.expected_applied_lsn = expected.applied;
      OpenLog log = open_log(disk, options);
      ASSERT_TRUE(log.ok()) << log.status.message();
      const Lsn last = check_records(*log.log, expected.applied + 1);
      ASSERT_GE(last, expected.durable);
      expected.durable = last;
      const uint64_t steps = prng.below(30);
      for (uint64_t i = 0; i < steps; ++i) {
        const uint64_t dice = prng.below(20);
        if (dice == 0) {
          expected.applied =
              prng.below(log->durable_lsn() - expected.applied + 1) + expected.applied;
          ASSERT_TRUE(log->trim(expected.applied + 1).ok());
        } else if (dice == 1) {
          ASSERT_TRUE(log->prepare_spares().ok());
        } else {
          const uint64_t count = 1 + prng.below(dice == 2 ? 60 : 4);
          Lsn lsn = 0;
          for (uint64_t j = 0; j < count; ++j) lsn = append_record(*log.log);
          if (dice < 12) {
            ASSERT_TRUE(log->wait(lsn, dice < 7 ? Durability::power : Durability::process).ok());
          }
        }
        expected.durable = log->durable_lsn();
      }
      if (prng.below(6) == 0) {
        ASSERT_TRUE(log->close().ok());
        expected.durable = log->durable_lsn();
      }
      CrashImage crash;
      crash.data = all_data[prng.below(4)];
      crash.names = all_names[prng.below(4)];
      crash.sector_bytes = all_sectors[prng.below(3)];
      crash.seed = prng.next();
      SimDisk next = disk.image(crash);
      log = OpenLog{};
      disk = std::move(next);
    }
  }
}

}  // namespace
}  // namespace wq
