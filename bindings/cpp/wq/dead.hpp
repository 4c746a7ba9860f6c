// wq/dead.hpp: the dead letters of a queue. An entry is named by the job's id and its last
// generation; of two replays of one entry exactly one wins, the other gets Outcome::stale.
// Thread model: any thread.
#pragma once

#include "job.hpp"

namespace wq {
inline namespace hpp1 {

struct DeadQuery {
  bool oldest_first = false;
  std::uint64_t cursor = 0;  // 0: from the start; else what the page before gave
  std::uint32_t limit = 0;   // 0: 100
  std::uint32_t reason = 0;  // WQ_DEAD_...; 0: any
  std::optional<Time> from = {};
  std::optional<Time> until = {};
  Bytes error_part = {};
};

struct DeadPage {
  Batch jobs;
  std::uint64_t cursor = 0;  // for the next page; 0: that was the last
};

// Which letters a bulk change is about: some condition, or entries, or `all`.
struct DeadFilter {
  bool all = false;
  bool dry_run = false;
  std::uint32_t reason = 0;
  std::optional<Time> from = {};
  std::optional<Time> until = {};
  Bytes error_part = {};
  std::span<const Token> entries = {};
  std::uint64_t limit = 0;  // at most so many, the oldest first; 0: no limit
  std::optional<Cancel> cancel = {};
  // Called before each step with how many were changed and looked at; false stops the work. Must not
  // throw; may use the store.
  bool (*progress)(std::uint64_t changed, std::uint64_t examined, void* context) = nullptr;
  void* context = nullptr;
};

// What a bulk change did, whatever it answers.
struct DeadReport {
  Result<Outcome> result = Outcome::ok;
  std::uint64_t changed = 0;
  std::uint64_t examined = 0;
  Millis elapsed{};
};

class DeadLetters {
 public:
  explicit DeadLetters(detail::QueuePtr queue) : queue_(std::move(queue)) {}

  // Page by page; an empty page is the end.
  Result<DeadPage> list(const DeadQuery& query = {}) const {
    wq_dead_query want = WQ_DEAD_QUERY_INIT;
    if (query.oldest_first) want.flags |= WQ_DEAD_OLDEST_FIRST;
    want.cursor = query.cursor;
    want.limit = query.limit;
    want.reason = query.reason;
    want.from_ms = to_ms(query.from);
    want.until_ms = to_ms(query.until);
    want.error_part = query.error_part.raw();
    wq_batch* batch = nullptr;
    std::uint64_t next = 0;
    const Result<Outcome> outcome =
        detail::outcome_of(detail::on_queue(queue_, [&](wq_queue* raw, wq_error* err) {
          return wq_dead_list(raw, &want, &batch, &next, err);
        }));
    if (!outcome) return outcome.error();
    if (*outcome != Outcome::ok) return DeadPage{Batch(*outcome), 0};
    return DeadPage{Batch({queue_}, batch), next};
  }

  Result<Answer<Job>> get(Token entry) const {
    wq_batch* batch = nullptr;
    return detail::answer_of<Job>(
        detail::on_queue(queue_,
                         [&](wq_queue* raw, wq_error* err) {
                           return wq_dead_get(raw, entry.id, entry.generation, &batch, err);
                         }),
        [&] { return detail::only_job(queue_, batch); });
  }
  Result<Outcome> replay(Token entry, const Call& call = {}) const {
    return detail::change_queue(queue_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_dead_replay(raw, entry.id, entry.generation, c, err);
    });
  }
  Result<Outcome> remove(Token entry, const Call& call = {}) const {
    return detail::change_queue(queue_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
      return wq_dead_remove(raw, entry.id, entry.generation, c, err);
    });
  }
  DeadReport replay_many(const DeadFilter& filter, const Call& call = {}) const {
    return many(wq_dead_replay_many, filter, call);
  }
  DeadReport remove_many(const DeadFilter& filter, const Call& call = {}) const {
    return many(wq_dead_remove_many, filter, call);
  }
  // All of them, in one change; how many there were.
  Result<std::uint64_t> purge(const Call& call = {}) const {
    std::uint64_t removed = 0;
    const Result<Outcome> outcome =
        detail::change_queue(queue_, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
          return wq_dead_purge(raw, &removed, c, err);
        });
    if (!outcome) return outcome.error();
    return removed;
  }

 private:
  template <typename F>
  DeadReport many(F change, const DeadFilter& filter, const Call& call) const {
    wq_dead_filter want = WQ_DEAD_FILTER_INIT;
    if (filter.all) want.flags |= WQ_DEAD_ALL;
    if (filter.dry_run) want.flags |= WQ_DEAD_DRY_RUN;
    want.reason = filter.reason;
    want.from_ms = to_ms(filter.from);
    want.until_ms = to_ms(filter.until);
    want.error_part = filter.error_part.raw();
    want.entries = filter.entries.data();
    want.entries_count = filter.entries.size();
    want.limit = filter.limit;
    want.cancel = filter.cancel ? filter.cancel->get() : nullptr;
    if (filter.progress) {
      want.progress_ctx = const_cast<DeadFilter*>(&filter);
      want.progress = [](std::uint64_t changed, std::uint64_t examined,
                         void* context) -> std::int32_t {
        const auto* how = static_cast<const DeadFilter*>(context);
        return how->progress(changed, examined, how->context) ? 0 : 1;
      };
    }
    wq_dead_report raw_report = WQ_DEAD_REPORT_INIT;
    DeadReport report;
    report.result = detail::change_queue(queue_, call, [&](wq_queue* raw, wq_call* c, wq_error* e) {
      return change(raw, &want, c, &raw_report, e);
    });
    report.changed = raw_report.changed;
    report.examined = raw_report.examined;
    report.elapsed = Millis(raw_report.elapsed_ms);
    return report;
  }

  detail::QueuePtr queue_;
};

}  // namespace hpp1
}  // namespace wq
