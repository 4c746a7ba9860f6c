// wq key: which job holds a key, cancel by key, and a key that the worker of its job gives up.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

uint32_t kind_of(const std::string& name) {
  if (name == "debounce") return WQ_KEY_DEBOUNCE;
  return name == "idempotency" ? WQ_KEY_IDEMPOTENCY : WQ_KEY_UNIQUE;
}

// "No job" is the answer to a question here, so it is told in the words of the question.
void check_key(int32_t code, const wq_error& err, const KeyCommandOptions& options) {
  if (code != WQ_E_NOT_FOUND) return check(code, err);
  throw Failure{exit_not_found, code,
                "no job of queue '" + printable(options.queue, 60) + "' holds the " + options.kind +
                    " key '" + printable(options.key, 60) + "'"};
}

}  // namespace

int run_key_show(Context& context, const KeyCommandOptions& options) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  uint64_t id = 0;
  wq_error err = WQ_ERROR_INIT;
  check_key(wq_key_holder(queue.get(), kind_of(options.kind), options.key.data(),
                          options.key.size(), &id, &err),
            err, options);
  if (context.out().json()) {
    Record record;
    context.out().record(record.add("id", id).add_bytes("queue", options.queue));
  } else {
    context.out().line(std::to_string(id));
  }
  return exit_ok;
}

int run_key_cancel(Context& context, const KeyCommandOptions& options) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  uint64_t id = 0;
  wq_error err = WQ_ERROR_INIT;
  check_key(wq_key_cancel(queue.get(), kind_of(options.kind), options.key.data(),
                          options.key.size(), nullptr, &id, &err),
            err, options);
  tell_outcome(context.out(), {id, std::nullopt, "cancelled", ""});
  context.out().note("cancelled job " + std::to_string(id));
  return exit_ok;
}

int run_key_release(Context& context, const KeyCommandOptions& options) {
  const wq_token token = parse_token(options.key);
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_key_release(queue.get(), token.id, token.generation, nullptr, &err);
  Outcome outcome{token.id, token.generation, "released", ""};
  if (code != WQ_OK) {
    outcome.outcome = wq_error_name(code);
    outcome.message = message_of(code, err);
  }
  tell_outcome(context.out(), outcome);
  return exit_code_of(code);
}

}  // namespace wq::cli
