// wq/consumer.hpp: jobs of some queues as an endless range: for (wq::Job job : consumer) ...
//
// It ends when its token is fired, the store is shut down or closed, or a call fails: error() tells
// which. Jobs that were leased ahead and not handed out by then are released. Thread model: one
// thread at a time; the token may be fired by any.
#pragma once

#include "store.hpp"

namespace wq {
inline namespace hpp1 {

struct ConsumerOptions {
  std::uint32_t batch = 1;  // jobs leased by one call; all of them have a running lease
  Millis lease{};
  std::optional<Cancel> cancel = {};
};

class Consumer {
 public:
  Consumer(const Store& store, std::vector<Queue> queues, ConsumerOptions options = {})
      : store_(store.handle()), options_(std::move(options)), batch_(Outcome::empty) {
    for (const Queue& queue : queues) queues_.push_back(queue.handle());
    if (!options_.cancel) options_.cancel = Cancel::make();
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;
  ~Consumer() { give_back(); }

  // Waits for the next job; none: it has ended.
  std::optional<Job> next() {
    if (options_.cancel->fired()) give_back();
    if (next_ == batch_.size() && !fetch()) return std::nullopt;
    return batch_[next_++];
  }
  // Ends it from another thread.
  Cancel cancel() const { return *options_.cancel; }
  // Why it ended; none while it goes on, and after the token was fired.
  const std::optional<Error>& error() const { return error_; }

  class Iterator {
   public:
    using value_type = Job;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(Consumer* consumer) : consumer_(consumer) { ++*this; }
    const Job& operator*() const { return *job_; }
    const Job* operator->() const { return &*job_; }
    Iterator& operator++() {
      job_ = consumer_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !job_; }

   private:
    Consumer* consumer_ = nullptr;
    std::optional<Job> job_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  bool fetch() {
    batch_ = Batch(Outcome::empty);
    next_ = 0;
    if (ended_) return false;
    Result<Batch> batch = detail::lease(
        store_, queues_, {options_.batch, forever, options_.lease, options_.cancel}, {});
    if (batch) {
      batch_ = std::move(*batch);
    } else {
      error_ = batch.error();
    }
    ended_ = batch_.empty();
    return !ended_;
  }
  // The last first, so that they are in their old order at the head of the queue.
  void give_back() {
    for (std::size_t i = batch_.size(); i > next_; i--) {
      (void)batch_[i - 1].release({.front = true}, {Durability::memory});
    }
    next_ = batch_.size();
  }

  detail::StorePtr store_;
  std::vector<detail::QueuePtr> queues_;
  ConsumerOptions options_;
  Batch batch_;
  std::size_t next_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace hpp1
}  // namespace wq
