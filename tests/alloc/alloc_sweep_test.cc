// For each call of a script over all of wq.h: its first allocation fails, its second one, and so on
// until the call passes untouched; each once with the one failing alone and once with all that
// follow. Nothing may abort or leak (the sanitizer builds see leaks). A call that ran out of memory
// answers WQ_E_NO_MEMORY, has changed nothing, and goes through when it is made again; or it
// answers WQ_E_POISONED, the store stays so, and the next open finds the change whole or not at
// all. Whatever happens, all that was acknowledged before is there after a reopen.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "alloc/alloc_fault.h"
#include "alloc/alloc_script.h"
#include "alloc/alloc_world.h"
#include "base/prng.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq {
namespace {

class Sweep {
 public:
  Sweep(WorldKind kind, const Script& script) : kind_(kind), script_(script) {
    const std::unique_ptr<World> world = world_before(0);
    for (size_t i = 0; i < script_.size(); ++i) {
      if (script_[i].before) script_[i].before(*world);
      codes_.push_back(run(*world, i));
    }
    states_.resize(script_.size() + 1);
  }

  void sweep_step(size_t step, bool sticky, uint64_t stride);

  void tell() const;

  uint64_t faults = 0;    // runs in which an allocation failed
  uint64_t refused = 0;   // of them, those that ended with NO_MEMORY
  uint64_t poisoned = 0;  // and those with POISONED

 private:
  std::unique_ptr<World> world_before(size_t step);
  std::string reopened(World& world);
  // What a reopen shows when all steps before this one went as they should.
  const std::string& state_before(size_t step);
  int32_t run(World& world, size_t step);
  void judge(World& world, size_t step, int32_t code);

