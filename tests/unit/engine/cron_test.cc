// Schedules in the engine: each slot runs once whatever happens to the process, the store and the
// clock; catch-up; what becomes of them with their queue; on both stores.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>
#include <utility>

#include "engine/cron_plan.h"
#include "engine/salvage.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

constexpr int64_t minute_ms = 60'000;
constexpr int64_t hour_ms = 60 * minute_ms;
constexpr int64_t lease_ms = 100 * hour_ms;                          // longer than a test
constexpr int64_t start_ms = 1'750'000'000'000 / hour_ms * hour_ms;  // a full hour of June 2025

std::string header_of(const JobView& job, std::string_view name) {
  const Bytes envelope = job.body.bytes();
  for (size_t i = 0; i < trusted_envelope(envelope).headers_count; ++i) {
    const Header header = trusted_header(envelope, i);
    if (as_text(header.name) == name) return std::string(as_text(header.value));
  }
  return "-";
}

HarnessOptions options_for(StoreKind store) {
  HarnessOptions options;
  options.store = store;
  options.engine.segment_bytes = 1u << 20;  // the empty rest of one is read at each open
  options.engine.spare_segments = 0;
  return options;
}

class CronTest : public testing::TestWithParam<StoreKind> {
 protected:
  CronTest() : harness_(options_for(GetParam())) {
    harness_.clock().step_wall(start_ms - harness_.clock().wall_ms());
    EXPECT_TRUE(harness_.open().ok());
    queue_ = harness_.queue("work");
  }
  ~CronTest() override { harness_.expect_sound(); }

