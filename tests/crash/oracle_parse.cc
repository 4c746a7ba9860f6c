// Lines of a life into calls.
#include "crash/oracle.h"

#include <wq.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "crash/oracle_internal.h"
#include "crash/protocol.h"

namespace wq::crash {

void Oracle::parse(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    std::istringstream in(line);
    char type = 0;
    in >> type;
    uint64_t first = 0;
    if (type == '!') violation("the child says: " + line);
    if (type == 'G') {
      uint64_t records = 0;
      uint64_t cut = 0;
      in >> first >> records >> cut;
      ++figures_.opens;
      figures_.replays += records > 0 ? 1 : 0;
      figures_.cuts += cut > 0 ? 1 : 0;
    }
    if (type == 'C') judge_found(line);
    if (type == 'H') judge_holder(line);
    if (type == 'T' && !std::exchange(census_done_, true) && in >> first) judge_total(first);
    if (type == 'V' && in >> first && first != 0) violation("the full check found problems");
    if (type == 'I') parse_intent(line);
    if (type == 'R') parse_result(line);
  }
  register_intents();
  for (const std::string& line : lines) {
    if (line[0] == 'S') judge_listed(line);
  }
}

void Oracle::parse_intent(const std::string& line) {
  std::istringstream in(line);
  char type = 0;
  uint64_t key = 0;
  Op op;
  in >> type >> key >> op.kind >> op.level >> op.begin_ms;
  if (of_ledger(op.kind)) {
    ops_[key] = std::move(op);  // its level and its LSN count
    return;
  }
  if (op.kind == 'L') {
    in >> op.lease_ms;
  } else {
    in >> op.queue;
  }
  if (op.kind == 'E') {
    for (uint64_t number = 0; in >> number;) op.numbers.push_back(number);
  } else if (op.kind == 'M') {
    for (Target target{}; in >> target.kind >> target.id >> target.generation;) {
      op.targets.push_back(target);
    }
  } else if (op.kind != 'L' && !sweeps(op.kind)) {
    Target target{op.kind, 0, 0, 0, 0};
    in >> target.id >> target.generation;
    if (op.kind == 'K' || op.kind == 'W') in >> target.run_ms;
    op.targets.push_back(target);
  }
  ops_[key] = std::move(op);
}

void Oracle::parse_result(const std::string& line) {
  std::istringstream in(line);
  char type = 0;
  uint64_t key = 0;
  in >> type >> key;
  const auto it = ops_.find(key);
  if (it == ops_.end()) return violation("a result without intent: " + line);
  Op& op = it->second;
  in >> op.code >> op.lsn >> op.end_ms;
  op.done = true;
  figures_.longest_ms = std::max(figures_.longest_ms, op.end_ms - op.begin_ms);
  if (op.kind == 'E' && op.code == WQ_DUPLICATE) {
    in >> op.holder;
    ++figures_.duplicates;
  } else if (op.kind == 'E') {
    for (uint64_t id = 0; in >> id;) op.ids.push_back(id);
  } else if (op.kind == 'L') {
    for (LeasedJob job{}; in >> job.number >> job.id >> job.generation >> job.attempts >>
                          job.max_attempts >> job.leased_ms >> job.deadline_ms >> job.hash;) {
      op.leased.push_back(job);
    }
  } else if (op.kind == 'M') {
    for (Target& target : op.targets) in >> target.code;
  } else if (!op.targets.empty()) {
    op.targets[0].code = op.code;
  }
}

}  // namespace wq::crash
