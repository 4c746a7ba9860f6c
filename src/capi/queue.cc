// Queues: open and close handles, configure, status, clear, delete, figures.
#include "capi/capi_internal.h"

namespace wq {
namespace {

constexpr uint32_t config_bits =
    WQ_CONFIG_MAX_RUNNING | WQ_CONFIG_MAX_RETRIES | WQ_CONFIG_LEASE_MS | WQ_CONFIG_DURABILITY |
    WQ_CONFIG_BACKOFF | WQ_CONFIG_VERSION | WQ_CONFIG_JOB_TTL | limit_config_bits |
    WQ_CONFIG_KEEP_DONE | WQ_CONFIG_RATE | WQ_CONFIG_GROUP_LIMIT | WQ_CONFIG_ENCRYPT |
    WQ_CONFIG_COMPRESS | WQ_CONFIG_KEY_RATE | WQ_CONFIG_THROTTLE;
static_assert(config_bits ==
              (config_max_running | config_max_retries | config_lease_ms | config_durability |
               config_backoff | config_version | config_job_ttl | config_max_depth |
               config_max_bytes | config_full_policy | config_dead_max_count |
               config_dead_max_age_ms | config_keep_done | config_rate | config_group_limit |
               config_encrypt | config_compress | config_key_rate | config_throttle));

Status read_config(const wq_queue_config* given, QueueConfig& out, uint32_t& fields) {
  SizedIn<wq_queue_config> in;
  WQ_TRY(in.read(given, "config"));
  if (in->fields & ~config_bits) return unknown_bits("config.fields", in->fields & ~config_bits);
  fields = in->fields;
  out.max_running = in->max_running;
  out.max_retries = in->max_retries;
  out.lease_ms = in->lease_ms;
  out.version = in->version;
  out.job_ttl_ms = in->job_ttl_ms;
  if (in->reserved_0 != 0) return unknown_bits("config.reserved_0", in->reserved_0);
  if (in->reserved_1 != 0) return unknown_bits("config.reserved_1", in->reserved_1);
  read_limits(*in, out);
  WQ_TRY(read_packing(*in, out));
  out.keep_done_count = in->keep_done_count;
  out.keep_done_age_ms = in->keep_done_age_ms;
  read_gates(*in, out);
  if (fields & WQ_CONFIG_DURABILITY) {
    if (in->durability < WQ_MEMORY || in->durability > WQ_POWER) {
      return invalid_field("config.durability", "is no durability level");
    }
    out.durability = static_cast<Durability>(in->durability);
  }
  if (fields & WQ_CONFIG_BACKOFF) {
    WQ_TRY(read_backoff(in->backoff_kind, in->backoff_base_ms, in->backoff_max_ms,
                        in->backoff_list_ms, in->backoff_count, out.backoff));
    out.backoff.jitter_permille = in->backoff_jitter_permille;
  }
  return {};
}

Status open_queue(Engine& engine, StoreCore* core, Bytes name, const wq_queue_config* given,
                  uint32_t flags, wq_queue** queue) {
  if (flags & ~WQ_QUEUE_NO_CREATE) return unknown_bits("flags", flags & ~WQ_QUEUE_NO_CREATE);
  QueueConfig config;
  uint32_t fields = 0;
  if (given) WQ_TRY(read_config(given, config, fields));
  NewHandle<wq_queue> handle;
  // Before the queue is made. A longer name is not even looked at: the engine refuses it.
  if (name.size() <= queue_name_bytes_max) handle->name = as_text(name);
  CallOptions call;
  WQ_TRY_SET(handle->id,
             engine.open_queue(as_text(name), config, fields, !(flags & WQ_QUEUE_NO_CREATE), call));
  hold(core);
  handle->core = core;
  *queue = handle.release();
  return {};
}

int32_t change_status(wq_queue* queue, Engine::StatusChange change, wq_call* call, wq_error* err) {
  return with_handle(queue, err, [&](Engine& engine) -> Status {
    Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.change_status(queue->id, change, how.options());
  });
}

int32_t clear_states(wq_queue* queue, uint32_t states, uint64_t* removed, wq_call* call,
                     wq_error* err) {
  if (removed) *removed = 0;
  return with_handle(queue, err, [&](Engine& engine) -> Status {
    Call how;
    WQ_TRY(how.open(call, queue->core));
    WQ_TRY_SET(const uint64_t count, engine.clear(queue->id, states, how.options()));
    if (removed) *removed = count;
    return {};
  });
}

}  // namespace

wq_queue_stats public_stats(QueueStatus status, std::span<const uint64_t> counts,
                            const QueueTotals& totals) {
  const auto count = [&](JobState state) { return counts[static_cast<size_t>(state)]; };
  wq_queue_stats out = WQ_QUEUE_STATS_INIT;
  out.status = static_cast<uint32_t>(status);
  out.ready = count(JobState::ready);
  out.delayed = count(JobState::delayed);
  out.leased = count(JobState::leased);
  out.running = count(JobState::running);
  out.dead = count(JobState::dead);
  out.enqueued_total = totals.enqueued;
  out.leased_total = totals.leased;
  out.acked_total = totals.acked;
  out.nacked_total = totals.nacked;
  out.failed_total = totals.failed;
  out.released_total = totals.released;
  out.expired_total = totals.expired;
  out.dead_total = totals.dead;
  out.replayed_total = totals.replayed;
  out.cancelled_total = totals.cancelled;
  out.cleared_total = totals.cleared;
  out.jobs_expired_total = totals.jobs_expired;
  out.dropped_total = totals.dropped;
  out.dead_dropped_total = totals.dead_dropped;
  out.chain_cut_total = totals.chain_cut;
  out.skipped_total = totals.skipped;
  return out;
}

// A rate without a burst has one of 1, a throttle cools down for its window.
void read_gates(const wq_queue_config& in, QueueConfig& out) {
  out.rate = {in.rate_count, in.rate_burst, in.rate_window_ms};
  if (out.rate.count != 0 && out.rate.burst == 0) out.rate.burst = 1;
  out.group_limit = in.group_limit;
  out.key_rate = {in.key_rate_count, in.key_rate_burst, in.key_rate_window_ms};
  if (out.key_rate.count != 0 && out.key_rate.burst == 0) out.key_rate.burst = 1;
  out.throttle = {in.throttle_count, in.throttle_window_ms, in.throttle_cool_ms};
  if (out.throttle.count != 0 && out.throttle.cool_ms == 0) {
    out.throttle.cool_ms = out.throttle.window_ms;
  }
}

wq_queue_config public_config(const QueueConfig& in) {
  wq_queue_config out = WQ_QUEUE_CONFIG_INIT;
  out.fields = config_bits;
  out.max_running = in.max_running;
  out.max_retries = in.max_retries;
  out.lease_ms = in.lease_ms;
  out.durability = static_cast<uint32_t>(in.durability);
  out.status = static_cast<uint32_t>(in.status);
  out.backoff_kind = static_cast<uint32_t>(in.backoff.kind);
  out.backoff_count = static_cast<uint32_t>(in.backoff.list_ms.size());
  out.backoff_base_ms = in.backoff.base_ms;
  out.backoff_max_ms = in.backoff.max_ms;
  out.version = in.version;
  out.backoff_jitter_permille = in.backoff.jitter_permille;
  out.job_ttl_ms = in.job_ttl_ms;
  write_limits(in, out);
  out.encrypt = in.encrypt;
  out.compress_min_bytes = in.compress_min_bytes;
  out.keep_done_count = in.keep_done_count;
  out.keep_done_age_ms = in.keep_done_age_ms;
  out.rate_count = in.rate.count;
  out.rate_burst = in.rate.burst;
  out.rate_window_ms = in.rate.window_ms;
  out.group_limit = in.group_limit;
  out.key_rate_count = in.key_rate.count;
  out.key_rate_burst = in.key_rate.burst;
  out.key_rate_window_ms = in.key_rate.window_ms;
  out.throttle_count = in.throttle.count;
  out.throttle_window_ms = in.throttle.window_ms;
  out.throttle_cool_ms = in.throttle.cool_ms;
  std::copy(in.backoff.list_ms.begin(), in.backoff.list_ms.end(), out.backoff_list_ms);
  return out;
}

}  // namespace wq

