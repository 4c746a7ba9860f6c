#include "engine/inspect_rows.h"

#include <map>
#include <string>

#include "engine/batch.h"
#include "engine/cron.h"
#include "engine/cron_expr.h"
#include "engine/history.h"
#include "engine/residency.h"

namespace wq {
namespace {

void problem(VerifyReport& report, const std::string& what) {
  if (report.problems++ == 0) report.first_problem = what;
}

// Every row of a family: what memory knows goes over what the store holds.
template <typename Visit>
Status each_row(const State& state, const Store& store, Family family, VerifyReport& report,
                Visit&& visit) {
  const SideTable& table = state.side(family);
  const auto walk = store.scan(family, std::string(), std::string());
  for (; walk->valid(); walk->next()) {
    if (table.find(walk->key())) continue;
    ++report.entries;
    visit(walk->key(), walk->value());
  }
  table.for_each([&](const std::string& key, const std::optional<std::string>& value) {
    if (!value) return;
    ++report.entries;
    visit(key, *value);
  });
  return walk->status();
}

struct FoundBatch {
  uint64_t pending = 0;
  uint64_t shares = 0;
  int64_t finished_ms = 0;
  bool there = false;
  int64_t place_ms = 0;
};

// Whether the member is a job that is neither settled nor gone; the sweep has been by.
bool is_unsettled(const State& state, StoredJobReader& jobs, JobId id) {
  if (const Job* job = state.find(id)) {
    return State::is_live(job) && job->state != JobState::dead;
  }
  const Result<StoredJob> stored = jobs.read(id);
  if (!stored.ok()) return true;  // told by the scan of the jobs
  const Queue* queue = state.find_queue(stored.value().row.queue);
  return queue && is_live_row(queue, stored.value().row) &&
         stored.value().row.state != JobState::dead;
}

}  // namespace

Status inspect_batches(const State& state, const Store& store, VerifyReport& report) {
  std::map<BatchId, FoundBatch> batches;
  StoredJobReader jobs(store);
  uint64_t members = 0;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const auto parsed = parse_batch_key(key);
    const auto row = parsed && parsed->kind == 'b' ? decode_batch_row(value) : std::nullopt;
    const auto share = parsed && parsed->kind == 'm' ? decode_batch_share(value) : std::nullopt;
    if (!parsed || (parsed->kind == 'b' && !row) || (parsed->kind == 'm' && !share)) {
      return problem(report, "family batch: malformed row");
    }
    FoundBatch& batch = batches[parsed->batch];
    if (row) {
      batch.there = true;
      batch.pending = row->pending;
      batch.finished_ms = row->finished_ms;
    } else if (share) {
      ++members;
      batch.shares += *share;
      if (state.members_lost == 0 && !is_unsettled(state, jobs, parsed->job)) {
        problem(report, "family batch: job " + std::to_string(parsed->job) +
                            " is no member that could be pending");
      }
    } else {
      batch.place_ms = parsed->finished_ms;
    }
  };
  WQ_TRY(each_row(state, store, Family::batch, report, visit));
  if (members != state.batch_members) {
    problem(report, "family batch: " + std::to_string(members) + " members, " +
                        std::to_string(state.batch_members) + " counted");
  }
  for (const auto& [id, batch] : batches) {
    const bool fits =
        batch.there && batch.shares == batch.pending && batch.place_ms == batch.finished_ms;
    if (!fits) problem(report, "batch " + std::to_string(id) + " does not fit its members");
  }
  return {};
}

Status inspect_history(const State& state, const Store& store, VerifyReport& report) {
  std::map<std::pair<QueueId, uint64_t>, uint64_t> by_seq;
  std::map<std::pair<QueueId, uint64_t>, uint64_t> by_id;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const auto parsed = parse_history_key(key);
    const auto row = parsed && !parsed->by_id ? decode_done_row(value) : std::nullopt;
    const auto seq = parsed && parsed->by_id ? decode_done_seq(value) : std::nullopt;
    if (row) by_seq[{parsed->queue, row->id}] = parsed->number;
    if (seq) by_id[{parsed->queue, parsed->number}] = *seq;
    if (!row && !seq) problem(report, "family history: malformed row");
  };
  WQ_TRY(each_row(state, store, Family::history, report, visit));
  if (by_seq != by_id) problem(report, "family history: rows and ids do not fit each other");
  return {};
}

Status inspect_schedules(const State& state, const Store& store, VerifyReport& report) {
  uint64_t rows = 0;
  uint64_t states = 0;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (const auto name = parse_cron_row_key(key)) {
      ++rows;
      const auto row = decode_cron_row(as_bytes(value));
      if (!row.ok() || !parse_cron(row.value().expression).ok() || !state.cron.find(*name)) {
        problem(report, "family cron: malformed row of schedule '" + std::string(*name) + "'");
      }
      return;
    }
    const auto name = parse_cron_state_key(key);
    const auto row = decode_cron_state(value);
    const Schedule* schedule = name ? state.cron.find(*name) : nullptr;
    if (!row || !schedule || schedule->queue != row->queue || schedule->state != row->state ||
        !state.find_queue(row->queue)) {
      problem(report, "family cron: malformed row");
    }
    ++states;
  };
  WQ_TRY(each_row(state, store, Family::cron, report, visit));
  if (rows != state.cron.size() || states != state.cron.size()) {
    problem(report, "family cron: " + std::to_string(rows) + " schedules with " +
                        std::to_string(states) + " states, " + std::to_string(state.cron.size()) +
                        " in memory");
  }
  return {};
}

}  // namespace wq
