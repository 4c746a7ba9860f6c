// Thin owners of wq.h handles for the load program; every unexpected code ends the run with the
// library's own message. Thread model: as the handles inside.
#pragma once

#include <wq.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "queue_under_test.h"
#include "traits.h"

namespace wq::bench {

// Fails the run unless `code` is WQ_OK.
void check_wq(int32_t code, const wq_error& error, const char* what);

uint32_t wq_level(Durability durability);

// An open store with one queue, all options at their defaults but for what `traits` need.
class WqStore {
 public:
  explicit WqStore(const std::string& directory, const Traits& traits = {});
  ~WqStore() { close(); }
  WqStore(const WqStore&) = delete;
  WqStore& operator=(const WqStore&) = delete;

  void close();
  wq_store* store() const { return store_; }
  wq_queue* queue() const { return queue_; }
  wq_store_stats stats() const;
  wq_queue_stats queue_stats() const;
  wq_recovery recovery() const;
  const char* backend() const;  // "io_uring" or "threads"
  void sync();
  void expect_empty(const char* where) const;  // no job in any state, by counts and by a full check

 private:
  wq_store* store_ = nullptr;
  wq_queue* queue_ = nullptr;
};

// Jobs that were leased together; frees the batch.
class WqBatch {
 public:
  WqBatch() = default;
  explicit WqBatch(wq_batch* batch) : batch_(batch) {}
  WqBatch(WqBatch&& other) noexcept : batch_(other.batch_) { other.batch_ = nullptr; }
  WqBatch& operator=(WqBatch&& other) noexcept;
  ~WqBatch() { wq_batch_free(&batch_); }

  size_t count() const { return wq_batch_count(batch_); }
  wq_job job(size_t i) const;

 private:
  wq_batch* batch_ = nullptr;
};

std::string_view payload_of(const wq_job& job);

// The calls of one thread, with their reusable arrays. `call` may be NULL for the defaults.
class WqCalls {
 public:
  explicit WqCalls(const WqStore& store, const Traits& traits = {});
  // `first_id`: of the payloads; what keys are made of.
  void enqueue(std::span<const std::string_view> payloads, wq_call* call, uint64_t first_id = 0);
  // False if there was no job within wait_ms.
  bool lease(size_t jobs_max, int64_t wait_ms, wq_call* call, WqBatch* batch);
  void ack(std::span<const wq_token> tokens, wq_call* call);

 private:
  const WqStore& store_;
  TraitMaker traits_;
  std::vector<wq_job_spec> specs_;
  std::vector<wq_settle_item> items_;
};

}  // namespace wq::bench
