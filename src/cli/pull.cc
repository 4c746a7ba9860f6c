// wq pull: leases jobs for a script, which settles them with wq ack or wq nack by their token. A
// job whose token could not be told is given back at once: nobody could settle it.
#include <algorithm>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/queue_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t line_columns_max = 400;

// `ends` gets where the text of each job ends in the output.
void tell_jobs(Context& context, const PullOptions& options, const Batch& batch,
               std::vector<uint64_t>& ends) {
  Output& out = context.out();
  for (size_t i = 0; i < wq_batch_count(batch.get()); ++i) {
    const wq_job job = job_at(batch, i);
    const std::string token = token_text(job.id, job.generation);
    if (!options.payload_file.empty()) {
      write_payload(out, options.payload_file, job);
    }
    if (out.json()) {
      out.record(job_record(batch, i));
    } else if (!options.payload_file.empty()) {
      out.line(token);
    } else {
      out.line(token + "\t" + printable(view_of(job.payload), line_columns_max));
    }
    ends.push_back(out.given_bytes());
  }
  out.flush();
}

// Gives back what was leased and not told, to the head of its queue, the last one first, so that
// they stand there in their old order. Returns how many.
uint64_t give_back(const std::vector<wq_queue*>& handles, const Batch& batch, size_t told) {
  uint64_t released = 0;
  for (size_t queue_index = 0; queue_index < handles.size(); ++queue_index) {
    std::vector<wq_settle_item> items;
    for (size_t i = wq_batch_count(batch.get()); i > told; --i) {
      const wq_job job = job_at(batch, i - 1);
      if (job.queue_index != queue_index) continue;
      wq_settle_item item = WQ_SETTLE_ITEM_INIT;
      item.kind = WQ_SETTLE_RELEASE;
      item.flags = WQ_RELEASE_FRONT;
      item.id = job.id;
      item.generation = job.generation;
      items.push_back(item);
    }
    if (items.empty()) continue;
    std::vector<int32_t> codes(items.size(), WQ_OK);
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_settle_many(handles[queue_index], items.data(), items.size(),
                                        sizeof(wq_settle_item), codes.data(), nullptr, &err);
    if (code != WQ_OK && std::find(codes.begin(), codes.end(), code) == codes.end()) continue;
    released += static_cast<uint64_t>(std::count(codes.begin(), codes.end(), WQ_OK));
  }
  return released;
}

void tell_or_give_back(Context& context, const PullOptions& options,
                       const std::vector<wq_queue*>& handles, const Batch& batch) {
  std::vector<uint64_t> ends;
  try {
    tell_jobs(context, options, batch, ends);
  } catch (Failure& failure) {
    const uint64_t taken = context.out().taken_bytes();
    const auto told = std::upper_bound(ends.begin(), ends.end(), taken) - ends.begin();
    const uint64_t untold = wq_batch_count(batch.get()) - static_cast<uint64_t>(told);
    const uint64_t released = give_back(handles, batch, static_cast<size_t>(told));
    failure.message += "; " + plural(released, "job") + " given back";
    if (released < untold) {
      failure.message +=
          ", " + format_count(untold - released) + " still leased until the deadline";
    }
    throw;
  }
}

void tell_empty(Context& context, const PullOptions& options,
                const std::vector<wq_queue*>& handles) {
  context.out().note("no job is ready");
  for (size_t i = 0; i < handles.size(); ++i) {
    int32_t code = WQ_OK;
    const std::string why = why_jobs_wait(options.queues[i], handles[i], code);
    if (code != WQ_OK) context.out().note(why);
  }
}

// Every queue is paused or disabled.
[[noreturn]] void fail_not_active(const PullOptions& options, const std::vector<wq_queue*>& handles,
                                  int32_t code) {
  std::string message;
  for (size_t i = 0; i < handles.size(); ++i) {
    wq_error err = WQ_ERROR_INIT;
    wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
    check(wq_queue_get_stats(handles[i], &stats, &err), err);
    message += (i == 0 ? "" : "; ") + status_problem(options.queues[i], stats.status);
  }
  throw Failure{exit_refused, code, std::move(message)};
}

}  // namespace

int run_pull(Context& context, const PullOptions& options) {
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = options.count;
  take.wait_ms = parse_duration_ms("--wait", options.wait, true);
  take.lease_ms = parse_lease_ms(options.lease);
  if (!options.payload_file.empty() && options.count != 1) {
    fail_usage("--payload takes one job; leave -n away");
  }
  if (options.payload_file == "-") {
    fail_usage("--payload - would mix the payload with the token; name a file");
  }
  const Store store = context.open_store();
  std::vector<Queue> queues;
  std::vector<wq_queue*> handles;
  for (const std::string& name : options.queues) {
    queues.push_back(context.open_queue(store, name, OpenMode::must_exist));
    handles.push_back(queues.back().get());
  }
  // One call may give fewer than are ready; asking on costs nothing, and only the first call waits.
  for (uint32_t pulled = 0; pulled < options.count;) {
    take.max_jobs = options.count - pulled;
    wq_error err = WQ_ERROR_INIT;
    Batch batch;
    const int32_t code = wq_lease(store.get(), handles.data(), handles.size(), &take, nullptr,
                                  nullptr, batch.out(), &err);
    if (pulled > 0 && code > WQ_OK) break;
    if (code == WQ_EMPTY) {
      tell_empty(context, options, handles);
      return exit_empty;
    }
    if (code == WQ_PAUSED || code == WQ_DISABLED) fail_not_active(options, handles, code);
    check(code, err);
    tell_or_give_back(context, options, handles, batch);
    pulled += static_cast<uint32_t>(wq_batch_count(batch.get()));
    take.wait_ms = 0;
  }
  return exit_ok;
}

}  // namespace wq::cli
