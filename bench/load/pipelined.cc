#include "pipelined.h"

#include <algorithm>

namespace wq::bench {

namespace {
constexpr size_t events_max = 256;
constexpr uint64_t lease_mark = uint64_t{1} << 63;  // in user_data
constexpr int64_t stuck_ms = 20'000;                // no event for so long while some are due: fail
}  // namespace

Pipeline::Pipeline(const WqStore& store, Durability durability, size_t batch,
                   size_t jobs_in_flight_max, const Traits& traits)
    : durability_(durability),
      batch_(batch),
      jobs_in_flight_max_(std::max(jobs_in_flight_max, batch)),
      jobs_may_wait_(traits.may_wait()),
      calls_(store, traits),
      payloads_(batch) {
  const wq_event fresh = WQ_EVENT_INIT;
  events_.assign(events_max, fresh);
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_cq_open(store.store(), &cq_, &error), error, "cq_open");
}

wq_call Pipeline::next_call(const Line& line, Durability durability) {
  wq_call call = WQ_CALL_INIT;
  call.durability = wq_level(durability);
  call.cq = cq_;
  call.user_data = line.first + line.pending.size();
  if (&line == &leases_) call.user_data |= lease_mark;
  return call;
}

Pipeline::Pending Pipeline::arrived(uint64_t user_data) {
  Line& line = (user_data & lease_mark) != 0 ? leases_ : changes_;
  if (line.pending.empty() || (user_data & ~lease_mark) != line.first) {
    fail("events of one level came out of order");
  }
  Pending pending = std::move(line.pending.front());
  line.pending.pop_front();
  line.first++;
  return pending;
}

bool Pipeline::enqueue(Ledger& ledger, size_t jobs) {
  if (jobs_in_flight_ + jobs > jobs_in_flight_max_) return false;
  wq_call call = next_call(changes_, durability_);
  const uint64_t first_id = ledger.issue(jobs);
  calls_.enqueue(payloads_.make(first_id, jobs), &call, first_id);
  changes_.pending.push_back({Step::enqueue, jobs, {}});
  jobs_in_flight_ += jobs;
  jobs_ready_ += jobs;
  return true;
}

bool Pipeline::lease() {
  if (jobs_ready_ == 0) return false;
  wq_call call = next_call(leases_, std::min(durability_, Durability::process));
  WqBatch batch;
  if (!calls_.lease(batch_, 0, &call, &batch)) {
    if (!jobs_may_wait_) fail("an enqueued job can not be leased");
    return false;
  }
  const size_t jobs = batch.count();
  leases_.pending.push_back({Step::lease, jobs, std::move(batch)});
  jobs_ready_ -= jobs;
  return true;
}

void Pipeline::ack(const WqBatch& batch) {
  tokens_.clear();
  for (size_t i = 0; i < batch.count(); i++) {
    const wq_job job = batch.job(i);
    tokens_.push_back({job.id, job.generation});
  }
  wq_call call = next_call(changes_, durability_);
  calls_.ack(tokens_, &call);
  changes_.pending.push_back({Step::ack, tokens_.size(), {}});
}

void Pipeline::deliver(Ledger& ledger, const WqBatch& batch) {
  for (size_t i = 0; i < batch.count(); i++) ledger.deliver(payload_of(batch.job(i)));
}

void Pipeline::finish(Ledger& ledger, Pending pending) {
  switch (pending.step) {
    case Step::enqueue:
      if (fill_only_) jobs_in_flight_ -= pending.jobs;
      return;
    case Step::lease:
      deliver(ledger, pending.batch);
      ack(pending.batch);
      return;
    case Step::ack:
      jobs_in_flight_ -= pending.jobs;
      jobs_done_ += pending.jobs;
      return;
  }
}

void Pipeline::poll(Ledger& ledger, int64_t timeout_ms) {
  size_t count = 0;
  wq_error error = WQ_ERROR_INIT;
  const int32_t code =
      wq_cq_poll(cq_, events_.data(), events_.size(), sizeof(wq_event), timeout_ms, &count, &error);
  if (code == WQ_EMPTY) {
    if (timeout_ms != 0) fail("no event came for " + std::to_string(timeout_ms) + " ms");
    return;
  }
  check_wq(code, error, "cq_poll");
  for (size_t i = 0; i < count; i++) {
    if (events_[i].code != WQ_OK) fail(std::string("event: ") + wq_error_name(events_[i].code));
    finish(ledger, arrived(events_[i].user_data));
  }
}

uint64_t Pipeline::run_lives(Ledger& ledger, double seconds) {
  fill_only_ = false;
  jobs_done_ = 0;
  const uint64_t until = now_ns() + static_cast<uint64_t>(seconds * ns_per_second);
  while (now_ns() < until) {
    const bool enqueued = enqueue(ledger, batch_);
    const bool leased = lease();
    poll(ledger, enqueued || leased ? 0 : stuck_ms);
  }
  for (;;) {
    while (lease()) {
    }
    if (!under_way()) return jobs_done_;
    poll(ledger, stuck_ms);  // what ends may make room for what waits
  }
}

void Pipeline::fill(Ledger& ledger, uint64_t jobs) {
  fill_only_ = true;
  while (jobs > 0) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(jobs, batch_));
    if (enqueue(ledger, n)) {
      jobs -= n;
      poll(ledger, 0);
    } else {
      poll(ledger, stuck_ms);
    }
  }
  while (under_way()) poll(ledger, stuck_ms);
}

uint64_t Pipeline::drain(Ledger& ledger, uint64_t jobs_max, LatencySampler* lease_times) {
  fill_only_ = false;
  jobs_done_ = 0;
  uint64_t leased = 0;
  while (leased < jobs_max) {
    const auto want = static_cast<size_t>(std::min<uint64_t>(batch_, jobs_max - leased));
    WqBatch batch;
    const uint64_t start = now_ns();
    const bool any = calls_.lease(want, 0, nullptr, &batch);
    lease_times->add(now_ns() - start);
    if (!any) break;
    leased += batch.count();
    jobs_in_flight_ += batch.count();
    deliver(ledger, batch);
    ack(batch);
    while (jobs_in_flight_ > jobs_in_flight_max_) poll(ledger, stuck_ms);
    poll(ledger, 0);
  }
  while (under_way()) poll(ledger, stuck_ms);
  return jobs_done_;
}

}  // namespace wq::bench
