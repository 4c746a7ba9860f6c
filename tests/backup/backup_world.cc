#include "backup/backup_world.h"

#include <vector>

namespace wq {
namespace {

std::string line_of(const JobView& job) {
  const std::string payload(as_text(trusted_payload(job.body.bytes())));
  const auto number = [](auto value) { return " " + std::to_string(value); };
  return "job" + number(job.id) + number(static_cast<int>(job.state)) + number(job.generation) +
         number(job.attempts) + number(job.exceptions) + number(job.max_attempts) +
         number(job.replays) + number(int{job.priority}) + number(job.since_ms) +
         number(job.due_ms) + number(job.leased_ms) + number(job.deadline_ms) +
         number(static_cast<int>(job.reason)) + " " + job.queue_name + " '" + job.last_error +
         "' '" + payload.substr(0, 16) + "'" + number(payload.size()) + "\n";
}

QueueId open_queue(Engine& engine, const char* name) {
  CallOptions call;
  Result<QueueId> queue = engine.open_queue(name, {}, 0, true, call);
  EXPECT_TRUE(queue.ok()) << queue.status().message();
  return queue.ok() ? queue.value() : 0;
}

JobId enqueue(Engine& engine, QueueId queue, const std::string& payload, int64_t delay_ms = 0) {
  JobSpec spec;
  spec.payload = as_bytes(payload);
  spec.delay_ms = delay_ms;
  CallOptions call;
  JobId id = 0;
  const Status status = engine.enqueue(queue, spec, call, id);
  EXPECT_TRUE(status.ok()) << status.message();
  return id;
}

std::vector<JobView> lease(Engine& engine, QueueId queue, uint32_t max_jobs) {
  LeaseRequest request;
  request.queues = std::span(&queue, 1);
  request.max_jobs = max_jobs;
  CallOptions call;
  std::vector<JobView> jobs;
  const Status status = engine.lease(request, call, jobs);
  EXPECT_TRUE(status.ok()) << status.message();
  return jobs;
}

void settle(Engine& engine, QueueId queue, const JobView& job, SettleKind kind) {
  SettleItem item;
  item.id = job.id;
  item.generation = job.generation;
  item.kind = kind;
  if (kind == SettleKind::fail) item.error = "no way";
  CallOptions call;
  Code code = Code::internal;
  EXPECT_TRUE(engine.settle(queue, std::span(&item, 1), call, std::span(&code, 1)).ok());
  EXPECT_EQ(code, Code::ok);
}

// One job into each state, and some that stay ready.
void one_of_each(BackupWorld& world, Engine& engine, QueueId queue, const std::string& name) {
  for (int i = 0; i < 12; ++i) enqueue(engine, queue, name + std::string(700, 'x'));
  enqueue(engine, queue, name + " later", 5'000'000);
  const std::vector<JobView> jobs = lease(engine, queue, 5);
  ASSERT_EQ(jobs.size(), 5u);
  settle(engine, queue, jobs[0], SettleKind::ack);
  settle(engine, queue, jobs[1], SettleKind::nack);
  settle(engine, queue, jobs[2], SettleKind::fail);
  CallOptions call;
  EXPECT_TRUE(engine.confirm(queue, {jobs[3].id, jobs[3].generation}, 0, call).ok());
  world.clock.advance(10);
}

}  // namespace

std::string dump(Engine& engine, JobId last_id) {
  std::string text;
  Result<std::vector<std::string>> names = engine.queue_names();
  EXPECT_TRUE(names.ok());
  for (const std::string& name : *names) {
    CallOptions call;
    Result<QueueId> queue = engine.open_queue(name, {}, 0, false, call);
    EXPECT_TRUE(queue.ok()) << queue.status().message();
    Result<QueueStats> stats = engine.queue_stats(*queue);
    EXPECT_TRUE(stats.ok()) << stats.status().message();
    text += "queue " + name;
    for (const uint64_t count : stats->counts) text += " " + std::to_string(count);
    text += " enqueued " + std::to_string(stats->totals.enqueued) + " acked " +
            std::to_string(stats->totals.acked) + "\n";
    for (JobId id = 1; id <= last_id; ++id) {
      Result<JobView> job = engine.get(*queue, id);
      if (job.ok()) {
        text += line_of(*job);
      } else {
        EXPECT_EQ(job.status().code(), Code::not_found) << job.status().message();
      }
    }
  }
  return text;
}

JobId fill_store(BackupWorld& world, Engine& engine) {
  const QueueId mail = open_queue(engine, "mail");
  const QueueId bulk = open_queue(engine, "bulk");
  one_of_each(world, engine, mail, "cold");
  EXPECT_TRUE(engine.checkpoint().ok());
  for (int round = 0; round < 4; ++round) {
    one_of_each(world, engine, mail, "hot" + std::to_string(round));
    one_of_each(world, engine, bulk, "bulk" + std::to_string(round));
  }
  return enqueue(engine, bulk, "the last one");
}

}  // namespace wq