  const WorldKind kind_;
  const Script& script_;
  std::vector<int32_t> codes_;  // of each step
  std::vector<std::string> states_;
  int directories_ = 0;
};

int32_t Sweep::run(World& world, size_t step) {
  const Step& what = script_[step];
  const int32_t code = what.call(world);
  if (what.after && code >= 0) what.after(world);
  return code;
}

std::unique_ptr<World> Sweep::world_before(size_t step) {
  // Two worlds may be alive.
  const auto directory = [](int i) { return testing::TempDir() + "/sweep" + std::to_string(i); };
  ++directories_;
  std::filesystem::remove_all(directory(directories_ - 3));
  auto world = std::make_unique<World>(kind_, directory(directories_), false);
  for (size_t i = 0; i < step; ++i) {
    if (script_[i].before) script_[i].before(*world);
    const int32_t code = run(*world, i);
    EXPECT_EQ(code, codes_[i]) << script_[i].name;
  }
  return world;
}

std::string Sweep::reopened(World& world) {
  world.close();
  EXPECT_EQ(world.open(), WQ_OK) << world.err.message;
  return world.store ? world.dump() : "";
}

void Sweep::tell() const {
  std::printf("%zu calls, %llu runs with a failed allocation: %llu refused, %llu poisoned\n",
              script_.size(), static_cast<unsigned long long>(faults),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(poisoned));
}

const std::string& Sweep::state_before(size_t step) {
  if (states_[step].empty()) states_[step] = reopened(*world_before(step));
  return states_[step];
}

void expect_sound(const std::string& dump) {
  EXPECT_NE(dump.find("verify 0 \n"), std::string::npos) << dump;
}

// The allocation failed and the call answered `code`.
void Sweep::judge(World& world, size_t step, int32_t code) {
  ++faults;
  const int32_t expected = codes_[step];
  if (world.store && world.poisoned()) {
    ++poisoned;
    // What a call promises may be done before what stops the store.
    const bool done = script_[step].inexact && code == expected;
    const bool told = code == WQ_E_POISONED || script_[step].call == script_.back().call;
    EXPECT_TRUE(done || told) << code;
    const wq_job_spec spec = WQ_JOB_SPEC_INIT;
    if (world.a) {
      EXPECT_EQ(wq_enqueue(world.a, &spec, nullptr, nullptr, nullptr), WQ_E_POISONED);
    }
    const std::string found = reopened(world);
    if (script_[step].inexact) return expect_sound(found);
    size_t oldest = step;
    while (oldest > 0 && script_[oldest - 1].unpromised) --oldest;
    while (oldest <= step && found != state_before(oldest)) ++oldest;
    if (oldest > step) {
      EXPECT_EQ(found, state_before(step + 1));
    }
    return;
  }
  if (script_[step].inexact) {
    refused += code == WQ_E_NO_MEMORY;
    EXPECT_TRUE(code >= 0 || code == WQ_E_NO_MEMORY) << code;
    return expect_sound(reopened(world));
  }
  size_t done = step + 1;
  if (code == WQ_E_NO_MEMORY) {
    ++refused;
    EXPECT_EQ(run(world, step), expected) << "made again: " << world.err.message;
  } else {
    EXPECT_EQ(code, expected) << world.err.message;
    if (script_[step].after && code >= 0) script_[step].after(world);
  }
  // What follows meets a store in which nothing is amiss.
  for (; done < script_.size() && done < step + 3; ++done) {
    if (script_[done].before) script_[done].before(world);
    EXPECT_EQ(run(world, done), codes_[done]) << script_[done].name << world.err.message;
  }
  EXPECT_EQ(reopened(world), state_before(done));
}

// Every allocation, or one of `stride`.
void Sweep::sweep_step(size_t step, bool sticky, uint64_t stride) {
  for (uint64_t k = 1;; k += stride) {
    SCOPED_TRACE(std::string(script_[step].name) + ", allocation " + std::to_string(k) +
                 (sticky ? " and all later ones" : ""));
    const std::unique_ptr<World> world = world_before(step);
    if (script_[step].before) script_[step].before(*world);
    AllocFaultPlan plan;
    plan.fail_at = k;
    plan.sticky = sticky;
    int32_t code = 0;
    bool struck = false;
    {
      const AllocFault fault(plan);
      code = script_[step].call(*world);
      struck = fault.struck();
    }
    if (!struck) {
      EXPECT_EQ(code, codes_[step]);
      return;
    }
    judge(*world, step, code);
    if (testing::Test::HasFailure()) return;
  }
}

void sweep_all(const Script& script, uint64_t refused, uint64_t poisoned) {
  Sweep sweep(WorldKind::simulated, script);
  for (size_t step = 0; step < script.size() && !testing::Test::HasFailure(); ++step) {
    for (const bool sticky : {false, true}) sweep.sweep_step(step, sticky, 1);
  }
  sweep.tell();
  EXPECT_GT(sweep.refused, refused);
  EXPECT_GT(sweep.poisoned, poisoned);
}

TEST(AllocSweep, EveryCallOnTheSimulatedDisk) {
  sweep_all(basic_script(), 500, 100);
}

TEST(AllocSweep, EveryCallOfTheFeatures) {
  sweep_all(feature_script(), 400, 100);
}

TEST(AllocSweep, EveryCallOfAnImport) {
  sweep_all(transfer_script(), 50, 1);
}

// On the real disk with RocksDB, which gets all the memory it wants: it does not survive otherwise.
// Opening and closing; all the calls in the long run.
TEST(AllocSweep, RealDiskAndRocksDb) {
  const Script& script = basic_script();
  Sweep sweep(WorldKind::rocks, script);
  for (size_t step = 0; step < script.size() && !HasFailure(); ++step) {
    const std::string name = script[step].name;
    if (!long_run() && name != "open an empty store" && name != "close at the end") continue;
    for (const bool sticky : {false, true}) sweep.sweep_step(step, sticky, long_run() ? 1 : 11);
  }
  sweep.tell();
  EXPECT_GT(sweep.refused, 4u);
}

// With the threads of the store at work, and a failure wherever it strikes. What was acknowledged
// is there, what was refused is not.
class Threaded {
 public:
  explicit Threaded(uint64_t seed) : dice_(seed) {}

