// Judges what the ledger of crash_child told over all its lives (protocol.h): chains go on once and
// only by an ack, flows count exactly and end once, rows that count have each sum once,
// transactions happened as a whole or not at all, a slot of the schedule gave one job.
//
// The ledger made one call after another, so its lines are in the order of what happened. A call
// that was confirmed and is durable has happened; one that is confirmed and not durable may be
// undone by the kill, together with all behind it; the last one may have no result. So each
// figure has a span after a kill: from what is durable to what may be. The next look or call tells
// which it is. Knows nothing of the engine. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "crash/protocol.h"

namespace wq::crash {

struct LedgerFigures {
  uint64_t chains = 0;  // that came to their end
  uint64_t flows = 0;   // the same
  uint64_t sums = 0;
  uint64_t transactions = 0;
  uint64_t transactions_refused = 0;
  uint64_t slots = 0;
  uint64_t in_doubt = 0;
};

class LedgerOracle {
 public:
  using Violation = std::function<void(const std::string&)>;
  explicit LedgerOracle(Violation violation) : violation_(std::move(violation)) {}

  // One life, whose changes up to durable_lsn survive its kill.
  void judge(const std::vector<std::string>& lines, uint64_t durable_lsn);
  // After a life that drained the store.
  void judge_end();
  // For the next life: lines "f flow id" and "t n id".
  std::string known() const;
  const LedgerFigures& figures() const { return figures_; }

 private:
  // A figure that only grows.
  struct Span {
    uint64_t low = 0, high = 0;  // now, as far as is known
    uint64_t sure = 0;           // survives a kill in any case

    void set(uint64_t value, bool durable) {
      low = high = value;
      if (durable) sure = value;
    }
    void add(uint64_t n, bool durable) {
      low += n;
      high += n;
      if (durable) sure = low;
    }
    void kill() { low = sure; }
    bool has(uint64_t value) const { return value >= low && value <= high; }
  };
  struct Flow {
    uint64_t id = 0;
    Span there, total, done, sealed, ended;  // ended: what its end enqueued is acked
    uint64_t follow_up = 0;
  };
  struct Transaction {
    uint64_t n = 0, acked = 0, id = 0;
  };
  // A job by what it is: queue, a, b.
  using JobName = std::pair<uint32_t, std::pair<uint64_t, uint64_t>>;
  struct Call {
    char kind = 0;
    std::vector<uint64_t> words;
  };

  void violation(const std::string& text) { violation_(text); }
  void result(const Call& call, int32_t code, bool durable, std::istringstream& rest);
  void doubt(const Call& call);
  void end_life();

  void leased(uint32_t queue, bool durable, std::istringstream& rest);
  void leased_one(const JobName& name, uint64_t id, bool durable);
  void acked(const Call& call, int32_t code, bool durable);
  void transacted(const Call& call, int32_t code, bool durable, std::istringstream& rest);
  bool has_transaction(uint64_t n, const Span& applied) const;
  void judge_row(uint64_t counter, uint64_t value);
  void judge_last(uint64_t n);
  void judge_job(uint64_t n, bool found);
  void judge_flow(std::istringstream& line);

  const Violation violation_;
  LedgerFigures figures_;
  std::map<uint64_t, Span> chains_;  // 0: not there; 1 + s: step s waits; 1 + chain_steps: done
  std::map<uint64_t, Flow> flows_;
  Span counters_[counter_count + 1];
  std::map<uint64_t, Transaction> transactions_;  // by the sum that it made
  std::map<uint64_t, uint64_t> dropped_;          // id by n of transactions that were undone
  std::map<JobName, uint64_t> ids_;               // of jobs that were seen, and are durable
  std::map<JobName, uint64_t> ids_now_;           // the same in this life
  std::set<uint64_t> gone_;                       // ids of jobs that were acked durably
  std::set<uint64_t> gone_now_;
};

}  // namespace wq::crash
