// Power is lost after each event of the disk, and each time the disk is left in several ways.
// Recovery must come back with a state that the store had at some log record, not before the last
// one that was acknowledged at power level and not after the last one that was handed out. Then it
// is recovered again from what the recovered store leaves behind, and must hold the same.
//
//   WQ_LONG=1    more images per event and more scripts
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "base/hash.h"
#include "sim/crash_script.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

// One way in which the machine may come back.
struct Machine {
  SimDisk disk;
  std::shared_ptr<MemStoreContent> cold;
};

struct Tally {
  uint64_t images = 0;
  uint64_t recoveries = 0;
  uint64_t torn = 0;
  uint64_t lost = 0;         // less than all was there
  uint64_t twice = 0;        // recovered a second time
  uint64_t interrupted = 0;  // recovered after a recovery that was cut short
  std::set<uint64_t> states;
};

uint64_t hash_of(const SimDisk& disk, uint64_t salt) {
  uint64_t hash = salt;
  for (const std::string& path : disk.files()) {
    const std::vector<std::byte> bytes = disk.read_file(path);
    hash = hash64(as_bytes(path), hash);
    hash = hash64(bytes, hash);
  }
  return hash;
}

std::vector<CrashImage> images_of(uint64_t event, bool many) {
  std::vector<CrashImage> images = {
      {CrashData::none, CrashNames::none},
      {CrashData::all, CrashNames::all},
      {CrashData::none, CrashNames::all},
      {CrashData::all, CrashNames::none},
      {CrashData::torn, CrashNames::all, 512, event},
      {CrashData::torn, CrashNames::prefix, 1, event + 1},
      {CrashData::random, CrashNames::random, 512, event + 2},
      {CrashData::random, CrashNames::all, 4096, event + 3},
      {CrashData::random, CrashNames::prefix, 1, event + 4},
  };
  for (uint64_t i = 0; many && i < 24; ++i) {
    constexpr uint32_t sectors[] = {512, 4096, 1};
    images.push_back({i % 4 == 0 ? CrashData::torn : CrashData::random,
                      static_cast<CrashNames>(i % 4), sectors[i % 3], event * 131 + i});
  }
  return images;
}

class CrashPoints {
 public:
  CrashPoints(CrashScript& script, bool many) : script_(script), many_(many) {}

  // The first violation, or nothing.
  std::string run() {
    SimHistory history(script_.disk());
    do {
      for (const auto& cold : script_.cold_states(history.event())) {
        WQ_SAME_OR_SAY(crash_here(history, cold));
      }
    } while (history.step());
    return {};
  }
  const Tally& tally() const { return tally_; }

 private:
  std::string crash_here(const SimHistory& history, const std::shared_ptr<MemStoreContent>& cold) {
    const Bounds bounds = script_.bounds(history.event());
    for (const CrashImage& image : images_of(history.event(), many_)) {
      ++tally_.images;
      Machine machine{history.disk().image(image), copy_mem_store_content(*cold)};
      // The same bytes with the same promises need no second look.
      const uint64_t salt = cold_ids_.emplace(cold.get(), cold_ids_.size()).first->second;
      const uint64_t state = hash_of(machine.disk, salt);
      const bool fresh = tally_.states.insert(state).second;
      if (!fresh && !promises_.insert({state, bounds.least}).second) continue;
      promises_.insert({state, bounds.least});
      const std::string what = check(machine, bounds);
      if (what.empty()) continue;
      return "event " + std::to_string(history.event()) + ", data " +
             std::to_string(static_cast<int>(image.data)) + ", names " +
             std::to_string(static_cast<int>(image.names)) + ", sector " +
             std::to_string(image.sector_bytes) + ", seed " + std::to_string(image.seed) + ": " +
             what;
    }
    return {};
  }

  Result<std::unique_ptr<Engine>> open(Machine& machine, Io& io) {
    EngineOptions options = script_.engine_options();
    options.directory = "store";
    options.threads = false;
    Environment environment;
    environment.io = &io;
    environment.clock = &clock_;
    environment.open_store = [&](const StoreOptions&) { return open_mem_store(machine.cold); };
    return Engine::open(options, environment);
  }

