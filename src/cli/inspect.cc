// wq stat, ls and show: what is in the store. One process at a time owns a store, so stat --watch
// opens and closes it for each look, and says who holds it when it can not.
#include <algorithm>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/queue_view.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

struct NamedStats {
  std::string name;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
};

Record queue_record(const NamedStats& queue) {
  const wq_queue_stats& stats = queue.stats;
  Record record;
  record.add_bytes("queue", queue.name);
  record.add("status", status_name(stats.status))
      .add("ready", stats.ready)
      .add("delayed", stats.delayed)
      .add("leased", stats.leased)
      .add("running", stats.running)
      .add("dead", stats.dead)
      .add("parked", stats.parked)
      .add("rate_wait_ms", stats.rate_wait_ms)
      .add("oldest_ready_age_ms", stats.oldest_ready_age_ms)
      .add("enqueued_total", stats.enqueued_total)
      .add("leased_total", stats.leased_total)
      .add("acked_total", stats.acked_total)
      .add("nacked_total", stats.nacked_total)
      .add("failed_total", stats.failed_total)
      .add("released_total", stats.released_total)
      .add("expired_total", stats.expired_total)
      .add("dead_total", stats.dead_total)
      .add("replayed_total", stats.replayed_total)
      .add("cancelled_total", stats.cancelled_total)
      .add("cleared_total", stats.cleared_total)
      .add("jobs_expired_total", stats.jobs_expired_total)
      .add("dropped_total", stats.dropped_total)
      .add("dead_dropped_total", stats.dead_dropped_total)
      .add("chain_cut_total", stats.chain_cut_total)
      .add("skipped_total", stats.skipped_total)
      .add("waiting_bytes", stats.waiting_bytes)
      .add("job_bytes", stats.job_bytes);
  return record;
}

Record store_record(const std::string& path, const wq_store_stats& stats) {
  Record record;
  record.add_bytes("path", path);
  record.add("io_backend", backend_name(stats.io_backend))
      .add("queues", stats.queues)
      .add("ready", stats.ready)
      .add("delayed", stats.delayed)
      .add("leased", stats.leased)
      .add("running", stats.running)
      .add("dead", stats.dead)
      .add("last_lsn", stats.last_lsn)
      .add("process_lsn", stats.process_lsn)
      .add("durable_lsn", stats.durable_lsn)
      .add("applied_lsn", stats.applied_lsn)
      .add("resident_jobs", stats.resident_jobs)
      .add("resident_bytes", stats.resident_bytes)
      .add("memory_budget_bytes", stats.memory_budget_bytes)
      .add("job_bytes", stats.job_bytes)
      .add("log_live_bytes", stats.log_live_bytes)
      .add("log_segments", stats.log_segments)
      .add("log_segments_spare", stats.log_segments_spare);
  return record;
}

void print_queues(Output& out, const std::vector<NamedStats>& queues) {
  using Align = Table::Align;
  Table table({{"queue"},
               {"status"},
               {"ready", Align::right},
               {"parked", Align::right},
               {"delayed", Align::right},
               {"leased", Align::right},
               {"running", Align::right},
               {"dead", Align::right},
               {"oldest ready", Align::right},
               {"enqueued", Align::right},
               {"acked", Align::right},
               {"nacked", Align::right},
               {"expired", Align::right}});
  constexpr size_t status_column = 1, dead_column = 7;
  for (const NamedStats& queue : queues) {
    const wq_queue_stats& stats = queue.stats;
    table.add({printable(queue.name, 60), status_name(stats.status), format_count(stats.ready),
               format_count(stats.parked), format_count(stats.delayed), format_count(stats.leased),
               format_count(stats.running), format_count(stats.dead),
               stats.ready == 0 ? "-" : format_duration(stats.oldest_ready_age_ms),
               format_count(stats.enqueued_total), format_count(stats.acked_total),
               format_count(stats.nacked_total), format_count(stats.expired_total)});
    if (stats.status != WQ_STATUS_ACTIVE) table.paint_last(status_column, Color::yellow);
    if (stats.dead > 0) table.paint_last(dead_column, Color::red);
  }
  if (!table.empty()) table.print(out);
}

