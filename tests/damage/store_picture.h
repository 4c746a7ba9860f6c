// Picture: what a store holds, job by job, as text that two stores can be compared by. And a store
// with a bit of everything in it, at rest in a directory, for the tests that damage it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "bugs/small_store.h"

namespace wq {

// Job -> queue, state and all that a caller can see of it but times of the lease.
using Picture = std::map<JobId, std::string>;

inline std::string picture_of(const JobView& job, const std::string& queue) {
  std::string text = queue + " state " + std::to_string(static_cast<int>(job.state));
  for (const uint64_t number :
       {uint64_t{job.priority}, uint64_t{job.attempts}, uint64_t{job.exceptions},
        uint64_t{job.replays}, job.generation, static_cast<uint64_t>(job.due_ms)}) {
    text += " " + std::to_string(number);
  }
  return text + " '" + payload_of(job) + "' '" + job.last_error + "'";
}

// All jobs up to `last`; `failure` is set when one could not be read.
inline Picture picture(Engine& engine, JobId last, Status* failure = nullptr) {
  Picture jobs;
  const Result<std::vector<std::string>> names = engine.queue_names();
  if (!names.ok()) return jobs;
  for (const std::string& name : names.value()) {
    CallOptions call;
    const Result<QueueId> queue = engine.open_queue(name, {}, 0, false, call);
    for (JobId id = 1; queue.ok() && id <= last; ++id) {
      const Result<JobView> job = engine.get(queue.value(), id);
      if (job.ok()) {
        jobs[id] = picture_of(job.value(), name);
      } else if (job.status().code() != Code::not_found) {
        if (failure) *failure = job.status();
      }
    }
  }
  return jobs;
}

struct StoreAtRest {
  Picture jobs;  // as they were when it was closed
  JobId last_job = 0;
};

inline std::vector<JobView> lease_exactly(EngineHarness& harness, QueueId queue, uint32_t count) {
  std::vector<JobView> jobs;
  while (jobs.size() < count) {
    std::vector<JobView> more = harness.lease(queue, count - static_cast<uint32_t>(jobs.size()));
    if (more.empty()) harness.tick();  // reads a page from the store
    for (JobView& job : more) jobs.push_back(std::move(job));
  }
  return jobs;
}

// Jobs in every state; values of every kind (in tables, in blob files, in RocksDB's log); rows that
// were erased one by one and as a range. `tail`: changes that only the log knows of. `trimmed`: the
// log of the first rounds is gone, so that the database alone has them.
inline void fill_store(EngineHarness& harness, bool trimmed, bool tail, StoreAtRest& out) {
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.max_retries = 5;
  QueueId mail = harness.queue("mail", config, config_max_retries);
  QueueId other = harness.queue("other");
  const auto body = [](int i, size_t bytes) {
    std::string text = "job " + std::to_string(i) + " ";
    while (text.size() < bytes) text += std::to_string(text.size() * 7919 + static_cast<size_t>(i));
    return text;
  };
  for (int i = 0; i < 12; ++i) harness.enqueue(mail, body(i, 150));
  harness.enqueue(mail, body(12, 6'000));
  JobSpec spec;
  spec.priority = 7;
  harness.enqueue(mail, body(13, 90), spec);
  spec.delay_ms = 3'600'000;
  harness.enqueue(mail, body(14, 90), spec);
  for (int i = 0; i < 100; ++i) harness.enqueue(other, body(100 + i, 30));
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  ASSERT_TRUE(harness.close().ok());

  ASSERT_TRUE(harness.open().ok());  // RocksDB makes tables of what its log had
  for (const JobView& job : lease_exactly(harness, other, 98))
    harness.ack(other, job.id, job.generation);
  const std::vector<JobView> jobs = lease_exactly(harness, mail, 4);
  harness.nack(mail, jobs[0].id, jobs[0].generation, 0, 0, "try again");
  SettleItem fail;
  fail.id = jobs[1].id;
  fail.generation = jobs[1].generation;
  fail.kind = SettleKind::fail;
  fail.error = "it can not work";
  harness.settle(mail, fail);
  CallOptions call;
  ASSERT_TRUE(harness.engine().confirm(mail, Token{jobs[2].id, jobs[2].generation}, 0, call).ok());
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  ASSERT_TRUE(harness.close().ok());

  ASSERT_TRUE(harness.open().ok());
  if (trimmed) {
    const QueueId filler = harness.queue("filler");
    for (int i = 0; i < 4; ++i) {
      const JobId id = harness.enqueue(filler, body(1, 30'000));
      const std::vector<JobView> one = lease_exactly(harness, filler, 1);
      harness.ack(filler, id, one[0].generation);
      ASSERT_TRUE(harness.engine().checkpoint().ok());
    }
  }
  for (int i = 20; i < 23; ++i) harness.enqueue(mail, body(i, 60));
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  if (tail) {
    for (int i = 30; i < 33; ++i) harness.enqueue(mail, body(i, 60));
    const std::vector<JobView> more = lease_exactly(harness, mail, 2);
    harness.ack(mail, more[0].id, more[0].generation);
  }
  out.last_job = 200;
  out.jobs = picture(harness.engine(), out.last_job);
  if (tail) harness.engine().poison("killed by the test");
  harness.close().ignore("a killed one says that it was");
}

// The disk has no part in these tests, and a flush of it takes longer than all the rest.
inline std::string fast_directory(const std::string& name) {
  namespace fs = std::filesystem;
  const std::string memory = "/dev/shm";
  const bool there = ::access(memory.c_str(), W_OK) == 0;
  const std::string root =
      (there ? memory : testing::TempDir()) + "/wq-" + name + "-" + std::to_string(::getpid());
  fs::remove_all(root);
  fs::create_directories(root);
  return root;
}

}  // namespace wq