  // Compares with the model as of the record that recovery ended at. `*model` gets it.
  std::string compare(Engine& engine, Lsn found, model::Model* model) {
    const uint64_t delayed = engine.stats().counts[static_cast<int>(JobState::delayed)];
    *model = script_.model_at(found, delayed);
    const model::Now now{clock_.wall_ms(), clock_.wall_ms()};
    model->reopen(now);
    model::CompareOptions options;
    options.ages = false;
    return compare_state(engine, *model, now, options);
  }

  std::string check(Machine& machine, const Bounds& bounds) {
    clock_.step_wall(bounds.wall_ms - clock_.wall_ms());
    const Machine before{machine.disk.copy(), copy_mem_store_content(*machine.cold)};
    const uint64_t events_before = machine.disk.events();
    const std::unique_ptr<Io> io = machine.disk.mount();
    Result<std::unique_ptr<Engine>> opened = open(machine, *io);
    const uint64_t events = machine.disk.events() - events_before;
    ++tally_.recoveries;
    if (!opened.ok()) return "open: " + opened.status().message();
    Engine& engine = *opened.value();
    const Recovery& recovery = engine.recovery();
    const Lsn found = std::max(recovery.log.last_lsn, recovery.applied_lsn);
    tally_.torn += recovery.log.truncated_bytes > 0;
    tally_.lost += found < bounds.most;
    if (found < bounds.least || found > bounds.most) {
      return "recovered up to record " + std::to_string(found) + ", expected " +
             std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
    }
    model::Model model;
    WQ_SAME_OR_SAY(compare(engine, found, &model));
    for (uint64_t k = 0; tally_.recoveries % 8 == 1 && k < events; ++k) {
      WQ_SAME_OR_SAY(interrupt(before, k, bounds.least, found));
    }
    if (tally_.recoveries % 3 != 0) return close(engine);
    return recover_again(machine, engine, found, model);
  }

  // The machine dies again after `count` events of the first recovery.
  std::string interrupt(const Machine& before, uint64_t count, Lsn least, Lsn found) {
    Machine half{before.disk.copy(), copy_mem_store_content(*before.cold)};
    half.disk.stop_after(half.disk.events() + count);
    {
      const std::unique_ptr<Io> io = half.disk.mount();
      if (open(half, *io).ok()) return "open: success on a disk that stopped";
    }
    Machine after{half.disk.image({CrashData::random, CrashNames::random, 512, count}),
                  copy_mem_store_content(*half.cold)};
    const std::unique_ptr<Io> io = after.disk.mount();
    Result<std::unique_ptr<Engine>> opened = open(after, *io);
    ++tally_.interrupted;
    if (!opened.ok()) return "open after an interrupted one: " + opened.status().message();
    const Recovery& recovery = opened.value()->recovery();
    const Lsn end = std::max(recovery.log.last_lsn, recovery.applied_lsn);
    // One more: the record that tells of the interrupted opening.
    if (end < least || end > found + 1) return "interrupted, then record " + std::to_string(end);
    model::Model same;
    WQ_SAME_OR_SAY(compare(*opened.value(), std::min(end, found), &same));
    return close(*opened.value());
  }

  // The machine dies again at once. What the first recovery promised is there, and nothing else.
  std::string recover_again(Machine& machine, Engine& first, Lsn found, const model::Model& model) {
    constexpr CrashImage again[] = {{CrashData::none, CrashNames::none},
                                    {CrashData::all, CrashNames::all},
                                    {CrashData::random, CrashNames::random, 512, 99}};
    for (const CrashImage& image : again) {
      Machine second{machine.disk.image(image), copy_mem_store_content(*machine.cold)};
      const std::unique_ptr<Io> io = second.disk.mount();
      Result<std::unique_ptr<Engine>> opened = open(second, *io);
      ++tally_.twice;
      if (!opened.ok()) return "second open: " + opened.status().message();
      WQ_SAME("record that the second recovery ended at", opened.value()->recovery().log.last_lsn,
              found + 1);
      model::Model same;
      WQ_SAME_OR_SAY(compare(*opened.value(), found, &same));
      WQ_SAME("queues after the second recovery", same.queues.size(), model.queues.size());
      WQ_SAME_OR_SAY(close(*opened.value()));
    }
    return close(first);
  }

