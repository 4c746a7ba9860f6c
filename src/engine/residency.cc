#include "engine/residency.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/batch.h"
#include "engine/exit_gate.h"

namespace wq {
namespace {

Status bad_row(const char* family, const std::string& what) {
  return Status(Code::corrupt, std::string("db: family ") + family + ": " + what +
                                   "; run wq verify, then restore a backup");
}

Status take_row(const Cursor& cursor, StoredJob& out, bool with_body) {
  WQ_TRY_SET(DecodedJobRow decoded, decode_job_row(as_bytes(cursor.value())));
  out.row = decoded.row;
  out.error = std::string(decoded.row.last_error);
  out.progress = std::string(decoded.row.progress);
  out.row.last_error = out.row.progress = {};
  if (!with_body) return {};
  const Result<Envelope> envelope = decode_envelope(decoded.envelope);
  if (!envelope.ok()) {
    return bad_row("job", "envelope of job " + std::to_string(out.id) + " is damaged");
  }
  out.batch = envelope.value().traits.batch;
  out.body = BodyRef(decoded.envelope);
  return {};
}

Job* add_to_state(State& state, Queue* queue, StoredJob& stored) {
  load_rows(state, stored);
  return state.add_stored(queue, stored.id, stored.full_row(), std::move(stored.body),
                          stored.has_state_row);
}

}  // namespace

// ---- reading jobs

StoredJobReader::StoredJobReader(const Store& store)
    : store_(store), cursor_(store.scan(Family::job, job_body_key(0), std::string())) {}

Result<StoredJob> StoredJobReader::read(JobId id) {
  WQ_TRY_SET(StoredJob out, read_job(*cursor_, id));
  if (out.batch != 0) {
    WQ_TRY_SET(out.batch_row, store_.get(Family::batch, batch_row_key(out.batch)));
  }
  return out;
}

void load_rows(State& state, StoredJob& stored) {
  if (stored.batch == 0) return;
  state.side(Family::batch).load(batch_row_key(stored.batch), std::move(stored.batch_row));
}

bool is_live_row(const Queue* queue, const JobRow& row) {
  return row.state != JobState::gone && row.queue == queue->id &&
         row.epoch == queue->epoch(row.state);
}

Result<StoredJob> read_job(Cursor& jobs, JobId id) {
  StoredJob out;
  out.id = id;
  const std::string body_key = job_body_key(id);
  if (!jobs.valid() || jobs.key() != body_key) jobs.seek(body_key);
  if (!jobs.valid() || jobs.key() != body_key) {
    WQ_TRY(jobs.status());
    return out;
  }
  WQ_TRY(take_row(jobs, out, true));
  jobs.next();
  if (jobs.valid() && jobs.key() == job_state_key(id)) {
    WQ_TRY(take_row(jobs, out, false));
    out.has_state_row = true;
    jobs.next();
  }
  WQ_TRY(jobs.status());
  return out;
}

Result<StoredJob> read_job(const Store& store, JobId id) {
  return StoredJobReader(store).read(id);
}

// ---- lanes

Result<LanePage> read_lane(const Store& store, const LaneRange& range, const PageLimits& limits) {
  LanePage page;
  page.queue = range.queue;
  page.priority = range.priority;
  page.gate = range.gate;
  page.line = range.line;
  page.low = page.next_low = range.low;
  page.high = range.high;
  const GateStay stay;  // one for all the steps of the cursors
  WQ_TRY(stay.status());
  StoredJobReader jobs(store);
  const auto cursor =
      store.scan(Family::ready, range.key(range.low), prefix_end(range.key(range.high)));
  const size_t key_bytes = range.key(0).size();
  page.positions.reserve(limits.rows);
  page.jobs.reserve(limits.rows);
  size_t bytes = 0;
  for (; cursor->valid(); cursor->next()) {
    if (page.jobs.size() >= limits.rows || bytes >= limits.bytes) return page;
    const std::string_view key = cursor->key();
    const auto id = parse_id_value(cursor->value());
    if (key.size() != key_bytes || !id) return bad_row("ready", "malformed row");
    const uint64_t seq = get_be64(key.data() + key.size() - sizeof(uint64_t));
    WQ_TRY_SET(StoredJob job, jobs.read(*id));
    bytes += job.body.size();
    page.next_low = seq + 1;
    page.positions.push_back(seq);
    page.jobs.push_back(std::move(job));
  }
  WQ_TRY(cursor->status());
  page.next_low = range.high + 1;
  page.reached_high = true;
  return page;
}

Result<bool> merge_lane(State& state, LanePage page) {
  Queue* queue = state.find_queue(page.queue);
  if (!queue) return false;
  Lane* found = state.find_lane(queue, page.gate, page.priority);
  if (!found || (found->gate && found->gate->number != page.line)) return false;
  Lane& lane = *found;
  if (lane.cold_count == 0 || lane.cold_low != page.low) return false;
  for (size_t i = 0; i < page.jobs.size(); ++i) {
    StoredJob& stored = page.jobs[i];
    if (state.find(stored.id)) continue;  // changed since it was stored; the table knows better
    // Between jobs put to the front after a clear and those at the tail lie the cleared ones, until
    // their rows are swept.
    if (stored.row.queue == queue->id && stored.row.state == JobState::ready &&
        !is_live_row(queue, stored.row)) {
      continue;
    }
    const bool as_indexed = is_live_row(queue, stored.row) && stored.row.state == JobState::ready &&
                            stored.row.priority == page.priority &&
                            stored.row.position == page.positions[i] && lane.cold_count > 0 &&
                            gate_name_of(stored.body) == page.gate;
    if (!as_indexed) {
      return bad_row("ready", "job " + std::to_string(stored.id) + " is not where its row says");
    }
    Job* job = add_to_state(state, queue, stored);
    lane.head.push_back(job);
    state.watch_expiry(job);
    ++lane.head_count;
    --lane.cold_count;
    lane.cold_low = page.positions[i] + 1;  // right after each of them: the next may find no memory
  }
  lane.cold_low = page.next_low;
  if (page.reached_high && lane.cold_high == page.high && lane.cold_count != 0) {
    return bad_row("ready", std::to_string(lane.cold_count) + " rows of queue '" + queue->name +
                                "' priority " + std::to_string(page.priority) + " are missing");
  }
  State::join_lane(lane);
  if (lane.gate) state.settle_gate(*lane.gate);  // its first job is known now
  return true;
}

// ---- delayed jobs

Result<DelayPage> read_delays(const Store& store, const DelayKey& after, const PageLimits& limits) {
  DelayPage page;
  page.after = page.last = after;
  const GateStay stay;
  WQ_TRY(stay.status());
  StoredJobReader jobs(store);
  const std::string after_key = delay_key(after.due_ms, after.queue, after.id);
  const auto cursor = store.scan(Family::delay, after_key, std::string());
  size_t bytes = 0;
  for (; cursor->valid(); cursor->next()) {
    if (cursor->key() == after_key) continue;
    if (page.jobs.size() >= limits.rows || bytes >= limits.bytes) return page;
    const auto key = parse_delay_key(cursor->key());
    if (!key) return bad_row("delay", "malformed row");
    WQ_TRY_SET(StoredJob job, jobs.read(key->id));
    bytes += job.body.size();
    page.last = *key;
    page.keys.push_back(*key);
    page.jobs.push_back(std::move(job));
  }
  WQ_TRY(cursor->status());
  page.last = delay_key_max;
  page.reached_end = true;
  return page;
}

Result<bool> merge_delays(State& state, DelayPage page) {
  if (state.delay_cursor != page.after) return false;
  for (size_t i = 0; i < page.jobs.size(); ++i) {
    StoredJob& stored = page.jobs[i];
    if (state.find(stored.id)) continue;
    Queue* queue = state.find_queue(page.keys[i].queue);
    if (!queue) continue;  // trash of a deleted queue
    if (stored.row.state == JobState::delayed && !is_live_row(queue, stored.row))
      continue;  // cleared
    if (!is_live_row(queue, stored.row) || stored.row.state != JobState::delayed ||
        stored.row.position != static_cast<uint64_t>(page.keys[i].due_ms)) {
      return bad_row("delay", "job " + std::to_string(stored.id) + " is not where its row says");
    }
    state.link_stored(add_to_state(state, queue, stored));
  }
  state.delay_cursor = page.last;
  if (page.reached_end && state.cold_delayed_count() != 0) {
    return bad_row("delay", std::to_string(state.cold_delayed_count()) + " rows are missing");
  }
  return true;
}

// ---- single jobs

Result<Job*> materialize(State& state, StoredJob stored) {
  if (Job* resident = state.find(stored.id)) {
    return State::is_live(resident) ? resident : nullptr;
  }
  if (stored.row.state == JobState::gone) return nullptr;
  Queue* queue = state.find_queue(stored.row.queue);
  if (!queue || !is_live_row(queue, stored.row)) return nullptr;
  Lane* lane = nullptr;
  if (stored.row.state == JobState::ready) {
    lane = state.find_lane(queue, gate_name_of(stored.body), stored.row.priority);
    if (!lane || lane->cold_count == 0) {
      return bad_row("job", "job " + std::to_string(stored.id) + " is ready but not counted");
    }
  }
  Job* job = add_to_state(state, queue, stored);
  if (lane) {
    --lane->cold_count;
    State::join_lane(*lane);
  } else if (job->state != JobState::dead) {
    state.link_stored(job);
  }
  return job;
}

// ---- eviction

namespace {

struct Evictor {
  State& state;
  const EvictionPolicy& policy;
  size_t left;

