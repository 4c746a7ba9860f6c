// wq/job.hpp: jobs as they are told, one by one or as a batch.
//
// A Job keeps the copy that the library made of it alive, so its bytes are good as long as the Job
// (or a copy of it) is; it may outlive its batch, its queue and its store. Thread model: a Job and
// what was copied from it belong to one thread at a time; its settles may be called by any.
#pragma once

#include "settle.hpp"

namespace wq {
inline namespace hpp1 {

enum class JobState : std::uint32_t {
  ready = WQ_STATE_READY,
  delayed = WQ_STATE_DELAYED,
  leased = WQ_STATE_LEASED,
  running = WQ_STATE_RUNNING,
  dead = WQ_STATE_DEAD,
};

namespace detail {
using BatchPtr = std::shared_ptr<Owned<wq_batch, wq_batch_free>>;
}

class Job {
 public:
  Job(detail::QueuePtr queue, detail::BatchPtr batch, std::size_t index)
      : queue_(std::move(queue)), batch_(std::move(batch)), index_(index) {
    wq_batch_job(batch_->get(), index_, &raw_);
  }
  Job(detail::QueuePtr queue, detail::BatchPtr batch, std::size_t index, const wq_job& raw)
      : queue_(std::move(queue)), batch_(std::move(batch)), index_(index), raw_(raw) {}

  std::uint64_t id() const { return raw_.id; }
  std::uint64_t generation() const { return raw_.generation; }
  Token token() const { return {raw_.id, raw_.generation}; }
  JobState state() const { return static_cast<JobState>(raw_.state); }
  std::uint32_t priority() const { return raw_.priority; }
  std::uint32_t attempts() const { return raw_.attempts; }  // this one included
  std::uint32_t max_attempts() const { return raw_.max_attempts; }
  Bytes payload() const { return raw_.payload; }
  Bytes queue_name() const { return raw_.queue_name; }
  Bytes last_error() const { return raw_.last_error; }
  Bytes progress_note() const { return raw_.progress; }
  Bytes group() const { return raw_.group; }
  std::uint64_t flow() const { return raw_.flow; }
  bool flow_cancelled() const { return raw_.flow_cancelled != 0; }
  std::uint32_t dead_reason() const { return raw_.dead_reason; }  // WQ_DEAD_...
  Time enqueued_at() const { return to_time(raw_.enqueued_ms); }
  std::optional<Time> deadline() const { return to_optional_time(raw_.deadline_ms); }
  Millis lease_remaining() const { return Millis(raw_.lease_remaining_ms); }
  Millis timeout() const { return Millis(raw_.timeout_ms); }
  // All of it as the C interface has it.
  const wq_job& raw() const { return raw_; }

  std::vector<Header> headers() const {
    std::vector<Header> headers(raw_.headers_count);
    for (std::size_t i = 0; i < headers.size(); i++) {
      wq_header raw{};
      wq_batch_header(batch_->get(), index_, i, &raw);
      headers[i] = {raw.name, raw.value};
    }
    return headers;
  }
  // The first of that name.
  std::optional<Bytes> header(Bytes name) const {
    for (const Header& header : headers()) {
      if (header.name == name) return header.value;
    }
    return std::nullopt;
  }

  // Settles. A late worker gets Outcome::stale, which is no error, and has changed nothing.
  Result<Outcome> ack(Bytes result = {}, const Call& call = {}) const {
    return detail::ack(queue_, token(), result, call);
  }
  Result<Outcome> nack(const NackOptions& options = {}, const Call& call = {}) const {
    return detail::nack(queue_, token(), options, call);
  }
  Result<Outcome> release(const ReleaseOptions& options = {}, const Call& call = {}) const {
    return detail::release(queue_, token(), options, call);
  }
  Result<Outcome> fail(Bytes error = {}, const Call& call = {}) const {
    return detail::fail(queue_, token(), error, call);
  }

  // leased -> running; no deadline any more, or one `run` from now.
  Result<Outcome> confirm(Millis run = {}, const Call& call = {}) const {
    return detail::confirm(queue_, token(), run, call);
  }
  // The deadline becomes `lease` from now (0: the queue's). Outcome::cancelled: its flow was
  // cancelled, it should stop.
  Result<Outcome> extend(Millis lease = {}, const Call& call = {}) const {
    const Token own = token();
    return detail::extend(queue_, {&own, 1}, lease, call).result;
  }
  Result<Outcome> progress(Bytes note, const Call& call = {}) const {
    return detail::progress(queue_, token(), note, call);
  }
  Result<Outcome> release_key(const Call& call = {}) const {
    return detail::release_key(queue_, token(), call);
  }

 private:
  detail::QueuePtr queue_;
  detail::BatchPtr batch_;
  std::size_t index_;
  wq_job raw_ = WQ_JOB_INIT;
};

// Jobs that were leased or read together. for (const wq::Job& job : batch) ...
class Batch {
 public:
  class Iterator {
   public:
    using value_type = Job;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using reference = Job;
    using pointer = void;

    Iterator() = default;
    Iterator(const Batch* batch, std::size_t index) : batch_(batch), index_(index) {}
    Job operator*() const { return (*batch_)[index_]; }
    Iterator& operator++() {
      index_++;
      return *this;
    }
    Iterator operator++(int) { return {batch_, index_++}; }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Batch* batch_ = nullptr;
    std::size_t index_ = 0;
  };

  explicit Batch(Outcome outcome) : outcome_(outcome) {}
  Batch(std::vector<detail::QueuePtr> queues, wq_batch* raw)
      : queues_(std::move(queues)),
        batch_(std::make_shared<detail::Owned<wq_batch, wq_batch_free>>(raw)) {}

  // ok, or why there are no jobs: empty, paused, disabled, cancelled.
  Outcome outcome() const { return outcome_; }
  std::size_t size() const { return batch_ ? wq_batch_count(batch_->get()) : 0; }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  Job operator[](std::size_t index) const {
    wq_job raw = WQ_JOB_INIT;
    wq_batch_job(batch_->get(), index, &raw);
    return Job(queues_[raw.queue_index], batch_, index, raw);
  }

 private:
  Outcome outcome_ = Outcome::ok;
  std::vector<detail::QueuePtr> queues_;
  detail::BatchPtr batch_;
};

struct LeaseOptions {
  std::uint32_t max_jobs = 1;
  Millis wait{};   // for the first job; wq::forever: for ever
  Millis lease{};  // 0: timeout of the job, or else the lease of its queue
  std::optional<Cancel> cancel = {};
};

namespace detail {

inline Result<Batch> lease(const StorePtr& store, std::vector<QueuePtr> queues,
                           const LeaseOptions& options, const Call& call) {
  std::vector<wq_queue*> raw_queues;
  for (const QueuePtr& queue : queues) {
    wq_queue* raw = queue ? queue->raw.load() : nullptr;
    if (!raw) return Error(Errc::closed, "the queue is closed");
    raw_queues.push_back(raw);
  }
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = options.max_jobs;
  take.wait_ms = options.wait.count();
  take.lease_ms = options.lease.count();
  wq_cancel* cancel = options.cancel ? options.cancel->get() : nullptr;
  wq_batch* batch = nullptr;
  const Result<Outcome> outcome =
      change_store(store, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
        return wq_lease(raw, raw_queues.data(), raw_queues.size(), &take, cancel, c, &batch, err);
      });
  if (!outcome) return outcome.error();
  if (*outcome != Outcome::ok) return Batch(*outcome);
  return Batch(std::move(queues), batch);
}

// A batch of one that was read, as a job.
inline Job only_job(const QueuePtr& queue, wq_batch* batch) {
  return Job(queue, std::make_shared<Owned<wq_batch, wq_batch_free>>(batch), 0);
}

}  // namespace detail
}  // namespace hpp1
}  // namespace wq
