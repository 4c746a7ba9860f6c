// Schedules: put, remove, pause, list, and the runs that the clock asks for. Times are worked out
// with no lock held, from what the schedule was a moment ago; the change is only made if it still
// is so.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/cron_plan.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

constexpr size_t cron_list_max = 1'000;
constexpr size_t cron_step_max = 64;  // runs in one round of maintenance
// Of one record: the rest of a long catch-up follows in others.
constexpr size_t record_slots_max = 100;
constexpr size_t record_envelope_bytes_max = 16u << 20;
constexpr int64_t problem_rest_ms = 60'000;
constexpr int64_t no_space_rest_ms = 1'000;
// What each job of a schedule is told, behind the headers of the put.
constexpr std::string_view name_header = "wq-schedule";
constexpr std::string_view slot_header = "wq-slot-ms";

// Nothing of this is an error, but who looks why a schedule is silent has to learn it.
constexpr std::string_view clock_set_back =
    "the clock was set back behind its last slot: no slot runs twice, so that it goes on behind "
    "that one; remove it and add it again to begin now";

struct Times {
  CronExpr expr;
  Zone zone;
};

Result<Times> read_times(std::string_view expression, std::string_view zone) {
  Times times;
  WQ_TRY_SET(times.expr, parse_cron(expression));
  WQ_TRY_SET(times.zone, Zone::load(zone));
  return times;
}

Status admit_schedule_name(std::string_view name) {
  if (name.empty()) return Status(Code::invalid, "name: is empty, give 1 to 255 bytes");
  if (name.size() > queue_name_bytes_max) {
    return Status(Code::too_large,
                  "name: has " + std::to_string(name.size()) + " bytes, the limit is 255");
  }
  if (queue_name_valid(name)) return {};
  return Status(Code::invalid, "name: must be UTF-8 without control characters");
}

Status no_such_schedule(std::string_view name) {
  return Status(Code::not_found, "no schedule '" + std::string(name) + "' in this store");
}

std::vector<Header> with_slot(std::span<const Header> headers, std::string_view name,
                              std::string_view slot) {
  std::vector<Header> all(headers.begin(), headers.end());
  all.push_back({as_bytes(name_header), as_bytes(name)});
  all.push_back({as_bytes(slot_header), as_bytes(slot)});
  return all;
}

Status admit_schedule(std::string_view name, const CronSpec& spec, uint64_t payload_bytes_max) {
  if (spec.catch_up > cron_catch_up_max) {
    return Status(Code::invalid,
                  "catch_up: " + std::to_string(spec.catch_up) + " is over the limit of 1000");
  }
  if (spec.job.delay_ms != 0 || spec.job.run_at_ms != 0) {
    return Status(Code::invalid, "delay_ms, run_at_ms: the schedule says when its job runs");
  }
  const JobSpec& given = spec.job;
  if (!given.traits.empty() || !given.chain.empty() || given.debounce_ms != 0 || given.dry_run) {
    return Status(Code::unsupported,
                  "job: a schedule's job has payload, headers, priority, max_attempts, backoff");
  }
  JobSpec job = spec.job;
  const std::vector<Header> headers =
      with_slot(job.headers, name, std::to_string(cron_time_ms_max));
  job.headers = headers;
  return admit_job(job, std::min(payload_bytes_max, cron_payload_bytes_max), 0);
}

// For ever below the next slot: what has run already does not come again.
Result<int64_t> first_slot(const Times& times, const CronState& state, int64_t now_ms) {
  const int64_t behind_ms =
      WQ_PLANTED(cron_slot_after_step_back) ? now_ms : std::max(now_ms, state.last_slot_ms);
  WQ_TRY_SET(const std::optional<int64_t> slot, cron_next(times.expr, times.zone, behind_ms));
  if (slot) return *slot;
  return Status(Code::invalid, "expression: is not due any more before the year 10000");
}

// A put that leaves the times alone does not disturb the slot that is due next.
bool keeps_times(const std::string& old, const CronRow& row) {
  const Result<CronRow> before = decode_cron_row(as_bytes(old));
  return before.ok() && before.value().expression == row.expression &&
         before.value().zone == row.zone;
}

