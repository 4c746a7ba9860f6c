// wq/queue.hpp: a queue: configuration, producing, leasing, settling, single jobs, keys, history.
//
// A Queue is a cheap handle: copies are the same handle, and the last one closes it. It may outlive
// its Store and answers Errc::closed then. Durability of a change: that of the queue for enqueue
// and settles, of the process for lease, extend and progress, else of power; Call names another.
// Thread model: any thread.
#pragma once

#include "dead.hpp"
#include "job.hpp"

namespace wq {
inline namespace hpp1 {

using QueueStats = wq_queue_stats;
using QueueError = wq_queue_error;

// What became of an enqueue: the new job, or (Outcome::duplicate) the one that holds its key.
struct Enqueued {
  Outcome outcome = Outcome::ok;
  std::uint64_t id = 0;
  std::uint64_t lsn = 0;
};

// Of several: `jobs` has one entry per spec, its code WQ_OK, WQ_DUPLICATE or why it was refused.
struct ManyEnqueued {
  Result<Outcome> result = Outcome::ok;
  std::size_t accepted = 0;
  std::vector<wq_enqueued> jobs = {};
};

enum class EnqueueMode { all_or_none, up_to_first_refusal };

// `text` is for people, the rest for programs.
struct JobExplanation {
  wq_job_explanation raw = WQ_JOB_EXPLANATION_INIT;
  std::string text;
};
struct QueueExplanation {
  wq_queue_explanation raw = WQ_QUEUE_EXPLANATION_INIT;
  std::string text;
};

enum class KeyKind : std::uint32_t {
  unique = WQ_KEY_UNIQUE,
  debounce = WQ_KEY_DEBOUNCE,
  idempotency = WQ_KEY_IDEMPOTENCY,
};

// An acked job in the history of its queue.
struct DoneJob {
  wq_done_job raw = WQ_DONE_JOB_INIT;  // but for `result`
  std::string result;
};
struct DonePage {
  std::vector<DoneJob> jobs;
  std::uint64_t cursor = 0;  // for the next page; 0: that was the last
};

namespace detail {

inline std::string take_text(wq_text** text) {
  std::string copy = Bytes(wq_text_bytes(*text)).str();
  wq_text_free(text);
  return copy;
}

inline DoneJob done_job(const wq_done_job& raw) {
  DoneJob job{raw, Bytes(raw.result).str()};
  job.raw.result = {};
  return job;
}

}  // namespace detail

struct CronSpec {
  std::string expression;
  std::string zone = {};  // of the tz database; empty: UTC
  Bytes payload = {};
  JobOptions job = {};                         // without times
  std::optional<std::uint32_t> catch_up = {};  // missed slots that run later; else the newest one
};

class Queue {
 public:
  Queue() = default;  // closed
  explicit Queue(detail::QueuePtr handle) : handle_(std::move(handle)) {}

  // ---- the queue itself
  const std::string& name() const { return handle_->name; }
  const detail::QueuePtr& handle() const { return handle_; }
  // Wakes calls that wait in a lease of this handle; the queue is untouched.
  void close() {
    if (handle_) handle_->close();
  }

  Result<Outcome> configure(const QueueConfig& config, const Call& call = {}) const {
    const wq_queue_config change = detail::to_raw(config);
    return detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_queue_configure(raw, &change, c, err);
    });
  }
  Result<QueueConfig> config() const {
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    return detail::value_of<QueueConfig>(
        detail::on_queue(
            handle_,
            [&](wq_queue* raw, wq_error* err) { return wq_queue_get_config(raw, &config, err); }),
        [&] { return detail::from_raw(config); });
  }
  Result<Outcome> pause(const Call& call = {}) const {
    return detail::change_queue(handle_, call, wq_queue_pause);
  }
  Result<Outcome> resume(const Call& call = {}) const {
    return detail::change_queue(handle_, call, wq_queue_resume);
  }
  Result<Outcome> disable(const Call& call = {}) const {
    return detail::change_queue(handle_, call, wq_queue_disable);
  }
  Result<Outcome> enable(const Call& call = {}) const {
    return detail::change_queue(handle_, call, wq_queue_enable);
  }
  // The queue with all that is in it; handles on it answer Errc::not_found from then on.
  Result<Outcome> remove(const Call& call = {}) const {
    return detail::change_queue(handle_, call, wq_queue_delete);
  }
  // `states`: an OR of WQ_STATE_BIT(WQ_STATE_...); 0: ready and delayed. How many went.
  Result<std::uint64_t> clear(std::uint32_t states = 0, const Call& call = {}) const {
    std::uint64_t removed = 0;
    const Result<Outcome> outcome =
        detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
          return wq_queue_clear(raw, states, &removed, c, err);
        });
    if (!outcome) return outcome.error();
    return removed;
  }
  Result<QueueStats> stats() const {
    QueueStats stats = WQ_QUEUE_STATS_INIT;
    return detail::value_of<QueueStats>(
        detail::on_queue(
            handle_,
            [&](wq_queue* raw, wq_error* err) { return wq_queue_get_stats(raw, &stats, err); }),
        [&] { return stats; });
  }
  Result<QueueExplanation> explain() const {
    QueueExplanation told;
    wq_text* text = nullptr;
    return detail::value_of<QueueExplanation>(detail::on_queue(handle_,
                                                               [&](wq_queue* raw, wq_error* err) {
                                                                 return wq_queue_explain(
                                                                     raw, &told.raw, &text, err);
                                                               }),
                                              [&] {
                                                told.text = detail::take_text(&text);
                                                return told;
                                              });
  }
  // The last failed attempts, newest first; at most 10 are kept.
  Result<std::vector<QueueError>> errors(std::size_t max = 10) const {
    max = std::min<std::size_t>(max, 1000);
    std::vector<QueueError> errors(max, QueueError WQ_QUEUE_ERROR_INIT);
    std::size_t count = 0;
    return detail::value_of<std::vector<QueueError>>(
        detail::on_queue(handle_,
                         [&](wq_queue* raw, wq_error* err) {
                           return wq_queue_get_errors(raw, errors.data(), max, sizeof(QueueError),
                                                      &count, err);
                         }),
        [&] {
          errors.resize(count);
          return errors;
        });
  }

  // ---- produce
  Result<Enqueued> enqueue(Bytes payload, const JobOptions& options = {},
                           const Call& call = {}) const {
    detail::SpecArray specs;
    const wq_job_spec spec = specs.make(payload, options);
    wq_enqueued out = WQ_ENQUEUED_INIT;
    const Result<Outcome> outcome =
        detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
          return wq_enqueue(raw, &spec, c, &out, err);
        });
    if (!outcome) return outcome.error();
    return Enqueued{*outcome, out.job_id, out.lsn};
  }
  ManyEnqueued enqueue_many(std::span<const NewJob> jobs,
                            EnqueueMode mode = EnqueueMode::all_or_none,
                            const Call& call = {}) const {
    detail::SpecArray specs;
    specs.reserve(jobs.size());
    for (const NewJob& job : jobs) specs.add(job.payload, job.options);
    ManyEnqueued many;
    many.jobs.assign(jobs.size(), wq_enqueued WQ_ENQUEUED_INIT);
    many.result =
        detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
          return wq_enqueue_many(raw, specs.data(), specs.size(), sizeof(wq_job_spec),
                                 mode == EnqueueMode::up_to_first_refusal ? WQ_ENQUEUE_PARTIAL : 0,
                                 c, many.jobs.data(), sizeof(wq_enqueued), &many.accepted, err);
        });
    return many;
  }

  // ---- single jobs
  Result<Job> get(std::uint64_t id) const {
    wq_batch* batch = nullptr;
    return detail::value_of<Job>(
        detail::on_queue(handle_, [&](wq_queue* raw,
                                      wq_error* err) { return wq_job_get(raw, id, &batch, err); }),
        [&] { return detail::only_job(handle_, batch); });
  }
  Result<Outcome> cancel(std::uint64_t id, const Call& call = {}) const {
    return detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_job_cancel(raw, id, c, err);
    });
  }
  Result<Outcome> reprioritise(std::uint64_t id, std::uint32_t priority,
                               const Call& call = {}) const {
    return detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_job_reprioritise(raw, id, priority, c, err);
    });
  }
  Result<JobExplanation> explain(std::uint64_t id) const {
    JobExplanation told;
    wq_text* text = nullptr;
    return detail::value_of<JobExplanation>(detail::on_queue(handle_,
                                                             [&](wq_queue* raw, wq_error* err) {
                                                               return wq_job_explain(
                                                                   raw, id, &told.raw, &text, err);
                                                             }),
                                            [&] {
                                              told.text = detail::take_text(&text);
                                              return told;
                                            });
  }

  // ---- consume, by token; a Job has the same without one
  Result<Batch> lease(const LeaseOptions& options = {}, const Call& call = {}) const {
    if (!handle_) return Error(Errc::closed, "the queue is closed");
    return detail::lease(handle_->store, {handle_}, options, call);
  }
  Result<Outcome> ack(Token token, Bytes result = {}, const Call& call = {}) const {
    return detail::ack(handle_, token, result, call);
  }
  Result<Outcome> nack(Token token, const NackOptions& options = {}, const Call& call = {}) const {
    return detail::nack(handle_, token, options, call);
  }
  Result<Outcome> release(Token token, const ReleaseOptions& options = {},
                          const Call& call = {}) const {
    return detail::release(handle_, token, options, call);
  }
  Result<Outcome> fail(Token token, Bytes error = {}, const Call& call = {}) const {
    return detail::fail(handle_, token, error, call);
  }
  Result<Outcome> confirm(Token token, Millis run = {}, const Call& call = {}) const {
    return detail::confirm(handle_, token, run, call);
  }
  Result<Outcome> progress(Token token, Bytes note, const Call& call = {}) const {
    return detail::progress(handle_, token, note, call);
  }
  ManySettled extend(std::span<const Token> tokens, Millis lease, const Call& call = {}) const {
    return detail::extend(handle_, tokens, lease, call);
  }
  // In one change; one that is refused does not stop the others.
  ManySettled settle_many(std::span<const Settle> settles, const Call& call = {}) const {
    std::vector<wq_settle_item> items;
    items.reserve(settles.size());
    for (const Settle& settle : settles) items.push_back(settle.raw());
    return detail::settle_many(handle_, items, call);
  }

  DeadLetters dead() const { return DeadLetters(handle_); }

  // ---- keys
  Result<std::uint64_t> key_holder(KeyKind kind, Bytes key) const {
    std::uint64_t id = 0;
    return detail::value_of<std::uint64_t>(
        detail::on_queue(handle_,
                         [&](wq_queue* raw, wq_error* err) {
                           return wq_key_holder(raw, static_cast<std::uint32_t>(kind), key.data(),
                                                key.size(), &id, err);
                         }),
        [&] { return id; });
  }
  // Cancels the job that holds the key; its id.
  Result<Answer<std::uint64_t>> key_cancel(KeyKind kind, Bytes key, const Call& call = {}) const {
    std::uint64_t id = 0;
    detail::CallScope scope(call);
    return detail::answer_of<std::uint64_t>(
        detail::on_queue(handle_,
                         [&](wq_queue* raw, wq_error* err) {
                           return wq_key_cancel(raw, static_cast<std::uint32_t>(kind), key.data(),
                                                key.size(), scope.get(), &id, err);
                         }),
        [&] { return id; });
  }
  Result<Outcome> key_release(Token token, const Call& call = {}) const {
    return detail::release_key(handle_, token, call);
  }

  // ---- history
  Result<DoneJob> history_get(std::uint64_t id) const {
    wq_done_job job = WQ_DONE_JOB_INIT;
    detail::Owned<wq_list, wq_list_free> list;
    return detail::value_of<DoneJob>(detail::on_queue(handle_,
                                                      [&](wq_queue* raw, wq_error* err) {
                                                        return wq_history_get(raw, id, &job,
                                                                              list.out(), err);
                                                      }),
                                     [&] { return detail::done_job(job); });
  }
  // Newest first; `cursor` 0 begins. A page may be empty though there are more.
  Result<DonePage> history_list(std::uint64_t cursor = 0, std::size_t limit = 100) const {
    std::vector<wq_done_job> jobs(std::min<std::size_t>(limit, 1001), wq_done_job WQ_DONE_JOB_INIT);
    detail::Owned<wq_list, wq_list_free> list;
    std::size_t count = 0;
    DonePage page{{}, cursor};
    return detail::value_of<DonePage>(
        detail::on_queue(handle_,
                         [&](wq_queue* raw, wq_error* err) {
                           return wq_history_list(raw, &page.cursor, jobs.data(), limit,
                                                  sizeof(wq_done_job), &count, list.out(), err);
                         }),
        [&] {
          for (std::size_t i = 0; i < count; i++) page.jobs.push_back(detail::done_job(jobs[i]));
          return page;
        });
  }

  // ---- schedules
  // Makes or replaces the schedule of that name; see wq_cron_put for expressions.
  Result<Outcome> cron_put(Bytes name, const CronSpec& spec, const Call& call = {}) const {
    detail::SpecArray specs;
    const wq_job_spec job = specs.make(spec.payload, spec.job);
    wq_cron_spec cron = WQ_CRON_SPEC_INIT;
    cron.expression = Bytes(spec.expression).raw();
    cron.zone = Bytes(spec.zone).raw();
    cron.job = &job;
    if (spec.catch_up) cron.flags |= WQ_CRON_CATCH_UP;
    cron.catch_up = spec.catch_up.value_or(0);
    return detail::change_queue(handle_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_cron_put(raw, name.data(), name.size(), &cron, c, err);
    });
  }

 private:
  detail::QueuePtr handle_;
};

}  // namespace hpp1
}  // namespace wq
