// wq reprioritise and progress: what is changed at single jobs between enqueue and settle.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {

int run_reprioritise(Context& context, const ReprioritiseOptions& options) {
  std::vector<uint64_t> ids;
  for (const std::string& text : options.jobs) ids.push_back(parse_job_id(text));
  const Store store = context.open_store();
  uint64_t moved = 0;
  int exit_code = exit_ok;
  for (const uint64_t id : ids) {
    Queue queue;
    Batch batch;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = find_job(context, store, options.queue, id, queue, batch)
                             ? wq_job_reprioritise(queue.get(), id, options.priority, nullptr, &err)
                             : WQ_E_NOT_FOUND;
    Outcome outcome{id, 0, "reprioritised", ""};
    if (code != WQ_OK) {
      outcome.outcome = wq_error_name(code);
      outcome.message = code == WQ_E_NOT_FOUND ? no_such_job(id) : message_of(code, err);
    }
    outcome.names_job = code != WQ_OK;
    tell_outcome(context.out(), outcome);
    moved += code == WQ_OK;
    if (code != WQ_OK && exit_code == exit_ok) exit_code = exit_code_of(code);
  }
  if (moved > 0) {
    context.out().note(plural(moved, "job") + " with priority " + std::to_string(options.priority));
  }
  return exit_code;
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
