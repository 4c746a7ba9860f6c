// Dead letters: list, get, replay, remove.
#include <algorithm>

#include "base/planted.h"
#include "engine/dead_scan.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

constexpr uint32_t dead_page_max = 1'000;

}  // namespace

Result<DeadPage> Engine::dead_page(QueueId id, const DeadQuery& query) {
  WQ_ENTER();
  if (query.limit == 0 || query.limit > dead_page_max) {
    return Status(Code::invalid, "limit: give 1 to 1000");
  }
  const bool from_start = query.oldest_first || query.cursor == 0;
  const DeadRange range{id, query.oldest_first ? query.cursor + 1 : 0,
                        from_start ? UINT64_MAX : query.cursor, !query.oldest_first};
  const PageLimits limits{query.limit + size_t{1}, SIZE_MAX};
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      WQ_TRY(queue_for(id).take_status());
      version = store_version_;
    }
    WQ_TRY_SET(DeadScan scan, scan_dead(*store_, range, query, limits));
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
      const std::string_view error = job->last_error ? *job->last_error : std::string_view();
      if (!behind_cursor || !query.wants(job->reason, job->since_ms, error)) continue;
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
    if (type == CommandType::dead_replay) {
      Job* job = state_.find(entry.id);
      WQ_TRY(refuse_replay(*job->queue, job));
      command.first_generation = state_.next_generation;
    }
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_job(id, entry.id, check_entry(entry), change));
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::dead_replay(QueueId id, Token entry, CallOptions& call) {
  WQ_TRY_SET(const JobView view, find_job(id, entry.id));
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