  // The store that came back takes a job and gives it out again.
  std::string go_on(Engine& engine) {
    CallOptions call;
    Result<QueueId> queue = engine.open_queue("after the cut", {}, 0, true, call);
    if (!queue.ok()) return "next open_queue: " + queue.status().message();
    JobSpec spec;
    spec.payload = as_bytes("next");
    JobId id = 0;
    const Status added = engine.enqueue(queue.value(), spec, call, id);
    if (!added.ok()) return "next enqueue: " + added.message();
    LeaseRequest request;
    request.queues = std::span(&queue.value(), 1);
    std::vector<JobView> jobs;
    const Status leased = engine.lease(request, call, jobs);
    if (!leased.ok()) return "next lease: " + leased.message();
    SettleItem item;
    item.id = id;
    item.generation = jobs.front().generation;
    Code code = Code::internal;
    const Status settled =
        engine.settle(queue.value(), std::span(&item, 1), call, std::span(&code, 1));
    if (!settled.ok() || code != Code::ok) return "next ack is refused";
    return {};
  }

  // A full scan of every fourth store; the others end as they are, without the checkpoint of a
  // close.
  std::string close(Engine& engine) {
    WQ_SAME_OR_SAY(go_on(engine));
    if (closes_++ % 4 != 0) {
      engine.poison("the test is done with it");
      return {};
    }
    const Result<VerifyReport> report = engine.verify();
    if (!report.ok()) return "verify: " + report.status().message();
    return report.value().problems == 0 ? std::string() : "verify: " + report.value().first_problem;
  }

  CrashScript& script_;
  const bool many_;
  ManualClock clock_;
  Tally tally_;
  uint64_t closes_ = 0;
  std::set<std::pair<uint64_t, Lsn>> promises_;
  std::map<const MemStoreContent*, uint64_t> cold_ids_;  // the script keeps all of them alive
};

// A stream of the model test with small segments and little memory. Each leaves out some kinds of
// operations; all scripts together have all of them.
model::Stream script_stream(uint64_t seed, size_t ops) {
  model::Stream stream = model::make_stream(seed, model::on_memory, ops * 3);
  std::erase_if(stream.ops, [](const model::Op& op) {
    return op.kind == model::OpKind::kill || op.kind == model::OpKind::cut ||
           op.kind == model::OpKind::rebuild || op.kind == model::OpKind::check;
  });
  if (stream.ops.size() > ops) stream.ops.resize(ops);
  model::Setting& setting = stream.setting;
  setting.threads = 0;
  setting.completions = 0;
  setting.expire_at_open = 0;
  setting.segment_kib = 16;
  setting.spare_segments = static_cast<uint32_t>(seed % 3);
  setting.many_max = 6;
  setting.budget_kib = seed % 2 == 0 ? 16 : 64;
  setting.lane_window = 4;
  setting.payload_max = 300;
  if (setting.checkpoints == model::checkpoint_each_op) setting.checkpoints = 0;
  return stream;
}

TEST(CrashPoints, EveryEventOfAScriptRecoversToAPromisedState) {
  const bool many = std::getenv("WQ_LONG") != nullptr;
  const uint64_t seed = test_seed();
  Prng seeds(seed);
  std::set<uint64_t> states;
  for (size_t i = 0; i < (many ? 60u : 20u); ++i) {
    const model::Stream stream = script_stream(i == 0 ? seed : seeds.next(), 200);
    CrashScript script(stream);
    ASSERT_EQ(script.run(), "");
    CrashPoints points(script, many);
    ASSERT_EQ(points.run(), "") << "script " << i;
    const Tally& tally = points.tally();
    std::printf(
        "script %zu: %llu events, %llu images, %zu states, %llu recoveries, %llu second ones, "
        "%llu after an interrupted one, %llu with a torn tail, %llu without the newest\n",
        i, static_cast<unsigned long long>(script.disk().events()),
        static_cast<unsigned long long>(tally.images), tally.states.size(),
        static_cast<unsigned long long>(tally.recoveries),
        static_cast<unsigned long long>(tally.twice),
        static_cast<unsigned long long>(tally.interrupted),
        static_cast<unsigned long long>(tally.torn), static_cast<unsigned long long>(tally.lost));
    states.insert(tally.states.begin(), tally.states.end());
  }
  std::printf("%zu crash states\n", states.size());
  EXPECT_GE(states.size(), 2'000u);
}

}  // namespace
}  // namespace wq::sim
