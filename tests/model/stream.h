// Streams of random operations. A stream is a setting and a list of operations; each operation is a
// kind and five numbers that are read against whatever state it meets (the n-th queue, the n-th
// lease), so that any part of a stream is a stream too and a failing one can be shrunk. The text
// form is what a failure prints and what WQ_MODEL_REPLAY reads. Thread model: plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"

namespace wq::model {

// Operations on keys, limits, flows, rows and schedules: see runner_keys.cc.
// clang-format off
#define WQ_MODEL_FLOW_OPS(X) \
  X(key_holder) X(key_cancel) X(key_release) X(progress) X(flow_config) X(batch_create) \
  X(batch_seal) X(batch_cancel) X(batch_read) X(kv_put) X(kv_add) X(kv_erase) X(kv_read) \
  X(lock) X(transact) X(history) X(cron_put) X(cron_remove) X(cron_pause) X(limit_config) \
  X(dead_many)
// clang-format on

// X(name): the name is also the text form.
#define WQ_MODEL_OPS(X)                                                                           \
  X(declare)                                                                                      \
  X(remove_queue)                                                                                 \
  X(configure)                                                                                    \
  X(status)                                                                                       \
  X(clear)                                                                                        \
  X(enqueue)                                                                                      \
  X(enqueue_many)                                                                                 \
  X(cancel)                                                                                       \
  X(get)                                                                                          \
  X(lease) X(confirm) X(extend) X(settle) X(dead_list) X(dead_replay) X(dead_remove) X(advance)   \
      X(step_wall) X(tick) X(sync) X(wait_durable) X(poll) X(checkpoint) X(bad_input) X(shutdown) \
          X(reopen) X(kill) X(cut) X(check) X(rebuild) /* gates */ X(reprioritise)                \
              X(gate_config) /* flows */ WQ_MODEL_FLOW_OPS(X)

enum class OpKind : uint8_t {
#define X(name) name,
  WQ_MODEL_OPS(X)
#undef X
};
constexpr size_t op_kind_count = 0
#define X(name) +1
    WQ_MODEL_OPS(X);
#undef X
const char* op_name(OpKind kind);

struct Op {
  OpKind kind = OpKind::check;
  std::array<uint32_t, 5> arg{};
};

enum StoreChoice : uint32_t { on_memory, on_rocks_uring, on_rocks_threads };
// Bits of Setting::gates: what jobs name.
enum GateChoice : uint32_t { gate_groups = 1, gate_guards = 2, gate_keys = 4, gate_tenants = 8 };
// Bits of Setting::flows: what jobs and calls use.
enum FlowChoice : uint32_t {
  flow_keys = 1,
  flow_limits = 2,
  flow_batches = 4,  // and chains
  flow_kv = 8,
  flow_transact = 16,
  flow_history = 32,
  flow_cron = 64,
  flow_all = 127,
};
// Bits of Setting::limits: what queues are bounded by.
enum LimitChoice : uint32_t {
  limit_depth = 1,
  limit_bytes = 2,
  limit_dead = 4,
  limit_quota = 8,  // of the store; the others are of queues
  limit_all = 15,
};
enum CheckpointChoice : uint32_t { checkpoint_by_pressure, checkpoint_each_op };

// X(name, default). All fields are uint32_t.
#define WQ_MODEL_SETTING(X)                                                                    \
  X(store, on_memory)                                                                          \
  X(threads, 0)                                                                                \
  X(budget_kib, 65536) X(lane_window, 4096) X(checkpoints, checkpoint_by_pressure)             \
      X(dirty_jobs_max, 100000) X(segment_kib, 256) X(spare_segments, 0) X(queues, 1)          \
          X(priorities, 1) X(payload_max, 32) X(time_scale_ms, 1000) X(many_max, 8)            \
              X(completions, 0) X(weak_levels, 0) X(expire_at_open, 0) X(gates, 0) X(flows, 0) \
                  X(limits, 0) X(quota_kib, 0)
struct Setting {
#define X(name, standard) uint32_t name = standard;
  WQ_MODEL_SETTING(X)
#undef X
};

struct Stream {
  Setting setting;
  std::vector<Op> ops;
};

// Swarm: each seed switches some kinds of operations off entirely and weighs the others at random.
Stream make_stream(uint64_t seed, std::optional<uint32_t> store, size_t ops);

std::string to_text(const Op& op);
std::string to_text(const Stream& stream);
std::optional<Stream> parse_stream(const std::string& text);

}  // namespace wq::model
