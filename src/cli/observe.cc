// wq explain, events and metrics: why something waits, what happens, and the figures for a
// monitoring system. Each cause of an explanation comes with the command that does something about
// it.
#include <algorithm>

#include "cli/commands.h"
#include "cli/event_view.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/queue_view.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

struct Cause {
  uint32_t bit;
  const char* name;
};

constexpr Cause causes[] = {{WQ_WHY_STOPPED, "stopped"},   {WQ_WHY_PAUSED, "paused"},
                            {WQ_WHY_DISABLED, "disabled"}, {WQ_WHY_DELAYED, "delayed"},
                            {WQ_WHY_SLOTS, "slots"},       {WQ_WHY_BEHIND, "behind"},
                            {WQ_WHY_HELD, "held"},         {WQ_WHY_LATE, "late"},
                            {WQ_WHY_DEAD, "dead"},         {WQ_WHY_EMPTY, "empty"},
                            {WQ_WHY_GROUP, "group"},       {WQ_WHY_RATE, "rate"},
                            {WQ_WHY_COOLING, "cooling"},   {WQ_WHY_NO_CONSUMER, "no_consumer"}};

// What a person can do about it.
struct Hints {
  std::string queue;  // as it can be typed
  std::string token;  // of the job; empty: the explanation is of a queue
  uint64_t holder = 0;
};

void add_hints(uint32_t why, const Hints& about, std::vector<std::string>& out) {
  const auto hint = [&](uint32_t bit, const std::string& text) {
    if (why & bit) out.push_back(text);
  };
  hint(WQ_WHY_PAUSED, "wq queue resume " + about.queue + "  hands jobs out again");
  hint(WQ_WHY_DISABLED, "wq queue enable " + about.queue + "  takes and hands out jobs again");
  hint(WQ_WHY_SLOTS,
       "wq explain " + std::to_string(about.holder) + "  tells of the job that is held longest");
  hint(WQ_WHY_SLOTS, "wq queue set " + about.queue + " --max-running N  changes the limit");
  hint(WQ_WHY_GROUP, "wq queue set " + about.queue + " --group-limit N  changes that limit");
  hint(WQ_WHY_RATE, "wq queue set " + about.queue +
                        " --rate RATE  changes the rate, --key-rate that of its keys");
  hint(WQ_WHY_COOLING, "wq queue set " + about.queue +
                           " --throttle none  ends it; --throttle N/WINDOW:COOL changes it");
  if (about.token.empty()) {
    hint(WQ_WHY_EMPTY, "wq push -q " + about.queue + " PAYLOAD  enqueues a job");
  } else {
    hint(WQ_WHY_DEAD, "wq dead show " + about.token + "  shows it in full");
    hint(WQ_WHY_DEAD, "wq dead replay " + about.token + "  makes it ready again");
    hint(WQ_WHY_HELD, "wq show " + about.token + "  shows it in full");
  }
  const bool could_run = (why & ~(WQ_WHY_NO_CONSUMER | WQ_WHY_BEHIND)) == 0;
  if (could_run) {
    hint(WQ_WHY_NO_CONSUMER, "wq work -q " + about.queue + " -- COMMAND  works on the queue");
  }
}

