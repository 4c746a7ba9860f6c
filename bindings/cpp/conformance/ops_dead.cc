// ops_dead.cc: dead letters and the history.
#include "runner.hpp"

namespace conformance {
namespace {

void list(Runner& r, const Line& line) {
  wq::DeadQuery query;
  query.oldest_first = line.flag("oldest_first");
  query.limit = line.u32("limit");
  query.reason = value_of_word(reasons, line.text("reason", "none"));
  query.from = line.time("from_ms");
  query.until = line.time("until_ms");
  query.error_part = line.text("error_part");
  std::vector<wq::Job> jobs;
  std::size_t pages = 0;
  do {
    const auto page = r.queue_of(line).dead().list(query);
    if (!page) return r.print(failure(page));
    for (const wq::Job& job : page->jobs) jobs.push_back(job);
    if (!page->jobs.empty()) pages++;
    query.cursor = page->cursor;
  } while (query.cursor != 0);
  r.print(pages == 0 ? "empty" : "ok pages=" + std::to_string(pages));
  for (const wq::Job& job : jobs) {
    r.learn(job);
    r.print_job(job);
  }
}

void get(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  const auto job = queue->dead().get(token);
  if (!job) return r.print(failure(job));
  r.print(word(job->outcome));
  if (!*job) return;
  r.learn(**job);
  r.print_job(**job);
}

void replay(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->dead().replay(token, call_of(line))));
}

void remove(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->dead().remove(token, call_of(line))));
}

using Many = wq::DeadReport (wq::DeadLetters::*)(const wq::DeadFilter&, const wq::Call&) const;

void many(Runner& r, const Line& line, Many change) {
  std::vector<wq::Token> entries;
  for (const std::string& name : line.list("jobs")) entries.push_back(r.named(name).token);
  wq::DeadFilter filter;
  filter.all = line.flag("all");
  filter.dry_run = line.flag("dry_run");
  filter.reason = value_of_word(reasons, line.text("reason", "none"));
  filter.from = line.time("from_ms");
  filter.until = line.time("until_ms");
  filter.error_part = line.text("error_part");
  filter.limit = static_cast<std::uint64_t>(line.number_of("limit"));
  filter.entries = entries;
  const wq::DeadLetters dead = r.queue_of(line).dead();
  const wq::DeadReport report = (dead.*change)(filter, call_of(line));
  const bool ok = report.result && *report.result == wq::Outcome::ok;
  r.print(outcome(report.result) + (ok ? " changed=" + std::to_string(report.changed) : ""));
}

void replay_many(Runner& r, const Line& line) {
  many(r, line, &wq::DeadLetters::replay_many);
}
void remove_many(Runner& r, const Line& line) {
  many(r, line, &wq::DeadLetters::remove_many);
}

void purge(Runner& r, const Line& line) {
  const auto removed = r.queue_of(line).dead().purge(call_of(line));
  r.print(removed ? "ok removed=" + std::to_string(*removed) : failure(removed));
}

void print_done(Runner& r, const wq::DoneJob& job) {
  std::string text = r.name_of(job.raw.id) + " attempts=" + std::to_string(job.raw.attempts) +
                     " priority=" + std::to_string(job.raw.priority);
  text += if_set("exceptions", job.raw.exceptions) + if_set("replays", job.raw.replays);
  if (job.raw.flow) text += " flow=" + r.flow_name(job.raw.flow);
  if (!job.result.empty()) text += " result=" + quoted(job.result);
  text += key_text(job.raw.key_id, "result_code", job.raw.result_code);
  r.row(text);
}

void history_get(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  const auto job = queue->history_get(token.id);
  if (!job) return r.print(failure(job));
  r.print("ok");
  print_done(r, *job);
}

void history_list(Runner& r, const Line& line) {
  const auto limit = static_cast<std::size_t>(line.number_of("limit", 100));
  std::vector<wq::DoneJob> jobs;
  std::uint64_t cursor = 0;
  do {
    const auto page = r.queue_of(line).history_list(cursor, limit);
    if (!page) return r.print(failure(page));
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    cursor = page->cursor;
  } while (cursor != 0);
  r.print("ok");
  for (const wq::DoneJob& job : jobs) print_done(r, job);
}

}  // namespace

const Table dead_ops{{"dead_list", list},
                     {"dead_get", get},
                     {"dead_replay", replay},
                     {"dead_remove", remove},
                     {"dead_replay_many", replay_many},
                     {"dead_remove_many", remove_many},
                     {"dead_purge", purge},
                     {"history_get", history_get},
                     {"history_list", history_list}};

}  // namespace conformance
