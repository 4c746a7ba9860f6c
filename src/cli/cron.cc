// wq cron: schedules, which enqueue a job by the clock while a process has the store open.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/made_queues.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

using Schedules = Handle<wq_crons, wq_crons_free>;

constexpr size_t page_schedules = 1'000;

wq_cron cron_at(const Schedules& schedules, size_t i) {
  wq_cron cron = WQ_CRON_INIT;
  wq_crons_at(schedules.get(), i, &cron);
  return cron;
}

uint32_t parse_catch_up(const std::string& text) {
  if (text == "none") return 0;
  if (text == "one") return 1;
  if (text == "all") return 1'000;
  const uint64_t count = parse_number("--catch-up", text);
  if (count > 1'000) fail_usage("--catch-up: at most 1000");
  return static_cast<uint32_t>(count);
}

// Whether its job would find the queue full; what a job takes beside its payload is not counted.
bool finds_full(Context& context, const Store& store, const wq_cron& cron) {
  const Queue queue = context.open_queue(store, view_of(cron.queue_name), OpenMode::must_exist);
  wq_error err = WQ_ERROR_INIT;
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  check(wq_queue_get_config(queue.get(), &config, &err), err);
  check(wq_queue_get_stats(queue.get(), &stats, &err), err);
  if (config.full_policy == WQ_FULL_DROP_OLDEST) return false;
  if (config.max_depth != 0 && stats.ready + stats.delayed >= config.max_depth) return true;
  return config.max_bytes != 0 && stats.waiting_bytes + cron.payload.len > config.max_bytes;
}

// What the store says of a schedule that can not run it keeps in memory only, and a process that
// has just opened it may be told nothing yet: so what can be seen from here is said too.
struct Standing {
  bool overdue = false;  // a slot is due, and did not run
  std::string problem;   // why, as far as it is known
};

Standing standing_of(Context& context, const Store& store, const wq_cron& cron) {
  Standing standing;
  const bool paused = (cron.flags & WQ_CRON_PAUSED) != 0;
  standing.overdue = !paused && cron.next_due_ms != 0 && cron.next_due_ms <= wall_clock_ms();
  if (cron.problem.len > 0) {
    standing.problem = view_of(cron.problem);
  } else if (standing.overdue && finds_full(context, store, cron)) {
    standing.problem = "overdue: its queue is full";
  }
  return standing;
}

std::string next_text(const wq_cron& cron, const Standing& standing) {
  if (cron.flags & WQ_CRON_PAUSED) return "paused";
  if (cron.next_due_ms == 0) return "never";
  return format_time(cron.next_due_ms) + (standing.overdue ? ", overdue" : "");
}

Record record_of(const wq_cron& cron, const Standing& standing) {
  Record record = cron_record(cron, cron.zone.len > 0 ? view_of(cron.zone) : "UTC");
  record.add("queue", view_of(cron.queue_name));
  if (cron.key_id != 0) record.add("key", cron.key_id);
  if (cron.payload_code != WQ_OK) record.add("payload_error", wq_error_name(cron.payload_code));
  record.add("overdue", standing.overdue);
  if (!standing.problem.empty()) record.add("problem", standing.problem);
  return record;
}

// When the expression is due after `from_ms`: `count` times, or as many as there are.
std::vector<int64_t> next_times(const CronOptions& options, int64_t from_ms, size_t count) {
  std::vector<int64_t> times(count);
  const std::string zone = options.zone == "UTC" ? std::string() : options.zone;
  size_t found = 0;
  wq_error err = WQ_ERROR_INIT;
  check(wq_cron_next(options.expression.data(), options.expression.size(), zone.data(), zone.size(),
                     from_ms, times.data(), times.size(), &found, &err),
        err);
  times.resize(found);
  return times;
}

// What was put, as the store has it now.
void tell_schedule(Context& context, const Store& store, const std::string& name) {
  wq_error err = WQ_ERROR_INIT;
  Schedules schedules;
  check(wq_cron_get(store.get(), name.data(), name.size(), schedules.out(), &err), err);
  const wq_cron cron = cron_at(schedules, 0);
  const Standing standing = standing_of(context, store, cron);
  if (context.out().json()) return context.out().record(record_of(cron, standing));
  Card card;
  card.add("schedule", printable(view_of(cron.name)));
  card.add("queue", printable(view_of(cron.queue_name)));
  card.add("expression", printable(view_of(cron.expression)));
  card.add("zone", cron.zone.len > 0 ? printable(view_of(cron.zone)) : "UTC");
  card.add("next", next_text(cron, standing));
  card.add("last", format_time(cron.last_slot_ms));
  card.add("catch-up", format_count(cron.catch_up));
  card.add("fired", format_count(cron.fired));
  card.add("missed", format_count(cron.missed));
  if (!standing.problem.empty()) card.add("problem", printable(standing.problem));
  card.add("payload",
           cron.payload_code == WQ_OK ? printable(view_of(cron.payload), 200) : "unreadable");
  card.print(context.out());
}

int change_schedule(Context& context, const CronOptions& options, decltype(wq_cron_pause)* change) {
  const Store store = context.open_store();
  wq_error err = WQ_ERROR_INIT;
  check(change(store.get(), options.name.data(), options.name.size(), nullptr, &err), err);
  tell_schedule(context, store, options.name);
  return exit_ok;
}

}  // namespace

