#include "model/compare.h"

#include <algorithm>
#include <cstdlib>

#include "model/compare_flow.h"
#include "model/compare_gates.h"

namespace wq::model {
namespace {

int number(JobState state) {
  return static_cast<int>(state);
}

std::string where(const Queue& queue, const Job& job) {
  return "job " + std::to_string(job.id) + " of queue '" + queue.name + "': ";
}

// A text over the limit comes back cut, with a mark at its end.
bool same_error(const std::string& got, const std::string& expected) {
  if (expected.size() <= error_bytes_max) return got == expected;
  return got.size() <= error_bytes_max && got.size() + 16 > error_bytes_max &&
         got.compare(0, error_bytes_max - 16, expected, 0, error_bytes_max - 16) == 0;
}

std::string compare_body(const std::string& what, const JobView& view, const Job& job) {
  const Result<Envelope> envelope = decode_envelope(view.body.bytes());
  if (!envelope.ok()) return what + envelope.status().message();
  const Envelope& got = envelope.value();
  if (as_text(got.payload) != job.spec.payload) return what + "payload differs";
  WQ_SAME(what + "enqueued_ms", got.enqueued_ms, job.enqueued_ms);
  WQ_SAME_OR_SAY(compare_gate_traits(what, got.traits, job.spec.gate));
  WQ_SAME(what + "headers", got.headers.size(), job.spec.headers.size());
  for (size_t i = 0; i < got.headers.size(); ++i) {
    if (as_text(got.headers[i].name) != job.spec.headers[i].first ||
        as_text(got.headers[i].value) != job.spec.headers[i].second) {
      return what + "header " + std::to_string(i) + " differs";
    }
  }
  return {};
}

std::string compare_deadline(const std::string& what, const JobView& view, const Job& job,
                             Now now) {
  if (job.deadline_ms == 0) {
    WQ_SAME(what + "deadline_ms", view.deadline_ms, 0);
    return {};
  }
  const int64_t left_ms = job.expires_ms - now.run_ms;
  WQ_SAME(what + "remaining_ms", view.remaining_ms, std::max<int64_t>(0, left_ms));
  // Told as it was set, unless the wall clock was set meanwhile.
  constexpr int64_t clock_step_ms = 1000;
  const int64_t by_now_ms = now.wall_ms + left_ms;
  const bool stepped = std::abs(by_now_ms - job.deadline_ms) >= clock_step_ms;
  WQ_SAME(what + "deadline_ms", view.deadline_ms, stepped ? by_now_ms : job.deadline_ms);
  return {};
}

}  // namespace

std::string compare_view(const JobView& view, const Queue& queue, const Job& job, Now now) {
  const std::string what = where(queue, job);
  WQ_SAME(what + "id", view.id, job.id);
  WQ_SAME(what + "state", number(view.state), number(job.state));
  WQ_SAME(what + "generation", view.generation, job.generation);
  WQ_SAME(what + "reason", static_cast<int>(view.reason), static_cast<int>(job.reason));
  WQ_SAME(what + "priority", int{view.priority}, int{job.spec.priority});
  WQ_SAME(what + "attempts", view.attempts, job.attempts);
  WQ_SAME(what + "exceptions", view.exceptions, job.exceptions);
  WQ_SAME(what + "max_attempts", view.max_attempts, attempts_allowed(queue, job));
  WQ_SAME(what + "replays", view.replays, job.replays);
  WQ_SAME(what + "leased_ms", view.leased_ms, job.leased_ms);
  WQ_SAME(what + "due_ms", view.due_ms, job.due_ms);
  if (job.state != JobState::leased && job.state != JobState::running) {
    WQ_SAME(what + "since_ms", view.since_ms, job.since_ms);
  }
  if (!same_error(view.last_error, job.error)) return what + "last error differs";
  WQ_SAME_OR_SAY(compare_deadline(what, view, job, now));
  WQ_SAME_OR_SAY(compare_flow_view(what, view, job));
  return compare_body(what, view, job);
}

namespace {

std::string compare_config(const std::string& name, const QueueConfig& got,
                           const QueueConfig& expected) {
  const std::string what = "queue '" + name + "': ";
  WQ_SAME(what + "status", static_cast<int>(got.status), static_cast<int>(expected.status));
  WQ_SAME(what + "version", got.version, expected.version);
  if (got != expected) return what + "configuration differs";
  return {};
}

std::string compare_totals(const std::string& name, const QueueTotals& got,
                           const QueueTotals& expected) {
  const std::string what = "queue '" + name + "': total of ";
  WQ_SAME(what + "enqueued", got.enqueued, expected.enqueued);
  WQ_SAME(what + "leased", got.leased, expected.leased);
  WQ_SAME(what + "acked", got.acked, expected.acked);
  WQ_SAME(what + "nacked", got.nacked, expected.nacked);
  WQ_SAME(what + "failed", got.failed, expected.failed);
  WQ_SAME(what + "released", got.released, expected.released);
  WQ_SAME(what + "expired", got.expired, expected.expired);
  WQ_SAME(what + "dead", got.dead, expected.dead);
  WQ_SAME(what + "replayed", got.replayed, expected.replayed);
  WQ_SAME(what + "cancelled", got.cancelled, expected.cancelled);
  WQ_SAME(what + "cleared", got.cleared, expected.cleared);
  WQ_SAME(what + "jobs_expired", got.jobs_expired, expected.jobs_expired);
  WQ_SAME(what + "dropped", got.dropped, expected.dropped);
  WQ_SAME(what + "dead_dropped", got.dead_dropped, expected.dead_dropped);
  WQ_SAME(what + "chain_cut", got.chain_cut, expected.chain_cut);
  WQ_SAME(what + "skipped", got.skipped, expected.skipped);
  return {};
}

int64_t oldest_ready_age_ms(const Queue& queue, Now now) {
  int64_t age_ms = 0;
  for (const auto& [id, job] : queue.jobs) {
    if (job.state == JobState::ready) age_ms = std::max(age_ms, now.wall_ms - job.since_ms);
  }
  return age_ms;
}

std::string compare_queue(Engine& engine, QueueId id, Model& model, Now now,
                          const CompareOptions& options) {
  const Queue& queue = model.queues.at(id);
  const std::string what = "queue '" + queue.name + "': ";
  const Result<QueueConfig> config = engine.config(id);
  if (!config.ok()) return what + config.status().message();
  WQ_SAME_OR_SAY(compare_config(queue.name, config.value(), queue.config));
  uint64_t bytes[job_state_count] = {};
  // Jobs first: reading the statistics brings the head of the queue into memory.
  for (const auto& [job_id, job] : queue.jobs) {
    const Result<JobView> view = engine.get(id, job_id);
    if (!view.ok()) return where(queue, job) + view.status().message();
    WQ_SAME_OR_SAY(compare_stop(where(queue, job), view.value(), model, job));
    WQ_SAME(what + "queue_name", view.value().queue_name, queue.name);
    WQ_SAME_OR_SAY(compare_view(view.value(), queue, job, now));
    bytes[number(job.state)] += view.value().body.size();
  }
  const Result<QueueStats> stats = engine.queue_stats(id);
  if (!stats.ok()) return what + stats.status().message();
  for (size_t i = 1; i < job_state_count; ++i) {
    WQ_SAME(what + "jobs in state " + std::to_string(i), stats.value().counts[i],
            queue.count(static_cast<JobState>(i)));
    WQ_SAME(what + "bytes in state " + std::to_string(i), stats.value().bytes[i], bytes[i]);
  }
  WQ_SAME_OR_SAY(compare_totals(queue.name, stats.value().totals, queue.totals));
  WQ_SAME_OR_SAY(compare_gate_stats(stats.value(), queue, now));
  if (options.ages) {
    WQ_SAME(what + "oldest_ready_age_ms", stats.value().oldest_ready_age_ms,
            oldest_ready_age_ms(queue, now));
  }
  DeadQuery all;
  all.oldest_first = true;
  all.limit = 7;
  return compare_dead(engine, id, model, now, all);
}

}  // namespace

std::vector<JobId> dead_by(const Queue& queue, const DeadQuery& query) {
  std::vector<JobId> wanted = queue.dead;
  std::erase_if(wanted, [&](JobId job_id) {
    const Job& job = queue.jobs.at(job_id);
    return (query.reason != DeadReason::none && job.reason != query.reason) ||
           (query.from_ms != 0 && job.since_ms < query.from_ms) ||
           (query.until_ms != 0 && job.since_ms >= query.until_ms);
  });
  return wanted;
}

std::string compare_dead(Engine& engine, QueueId id, Model& model, Now now, DeadQuery query) {
  const Queue& queue = model.queues.at(id);
  const std::string what = "dead letters of '" + queue.name + "': ";
  std::vector<JobId> expected = dead_by(queue, query);
  if (!query.oldest_first) std::reverse(expected.begin(), expected.end());
  size_t listed = 0;
  for (;;) {
    const Result<DeadPage> page = engine.dead_list(id, query);
    if (!page.ok()) return what + page.status().message();
    if (page.value().jobs.size() > query.limit) return what + "a page is over its limit";
    for (const JobView& view : page.value().jobs) {
      if (listed == expected.size()) return what + "too many are listed";
      WQ_SAME(what + "entry " + std::to_string(listed), view.id, expected[listed]);
      WQ_SAME_OR_SAY(compare_view(view, queue, queue.jobs.at(view.id), now));
      ++listed;
    }
    // Entries that are gone may leave a page short or empty, but each page comes further.
    const uint64_t next = page.value().next_cursor;
    if (next == 0) break;
    const bool further =
        query.cursor == 0 || (query.oldest_first ? next > query.cursor : next < query.cursor);
    if (!further) return what + "the pages do not end";
    query.cursor = next;
  }
  WQ_SAME(what + "listed", listed, expected.size());
  return {};
}

std::string compare_state(Engine& engine, Model& model, Now now, const CompareOptions& options) {
  const Result<std::vector<std::string>> names = engine.queue_names();
  if (!names.ok()) return names.status().message();
  WQ_SAME("queues", names.value().size(), model.queues.size());
  for (auto& [id, queue] : model.queues) {
    CallOptions call;
    const Result<QueueId> opened = engine.open_queue(queue.name, {}, 0, false, call);
    if (!opened.ok()) return "queue '" + queue.name + "': " + opened.status().message();
    WQ_SAME("queue '" + queue.name + "': id", opened.value(), id);
    WQ_SAME_OR_SAY(compare_queue(engine, id, model, now, options));
  }
  return compare_flows(engine, model, now);
}

std::string compare_by_draining(Engine& engine, Model& model, Now now, size_t leases_max) {
  constexpr uint32_t batch = 13;
  size_t leases = model.expired(INT64_MAX).size();
  for (auto& [id, queue] : model.queues) {
    if (queue.gates.used) {
      WQ_SAME_OR_SAY(drain_gates(engine, model, id, now));
      continue;
    }
    while (leases + batch <= leases_max) {
      const std::vector<Pick> picks = model.pick({id}, batch, now);
      LeaseRequest request;
      request.queues = std::span(&id, 1);
      request.max_jobs = batch;
      CallOptions call;
      std::vector<JobView> jobs;
      const Status status = engine.lease(request, call, jobs);
      if (status.is_error()) return "drain of '" + queue.name + "': " + status.message();
      if (jobs.size() > picks.size() || (jobs.empty() && !picks.empty())) {
        return differ("drain of '" + queue.name + "': jobs", jobs.size(), picks.size());
      }
      if (jobs.empty()) break;
      leases += jobs.size();
      for (size_t i = 0; i < jobs.size(); ++i) {
        WQ_SAME("drain of '" + queue.name + "': next job", jobs[i].id, picks[i].id);
        const int64_t lease_ms = lease_length_ms(queue, queue.jobs.at(jobs[i].id));
        model.lease(id, jobs[i].id, jobs[i].generation, lease_ms, now);
        WQ_SAME_OR_SAY(compare_view(jobs[i], queue, queue.jobs.at(jobs[i].id), now));
      }
    }
  }
  due_work(engine, model, now).apply(model, now);  // jobs that did not start in time
  return {};
}

}  // namespace wq::model
