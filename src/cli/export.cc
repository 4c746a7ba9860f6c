// wq export: the whole store, or one queue, as JSON lines that wq import takes. The form is in
// docs/CLI.md and lossless: bytes that are not UTF-8 are told in base64.
#include <iterator>
#include <optional>

#include "cli/commands.h"
#include "cli/export_rows.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/job_view.h"
#include "cli/progress.h"
#include "cli/queue_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr const char* state_names[] = {"", "ready", "delayed", "leased", "running", "dead"};
constexpr const char* backoff_names[] = {"none", "fixed", "exponential", "list"};
constexpr const char* key_rule_names[] = {"", "until_started", "until_done", "until_gone",
                                          "debounce"};

template <size_t n>
const char* name_in(const char* const (&names)[n], uint32_t number) {
  return number < n ? names[number] : "unknown";
}

Record backoff_record(uint32_t kind, int64_t base_ms, int64_t max_ms, const int64_t* list_ms,
                      uint32_t count, uint32_t jitter_permille) {
  Record record;
  record.add("kind", name_in(backoff_names, kind));
  if (kind == WQ_BACKOFF_FIXED || kind == WQ_BACKOFF_EXPONENTIAL) record.add("base_ms", base_ms);
  if (kind == WQ_BACKOFF_EXPONENTIAL) record.add("max_ms", max_ms);
  if (kind == WQ_BACKOFF_LIST) {
    List list;
    for (uint32_t i = 0; i < count; ++i) list.emplace_back(list_ms[i]);
    record.add("list_ms", std::move(list));
  }
  if (jitter_permille != 0) record.add("jitter_permille", jitter_permille);
  return record;
}

Record store_record(const wq_store_record& store) {
  Record record;
  record.add("wq_export", 1)
      .add("lsn", store.lsn)
      .add("next_job_id", store.next_job_id)
      .add("next_generation", store.next_generation)
      .add("queues", store.queues)
      .add("jobs", store.jobs)
      .add("kv_rows", store.kv_rows)
      .add("batches", store.flows)
      .add("rows", store.rows);
  return record;
}

List headers_list(const wq_header* headers, size_t count) {
  List list;
  for (size_t i = 0; i < count; ++i) {
    Record header;
    header.add_bytes("name", view_of(headers[i].name));
    header.add_bytes("value", view_of(headers[i].value));
    list.emplace_back(std::move(header));
  }
  return list;
}

}  // namespace

Record cron_record(const wq_cron& cron, std::string_view zone) {
  Record record;
  record.add("schedule", view_of(cron.name))
      .add("expression", view_of(cron.expression))
      .add("zone", zone)
      .add("catch_up", cron.catch_up)
      .add("paused", (cron.flags & WQ_CRON_PAUSED) != 0)
      .add("next_due_ms", cron.next_due_ms)
      .add("last_slot_ms", cron.last_slot_ms)
      .add("created_ms", cron.created_ms)
      .add("fired", cron.fired)
      .add("missed", cron.missed)
      .add("priority", cron.priority)
      .add("max_attempts", cron.max_attempts);
  if (cron.backoff_kind != 0) {
    record.add("backoff", backoff_record(cron.backoff_kind, cron.backoff_base_ms,
                                         cron.backoff_max_ms, cron.backoff_list_ms,
                                         cron.backoff_count, cron.backoff_jitter_permille));
  }
  if (cron.headers_count > 0) {
    record.add("headers", headers_list(cron.headers, cron.headers_count));
  }
  if (cron.flags & WQ_JOB_ENCRYPT) record.add("encrypt", true);
  if (cron.packing != 0) record.add("packing", cron.packing).add("plain_bytes", cron.plain_bytes);
  return record.add_bytes("payload", view_of(cron.payload));
}

