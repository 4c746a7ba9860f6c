// Judges what crash_child told over all its lives (protocol.h). Knows nothing of the engine: only
// that changes have log sequence numbers, that a call which returned OK at a level holds with all
// changes before it, and what each call means for its job.
//
// A life is judged when its pipe is at the end. The changes that were confirmed are replayed in LSN
// order. Up to the newest LSN confirmed at process or power level they must have survived; after
// it, each prefix may have. A call without a result may have taken effect or not. So a job may be
// in one of several conditions after a kill, and Job keeps their union, until the next life tells
// what it found. One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "crash/oracle_ledger.h"

namespace wq::crash {

struct Figures {
  uint64_t jobs = 0;  // enqueued with OK
  uint64_t leases = 0;
  uint64_t settles = 0;  // with OK, cancels, replays and removals too
  uint64_t stale = 0;
  uint64_t sweeps = 0;  // clears, deletes and purges with OK
  uint64_t in_doubt = 0;
  uint64_t group_leases = 0;  // of jobs of a group
  uint64_t duplicates = 0;    // enqueues that met the holder of their key
  uint64_t key_holders = 0;   // looked up after an open, and held
  int64_t longest_ms = 0;     // call
  uint64_t census = 0;        // jobs looked up after an open
  uint64_t doubts_gone = 0;   // jobs that could be gone or not, and were
  uint64_t doubts_there = 0;  // and were not
  uint64_t leases_kept = 0;   // looked up after an open, and still valid
  uint64_t opens = 0;
  uint64_t replays = 0;  // opens that replayed records
  uint64_t cuts = 0;     // opens that cut an unfinished tail
};

class Oracle {
 public:
  // One life: its lines, whole, in the order of the pipe.
  void judge(const std::vector<std::string>& lines);
  // After a life that drained the store: nothing is left, and nothing was lost.
  void judge_end();
  // Jobs for the next life to look up: "queue number id" lines.
  std::string known_jobs() const;
  std::string known_to_ledger() const { return ledger_.known(); }
  const LedgerFigures& ledger_figures() const { return ledger_.figures(); }
  const std::vector<std::string>& violations() const { return violations_; }
  const Figures& figures() const { return figures_; }

 private:
  // idle: ready, delayed or dead. unknown: any of them.
  enum class Place { unknown, idle, leased, dead };
  struct Job {
    uint64_t number = 0;
    uint64_t id = 0;  // 0: not known yet
    uint32_t queue = 0;
    uint64_t life = 0;      // that enqueued it
    uint64_t group = 0;     // the enqueue, unique over the lives
    bool enqueued = false;  // the change of the enqueue is confirmed
    bool may_exist = false;
    bool may_be_gone = true;
    Place place = Place::unknown;
    uint64_t generation = 0;        // of the newest lease that is certain
    int64_t deadline_ms = 0;        // at least, while leased
    uint32_t attempts = 0;          // at least
    bool place_may_revert = false;  // found after an expiry, which is confirmed to nobody
  };
  struct LeasedJob {
    uint64_t number, id, generation, attempts, max_attempts;
    int64_t leased_ms, deadline_ms;
    uint64_t hash;
  };
  struct Target {
    char kind;
    uint64_t id, generation;
    int64_t run_ms;
    int32_t code;
  };
  struct Op {
    char kind = 0;
    uint32_t level = 0;
    int64_t begin_ms = 0, end_ms = 0;
    uint32_t queue = 0;
    int64_t lease_ms = 0;
    bool done = false;
    int32_t code = 0;
    uint64_t lsn = 0;
    std::vector<uint64_t> numbers, ids;  // enqueue
    uint64_t holder = 0;                 // of its key
    std::vector<LeasedJob> leased;
    std::vector<Target> targets;  // of a settle
  };

  void violation(const std::string& text);
  static std::string name(const Job& job);
  Job* by_number(uint64_t number, const char* where);
  Job* by_id(uint64_t id);

  void parse(const std::vector<std::string>& lines);
  void parse_intent(const std::string& line);
  void parse_result(const std::string& line);
  void judge_found(const std::string& line);
  void judge_total(uint64_t total);
  void judge_listed(const std::string& line);
  void judge_holder(const std::string& line);
  void judge_group_slot(const Job& job, const LeasedJob& lease);
  void judge_key_taken(const Job& job, const Op& op);

  void register_intents();
  void replay();
  void replay_enqueue(const Op& op, bool durable);
  void replay_lease(const Op& op, bool durable);
  void judge_lease(const Job& job, const LeasedJob& lease, const Op& op);
  void replay_target(const Op& op, const Target& target, bool durable);
  void replay_sweep(const Op& op, bool durable);
  void sweep_effect(Job& job, const Op& op) const;
  void forget_groups(uint32_t queue);
  void judge_token(const Job& job, const Op& op, const Target& target);
  void take_effect(Job& job, const Op& op, const Target& target);
  void add_doubts();
  void judge_refusals();
  // A change of a job. One that may be lost adds to what the job may be after the kill.
  template <typename Change>
  void change(Job& job, bool durable, Change&& apply);
  static void unite(Job& to, const Job& from);
  void observed(Job& job, uint64_t id, bool durable);

  std::vector<std::string> violations_;
  Figures figures_;
  LedgerOracle ledger_{[this](const std::string& text) { violation(text); }};
  std::unordered_map<uint64_t, Job> jobs_;        // by number
  std::unordered_map<uint64_t, uint64_t> by_id_;  // number by id
  std::set<uint64_t> open_;                       // numbers of jobs that may exist
  std::vector<uint64_t> recently_gone_;
  std::map<uint64_t, std::vector<uint64_t>> groups_;  // numbers of an enqueue in doubt
  uint64_t life_ = 0;
  uint64_t durable_lsn_ = 0;
  uint64_t newest_id_ = 0;  // over the lives before
  uint64_t newest_generation_ = 0;

  // Of the life being judged.
  std::map<uint64_t, Op> ops_;
  std::unordered_map<uint64_t, Job> after_kill_;  // what changes that may be lost leave
  std::unordered_set<uint64_t> doubtful_;         // jobs that a call in doubt names
  std::set<uint32_t> doubtful_queues_;            // that a sweep in doubt may have emptied
  uint64_t life_id_ = 0;
  uint64_t life_generation_ = 0;
  bool census_done_ = false;
};

}  // namespace wq::crash