void tell_stats(Context& context, const Store& store, const std::string& only) {
  wq_error err = WQ_ERROR_INIT;
  std::vector<NamedStats> queues;
  const std::vector<std::string> names =
      only.empty() ? queue_names(store) : std::vector<std::string>{only};
  for (const std::string& name : names) {
    const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
    queues.push_back({name});
    check(wq_queue_get_stats(queue.get(), &queues.back().stats, &err), err);
  }
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  check(wq_store_get_stats(store.get(), &stats, &err), err);
  Output& out = context.out();
  if (out.json()) {
    List list;
    for (const NamedStats& queue : queues) list.emplace_back(queue_record(queue));
    Record record;
    record.add("store", store_record(context.store_path(), stats)).add("queues", std::move(list));
    out.record(record);
    return;
  }
  out.line(out.paint(Color::bold, printable(context.store_path(), 80)) + ": " +
           plural(stats.queues, "queue") + ", backend " + backend_name(stats.io_backend) +
           ", log " + format_bytes(stats.log_live_bytes) + " in " +
           plural(stats.log_segments, "segment") + ", LSN " + format_count(stats.last_lsn));
  print_queues(out, queues);
}

void tell_locked(Output& out, const std::string& message) {
  if (out.json()) {
    out.record(Record().add_bytes("locked", message));
  } else {
    out.line(one_line(message));
  }
}

int watch_stats(Context& context, const StatOptions& options) {
  constexpr int64_t pause_min_ms = 100;
  const int64_t pause_ms = parse_duration_ms("--watch", options.watch);
  if (pause_ms < pause_min_ms) fail_usage("--watch: at least 100ms; others need the store too");
  const StopSignals signals;
  Output& out = context.out();
  for (uint32_t look = 0;;) {
    Store store;
    std::string locked_by;
    out.clear_screen();
    if (!out.json()) out.line(out.paint(Color::dim, "-- " + format_time(wall_clock_ms())));
    if (context.try_open_store({}, store, locked_by)) {
      tell_stats(context, store, options.queue);
    } else {
      tell_locked(out, locked_by);
    }
    out.flush();
    store.reset();  // others want it too
    if (++look == options.count) return exit_ok;
    if (signals.wait_ms(pause_ms)) return exit_ok;
  }
}

}  // namespace

int run_stat(Context& context, const StatOptions& options) {
  if (options.prometheus) {
    if (!options.watch.empty() || !options.queue.empty()) {
      fail_usage("--prometheus goes without --watch and --queue");
    }
    return run_metrics(context);
  }
  if (!options.watch.empty()) return watch_stats(context, options);
  if (options.count != 0) fail_usage("--count goes with --watch");
  const Store store = context.open_store();
  refuse_unfinished_import(store);
  tell_stats(context, store, options.queue);
  return exit_ok;
}

int run_ls(Context& context, const LsOptions& options) {
  const Store store = context.open_store();
  const std::vector<std::string> names = queue_names(store);
  if (names.empty()) {
    context.out().note("the store has no queue");
    return exit_empty;
  }
  if (options.all) {
    tell_configs(context, store, names);
    return exit_ok;
  }
  for (const std::string& name : names) {
    if (context.out().json()) {
      context.out().record(Record().add_bytes("queue", name));
    } else {
      context.out().line(printable(name));
    }
  }
  return exit_ok;
}

int run_show(Context& context, const ShowOptions& options) {
  const uint64_t id = parse_job_id(options.job);
  const Store store = context.open_store();
  Queue queue;
  Batch batch;
  if (!find_job(context, store, options.queue, id, queue, batch)) {
    fail(exit_not_found, no_such_job(id));
  }
  Output& out = context.out();
  if (!options.payload_file.empty()) {
    write_payload(out, options.payload_file, job_at(batch, 0));
  } else if (out.json()) {
    out.record(job_record(batch, 0));
  } else {
    print_job(out, batch, 0);
  }
  return exit_ok;
}

}  // namespace wq::cli