int run_cron_add(Context& context, const CronOptions& options) {
  std::vector<JobDraft> drafts(1);
  JobDraft& draft = drafts[0];
  draft.payload = options.payload;
  for (const std::string& header : options.headers) draft.headers.push_back(parse_header(header));
  draft.has_priority = options.priority >= 0;
  if (draft.has_priority) draft.priority = static_cast<uint32_t>(options.priority);
  draft.max_attempts = options.max_attempts;
  if (!options.backoff.empty()) draft.backoff = parse_backoff("--backoff", options.backoff);
  if (options.encrypt) draft.encrypt_flag = WQ_JOB_ENCRYPT;
  if (options.plain) draft.encrypt_flag = WQ_JOB_PLAIN;
  next_times(options, wall_clock_ms(), 1);  // an expression that is none makes no store
  const SpecList specs(drafts);
  wq_cron_spec spec = WQ_CRON_SPEC_INIT;
  spec.expression = bytes_of(options.expression);
  if (options.zone != "UTC") spec.zone = bytes_of(options.zone);
  spec.job = specs.data();
  if (!options.catch_up.empty()) {
    spec.flags |= WQ_CRON_CATCH_UP;
    spec.catch_up = parse_catch_up(options.catch_up);
  }
  const Store store = context.open_store({OpenMode::create, false, 0});
  MadeQueues made(context, store);
  const Queue queue = made.open(options.queue);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      wq_cron_put(queue.get(), options.name.data(), options.name.size(), &spec, nullptr, &err);
  made.ended(code);
  check(code, err);
  tell_schedule(context, store, options.name);
  return exit_ok;
}

int run_cron_show(Context& context, const CronOptions& options) {
  tell_schedule(context, context.open_store(), options.name);
  return exit_ok;
}

int run_cron_rm(Context& context, const CronOptions& options) {
  const Store store = context.open_store();
  wq_error err = WQ_ERROR_INIT;
  check(wq_cron_remove(store.get(), options.name.data(), options.name.size(), nullptr, &err), err);
  if (context.out().json()) {
    context.out().record(Record().add_bytes("schedule", options.name).add("removed", true));
  }
  context.out().note("removed schedule " + printable(options.name, 60));
  return exit_ok;
}

int run_cron_pause(Context& context, const CronOptions& options) {
  return change_schedule(context, options, wq_cron_pause);
}

int run_cron_resume(Context& context, const CronOptions& options) {
  return change_schedule(context, options, wq_cron_resume);
}

int run_cron_ls(Context& context, const CronOptions& options) {
  const Store store = context.open_store();
  Queue queue;
  if (!options.queue.empty()) {
    queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  }
  using Align = Table::Align;
  Table table({{"schedule"},
               {"queue"},
               {"expression"},
               {"zone"},
               {"next"},
               {"fired", Align::right},
               {"missed", Align::right}});
  std::string after;
  for (bool more = true; more;) {
    wq_error err = WQ_ERROR_INIT;
    Schedules page;
    check(wq_cron_list(store.get(), queue.get(), after.data(), after.size(), page_schedules,
                       page.out(), &err),
          err);
    const size_t count = wq_crons_count(page.get());
    more = count == page_schedules;
    for (size_t i = 0; i < count; ++i) {
      const wq_cron cron = cron_at(page, i);
      after = view_of(cron.name);
      const Standing standing = standing_of(context, store, cron);
      if (context.out().json()) {
        context.out().record(record_of(cron, standing));
        continue;
      }
      table.add(
          {printable(view_of(cron.name), 40), printable(view_of(cron.queue_name), 40),
           printable(view_of(cron.expression), 40),
           cron.zone.len > 0 ? printable(view_of(cron.zone), 40) : "UTC",
           standing.problem.empty() ? next_text(cron, standing) : printable(standing.problem, 60),
           format_count(cron.fired), format_count(cron.missed)});
    }
  }
  if (!table.empty()) table.print(context.out());
  if (after.empty()) context.out().note("no schedule");
  return after.empty() ? exit_empty : exit_ok;
}

int run_cron_next(Context& context, const CronOptions& options) {
  const int64_t from_ms =
      options.from.empty() ? wall_clock_ms() : parse_time_ms("--from", options.from);
  const std::vector<int64_t> times = next_times(options, from_ms, options.count);
  for (const int64_t time_ms : times) {
    if (context.out().json()) {
      context.out().record(Record().add("due_ms", time_ms));
    } else {
      context.out().line(format_time(time_ms));
    }
  }
  return times.empty() ? exit_empty : exit_ok;
}

}  // namespace wq::cli
