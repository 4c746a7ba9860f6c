// Bulk changes of dead letters. They can be stopped by a signal; what is done by then stays done,
// and is told like the rest.
#include "cli/dead_bulk.h"

#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

using BulkCall = int32_t (*)(wq_queue*, const wq_dead_filter*, wq_call*, wq_dead_report*,
                             wq_error*);

struct Verb {
  const char* past;   // "replayed", also the name of the member in JSON
  const char* would;  // "would replay"
  BulkCall call;
};
constexpr Verb replaying{"replayed", "would replay", wq_dead_replay_many};
constexpr Verb removing{"removed", "would remove", wq_dead_remove_many};

wq_dead_filter filter_of(const DeadOptions& options) {
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  if (!options.reason.empty()) filter.reason = dead_reason_of("--reason", options.reason);
  filter.from_ms = parse_bound_ms("--since", options.since);
  filter.until_ms = parse_bound_ms("--until", options.until);
  filter.error_part = {options.error.data(), options.error.size()};
  if (options.all) filter.flags |= WQ_DEAD_ALL;
  if (options.dry_run) filter.flags |= WQ_DEAD_DRY_RUN;
  return filter;
}

struct Watcher {
  Progress* progress;
  const StopSignals* signals;
  uint64_t before = 0;  // by the queues before this one
};

int32_t watch(uint64_t changed, uint64_t, void* ctx) {
  auto* const watcher = static_cast<Watcher*>(ctx);
  watcher->progress->update(watcher->before + changed);
  return watcher->signals->count() > 0 ? 1 : 0;
}

// Stops at the first queue that answers anything but WQ_OK; `err` has why.
int32_t each_queue(Context& context, const DeadOptions& options, const Verb& verb, uint64_t& done,
                   wq_error& err) {
  wq_dead_filter filter = filter_of(options);
  const Store store = context.open_store();
  const std::vector<std::string> names =
      options.queue.empty() ? queue_names(store) : std::vector<std::string>{options.queue};
  Output& out = context.out();
  const StopSignals signals;
  int32_t code = WQ_OK;
  for (const std::string& name : names) {
    if (code != WQ_OK || (options.limit != 0 && done >= options.limit)) break;
    const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
    wq_dead_report report = WQ_DEAD_REPORT_INIT;
    {
      Progress progress(out, verb.past, options.limit);
      Watcher watcher{&progress, &signals, done};
      filter.limit = options.limit == 0 ? 0 : options.limit - done;
      filter.progress = watch;
      filter.progress_ctx = &watcher;
      code = verb.call(queue.get(), &filter, nullptr, &report, &err);
    }
    done += report.changed;
    if (out.json() && (report.changed > 0 || !options.queue.empty())) {
      Record record;
      record.add_bytes("queue", name);
      record.add(options.dry_run ? std::string("would_be_") + verb.past : verb.past, report.changed)
          .add("examined", report.examined);
      out.record(record);
    }
  }
  return code;
}

int change_matching(Context& context, const DeadOptions& options, const Verb& verb) {
  uint64_t done = 0;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = each_queue(context, options, verb, done, err);
  const std::string told =
      std::string(options.dry_run ? verb.would : verb.past) + " " + plural(done, "dead letter");
  if (code != WQ_OK) {
    const std::string why = code == WQ_CANCELLED ? "stopped" : message_of(code, err);
    throw Failure{exit_code_of(code), code, why + "; " + told};
  }
  context.out().note(told);
  return done == 0 ? exit_empty : exit_ok;
}

}  // namespace

bool dead_filter_given(const char* command, const DeadOptions& options) {
  const bool conditions = !options.reason.empty() || !options.since.empty() ||
                          !options.until.empty() || !options.error.empty();
  const bool filter = options.all || conditions;
  if (filter == !options.entries.empty()) {
    fail_usage(std::string(command) +
               ": name entries, or choose by --reason, --since, --until, --error or --all");
  }
  if (!filter && (options.dry_run || options.limit != 0)) {
    fail_usage("--dry-run and --limit go with --reason, --since, --until, --error or --all");
  }
  return filter;
}

int replay_matching(Context& context, const DeadOptions& options) {
  return change_matching(context, options, replaying);
}

int remove_matching(Context& context, const DeadOptions& options) {
  if (!options.dry_run && !options.yes) {
    fail(exit_usage,
         "this would remove dead letters for ever; --dry-run counts them, say --yes to do it");
  }
  return change_matching(context, options, removing);
}

}  // namespace wq::cli
