#include "wq_handles.h"

#include <cstring>

#include "support.h"

namespace wq::bench {

void check_wq(int32_t code, const wq_error& error, const char* what) {
  if (code == WQ_OK) return;
  fail(std::string("wq: ") + what + ": " + wq_error_name(code) + ": " + error.message);
}

uint32_t wq_level(Durability durability) {
  switch (durability) {
    case Durability::memory:
      return WQ_MEMORY;
    case Durability::process:
      return WQ_PROCESS;
    case Durability::power:
      return WQ_POWER;
  }
  fail("unknown durability");
}

WqStore::WqStore(const std::string& directory, const Traits& traits) {
  const wq_queue_config config = traits_config(traits);
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_store_open(directory.c_str(), nullptr, &store_, &error), error, "store_open");
  check_wq(wq_queue_open(store_, "bench", 5, &config, 0, &queue_, &error), error, "queue_open");
}

void WqStore::close() {
  wq_queue_close(&queue_);
  wq_store_close(&store_);
}

wq_store_stats WqStore::stats() const {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_store_get_stats(store_, &stats, &error), error, "store_get_stats");
  return stats;
}

wq_queue_stats WqStore::queue_stats() const {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_queue_get_stats(queue_, &stats, &error), error, "queue_get_stats");
  return stats;
}

wq_recovery WqStore::recovery() const {
  wq_recovery recovery = WQ_RECOVERY_INIT;
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_store_get_recovery(store_, &recovery, &error), error, "store_get_recovery");
  return recovery;
}

const char* WqStore::backend() const {
  return stats().io_backend == WQ_IO_URING ? "io_uring" : "threads";
}

void WqStore::sync() {
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_store_sync(store_, &error), error, "store_sync");
}

void WqStore::expect_empty(const char* where) const {
  const wq_queue_stats stats = queue_stats();
  const uint64_t left = stats.ready + stats.delayed + stats.leased + stats.running + stats.dead;
  if (left != 0) fail(std::string(where) + ": " + std::to_string(left) + " jobs are left");
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  wq_error error = WQ_ERROR_INIT;
  check_wq(wq_store_verify(store_, &report, &error), error, "store_verify");
}

WqBatch& WqBatch::operator=(WqBatch&& other) noexcept {
  if (this != &other) {
    wq_batch_free(&batch_);
    batch_ = other.batch_;
    other.batch_ = nullptr;
  }
  return *this;
}

wq_job WqBatch::job(size_t i) const {
  wq_job job = WQ_JOB_INIT;
  if (wq_batch_job(batch_, i, &job) != WQ_OK) fail("wq: batch_job");
  return job;
}

std::string_view payload_of(const wq_job& job) {
  return {static_cast<const char*>(job.payload.data), job.payload.len};
}

WqCalls::WqCalls(const WqStore& store, const Traits& traits) : store_(store), traits_(traits) {}

void WqCalls::enqueue(std::span<const std::string_view> payloads, wq_call* call,
                      uint64_t first_id) {
  const wq_job_spec defaults = WQ_JOB_SPEC_INIT;
  if (specs_.size() < payloads.size()) specs_.resize(payloads.size(), defaults);
  for (size_t i = 0; i < payloads.size(); i++) {
    specs_[i].payload = {payloads[i].data(), payloads[i].size()};
  }
  traits_.set(std::span(specs_).first(payloads.size()), first_id);
  wq_error error = WQ_ERROR_INIT;
  const int32_t code =
      payloads.size() == 1
          ? wq_enqueue(store_.queue(), specs_.data(), call, nullptr, &error)
          : wq_enqueue_many(store_.queue(), specs_.data(), payloads.size(), sizeof(wq_job_spec), 0,
                            call, nullptr, 0, nullptr, &error);
  check_wq(code, error, "enqueue");
}

bool WqCalls::lease(size_t jobs_max, int64_t wait_ms, wq_call* call, WqBatch* batch) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = static_cast<uint32_t>(jobs_max);
  options.wait_ms = wait_ms;
  wq_queue* const queue = store_.queue();
  wq_batch* leased = nullptr;
  wq_error error = WQ_ERROR_INIT;
  const int32_t code =
      wq_lease(store_.store(), &queue, 1, &options, nullptr, call, &leased, &error);
  if (code == WQ_EMPTY) return false;
  check_wq(code, error, "lease");
  *batch = WqBatch(leased);
  return true;
}

void WqCalls::ack(std::span<const wq_token> tokens, wq_call* call) {
  wq_error error = WQ_ERROR_INIT;
  if (tokens.size() == 1) {
    check_wq(wq_ack(store_.queue(), tokens[0].id, tokens[0].generation, call, &error), error,
             "ack");
    return;
  }
  wq_settle_item ack = WQ_SETTLE_ITEM_INIT;
  ack.kind = WQ_SETTLE_ACK;
  if (items_.size() < tokens.size()) items_.resize(tokens.size(), ack);
  for (size_t i = 0; i < tokens.size(); i++) {
    items_[i].id = tokens[i].id;
    items_[i].generation = tokens[i].generation;
  }
  check_wq(wq_settle_many(store_.queue(), items_.data(), tokens.size(), sizeof(wq_settle_item),
                          nullptr, call, &error),
           error, "settle_many");
}

}  // namespace wq::bench
