// What a store tells about itself: figures, recovery, names of queues, the full check.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "capi/capi_internal.h"
#include "capi/message.h"

namespace wq {
namespace {

uint64_t count_of(const EngineStats& stats, JobState state) {
  return stats.counts[static_cast<size_t>(state)];
}

uint64_t us_from_ns(uint64_t ns) {
  return ns / 1'000;
}

wq_store_stats to_public(const EngineStats& in) {
  wq_store_stats out{};
  out.status = in.poisoned ? WQ_STORE_POISONED : in.draining ? WQ_STORE_DRAINING : WQ_STORE_OPEN;
  out.io_backend = std::string_view(in.io_backend) == "uring" ? WQ_IO_URING : WQ_IO_THREADS;
  out.queues = static_cast<uint32_t>(in.queues);
  out.ready = count_of(in, JobState::ready);
  out.delayed = count_of(in, JobState::delayed);
  out.leased = count_of(in, JobState::leased);
  out.running = count_of(in, JobState::running);
  out.dead = count_of(in, JobState::dead);
  out.last_lsn = in.last_lsn;
  out.process_lsn = in.process_lsn;
  out.durable_lsn = in.durable_lsn;
  out.applied_lsn = in.applied_lsn;
  out.resident_jobs = in.resident_jobs;
  out.resident_bytes = in.resident_bytes;
  out.memory_budget_bytes = in.memory_budget_bytes;
  out.log_records = in.log.appended_records;
  out.log_bytes = in.log.appended_bytes;
  out.log_written_bytes = in.log.written_bytes;
  out.log_live_bytes = in.log.live_bytes;
  out.log_segments = in.log.segments_live;
  out.log_segments_spare = in.log.segments_spare;
  out.flushes = in.log.flushes;
  out.flush_us_total = us_from_ns(in.log.flush_ns_total);
  out.flush_us_max = us_from_ns(in.log.flush_ns_max);
  out.checkpoints = in.checkpoints;
  out.checkpoint_us_last = static_cast<uint64_t>(in.checkpoint_us_last);
  out.checkpoint_us_max = static_cast<uint64_t>(in.checkpoint_us_max);
  out.waiting = in.waiting;
  out.job_bytes = in.job_bytes;
  out.quota_bytes = in.quota_bytes;
  return out;
}

wq_recovery to_public(const Recovery& in) {
  wq_recovery out{};
  out.clean = in.clean;
  out.applied_lsn = in.applied_lsn;
  out.last_lsn = in.log.last_lsn;
  out.records_replayed = in.records_replayed;
  out.truncated_bytes = in.log.truncated_bytes;
  out.leases_kept = in.leases_kept;
  out.leases_expired = in.leases_expired;
  out.temp_files_removed = in.log.temp_files_removed;
  out.replay_ms = in.replay_ms;
  copy_message(out.truncated_where, sizeof out.truncated_where, in.log.truncated_where);
  return out;
}

Status verify(Engine& engine, wq_verify_report* report) {
  WQ_TRY(check_out(report, "report"));
  constexpr int64_t ns_per_ms = 1'000'000;
  const int64_t start_ns = system_clock().mono_ns();
  WQ_TRY_SET(const VerifyReport found, engine.verify());
  wq_verify_report out{};
  out.jobs = found.jobs;
  out.entries = found.entries;
  out.problems = found.problems;
  out.elapsed_ms = (system_clock().mono_ns() - start_ns) / ns_per_ms;
  copy_message(out.first_problem, sizeof out.first_problem, found.first_problem);
  write_struct(report, report->struct_size, out);
  if (found.problems == 0) return {};
  return Status(Code::corrupt, found.first_problem);
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_store_get_stats(wq_store* store, wq_store_stats* stats, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_out(stats, "stats"));
    wq::write_struct(stats, stats->struct_size, wq::to_public(engine.stats()));
    return {};
  });
}

int32_t wq_store_get_recovery(wq_store* store, wq_recovery* recovery, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_out(recovery, "recovery"));
    wq::write_struct(recovery, recovery->struct_size, wq::to_public(engine.recovery()));
    return {};
  });
}

int32_t wq_store_verify(wq_store* store, wq_verify_report* report, wq_error* err) {
  return wq::with_handle(store, err,
                         [&](wq::Engine& engine) { return wq::verify(engine, report); });
}

int32_t wq_store_queues(wq_store* store, wq_list** list, wq_error* err) {
  if (list) *list = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!list) return wq::invalid_field("list", "is NULL");
    wq::NewHandle<wq_list> handle;
    WQ_TRY_SET(handle->names, engine.queue_names());
    std::sort(handle->names.begin(), handle->names.end());
    *list = handle.release();
    return {};
  });
}

size_t wq_list_count(const wq_list* list) {
  const bool usable = list && list->kind == wq_list::own_kind && !list->gate.is_shut();
  return usable ? list->names.size() : 0;
}

int32_t wq_list_name(const wq_list* list, size_t i, wq_bytes* name) {
  if (!name) return WQ_E_INVALID;
  *name = {nullptr, 0};
  if (i >= wq_list_count(list)) return WQ_E_INVALID;
  *name = wq::view_bytes(wq::bytes_of(list->names[i]));
  return WQ_OK;
}

void wq_list_free(wq_list** list) {
  wq_list* closing = wq::begin_close(list);
  if (!closing) return;
  closing->names.clear();
  wq::handle_pool<wq_list>().put(closing);
}

}  // extern "C"
