// Each cause that can hold a job back is one line of job_causes() or queue_causes(), and a flag.
#include "engine/explain.h"

#include <algorithm>
#include <array>

#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/turns.h"

namespace wq {
namespace {

constexpr size_t error_shown_bytes = 400;
// How far into a lane a job's place is counted; from there on only a bound is known.
constexpr uint64_t lane_walk_max = 1'000;

std::string plural(uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

const char* state_text(JobState state) {
  constexpr std::array<const char*, job_state_count> names = {"gone",   "ready",   "delayed",
                                                              "leased", "running", "dead"};
  return names[static_cast<size_t>(state)];
}

void add_line(std::string& text, const std::string& line) {
  text += line;
  text += '\n';
}

// What keeps the queue from giving any job.
uint32_t queue_causes(const QueuePicture& queue, std::string& text) {
  uint32_t why = 0;
  if (queue.stopped) {
    why |= why_stopped;
    add_line(text, "the store hands out no jobs: it is shutting down, or a failure stopped it");
  }
  if (queue.status == QueueStatus::paused) {
    why |= why_paused;
    add_line(text, "the queue is paused: it hands out no jobs until it is resumed");
  }
  if (queue.status == QueueStatus::disabled) {
    why |= why_disabled;
    add_line(text, "the queue is disabled: it takes and hands out no jobs until it is enabled");
  }
  if (queue.max_running != 0 && queue.held >= queue.max_running) {
    why |= why_slots;
    add_line(text, "the queue is at its limit: " + std::to_string(queue.held) + " of " +
                       std::to_string(queue.max_running) + " slots are taken, longest by job " +
                       std::to_string(queue.holder) + ", for " +
                       duration_text(queue.holder_age_ms));
  }
  return why;
}

uint32_t rate_cause(const QueuePicture& queue, std::string& text) {
  if (queue.rate_wait_ms == 0) return 0;
  add_line(text,
           "the rate of the queue lets the next job begin in " + duration_text(queue.rate_wait_ms));
  return why_rate;
}

uint32_t consumer_cause(const QueuePicture& queue, std::string& text) {
  if (queue.consumers > 0) return 0;
  add_line(text, "no consumer waits for a job of this queue at the moment");
  return why_no_consumer;
}

std::string head_line(const JobView& job, const QueuePicture& queue, int64_t now_ms) {
  return "job " + std::to_string(job.id) + " of queue '" + queue.name + "' is " +
         state_text(job.state) + ", for " + duration_text(now_ms - job.since_ms) + "; attempts " +
         std::to_string(job.attempts) + " of " + std::to_string(job.max_attempts);
}

// What shuts a rate key: of two causes the one that holds longer.
uint32_t key_cause(const KeyGate& gate, int64_t now_ms) {
  return gate.breaker.cool_until_ms >= now_ms + gate.wait_ms(now_ms) ? why_cooling : why_rate;
}

uint32_t parked_causes(const Queue& queue, int64_t now_ms) {
  uint32_t why = 0;
  for (const auto& [name, gate] : queue.gates) {
    if (gate->parked > 0) why |= gate->is_rate() ? key_cause(*gate, now_ms) : why_group;
  }
  return why;
}

// What keeps a parked job back.
void explain_gate(const Queue& queue, const JobView& job, int64_t now_ms, JobExplanation& out) {
  const auto found = queue.gates.find(gate_name_of(job.body));
  if (!job.parked || found == queue.gates.end()) return;
  const KeyGate& gate = *found->second;
  if (gate.is_rate()) {
    const int64_t wait_ms = gate.wait_ms(now_ms);
    const uint32_t cause = key_cause(gate, now_ms);
    out.why |= cause;
    out.until_ms = now_ms + wait_ms;
    add_line(out.text, std::string(cause == why_cooling
                                       ? "its rate key cools down after exceptions of its jobs"
                                       : "its rate key is used up") +
                           ": the next job of it can begin in " + duration_text(wait_ms));
    return;
  }
  out.why |= why_group;
  if (gate.free_slots() == 0) {
    add_line(out.text, "its group is full: " + std::to_string(gate.running) + " of " +
                           std::to_string(gate.limit_now()) + " are leased or running");
  } else {
    add_line(out.text, "others of its group take the free slots first");
  }
}

void explain_ready(int64_t now_ms, JobExplanation& out) {
  out.why |= queue_causes(out.queue, out.text);
  out.why |= rate_cause(out.queue, out.text);
  if (out.queue.rate_wait_ms > 0) {
    out.until_ms = std::max(out.until_ms, now_ms + out.queue.rate_wait_ms);
  }
  if (out.ahead > 0) {
    out.why |= why_behind;
    add_line(out.text, std::string(out.ahead_exact ? "" : "up to ") + plural(out.ahead, "job") +
                           (out.ahead == 1 ? " goes" : " go") + " before it");
  }
  out.why |= consumer_cause(out.queue, out.text);
  if (out.why == 0) add_line(out.text, "nothing holds it back: the next lease takes it");
}

void explain_delayed(const JobView& job, int64_t now_ms, JobExplanation& out) {
  out.why |= why_delayed;
  out.until_ms = job.due_ms;
  const int64_t left_ms = job.due_ms - now_ms;
  add_line(out.text, left_ms > 0 ? "it becomes ready in " + duration_text(left_ms)
                                 : std::string("its time has come: it becomes ready any moment"));
  out.why |= queue_causes(out.queue, out.text);
}

void explain_held(const JobView& job, int64_t now_ms, JobExplanation& out) {
  out.why |= why_held;
  out.until_ms = job.deadline_ms;
  const std::string holder = "a worker holds it by generation " + std::to_string(job.generation) +
                             ", since " + duration_text(now_ms - job.leased_ms);
  if (job.deadline_ms == 0) {
    add_line(out.text, holder + "; it has no deadline and stays until it is settled");
  } else if (job.remaining_ms > 0) {
    add_line(out.text, holder + "; its lease ends in " + duration_text(job.remaining_ms));
  } else {
    out.why |= why_late;
    add_line(out.text, holder + "; its deadline has passed, it is taken back any moment");
  }
}

// What the job belongs to; no cause that holds it back.
void explain_flow(const JobView& job, JobExplanation& out) {
  if (job.chain_jobs > 0) {
    add_line(out.text, plural(job.chain_jobs, "job") + " of its chain " +
                           (job.chain_jobs == 1 ? "follows" : "follow") + " its ack");
  }
  if (job.batch == 0) return;
  add_line(out.text, "it is a member of batch " + std::to_string(job.batch) +
                         (job.batch_cancelled ? ", which was cancelled: it should stop" : ""));
}

void explain_dead(const JobView& job, JobExplanation& out) {
  out.why |= why_dead;
  add_line(out.text, job.reason == DeadReason::lease_expired
                         ? "it is dead: its last lease ended without being settled"
                         : "it is dead: it failed for good");
  add_line(out.text, "it stays until it is replayed or removed");
}

uint64_t ready_in(const Lane& level) {
  return level.jobs() + (level.turns ? level.turns->tenant_jobs : 0);
}

// Jobs of the lane that go before the place; `exact` becomes false if that is no more than a bound.
uint64_t jobs_before(const Lane& lane, uint64_t position, bool& exact) {
  LanePicker jobs(lane);
  uint64_t first_at = position;
  for (uint64_t walked = 0; walked < lane_walk_max; ++walked) {
    const Job* job = jobs.next();
    if (!job) {
      const Lane* cold = jobs.cold();
      if (cold) first_at = std::min(first_at, cold->first_position(position));
      break;
    }
    if (job->position >= position) return walked;
    first_at = std::min(first_at, job->position);
  }
  // Positions have gaps where jobs have left.
  exact = false;
  return std::min(position - first_at, std::max<uint64_t>(lane.jobs(), 1) - 1);
}

// Jobs that go before a ready one of the lane. It may overtake parked ones.
uint64_t jobs_ahead(const Queue& queue, const Lane& own, uint64_t position, bool& exact) {
  uint64_t ahead = 0;
  exact = queue.parked == 0;
  for (const auto& level : queue.lanes) {
    if (level->priority < own.priority) ahead += ready_in(*level);
    if (level->priority != own.priority) continue;
    const uint64_t before = jobs_before(own, position, exact);
    return ahead + (level->turns ? jobs_before_turn(*level, own, before) : before);
  }
  return ahead;
}

// Where a ready job is looked for: its priority, or the tenant whose turn it takes.
Lane& lane_of(const State& state, Queue& queue, const JobView& job) {
  Lane* line = state.find_lane(&queue, gate_name_of(job.body), job.priority);
  if (!line) return queue.lane(job.priority);
  if (line->gate && !line->gate->is_tenant()) {
    return line->home ? *line->home : queue.lane(job.priority);
  }
  return *line;
}

void explain_turn(const Queue& queue, const Lane& lane, JobExplanation& out) {
  if (queue.tenant_lanes == 0) return;
  add_line(out.text, (lane.gate ? "its tenant has " : "without a tenant there are ") +
                         plural(lane.jobs(), "ready job") +
                         " of this priority; the tenants of a priority are served by turns");
}

}  // namespace

std::string duration_text(int64_t duration_ms) {
  const int64_t ms = std::max<int64_t>(0, duration_ms);
  const auto two = [](int64_t n) {
    std::string digits = std::to_string(n);
    if (digits.size() < 2) digits.insert(digits.begin(), '0');
    return digits;
  };
  const int64_t seconds = ms / 1000;
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (minutes == 0) return std::to_string(seconds) + "." + std::to_string(ms % 1000 / 100) + " s";
  if (hours == 0) return std::to_string(minutes) + "m " + two(seconds % 60) + "s";
  if (hours < 24) return std::to_string(hours) + "h " + two(minutes % 60) + "m";
  return std::to_string(hours / 24) + "d " + two(hours % 24) + "h";
}

QueuePicture Engine::picture_of(const Queue& queue, const Now& at) const {
  QueuePicture out;
  out.name = queue.name;
  out.status = queue.config.status;
  std::copy(std::begin(queue.counts), std::end(queue.counts), out.counts);
  out.held = queue.running_count();
  out.max_running = queue.config.max_running;
  out.parked = queue.parked;
  out.rate_wait_ms = queue.rate_wait_ms(at.wall_ms);
  for (const WaitNode* node = queue.waiters.front(); node; node = queue.waiters.next(node)) {
    ++out.consumers;
  }
  if (const Job* holder = queue.leased.front()) {
    out.holder = holder->id;
    out.holder_generation = holder->generation;
    out.holder_age_ms = std::max<int64_t>(0, at.wall_ms - holder->since_ms);
  }
  out.stopped = draining_ || !failure_.ok() || !log_->failure().ok();
  return out;
}

Result<JobExplanation> Engine::explain_job(QueueId id, JobId job_id) {
  for (bool refilled = false;;) {
    WQ_TRY_SET(const JobView job, get(id, job_id));
    WQ_ENTER();
    MutexLock lock(mutex_);
    WQ_TRY_SET(Queue * queue, queue_for(id));
    const Job* resident = state_.find(job_id);
    // It moved on since it was read.
    if (resident && (!State::is_live(resident) || resident->state != job.state ||
                     resident->generation != job.generation)) {
      continue;
    }
    // Places are counted from the head of the lane, so that has to be there.
    Lane& lane = lane_of(state_, *queue, job);
    if (job.state == JobState::ready && !refilled && lane.head.empty()) {
      WQ_TRY(refill_lane(LaneId(*queue, lane)));
      refilled = true;
      continue;
    }
    const Now at = now();
    open_gates(at.wall_ms);
    JobExplanation out;
    out.state = job.state;
    out.reason = job.reason;
    out.queue = picture_of(*queue, at);
    add_line(out.text, head_line(job, out.queue, at.wall_ms));
    switch (job.state) {
      case JobState::ready:
        out.ahead = jobs_ahead(*queue, lane, job.ready_seq, out.ahead_exact);
        explain_turn(*queue, lane, out);
        explain_gate(*queue, job, at.wall_ms, out);
        explain_ready(at.wall_ms, out);
        break;
      case JobState::delayed:
        explain_delayed(job, at.wall_ms, out);
        break;
      case JobState::leased:
      case JobState::running:
        explain_held(job, at.wall_ms, out);
        break;
      case JobState::dead:
        explain_dead(job, out);
        break;
      case JobState::gone:
        break;
    }
    explain_flow(job, out);
    if (!job.last_error.empty()) {
      add_line(out.text, "last error: " + printable_text(job.last_error, error_shown_bytes));
    }
    return out;
  }
}

Result<QueueExplanation> Engine::explain_queue(QueueId id) {
  WQ_TRY_SET(const QueueStats stats, queue_stats(id));
  WQ_ENTER();
  MutexLock lock(mutex_);
  WQ_TRY_SET(const Queue* queue, queue_for(id));
  QueueExplanation out;
  out.queue = picture_of(*queue, now());
  out.rates = stats.rates;
  out.oldest_ready_age_ms = stats.oldest_ready_age_ms;
  const auto count = [&](JobState state) { return queue->count(state); };
  const uint64_t ready = count(JobState::ready);
  add_line(out.text, "queue '" + queue->name + "': " + std::to_string(ready) + " ready, " +
                         std::to_string(count(JobState::delayed)) + " delayed, " +
                         std::to_string(count(JobState::leased)) + " leased, " +
                         std::to_string(count(JobState::running)) + " running, " +
                         std::to_string(count(JobState::dead)) + " dead");
  out.why |= queue_causes(out.queue, out.text);
  out.why |= rate_cause(out.queue, out.text);
  if (out.queue.parked > 0) {
    add_line(out.text, plural(out.queue.parked, "ready job") +
                           (out.queue.parked == 1 ? " is" : " are") +
                           " parked: their group is full, or their rate key is shut");
    if (out.queue.parked == ready) {
      out.why |= parked_causes(*queue, wall_ms());
      out.queue.rate_wait_ms = stats.rate_wait_ms;
    }
  }
  if (out.why == 0) {
    out.leasable =
        std::min({queue->eligible(), queue->free_slots(), queue->rate_tokens(wall_ms())});
  }
  if (ready == 0) {
    out.why |= why_empty;
    add_line(out.text, "no job is ready");
  } else {
    add_line(out.text, "the oldest ready job waits for " + duration_text(out.oldest_ready_age_ms));
  }
  out.why |= consumer_cause(out.queue, out.text);
  if (out.queue.holder != 0) {
    add_line(out.text, "job " + std::to_string(out.queue.holder) + " is held longest, for " +
                           duration_text(out.queue.holder_age_ms));
  }
  if (out.leasable > 0) add_line(out.text, plural(out.leasable, "job") + " can be leased now");
  return out;
}

}  // namespace wq
