// wq ack, nack, release and extend: settle what wq pull handed out, or hold it for longer. Every
// token is tried; each refused one is told, and the first refusal gives the exit code.
#include <algorithm>
#include <map>
#include <utility>

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

constexpr size_t call_jobs_max = 10'000;

// The options of the command line in the form of wq.h; parsed once, before the store is opened.
class Settler {
 public:
  Settler(SettleKind kind, const SettleOptions& options) : kind_(kind), options_(options) {
    lease_ms_ = parse_lease_ms(options.lease);
    durability_ = durability_of("--durability", options.durability);
    fill_item();
  }

  // Settles or extends tokens of one queue in one change. `codes` gets what became of each.
  void settle(wq_queue* queue, const std::vector<wq_token>& tokens,
              std::vector<int32_t>& codes) const {
    codes.assign(tokens.size(), WQ_OK);
    for (size_t first = 0; first < tokens.size(); first += call_jobs_max) {
      const size_t count = std::min(call_jobs_max, tokens.size() - first);
      settle_some(queue, tokens.data() + first, count, codes.data() + first);
    }
  }

 private:
  void fill_item() {
    const bool nack = kind_ == SettleKind::nack && !options_.dead;
    item_.kind = kind_ == SettleKind::ack       ? WQ_SETTLE_ACK
                 : kind_ == SettleKind::release ? WQ_SETTLE_RELEASE
                 : nack                         ? WQ_SETTLE_NACK
                                                : WQ_SETTLE_FAIL;
    if (!options_.delay.empty()) item_.delay_ms = parse_duration_ms("--delay", options_.delay);
    item_.error = bytes_of(options_.error);
    if (!options_.reason.empty()) item_.reason = dead_reason_of("--reason", options_.reason);
    item_.result = bytes_of(options_.result);
    if (kind_ == SettleKind::release && options_.front) item_.flags |= WQ_RELEASE_FRONT;
    if (!nack) return;
    if (!options_.delay.empty()) item_.flags |= WQ_NACK_DELAY;
    if (options_.front) item_.flags |= WQ_NACK_FRONT;
    if (options_.no_exception) item_.flags |= WQ_NACK_NO_EXCEPTION;
    if (options_.priority < 0) return;
    item_.flags |= WQ_NACK_PRIORITY;
    item_.priority = static_cast<uint32_t>(options_.priority);
  }

  void settle_some(wq_queue* queue, const wq_token* tokens, size_t count, int32_t* codes) const {
    wq_call call = WQ_CALL_INIT;
    call.durability = durability_;
    wq_error err = WQ_ERROR_INIT;
    int32_t code = WQ_OK;
    if (kind_ == SettleKind::extend) {
      code = wq_extend(queue, tokens, count, lease_ms_, codes, &call, &err);
    } else {
      std::vector<wq_settle_item> items(count, item_);
      for (size_t i = 0; i < count; ++i) {
        items[i].id = tokens[i].id;
        items[i].generation = tokens[i].generation;
      }
      code = wq_settle_many(queue, items.data(), count, sizeof(wq_settle_item), codes, &call, &err);
    }
    // A token that is refused does not stop the others; anything else is a failure of the call.
    if (code != WQ_OK && std::find(codes, codes + count, code) == codes + count) check(code, err);
  }

  const SettleKind kind_;
  const SettleOptions& options_;
  int64_t lease_ms_ = 0;
  uint32_t durability_ = 0;
  wq_settle_item item_ = WQ_SETTLE_ITEM_INIT;
};

// The tokens of one queue, where they stand on the command line, and whether the job has no attempt
// left.
struct QueueTokens {
  Queue queue;
  std::vector<wq_token> tokens;
  std::vector<size_t> places;
  std::vector<bool> last_attempts;
};

std::map<std::string, QueueTokens> by_queue(Context& context, const Store& store,
                                            const std::string& only, bool is_exception,
                                            const std::vector<wq_token>& tokens) {
  std::map<std::string, QueueTokens> found;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Queue queue;
    Batch batch;
    if (!find_job(context, store, only, tokens[i].id, queue, batch)) continue;
    const wq_job job = job_at(batch, 0);
    QueueTokens& mine = found[std::string(view_of(job.queue_name))];
    if (mine.queue.get() == nullptr) mine.queue = std::move(queue);
    mine.tokens.push_back(tokens[i]);
    mine.places.push_back(i);
    mine.last_attempts.push_back(is_last_attempt(job, is_exception));
  }
  return found;
}

// What became of one token.
struct Settled {
  // A job that no queue has any more was settled or removed: its token is as stale as can be.
  int32_t code = WQ_STALE;
  bool dead = false;
};

void tell_settled(Output& out, const wq_token& token, const Settled& settled, SettleKind kind,
                  const std::string& done) {
  Outcome outcome{token.id, token.generation, done, ""};
  if (settled.code != WQ_OK) {
    outcome.outcome = wq_error_name(settled.code);
    outcome.message = wq_strerror(settled.code);
  }
  if (settled.code == WQ_STALE) {
    outcome.message =
        "settled already, or the lease ended; see wq show " + std::to_string(token.id);
  }
  if (!out.json() || settled.code != WQ_OK || kind != SettleKind::nack) {
    return tell_outcome(out, outcome);
  }
  out.record(outcome_record(outcome).add("dead", settled.dead));
}

// Nobody else would say that a result is lost.
void tell_lost_result(Output& out, wq_queue* queue, const std::string& name) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  wq_error err = WQ_ERROR_INIT;
  check(wq_queue_get_config(queue, &config, &err), err);
  if (config.keep_done_count != 0 || config.keep_done_age_ms != 0) return;
  out.warning("queue '" + printable(name, 60) +
              "' keeps no history, so the result is not kept; see wq queue set --keep-done");
}

}  // namespace

int run_settle(Context& context, SettleKind kind, const SettleOptions& options) {
  std::vector<wq_token> tokens;
  for (const std::string& text : options.tokens) tokens.push_back(parse_token(text));
  const Settler settler(kind, options);
  const Store store = context.open_store();
  std::vector<Settled> all(tokens.size());
  for (const auto& [name, mine] :
       by_queue(context, store, options.queue, !options.no_exception, tokens)) {
    std::vector<int32_t> codes;
    settler.settle(mine.queue.get(), mine.tokens, codes);
    for (size_t i = 0; i < codes.size(); ++i) {
      const bool dead = options.dead || (kind == SettleKind::nack && mine.last_attempts[i]);
      all[mine.places[i]] = {codes[i], codes[i] == WQ_OK && dead};
    }
    if (!options.result.empty()) tell_lost_result(context.out(), mine.queue.get(), name);
  }
  const std::string done = outcome_name(kind, options.dead);
  uint64_t settled = 0, dead = 0;
  int exit_code = exit_ok;
  for (size_t i = 0; i < tokens.size(); ++i) {
    tell_settled(context.out(), tokens[i], all[i], kind, done);
    settled += all[i].code == WQ_OK;
    dead += all[i].dead;
    if (all[i].code != WQ_OK && exit_code == exit_ok) exit_code = exit_code_of(all[i].code);
  }
  const std::string died =
      dead > 0 ? ", " + format_count(dead) + " dead: no attempt left, see wq dead ls" : "";
  if (settled > 0)
    context.out().note(done + " " + plural(settled, "job") + (options.dead ? "" : died));
  return exit_code;
}

}  // namespace wq::cli
