// Metrics: the figures of a store and its queues as text in the format of Prometheus (version
// 0.0.4). One label, queue, and nothing that a user of the store writes besides: no ids, no keys,
// no texts. docs/METRICS.md explains each metric; a test compares the two.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

struct NamedQueue {
  std::string label;  // {queue="name"}
  QueueStats stats;
};

std::string label_of(const std::string& name) {
  std::string out = "queue=\"";
  for (const char c : name) {
    if (WQ_PLANTED(label_unescaped)) {
      out += c;
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  constexpr double exact_max = 9007199254740992;  // 2^53
  if (value >= 0 && value < exact_max && value == std::floor(value)) {
    return std::to_string(static_cast<uint64_t>(value));
  }
  char digits[64];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return std::string(digits, end);
}

std::string number(uint64_t value) {
  return std::to_string(value);
}

double seconds(int64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

// A range of bounds 2^first, 2^(first + 2), ... in units of which there are `per_second`.
struct Scale {
  unsigned first = 0;
  unsigned last = 0;
  double per_second = 1;
};

class MetricsText {
 public:
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
  }
  template <typename T>
  void sample(const std::string& labels, T value, const char* suffix = "") {
    text_ += name_;
    text_ += suffix;
    if (!labels.empty()) text_ += '{' + labels + '}';
    text_ += ' ';
    text_ += number(value);
    text_ += '\n';
  }
  // One metric of the store.
  template <typename T>
  void one(const char* name, const char* type, const char* help, T value) {
    family(name, type, help);
    sample("", value);
  }
  void histogram(const std::string& labels, const Histogram& histogram, const Scale& scale) {
    for (unsigned k = scale.first; k <= scale.last; k += 2) {
      const double bound = static_cast<double>(uint64_t{1} << k) / scale.per_second;
      bucket(labels, number(bound), histogram.count_up_to(k));
    }
    bucket(labels, "+Inf", histogram.count());
    sample(labels, static_cast<double>(histogram.sum()) / scale.per_second, "_sum");
    sample(labels, histogram.count(), "_count");
  }
  void attempts(const std::string& labels, const AttemptCounts& counts) {
    uint64_t total = 0;
    for (size_t i = 0; i < std::size(AttemptCounts::bounds); ++i) {
      total += counts.up_to[i];
      bucket(labels, std::to_string(AttemptCounts::bounds[i]), total);
    }
    total += counts.up_to[std::size(AttemptCounts::bounds)];
    bucket(labels, "+Inf", total);
    sample(labels, counts.sum, "_sum");
    sample(labels, total, "_count");
  }
  std::string take() { return std::move(text_); }

 private:
  void bucket(const std::string& labels, const std::string& bound, uint64_t count) {
    sample(labels + (labels.empty() ? "" : ",") + "le=\"" + bound + '"', count, "_bucket");
  }

  const char* name_ = "";
  std::string text_;
};

// One metric of each queue.
struct QueueMetric {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const QueueStats& stats);
};

constexpr uint64_t count_of(const QueueStats& stats, JobState state) {
  return stats.counts[static_cast<size_t>(state)];
}

#define WQ_COUNT(state) [](const QueueStats& s) { return double(count_of(s, JobState::state)); }
#define WQ_TOTAL(field) [](const QueueStats& s) { return double(s.totals.field); }
#define WQ_RATE(kind, window) [](const QueueStats& s) { return s.rates.kind.per_s_##window; }

constexpr QueueMetric queue_metrics[] = {
    {"wq_queue_status", "gauge", "0 active, 1 paused, 2 disabled.",
     [](const QueueStats& s) { return double(static_cast<int>(s.status)); }},
    {"wq_queue_jobs_ready", "gauge", "Jobs that wait for a lease.", WQ_COUNT(ready)},
    {"wq_queue_jobs_delayed", "gauge", "Jobs that wait for their time.", WQ_COUNT(delayed)},
    {"wq_queue_jobs_leased", "gauge", "Jobs that a worker holds by a lease.", WQ_COUNT(leased)},
    {"wq_queue_jobs_running", "gauge", "Jobs whose worker has confirmed them.", WQ_COUNT(running)},
    {"wq_queue_jobs_dead", "gauge", "Dead letters.", WQ_COUNT(dead)},
    {"wq_queue_slots_max", "gauge", "Bound of leased and running jobs; 0 is none.",
     [](const QueueStats& s) { return double(s.max_running); }},
    {"wq_queue_jobs_parked", "gauge", "Ready jobs that wait for their group or rate key.",
     [](const QueueStats& s) { return double(s.parked); }},
    {"wq_queue_rate_wait_seconds", "gauge", "Until the rate lets the next job begin.",
     [](const QueueStats& s) { return seconds(s.rate_wait_ms); }},
    {"wq_queue_consumers_waiting", "gauge", "Calls that wait for a job of the queue.",
     [](const QueueStats& s) { return double(s.consumers); }},
    {"wq_queue_oldest_ready_age_seconds", "gauge", "How long the oldest ready job has been ready.",
     [](const QueueStats& s) { return seconds(s.oldest_ready_age_ms); }},
    {"wq_queue_oldest_held_age_seconds", "gauge",
     "How long the longest held job has been leased, or running.",
     [](const QueueStats& s) { return seconds(s.oldest_held_age_ms); }},
    {"wq_queue_enqueued_total", "counter", "Jobs enqueued.", WQ_TOTAL(enqueued)},
    {"wq_queue_leased_total", "counter", "Leases handed out.", WQ_TOTAL(leased)},
    {"wq_queue_acked_total", "counter", "Jobs that succeeded.", WQ_TOTAL(acked)},
    {"wq_queue_nacked_total", "counter", "Attempts that failed.", WQ_TOTAL(nacked)},
    {"wq_queue_failed_total", "counter", "Jobs that a worker failed for good.", WQ_TOTAL(failed)},
    {"wq_queue_released_total", "counter", "Leases given back before the start.",
     WQ_TOTAL(released)},
    {"wq_queue_expired_total", "counter", "Leases taken back after their deadline.",
     WQ_TOTAL(expired)},
    {"wq_queue_dead_total", "counter", "Jobs that became dead letters.", WQ_TOTAL(dead)},
    {"wq_queue_replayed_total", "counter", "Dead letters made ready again.", WQ_TOTAL(replayed)},
    {"wq_queue_cancelled_total", "counter", "Jobs cancelled.", WQ_TOTAL(cancelled)},
    {"wq_queue_cleared_total", "counter", "Jobs removed by clear, and dead letters removed.",
     WQ_TOTAL(cleared)},
    {"wq_queue_jobs_expired_total", "counter",
     "Jobs that ended because they did not start in time.", WQ_TOTAL(jobs_expired)},
    {"wq_queue_dropped_total", "counter", "Ready jobs that went for newer ones in a full queue.",
     WQ_TOTAL(dropped)},
    {"wq_queue_dead_dropped_total", "counter", "Dead letters over the caps of the queue.",
     WQ_TOTAL(dead_dropped)},
    {"wq_queue_chain_cut_total", "counter",
     "Jobs of chains that never came to be, since one before them ended.", WQ_TOTAL(chain_cut)},
    {"wq_queue_skipped_total", "counter", "Jobs that ended because their group was full.",
     WQ_TOTAL(skipped)},
    {"wq_queue_enqueue_rate_1m", "gauge", "Jobs enqueued per second, over about a minute.",
     WQ_RATE(enqueued, 1m)},
    {"wq_queue_enqueue_rate_5m", "gauge", "Jobs enqueued per second, over about 5 minutes.",
     WQ_RATE(enqueued, 5m)},
    {"wq_queue_lease_rate_1m", "gauge", "Leases per second, over about a minute.",
     WQ_RATE(leased, 1m)},
    {"wq_queue_lease_rate_5m", "gauge", "Leases per second, over about 5 minutes.",
     WQ_RATE(leased, 5m)},
    {"wq_queue_ack_rate_1m", "gauge", "Acks per second, over about a minute.", WQ_RATE(acked, 1m)},
    {"wq_queue_ack_rate_5m", "gauge", "Acks per second, over about 5 minutes.", WQ_RATE(acked, 5m)},
};

#undef WQ_COUNT
#undef WQ_TOTAL
#undef WQ_RATE

void tell_queues(const std::vector<NamedQueue>& queues, MetricsText& text) {
  if (queues.empty()) return;
  for (const QueueMetric& metric : queue_metrics) {
    text.family(metric.name, metric.type, metric.help);
    for (const NamedQueue& queue : queues) text.sample(queue.label, metric.value(queue.stats));
  }
  // Ready -> leased, 1 ms to 12 days.
  text.family("wq_queue_lease_wait_seconds", "histogram",
              "How long jobs were ready before their lease, since open.");
  for (const NamedQueue& queue : queues) {
    if (queue.stats.lease_wait_ms.count() == 0) continue;
    text.histogram(queue.label, queue.stats.lease_wait_ms, Scale{0, 28, 1e3});
  }
  text.family("wq_queue_job_attempts", "histogram",
              "Attempts that jobs had when they succeeded or died, since open.");
  for (const NamedQueue& queue : queues) {
    const auto& counts = queue.stats.attempts.up_to;
    if (std::all_of(std::begin(counts), std::end(counts), [](uint64_t n) { return n == 0; })) {
      continue;
    }
    text.attempts(queue.label, queue.stats.attempts);
  }
}

void tell_memory(const EngineStats& s, MetricsText& text) {
  const double status = s.poisoned ? 3 : s.draining ? 2 : 1;
  text.one("wq_store_status", "gauge", "1 open, 2 shutting down, 3 stopped by a failure.", status);
  text.one("wq_store_queues", "gauge", "Queues.", s.queues);
  text.one("wq_store_resident_jobs", "gauge", "Jobs held in memory.", s.resident_jobs);
  text.one("wq_store_resident_bytes", "gauge", "What they take.", s.resident_bytes);
  text.one("wq_store_memory_budget_bytes", "gauge", "What they may take.", s.memory_budget_bytes);
  uint64_t loaded = 0;
  for (const uint64_t count : s.residency.loaded) loaded += count;
  text.one("wq_store_jobs_loaded_total", "counter", "Jobs read back from disk.", loaded);
  text.one("wq_store_jobs_evicted_total", "counter", "Jobs dropped from memory.",
           s.residency.evicted);
  text.one("wq_store_events_total", "counter", "Events kept in the ring, if it is on.", s.events);
}

void tell_log(const EngineStats& s, MetricsText& text) {
  text.one("wq_store_last_lsn", "gauge", "Newest change.", s.last_lsn);
  text.one("wq_store_process_lsn", "gauge", "Changes up to here survive kill -9.", s.process_lsn);
  text.one("wq_store_durable_lsn", "gauge", "Changes up to here survive power loss.",
           s.durable_lsn);
  text.one("wq_store_applied_lsn", "gauge", "Changes up to here are in the checkpoint.",
           s.applied_lsn);
  text.one("wq_store_log_records_total", "counter", "Records appended to the log.",
           s.log.appended_records);
  text.one("wq_store_log_appended_bytes_total", "counter", "Bytes of these records.",
           s.log.appended_bytes);
  text.one("wq_store_log_written_bytes_total", "counter",
           "Bytes handed to the device, padding included.", s.log.written_bytes);
  text.one("wq_store_log_live_bytes", "gauge", "Bytes of the log that no checkpoint covers.",
           s.log.live_bytes);
  text.one("wq_store_log_segments", "gauge", "Segments of the log in use.", s.log.segments_live);
  text.one("wq_store_log_segments_spare", "gauge", "Segments kept ready.", s.log.segments_spare);
  text.one("wq_store_log_writes_total", "counter", "Groups written without a barrier.",
           s.log.writes);
  // 16 us to 16 s.
  constexpr Scale latency{4, 24, 1e6};
  text.family("wq_store_flush_seconds", "histogram", "Groups written with a barrier.");
  text.histogram("", s.log.flush_us, latency);
  text.family("wq_store_commit_seconds", "histogram",
              "How long calls waited until their change was as durable as asked for.");
  text.histogram("", s.log.commit_us, latency);
}

void tell_waits(const EngineStats& s, MetricsText& text) {
  text.one("wq_store_consumers_waiting", "gauge", "Calls that wait for a job.", s.waiting);
  text.one("wq_store_followers_waiting", "gauge", "Calls that wait for an event.", s.followers);
  text.one("wq_store_waits_for_job_total", "counter", "Leases that had to wait for a job.",
           s.waits.for_job);
  text.one("wq_store_waits_for_job_seconds_total", "counter", "How long they did.",
           seconds(s.waits.for_job_ms));
  text.one("wq_store_waits_for_memory_total", "counter",
           "Enqueues that waited because memory was full.", s.waits.for_memory);
  text.one("wq_store_waits_for_memory_seconds_total", "counter", "How long they did.",
           seconds(s.waits.for_memory_ms));
  text.one("wq_store_waits_for_log_total", "counter",
           "Enqueues that waited because the log's buffer was full.", s.log.room_waits);
}

void tell_checkpoints(const EngineStats& s, MetricsText& text) {
  text.one("wq_store_checkpoints_total", "counter", "Checkpoints.", s.checkpoints);
  text.one("wq_store_checkpoint_last_seconds", "gauge", "How long the last one took.",
           static_cast<double>(s.checkpoint_us_last) / 1e6);
  text.one("wq_store_checkpoint_max_seconds", "gauge", "How long the longest one took.",
           static_cast<double>(s.checkpoint_us_max) / 1e6);
  text.one("wq_store_table_files", "gauge", "Files of the settled state.", s.store.files);
  text.one("wq_store_table_bytes", "gauge", "And their size.", s.store.file_bytes);
  text.one("wq_store_table_memory_bytes", "gauge", "Memory of their cache and buffers.",
           s.store.memory_bytes);
}

}  // namespace

// Each queue as of a moment of its own: with very many of them the others must not wait.
Result<std::string> Engine::metrics_text() {
  WQ_ENTER();
  std::vector<std::pair<std::string, QueueId>> names;
  {
    MutexLock lock(mutex_);
    if (!state_.importing) {
      for (const auto& [name, queue] : state_.queues()) names.emplace_back(name, queue->id);
    }
  }
  std::vector<NamedQueue> queues;
  for (const auto& [name, id] : names) {
    Result<QueueStats> stats = queue_stats(id);
    if (stats.status().code() == Code::not_found) continue;  // deleted meanwhile
    if (!stats.ok()) return stats.take_status();
    queues.push_back(NamedQueue{label_of(name), std::move(stats).value()});
  }
  const EngineStats store = stats();
  MetricsText text;
  tell_memory(store, text);
  tell_log(store, text);
  tell_waits(store, text);
  tell_checkpoints(store, text);
  tell_queues(queues, text);
  return text.take();
}

}  // namespace wq
