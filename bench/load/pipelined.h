// wq from an event loop: one thread, a completion queue, thousands of jobs under way. A job counts
// when the event of its ack has come, i.e. when the ack is on the device. A payload is looked at
// only after the event of its lease. Thread model: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "payload.h"
#include "support.h"
#include "wq_handles.h"

namespace wq::bench {

class Pipeline {
 public:
  // At most `jobs_in_flight_max` jobs are between the start of their enqueue and the event of their
  // last step.
  Pipeline(const WqStore& store, Durability durability, size_t batch, size_t jobs_in_flight_max,
           const Traits& traits = {});
  ~Pipeline() { wq_cq_close(&cq_); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Whole lives until the time is over and everything under way has ended; returns finished jobs.
  uint64_t run_lives(Ledger& ledger, double seconds);

  // Enqueues `jobs` jobs and waits until all are durable.
  void fill(Ledger& ledger, uint64_t jobs);

  // Leases (waiting for each at its default level; timed) and acks (pipelined) until the queue is
  // empty or `jobs_max` jobs are done.
  uint64_t drain(Ledger& ledger, uint64_t jobs_max, LatencySampler* lease_times);

 private:
  enum class Step { enqueue, lease, ack };
  struct Pending {
    Step step = Step::enqueue;
    size_t jobs = 0;
    WqBatch batch;  // of a lease
  };

  // Calls of one level whose events are due; they come in the order of the calls.
  struct Line {
    std::deque<Pending> pending;
    uint64_t first = 0;  // sequence number of pending.front()
  };

  wq_call next_call(const Line& line, Durability durability);
  Pending arrived(uint64_t user_data);
  bool under_way() const { return !changes_.pending.empty() || !leases_.pending.empty(); }
  bool enqueue(Ledger& ledger, size_t jobs);
  bool lease();
  void ack(const WqBatch& batch);
  void deliver(Ledger& ledger, const WqBatch& batch);
  void poll(Ledger& ledger, int64_t timeout_ms);
  void finish(Ledger& ledger, Pending pending);

  const Durability durability_;
  const size_t batch_;
  const size_t jobs_in_flight_max_;
  const bool jobs_may_wait_;
  WqCalls calls_;
  PayloadBatch payloads_;
  wq_cq* cq_ = nullptr;
  std::vector<wq_event> events_;
  std::vector<wq_token> tokens_;
  Line changes_;  // enqueues and acks
  Line leases_;   // at a lower level: their events may overtake
  size_t jobs_in_flight_ = 0;
  size_t jobs_ready_ = 0;  // enqueued and not leased yet
  uint64_t jobs_done_ = 0;
  bool fill_only_ = false;
};

}  // namespace wq::bench