  bool wanted() const { return left > 0 && state.resident_bytes() > policy.resident_bytes_target; }

  bool may_go(const Job* job) const {
    return state.is_stored(job) || WQ_PLANTED(dirty_job_evicted);
  }

  void evict(Job* job) {
    state.evict(job);
    --left;
  }

  // Dead jobs are read only by listings: no reason to keep a clean one.
  void evict_dead(Queue& queue) {
    while (left > 0) {
      Job* job = queue.dead.front();
      if (!job || !may_go(job)) return;
      evict(job);
    }
  }

  // There are many lines, and little is taken of each at a time.
  uint64_t window(const Lane& lane) const {
    return lane.gate ? std::max<uint64_t>(1, policy.lane_window / 64) : policy.lane_window;
  }

  // Opens a cold range in an all-resident lane behind its head window.
  void split(Lane& lane) {
    if (lane.count <= window(lane) * 2) return;
    Job* job = lane.head.front();
    for (uint64_t i = 0; i < window(lane); ++i) job = lane.head.next(job);
    if (!may_go(job)) return;
    lane.cold_low = job->position;
    while (job && wanted() && may_go(job)) {
      Job* following = lane.head.next(job);
      lane.cold_high = job->position;
      ++lane.cold_count;
      evict(job);
      job = following;
    }
    if (job) lane.tail.splice_back_from(lane.head, job);
    lane.head_count = window(lane);
  }

