#include "model/stream.h"

#include <algorithm>
#include <sstream>

namespace wq::model {
namespace {

constexpr const char* op_names[] = {
#define X(name) #name,
    WQ_MODEL_OPS(X)
#undef X
};

constexpr size_t fields_at_first = 18;

// How often a kind comes when it is on, before the swarm's own weight.
uint32_t base_weight(OpKind kind) {
  switch (kind) {
    case OpKind::enqueue:
    case OpKind::lease:
      return 12;
    case OpKind::settle:
      return 16;
    case OpKind::enqueue_many:
    case OpKind::confirm:
    case OpKind::extend:
    case OpKind::advance:
    case OpKind::tick:
      return 5;
    case OpKind::get:
    case OpKind::cancel:
    case OpKind::dead_replay:
    case OpKind::dead_many:
    case OpKind::checkpoint:
    case OpKind::configure:
    case OpKind::reprioritise:
    case OpKind::gate_config:
    case OpKind::flow_config:
    case OpKind::kv_add:
    case OpKind::lock:
    case OpKind::key_cancel:
    case OpKind::key_release:
    case OpKind::batch_seal:
      return 3;
    case OpKind::kv_put:
    case OpKind::transact:
    case OpKind::batch_create:
    case OpKind::cron_put:
    case OpKind::limit_config:
      return 5;
    case OpKind::dead_remove:
    case OpKind::dead_list:
    case OpKind::status:
    case OpKind::sync:
    case OpKind::poll:
    case OpKind::wait_durable:
      return 2;
    default:
      return 1;
  }
}

bool always_on(OpKind kind) {
  return kind == OpKind::enqueue || kind == OpKind::lease || kind == OpKind::declare;
}

bool uses(const Setting& setting, uint32_t flows) {
  return (setting.flows & flows) != 0;
}

bool possible(OpKind kind, const Setting& setting) {
  switch (kind) {
    case OpKind::cut:
      return setting.store == on_memory && !setting.threads;
    case OpKind::tick:
    case OpKind::dead_many:  // several records: others might come in between
      return !setting.threads;
    case OpKind::poll:
      return setting.completions != 0;
    case OpKind::rebuild:
      return setting.store == on_memory;
    case OpKind::gate_config:
      return setting.gates != 0;
    case OpKind::key_holder:
    case OpKind::key_cancel:
    case OpKind::key_release:
      return uses(setting, flow_keys);
    case OpKind::progress:
      return uses(setting, flow_limits);
    case OpKind::flow_config:
      return uses(setting, flow_limits | flow_history);
    case OpKind::batch_create:
    case OpKind::batch_seal:
    case OpKind::batch_cancel:
    case OpKind::batch_read:
      return uses(setting, flow_batches);
    case OpKind::kv_put:
    case OpKind::kv_add:
    case OpKind::kv_erase:
    case OpKind::kv_read:
    case OpKind::lock:
      return uses(setting, flow_kv);
    case OpKind::transact:
      return uses(setting, flow_transact);
    case OpKind::history:
      return uses(setting, flow_history);
    case OpKind::limit_config:
      return (setting.limits & ~limit_quota) != 0;
    case OpKind::cron_put:
    case OpKind::cron_remove:
    case OpKind::cron_pause:
      return uses(setting, flow_cron) && !setting.threads;
    default:
      return true;
  }
}

uint32_t pick_one(Prng& prng, std::initializer_list<uint32_t> of) {
  return *(of.begin() + static_cast<ptrdiff_t>(prng.below(of.size())));
}

// The sizes of what a schedule enqueues are not known beforehand. Among tenants the engine has a
// choice whose jobs it drops, which is learned; not by a schedule, and not if the order decides
// which flow ends first.
uint32_t limits_for(const Setting& setting, uint32_t wanted) {
  const bool tenants = (setting.gates & gate_tenants) != 0;
  if (uses(setting, flow_cron) || tenants) wanted &= ~limit_bytes;
  if (uses(setting, flow_cron) || setting.threads) wanted &= ~limit_quota;
  if (tenants && uses(setting, flow_cron | flow_batches)) wanted &= ~limit_depth;
  if (setting.threads) wanted &= ~limit_dead;  // the maintenance drops them whenever it likes
  return wanted;
}

Setting make_setting(Prng& prng, std::optional<uint32_t> store) {
  Setting out;
  if (store) out.store = *store;
  const bool small = prng.below(4) != 0;  // jobs go cold
  out.budget_kib = small ? pick_one(prng, {16, 16, 24, 32, 64}) : pick_one(prng, {1024, 65536});
  out.lane_window = small ? pick_one(prng, {4, 4, 6, 8, 16}) : 4096;
  out.threads = prng.below(6) == 0;
  if (prng.below(5) == 0) out.checkpoints = checkpoint_each_op;
  out.dirty_jobs_max = pick_one(prng, {10, 60, 400, 100000});
  out.segment_kib = pick_one(prng, {16, 16, 64, 1024});
  out.spare_segments = pick_one(prng, {0, 1, 2});
  out.queues = pick_one(prng, {1, 1, 2, 3, 5});
  out.priorities = pick_one(prng, {1, 1, 2, 4});
  out.payload_max = pick_one(prng, {0, 16, 16, 200, 3000});
  out.time_scale_ms = pick_one(prng, {10, 1000, 60'000, 600'000});
  out.many_max = small ? pick_one(prng, {8, 40, 120}) : pick_one(prng, {4, 20, 300});
  out.completions = prng.below(4) == 0;
  out.weak_levels = prng.below(2) == 0;
  out.expire_at_open = prng.below(6) == 0;
  out.gates = prng.below(2) == 0 ? 0 : static_cast<uint32_t>(1 + prng.below(15));
  out.flows = prng.below(3) == 0 ? 0 : static_cast<uint32_t>(prng.below(128));
  // Threads keep house at any time, and the records of a lease past gates are counted.
  if (out.gates != 0 && out.threads) out.flows &= flow_limits | flow_history;
  if (prng.below(2) == 0) {
    out.limits = limits_for(out, static_cast<uint32_t>(1 + prng.below(limit_all)));
    if (out.limits & limit_quota) out.quota_kib = pick_one(prng, {2, 8, 32, 128});
  }
  // The model looks at each job for each job that is handed out.
  if (out.gates != 0) out.many_max = std::min<uint32_t>(out.many_max, 20);
  return out;
}

}  // namespace

const char* op_name(OpKind kind) {
  return op_names[static_cast<size_t>(kind)];
}

Stream make_stream(uint64_t seed, std::optional<uint32_t> store, size_t ops) {
  Prng prng(seed);
  Stream stream;
  stream.setting = make_setting(prng, store);
  std::array<uint32_t, op_kind_count> weights{};
  uint32_t sum = 0;
  for (size_t i = 0; i < op_kind_count; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const bool on = always_on(kind) || prng.below(10) < 7;
    const auto own = static_cast<uint32_t>(1 + prng.below(4));
    if (on && possible(kind, stream.setting)) weights[i] = base_weight(kind) * own;
    sum += weights[i];
  }
  for (size_t i = 0; i < ops; ++i) {
    uint64_t at = prng.below(sum);
    size_t kind = 0;
    while (at >= weights[kind]) at -= weights[kind++];
    Op op;
    op.kind = static_cast<OpKind>(kind);
    for (uint32_t& arg : op.arg) arg = static_cast<uint32_t>(prng.below(1u << 20));
    stream.ops.push_back(op);
  }
  return stream;
}

std::string to_text(const Op& op) {
  std::ostringstream out;
  out << op_name(op.kind);
  for (const uint32_t arg : op.arg) out << ' ' << arg;
  return out.str();
}

std::string to_text(const Stream& stream) {
  std::ostringstream out;
  out << "setting";
#define X(name, standard) out << ' ' << stream.setting.name;
  WQ_MODEL_SETTING(X)
#undef X
  out << "  #";
#define X(name, standard) out << " " #name "=" << stream.setting.name;
  WQ_MODEL_SETTING(X)
#undef X
  out << '\n';
  for (const Op& op : stream.ops) out << to_text(op) << '\n';
  return out.str();
}

std::optional<Stream> parse_stream(const std::string& text) {
  Stream stream;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == '#') continue;
    if (word == "setting") {
      // One that was printed before a field was added has none of it.
      size_t fields = 0;
      bool more = true;
#define X(name, standard)                             \
  if (uint32_t value = 0; more && (words >> value)) { \
    stream.setting.name = value;                      \
    ++fields;                                         \
  } else {                                            \
    more = false;                                     \
  }
      WQ_MODEL_SETTING(X)
#undef X
      if (fields < fields_at_first) return std::nullopt;
      continue;
    }
    Op op;
    size_t kind = 0;
    while (kind < op_kind_count && word != op_names[kind]) ++kind;
    if (kind == op_kind_count) return std::nullopt;
    op.kind = static_cast<OpKind>(kind);
    for (uint32_t& arg : op.arg) words >> arg;
    if (!words) return std::nullopt;
    stream.ops.push_back(op);
  }
  return stream;
}

}  // namespace wq::model
