#include "sim/crash_points.h"

#include <cstdio>

#include "base/hash.h"
#include "base/prng.h"

namespace wq::sim {
namespace {

uint64_t hash_of(const SimDisk& disk, uint64_t salt) {
  uint64_t hash = salt;
  for (const std::string& path : disk.files()) {
    const std::vector<std::byte> bytes = disk.read_file(path);
    hash = hash64(as_bytes(path), hash);
    hash = hash64(bytes, hash);
  }
  return hash;
}

std::string describe(const CrashImage& image) {
  std::string out = "data " + std::to_string(static_cast<int>(image.data)) + ", names " +
                    std::to_string(static_cast<int>(image.names));
  if (image.data == CrashData::prefix) {
    return out + ", keep " + std::to_string(image.keep) + ", tear " +
           std::to_string(image.tear_bytes);
  }
  return out + ", sector " + std::to_string(image.sector_bytes) + ", seed " +
         std::to_string(image.seed);
}

// All prefixes of the unsynced writes; the last write torn at sector edges, and at three places
// inside of sectors.
void add_prefixes(const SimDisk& disk, uint64_t event, std::vector<CrashImage>& images) {
  constexpr uint64_t edges_max = 16;
  const std::vector<uint64_t> writes = disk.unsynced_writes();
  CrashImage image{CrashData::prefix, CrashNames::all};
  for (image.keep = 1; image.keep < writes.size(); ++image.keep) images.push_back(image);
  if (writes.empty()) return;
  image.keep = writes.size() - 1;
  const uint64_t bytes = writes.back();
  for (uint64_t edge = 512; edge < bytes && edge <= 512 * edges_max; edge += 512) {
    image.tear_bytes = edge;
    images.push_back(image);
  }
  for (uint64_t edge = 4096 * 3; edge < bytes && edge <= 4096 * edges_max; edge += 4096) {
    image.tear_bytes = edge;
    images.push_back(image);
  }
  Prng prng(event);
  for (int i = 0; i < 3 && bytes > 1; ++i) {
    image.tear_bytes = 1 + prng.below(bytes - 1);
    images.push_back(image);
  }
}

}  // namespace

void Tally::add(const Tally& other) {
  images += other.images;
  recoveries += other.recoveries;
  torn += other.torn;
  lost += other.lost;
  twice += other.twice;
  torn_twice += other.torn_twice;
  interrupted += other.interrupted;
  states.insert(other.states.begin(), other.states.end());
}

void Tally::print(const std::string& what) const {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%s: %llu images, %zu states, %llu recoveries, %llu second ones, %llu after an interrupted "
      "one, %llu with a torn tail (%llu of them twice), %llu without the newest\n",
      what.c_str(), number(images), states.size(), number(recoveries), number(twice),
      number(interrupted), number(torn), number(torn_twice), number(lost));
  std::fflush(stdout);
}

std::vector<CrashImage> CrashPoints::images_of(const SimDisk& disk, uint64_t event) const {
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
  if (plan_.prefixes) add_prefixes(disk, event, images);
  for (uint64_t i = 0; plan_.many && i < 24; ++i) {
    constexpr uint32_t sectors[] = {512, 4096, 1};
    images.push_back({i % 4 == 0 ? CrashData::torn : CrashData::random,
                      static_cast<CrashNames>(i % 4), sectors[i % 3], event * 131 + i});
  }
  // RocksDB takes a record of its manifest that came with holes for damage, and refuses to open.
  for (CrashImage& image : images) image.in_order = "store/db/";
  return images;
}

std::string CrashPoints::run() {
  SimHistory history(script_.disk());
  do {
    const uint64_t event = history.event();
    if (event < plan_.first_event || event % plan_.events_step != 0) continue;
    if (script_.store() == StoreKind::sim_rocks) {
      WQ_SAME_OR_SAY(crash_here(history, nullptr));
      continue;
    }
    for (const auto& cold : script_.cold_states(event)) {
      WQ_SAME_OR_SAY(crash_here(history, cold));
    }
  } while (history.step());
  return {};
}

Machine CrashPoints::machine_of(SimDisk disk, const std::shared_ptr<MemStoreContent>& cold) const {
  return Machine{std::move(disk), cold ? copy_mem_store_content(*cold) : nullptr};
}

