#include "crash/oracle.h"

#include <wq.h>

#include <algorithm>
#include <utility>

#include "crash/oracle_internal.h"
#include "crash/protocol.h"

namespace wq::crash {
namespace {

constexpr size_t recently_gone_max = 200;
constexpr size_t violations_max = 30;

}  // namespace

void Oracle::violation(const std::string& text) {
  if (violations_.size() < violations_max) {
    violations_.push_back("life " + std::to_string(life_) + ": " + text);
  }
}

std::string Oracle::name(const Job& job) {
  static constexpr const char* places[] = {"unknown", "idle", "leased", "dead"};
  return "job " + std::to_string(job.number) + " (id " + std::to_string(job.id) + ", generation " +
         std::to_string(job.generation) + ", attempts " + std::to_string(job.attempts) + ", " +
         places[static_cast<int>(job.place)] + ", life " + std::to_string(job.life) + ")";
}

Oracle::Job* Oracle::by_number(uint64_t number, const char* where) {
  const auto it = jobs_.find(number);
  if (it != jobs_.end()) return &it->second;
  violation(std::string(where) + ": job " + std::to_string(number) + " was never intended");
  return nullptr;
}

Oracle::Job* Oracle::by_id(uint64_t id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &jobs_[it->second];
}

void Oracle::judge(const std::vector<std::string>& lines) {
  ++life_;
  ops_.clear();
  after_kill_.clear();
  doubtful_.clear();
  doubtful_queues_.clear();
  census_done_ = false;
  parse(lines);
  replay();
  for (auto& [number, job] : after_kill_) jobs_[number] = job;
  add_doubts();
  judge_refusals();
  ledger_.judge(lines, durable_lsn_);
  newest_id_ = std::max(newest_id_, life_id_);
  newest_generation_ = std::max(newest_generation_, life_generation_);
}

void Oracle::register_intents() {
  for (const auto& [key, op] : ops_) {
    if (!op.done) ++figures_.in_doubt;
    for (const uint64_t number : op.numbers) {
      Job& job = jobs_[number];
      if (job.number != 0) violation("the test used a number twice");
      job.number = number;
      job.queue = op.queue;
      job.life = life_;
      job.group = life_ << 32 | key;
      job.may_exist = true;  // for what the life listed and leased before the result was told
      if (op.done && op.code != WQ_OK) {
        job.may_exist = false;  // another one has its key
        continue;
      }
      open_.insert(number);
      if (!op.done) groups_[job.group] = op.numbers;
    }
    if (op.kind == 'E' && op.done && op.code == WQ_OK) {
      for (size_t i = 0; i < op.numbers.size() && i < op.ids.size(); ++i) {
        if (!by_id_.emplace(op.ids[i], op.numbers[i]).second || op.ids[i] <= newest_id_) {
          violation("job id used again: " + std::to_string(op.ids[i]));
        }
        jobs_[op.numbers[i]].id = op.ids[i];
        life_id_ = std::max(life_id_, op.ids[i]);
      }
    }
  }
}

void Oracle::replay() {
  std::vector<const Op*> changes;
  uint64_t durable_lsn = durable_lsn_;
  for (const auto& [key, op] : ops_) {
    // Ids of this life's leases, before the settles in doubt are looked at.
    for (const LeasedJob& lease : op.leased) by_id_.emplace(lease.id, lease.number);
    if (!op.done || op.lsn == 0) continue;
    changes.push_back(&op);
    if (op.level >= WQ_PROCESS) durable_lsn = std::max(durable_lsn, op.lsn);
  }
  for (const auto& [key, op] : ops_) {
    if (op.done) continue;
    if (sweeps(op.kind)) doubtful_queues_.insert(op.queue);
    for (const Target& target : op.targets) {
      if (const Job* job = by_id(target.id)) doubtful_.insert(job->number);
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Op* a, const Op* b) { return a->lsn < b->lsn; });
  uint64_t before = durable_lsn_;
  for (const Op* op : changes) {
    if (op->lsn <= before) violation("LSN used again: " + std::to_string(op->lsn));
    before = op->lsn;
    const bool durable = op->lsn <= durable_lsn;
    if (op->kind == 'E') replay_enqueue(*op, durable);
    if (op->kind == 'L') replay_lease(*op, durable);
    if (sweeps(op->kind)) replay_sweep(*op, durable);
    for (const Target& target : op->targets) {
      if (target.code == WQ_OK) replay_target(*op, target, durable);
    }
  }
  durable_lsn_ = durable_lsn;
}

template <typename Change>
void Oracle::change(Job& job, bool durable, Change&& apply) {
  if (!durable) after_kill_.try_emplace(job.number, job);
  apply(job);
  if (durable) job.place_may_revert = false;
  if (!durable) unite(after_kill_[job.number], job);
}

void Oracle::unite(Job& to, const Job& from) {
  if (to.place != from.place || to.generation != from.generation) to.place = Place::unknown;
  to.id = std::max(to.id, from.id);
  to.may_exist |= from.may_exist;
  to.may_be_gone |= from.may_be_gone;
  to.generation = std::min(to.generation, from.generation);
  to.deadline_ms = std::min(to.deadline_ms, from.deadline_ms);
  to.attempts = std::min(to.attempts, from.attempts);
}

// A job was seen to exist. If its enqueue was in doubt: the others of the same call exist too.
void Oracle::observed(Job& job, uint64_t id, bool durable) {
  job.id = id;
  if (!durable && job.life == life_) return;
  const auto it = groups_.find(job.group);
  if (it == groups_.end()) return;
  for (const uint64_t number : it->second) {
    Job& other = jobs_[number];
    if (other.id == 0) other.may_be_gone = false;
  }
  groups_.erase(it);
}

void Oracle::replay_enqueue(const Op& op, bool durable) {
  if (op.ids.size() != op.numbers.size()) return violation("an enqueue took some of its jobs");
  for (const uint64_t number : op.numbers) {
    Job& job = jobs_[number];
    ++figures_.jobs;
    if (job.generation != 0) violation("leased before it was enqueued: " + name(job));
    if (job.queue == key_queue) judge_key_taken(job, op);
    change(job, durable, [](Job& j) {
      j.enqueued = true;
      j.may_exist = true;
      j.may_be_gone = false;
      j.place = Place::idle;
    });
  }
}

void Oracle::judge_lease(const Job& job, const LeasedJob& lease, const Op& op) {
  if (job.id != 0 && job.id != lease.id) violation("id differs: " + name(job));
  if (lease.hash != hash_of(payload_of(lease.number))) violation("payload differs: " + name(job));
  if (!job.may_exist) violation("leased after it was removed: " + name(job));
  if (lease.generation <= std::max(newest_generation_, job.generation)) {
    violation("generation " + std::to_string(lease.generation) + " used again: " + name(job));
  }
  if (lease.deadline_ms - lease.leased_ms + slack_ms < op.lease_ms) {
    violation("the lease is too short: " + name(job));
  }
  if (lease.attempts > lease.max_attempts) violation("too many attempts: " + name(job));
  if (doubtful_.contains(job.number)) return;
  if (lease.attempts < job.attempts + 1) violation("lost an attempt: " + name(job));
  if (job.place == Place::leased && lease.leased_ms + slack_ms < job.deadline_ms) {
    violation("two valid leases: " + name(job));
  }
  if (job.place == Place::dead) violation("leased a dead job: " + name(job));
}

void Oracle::replay_lease(const Op& op, bool durable) {
  for (const LeasedJob& lease : op.leased) {
    ++figures_.leases;
    Job* const job = by_number(lease.number, "lease");
    if (job == nullptr) continue;
    judge_lease(*job, lease, op);
    if (job->queue == group_queue) judge_group_slot(*job, lease);
    if (lease.generation <= life_generation_) {
      violation("generation " + std::to_string(lease.generation) + " out of order: " + name(*job));
    }
    life_generation_ = lease.generation;
    life_id_ = std::max(life_id_, lease.id);
    change(*job, durable, [&](Job& j) {
      j.may_be_gone = false;
      j.enqueued = true;  // by a call in doubt, if it was not yet
      j.place = Place::leased;
      j.generation = lease.generation;
      j.deadline_ms = lease.deadline_ms;
      j.attempts = static_cast<uint32_t>(lease.attempts);
      observed(j, lease.id, durable);
    });
  }
}

// What a sweep of its queue leaves of a job that was there before.
void Oracle::sweep_effect(Job& job, const Op& op) const {
  const bool only_dead = op.kind == 'U';
  const int64_t end_ms = op.done ? op.end_ms + slack_ms : for_ever;
  if (only_dead && job.place == Place::leased && job.deadline_ms >= end_ms) return;
  job.may_be_gone = true;
  if (only_dead && job.place != Place::dead) {
    job.place = Place::unknown;  // dead meanwhile, or not
    return;
  }
  job.may_exist = false;
  job.place = Place::unknown;
}

// A sweep takes some of the jobs of an enqueue and leaves others, which have run on: that one of
// them is there says nothing of the others any more.
void Oracle::forget_groups(uint32_t queue) {
  std::erase_if(groups_, [&](const auto& group) { return jobs_[group.second[0]].queue == queue; });
}

void Oracle::replay_sweep(const Op& op, bool durable) {
  ++figures_.sweeps;
  forget_groups(op.queue);
  for (const uint64_t number : open_) {
    Job& job = jobs_[number];
    if (job.queue != op.queue || !job.may_exist) continue;
    if (job.life == life_ && !job.enqueued) continue;  // behind it, or in doubt anyway
    change(job, durable, [&](Job& j) { sweep_effect(j, op); });
    if (!jobs_[number].may_exist) recently_gone_.push_back(number);
  }
}

void Oracle::judge_token(const Job& job, const Op& op, const Target& target) {
  const std::string what = std::string("settle ") + target.kind + " with generation " +
                           std::to_string(target.generation) + ": ";
  if (target.kind == 'X') {
    if (job.place == Place::dead && !doubtful_.contains(job.number)) {
      violation(what + "cancelled a dead job: " + name(job));
    }
    return;
  }
  if (target.generation < job.generation) violation(what + "superseded token taken: " + name(job));
  if (doubtful_.contains(job.number)) return;
  if (target.generation > job.generation && job.place != Place::unknown) {
    violation(what + "unknown generation taken: " + name(job));
  }
  if (needs_lease(target.kind) && (job.place == Place::idle || job.place == Place::dead)) {
    violation(what + "the lease had ended: " + name(job));
  }
  if (!needs_lease(target.kind) && job.place == Place::leased &&
      job.deadline_ms > op.end_ms + slack_ms) {
    violation(what + "the job was leased and not dead: " + name(job));
  }
}

void Oracle::replay_target(const Op& op, const Target& target, bool durable) {
  ++figures_.settles;
  Job* const job = by_id(target.id);
  if (job == nullptr) return;  // listed as dead, from an enqueue in doubt
  if (!job->may_exist) {
    violation(std::string("settle ") + target.kind + " of a job that was removed: " + name(*job));
  }
  judge_token(*job, op, target);
  change(*job, durable, [&](Job& j) { take_effect(j, op, target); });
  if (!jobs_[job->number].may_exist) {
    recently_gone_.push_back(job->number);
    if (recently_gone_.size() > 2 * recently_gone_max) {
      recently_gone_.erase(recently_gone_.begin(), recently_gone_.begin() + recently_gone_max);
    }
  }
}

void Oracle::take_effect(Job& job, const Op& op, const Target& target) {
  if (removes(target.kind)) {
    job.may_exist = false;
    job.may_be_gone = true;
    job.place = Place::unknown;
    return;
  }
  job.may_be_gone = false;
  switch (target.kind) {
    case 'K':
      job.place = Place::leased;
      job.generation = target.generation;
      job.deadline_ms = target.run_ms == 0 ? for_ever : op.begin_ms + target.run_ms;
      break;
    case 'W':
      job.generation = target.generation;
      if (job.place == Place::leased && job.deadline_ms == for_ever) break;  // it has none
      job.place = Place::leased;
      job.deadline_ms = op.begin_ms + target.run_ms;
      break;
    case 'F':
      job.place = Place::dead;
      break;
    case 'B':
      job.place = Place::idle;
      job.attempts -= std::min(job.attempts, 1u);
      break;
    case 'P':
      job.place = Place::idle;
      job.attempts = 0;
      break;
    default:
      job.place = Place::idle;
  }
}

// Calls that had no result when the process died: done or not.
void Oracle::add_doubts() {
  for (const auto& [key, op] : ops_) {
    if (op.done) continue;
    if (sweeps(op.kind)) {
      forget_groups(op.queue);
      for (const uint64_t number : open_) {
        Job& job = jobs_[number];
        if (job.queue != op.queue || !job.may_exist) continue;
        Job other = job;
        sweep_effect(other, op);
        unite(job, other);
      }
    }
    for (const Target& target : op.targets) {
      Job* const job = by_id(target.id);
      if (job == nullptr || !job->may_exist) continue;
      if (target.kind != 'X' && target.generation < job->generation) continue;  // stale for certain
      Job other = *job;
      take_effect(other, op, target);
      // A prefix of the log that is too short for this call may be without the lease before it.
      other.may_be_gone |= job->may_be_gone;
      unite(*job, other);
      if (target.kind != 'K') job->place = Place::unknown;
    }
  }
  for (auto it = open_.begin(); it != open_.end();) {
    Job& job = jobs_[*it];
    if (std::exchange(job.place_may_revert, false)) job.place = Place::unknown;
    it = job.may_exist ? std::next(it) : open_.erase(it);
  }
}

void Oracle::judge_refusals() {
  for (const auto& [key, op] : ops_) {
    if (!op.done) continue;
    for (const Target& target : op.targets) {
      if (target.code == WQ_OK) continue;
      figures_.stale += target.code == WQ_STALE ? 1 : 0;
      const Job* const job = by_id(target.id);
      if (job == nullptr) continue;
      if (target.code == WQ_E_NOT_FOUND && !job->may_be_gone) {
        violation(std::string("settle ") + target.kind + ": not found: " + name(*job));
      }
      if (target.code == WQ_STALE && needs_lease(target.kind) && job->place == Place::leased &&
          job->generation == target.generation && job->deadline_ms > op.end_ms + slack_ms &&
          !doubtful_.contains(job->number)) {
        violation(std::string("settle ") + target.kind +
                  ": a valid token was stale: " + name(*job));
      }
    }
  }
}

void Oracle::judge_end() {
  for (const uint64_t number : open_) {
    const Job& job = jobs_[number];
    if (!job.may_be_gone) violation("not drained: " + name(job));
  }
  ledger_.judge_end();
}

std::string Oracle::known_jobs() const {
  std::string text;
  const auto add = [&](uint64_t number) {
    const Job& job = jobs_.at(number);
    if (job.id == 0) return;
    text += std::to_string(job.queue) + ' ' + std::to_string(job.number) + ' ' +
            std::to_string(job.id) + '\n';
  };
  for (const uint64_t number : open_) add(number);
  const size_t from = recently_gone_.size() - std::min(recently_gone_.size(), recently_gone_max);
  for (size_t i = from; i < recently_gone_.size(); ++i) {
    if (!open_.contains(recently_gone_[i])) add(recently_gone_[i]);
  }
  return text;
}

}  // namespace wq::crash