extern "C" {

int32_t wq_queue_open(wq_store* store, const void* name, size_t name_len,
                      const wq_queue_config* config, uint32_t flags, wq_queue** queue,
                      wq_error* err) {
  if (queue) *queue = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!queue) return wq::invalid_field("queue", "is NULL");
    wq::Bytes bytes;
    WQ_TRY(wq::read_bytes(name, name_len, "name", bytes));
    return wq::open_queue(engine, store->core, bytes, config, flags, queue);
  });
}

void wq_queue_close(wq_queue** queue) {
  wq_queue* closing = wq::begin_close(queue);
  if (!closing) return;
  closing->interrupts.fire_all();
  closing->gate.wait_empty();
  wq::drop(std::exchange(closing->core, nullptr));
  wq::handle_pool<wq_queue>().put(closing);
}

int32_t wq_queue_configure(wq_queue* queue, const wq_queue_config* config, wq_call* call,
                           wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    if (!config) return wq::invalid_field("config", "is NULL");
    wq::QueueConfig wanted;
    uint32_t fields = 0;
    WQ_TRY(wq::read_config(config, wanted, fields));
    return engine.configure(queue->id, wanted, fields, how.options());
  });
}

int32_t wq_queue_get_config(wq_queue* queue, wq_queue_config* config, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_out(config, "config"));
    WQ_TRY_SET(const wq::QueueConfig found, engine.config(queue->id));
    wq::write_struct(config, config->struct_size, wq::public_config(found));
    return {};
  });
}

