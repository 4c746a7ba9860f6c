// For each call of a script over all of wq.h: its first allocation fails, its second one, and so on
// until the call passes untouched; each once with the one failing alone and once with all that
// follow. Nothing may abort or leak (the sanitizer builds see leaks). A call that ran out of memory
// answers WQ_E_NO_MEMORY, has changed nothing, and goes through when it is made again; or it
// answers WQ_E_POISONED, the store stays so, and the next open finds the change whole or not at
// all. Whatever happens, all that was acknowledged before is there after a reopen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "alloc/alloc_fault.h"
#include "alloc/alloc_script.h"
#include "alloc/alloc_world.h"
#include "base/prng.h"
#include "test_seed.h"

namespace wq {
namespace {

struct Clean {
  std::vector<int32_t> codes;       // of each step
  std::vector<std::string> states;  // what a reopen shows before each step, and after the last
};

class Sweep {
 public:
  explicit Sweep(WorldKind kind) : kind_(kind) {}

  void record_clean_run();
  void sweep_step(size_t step, bool sticky);

  uint64_t faults = 0;    // runs in which an allocation failed
  uint64_t refused = 0;   // of them, those that ended with NO_MEMORY
  uint64_t poisoned = 0;  // and those with POISONED

 private:
  std::unique_ptr<World> world_before(size_t step);
  std::string reopened(World& world);
  int32_t run(World& world, size_t step);
  void judge(World& world, size_t step, int32_t code);

  const WorldKind kind_;
  Clean clean_;
  int directories_ = 0;
};

int32_t Sweep::run(World& world, size_t step) {
  const Step& what = script()[step];
  const int32_t code = what.call(world);
  if (what.after && code >= 0) what.after(world);
  return code;
}

std::unique_ptr<World> Sweep::world_before(size_t step) {
  const std::string directory = testing::TempDir() + "/sweep";
  std::filesystem::remove_all(directory);
  auto world = std::make_unique<World>(kind_, directory, false);
  for (size_t i = 0; i < step; ++i) {
    if (script()[i].before) script()[i].before(*world);
    const int32_t code = run(*world, i);
    if (i < clean_.codes.size()) {
      EXPECT_EQ(code, clean_.codes[i]) << script()[i].name;
    }
  }
  return world;
}

std::string Sweep::reopened(World& world) {
  world.close();
  EXPECT_EQ(world.open(), WQ_OK) << world.err.message;
  return world.store ? world.dump() : "";
}

void Sweep::record_clean_run() {
  for (size_t i = 0; i <= script().size(); ++i) {
    const std::unique_ptr<World> world = world_before(i);
    clean_.states.push_back(reopened(*world));
    if (i == script().size()) break;
    const std::unique_ptr<World> again = world_before(i);
    if (script()[i].before) script()[i].before(*again);
    clean_.codes.push_back(run(*again, i));
  }
}

// The allocation failed and the call answered `code`.
void Sweep::judge(World& world, size_t step, int32_t code) {
  ++faults;
  const int32_t expected = clean_.codes[step];
  if (world.store && world.poisoned()) {
    ++poisoned;
    EXPECT_TRUE(code == WQ_E_POISONED || script()[step].call == script().back().call) << code;
    const wq_job_spec spec = WQ_JOB_SPEC_INIT;
    if (world.a) {
      EXPECT_EQ(wq_enqueue(world.a, &spec, nullptr, nullptr, nullptr), WQ_E_POISONED);
    }
    const std::string found = reopened(world);
    size_t oldest = step;
    while (oldest > 0 && script()[oldest - 1].unpromised) --oldest;
    const auto first = clean_.states.begin() + static_cast<std::ptrdiff_t>(oldest);
    const auto last = clean_.states.begin() + static_cast<std::ptrdiff_t>(step + 1);
    if (std::find(first, last, found) == last) {
      EXPECT_EQ(found, clean_.states[step + 1]);
    }
    return;
  }
  size_t done = step + 1;
  if (code == WQ_E_NO_MEMORY) {
    ++refused;
    EXPECT_EQ(run(world, step), expected) << "made again: " << world.err.message;
  } else {
    EXPECT_EQ(code, expected) << world.err.message;
    if (script()[step].after && code >= 0) script()[step].after(world);
  }
  // What follows meets a store in which nothing is amiss.
  for (; done < script().size() && done < step + 3; ++done) {
    if (script()[done].before) script()[done].before(world);
    EXPECT_EQ(run(world, done), clean_.codes[done]) << script()[done].name << world.err.message;
  }
  EXPECT_EQ(reopened(world), clean_.states[done]);
}

void Sweep::sweep_step(size_t step, bool sticky) {
  for (uint64_t k = 1;; ++k) {
    SCOPED_TRACE(std::string(script()[step].name) + ", allocation " + std::to_string(k) +
                 (sticky ? " and all later ones" : ""));
    const std::unique_ptr<World> world = world_before(step);
    if (script()[step].before) script()[step].before(*world);
    AllocFaultPlan plan;
    plan.fail_at = k;
    plan.sticky = sticky;
    plan.own_code_only = kind_ == WorldKind::rocks;
    int32_t code = 0;
    bool struck = false;
    {
      const AllocFault fault(plan);
      code = script()[step].call(*world);
      struck = fault.struck();
    }
    if (!struck) {
      EXPECT_EQ(code, clean_.codes[step]);
      return;
    }
    judge(*world, step, code);
    if (testing::Test::HasFailure()) return;
  }
}

void sweep_all(WorldKind kind, size_t stride) {
  Sweep sweep(kind);
  sweep.record_clean_run();
  for (size_t step = 0; step < script().size(); step += stride) {
    for (const bool sticky : {false, true}) {
      sweep.sweep_step(step, sticky);
      if (testing::Test::HasFailure()) return;
    }
  }
  std::printf("%zu calls, %llu runs with a failed allocation: %llu refused, %llu poisoned\n",
              script().size(), static_cast<unsigned long long>(sweep.faults),
              static_cast<unsigned long long>(sweep.refused),
              static_cast<unsigned long long>(sweep.poisoned));
  EXPECT_GT(sweep.refused, 100u);
}

TEST(AllocSweep, EveryCallOnTheSimulatedDisk) {
  sweep_all(WorldKind::simulated, 1);
}

}  // namespace
}  // namespace wq