class Text {
 public:
  Text() = default;
  ~Text() { wq_text_free(&text_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  wq_text** out() { return &text_; }
  std::string_view view() const { return view_of(wq_text_bytes(text_)); }

 private:
  wq_text* text_ = nullptr;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

List list_of(const std::vector<std::string>& texts) {
  List list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

List cause_names(uint32_t why) {
  List list;
  for (const Cause& cause : causes) {
    if (why & cause.bit) list.emplace_back(cause.name);
  }
  return list;
}

template <typename T>
void add_slots(Record& record, const T& explanation) {
  record.add("slots_taken", explanation.slots_taken)
      .add("slots_max", explanation.slots_max)
      .add("consumers_waiting", explanation.consumers_waiting);
  if (explanation.holder_id == 0) return;
  record.add("holder", token_text(explanation.holder_id, explanation.holder_generation))
      .add("holder_age_ms", explanation.holder_age_ms);
}

void tell(Output& out, Record record, uint32_t why, const Text& text, const Hints& about) {
  std::vector<std::string> hints;
  add_hints(why, about, hints);
  const std::vector<std::string> lines = lines_of(text.view());
  if (out.json()) {
    record.add("causes", cause_names(why)).add("text", list_of(lines)).add("hints", list_of(hints));
    out.record(record);
    return;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    out.line(i == 0 ? out.paint(Color::bold, printable(lines[i])) : "  " + printable(lines[i]));
  }
  for (const std::string& hint : hints) out.line(out.paint(Color::dim, "    " + hint));
}

bool explain_job(Context& context, const Store& store, const std::string& name, uint64_t id) {
  const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
  wq_error err = WQ_ERROR_INIT;
  wq_job_explanation found = WQ_JOB_EXPLANATION_INIT;
  Text text;
  const int32_t code = wq_job_explain(queue.get(), id, &found, text.out(), &err);
  if (code == WQ_E_NOT_FOUND) return false;
  check(code, err);
  Batch batch;  // for its token; it may be gone by now
  const int32_t read = wq_job_get(queue.get(), id, batch.out(), &err);
  const uint64_t generation = read == WQ_OK ? job_at(batch, 0).generation : 0;
  Record record;
  record.add("id", id).add("generation", generation);
  record.add_bytes("queue", name);
  record.add("state", state_name(found.state)).add("queue_status", status_name(found.queue_status));
  if (found.until_ms != 0) record.add("until_ms", found.until_ms);
  if (found.state == WQ_STATE_DEAD) record.add("dead_reason", dead_reason_name(found.dead_reason));
  if (found.state == WQ_STATE_READY) {
    record.add("ahead", found.ahead).add("ahead_exact", found.ahead_exact != 0);
  }
  add_slots(record, found);
  const std::string token = generation != 0 ? token_text(id, generation) : std::to_string(id);
  tell(context.out(), std::move(record), found.causes, text,
       Hints{printable(name, 60), token, found.holder_id});
  return true;
}

int explain_queue(Context& context, const std::string& name) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
  wq_error err = WQ_ERROR_INIT;
  wq_queue_explanation found = WQ_QUEUE_EXPLANATION_INIT;
  Text text;
  check(wq_queue_explain(queue.get(), &found, text.out(), &err), err);
  Record record;
  record.add_bytes("queue", name);
  record.add("status", status_name(found.status))
      .add("leasable", found.leasable)
      .add("oldest_ready_age_ms", found.oldest_ready_age_ms)
      .add("parked", found.parked)
      .add("rate_wait_ms", found.rate_wait_ms);
  add_slots(record, found);
  tell(context.out(), std::move(record), found.causes, text,
       Hints{printable(name, 60), "", found.holder_id});
  return exit_ok;
}

bool names_a_job(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789:") == std::string::npos;
}

}  // namespace

int run_explain(Context& context, const ExplainOptions& options) {
  if (options.target.empty() && options.queue.empty()) fail_usage("which job, or which queue?");
  if (!names_a_job(options.target)) {
    if (!options.target.empty() && !options.queue.empty()) {
      fail_usage("'" + printable(options.target, 60) + "' is no job id; give a job or a queue");
    }
    return explain_queue(context, options.target.empty() ? options.queue : options.target);
  }
  const uint64_t id = parse_job_id(options.target);
  const Store store = context.open_store();
  const std::vector<std::string> names =
      options.queue.empty() ? queue_names(store) : std::vector<std::string>{options.queue};
  for (const std::string& name : names) {
    if (explain_job(context, store, name, id)) return exit_ok;
  }
  fail(exit_not_found, no_such_job(id));
}

int run_events(Context& context, const EventsOptions& options) {
  constexpr int64_t look_for_signals_ms = 200;
  const int64_t for_ms = options.follow ? -1 : parse_duration_ms("--for", options.time);
  OpenOptions open;
  open.events_max = events_kept;
  open.expire_leases = options.expire_leases;
  const StopSignals signals;
  const Store store = context.open_store(open);
  const int64_t end_ms = wall_clock_ms() + for_ms;
  EventReader reader(store);
  Output& out = context.out();
  for (;;) {
    const int64_t left_ms = for_ms < 0 ? look_for_signals_ms : end_ms - wall_clock_ms();
    reader.read(
        std::clamp<int64_t>(left_ms, 0, look_for_signals_ms),
        [&](const wq_store_event& event) { tell_event(out, event); },
        [&](uint64_t dropped) { tell_dropped(out, dropped); });
    out.flush();
    if (left_ms <= 0 || signals.count() > 0) return exit_ok;
  }
}

int run_metrics(Context& context) {
  const Store store = context.open_store();
  wq_error err = WQ_ERROR_INIT;
  Text text;
  check(wq_store_metrics(store.get(), text.out(), &err), err);
  if (context.out().json()) {
    context.out().record(Record().add("metrics", text.view()));
  } else {
    context.out().raw(text.view());
  }
  return exit_ok;
}

}  // namespace wq::cli