int32_t wq_queue_pause(wq_queue* queue, wq_call* call, wq_error* err) {
  return wq::change_status(queue, wq::Engine::StatusChange::pause, call, err);
}

int32_t wq_queue_resume(wq_queue* queue, wq_call* call, wq_error* err) {
  return wq::change_status(queue, wq::Engine::StatusChange::resume, call, err);
}

int32_t wq_queue_disable(wq_queue* queue, wq_call* call, wq_error* err) {
  return wq::change_status(queue, wq::Engine::StatusChange::disable, call, err);
}

int32_t wq_queue_enable(wq_queue* queue, wq_call* call, wq_error* err) {
  return wq::change_status(queue, wq::Engine::StatusChange::enable, call, err);
}

int32_t wq_queue_clear(wq_queue* queue, uint32_t states, uint64_t* removed, wq_call* call,
                       wq_error* err) {
  return wq::clear_states(queue, states, removed, call, err);
}

int32_t wq_queue_delete(wq_queue* queue, wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.remove_queue(queue->id, how.options());
  });
}

int32_t wq_queue_get_stats(wq_queue* queue, wq_queue_stats* stats, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_out(stats, "stats"));
    WQ_TRY_SET(const wq::QueueStats found, engine.queue_stats(queue->id));
    wq_queue_stats out = wq::public_stats(found.status, found.counts, found.totals);
    out.oldest_ready_age_ms = found.oldest_ready_age_ms;
    out.waiting_bytes = found.bytes[WQ_STATE_READY] + found.bytes[WQ_STATE_DELAYED];
    for (const uint64_t bytes : found.bytes) out.job_bytes += bytes;
    out.parked = found.parked;
    out.rate_wait_ms = found.rate_wait_ms;
    wq::write_struct(stats, stats->struct_size, out);
    return {};
  });
}

int32_t wq_dead_purge(wq_queue* queue, uint64_t* removed, wq_call* call, wq_error* err) {
  return wq::clear_states(queue, WQ_STATE_BIT(WQ_STATE_DEAD), removed, call, err);
}

}  // extern "C"
