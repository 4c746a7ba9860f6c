// wq pull: leases jobs for a script, which settles them with wq ack or wq nack by their token.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t line_columns_max = 400;

void tell_jobs(Context& context, const PullOptions& options, const Batch& batch) {
  Output& out = context.out();
  for (size_t i = 0; i < wq_batch_count(batch.get()); ++i) {
    const wq_job job = job_at(batch, i);
    const std::string token = token_text(job.id, job.generation);
    if (!options.payload_file.empty()) {
      write_payload(out, options.payload_file, view_of(job.payload));
    }
    if (out.json()) {
      out.record(job_record(batch, i));
    } else if (!options.payload_file.empty()) {
      out.line(token);
    } else {
      out.line(token + "\t" + printable(view_of(job.payload), line_columns_max));
    }
  }
}

}  // namespace

int run_pull(Context& context, const PullOptions& options) {
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = options.count;
  take.wait_ms = parse_duration_ms("--wait", options.wait, true);
  if (!options.lease.empty()) take.lease_ms = parse_duration_ms("--lease", options.lease);
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
      context.out().note("no job is ready");
      return exit_empty;
    }
    check(code, err);
    tell_jobs(context, options, batch);
    pulled += static_cast<uint32_t>(wq_batch_count(batch.get()));
    take.wait_ms = 0;
  }
  return exit_ok;
}

}  // namespace wq::cli
