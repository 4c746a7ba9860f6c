// Groups: jobs of a queue that name the same key, of which no more than a limit run at once. And
// the lines of tenants, which are served by turns (turns.h).
//
// A gate is what memory knows of one group while jobs of it wait, are leased or running: how many
// hold a slot, and its lines, which are lanes (queue.h) of the group's own, one per priority. A job
// of a group never stands in an ordinary lane: it enters its line when it becomes ready, with its
// place in the order of the whole queue, and a lease takes it from there. The lanes of the queue
// know the lines by the place of their first job, those whose gate has a free slot (Lane::open)
// apart from the others (Lane::shut), so a lease is served in the order of the queue and never
// meets a job that it must not take, however many there are. Slots are not stored: they are counted
// from the leases, so they can not leak. settle_gate() is called after each change of a gate and is
// the only place that opens and shuts it.
//
// A rate key has a gate of the same kind, with no slots but a TAT (rate.h): the lease that takes a
// job charges it with the cost of the job, in the same record. It is shut while its first job in
// order costs more than there is, so that a dear job is not overtaken for ever by cheap ones; and
// while it cools down, for which the exceptions of its jobs are counted (throttle.h). When
// it opens is a matter of time alone: State::pass_time() settles what is due. It knows of time only
// what it is told, so a key may look shut for too long, but a lease tells it first. A job has a
// group or a rate key, not both.
//
// Stored: the jobs of a line have their index rows under the line's number (line_key), and each
// gate that has waiting jobs a row in the family meta:
//
//   'g' queue:4 group key   ->  limit:4 number:8, then per line
//                               priority:1 head_hint:8 count:8 turn:8 tenant_size:2 tenant
//   'h' queue:4 tenant key  ->  the same, limit 0
//
//   'k' queue:4 rate key    ->  tat:8 cool_until:8 exceptions:2 number:8, then the time:8 of each
//                               exception that counts, then the same
//
// A tenant has a gate of the same kind, without slots: its lines hold its jobs that stand in no
// line of a group, and list the lines of groups whose first job is one of its own. A line of a
// group stays in the order of the queue, whoever its jobs are of, and with `tenant`, that of its
// first job. Where all of its jobs are of one tenant, that is known for ever; else nothing is
// leased while the first job of a line with a free slot is only in the store (Lane::unread), so
// that nobody waits for another one's turns. The turn is that of a tenant; that of a line of a
// group tells which of these it is (LineTenants).
//
// The row of a group whose jobs all run has its limit, if it has one of its own, and number 0 and
// no line. That of a rate key stays until the TAT and what the throttle knows are in the past, with
// number 0 and no line if none waits. The number is the place of the job that began the lines. It
// is never used twice in a queue, so what a clear leaves behind can not be mistaken for the rows of
// a later line. Thread model: as State's, which it is a part of; the codec is pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/body.h"
#include "engine/queue.h"
#include "engine/record.h"

namespace wq {

struct LineRow {
  LaneRow lane;
  uint64_t turn = 0;  // of a tenant; else LineTenants
  std::string tenant = {};
};

struct GateRow {
  uint32_t limit = 0;  // of a group; 0 = the queue's
  int64_t tat_ns = 0;  // of a rate key
  Breaker breaker = {};
  uint64_t number = 0;
  std::vector<LineRow> lines = {};
};

struct GateKey {
  QueueId queue = 0;
  GateName name = {};
};
std::string gate_row_key(QueueId queue, const GateName& name);
std::optional<GateKey> parse_gate_row_key(std::string_view key);
std::string encode_gate_row(char kind, const GateRow& row);
std::optional<GateRow> decode_gate_row(char kind, std::string_view bytes);

// What a checkpoint does to the row of a gate.
struct GateChange {
  std::string key;
  std::optional<std::string> value;  // none: the row goes
};

// What the line of a ready job is of: its group or its rate key, else its tenant; empty = it stands
// in none.
inline GateName gate_name_of(const JobTraits& traits) {
  if (!traits.rate_key.empty()) return {GateName::rate_key, traits.rate_key};
  return traits.parks() ? GateName(GateName::group, traits.group)
                        : GateName(GateName::tenant, traits.tenant);
}
inline GateName gate_name_of(const Job& job) {
  return job.traits ? gate_name_of(*job.traits) : GateName();
}
std::string gate_name_of(const BodyRef& body);

// Whether the job waits for a slot of its group, or for its rate key.
bool is_parked(const Job& job);

// The jobs of one lane and of the lines that it lists, in order: all of them, or those that may be
// leased. Taking one of these changes nothing but what KeyGate::pick() does; the caller sets that
// back in the gates of `picked`, of which some may come twice.
class LanePicker {
 public:
  explicit LanePicker(const Lane& lane);
  LanePicker(const Lane& lane, std::vector<KeyGate*>& picked, int64_t now_ms);
  // Null: there is none in memory. If cold() is a lane then, its first job comes next.
  Job* next();
  const Lane* cold() const { return cold_; }
  // The line that gave the last job has one of another tenant next, or of nobody knows whom.
  bool changes_tenant() const { return changes_tenant_; }

 private:
  struct Again {  // a line that has given a job already
    uint64_t position = 0;
    Lane* line = nullptr;
    Job* job = nullptr;
  };
  static bool later(const Again& a, const Again& b) { return a.position > b.position; }
  void skip_shut();
  bool may_give(const Lane* line, const Job* job);
  Job* take(Lane* line, Job* job);

  const Lane& lane_;
  std::vector<KeyGate*>* picked_ = nullptr;  // null: all jobs
  int64_t now_ms_ = 0;
  Job* own_;
  LineOrder::const_iterator open_;
  LineOrder::const_iterator shut_;
  std::vector<Again> again_;  // a heap
  const Lane* cold_ = nullptr;
  bool changes_tenant_ = false;
};

}  // namespace wq
