// Groups, one job of which runs at a time, and unique keys, which one job has at a time. Who is in
// a group and which key a job has follows from its number. Only what is certain counts: a job that
// a call in doubt names may have given its place to the next.
#include "crash/oracle.h"

#include <wq.h>

#include <sstream>

#include "crash/oracle_internal.h"
#include "crash/protocol.h"

namespace wq::crash {

void Oracle::judge_group_slot(const Job& job, const LeasedJob& lease) {
  ++figures_.group_leases;
  if (doubtful_queues_.contains(group_queue)) return;
  for (const uint64_t number : open_) {
    const Job& other = jobs_[number];
    if (number == job.number || other.queue != group_queue) continue;
    if (group_of(number) != group_of(job.number)) continue;
    if (other.place != Place::leased || !other.may_exist || other.may_be_gone) continue;
    if (doubtful_.contains(number) || lease.leased_ms + slack_ms >= other.deadline_ms) continue;
    violation("two valid leases in one group: " + name(other) + " and then " + name(job));
  }
}

// A job was enqueued with a key: nobody else had it at that moment.
void Oracle::judge_key_taken(const Job& job, const Op& op) {
  if (doubtful_queues_.contains(key_queue)) return;
  const uint64_t key = key_of(job.number);
  for (const uint64_t number : open_) {
    const Job& other = jobs_[number];
    if (number == job.number || other.queue != key_queue || key_of(number) != key) continue;
    if (!other.enqueued || !other.may_exist || other.may_be_gone) continue;
    if (doubtful_.contains(number)) continue;
    const bool alive =
        other.place == Place::leased
            ? other.deadline_ms > op.end_ms + slack_ms
            : other.place == Place::idle && other.attempts == 0 && other.generation == 0;
    if (!alive && !key_held_by_dead(key)) continue;
    violation("one key for two: " + name(other) + " and then " + name(job));
  }
}

// After an open, behind what was found of the known jobs.
void Oracle::judge_holder(const std::string& line) {
  std::istringstream in(line);
  char type = 0;
  uint64_t key = 0, id = 0;
  in >> type >> key >> id;
  const std::string what = "key " + std::to_string(key) + ": ";
  if (id != 0) ++figures_.key_holders;
  bool in_doubt = false;  // an enqueue of which no id is known
  for (const uint64_t number : open_) {
    const Job& job = jobs_[number];
    if (job.queue != key_queue || key_of(number) != key) continue;
    if (job.id == 0) in_doubt = true;
    if (job.id == 0 || job.id == id || job.may_be_gone) continue;
    // One that ran out of its lease since it was looked up may be dead.
    if (key_held_by_dead(key) || (job.place == Place::idle && job.generation == 0)) {
      violation(what + "held by job " + std::to_string(id) + " and not by " + name(job));
    }
  }
  const Job* const holder = by_id(id);
  if (holder == nullptr) {
    if (id != 0 && !in_doubt) violation(what + "held by job " + std::to_string(id) + ", unknown");
    return;
  }
  if (holder->queue != key_queue || key_of(holder->number) != key) {
    violation(what + "held by " + name(*holder));
  } else if (!holder->may_exist) {
    violation(what + "held by one that is gone: " + name(*holder));
  }
}

}  // namespace wq::crash
