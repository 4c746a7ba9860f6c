// Random operations on the engine and on the reference model side by side, over both stores, both
// backends of the log and the simulated disk, with closes, kills and power cuts in between.
//
//   WQ_SEEDS=n             streams per test instead of the default
//   WQ_LONG=1              fifty times the default
//   WQ_STREAM_SECONDS=n    a stream may take so long
//   WQ_MODEL_REPLAY=file   run the stream in the file, as a failure printed it, and trace it
// A failure prints the seed of its stream first: --seed=<it> with WQ_SEEDS=1 repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "model/isolate.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq::model {
namespace {

// A stream that takes longer does not end; WQ_STREAM_SECONDS is for machines that are very busy.
unsigned stream_seconds_max() {
  const char* given = std::getenv("WQ_STREAM_SECONDS");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 0)) : 60;
}
constexpr unsigned shrink_seconds_max = 10;
constexpr size_t shrink_runs_max = 2'000;

size_t streams_to_run(size_t standard) {
  if (const char* given = std::getenv("WQ_SEEDS")) return std::strtoull(given, nullptr, 0);
  return scaled(standard, standard * 50, (standard + 2) / 3);
}

struct Counts {
  std::array<uint64_t, rare_count> rare{};
  std::array<uint64_t, op_kind_count> ops{};

  void add(const Outcome& outcome) {
    for (size_t i = 0; i < rare_count; ++i) rare[i] += outcome.rare[i];
    for (size_t i = 0; i < op_kind_count; ++i) ops[i] += outcome.ops[i];
  }
  void print() const {
    std::printf("\noperations:");
    for (size_t i = 0; i < op_kind_count; ++i) {
      std::printf(" %s %llu", op_name(static_cast<OpKind>(i)),
                  static_cast<unsigned long long>(ops[i]));
    }
    std::printf("\noutcomes:");
    for (size_t i = 0; i < rare_count; ++i) {
      std::printf(" %s %llu", rare_name(i), static_cast<unsigned long long>(rare[i]));
    }
    std::printf("\n");
  }
};

void report_failure(uint64_t seed, const Stream& stream, const Outcome& outcome) {
  std::printf("failing seed: WQ_SEEDS=1 --seed=%llu\n  at operation %zu of %zu: %s\n",
              static_cast<unsigned long long>(seed), outcome.op, stream.ops.size(),
              outcome.message.c_str());
  std::fflush(stdout);
  const Stream small = shrink(stream, shrink_runs_max, shrink_seconds_max);
  const Outcome again = run_isolated(small, shrink_seconds_max);
  ADD_FAILURE() << "seed " << seed << ": " << outcome.message << "\nshrunk to " << small.ops.size()
                << " operations: " << (again.ok ? "fails only at times" : again.message) << "\n"
                << to_text(small);
}

// The first stream has the seed of the test, so that one stream can be repeated by it alone.
Counts run_streams(std::optional<uint32_t> store, size_t streams, size_t ops) {
  const uint64_t first_seed = test_seed();
  Prng seeds(first_seed);
  Counts sum;
  for (size_t i = 0; i < streams && !testing::Test::HasFailure(); ++i) {
    const uint64_t seed = i == 0 ? first_seed : seeds.next();
    const Stream stream = make_stream(seed, store, ops);
    const Outcome outcome = run_isolated(stream, stream_seconds_max());
    sum.add(outcome);
    if (!outcome.ok) report_failure(seed, stream, outcome);
  }
  std::printf("%zu streams of %zu operations:", streams, ops);
  sum.print();
  return sum;
}

// These come a few times in all the streams together, or not at all: asking for them would fail a
// run in twenty. The crash points go to a cut between two records of one call each time, and the
// others have tests of their own.
bool is_by_luck(Rare rare) {
  return rare == Rare::swept_after_crash || rare == Rare::due_work_recovered_in_part ||
         rare == Rare::replay_met_holder || rare == Rare::worker_told_to_stop ||
         rare == Rare::torn_tail || rare == Rare::drop_ended_a_batch ||
         rare == Rare::drop_cut_a_chain || rare == Rare::slot_dropped_a_job ||
         rare == Rare::slot_waited_for_room || rare == Rare::debounced_in_full_queue ||
         rare == Rare::txn_met_full_queue || rare == Rare::bulk_met_holder ||
         rare == Rare::txn_met_quota;
}

TEST(Model, SimulatedDisk) {
  constexpr size_t standard = 800;
  const size_t streams = streams_to_run(standard);
  const Counts sum = run_streams(on_memory, streams, 320);
  // Too few to promise anything, or not all of them done.
  if (streams < standard || HasFailure()) return;
  for (size_t rare = 0; rare < rare_count; ++rare) {
    if (is_by_luck(static_cast<Rare>(rare))) continue;
    EXPECT_GT(sum.rare[rare], 0u) << "never reached: " << rare_name(rare);
  }
  for (size_t op = 0; op < op_kind_count; ++op) {
    EXPECT_GT(sum.ops[op], 0u) << "never done: " << op_name(static_cast<OpKind>(op));
  }
}

TEST(Model, RocksOnUring) {
  run_streams(on_rocks_uring, streams_to_run(12), 300);
}

TEST(Model, RocksOnThreads) {
  run_streams(on_rocks_threads, streams_to_run(12), 300);
}

// The tests can only be trusted if a difference is found, and found small.
TEST(Model, StreamsSurviveTheirTextForm) {
  const Stream stream = make_stream(test_seed(), std::nullopt, 50);
  const std::optional<Stream> parsed = parse_stream(to_text(stream));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(to_text(*parsed), to_text(stream));
}

TEST(Model, Replay) {
  const char* path = std::getenv("WQ_MODEL_REPLAY");
  if (path == nullptr) GTEST_SKIP() << "WQ_MODEL_REPLAY names no file";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::optional<Stream> stream = parse_stream(text.str());
  ASSERT_TRUE(stream.has_value());
  const Outcome outcome = run_stream(*stream, /*trace=*/true);
  EXPECT_TRUE(outcome.ok) << "operation " << outcome.op << ": " << outcome.message;
}

}  // namespace
}  // namespace wq::model