namespace {

void add_gates(Record& settings, const wq_queue_record& queue) {
  const wq_queue_config& config = *queue.config;
  settings.add("group_limit", config.group_limit);
  if (config.rate_count != 0) {
    Record rate;
    rate.add("count", config.rate_count)
        .add("window_ms", config.rate_window_ms)
        .add("burst", config.rate_burst)
        .add("used_ns", queue.rate_used_ns);
    settings.add("rate", std::move(rate));
  }
  if (config.key_rate_count != 0) {
    Record rate;
    rate.add("count", config.key_rate_count)
        .add("window_ms", config.key_rate_window_ms)
        .add("burst", config.key_rate_burst);
    settings.add("key_rate", std::move(rate));
  }
  if (config.throttle_count != 0) {
    Record throttle;
    throttle.add("count", config.throttle_count)
        .add("window_ms", config.throttle_window_ms)
        .add("cool_ms", config.throttle_cool_ms);
    settings.add("throttle", std::move(throttle));
  }
}

Record queue_record(const wq_queue_record& queue) {
  const wq_queue_config& config = *queue.config;
  const wq_queue_stats& stats = *queue.stats;
  Record record, settings, totals;
  settings.add("status", status_name(config.status))
      .add("max_running", config.max_running)
      .add("max_retries", config.max_retries)
      .add("lease_ms", config.lease_ms)
      .add("durability", durability_name(config.durability))
      .add("backoff", backoff_record(config.backoff_kind, config.backoff_base_ms,
                                     config.backoff_max_ms, config.backoff_list_ms,
                                     config.backoff_count, config.backoff_jitter_permille))
      .add("job_ttl_ms", config.job_ttl_ms)
      .add("version", config.version)
      .add("consumers_paused", config.consumers_paused != 0)
      .add("max_depth", config.max_depth)
      .add("max_bytes", config.max_bytes)
      .add("full_policy", full_policy_name(config.full_policy))
      .add("dead_max_count", config.dead_max_count)
      .add("dead_max_age_ms", config.dead_max_age_ms)
      .add("encrypt", config.encrypt != 0)
      .add("compress_min_bytes", config.compress_min_bytes);
  add_gates(settings, queue);
  if (config.keep_done_count != 0) settings.add("keep_done_count", config.keep_done_count);
  if (config.keep_done_age_ms != 0) settings.add("keep_done_age_ms", config.keep_done_age_ms);
  totals.add("enqueued", stats.enqueued_total)
      .add("leased", stats.leased_total)
      .add("acked", stats.acked_total)
      .add("nacked", stats.nacked_total)
      .add("failed", stats.failed_total)
      .add("released", stats.released_total)
      .add("expired", stats.expired_total)
      .add("dead", stats.dead_total)
      .add("replayed", stats.replayed_total)
      .add("cancelled", stats.cancelled_total)
      .add("cleared", stats.cleared_total)
      .add("jobs_expired", stats.jobs_expired_total)
      .add("dropped", stats.dropped_total)
      .add("dead_dropped", stats.dead_dropped_total)
      .add("chain_cut", stats.chain_cut_total)
      .add("skipped", stats.skipped_total);
  record.add("queue", view_of(queue.name))
      .add("created_ms", queue.created_ms)
      .add("config", std::move(settings))
      .add("totals", std::move(totals));
  if (queue.schedules_count > 0) {
    List schedules;
    for (size_t i = 0; i < queue.schedules_count; ++i) {
      const wq_cron& cron = queue.schedules[i];
      schedules.emplace_back(cron_record(cron, view_of(cron.zone)));
    }
    record.add("schedules", std::move(schedules));
  }
  return record;
}

Record job_record(const wq_job_record& job) {
  Record record;
  record.add("job", job.id)
      .add("queue", view_of(job.queue_name))
      .add("state", name_in(state_names, job.state))
      .add("generation", job.generation)
      .add("priority", job.priority)
      .add("attempts", job.attempts)
      .add("exceptions", job.exceptions)
      .add("failures", job.failures)
      .add("max_attempts", job.max_attempts)
      .add("replays", job.replays)
      .add("enqueued_ms", job.enqueued_ms)
      .add("since_ms", job.since_ms)
      .add("leased_ms", job.leased_ms)
      .add("first_dead_ms", job.first_dead_ms);
  if (job.state == WQ_STATE_DELAYED) record.add("due_ms", job.due_ms);
  if (job.state == WQ_STATE_DEAD) record.add("dead_reason", name_in(dead_reasons, job.dead_reason));
  if (job.backoff_kind != 0) {
    record.add("backoff",
               backoff_record(job.backoff_kind, job.backoff_base_ms, job.backoff_max_ms,
                              job.backoff_list_ms, job.backoff_count, job.backoff_jitter_permille));
  }
  if (job.timeout_ms != 0) record.add("timeout_ms", job.timeout_ms);
  if (job.flags & WQ_JOB_FAIL_ON_TIMEOUT) record.add("fail_on_timeout", true);
  if (job.flags & WQ_JOB_ENCRYPT) record.add("encrypt", true);
  if (job.packing != 0) record.add("packing", job.packing).add("plain_bytes", job.plain_bytes);
  if (job.retry_until_ms != 0) record.add("retry_until_ms", job.retry_until_ms);
  if (job.max_exceptions != 0) record.add("max_exceptions", job.max_exceptions);
  if (job.expires_at_ms != 0) record.add("expires_at_ms", job.expires_at_ms);
  if (job.progress.len > 0) record.add_bytes("progress", view_of(job.progress));
  if (job.key_rule != 0) {
    Record key;
    key.add_bytes("key", view_of(job.key))
        .add("rule", name_in(key_rule_names, job.key_rule))
        .add("time_ms", job.key_ms)
        .add("until_ms", job.key_until_ms);
    record.add("key", std::move(key));
  }
  if (job.idempotency_key.len > 0) {
    Record key;
    key.add_bytes("key", view_of(job.idempotency_key)).add("window_ms", job.idempotency_ms);
    record.add("idempotency", std::move(key));
  }
  if (job.group.len > 0) {
    record.add_bytes("group", view_of(job.group));
    if (job.group_limit != 0) record.add("group_limit", job.group_limit);
  }
  if (job.overlap != WQ_OVERLAP_PARK) record.add("overlap", overlap_names[job.overlap]);
  if (job.overlap_ms != 0) record.add("overlap_ms", job.overlap_ms);
  if (job.tenant.len > 0) record.add_bytes("tenant", view_of(job.tenant));
  if (job.rate_key.len > 0) {
    record.add_bytes("rate_key", view_of(job.rate_key)).add("rate_cost", job.rate_cost);
  }
  if (job.last_error.len > 0) record.add_bytes("last_error", view_of(job.last_error));
  if (job.headers_count > 0) {
    record.add("headers", headers_list(job.headers, job.headers_count));
  }
  if (job.flow != 0) record.add("batch", job.flow);
  if (job.chain.len > 0) record.add("chain_base64", base64_encode(view_of(job.chain)));
  record.add_bytes("payload", view_of(job.payload));
  return record;
}

struct Export {
  Output* out;
  Progress* progress;
  uint64_t jobs = 0;
  std::optional<Failure> failure;  // an exception must not pass through wq.h
};

Record kv_record(const wq_kv_record& row) {
  Record record;
  record.add_bytes("kv", view_of(row.key))
      .add_bytes("value", view_of(row.value))
      .add("expires_ms", row.expires_ms);
  return record;
}

int32_t tell_item(const wq_export_item* item, void* ctx) {
  auto* const state = static_cast<Export*>(ctx);
  try {
    if (item->store != nullptr) {
      state->progress->set_total(item->store->jobs);
      state->out->line(to_json(store_record(*item->store)));
    } else if (item->queue != nullptr) {
      state->out->line(to_json(queue_record(*item->queue)));
    } else if (item->kv != nullptr) {
      state->out->line(to_json(kv_record(*item->kv)));
    } else if (item->job != nullptr) {
      state->out->line(to_json(job_record(*item->job)));
      state->progress->update(++state->jobs);
    } else if (Record record; row_record(*item, record)) {
      state->out->line(to_json(record));
    }
  } catch (const Failure& failure) {
    state->failure = failure;
    return 1;
  }
  return 0;
}

}  // namespace

int run_export(Context& context, const ExportOptions& options) {
  const Store store = context.open_store();
  uint64_t jobs = 0;
  {
    Progress progress(context.out(), "exporting", 0);
    Export state{&context.out(), &progress, 0, std::nullopt};
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_store_export(store.get(), options.queue.data(), options.queue.size(),
                                         tell_item, &state, &err);
    if (state.failure) throw Failure(*state.failure);
    check(code, err);
    jobs = state.jobs;
  }
  context.out().note(plural(jobs, "job") + " exported");
  return exit_ok;
}

}  // namespace wq::cli
