// wq batch and wq history: jobs that are counted together, and what became of jobs that were acked.
// What the commands call a batch is a flow in wq.h, where wq_batch is what a lease gives.
#include <algorithm>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/made_queues.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t page_max = 1000;
const std::string default_queue = "default";

const char* state_of(const wq_flow_status& status) {
  if (status.flags & WQ_FLOW_FINISHED) {
    return status.flags & WQ_FLOW_CANCELLED ? "cancelled" : "finished";
  }
  if (status.flags & WQ_FLOW_CANCELLED) return "cancelling";
  return status.flags & WQ_FLOW_SEALED ? "sealed" : "open";
}

Record status_record(const wq_flow_status& status) {
  Record record;
  record.add("batch", status.flow)
      .add("state", state_of(status))
      .add("total", status.total)
      .add("pending", status.pending)
      .add("done", status.done)
      .add("failed", status.failed)
      .add("cancelled", status.cancelled)
      .add("follow_up", status.follow_up_id)
      .add("created_ms", status.created_ms)
      .add("finished_ms", status.finished_ms);
  return record;
}

void tell_status(Context& context, const Store& store, uint64_t batch) {
  wq_error err = WQ_ERROR_INIT;
  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  check(wq_flow_get_status(store.get(), batch, &status, &err), err);
  if (context.out().json()) return context.out().record(status_record(status));
  context.out().line("batch " + std::to_string(status.flow) + ": " + state_of(status) + ", " +
                     format_count(status.pending) + " of " + plural(status.total, "job") +
                     " pending, " + format_count(status.done) + " done, " +
                     format_count(status.failed) + " failed, " + format_count(status.cancelled) +
                     " cancelled");
}

void check_follow_up(const char* name, const std::string& queue, const std::string& payload) {
  if (queue.empty() != payload.empty()) {
    fail_usage(std::string("--") + name + " and --" + name + "-queue go together");
  }
}

Record done_record(const wq_done_job& job) {
  Record record;
  record.add("id", job.id)
      .add("generation", job.generation)
      .add("batch", job.flow)
      .add("priority", job.priority)
      .add("attempts", job.attempts)
      .add("exceptions", job.exceptions)
      .add("replays", job.replays)
      .add("enqueued_ms", job.enqueued_ms)
      .add("leased_ms", job.leased_ms)
      .add("done_ms", job.done_ms);
  if (job.key_id != 0) record.add("key", job.key_id);
  if (job.result_code != WQ_OK) record.add("result_error", wq_error_name(job.result_code));
  record.add_bytes("result", view_of(job.result));
  return record;
}

void tell_done(Context& context, const std::vector<wq_done_job>& jobs) {
  using Align = Table::Align;
  Table table({{"job", Align::right}, {"done"}, {"took", Align::right}, {"result"}});
  for (const wq_done_job& job : jobs) {
    if (context.out().json()) {
      context.out().record(done_record(job));
    } else {
      table.add({std::to_string(job.id), format_time(job.done_ms),
                 format_duration(std::max<int64_t>(0, job.done_ms - job.leased_ms)),
                 job.result_code == WQ_OK ? printable(view_of(job.result), 60) : "unreadable"});
    }
  }
  if (!table.empty()) table.print(context.out());
}

// Job ids are those of the whole store: without a name every queue is asked.
int tell_done_job(Context& context, const Store& store, const std::string& name, uint64_t id) {
  for (const std::string& candidate :
       name.empty() ? queue_names(store) : std::vector<std::string>{name}) {
    const Queue queue = context.open_queue(store, candidate, OpenMode::must_exist);
    wq_error err = WQ_ERROR_INIT;
    wq_done_job job = WQ_DONE_JOB_INIT;
    NameList result;
    const int32_t code = wq_history_get(queue.get(), id, &job, result.out(), &err);
    if (code == WQ_E_NOT_FOUND) continue;
    check(code, err);
    tell_done(context, {job});
    return exit_ok;
  }
  fail(exit_not_found, "no done job " + std::to_string(id) +
                           ": not acked, or its queue does not keep it; see wq queue set "
                           "--keep-done");
}

}  // namespace