  static CallOptions at_process_level() {
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    return call;
  }
  Status put(std::string_view name, std::string_view expression, uint32_t catch_up = 1,
             std::string_view payload = "tick", std::string_view zone = {}) {
    CronSpec spec;
    spec.expression = expression;
    spec.zone = zone;
    spec.catch_up = catch_up;
    spec.job.payload = as_bytes(payload);
    CallOptions call = at_process_level();
    const Status status = harness_.engine().cron_put(queue_, name, spec, call);
    put_wrote_ = call.lsn != 0;
    return status;
  }
  void configure(const QueueConfig& config, uint32_t fields) {
    CallOptions call;
    ASSERT_TRUE(harness_.engine().configure(queue_, config, fields, call).ok());
  }
  CronState state(std::string_view name) {
    const Result<CronView> view = harness_.engine().cron_get(name);
    EXPECT_TRUE(view.ok()) << view.status().message();
    return view.ok() ? view.value().state : CronState();
  }
  int64_t now_ms() { return harness_.clock().wall_ms(); }
  // Slots of the jobs that are ready, in minutes after the start. Takes the jobs.
  std::string slots() {
    std::string out;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(queue_, 1'000);
      if (jobs.empty()) return out;
      for (const JobView& job : jobs) {
        const int64_t slot_ms = std::stoll(header_of(job, "wq-slot-ms"));
        out += (out.empty() ? "" : " ") + std::to_string((slot_ms - start_ms) / minute_ms);
        EXPECT_TRUE(taken_.insert({header_of(job, "wq-schedule"), slot_ms}).second)
            << "slot " << slot_ms << " ran twice";
        EXPECT_EQ(harness_.ack(queue_, job.id, job.generation), Code::ok);
      }
    }
  }
  void checkpoint() { ASSERT_TRUE(harness_.engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  void sleep_closed(int64_t ms) {
    ASSERT_TRUE(harness_.close().ok());
    harness_.clock().advance(ms);
    ASSERT_TRUE(harness_.open().ok());
    harness_.tick();
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
  bool put_wrote_ = false;
  std::set<std::pair<std::string, int64_t>> taken_;
};

TEST_P(CronTest, RunsAtItsTimesWithWhatWasPut) {
  CronSpec spec;
  spec.expression = "*/10 * * * *";
  spec.job.payload = as_bytes("report");
  const Header header{as_bytes("kind"), as_bytes("pdf")};
  spec.job.headers = {&header, 1};
  spec.job.priority = 7;
  spec.job.max_attempts = 5;
  CallOptions call;
  ASSERT_TRUE(harness_.engine().cron_put(queue_, "r", spec, call).ok());
  EXPECT_EQ(state("r").next_due_ms, start_ms + 10 * minute_ms);
  harness_.advance(10 * minute_ms - 1);
  EXPECT_TRUE(harness_.lease(queue_).empty());
  harness_.advance(1);
  const std::vector<JobView> jobs = harness_.lease(queue_, 10);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(payload_of(jobs[0]), "report");
  EXPECT_EQ(header_of(jobs[0], "kind"), "pdf");
  EXPECT_EQ(header_of(jobs[0], "wq-schedule"), "r");
  EXPECT_EQ(header_of(jobs[0], "wq-slot-ms"), std::to_string(start_ms + 10 * minute_ms));
  EXPECT_EQ(jobs[0].priority, 7u);
  EXPECT_EQ(jobs[0].max_attempts, 5u);
  EXPECT_EQ(trusted_envelope(jobs[0].body.bytes()).enqueued_ms, now_ms());
  EXPECT_EQ(state("r").fired, 1u);
  EXPECT_EQ(state("r").last_slot_ms, now_ms());
}

// A kill or an orderly reopen, with and without a checkpoint, at each step around a slot.
TEST_P(CronTest, ASlotRunsOnceOverCrashAndReopen) {
  ASSERT_TRUE(put("m", "* * * * *", 1'000).ok());
  for (int step = 0; step < 24; ++step) {
    harness_.advance(20'000);
    if (step % 3 == 1) checkpoint();
    step % 2 ? reopen() : kill();
    harness_.tick();
    if (step % 4 == 2) checkpoint();
    if (step % 5 == 3) kill();
    harness_.tick();
  }
  EXPECT_EQ(slots(), "1 2 3 4 5 6 7 8");
  EXPECT_EQ(state("m").fired, 8u);
}

TEST_P(CronTest, AnUnchangedPutWritesNothingAndOnlyNewTimesMoveTheSlot) {
  ASSERT_TRUE(put("m", "*/30 * * * *").ok());
  harness_.advance(minute_ms);
  checkpoint();
  reopen();
  ASSERT_TRUE(put("m", "*/30 * * * *").ok());
  EXPECT_FALSE(put_wrote_);
  ASSERT_TRUE(put("m", "*/30 * * * *", 3, "other").ok());
  EXPECT_TRUE(put_wrote_);
  EXPECT_EQ(state("m").next_due_ms, start_ms + 30 * minute_ms);
  ASSERT_TRUE(put("m", "*/20 * * * *", 3, "other").ok());
  EXPECT_EQ(state("m").next_due_ms, start_ms + 20 * minute_ms);
  kill();
  EXPECT_EQ(state("m").next_due_ms, start_ms + 20 * minute_ms);
  harness_.advance(19 * minute_ms);
  const std::vector<JobView> jobs = harness_.lease(queue_);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(payload_of(jobs[0]), "other");
}

// Bug case 35.
TEST_P(CronTest, Case35RemovedAndPutBackThereIsOneRun) {
  harness_.clock().step_wall(-now_ms() % 180'000);
  const int64_t zero_ms = now_ms();
  ASSERT_TRUE(put("e", "@every 3m").ok());
  harness_.advance(180'000);  // the run at "t = 0" of the case
  harness_.advance(30'000);
  CallOptions call;
  ASSERT_TRUE(harness_.engine().cron_remove("e", call).ok());
  EXPECT_EQ(harness_.engine().cron_get("e").status().code(), Code::not_found);
  EXPECT_EQ(harness_.engine().cron_remove("e", call).code(), Code::not_found);
  kill();
  harness_.advance(30'000);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(put("e", "@every 3m").ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        CronSpec spec;
        spec.expression = "@every 3m";
        const std::string payload = std::to_string(i);
        spec.job.payload = as_bytes(payload);
        CallOptions own = at_process_level();
        EXPECT_TRUE(harness_.engine().cron_put(queue_, "e", spec, own).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(state("e").next_due_ms, zero_ms + 360'000);
  EXPECT_EQ(harness_.lease(queue_, 10, lease_ms).size(), 1u);
  harness_.advance(120'000);
  kill();
  harness_.tick();
  checkpoint();
  kill();
  harness_.tick();
  EXPECT_EQ(harness_.lease(queue_, 10, lease_ms).size(), 1u);
}

TEST_P(CronTest, MissedSlotsObeyTheCatchUpPolicy) {
  ASSERT_TRUE(put("none", "0 * * * *", 0).ok());
  ASSERT_TRUE(put("one", "0 * * * *", 1).ok());
  ASSERT_TRUE(put("some", "0 * * * *", 3).ok());
  ASSERT_TRUE(put("all", "0 * * * *", 1'000).ok());
  sleep_closed(5 * hour_ms + 30 * minute_ms);
  std::map<std::string, std::string> ran;
  for (const JobView& job : harness_.lease(queue_, 100, lease_ms)) {
    const int64_t slot_ms = std::stoll(header_of(job, "wq-slot-ms"));
    ran[header_of(job, "wq-schedule")] += std::to_string((slot_ms - start_ms) / hour_ms) + " ";
  }
  EXPECT_EQ(ran["none"], "");
  EXPECT_EQ(ran["one"], "5 ");
  EXPECT_EQ(ran["some"], "3 4 5 ");
  EXPECT_EQ(ran["all"], "1 2 3 4 5 ");
  EXPECT_EQ(state("none").missed, 5u);
  EXPECT_EQ(state("one").missed, 4u);
  EXPECT_EQ(state("some").missed, 2u);
  EXPECT_EQ(state("all").missed, 0u);
  for (const char* name : {"none", "one", "some", "all"}) {
    EXPECT_EQ(state(name).next_due_ms, start_ms + 6 * hour_ms) << name;
    EXPECT_EQ(state(name).last_slot_ms, start_ms + 5 * hour_ms) << name;
  }
  harness_.advance(30 * minute_ms);  // on time, none runs too
  EXPECT_EQ(harness_.lease(queue_, 100, lease_ms).size(), 4u);
}

// A long catch-up comes in several records; a kill between them loses and repeats nothing.
TEST_P(CronTest, ALongCatchUpIsCutIntoRecords) {
  ASSERT_TRUE(put("m", "* * * * *", 1'000).ok());
  harness_.clock().advance(350 * minute_ms);
  ASSERT_TRUE(harness_.engine().tick().ok());
  kill();
  harness_.clock().advance(minute_ms);
  harness_.tick();
  const std::string all = slots();
  EXPECT_EQ(taken_.size(), 351u);
  EXPECT_EQ(all.substr(0, 6), "1 2 3 ");
  EXPECT_EQ(state("m").fired, 351u);
}

TEST_P(CronTest, AClockThatIsSetBackRunsNothingTwice) {
  ASSERT_TRUE(put("m", "* * * * *", 1'000).ok());
  harness_.advance(5 * minute_ms);
  EXPECT_EQ(slots(), "1 2 3 4 5");
  harness_.clock().step_wall(-3 * minute_ms);
  harness_.tick();
  kill();
  harness_.advance(2 * minute_ms);
  EXPECT_EQ(slots(), "");
  ASSERT_TRUE(put("m", "*/1 * * * *", 1'000).ok());  // other times, and still behind the last slot
  EXPECT_EQ(state("m").next_due_ms, start_ms + 6 * minute_ms);
  harness_.advance(2 * minute_ms);
  EXPECT_EQ(slots(), "6");
}

// It is silent until its last slot is over, and says so.
TEST_P(CronTest, AScheduleTellsThatTheClockWasSetBackBehindItsSlot) {
  constexpr int64_t years_ms = int64_t{2 * 365} * 24 * 60 * minute_ms;
  const auto problem = [&] { return harness_.engine().cron_get("m").value().problem; };
  ASSERT_TRUE(put("m", "* * * * *").ok());
  harness_.clock().step_wall(years_ms);
  harness_.advance(minute_ms);
  EXPECT_EQ(problem(), "");
  harness_.clock().step_wall(-years_ms);
  for (int i = 0; i < 2; ++i) {
    harness_.advance(5 * minute_ms);
    EXPECT_EQ(state("m").fired, 1u);
    EXPECT_NE(problem().find("set back"), std::string::npos) << problem();
    kill();
  }
  CallOptions call = at_process_level();
  ASSERT_TRUE(harness_.engine().cron_remove("m", call).ok());
  ASSERT_TRUE(put("m", "* * * * *").ok());
  EXPECT_EQ(problem(), "");
  harness_.advance(minute_ms);
  EXPECT_EQ(state("m").fired, 1u);
}

// One that had trouble while the clock was ahead rested until that time came.
TEST_P(CronTest, AClockThatIsSetBackEndsTheRestOfASchedule) {
  constexpr int64_t years_ms = int64_t{2 * 365} * 24 * 60 * minute_ms;
  QueueConfig config;
  config.max_depth = 1;
  configure(config, config_max_depth);
  ASSERT_TRUE(put("m", "* * * * *").ok());
  const JobId job = harness_.enqueue(queue_, "in the way");
  harness_.advance(minute_ms);
  harness_.clock().step_wall(years_ms);
  harness_.tick();
  EXPECT_NE(harness_.engine().cron_get("m").value().problem, "");
  harness_.clock().step_wall(-years_ms);
  CallOptions call = at_process_level();
  ASSERT_TRUE(harness_.engine().cancel(queue_, job, call).ok());
  harness_.advance(5'000);
  EXPECT_EQ(slots(), "1");
}

// The next slot is written down with the jobs of this one: a kill right behind it shows.
TEST_P(CronTest, JobAndNextSlotAreOneRecord) {
  ASSERT_TRUE(put("m", "* * * * *").ok());
  harness_.advance(minute_ms);
  ASSERT_TRUE(harness_.engine().sync().ok());
  kill();
  harness_.tick();
  EXPECT_EQ(state("m").next_due_ms, start_ms + 2 * minute_ms);
  EXPECT_EQ(slots(), "1");
}

TEST_P(CronTest, TheStatusOfTheQueueCounts) {
  ASSERT_TRUE(put("m", "* * * * *", 1'000).ok());
  CallOptions call;
  Engine& engine = harness_.engine();
  ASSERT_TRUE(engine.change_status(queue_, Engine::StatusChange::pause, call).ok());
  harness_.advance(2 * minute_ms);
  ASSERT_TRUE(engine.change_status(queue_, Engine::StatusChange::disable, call).ok());
  harness_.advance(3 * minute_ms);
  EXPECT_EQ(state("m").fired, 2u);
  EXPECT_EQ(state("m").missed, 3u);
  ASSERT_TRUE(engine.change_status(queue_, Engine::StatusChange::enable, call).ok());
  ASSERT_TRUE(engine.change_status(queue_, Engine::StatusChange::resume, call).ok());
  harness_.advance(minute_ms);
  EXPECT_EQ(slots(), "1 2 6");
}

TEST_P(CronTest, AFullQueueTakesTheSlotsOnceItHasRoom) {
  QueueConfig config;
  config.max_depth = 2;
  configure(config, config_max_depth);
  ASSERT_TRUE(put("m", "* * * * *", 5).ok());
  sleep_closed(5 * minute_ms);
  EXPECT_NE(harness_.engine().cron_get("m").value().problem.find("max_depth:"), std::string::npos);
  EXPECT_EQ(state("m").fired, 2u);
  EXPECT_EQ(slots(), "1 2");
  kill();
  harness_.tick();
  EXPECT_EQ(slots(), "3 4");
  harness_.advance(1'000);
  harness_.tick();
  EXPECT_EQ(slots(), "5");
  EXPECT_EQ(harness_.engine().cron_get("m").value().problem, "");
  EXPECT_EQ(state("m").missed, 0u);

  config.full_policy = FullPolicy::drop_oldest;
  configure(config, config_full_policy);
  sleep_closed(5 * minute_ms);
  EXPECT_EQ(state("m").fired, 10u);
  EXPECT_EQ(slots(), "9 10");
}

// A crash can not come between the two.
TEST_P(CronTest, ASlotAndWhatIsDroppedForItAreOneRecord) {
  QueueConfig config;
  config.max_depth = 1;
  config.full_policy = FullPolicy::drop_oldest;
  configure(config, config_max_depth | config_full_policy);
  ASSERT_TRUE(put("m", "* * * * *").ok());
  harness_.enqueue(queue_, "older");
  checkpoint();
  const Lsn before = harness_.engine().stats().last_lsn;
  harness_.advance(minute_ms);
  harness_.tick();
  EXPECT_EQ(harness_.engine().stats().last_lsn, before + 1);
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(harness_.engine().queue_stats(queue_).value().totals.dropped, 1u);
    EXPECT_EQ(state("m").fired, 1u);
    harness_.expect_sound();
    kill();
  }
  EXPECT_EQ(slots(), "1");
}

TEST_P(CronTest, ADeletedQueueTakesItsSchedulesAlong) {
  ASSERT_TRUE(put("stored", "* * * * *").ok());
  checkpoint();
  reopen();
  ASSERT_TRUE(put("fresh", "* * * * *").ok());
  const QueueId first = queue_;
  queue_ = harness_.queue("other");
  ASSERT_TRUE(put("kept", "* * * * *").ok());
  CallOptions call = at_process_level();
  ASSERT_TRUE(harness_.engine().remove_queue(first, call).ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(harness_.engine().cron_get("stored").status().code(), Code::not_found);
    EXPECT_EQ(harness_.engine().cron_get("fresh").status().code(), Code::not_found);
    const Result<CronPage> page = harness_.engine().cron_list(0, "", 10);
    ASSERT_TRUE(page.ok());
    ASSERT_EQ(page.value().schedules.size(), 1u);
    EXPECT_EQ(page.value().schedules[0].name, "kept");
    if (round == 0) kill();
    checkpoint();
  }
  harness_.queue("work");
  harness_.advance(minute_ms);
  EXPECT_EQ(slots(), "1");
}

TEST_P(CronTest, PausedNothingIsMissed) {
  ASSERT_TRUE(put("m", "* * * * *", 1'000).ok());
  CallOptions call = at_process_level();
  ASSERT_TRUE(harness_.engine().cron_pause("m", true, call).ok());
  kill();
  harness_.advance(5 * minute_ms);
  ASSERT_TRUE(put("m", "* * * * *", 999).ok());  // a put does not undo it
  EXPECT_TRUE(state("m").paused);
  harness_.advance(5 * minute_ms);
  ASSERT_TRUE(harness_.engine().cron_pause("m", false, call).ok());
  harness_.advance(minute_ms);
  EXPECT_EQ(slots(), "11");
  EXPECT_EQ(state("m").missed, 0u);
  EXPECT_EQ(harness_.engine().cron_pause("x", true, call).code(), Code::not_found);
}

TEST_P(CronTest, RefusalsNameTheField) {
  const auto message = [](const Status& status) { return status.message(); };
  EXPECT_EQ(put("", "* * * * *").code(), Code::invalid);
  EXPECT_EQ(put(std::string(256, 'n'), "* * * * *").code(), Code::too_large);
  EXPECT_EQ(put("a\nb", "* * * * *").code(), Code::invalid);
  EXPECT_NE(message(put("m", "* 99 * * *")).find("expression: hour"), std::string::npos);
  EXPECT_NE(message(put("m", "* * * * *", 1, "x", "No/Where")).find("zone:"), std::string::npos);
  EXPECT_NE(message(put("m", "* * * * *", 1'001)).find("catch_up:"), std::string::npos);
  const std::string large(cron_payload_bytes_max + 1, 'x');
  EXPECT_EQ(put("m", "* * * * *", 1, large).code(), Code::too_large);
  CronSpec spec;
  spec.expression = "@daily";
  spec.job.delay_ms = 5;
  CallOptions call;
  EXPECT_EQ(harness_.engine().cron_put(queue_, "m", spec, call).code(), Code::invalid);
  spec.job.delay_ms = 0;
  spec.job.traits.expires_ms = 5;
  EXPECT_EQ(harness_.engine().cron_put(queue_, "m", spec, call).code(), Code::unsupported);
  EXPECT_EQ(harness_.engine().cron_put(queue_ + 9, "m", CronSpec{"@daily", "", 1, {}}, call).code(),
            Code::not_found);
  EXPECT_EQ(harness_.engine().cron_list(0, "", 0).status().code(), Code::invalid);
  EXPECT_TRUE(harness_.engine().cron_list(0, "", 10).value().schedules.empty());
  ASSERT_TRUE(put("m", "* * * * *", 1, std::string(cron_payload_bytes_max, 'x')).ok());
}

TEST_P(CronTest, ListsGoPageByPage) {
  for (const char* name : {"b", "a", "d", "c"}) ASSERT_TRUE(put(name, "@daily").ok());
  const QueueId work = queue_;
  queue_ = harness_.queue("other");
  ASSERT_TRUE(put("bb", "@hourly", 5, "x", "Europe/Berlin").ok());
  const auto list = [&](QueueId queue, std::string_view after, size_t limit) {
    std::string out;
    const CronPage page = harness_.engine().cron_list(queue, after, limit).value();
    for (const CronView& view : page.schedules) out += view.name + "@" + view.queue_name + " ";
    return out + (page.more ? "..." : ".");
  };
  checkpoint();
  reopen();
  EXPECT_EQ(list(0, "", 3), "a@work b@work bb@other ...");
  EXPECT_EQ(list(0, "bb", 3), "c@work d@work .");
  EXPECT_EQ(list(work, "a", 10), "b@work c@work d@work .");
  const CronView view = harness_.engine().cron_get("bb").value();
  const CronRow row = decode_cron_row(as_bytes(view.row)).value();
  EXPECT_EQ(row.expression, "@hourly");
  EXPECT_EQ(row.zone, "Europe/Berlin");
  EXPECT_EQ(row.catch_up, 5u);
}

// What an export tells, in `to`.
void move_store(Engine& from, Engine& to, std::string_view zone = {}) {
  CallOptions call;
  QueueId queue = 0;
  ExportVisitor visitor;
  visitor.on_store = [&](const StoreImage& store) {
    return to.import_begin(store.next_job_id, store.next_generation, call);
  };
  visitor.on_job = [&](const JobImage& job) { return to.import_jobs(queue, {&job, 1}, call); };
  visitor.on_schedules = [&](std::span<const CronImage> images) -> Status {
    QueueRow row;
    row.name = "work";
    row.config.version = 1;
    WQ_TRY_SET(queue, to.import_queue(row, call));
    for (CronImage image : images) {
      if (!zone.empty()) image.row.zone = zone;
      WQ_TRY(to.import_schedule(queue, image, call));
    }
    return {};
  };
  visitor.on_queue = [](const QueueRow&) { return Status(); };
  const Status status = from.export_store("work", visitor);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(to.import_end(call).ok());
}

TEST_P(CronTest, AMoveTakesScheduleAndSlotAlong) {
  ASSERT_TRUE(put("m", "*/5 * * * *", 9, "moved", "Asia/Kathmandu").ok());
  harness_.advance(12 * minute_ms);
  EngineHarness other(options_for(GetParam()));
  other.clock().step_wall(now_ms() + 5 * minute_ms - other.clock().wall_ms());
  ASSERT_TRUE(other.open().ok());
  move_store(harness_.engine(), other.engine());
  const CronView moved = other.engine().cron_get("m").value();
  EXPECT_EQ(moved.state, state("m"));
  EXPECT_EQ(moved.row, harness_.engine().cron_get("m").value().row);
  other.tick();
  EXPECT_EQ(other.engine().cron_get("m").value().state.fired, state("m").fired + 1);
  other.expect_sound();
}

// The zone was there when the schedule was put and is not any more: trouble of this one alone.
TEST_P(CronTest, AZoneThatIsGoneStopsItsOwnScheduleOnly) {
  ASSERT_TRUE(put("m", "*/5 * * * *", 9).ok());
  EngineHarness other(options_for(GetParam()));
  other.clock().step_wall(now_ms() - other.clock().wall_ms());
  ASSERT_TRUE(other.open().ok());
  move_store(harness_.engine(), other.engine(), "Atlantis/Capital");
  const QueueId queue = other.queue("work");
  CallOptions call;
  CronSpec spec;
  spec.expression = "*/5 * * * *";
  ASSERT_TRUE(other.engine().cron_put(queue, "sound", spec, call).ok());
  other.advance(11 * minute_ms);
  EXPECT_EQ(other.engine().cron_get("sound").value().state.fired, 1u);
  const CronView lost = other.engine().cron_get("m").value();
  EXPECT_NE(lost.problem.find("Atlantis/Capital"), std::string::npos) << lost.problem;
  EXPECT_EQ(lost.state.fired, 0u);
  EXPECT_EQ(lost.state.next_due_ms, start_ms + 5 * minute_ms);
  // Put right, it goes on.
  ASSERT_TRUE(other.engine().cron_put(queue, "m", spec, call).ok());
  EXPECT_EQ(other.engine().cron_get("m").value().problem, "");
  other.advance(4 * minute_ms);
  EXPECT_EQ(other.engine().cron_get("m").value().state.fired, 1u);
  other.expect_sound();
}

// What a checkpoint and the log behind it know of a schedule is in the salvaged store, with the
// slot that is due next; the run of a slot is in both or in none.
TEST(CronSalvage, KeepsSchedulesAndTheirSlots) {
  EngineHarness harness(options_for(StoreKind::rocks));
  harness.clock().step_wall(start_ms - harness.clock().wall_ms());
  ASSERT_TRUE(harness.open().ok());
  const QueueId queue = harness.queue("work");
  CallOptions call;
  const auto put = [&](std::string_view name) {
    return harness.engine().cron_put(queue, name, CronSpec{"* * * * *", "", 1'000, {}}, call);
  };
  ASSERT_TRUE(put("stored").ok());
  ASSERT_TRUE(put("removed").ok());
  harness.advance(2 * minute_ms);
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  ASSERT_TRUE(put("logged").ok());
  ASSERT_TRUE(harness.engine().cron_remove("removed", call).ok());
  harness.advance(minute_ms);
  ASSERT_TRUE(harness.engine().sync().ok());
  ASSERT_TRUE(harness.kill_and_open().ok());  // leaves the records in the log
  ASSERT_TRUE(harness.engine().sync().ok());
  const std::string damaged = harness.directory();
  harness.engine().poison("no checkpoint at the end");
  EXPECT_EQ(harness.close().code(), Code::poisoned);

  const Result<std::unique_ptr<Io>> io = make_io();
  ASSERT_TRUE(io.ok());
  Environment environment;
  environment.io = io.value().get();
  environment.clock = &harness.clock();
  SalvageOptions options{damaged, damaged + "-new", damaged + "-scratch", harness.options().engine};
  const Result<SalvageReport> report = salvage_store(options, environment, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().damages, 0u);
  EngineOptions engine_options = harness.options().engine;
  engine_options.directory = options.new_directory;
  const auto engine = Engine::open(engine_options, environment);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const CronPage page = engine.value()->cron_list(0, "", 10).value();
  ASSERT_EQ(page.schedules.size(), 2u);
  EXPECT_EQ(page.schedules[0].name, "logged");
  EXPECT_EQ(page.schedules[1].name, "stored");
  EXPECT_EQ(page.schedules[0].state.fired, 1u);
  EXPECT_EQ(page.schedules[1].state.fired, 3u);
  for (const CronView& view : page.schedules) {
    EXPECT_EQ(view.state.next_due_ms, start_ms + 4 * minute_ms);
  }
  EXPECT_EQ(engine.value()->stats().counts[static_cast<size_t>(JobState::ready)], 6u);
  EXPECT_EQ(engine.value()->verify().value().problems, 0u);
  EXPECT_TRUE(engine.value()->close().ok());
}

// The checkpoint of a full check is over before the check begins, and others go on in between.
TEST_P(CronTest, AFullCheckMeetsWhatChangedSinceItsCheckpoint) {
  static bool changed;  // the store keeps the hook until it is closed, behind this test
  changed = false;
  harness_.options().between_steps = [this] {
    if (std::exchange(changed, true)) return;
    ASSERT_TRUE(put("m", "*/5 * * * *").ok());
    ASSERT_TRUE(put("new", "* * * * *").ok());
  };
  reopen();
  ASSERT_TRUE(put("m", "* * * * *").ok());
  const Result<VerifyReport> report = harness_.engine().verify();
  harness_.options().between_steps = nullptr;
  ASSERT_TRUE(changed && report.ok());
  EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
}

// Random times, kills, closes and checkpoints: every slot, once, in order.
TEST_P(CronTest, RandomLivesRunEachSlotOnce) {
  Prng prng(test_seed());
  ASSERT_TRUE(put("s", "*/7 * * * * *", 1'000).ok());
  ASSERT_TRUE(put("m", "* * * * *", 1'000, "x", "America/New_York").ok());
  const int rounds = GetParam() == StoreKind::rocks ? 60 : 300;
  for (int i = 0; i < rounds; ++i) {
    harness_.clock().advance(static_cast<int64_t>(prng.below(20'000)));
    if (prng.below(3) != 0) harness_.tick();
    switch (prng.below(10)) {
      case 0:
        kill();
        break;
      case 1:
        reopen();
        break;
      case 2:
      case 3:
        checkpoint();
        break;
      case 4:
        harness_.clock().step_wall(-static_cast<int64_t>(prng.below(5'000)));
        break;
      case 5:
        ASSERT_TRUE(put("m", "* * * * *", 1'000, std::to_string(i), "America/New_York").ok());
        break;
      case 6:
        slots();  // which also looks for slots that came twice
        break;
      default:
        break;
    }
  }
  harness_.tick();
  slots();
  const int64_t last_ms = state("m").last_slot_ms;
  for (int64_t slot_ms = start_ms + minute_ms; slot_ms <= last_ms; slot_ms += minute_ms) {
    EXPECT_TRUE(taken_.contains({"m", slot_ms})) << slot_ms;
  }
  EXPECT_EQ(state("m").fired + state("s").fired, taken_.size());
  EXPECT_EQ(state("m").missed + state("s").missed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, CronTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