std::string CrashPoints::crash_here(const SimHistory& history,
                                    const std::shared_ptr<MemStoreContent>& cold) {
  const Bounds bounds = script_.bounds(history.event());
  for (const CrashImage& image : images_of(history.disk(), history.event())) {
    ++tally_.images;
    Machine machine = machine_of(history.disk().image(image), cold);
    // The same bytes with the same promises need no second look.
    const uint64_t salt = cold_ids_.emplace(cold.get(), cold_ids_.size()).first->second;
    const uint64_t state = hash_of(machine.disk, salt);
    const bool fresh = tally_.states.insert(state).second;
    if (!fresh && !promises_.insert({state, bounds.least}).second) continue;
    promises_.insert({state, bounds.least});
    const std::string what = check(machine, bounds);
    if (what.empty()) continue;
    return "event " + std::to_string(history.event()) + ", " + describe(image) + ": " + what;
  }
  return {};
}

Result<std::unique_ptr<Engine>> CrashPoints::open(Machine& machine, Io& io) {
  EngineOptions options = script_.engine_options();
  options.directory = "store";
  options.threads = false;
  options.quota_bytes = 0;  // it would refuse what is enqueued afterwards
  Environment environment;
  environment.io = &io;
  environment.clock = &clock_;
  if (machine.cold) {
    environment.open_store = [&](const StoreOptions&) { return open_mem_store(machine.cold); };
  } else {
    machine.rocks = std::make_unique<SimRocks>(machine.disk);
    environment.open_store = [&](const StoreOptions& given) {
      StoreOptions store_options = given;
      store_options.batch_rows_max = script_.batch_rows_max();
      return machine.rocks->open(store_options);
    };
  }
  return Engine::open(options, environment);
}

// Compares with the model as of the record that recovery ended at. `*model` gets it.
std::string CrashPoints::compare(Engine& engine, Lsn found, model::Model* model) {
  *model = script_.model_at(found, engine);
  const model::Now now{clock_.wall_ms(), clock_.wall_ms(), wall_max_ms_};
  model->reopen(now);
  model::CompareOptions options;
  options.ages = false;
  return compare_state(engine, *model, now, options);
}

std::string CrashPoints::check(Machine& machine, const Bounds& bounds) {
  clock_.step_wall(bounds.wall_ms - clock_.wall_ms());
  wall_max_ms_ = bounds.wall_max_ms;
  const Machine before = machine_of(machine.disk.copy(), machine.cold);
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
  const bool cut_short = (tally_.recoveries - 1) % plan_.interrupt_step == 0;
  for (uint64_t k = 0; cut_short && k < events; k += plan_.interrupts_step) {
    WQ_SAME_OR_SAY(interrupt(before, k, bounds.least, found));
  }
  const bool torn = recovery.log.truncated_bytes > 0;
  if (!torn && tally_.recoveries % plan_.again_step != 0) return close(engine);
  tally_.torn_twice += torn;
  return recover_again(machine, engine, found, model);
}

// The machine dies again after `count` events of the first recovery.
std::string CrashPoints::interrupt(const Machine& before, uint64_t count, Lsn least, Lsn found) {
  Machine half = machine_of(before.disk.copy(), before.cold);
  half.disk.stop_after(half.disk.events() + count);
  {
    const std::unique_ptr<Io> io = half.disk.mount();
    if (open(half, *io).ok()) return "open: success on a disk that stopped";
  }
  CrashImage image{CrashData::random, CrashNames::random, 512, count};
  image.in_order = "store/db/";
  Machine after = machine_of(half.disk.image(image), half.cold);
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
std::string CrashPoints::recover_again(Machine& machine, Engine& first, Lsn found,
                                       const model::Model& model) {
  constexpr CrashImage again[] = {{CrashData::none, CrashNames::none},
                                  {CrashData::all, CrashNames::all},
                                  {CrashData::random, CrashNames::random, 512, 99}};
  for (CrashImage image : again) {
    image.in_order = "store/db/";
    Machine second = machine_of(machine.disk.image(image), machine.cold);
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
  // Once more, after it went on working: what was cut off the log must not come back behind it.
  WQ_SAME_OR_SAY(go_on(first));
  Machine third = machine_of(machine.disk.image(again[0]), machine.cold);
  const std::unique_ptr<Io> io = third.disk.mount();
  const Result<std::unique_ptr<Engine>> opened = open(third, *io);
  if (!opened.ok()) return "third open: " + opened.status().message();
  if (opened.value()->recovery().log.last_lsn < found + 3) return "third open: work is lost";
  opened.value()->poison("the test is done with it");
  return close(first);
}

// The store that came back takes a job and gives it out again.
std::string CrashPoints::go_on(Engine& engine) {
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
std::string CrashPoints::close(Engine& engine) {
  WQ_SAME_OR_SAY(go_on(engine));
  if (closes_++ % 4 != 0) {
    engine.poison("the test is done with it");
    return {};
  }
  const Result<VerifyReport> report = engine.verify();
  if (!report.ok()) return "verify: " + report.status().message();
  return report.value().problems == 0 ? std::string() : "verify: " + report.value().first_problem;
}

}  // namespace wq::sim
