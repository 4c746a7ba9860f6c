// wq dead: dead letters are listed, looked at, replayed and removed by their entry, which is the id
// and the last generation of the job, written like a token.
#include <algorithm>

#include "cli/commands.h"
#include "cli/dead_bulk.h"
#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr uint32_t page_max = 1000;
constexpr size_t error_columns = 48;
constexpr size_t payload_columns = 24;

wq_dead_query query_of(const DeadOptions& options) {
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  if (options.oldest_first) query.flags |= WQ_DEAD_OLDEST_FIRST;
  query.cursor = options.cursor;
  query.reason = dead_reason_of("--reason", options.reason);
  query.from_ms = parse_bound_ms("--since", options.since);
  query.until_ms = parse_bound_ms("--until", options.until);
  query.error_part = bytes_of(options.error);
  return query;
}

// Walks the listing in pages up to `limit` entries (0: all) and calls visit(batch, i) for each.
// Returns the cursor that goes on, 0 at the end. An entry that `visit` removes or replays disturbs
// nothing: the cursor names a place, not a number of entries.
template <typename Visit>
uint64_t each_dead(const Queue& queue, wq_dead_query query, uint64_t limit, const Visit& visit) {
  uint64_t seen = 0;
  for (;;) {
    query.limit =
        limit == 0 ? page_max : static_cast<uint32_t>(std::min<uint64_t>(page_max, limit - seen));
    wq_error err = WQ_ERROR_INIT;
    Batch batch;
    uint64_t next_cursor = 0;
    const int32_t code = wq_dead_list(queue.get(), &query, batch.out(), &next_cursor, &err);
    if (code == WQ_EMPTY) return 0;
    check(code, err);
    for (size_t i = 0; i < wq_batch_count(batch.get()); ++i) visit(batch, i);
    seen += wq_batch_count(batch.get());
    if (next_cursor == 0 || (limit != 0 && seen >= limit)) return next_cursor;
    query.cursor = next_cursor;
  }
}

std::vector<std::string> queues_of(const Store& store, const DeadOptions& options) {
  if (!options.queue.empty()) return {options.queue};
  if (options.cursor != 0) fail_usage("--cursor needs -q: it belongs to the listing of one queue");
  return queue_names(store);
}

bool has_dead(const Queue& queue, wq_dead_query query) {
  query.limit = 1;
  wq_error err = WQ_ERROR_INIT;
  Batch batch;
  const int32_t code = wq_dead_list(queue.get(), &query, batch.out(), nullptr, &err);
  if (code != WQ_EMPTY) check(code, err);
  return code == WQ_OK;
}

// How to see what the limit left out: the same command from `cursor` on.
void tell_more(Output& out, const DeadOptions& options, const std::string& name, uint64_t cursor) {
  if (out.json()) {
    Record record;
    record.add_bytes("queue", name);
    out.record(record.add("next_cursor", cursor));
    return;
  }
  std::string command = "wq dead ls -q " + printable(name, 60);
  if (options.limit != 0) command += " -n " + std::to_string(options.limit);
  if (options.oldest_first) command += " --oldest";
  if (!options.reason.empty()) command += " --reason " + options.reason;
  if (!options.since.empty()) command += " --since " + options.since;
  if (!options.until.empty()) command += " --until " + options.until;
  if (!options.error.empty()) command += " --error '" + printable(options.error) + "'";
  if (cursor != 0) command += " --cursor " + std::to_string(cursor);
  out.note("more: " + command);
}

void add_row(Table& table, const Batch& batch, size_t i) {
  const wq_job job = job_at(batch, i);
  table.add({token_text(job.id, job.generation), printable(view_of(job.queue_name), 30),
             format_time(job.dead_ms), dead_reason_name(job.dead_reason),
             std::to_string(job.attempts), printable(view_of(job.last_error), error_columns),
             format_bytes(job.payload.len), printable(view_of(job.payload), payload_columns)});
}

// The entry of the command line, and the queue that has it. A bare id stands for the entry that is
// there now; an entry that is no more is stale.
struct Entry {
  Queue queue;
  Batch batch;
  wq_token token{};
};

int32_t find_entry(Context& context, const Store& store, const DeadOptions& options,
                   const std::string& text, Entry& entry) {
  const bool is_token = text.find(':') != text.npos;
  entry.token = is_token ? parse_token(text) : wq_token{parse_job_id(text), 0};
  if (!find_job(context, store, options.queue, entry.token.id, entry.queue, entry.batch)) {
    return WQ_E_NOT_FOUND;
  }
  const wq_job job = job_at(entry.batch, 0);
  if (job.state != WQ_STATE_DEAD) return is_token ? WQ_STALE : WQ_E_NOT_FOUND;
  if (is_token && job.generation != entry.token.generation) return WQ_STALE;
  entry.token.generation = job.generation;
  return WQ_OK;
}

using EntryCall = int32_t (*)(wq_queue*, uint64_t, uint64_t, wq_call*, wq_error*);