  void evict_lane(Lane& lane) {
    if (lane.cold_count == 0) {
      split(lane);
      return;
    }
    while (wanted()) {
      Job* job = lane.tail.front();
      if (!job || !may_go(job)) break;
      lane.cold_high = job->position;
      ++lane.cold_count;
      evict(job);
    }
    while (wanted() && lane.head_count > window(lane) * 2) {
      Job* job = lane.head.back();
      if (!may_go(job)) break;
      lane.cold_low = job->position;
      ++lane.cold_count;
      --lane.head_count;
      evict(job);
    }
  }

  void evict_delayed() {
    const DelayKey horizon{policy.delay_horizon_ms, UINT32_MAX, UINT64_MAX};
    if (horizon < state.delay_cursor) state.delay_cursor = horizon;
    std::vector<Job*> far;
    state.delays().for_each([&](Job* job) {
      if (far.size() >= left) return;
      const DelayKey key{job->timer_ms, job->queue->id, job->id};
      if (state.delay_cursor < key && may_go(job)) far.push_back(job);
    });
    for (Job* job : far) {
      if (!wanted()) return;
      evict(job);
    }
  }
};

}  // namespace

bool evict_some(State& state, const EvictionPolicy& policy, size_t limit) {
  Evictor evictor{state, policy, limit};
  for (const auto& [name, queue] : state.queues()) {
    evictor.evict_dead(*queue);
    for (const auto& lane : queue->lanes) {
      if (!evictor.wanted()) break;
      evictor.evict_lane(*lane);
    }
    for (const auto& [key, gate] : queue->gates) {
      for (const auto& line : gate->lines) {
        if (!evictor.wanted()) break;
        evictor.evict_lane(*line);
      }
    }
  }
  if (evictor.wanted() && !state.delays().empty()) evictor.evict_delayed();
  return evictor.left == 0;
}

}  // namespace wq