// The envelopes of the slots, as many as one record takes.
Result<std::vector<std::string>> envelopes_of(const CronPlan& plan, const CronRow& row,
                                              std::string_view name, int64_t now_ms) {
  WQ_TRY_SET(const Envelope job, decode_envelope(row.envelope));
  Encoder encoder;
  std::vector<std::string> envelopes;
  for (size_t bytes = 0; envelopes.size() < plan.slots.size();) {
    if (envelopes.size() == record_slots_max || bytes > record_envelope_bytes_max) break;
    const std::string slot = std::to_string(plan.slots[envelopes.size()]);
    const std::vector<Header> headers = with_slot(job.headers, name, slot);
    // Sealed as that of any job of its queue: see pack_ahead().
    envelopes.emplace_back(as_text(
        encoder.envelope(headers, job.payload, job.backoff, now_ms, JobTraits(), job.packing)));
    bytes += envelopes.back().size();
  }
  return envelopes;
}

}  // namespace

// To compare schedules by: sealing gives other bytes each time. Ends with what was done to the
// payload, and with which key. Empty: it does not open.
std::string Engine::plain_schedule(std::string_view stored, std::string_view queue_name) const {
  const Result<CronRow> row = decode_cron_row(as_bytes(stored));
  if (!row.ok()) return std::string();
  const Result<Envelope> job = decode_envelope(row.value().envelope);
  if (!job.ok()) return std::string();
  const Envelope& in = job.value();
  std::vector<std::byte> storage;
  const Result<Bytes> payload =
      unpack_payload(keyring(), in, queue_name, sealed_for_any_job, storage);
  if (!payload.ok()) return std::string();
  Encoder encoder;
  CronRow plain = row.value();
  plain.envelope = encoder.envelope(in.headers, payload.value(), in.backoff, 0);
  std::string out(as_text(encoder.cron_row(plain)));
  put_be32(out, in.packing.flags);
  put_be32(out, in.packing.is_sealed() ? seal_key_id(in.payload) : 0);
  return out;
}

// The schedule as it is, with its stored row.
Result<Engine::CronSnapshot> Engine::cron_snapshot(std::string_view name) {
  const std::string key = cron_row_key(name);
  for (;;) {
    CronSnapshot out;
    out.name = name;
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      const Schedule* schedule = state_.cron.find(name);
      if (!schedule) return no_such_schedule(name);
      out.queue = schedule->queue;
      out.state = schedule->state;
      out.put_lsn = schedule->put_lsn;
      out.problem = schedule->problem;
      if (const Queue* queue = state_.find_queue(schedule->queue)) out.queue_name = queue->name;
      if (const auto* row = state_.side(Family::cron).find(key)) {
        out.row = row->value_or(std::string());
        return out;
      }
      version = store_version_;
    }
    WQ_TRY_SET(std::optional<std::string> row, store_->get(Family::cron, key));
    MutexLock lock(mutex_);
    const Schedule* schedule = state_.cron.find(name);
    if (version != store_version_ || !schedule || schedule->put_lsn != out.put_lsn) continue;
    out.row = std::move(row).value_or(std::string());
    return out;
  }
}

// ---- put, remove, pause

