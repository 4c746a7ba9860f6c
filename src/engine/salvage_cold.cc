// Reading the rows of a damaged checkpoint.
#include <algorithm>

#include "engine/keys.h"
#include "engine/salvage_internal.h"

namespace wq {
namespace {

// Damaged places of one family that are walked around; a store has no more blocks worth the time.
constexpr size_t holes_max = 100'000;

// The first id at or behind `from` whose row can be read, if there is one: steps that double until
// a read works, then the edge between what can be read and what can not. Between several holes it
// finds the end of one of them.
std::optional<JobId> next_readable(Store& store, JobId from) {
  const auto works = [&](JobId id, JobId& found) {
    const auto cursor = store.scan(Family::job, job_body_key(id), std::string());
    if (!cursor->valid()) return cursor->status().ok() ? (found = 0, true) : false;
    const auto key = parse_job_key(cursor->key());
    found = key ? key->id : 0;
    return true;
  };
  JobId bad = from;
  JobId good = from;
  JobId found = 0;
  if (works(from, found)) return found == 0 ? std::nullopt : std::optional<JobId>(found);
  for (uint64_t step = 1;; step *= 2) {
    if (step > UINT64_MAX - from || step > uint64_t{1} << 62) return std::nullopt;
    good = from + step;
    if (works(good, found)) break;
    bad = good;
  }
  while (good - bad > 1) {
    const JobId middle = bad + (good - bad) / 2;
    JobId there = 0;
    if (works(middle, there)) {
      good = middle;
      found = there;
    } else {
      bad = middle;
    }
  }
  return found == 0 ? std::nullopt : std::optional<JobId>(found);
}

Status tell(const FindingVisitor& visit, FindingKind kind, std::string what) {
  SalvageFinding finding;
  finding.kind = kind;
  finding.where = "db";
  finding.what = std::move(what);
  return visit(finding);
}

}  // namespace

Status tell_family(const FindingVisitor& visit, Family family, uint64_t rows,
                   const std::string& problem) {
  SalvageFinding finding;
  finding.kind = problem.empty() ? FindingKind::intact : FindingKind::damaged;
  finding.where = std::string("db: family ") + family_name(family);
  finding.what = std::to_string(rows) + " rows" + (problem.empty() ? "" : "; " + problem);
  finding.count = rows;
  return visit(finding);
}

Status ColdSide::read(Io& io, const SalvageOptions& options, const FindingVisitor& visit) {
  const std::string directory = options.directory + "/db";
  const auto names = io.list(directory);
  const bool there =
      names.ok() && std::any_of(names.value().begin(), names.value().end(), [](const auto& name) {
        return name == "CURRENT" || name.starts_with("MANIFEST-") || name.ends_with(".sst") ||
               name.ends_with(".blob");
      });
  if (!there) return tell(visit, FindingKind::note, "there is no checkpoint");
  std::string meta_problem = "not read";
  std::string job_problem;
  stores[0] = open_damaged_rocks_store(directory, options.scratch);
  if (!stores[0].note.empty()) WQ_TRY(tell(visit, FindingKind::damaged, stores[0].note));
  if (stores[0].store) {
    read_meta(*stores[0].store, meta_problem);
    const uint64_t rows = read_jobs(*stores[0].store, 0, job_problem);
    const uint64_t unnamed = gaps.empty() ? count_unnamed() : 0;
    if (unnamed > 0) {
      job_problem =
          std::to_string(unnamed) + " jobs that the queues count are in none of its tables";
    }
    if (unnamed > 0 || stores[0].is_cut) gaps.add(0, UINT64_MAX);
    WQ_TRY(tell_family(visit, Family::meta, queues.size() + (meta ? 1 : 0), meta_problem));
    WQ_TRY(tell_family(visit, Family::job, rows, job_problem));
    WQ_TRY(read_index_families(visit));
    for (const Family family : {Family::unique, Family::batch, Family::history}) {
      WQ_TRY(read_rows(family, visit));
    }
    WQ_TRY(read_kv(visit));
    WQ_TRY(read_schedules(*stores[0].store, visit));
  } else {
    for (const Family family : side_families) note_whole(family, false);
    WQ_TRY(tell(visit, FindingKind::damaged, stores[0].problem));
    gaps.add(0, UINT64_MAX);
  }
  const bool rows_whole =
      std::all_of(std::begin(side_families), std::end(side_families),
                  [&](Family family) { return family == Family::cron || is_whole(family); });
  if (gaps.empty() && meta && meta_problem.empty() && rows_whole) return {};
  stores[1] = open_tables_of_rocks_store(directory, options.scratch + "-tables");
  if (!stores[1].store) {
    return tell(visit, FindingKind::damaged, "tables by themselves: " + stores[1].problem);
  }
  if (!meta || !meta_problem.empty()) read_meta(*stores[1].store, meta_problem);
  const size_t before = jobs.size();
  read_jobs(*stores[1].store, 1, job_problem);
  return tell(visit, FindingKind::note,
              std::to_string(jobs.size() - before) +
                  " jobs are known by the tables alone: they may have ended, or gone on");
}

// Jobs that the rows of the queues count and no table has: the manifest lost the names of tables.
uint64_t ColdSide::count_unnamed() const {
  uint64_t unnamed = 0;
  for (const QueueRow& queue : queues) {
    for (size_t i = 1; i < job_state_count; ++i) {
      const auto read = read_counts.find({queue.id, static_cast<JobState>(i)});
      const uint64_t known = read == read_counts.end() ? 0 : read->second;
      unnamed += queue.counts[i] - std::min(queue.counts[i], known);
    }
  }
  return unnamed;
}

// Rows that jobs can be found by; salvage itself reads the jobs only.
Status ColdSide::read_index_families(const FindingVisitor& visit) {
  for (const Family family : {Family::ready, Family::lease, Family::delay, Family::dlq}) {
    const auto cursor = stores[0].store->scan(family, std::string(), std::string());
    uint64_t rows = 0;
    for (; cursor->valid(); cursor->next()) ++rows;
    const Status status = cursor->status();
    WQ_TRY(tell_family(visit, family, rows, status.ok() ? std::string() : status.message()));
  }
  return {};
}

bool ColdSide::read_meta(Store& store, std::string& problem) {
  problem.clear();
  const auto cursor = store.scan(Family::meta, std::string(), std::string());
  for (; cursor->valid(); cursor->next()) {
    const bool sound = take_meta_row(cursor->key(), cursor->value());
    if (!sound && problem.empty()) problem = "a malformed row";
  }
  if (const Status status = cursor->status(); !status.ok()) problem = status.message();
  return problem.empty();
}

// What is known already stays. False: the row is malformed.
bool ColdSide::take_meta_row(std::string_view key, std::string_view value) {
  if (key == meta_row_key()) {
    Result<MetaRow> row = decode_meta_row(as_bytes(value));
    if (row.ok() && !meta) meta = std::move(row).value();
    return row.ok();
  }
  if (parse_queue_row_key(key)) {
    Result<QueueRow> row = decode_queue_row(as_bytes(value));
    const bool known =
        row.ok() && std::any_of(queues.begin(), queues.end(), [&](const QueueRow& queue) {
          return queue.id == row.value().id || queue.name == row.value().name;
        });
    if (row.ok() && !known && row.value().id < salvaged_queue_max) {
      queues.push_back(std::move(row).value());
    }
    return row.ok();
  }
  // The gates of groups and tenants follow from their jobs.
  const auto gate = parse_gate_row_key(key);
  if (!gate || gate->name.kind != GateName::rate_key) return true;
  std::optional<GateRow> row = decode_gate_row(GateName::rate_key, value);
  if (!row) return false;
  rate_keys.try_emplace({gate->queue, std::string(gate->name.key)}, std::move(*row));
  return true;
}

bool ColdSide::is_wanted(const JobRow& row, uint8_t source) const {
  for (const QueueRow& queue : queues) {
    if (queue.id != row.queue) continue;
    const uint32_t epoch = queue.epochs[static_cast<size_t>(row.state)];
    return source == 0 ? row.epoch == epoch : row.epoch >= epoch;
  }
  // Jobs of a queue that was deleted; if the queues themselves are lost, of any.
  return !meta || source != 0;
}

// One job: its body row and, if there is one, the state row behind it. False: it is damaged.
bool ColdSide::take_job(Cursor& cursor, uint8_t source) {
  const auto key = parse_job_key(cursor.key());
  if (!key || key->id == 0) {
    cursor.next();
    return true;
  }
  if (key->is_state) {  // its body row is gone
    if (source == 0) gaps.add(key->id, key->id);
    cursor.next();
    return false;
  }
  Result<DecodedJobRow> body = decode_job_row(as_bytes(cursor.value()));
  const bool whole = body.ok() && decode_envelope(body.value().envelope).ok();
  JobRow row = whole ? body.value().row : JobRow();
  cursor.next();
  const bool cut = !cursor.status().ok();  // a state row may have been there
  if (cursor.valid() && cursor.key() == job_state_key(key->id)) {
    const Result<DecodedJobRow> state = decode_job_row(as_bytes(cursor.value()));
    if (whole && state.ok()) row = state.value().row;
    if (!state.ok()) doubtful.insert(key->id);
    cursor.next();
  }
  if (!whole) {
    if (source == 0) gaps.add(key->id, key->id);
    return false;
  }
  if (row.queue >= salvaged_queue_max || !is_wanted(row, source)) return true;
  if (source != 0 && (!gaps.contains(key->id) || jobs.contains(key->id))) return true;
  jobs[key->id] = ColdJob{row.position, row.queue, row.state, row.priority, source};
  ++read_counts[{row.queue, row.state}];
  if (cut || source != 0) doubtful.insert(key->id);
  return true;
}

uint64_t ColdSide::read_jobs(Store& store, uint8_t source, std::string& problem) {
  uint64_t rows = 0;
  JobId next = 0;
  for (size_t holes = 0; holes < holes_max; ++holes) {
    const auto cursor = store.scan(Family::job, job_body_key(next), std::string());
    while (cursor->valid()) {
      if (const auto key = parse_job_key(cursor->key())) next = key->id + 1;
      ++rows;
      take_job(*cursor, source);
    }
    const Status status = cursor->status();
    if (status.ok()) return rows;
    if (problem.empty()) problem = status.message();
    const std::optional<JobId> behind = next_readable(store, next);
    if (source == 0) gaps.add(next, behind ? *behind - 1 : UINT64_MAX);
    if (!behind) return rows;
    next = *behind;
  }
  if (source == 0) gaps.add(next, UINT64_MAX);
  return rows;
}

}  // namespace wq
