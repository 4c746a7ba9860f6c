// Every sequence of up to two deeds (three with WQ_LONG) on a store with a job in each state, and a
// power cut at every event of the last one: what is found must be what the model had. Most bugs of
// crash recovery need no more than this.
#include <gtest/gtest.h>

#include <cstdio>

#include "quantity.h"
#include "sim/crash_points.h"
#include "sim/deeds.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

std::string to_text(const std::vector<Deed>& deeds) {
  std::string text;
  for (const Deed deed : deeds) text += std::string(deed_name(deed)) + " ";
  return text;
}

// The first violation, or nothing.
std::string run(const std::vector<Deed>& deeds, StoreKind store, CrashPlan plan, Tally& tally) {
  const model::Stream setting = Deeds::setting();
  Deeds script(setting, store);
  if (const Status status = script.begin_and_open(); !status.ok()) return status.message();
  for (const Deed deed : Deeds::prelude()) {
    if (const Status status = script.act(deed); !status.ok()) return status.message();
  }
  for (size_t i = 0; i < deeds.size(); ++i) {
    if (i + 1 == deeds.size()) plan.first_event = script.disk().events();
    const Status status = script.act(deeds[i]);
    const bool refused = status.code() == Code::not_found || status.code() == Code::conflict;
    if (status.is_error() && !refused) return deed_name(deeds[i]) + (": " + status.message());
  }
  script.keep_models();
  CrashPoints points(script, plan);
  const std::string failure = points.run();
  tally.add(points.tally());
  return failure;
}

CrashPlan short_plan() {
  CrashPlan plan;
  plan.prefixes = false;
  plan.interrupt_step = 64;
  plan.interrupts_step = 3;
  plan.again_step = 24;
  return plan;
}

TEST(Sequences, EachEndsInAPromisedStateWhereverThePowerGoes) {
  const size_t length_max = scaled<size_t>(2, 3);
  Tally tally;
  uint64_t sequences = 0;
  for (size_t length = 1; length <= length_max; ++length) {
    size_t count = 1;
    for (size_t i = 0; i < length; ++i) count *= short_deed_count;
    for (size_t number = 0; number < count; ++number) {
      std::vector<Deed> deeds(length);
      size_t rest = number;
      for (Deed& deed : deeds) {
        deed = static_cast<Deed>(rest % short_deed_count);
        rest /= short_deed_count;
      }
      ASSERT_EQ(run(deeds, StoreKind::memory, short_plan(), tally), "") << to_text(deeds);
      if (++sequences % 500 == 0) tally.print(std::to_string(sequences) + " sequences");
    }
  }
  tally.print(std::to_string(sequences) + " sequences of up to " + std::to_string(length_max));
  EXPECT_GE(tally.recoveries, sequences);
}

TEST(Sequences, OnRocksDb) {
  CrashPlan plan = short_plan();
  plan.interrupt_step = UINT64_MAX;
  plan.again_step = UINT64_MAX;
  plan.events_step = scaled<uint64_t>(5, 1, 15);
  Tally tally;
  for (size_t i = 0; i < short_deed_count; ++i) {
    const std::vector<Deed> deeds = {static_cast<Deed>(i), Deed::checkpoint};
    ASSERT_EQ(run(deeds, StoreKind::sim_rocks, plan, tally), "") << to_text(deeds);
  }
  tally.print("deeds before a checkpoint of RocksDB");
}

}  // namespace
}  // namespace wq::sim
