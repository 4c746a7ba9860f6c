// Dead letters: list, get, replay, remove.
#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

constexpr uint32_t dead_page_max = 1'000;
// How many rows one call looks at when a filter refuses most of them; the cursor goes on from
// there.
constexpr size_t dead_scan_max = 20'000;

bool wanted(const DeadQuery& query, DeadReason reason, int64_t died_ms) {
  if (query.reason != DeadReason::none && query.reason != reason) return false;
  if (query.from_ms != 0 && died_ms < query.from_ms) return false;
  return query.until_ms == 0 || died_ms < query.until_ms;
}

struct ScannedDead {
  uint64_t seq = 0;
  StoredJob job;
};

struct DeadScan {
  std::vector<ScannedDead> rows;
  uint64_t last_seq = 0;  // where a scan that stopped early has come to
  bool complete = false;
};

// Stored dead letters from `cursor` on that pass the filter; no lock is held.
Result<DeadScan> scan_dead(const Store& store, QueueId queue, const DeadQuery& query) {
  DeadScan out;
  const uint64_t low = query.oldest_first ? query.cursor + 1 : 0;
  const uint64_t high = query.oldest_first || query.cursor == 0 ? UINT64_MAX : query.cursor;
  const auto cursor =
      store.scan(Family::dlq, dead_key(queue, low), dead_key(queue, high), !query.oldest_first);
  size_t looked_at = 0;
  for (; cursor->valid(); cursor->next()) {
    if (out.rows.size() > query.limit || looked_at++ >= dead_scan_max) return out;
    const auto key = parse_seq_key(cursor->key());
    const auto id = parse_id_value(cursor->value());
    if (!key || !id) return Status(Code::corrupt, "db: family dlq: malformed row");
    out.last_seq = key->seq;
    WQ_TRY_SET(StoredJob job, read_job(store, *id));
    if (wanted(query, job.row.reason, job.row.since_ms)) {
      out.rows.push_back(ScannedDead{key->seq, std::move(job)});
    }
  }
  WQ_TRY(cursor->status());
  out.complete = true;
  return out;
}

}  // namespace

Result<DeadPage> Engine::dead_list(QueueId id, const DeadQuery& query) {
  WQ_ENTER();
  if (query.limit == 0 || query.limit > dead_page_max) {
    return Status(Code::invalid, "limit: give 1 to 1000");
  }
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      WQ_TRY(queue_for(id).take_status());
      version = store_version_;
    }
    WQ_TRY_SET(DeadScan scan, scan_dead(*store_, id, query));
    MutexLock lock(mutex_);
    if (version != store_version_) continue;
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    DeadPage page;
    const Now at = now();
    for (ScannedDead& row : scan.rows) {
      if (state_.find(row.job.id) || !is_live_row(queue, row.job.row)) continue;
      page.jobs.push_back(view_of_stored(std::move(row.job), *queue));
    }
    for (const Job* job = queue->dead.front(); job; job = queue->dead.next(job)) {
      const bool behind_cursor =
          query.cursor == 0 ||
          (query.oldest_first ? job->position > query.cursor : job->position < query.cursor);
      if (!behind_cursor || !wanted(query, job->reason, job->since_ms)) continue;
      view_of(*job, at, page.jobs.emplace_back());
      page.jobs.back().queue_name = queue->name;
    }
    std::sort(page.jobs.begin(), page.jobs.end(), [&](const JobView& a, const JobView& b) {
      return query.oldest_first ? a.dead_seq < b.dead_seq : a.dead_seq > b.dead_seq;
    });
    // Resident rows may lie beyond a stored scan that stopped early; they belong to later pages.
    const auto beyond = [&](const JobView& job) {
      return query.oldest_first ? job.dead_seq > scan.last_seq : job.dead_seq < scan.last_seq;
    };
    if (!scan.complete) std::erase_if(page.jobs, beyond);
    if (page.jobs.size() > query.limit) {
      page.jobs.resize(query.limit);
      page.next_cursor = page.jobs.back().dead_seq;
    } else if (!scan.complete) {
      page.next_cursor = scan.last_seq;
    }
    return page;
  }
}

Result<JobView> Engine::dead_get(QueueId id, Token entry) {
  WQ_TRY_SET(JobView view, get(id, entry.id));
  if (WQ_PLANTED(dead_entry_unchecked)) entry.generation = view.generation;
  if (view.state != JobState::dead || view.generation != entry.generation) return Code::stale;
  return view;
}

namespace {

auto check_entry(Token entry) {
  return [entry](JobState state, Generation generation) -> Status {
    const bool same = state == JobState::dead &&
                      (generation == entry.generation || WQ_PLANTED(dead_entry_unchecked));
    return same ? Code::ok : Code::stale;
  };
}

}  // namespace

Status Engine::change_dead(CommandType type, QueueId id, Token entry, CallOptions& call) {
  Lsn lsn = 0;
  const auto change = [&]() WQ_REQUIRES(mutex_) -> Status {
    Command& command = begin(type);
    command.queue = id;
    SettleItem& item = command.settles.emplace_back();
    item.id = entry.id;
    item.generation = entry.generation;
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_job(id, entry.id, check_entry(entry), change));
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::dead_replay(QueueId id, Token entry, CallOptions& call) {
  WQ_TRY_SET(const JobView view, get(id, entry.id));
  const std::unique_ptr<const JobTraits> traits = trusted_traits(view.body.bytes());
  if (traits && traits->key_rule == KeyRule::until_done) {
    return replay_keyed(id, entry, *traits, call);
  }
  return change_dead(CommandType::dead_replay, id, entry, call);
}

Status Engine::dead_remove(QueueId id, Token entry, CallOptions& call) {
  return change_dead(CommandType::dead_remove, id, entry, call);
}

}  // namespace wq
