// wq ack, nack, release and extend: settle what wq pull handed out, or hold it for longer. Also wq
// cancel. Every token is tried; each refused one is told, and the first refusal gives the exit
// code.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

const char* outcome_name(SettleKind kind, bool dead) {
  switch (kind) {
    case SettleKind::ack:
      return "acked";
    case SettleKind::nack:
      return dead ? "failed" : "nacked";
    case SettleKind::release:
      return "released";
    case SettleKind::extend:
      return "extended";
  }
  return "";
}

// The options of the command line in the form of wq.h; parsed once, before the store is opened.
class Settler {
 public:
  Settler(SettleKind kind, const SettleOptions& options) : kind_(kind), options_(options) {
    delay_ms_ = options.delay.empty() ? 0 : parse_duration_ms("--delay", options.delay);
    lease_ms_ = options.lease.empty() ? 0 : parse_duration_ms("--lease", options.lease);
    durability_ = durability_of("--durability", options.durability);
    if (options.front) nack_.flags |= WQ_NACK_FRONT;
    if (options.no_exception) nack_.flags |= WQ_NACK_NO_EXCEPTION;
    if (!options.delay.empty()) nack_.flags |= WQ_NACK_DELAY;
    nack_.delay_ms = delay_ms_;
    if (options.priority >= 0) {
      nack_.flags |= WQ_NACK_PRIORITY;
      nack_.priority = static_cast<uint32_t>(options.priority);
    }
    nack_.error = bytes_of(options.error);
  }

  int32_t settle(wq_queue* queue, const wq_token& token, wq_error& err) const {
    wq_call call = WQ_CALL_INIT;
    call.durability = durability_;
    switch (kind_) {
      case SettleKind::ack:
        return wq_ack(queue, token.id, token.generation, &call, &err);
      case SettleKind::nack:
        if (options_.dead) {
          return wq_fail(queue, token.id, token.generation, options_.error.data(),
                         options_.error.size(), &call, &err);
        }
        return wq_nack(queue, token.id, token.generation, &nack_, &call, &err);
      case SettleKind::release:
        return wq_release(queue, token.id, token.generation, delay_ms_,
                          options_.front ? WQ_RELEASE_FRONT : 0, &call, &err);
      case SettleKind::extend:
        return wq_extend(queue, &token, 1, lease_ms_, nullptr, &call, &err);
    }
    return WQ_E_INVALID;
  }

 private:
  const SettleKind kind_;
  const SettleOptions& options_;
  int64_t delay_ms_ = 0, lease_ms_ = 0;
  uint32_t durability_ = 0;
  wq_nack_options nack_ = WQ_NACK_OPTIONS_INIT;
};

void tell_outcome(Output& out, const std::string& name, const std::string& done, int32_t code,
                  const std::string& message) {
  if (out.json()) {
    Record record;
    record.add("job", name).add("outcome", code == WQ_OK ? done : wq_error_name(code));
    if (code != WQ_OK) record.add("message", message);
    out.record(record);
  } else if (code != WQ_OK) {
    out.error_bytes("wq: " + name + ": " + message + "\n");
  }
}

}  // namespace

int run_settle(Context& context, SettleKind kind, const SettleOptions& options) {
  std::vector<wq_token> tokens;
  for (const std::string& text : options.tokens) tokens.push_back(parse_token(text));
  const Settler settler(kind, options);
  const Store store = context.open_store();
  const std::string done = outcome_name(kind, options.dead);
  uint64_t settled = 0;
  int exit_code = exit_ok;
  for (const wq_token& token : tokens) {
    Queue queue;
    Batch batch;
    wq_error err = WQ_ERROR_INIT;
    // A job that no queue has any more was settled or removed: its token is as stale as can be.
    const int32_t code = find_job(context, store, options.queue, token.id, queue, batch)
                             ? settler.settle(queue.get(), token, err)
                             : WQ_STALE;
    tell_outcome(context.out(), token_text(token.id, token.generation), done, code,
                 message_of(code, err));
    settled += code == WQ_OK;
    if (code != WQ_OK && exit_code == exit_ok) exit_code = exit_code_of(code);
  }
  if (settled > 0) context.out().note(done + " " + plural(settled, "job"));
  return exit_code;
}

int run_cancel(Context& context, const CancelOptions& options) {
  std::vector<uint64_t> ids;
  for (const std::string& text : options.jobs) ids.push_back(parse_job_id(text));
  const Store store = context.open_store();
  uint64_t cancelled = 0;
  int exit_code = exit_ok;
  for (const uint64_t id : ids) {
    Queue queue;
    Batch batch;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = find_job(context, store, options.queue, id, queue, batch)
                             ? wq_job_cancel(queue.get(), id, nullptr, &err)
                             : WQ_E_NOT_FOUND;
    const std::string message =
        code == WQ_CONFLICT ? "the job is dead; see wq dead rm" : message_of(code, err);
    tell_outcome(context.out(), std::to_string(id), "cancelled", code, message);
    cancelled += code == WQ_OK;
    if (code != WQ_OK && exit_code == exit_ok) exit_code = exit_code_of(code);
  }
  if (cancelled > 0) context.out().note("cancelled " + plural(cancelled, "job"));
  return exit_code;
}

}  // namespace wq::cli
