#include "crash/oracle_ledger.h"

#include <wq.h>

#include <algorithm>

namespace wq::crash {
namespace {

std::string text_of(uint32_t queue, uint64_t a, uint64_t b) {
  static const char* const names[] = {"chain", "flow", "transaction", "slot"};
  return std::string(names[queue - chain_queue]) + " " + std::to_string(a) + "/" +
         std::to_string(b);
}

std::string text_of(uint64_t low, uint64_t high) {
  return std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace

void LedgerOracle::judge(const std::vector<std::string>& lines, uint64_t durable_lsn) {
  std::map<uint64_t, Call> calls;  // without a result yet
  for (const std::string& line : lines) {
    std::istringstream in(line);
    char type = 0;
    uint64_t key = 0;
    uint64_t value = 0;
    in >> type;
    if (type == 'I') {
      Call call;
      uint64_t skip = 0;
      in >> key >> call.kind >> skip >> skip;
      if (call.kind < 'a' || call.kind > 'z') continue;
      for (uint64_t word = 0; in >> word;) call.words.push_back(word);
      calls[key] = call;
    } else if (type == 'R') {
      int32_t code = 0;
      uint64_t lsn = 0;
      int64_t now_ms = 0;
      in >> key >> code >> lsn >> now_ms;
      const auto call = calls.find(key);
      if (call == calls.end()) continue;
      // What wrote nothing found something done before it.
      result(call->second, code, lsn != 0 && lsn <= durable_lsn, in);
      calls.erase(call);
    } else if (type == 'N' && in >> key >> value) {
      judge_row(key, value);
    } else if (type == 'B' && in >> value) {
      judge_last(value);
    } else if (type == 'J' && in >> key >> value) {
      judge_job(key, value != 0);
    } else if (type == 'P') {
      judge_flow(in);
    }
  }
  for (const auto& [key, call] : calls) doubt(call);
  end_life();
}

void LedgerOracle::result(const Call& call, int32_t code, bool durable, std::istringstream& rest) {
  const std::vector<uint64_t>& words = call.words;
  switch (call.kind) {
    case 'c':
      if (code == WQ_OK) chains_[words[0]].set(1, durable);
      break;
    case 'f':
      rest >> flows_[words[0]].id;
      flows_[words[0]].there.set(1, durable);
      break;
    case 'g':
      if (code == WQ_OK) flows_[words[0]].total.add(words[2], durable);
      break;
    case 'h':
      if (code == WQ_OK) flows_[words[0]].sealed.set(1, durable);
      break;
    case 'n': {
      Span& row = counters_[words[0]];
      uint64_t sum = 0;
      rest >> sum;
      if (sum <= row.low || sum > row.high + 1) {
        violation("a row that counts went from " + text_of(row.low, row.high) + " to " +
                  std::to_string(sum));
      }
      row.set(sum, durable);
      ++figures_.sums;
      break;
    }
    case 't':
      transacted(call, code, durable, rest);
      break;
    case 'l':
      leased(static_cast<uint32_t>(words[0]), durable, rest);
      break;
    default:
      acked(call, code, durable);
  }
}

// The last call before the kill: it has happened, or it has not.
void LedgerOracle::doubt(const Call& call) {
  const std::vector<uint64_t>& words = call.words;
  ++figures_.in_doubt;
  switch (call.kind) {
    case 'c':
      chains_[words[0]].high = 1;
      break;
    case 'g':
      flows_[words[0]].total.high += words[2];
      break;
    case 'h':
      flows_[words[0]].sealed.high = 1;
      break;
    case 'n':
      ++counters_[words[0]].high;
      break;
    case 't': {
      Span& applied = counters_[counter_count];
      transactions_[++applied.high] = {words[0], words[1], 0};
      break;
    }
    case 'a':
      if (words[2] == chain_queue) {
        Span& stage = chains_[words[0]];
        stage.high = std::max(stage.high, words[1] + 2);
      } else if (words[2] == flow_queue && words[1] == flow_end) {
        flows_[words[0]].ended.high = 1;
      } else if (words[2] == flow_queue) {
        ++flows_[words[0]].done.high;
      }
      break;
    default:
      break;  // of a flow nobody knows the id, of a lease nobody knows the job
  }
}

void LedgerOracle::end_life() {
  for (auto& [chain, stage] : chains_) stage.kill();
  for (auto& [number, flow] : flows_) {
    for (Span* span : {&flow.there, &flow.total, &flow.done, &flow.sealed, &flow.ended}) {
      span->kill();
    }
  }
  for (Span& row : counters_) row.kill();
  ids_now_.clear();
  gone_now_.clear();
}

void LedgerOracle::leased(uint32_t queue, bool durable, std::istringstream& rest) {
  uint64_t a = 0, b = 0, id = 0, generation = 0;
  while (rest >> a >> b >> id >> generation) leased_one({queue, {a, b}}, id, durable);
}

void LedgerOracle::leased_one(const JobName& name, uint64_t id, bool durable) {
  const auto [queue, pair] = name;
  const auto [a, b] = pair;
  const std::string what = text_of(queue, a, b);
  if (gone_.contains(id) || gone_now_.contains(id)) violation("came back: " + what);
  // Members of a flow that join in several calls have the same names.
  if (queue != flow_queue || b >= flow_failed_end) {
    const auto known = ids_.find(name);
    const auto now = ids_now_.find(name);
    if ((known != ids_.end() && known->second != id) ||
        (now != ids_now_.end() && now->second != id)) {
      violation("enqueued twice: " + what);
    }
    if (queue == cron_queue && known == ids_.end() && durable) ++figures_.slots;
    ids_now_[name] = id;
    if (durable) ids_[name] = id;
  }
  if (queue == chain_queue) {
    Span& stage = chains_[a];
    if (!stage.has(1 + b)) {
      violation("out of turn: " + what + ", the chain is at " + text_of(stage.low, stage.high));
    }
    stage.set(1 + b, durable);
  } else if (queue == flow_queue && !flows_.contains(a)) {
    violation("of no flow: " + what);
  } else if (queue == flow_queue && b == flow_failed_end) {
    violation("ended in failure: " + what);
  } else if (queue == flow_queue && b == flow_end) {
    const Flow& flow = flows_[a];
    if (flow.sealed.high == 0 || flow.done.high < flow.total.low) {
      violation("ended before its jobs: " + what);
    }
    if (flow.follow_up != 0 && flow.follow_up != id) violation("another end: " + what);
  } else if (queue == txn_queue && !has_transaction(a, counters_[counter_count])) {
    violation("of no transaction: " + what);
  }
}

void LedgerOracle::acked(const Call& call, int32_t code, bool durable) {
  if (code != WQ_OK) return;
  const uint64_t a = call.words[0], b = call.words[1], queue = call.words[2], id = call.words[3];
  gone_now_.insert(id);
  if (durable) gone_.insert(id);
  if (queue == chain_queue) {
    chains_[a].set(b + 2, durable);
    if (b + 1 == chain_steps) ++figures_.chains;
  } else if (queue == flow_queue && b == flow_end) {
    flows_[a].ended.set(1, durable);
    ++figures_.flows;
  } else if (queue == flow_queue) {
    flows_[a].done.add(1, durable);
  }
}

void LedgerOracle::transacted(const Call& call, int32_t code, bool durable,
                              std::istringstream& rest) {
  if (code != WQ_OK) {
    ++figures_.transactions_refused;  // nothing of it happened: the next sum tells
    return;
  }
  const uint64_t acked = call.words[1];
  Span& applied = counters_[counter_count];
  uint64_t sum = 0, id = 0;
  rest >> sum >> id;
  if (sum <= applied.low || sum > applied.high + 1) {
    violation("transactions went from " + text_of(applied.low, applied.high) + " to " +
              std::to_string(sum));
  }
  // Those from here on were undone by a kill.
  for (auto it = transactions_.lower_bound(sum); it != transactions_.end();) {
    if (it->second.id != 0) dropped_[it->second.n] = it->second.id;
    it = transactions_.erase(it);
  }
  applied.set(sum, durable);
  transactions_[sum] = {call.words[0], acked, id};
  if (acked != 0) {
    gone_now_.insert(call.words[2]);
    if (durable) gone_.insert(call.words[2]);
  }
  ++figures_.transactions;
}

// That its job can be there: it happened, and none that happened has acked it.
bool LedgerOracle::has_transaction(uint64_t n, const Span& applied) const {
  bool there = false;
  for (const auto& [sum, transaction] : transactions_) {
    if (sum > applied.high) break;
    if (transaction.n == n) there = true;
    if (transaction.acked == n && sum <= applied.low) return false;
  }
  return there;
}

void LedgerOracle::judge_row(uint64_t counter, uint64_t value) {
  Span& row = counters_[counter];
  if (!row.has(value)) {
    violation("row " + std::to_string(counter) + " counts " + std::to_string(value) +
              " instead of " + text_of(row.low, row.high));
  }
  row.set(value, true);
}

void LedgerOracle::judge_last(uint64_t n) {
  const uint64_t sum = counters_[counter_count].low;
  const auto last = transactions_.find(sum);
  const uint64_t expected = last == transactions_.end() ? 0 : last->second.n;
  if (n != expected) {
    violation("transaction " + std::to_string(sum) + " wrote " + std::to_string(n) +
              " instead of " + std::to_string(expected));
  }
}

void LedgerOracle::judge_job(uint64_t n, bool found) {
  const bool expected = has_transaction(n, counters_[counter_count]);
  if (found != expected) {
    violation("transaction " + std::to_string(n) + (found ? " left its job" : " has no job"));
  }
}

void LedgerOracle::judge_flow(std::istringstream& line) {
  uint64_t number = 0, known = 0, flags = 0, total = 0, pending = 0, done = 0;
  uint64_t failed = 0, cancelled = 0, follow_up = 0;
  line >> number >> known >> flags >> total >> pending >> done >> failed >> cancelled >> follow_up;
  Flow& flow = flows_[number];
  const std::string what = "flow " + std::to_string(number) + ": ";
  if (known == 0) {
    if (flow.there.low != 0) violation(what + "lost");
    flows_.erase(number);
    return;
  }
  const bool sealed = (flags & WQ_FLOW_SEALED) != 0;
  const bool finished = (flags & WQ_FLOW_FINISHED) != 0;
  if (!flow.total.has(total) || !flow.done.has(done)) {
    violation(what + std::to_string(done) + " of " + std::to_string(total) + " instead of " +
              text_of(flow.done.low, flow.done.high) + " of " +
              text_of(flow.total.low, flow.total.high));
  }
  if (failed + cancelled != 0 || pending + done != total) violation(what + "counts differ");
  if (!flow.sealed.has(sealed)) violation(what + "sealed or not");
  if (finished != (sealed && pending == 0)) violation(what + "finished or not");
  if (finished != (follow_up != 0)) violation(what + "what follows it");
  if (flow.follow_up != 0 && flow.follow_up != follow_up) violation(what + "another end");
  flow.there.set(1, true);
  flow.total.set(total, true);
  flow.done.set(done, true);
  flow.sealed.set(sealed, true);
  flow.follow_up = follow_up;  // found after an open, so it is there for good
}

// All jobs were drained, with calls that were answered: what was there has come to its end, by then
// or by a call in doubt before.
void LedgerOracle::judge_end() {
  for (const auto& [chain, stage] : chains_) {
    if (stage.low != 0 && stage.high != 1 + chain_steps) {
      violation("chain " + std::to_string(chain) + " ended at " + text_of(stage.low, stage.high));
    }
  }
  for (const auto& [number, flow] : flows_) {
    if (flow.there.low == 0) continue;
    if (flow.sealed.low == 0 || flow.done.low != flow.total.low || flow.ended.high == 0) {
      violation("flow " + std::to_string(number) + " has no end: " + std::to_string(flow.done.low) +
                " of " + std::to_string(flow.total.low));
    }
  }
}

std::string LedgerOracle::known() const {
  std::string text;
  for (const auto& [number, flow] : flows_) {
    if (flow.id == 0 || flow.ended.low != 0) continue;
    text += "f " + std::to_string(number) + " " + std::to_string(flow.id) + "\n";
  }
  size_t left = 24;
  const auto add = [&](uint64_t n, uint64_t id) {
    if (id == 0 || left == 0) return;
    --left;
    text += "t " + std::to_string(n) + " " + std::to_string(id) + "\n";
  };
  for (auto it = transactions_.rbegin(); it != transactions_.rend(); ++it) {
    add(it->second.n, it->second.id);
  }
  for (auto it = dropped_.rbegin(); it != dropped_.rend() && left > 0; ++it) {
    add(it->first, it->second);
  }
  return text;
}

}  // namespace wq::crash
