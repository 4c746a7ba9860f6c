// Where and how a job stands in Redis. A layout turns a job into one script call that takes the job
// in if its id is not known, and remembers the id, in one atomic step.
//
//   list:KEY            the payload at the tail of a list (consumers pop the head)
//   stream:KEY          an entry of a stream; every member of the job is a field of its own
//   prismgo:PREFIX      the lists and sorted sets of the PrismGo framework's redis driver; the
//                       payload is the envelope of the framework. Sources: prismgo/framework,
//                       queue/redis/keys.go and queue/redis/queue.go
//   waitqueue:NS:ID     the keys of WaitQueue.js for namespace NS and queue ID; the payload is the
//                       task id. Source: PeterGuy326/waitqueue.js, src/reliability/task_store.ts
//
// In KEY, {queue} stands for the name of the relay's queue. On a cluster all keys of a call must be
// on one node: put a hash tag into KEY or PREFIX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/job.h"
#include "relay/primary.h"

namespace wq::relay {

enum class LayoutKind : uint8_t { list, stream, prismgo, waitqueue };

struct Layout {
  LayoutKind kind = LayoutKind::list;
  std::string key;  // list, stream: the key; else what stands before the names of the keys

  // Whether Redis itself can hold a job until it is due.
  bool has_delay() const { return kind == LayoutKind::prismgo; }
};

// "list:KEY" and so on; nothing, with the reason in `problem`, if it is not one of them.
std::optional<Layout> parse_layout(std::string_view text, std::string_view queue,
                                   std::string& problem);

// How long and how many ids are remembered.
struct SeenLimits {
  int64_t keep_ms = 7LL * 24 * 3600 * 1000;
  uint64_t keep_count = 1'000'000;
};

// The call that takes `job` in. `queue` names it in the layouts that have names of queues.
Request apply_request(const Layout& layout, std::string_view queue, const Job& job,
                      const SeenLimits& limits);
// The call that asks whether the id of a job is known: applied if so, duplicate if not.
Request known_request(const Layout& layout, std::string_view queue, std::string_view id);

// Empty, or what of the job the layout has no place for.
std::string unfit(const Layout& layout, const Job& job);

}  // namespace wq::relay