  void run() {
    ASSERT_EQ(world_.open(), WQ_OK);
    ASSERT_EQ(wq_queue_open(world_.store, "q", 1, nullptr, 0, &world_.a, nullptr), WQ_OK);
    AllocFaultPlan plan;
    plan.fail_at = 1 + dice_.below(600);
    plan.sticky = dice_.below(4) == 0;
    plan.all_threads = true;
    {
      const AllocFault fault(plan);
      for (int i = 0; i < 60; ++i) step();
    }
    world_.close();
    ASSERT_EQ(world_.open(), WQ_OK) << world_.err.message;
    ASSERT_EQ(wq_queue_open(world_.store, "q", 1, nullptr, 0, &world_.a, nullptr), WQ_OK);
    judge();
  }

 private:
  // Known to the end: an answer that says "maybe" leaves the job out of the books.
  void step() {
    if (held_.id != 0) {
      const int32_t code = wq_ack(world_.a, held_.id, held_.generation, nullptr, nullptr);
      const Quiet quiet;
      if (code != WQ_E_NO_MEMORY) (code == WQ_OK ? gone_ : unknown_).insert(held_.id);
      held_ = {};
      return;
    }
    const uint64_t what = dice_.below(10);
    if (what < 5) {
      wq_job_spec spec = WQ_JOB_SPEC_INIT;
      spec.delay_ms = what == 0 ? 50 : 0;
      wq_enqueued out = WQ_ENQUEUED_INIT;
      const int32_t code = wq_enqueue(world_.a, &spec, nullptr, &out, nullptr);
      const Quiet quiet;
      if (code == WQ_OK) made_.insert(out.job_id);
      if (code == WQ_E_POISONED || code == WQ_E_INTERNAL) ++made_maybe_;
      EXPECT_TRUE(code == WQ_OK || code == WQ_E_NO_MEMORY || code == WQ_E_POISONED) << code;
    } else if (what < 8) {
      wq_batch* batch = nullptr;
      wq_job job = WQ_JOB_INIT;
      if (wq_lease(world_.store, &world_.a, 1, nullptr, nullptr, nullptr, &batch, nullptr) ==
              WQ_OK &&
          wq_batch_job(batch, 0, &job) == WQ_OK) {
        held_ = {job.id, job.generation};
      }
      wq_batch_free(&batch);
    } else if (what == 8) {
      const int32_t code = wq_store_checkpoint(world_.store, nullptr);
      EXPECT_TRUE(code == WQ_OK || code == WQ_E_NO_MEMORY || code == WQ_E_POISONED) << code;
    } else {
      world_.clock.advance(40);
    }
  }

  void judge() {
    uint64_t found = 0;
    const uint64_t last = made_.empty() ? 100 : *made_.rbegin() + 100;
    for (uint64_t id = 1; id <= last; ++id) {
      wq_batch* batch = nullptr;
      const bool there = wq_job_get(world_.a, id, &batch, nullptr) == WQ_OK;
      wq_batch_free(&batch);
      found += there;
      if (unknown_.count(id) != 0) continue;
      if (made_.count(id) == 0) continue;
      EXPECT_EQ(there, gone_.count(id) == 0) << "job " << id;
    }
    EXPECT_LE(found + gone_.size(), made_.size() + made_maybe_);
    wq_verify_report report = WQ_VERIFY_REPORT_INIT;
    EXPECT_EQ(wq_store_verify(world_.store, &report, nullptr), WQ_OK) << report.first_problem;
  }

  Prng dice_;
  World world_{WorldKind::simulated, "", true};
  std::set<uint64_t> made_, gone_, unknown_;
  uint64_t made_maybe_ = 0;
  wq_token held_{};
};

TEST(AllocSweep, ThreadsOfTheStoreSurvive) {
  const uint64_t seed = test_seed();
  const uint64_t rounds = long_run() ? 20'000 : 400;
  for (uint64_t i = 0; i < rounds && !HasFailure(); ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    Threaded(seed + i).run();
  }
}

}  // namespace
}  // namespace wq
