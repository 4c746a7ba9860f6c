// What decides which ready job may be handed out next: groups with limits, the overlap guard, the
// rates of a queue and of its keys, the throttle on exceptions, the turns of tenants. Written from
// SPEC.md and section 4 of wq.h alone, in the most naive form: each question is answered by looking
// at all jobs. The functions are members of Model. Thread model: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/traits.h"
#include "engine/types.h"

namespace wq::model {

// What a job names of all this.
struct GateSpec {
  std::string group;
  uint32_t group_limit = 0;
  OverlapRule overlap = OverlapRule::park;
  int64_t overlap_ms = 0;
  std::string tenant;
  std::string rate_key;
  uint32_t rate_cost = 1;

  bool any() const { return !group.empty() || !tenant.empty() || !rate_key.empty(); }
  bool parks() const { return !group.empty() && overlap == OverlapRule::park; }
  bool guards() const { return overlap != OverlapRule::park; }
  // Whether it waits behind others than those of its tenant.
  bool has_line() const { return parks() || !rate_key.empty(); }
};

// A rate key of a queue.
struct RateKey {
  int64_t full_at_ns = 0;          // when nothing of its rate is used up any more
  int64_t cool_until_ms = 0;       // no job of it begins before
  std::vector<int64_t> failed_ms;  // the exceptions that count

  bool operator==(const RateKey&) const = default;
};

// What a queue has to remember of its past; all else follows from its jobs.
struct GateState {
  bool used = false;       // it has had jobs that name something of this
  bool tenants = false;    // it has had jobs with tenants
  bool lines = false;      // it has had jobs of groups or rate keys
  int64_t full_at_ns = 0;  // the rate of the queue, as that of a key
  std::map<std::string, RateKey> keys;
  // The limit of a group that was named last, as long as the group has jobs that wait or run.
  std::map<std::string, uint32_t> limits;
  // By priority: the tenants with ready jobs of their own (not of a group or rate key). Who has had
  // a turn or comes back goes to the end.
  std::map<uint8_t, std::vector<std::string>> turns;
  // Priority, a tenant that waits for its turn, another: how many turns the other has had since.
  std::map<std::tuple<uint8_t, std::string, std::string>, uint32_t> passed;

  bool operator==(const GateState&) const = default;
};

// A rate of whole nanoseconds between two jobs. What the tests draw is one, so that nothing is
// rounded: `count` in `window_ms`, evenly spread, up to `burst` at once after an idle time.
int64_t interval_ns(const RateLimit& rate);
// Until a job that costs `tokens` may begin, which waits for no more than a full burst.
int64_t wait_ns(const RateLimit& rate, int64_t full_at_ns, int64_t now_ms, uint32_t tokens);

}  // namespace wq::model