int run_batch_create(Context& context, const BatchCreateOptions& options) {
  check_follow_up("complete", options.complete_queue, options.complete);
  check_follow_up("failure", options.failure_queue, options.failure);
  wq_job_spec specs[2] = {WQ_JOB_SPEC_INIT, WQ_JOB_SPEC_INIT};
  wq_next_job next[2] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
  specs[0].payload = bytes_of(options.complete);
  specs[1].payload = bytes_of(options.failure);
  next[0].queue_name = bytes_of(options.complete_queue);
  next[1].queue_name = bytes_of(options.failure_queue);
  wq_flow_options flow_options = WQ_FLOW_OPTIONS_INIT;
  if (options.allow_failures) flow_options.flags |= WQ_FLOW_ALLOW_FAILURES;
  for (int i = 0; i < 2; ++i) next[i].spec = &specs[i];
  if (!options.complete_queue.empty()) flow_options.on_complete = &next[0];
  if (!options.failure_queue.empty()) flow_options.on_failure = &next[1];
  const Store store = context.open_store({OpenMode::create, false, 0});
  MadeQueues made(context, store);
  for (const std::string& name : {options.complete_queue, options.failure_queue}) {
    if (!name.empty()) made.open(name);
  }
  wq_error err = WQ_ERROR_INIT;
  uint64_t batch = 0;
  const int32_t code = wq_flow_create(store.get(), &flow_options, &batch, nullptr, &err);
  made.ended(code);
  check(code, err);
  if (context.out().json()) {
    context.out().record(Record().add("batch", batch));
  } else {
    context.out().line(std::to_string(batch));
  }
  return exit_ok;
}

int run_batch(Context& context, BatchAction action, uint64_t batch) {
  const Store store = context.open_store();
  wq_error err = WQ_ERROR_INIT;
  if (action == BatchAction::seal) check(wq_flow_seal(store.get(), batch, nullptr, &err), err);
  if (action == BatchAction::cancel) check(wq_flow_cancel(store.get(), batch, nullptr, &err), err);
  tell_status(context, store, batch);
  return exit_ok;
}

int run_batch_ls(Context& context, uint32_t limit) {
  using Align = Table::Align;
  const Store store = context.open_store();
  Table table({{"batch", Align::right},
               {"state"},
               {"total", Align::right},
               {"pending", Align::right},
               {"done", Align::right},
               {"failed", Align::right},
               {"cancelled", Align::right}});
  uint64_t cursor = 0;
  size_t seen = 0;
  do {
    std::vector<wq_flow_status> page(std::min<size_t>(page_max, limit - seen));
    wq_error err = WQ_ERROR_INIT;
    size_t count = 0;
    check(
        wq_flow_list(store.get(), &cursor, page.data(), page.size(), sizeof page[0], &count, &err),
        err);
    page.resize(count);
    seen += count;
    for (const wq_flow_status& status : page) {
      if (context.out().json()) {
        context.out().record(status_record(status));
      } else {
        table.add({std::to_string(status.flow), state_of(status), format_count(status.total),
                   format_count(status.pending), format_count(status.done),
                   format_count(status.failed), format_count(status.cancelled)});
      }
    }
  } while (cursor != 0 && seen < limit);
  if (!table.empty()) table.print(context.out());
  if (seen == 0) context.out().note("no batch");
  return seen == 0 ? exit_empty : exit_ok;
}

int run_history(Context& context, const HistoryOptions& options) {
  const uint64_t id = options.job.empty() ? 0 : parse_job_id(options.job);
  const Store store = context.open_store();
  if (!options.job.empty()) return tell_done_job(context, store, options.queue, id);
  const std::string& name = options.queue.empty() ? default_queue : options.queue;
  const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
  uint64_t cursor = 0;
  size_t seen = 0;
  do {
    std::vector<wq_done_job> page(std::min<size_t>(page_max, options.limit - seen));
    NameList results;
    size_t count = 0;
    wq_error err = WQ_ERROR_INIT;
    check(wq_history_list(queue.get(), &cursor, page.data(), page.size(), sizeof page[0], &count,
                          results.out(), &err),
          err);
    page.resize(count);
    seen += count;
    tell_done(context, page);
  } while (cursor != 0 && seen < options.limit);
  if (seen == 0) context.out().note("queue " + printable(name, 60) + " has no done job");
  return seen == 0 ? exit_empty : exit_ok;
}

}  // namespace wq::cli