Status Engine::cron_put(QueueId id, std::string_view name, const CronSpec& spec,
                        CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_schedule_name(name));
  WQ_TRY(admit_schedule(name, spec, options_.payload_bytes_max));
  WQ_TRY_SET(const Times times, read_times(spec.expression, spec.zone));
  WQ_TRY(wait_for_space());
  Encoder encoder;
  Packer packer(keyring(), environment_.random_bytes);
  const PackTarget target = pack_target(id);
  CronRow row{.expression = spec.expression, .zone = spec.zone, .catch_up = spec.catch_up};
  row.max_attempts = spec.job.max_attempts;
  row.priority = spec.job.priority;
  WQ_TRY_SET(const Packer::Packed packed,
             packer.pack_ahead(spec.job.payload, target, spec.job.encrypt));
  row.envelope = encoder.envelope(spec.job.headers, packed.payload, spec.job.backoff, 0,
                                  JobTraits(), packed.packing);
  const Bytes encoded = encoder.cron_row(row);
  Lsn lsn = 0;
  for (bool done = false; !done;) {
    Result<CronSnapshot> old = cron_snapshot(name);
    if (!old.ok() && old.status().code() != Code::not_found) return old.take_status();
    const bool same = old.ok() && plain_schedule(old->row, target.queue_name) ==
                                      plain_schedule(as_text(encoded), target.queue_name);
    MutexLock lock(mutex_);
    WQ_TRY_SET([[maybe_unused]] const Queue* queue, queue_for(id));
    const Schedule* schedule = state_.cron.find(name);
    if (old.ok() != (schedule != nullptr)) continue;
    if (schedule && schedule->put_lsn != old->put_lsn) continue;
    if (schedule && schedule->queue == id && same) return {};
    if (!schedule && state_.cron.size() >= cron_schedules_max) {
      return Status(Code::full, "the store has 10000 schedules, the limit; remove some");
    }
    Command& command = begin(CommandType::cron_put);
    command.queue = id;
    command.name = name;
    command.row = encoded;
    if (schedule) command.cron.state = schedule->state;
    if (!schedule) command.cron.state.created_ms = command.now_ms;
    if (!schedule || !keeps_times(old->row, row)) {
      WQ_TRY_SET(command.cron.state.next_due_ms,
                 first_slot(times, command.cron.state, command.now_ms));
    }
    WQ_TRY_SET(lsn, commit(command));
    wake_for_timers();
    done = true;
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::cron_remove(std::string_view name, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_schedule_name(name));
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    if (state_.importing) return import_is_open();
    if (!state_.cron.find(name)) return no_such_schedule(name);
    Command& command = begin(CommandType::cron_remove);
    command.name = name;
    WQ_TRY_SET(lsn, commit(command));
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::cron_pause(std::string_view name, bool paused, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_schedule_name(name));
  Lsn lsn = 0;
  for (bool done = false; !done;) {
    WQ_TRY_SET(const CronSnapshot old, cron_snapshot(name));
    WQ_TRY_SET(const CronRow row, decode_cron_row(as_bytes(old.row)));
    Times times;
    if (!paused) {
      WQ_TRY_SET(times, read_times(row.expression, row.zone));
    }
    MutexLock lock(mutex_);
    if (state_.importing) return import_is_open();
    const Schedule* schedule = state_.cron.find(name);
    if (!schedule || schedule->put_lsn != old.put_lsn) continue;
    if (schedule->state.paused == paused) return {};
    Command& command = begin(CommandType::cron_put);
    command.queue = schedule->queue;
    command.name = name;
    command.row = as_bytes(old.row);
    command.cron.state = schedule->state;
    command.cron.state.paused = paused;
    if (!paused) {  // what came due meanwhile was not wanted
      WQ_TRY_SET(command.cron.state.next_due_ms,
                 first_slot(times, command.cron.state, command.now_ms));
    }
    WQ_TRY_SET(lsn, commit(command));
    wake_for_timers();
    done = true;
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

// ---- reading

Result<CronView> Engine::cron_get(std::string_view name) {
  WQ_ENTER();
  WQ_TRY(admit_schedule_name(name));
  WQ_TRY_SET(CronSnapshot found, cron_snapshot(name));
  CronView view;
  view.name = name;
  view.queue = found.queue;
  view.queue_name = std::move(found.queue_name);
  view.state = found.state;
  view.problem = std::move(found.problem);
  const bool was_set_back = view.state.last_slot_ms - cron_on_time_ms > wall_ms();
  if (view.problem.empty() && was_set_back && !view.state.paused) view.problem = clock_set_back;
  view.row = std::move(found.row);
  WQ_TRY_SET([[maybe_unused]] const CronRow row, decode_cron_row(as_bytes(view.row)));
  open_schedule(view);
  return view;
}

Result<CronPage> Engine::cron_list(QueueId queue, std::string_view after, size_t limit) {
  WQ_ENTER();
  if (limit == 0 || limit > cron_list_max) return Status(Code::invalid, "limit: give 1 to 1000");
  std::vector<std::string> names;
  CronPage page;
  {
    MutexLock lock(mutex_);
    if (queue != 0 && !state_.find_queue(queue)) return no_such_queue();
    const auto& schedules = state_.cron.schedules();
    for (auto at = schedules.upper_bound(after); at != schedules.end(); ++at) {
      if (queue != 0 && at->second->queue != queue) continue;
      if (names.size() == limit) {
        page.more = true;
        break;
      }
      names.push_back(at->first);
    }
  }
  for (const std::string& name : names) {
    Result<CronView> view = cron_get(name);
    if (view.ok()) {
      page.schedules.push_back(std::move(view).value());
    } else if (view.status().code() != Code::not_found) {
      return view.take_status();
    }
  }
  return page;
}

// ---- runs

bool Engine::cron_may_run() const {
  return !state_.importing && failure_.ok() &&
         disk_missing_bytes_.load(std::memory_order_relaxed) == 0;
}

// A schedule that had trouble rests by the wall clock: one that was set back ends that.
bool Engine::cron_is_due() {
  const int64_t now_ms = wall_ms();
  if (now_ms < std::exchange(cron_seen_ms_, now_ms)) state_.cron.end_rests();
  const Schedule* first = state_.cron.first();
  return first && first->wake_ms <= now_ms && cron_may_run();
}

// Runs what is due, up to a bound; the rest is due as before.
Status Engine::run_schedules() {
  for (size_t i = 0; i < cron_step_max; ++i) {
    std::string name;
    int64_t now_ms = 0;
    {
      MutexLock lock(mutex_);
      if (!cron_is_due()) return {};
      name = state_.cron.first()->name;
      now_ms = wall_ms();
    }
    const Status status = fire_schedule(name, now_ms);
    if (status.ok() || status.code() == Code::not_found) continue;
    MutexLock lock(mutex_);
    if (!failure_.ok() || !log_->failure().ok()) return status;
    // Trouble of this one alone: the others go on, and so does it once the cause is gone.
    if (Schedule* schedule = state_.cron.find(name)) {
      schedule->problem = status.message();
      const bool space = status.code() == Code::no_space || status.code() == Code::full;
      state_.cron.wake_at(schedule, now_ms + (space ? no_space_rest_ms : problem_rest_ms));
    }
  }
  return {};
}

// Jobs that the queue has no room for stay due; of a disabled queue they are missed.
Status Engine::fire_schedule(std::string_view name, int64_t now_ms) {
  WQ_TRY_SET(const CronSnapshot seen, cron_snapshot(name));
  const int64_t due_ms = seen.state.next_due_ms;
  if (seen.state.paused || due_ms == 0 || due_ms > now_ms) return {};
  WQ_TRY_SET(const CronRow row, decode_cron_row(as_bytes(seen.row)));
  WQ_TRY_SET(const Times times, read_times(row.expression, row.zone));
  WQ_TRY_SET(const CronPlan plan, plan_cron(times.expr, times.zone, due_ms, now_ms, row.catch_up));
  WQ_TRY_SET(const std::vector<std::string> envelopes, envelopes_of(plan, row, name, now_ms));
  WQ_TRY(log_->wait_for_room());
  MutexLock lock(mutex_);
  size_t fitting = 0;
  std::vector<JobId> dropped;
  for (bool room = false; !room;) {
    Schedule* schedule = state_.cron.find(name);
    if (!schedule || schedule->put_lsn != seen.put_lsn || schedule->state != seen.state) return {};
    WQ_TRY_SET(Queue * queue, queue_for(schedule->queue));
    if (queue->config.status == QueueStatus::disabled) break;
    Load load;
    Status refusal;
    for (fitting = 0; fitting < envelopes.size(); ++fitting) {
      Load more = load;
      more.add(envelopes[fitting].size());
      refusal = admit_load(*queue, more);
      if (!refusal.ok()) break;
      load = more;
    }
    if (envelopes.empty()) break;  // all were missed: nothing goes for them
    if (fitting == 0) return refusal;
    WQ_TRY_SET(room, make_room(*queue, load, dropped));
  }
  return commit_fire(seen, plan, row, {envelopes.data(), fitting}, dropped, now_ms);
}

// `dropped`: the jobs that go for the new ones.
Status Engine::commit_fire(const CronSnapshot& seen, const CronPlan& plan, const CronRow& row,
                           std::span<const std::string> envelopes,
                           const std::vector<JobId>& dropped, int64_t now_ms) {
  Schedule* schedule = state_.cron.find(seen.name);
  const bool takes_jobs = !envelopes.empty();
  const size_t running = takes_jobs ? envelopes.size() : plan.slots.size();
  Command& command = begin(CommandType::cron_fire, now_ms);
  command.queue = seen.queue;
  command.name = seen.name;
  command.ids = dropped;
  command.cron.slot_ms = seen.state.next_due_ms;
  CronState& after = command.cron.state = seen.state;
  const bool all = running == plan.slots.size();
  after.last_slot_ms = all ? plan.last_ms : plan.slots[running - 1];
  after.next_due_ms = all ? plan.next_due_ms : plan.slots[running];
  after.missed += plan.missed + (takes_jobs ? 0 : plan.slots.size());
  for (const std::string& envelope : envelopes) {
    command.jobs.push_back({.id = state_.next_job_id + command.jobs.size(),
                            .max_attempts = row.max_attempts,
                            .priority = row.priority,
                            .envelope = as_bytes(envelope)});
  }
  after.fired += command.jobs.size();
  if (WQ_PLANTED(cron_next_in_its_own_record) && takes_jobs) {
    command.type = dropped.empty() ? CommandType::enqueue : CommandType::drop_oldest;
    state_.cron.set(schedule, after);
  }
  return commit(command).take_status();
}

// ---- moving a store

Status Engine::import_schedule(QueueId queue, const CronImage& image, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_schedule_name(image.name));
  WQ_TRY_SET([[maybe_unused]] const CronExpr expr, parse_cron(image.row.expression));
  if (image.row.zone.size() > zone_name_bytes_max || image.row.catch_up > cron_catch_up_max ||
      image.row.max_attempts > max_retries_max + 1) {
    return Status(Code::invalid, "zone, catch_up, max_attempts: out of range");
  }
  for (const int64_t time_ms :
       {image.state.next_due_ms, image.state.last_slot_ms, image.state.created_ms}) {
    if (time_ms < 0 || time_ms > cron_time_ms_max) {
      return Status(Code::invalid, "schedule '" + std::string(image.name) +
                                       "': " + std::to_string(time_ms) + " is no point in time");
    }
  }
  const Envelope& job = image.job;
  WQ_TRY(admit_packing(job));
  const bool packed_already = job.packing.is_packed();
  if (job.payload.size() > cron_payload_bytes_max + seal_extra_bytes) {
    return Status(Code::too_large, "payload: is over 1 MiB");
  }
  CronSpec spec;
  if (!packed_already) spec.job.payload = job.payload;
  spec.job.headers = image.job.headers;
  spec.job.backoff = image.job.backoff;
  WQ_TRY(admit_schedule(image.name, spec, payload_bytes_absolute_max));
  Encoder encoder;
  CronRow row = image.row;
  Packer packer(keyring(), environment_.random_bytes);
  Packer::Packed packed{job.payload, job.packing};
  if (!packed_already) {
    WQ_TRY_SET(packed, packer.pack_ahead(job.payload, pack_target(queue), image.encrypt));
  }
  row.envelope =
      encoder.envelope(job.headers, packed.payload, job.backoff, 0, JobTraits(), packed.packing);
  const Bytes encoded = encoder.cron_row(row);
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    if (!state_.importing) return Status(Code::conflict, "no import has begun in this store");
    if (!state_.find_queue(queue)) return no_such_queue();
    if (state_.cron.find(image.name)) {
      return Status(Code::conflict, "schedule '" + std::string(image.name) + "' is there already");
    }
    Command& command = begin(CommandType::cron_put);
    command.queue = queue;
    command.name = image.name;
    command.row = encoded;
    command.cron.state = image.state;
    WQ_TRY_SET(lsn, commit(command));
  }
  return finish(lsn, call, level_for(call, Durability::process));
}

}  // namespace wq
