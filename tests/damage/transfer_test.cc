// Export and import through the engine: all that a store knows of its jobs moves, in order; an
// import is refused where it must be, and an interrupted one is seen as such.
#include <gtest/gtest.h>

#include "damage/store_picture.h"

namespace wq {
namespace {

struct CopiedJob {
  std::string queue, payload, error, backoff;
  JobId id = 0;
  JobRow row;
  std::vector<std::pair<std::string, std::string>> headers;
  int64_t enqueued_ms = 0;
};

struct Copy {
  StoreImage store;
  std::vector<QueueRow> queues;
  std::vector<CopiedJob> jobs;
};

// A job as one line, without what an import gives anew.
std::string line_of(const CopiedJob& job, bool moved) {
  const JobRow& row = job.row;
  JobState state = row.state;
  const bool held = state == JobState::leased || state == JobState::running;
  if (moved && held) state = JobState::ready;
  std::string text = job.queue + " " + std::to_string(job.id) + " " + job.payload + " " + job.error;
  for (const int64_t number :
       {static_cast<int64_t>(state), int64_t{row.priority}, static_cast<int64_t>(row.generation),
        int64_t{row.attempts}, int64_t{row.exceptions}, int64_t{row.failures},
        int64_t{row.max_attempts}, int64_t{row.replays}, row.since_ms, row.leased_ms,
        job.enqueued_ms, static_cast<int64_t>(row.reason),
        state == JobState::delayed ? static_cast<int64_t>(row.position) : 0}) {
    text += " " + std::to_string(number);
  }
  for (const auto& [name, value] : job.headers) text += " " + name + "=" + value;
  return text + job.backoff;
}

std::vector<std::string> lines_of(const Copy& copy, bool moved) {
  std::vector<std::string> lines;
  for (const CopiedJob& job : copy.jobs) lines.push_back(line_of(job, moved));
  return lines;
}

Copy copy_of(Engine& engine, const std::string& only = {}) {
  Copy copy;
  ExportVisitor visitor;
  visitor.on_store = [&](const StoreImage& store) -> Status {
    copy.store = store;
    return {};
  };
  visitor.on_queue = [&](const QueueRow& queue) -> Status {
    copy.queues.push_back(queue);
    return {};
  };
  visitor.on_job = [&](const JobImage& job) -> Status {
    CopiedJob& out = copy.jobs.emplace_back();
    out.queue = job.queue_name;
    out.payload = as_text(job.envelope.payload);
    out.error = job.row.last_error;
    out.id = job.id;
    out.row = job.row;
    out.enqueued_ms = job.envelope.enqueued_ms;
    out.backoff = " " + std::to_string(static_cast<int>(job.envelope.backoff.kind)) + " " +
                  std::to_string(job.envelope.backoff.base_ms);
    for (const Header& header : job.envelope.headers) {
      out.headers.emplace_back(as_text(header.name), as_text(header.value));
    }
    return {};
  };
  const Status status = engine.export_store(only, visitor);
  EXPECT_TRUE(status.ok()) << status.message();
  return copy;
}

// Imports all but the last `leave_out` jobs, each in a call of its own.
Status import_copy(Engine& engine, const Copy& copy, size_t leave_out = 0) {
  CallOptions call;
  WQ_TRY(engine.import_begin(copy.store.next_job_id, copy.store.next_generation, call));
  std::map<std::string, QueueId> ids;
  for (const QueueRow& queue : copy.queues) {
    WQ_TRY_SET(ids[queue.name], engine.import_queue(queue, call));
  }
  for (size_t i = 0; i + leave_out < copy.jobs.size(); ++i) {
    const CopiedJob& job = copy.jobs[i];
    JobImage image;
    image.id = job.id;
    image.row = job.row;
    image.row.last_error = job.error;
    if (image.row.state != JobState::dead) image.row.reason = DeadReason::none;
    image.envelope.payload = as_bytes(job.payload);
    image.envelope.enqueued_ms = job.enqueued_ms;
    image.envelope.backoff.kind =
        job.backoff.starts_with(" 1") ? BackoffKind::fixed : BackoffKind::none;
    if (job.backoff.starts_with(" 1")) image.envelope.backoff.base_ms = 5'000;
    for (const auto& [name, value] : job.headers) {
      image.envelope.headers.push_back({as_bytes(name), as_bytes(value)});
    }
    WQ_TRY(engine.import_jobs(ids[job.queue], std::span(&image, 1), call));
  }
  return leave_out > 0 ? Status() : engine.import_end(call);
}

Copy full_store() {
  EngineHarness harness(small_store());
  StoreAtRest at_rest;
  fill_store(harness, false, false, at_rest);
  EXPECT_TRUE(harness.open().ok());
  JobSpec spec;
  const Header header{as_bytes(std::string_view("trace")),
                      as_bytes(std::string_view("\xff\x00", 2))};
  spec.headers = std::span(&header, 1);
  spec.backoff = Backoff{BackoffKind::fixed, 5'000, 0, {}};
  spec.max_attempts = 9;
  harness.enqueue(harness.queue("mail"), "with everything", spec);
  return copy_of(harness.engine());
}

TEST(Transfer, EverythingMovesInOrder) {
  const Copy copy = full_store();
  EXPECT_EQ(copy.queues.size(), 2u);
  EXPECT_GE(copy.jobs.size(), 20u);
  EXPECT_EQ(copy.store.jobs, copy.jobs.size());
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    EngineHarness harness(small_store(kind));
    ASSERT_TRUE(harness.open().ok());
    const Status status = import_copy(harness.engine(), copy);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int round = 0; round < 3; ++round) {  // as it is, after a kill, after a close
      const Copy again = copy_of(harness.engine());
      EXPECT_EQ(lines_of(again, false), lines_of(copy, true)) << round;
      EXPECT_EQ(again.store.next_job_id >= copy.store.next_job_id, true);
      for (size_t i = 0; i < copy.queues.size(); ++i) {
        EXPECT_EQ(again.queues[i].name, copy.queues[i].name);
        EXPECT_TRUE(again.queues[i].config == copy.queues[i].config);
        EXPECT_TRUE(again.queues[i].totals == copy.queues[i].totals);
        EXPECT_EQ(again.queues[i].created_ms, copy.queues[i].created_ms);
      }
      harness.expect_sound();
      if (round == 0) {
        ASSERT_TRUE(harness.kill_and_open().ok());
      }
      if (round == 1) {
        ASSERT_TRUE(harness.close().ok());
        ASSERT_TRUE(harness.open().ok());
      }
    }
    // Neither an id nor a generation comes again.
    const QueueId mail = harness.queue("mail");
    EXPECT_GE(harness.enqueue(mail, "new"), copy.store.next_job_id);
    EXPECT_GE(lease_exactly(harness, mail, 1)[0].generation, copy.store.next_generation);
  }
}

TEST(Transfer, OneQueueAlone) {
  EngineHarness harness(small_store());
  StoreAtRest at_rest;
  fill_store(harness, false, false, at_rest);
  ASSERT_TRUE(harness.open().ok());
  const Copy copy = copy_of(harness.engine(), "other");
  EXPECT_EQ(copy.queues.size(), 1u);
  EXPECT_EQ(copy.jobs.size(), 2u);
  EXPECT_EQ(harness.engine().export_store("nothing", {}).code(), Code::not_found);
}

TEST(Transfer, AnUnfinishedImportIsSeen) {
  const Copy copy = full_store();
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  ASSERT_TRUE(import_copy(harness.engine(), copy, 3).ok());
  for (int round = 0; round < 3; ++round) {
    CallOptions call;
    EXPECT_EQ(harness.engine().open_queue("mail", {}, 0, true, call).status().code(),
              Code::conflict);
    EXPECT_EQ(harness.engine().import_begin(1, 1, call).code(), Code::conflict);
    EXPECT_EQ(harness.engine().queue_stats(1).status().code(), Code::conflict);
    JobId id = 0;
    EXPECT_EQ(harness.engine().enqueue(1, {}, call, id).code(), Code::conflict);
    ExportVisitor visitor;
    EXPECT_EQ(harness.engine().export_store({}, visitor).code(), Code::conflict);
    harness.expect_sound();
    if (round == 0) {
      ASSERT_TRUE(harness.kill_and_open().ok());
    }
    if (round == 1) {
      ASSERT_TRUE(harness.close().ok());
      ASSERT_TRUE(harness.open().ok());
    }
  }
}

TEST(Transfer, WhatCanNotBeIsRefused) {
  Copy copy = full_store();
  {
    EngineHarness harness(small_store());
    ASSERT_TRUE(harness.open().ok());
    harness.queue("q");
    EXPECT_EQ(import_copy(harness.engine(), copy).code(), Code::conflict) << "not a new store";
  }
  const auto refused = [&](const std::function<void(Copy&)>& change) {
    Copy changed = copy;
    change(changed);
    EngineHarness harness(small_store());
    EXPECT_TRUE(harness.open().ok());
    const Status status = import_copy(harness.engine(), changed);
    EXPECT_EQ(status.code(), Code::invalid) << status.message();
    EXPECT_EQ(harness.engine().checkpoint().code(), Code::ok) << "a refusal must not stop it";
  };
  refused([](Copy& c) { c.jobs[5].id = c.jobs[4].id; });
  refused([](Copy& c) { c.jobs[0].id = 0; });
  refused([](Copy& c) { c.jobs[0].id = c.store.next_job_id; });
  refused([](Copy& c) { c.jobs[0].row.generation = c.store.next_generation; });
  refused([](Copy& c) { c.store.next_job_id = imported_id_max + 1; });
  refused([](Copy& c) { c.store.next_generation = 0; });
  refused([](Copy& c) { c.jobs[0].row.since_ms = -1; });
  refused([](Copy& c) { c.jobs[0].row.state = JobState::dead; });
  refused([](Copy& c) { c.jobs[0].row.state = static_cast<JobState>(9); });
  refused([](Copy& c) { c.queues[0].config.version = 0; });
  // An id that only the store knows by now.
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  ASSERT_TRUE(import_copy(harness.engine(), copy, 2).ok());
  ASSERT_TRUE(harness.close().ok());
  ASSERT_TRUE(harness.open().ok());
  JobImage image;
  image.id = copy.jobs[0].id;
  image.row.state = JobState::ready;
  image.envelope.payload = as_bytes(std::string_view("again"));
  CallOptions call;
  EXPECT_EQ(harness.engine().import_jobs(1, std::span(&image, 1), call).code(), Code::invalid);
}

}  // namespace
}  // namespace wq
