// What a life found before it did anything itself, and what it listed.
#include "crash/oracle.h"

#include <wq.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "crash/oracle_internal.h"
#include "crash/protocol.h"

namespace wq::crash {

// What the life found of a job that was known before it, before it did anything itself.
void Oracle::judge_found(const std::string& line) {
  std::istringstream in(line);
  char type = 0;
  uint64_t number = 0, id = 0, found = 0, generation = 0, hash = 0;
  uint32_t state = 0, attempts = 0;
  int64_t now_ms = 0, deadline_ms = 0;
  in >> type >> number >> id >> found >> now_ms >> state >> attempts >> generation >> deadline_ms >>
      hash;
  ++figures_.census;
  Job* const job = by_id(id);
  if (job == nullptr) return violation("found a job that nobody asked for: " + line);
  if (found == 0) {
    if (!job->may_be_gone) violation("lost: " + name(*job));
    if (job->may_exist) ++figures_.doubts_gone;
    job->may_exist = false;
    job->may_be_gone = true;
    open_.erase(job->number);
    return;
  }
  if (number != job->number) return violation("an id leads to another job: " + name(*job));
  if (hash != hash_of(payload_of(number))) violation("payload differs: " + name(*job));
  if (!job->may_exist) violation("came back: " + name(*job));
  if (generation < job->generation) violation("lost a lease: " + name(*job));
  if (attempts < job->attempts) violation("lost an attempt: " + name(*job));
  const bool leased = state == WQ_STATE_LEASED || state == WQ_STATE_RUNNING;
  if (job->place == Place::leased && job->deadline_ms > now_ms + slack_ms &&
      (!leased || generation != job->generation)) {
    violation("lost a valid lease: " + name(*job));
  }
  if (job->place == Place::dead && state != WQ_STATE_DEAD) {
    violation("a dead job is alive: " + name(*job));
  }
  if (job->may_be_gone) ++figures_.doubts_there;
  figures_.leases_kept += leased ? 1 : 0;
  job->may_exist = true;
  job->may_be_gone = false;
  job->place_may_revert = state == WQ_STATE_DEAD && job->place != Place::dead;
  job->place = leased ? Place::leased : state == WQ_STATE_DEAD ? Place::dead : Place::idle;
  job->generation = generation;
  job->attempts = attempts;
  job->deadline_ms = deadline_ms == 0 ? for_ever : deadline_ms;
  life_generation_ = std::max(life_generation_, generation);
  observed(*job, id, true);
}

// All known jobs were looked up: only jobs of enqueues in doubt can be there besides.
void Oracle::judge_total(uint64_t total) {
  uint64_t certain = 0;
  for (const uint64_t number : open_) certain += jobs_[number].may_be_gone ? 0 : 1;
  if (total < certain || total > open_.size()) {
    violation("the store counts " + std::to_string(total) + " jobs instead of " +
              std::to_string(certain) + " to " + std::to_string(open_.size()));
  }
  if (total != certain) return;
  for (auto it = open_.begin(); it != open_.end();) {
    Job& job = jobs_[*it];
    if (job.may_be_gone) {
      job.may_exist = false;
      ++figures_.doubts_gone;
      it = open_.erase(it);
    } else {
      ++it;
    }
  }
  groups_.clear();
}

void Oracle::judge_listed(const std::string& line) {
  std::istringstream in(line);
  char type = 0;
  uint64_t number = 0, id = 0, hash = 0;
  in >> type >> number >> id >> hash;
  Job* const job = by_number(number, "dead letter");
  if (job == nullptr) return;
  if (!job->may_exist) violation("among the dead letters again: " + name(*job));
  if (hash != hash_of(payload_of(number))) violation("payload differs: " + name(*job));
  if (job->id != 0 && job->id != id) violation("id differs: " + name(*job));
  // A job whose enqueue was in doubt, and all leases too, is known by its listing alone: what is
  // done with the entry names the id.
  job->id = id;
  by_id_.emplace(id, number);
}

}  // namespace wq::crash
