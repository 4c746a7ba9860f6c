// wq cancel, reprioritise and progress: what is changed at single jobs between enqueue and settle.
// Every job is tried; each refused one is told, and the first refusal gives the exit code.
#include <functional>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

struct Changed {
  uint64_t jobs = 0;
  int exit_code = exit_ok;
};

struct JobChange {
  const char* done;      // the word for what became of a job
  const char* conflict;  // what to say of WQ_CONFLICT; null: what the library says
  std::function<int32_t(wq_queue*, uint64_t, wq_error*)> call;
};

Changed change_jobs(Context& context, const std::vector<std::string>& jobs,
                    const std::string& queue_name, const JobChange& change) {
  std::vector<uint64_t> ids;
  for (const std::string& text : jobs) ids.push_back(parse_job_id(text));
  const Store store = context.open_store();
  Changed changed;
  for (const uint64_t id : ids) {
    Queue queue;
    Batch batch;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = find_job(context, store, queue_name, id, queue, batch)
                             ? change.call(queue.get(), id, &err)
                             : WQ_E_NOT_FOUND;
    Outcome outcome{id, std::nullopt, code == WQ_OK ? change.done : wq_error_name(code), ""};
    if (code != WQ_OK) {
      outcome.message = code == WQ_E_NOT_FOUND                   ? no_such_job(id)
                        : code == WQ_CONFLICT && change.conflict ? change.conflict
                                                                 : message_of(code, err);
    }
    outcome.names_job = code == WQ_E_NOT_FOUND;
    tell_outcome(context.out(), outcome);
    changed.jobs += code == WQ_OK;
    if (code != WQ_OK && changed.exit_code == exit_ok) changed.exit_code = exit_code_of(code);
  }
  return changed;
}

}  // namespace

int run_cancel(Context& context, const CancelOptions& options) {
  const auto cancel = [](wq_queue* queue, uint64_t id, wq_error* err) {
    return wq_job_cancel(queue, id, nullptr, err);
  };
  const Changed changed = change_jobs(context, options.jobs, options.queue,
                                      {"cancelled", "the job is dead; see wq dead rm", cancel});
  if (changed.jobs > 0) context.out().note("cancelled " + plural(changed.jobs, "job"));
  return changed.exit_code;
}

int run_reprioritise(Context& context, const ReprioritiseOptions& options) {
  const auto move = [&options](wq_queue* queue, uint64_t id, wq_error* err) {
    return wq_job_reprioritise(queue, id, options.priority, nullptr, err);
  };
  const Changed changed =
      change_jobs(context, options.jobs, options.queue, {"reprioritised", nullptr, move});
  if (changed.jobs > 0) {
    context.out().note(plural(changed.jobs, "job") + " with priority " +
                       std::to_string(options.priority));
  }
  return changed.exit_code;
}

int run_progress(Context& context, const ProgressOptions& options) {
  const wq_token token = parse_token(options.token);
  const Store store = context.open_store();
  Queue queue;
  Batch batch;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = find_job(context, store, options.queue, token.id, queue, batch)
                           ? wq_job_progress(queue.get(), token.id, token.generation,
                                             options.note.data(), options.note.size(), &call, &err)
                           : WQ_STALE;
  Outcome outcome{token.id, token.generation, "noted", ""};
  if (code != WQ_OK) {
    outcome.outcome = wq_error_name(code);
    outcome.message = code == WQ_STALE ? "settled already, or the lease ended; see wq show " +
                                             std::to_string(token.id)
                                       : message_of(code, err);
  }
  tell_outcome(context.out(), outcome);
  return code == WQ_OK ? exit_ok : exit_code_of(code);
}

}  // namespace wq::cli