// A bare id that was not found has no generation.
void tell_entry(Output& out, const wq_token& entry, const char* done, int32_t code,
                const std::string& message) {
  Outcome outcome{entry.id, std::nullopt, done, ""};
  if (entry.generation != 0) outcome.generation = entry.generation;
  if (code != WQ_OK) {
    outcome.outcome = wq_error_name(code);
    outcome.message = message;
  }
  tell_outcome(out, outcome);
}

std::string entry_problem(int32_t code, const wq_error& err) {
  if (code == WQ_E_NOT_FOUND) return "there is no such dead letter";
  if (code == WQ_STALE) return "no dead letter any more: replayed, removed, or it died again";
  return message_of(code, err);
}

// Every entry is tried; the first refusal gives the exit code.
int each_named_entry(Context& context, const DeadOptions& options, const char* done,
                     EntryCall entry_call) {
  const Store store = context.open_store();
  uint64_t count = 0;
  int exit_code = exit_ok;
  for (const std::string& text : options.entries) {
    Entry entry;
    wq_error err = WQ_ERROR_INIT;
    int32_t code = find_entry(context, store, options, text, entry);
    if (code == WQ_OK) {
      code = entry_call(entry.queue.get(), entry.token.id, entry.token.generation, nullptr, &err);
    }
    tell_entry(context.out(), entry.token, done, code, entry_problem(code, err));
    count += code == WQ_OK;
    if (code != WQ_OK && exit_code == exit_ok) exit_code = exit_code_of(code);
  }
  if (count > 0) {
    context.out().note(done + std::string(" ") + plural(count, "dead letter"));
  }
  return exit_code;
}

}  // namespace

int run_dead_ls(Context& context, const DeadOptions& options) {
  if (options.all && options.limit != 0) fail_usage("--all and --limit exclude each other");
  const wq_dead_query query = query_of(options);
  const Store store = context.open_store();
  Output& out = context.out();
  Table table({{"entry"},
               {"queue"},
               {"died"},
               {"reason"},
               {"attempts", Table::Align::right},
               {"last error"},
               {"size", Table::Align::right},
               {"payload"}});
  constexpr uint64_t limit_default = 100;
  uint64_t left = options.all ? UINT64_MAX : options.limit != 0 ? options.limit : limit_default;
  bool any = false;
  std::vector<std::pair<std::string, uint64_t>> more;  // queue and cursor
  for (const std::string& name : queues_of(store, options)) {
    const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
    if (left == 0) {  // others come first: this one goes on from its start
      if (has_dead(queue, query)) more.emplace_back(name, 0);
      continue;
    }
    const uint64_t next_cursor = each_dead(queue, query, left, [&](const Batch& batch, size_t i) {
      any = true;
      --left;
      if (out.json()) {
        out.record(job_record(batch, i));
      } else {
        add_row(table, batch, i);
      }
    });
    if (next_cursor != 0) more.emplace_back(name, next_cursor);
  }
  if (!table.empty()) table.print(out);
  for (const auto& [name, cursor] : more) tell_more(out, options, name, cursor);
  if (!any) out.note("no dead letters");
  return any ? exit_ok : exit_empty;
}

int run_dead_show(Context& context, const DeadOptions& options) {
  const Store store = context.open_store();
  Output& out = context.out();
  for (const std::string& text : options.entries) {
    Entry entry;
    const int32_t code = find_entry(context, store, options, text, entry);
    if (code != WQ_OK) {
      const wq_error err = WQ_ERROR_INIT;
      throw Failure{exit_code_of(code), code, text + ": " + entry_problem(code, err)};
    }
    if (!options.payload_file.empty()) {
      write_payload(out, options.payload_file, job_at(entry.batch, 0));
    } else if (out.json()) {
      out.record(job_record(entry.batch, 0));
    } else {
      print_job(out, entry.batch, 0);
    }
  }
  return exit_ok;
}

int run_dead_replay(Context& context, const DeadOptions& options) {
  if (dead_filter_given("dead replay", options)) return replay_matching(context, options);
  return each_named_entry(context, options, "replayed", wq_dead_replay);
}

int run_dead_rm(Context& context, const DeadOptions& options) {
  if (dead_filter_given("dead rm", options)) return remove_matching(context, options);
  return each_named_entry(context, options, "removed", wq_dead_remove);
}

int run_dead_purge(Context& context, const DeadOptions& options) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  wq_error err = WQ_ERROR_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  check(wq_queue_get_stats(queue.get(), &stats, &err), err);
  if (stats.dead > 0 && !options.yes) {
    fail(exit_usage, "this would remove " + plural(stats.dead, "dead letter") + " of " +
                         printable(options.queue, 60) + " for ever; say --yes to do it");
  }
  uint64_t removed = 0;
  check(wq_dead_purge(queue.get(), &removed, nullptr, &err), err);
  if (context.out().json()) context.out().record(Record().add("removed", removed));
  context.out().note(removed == 0 ? "no dead letters"
                                  : "removed " + plural(removed, "dead letter"));
  return removed == 0 ? exit_empty : exit_ok;
}

}  // namespace wq::cli
