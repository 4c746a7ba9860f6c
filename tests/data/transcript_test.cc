// Runs every transcript of this directory in several ways that must all give the same output: on
// both stores, on both backends of the log, and with a checkpoint, an orderly reopening or a kill
// after each command, with all memory or with next to none. Each ends with a full scan, after each
// command where there is a checkpoint.
//
//   transcript_test --gtest_filter='*clear*'                 one transcript
//   transcript_test --gtest_filter='*memory_plain*' --rewrite   write what comes out into the files
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "data/transcript_runner.h"

namespace wq {
namespace {

enum class Between : uint8_t { nothing, checkpoint, reopen, kill };

struct Variant {
  const char* name;
  StoreKind store = StoreKind::memory;
  IoBackend backend = IoBackend::automatic;
  Between between = Between::nothing;
  bool starved = false;  // next to no memory: all that can be cold is
};

constexpr Variant variants[] = {
    {"memory_plain"},
    {"memory_checkpoints", StoreKind::memory, IoBackend::automatic, Between::checkpoint},
    {"memory_starved", StoreKind::memory, IoBackend::automatic, Between::checkpoint, true},
    {"memory_reopened", StoreKind::memory, IoBackend::automatic, Between::reopen},
    {"memory_starved_reopened", StoreKind::memory, IoBackend::automatic, Between::reopen, true},
    {"memory_killed", StoreKind::memory, IoBackend::automatic, Between::kill},
    {"rocks_thread", StoreKind::rocks, IoBackend::thread},
    {"rocks_thread_starved", StoreKind::rocks, IoBackend::thread, Between::checkpoint, true},
    {"rocks_uring", StoreKind::rocks, IoBackend::uring},
    {"rocks_uring_checkpoints", StoreKind::rocks, IoBackend::uring, Between::checkpoint},
};

std::vector<std::string> transcript_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(WQ_TEST_DATA_DIRECTORY)) {
    if (entry.path().extension() == ".txt" && entry.path().stem() != "CMakeLists") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool rewriting() {
  const std::vector<std::string> arguments = testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--rewrite") != arguments.end();
}

HarnessOptions harness_options(const Variant& variant) {
  HarnessOptions options;
  options.store = variant.store;
  options.backend = variant.backend;
  options.engine.segment_bytes = 256 * 1024;
  options.engine.spare_segments = 1;
  options.engine.store_cache_bytes = 1 << 20;
  if (variant.starved) {
    options.engine.memory_budget_bytes = 1;
    options.engine.lane_window = 1;
  }
  return options;
}

// What the variant does after a command; the store is open.
void go_between(TranscriptRunner& runner, Between between) {
  EngineHarness& harness = runner.harness();
  harness.options().engine.expire_leases = false;
  switch (between) {
    case Between::nothing:
      return;
    case Between::checkpoint:
      harness.expect_sound();
      return;
    case Between::reopen: {
      const Status closed = harness.close();
      ASSERT_TRUE(closed.ok()) << closed.message();
      const Status opened = harness.open();
      ASSERT_TRUE(opened.ok()) << opened.message();
      return;
    }
    case Between::kill: {
      const Status opened = harness.kill_and_open();
      ASSERT_TRUE(opened.ok()) << opened.message();
      return;
    }
  }
}

class TranscriptTest : public testing::TestWithParam<std::tuple<std::string, Variant>> {};

TEST_P(TranscriptTest, Runs) {
  const auto& [name, variant] = GetParam();
  const std::string path = std::string(WQ_TEST_DATA_DIRECTORY) + "/" + name + ".txt";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  Transcript transcript;
  ASSERT_EQ(parse_transcript(text.str(), transcript), "") << path;
  if (transcript.memory_only && variant.store != StoreKind::memory) {
    GTEST_SKIP() << "needs the simulated disk";
  }
  const bool reopens = variant.between == Between::reopen || variant.between == Between::kill;
  if (transcript.as_written && reopens) GTEST_SKIP() << "is about one run of the store";
  if (variant.backend == IoBackend::uring) {
    const Result<std::unique_ptr<Io>> io = make_io(IoBackend::uring);
    if (!io.ok()) GTEST_SKIP() << io.status().message();
  }

  TranscriptRunner runner(harness_options(variant));
  std::vector<std::string> outputs;
  for (const Block& block : transcript.blocks) {
    SCOPED_TRACE(path + ":" + std::to_string(block.line));
    std::string& output = outputs.emplace_back();
    for (const std::string& line : block.input) {
      output += runner.run(line);
      if (runner.harness().is_open()) go_between(runner, variant.between);
      if (HasFatalFailure()) return;
    }
    if (!rewriting()) {
      ASSERT_EQ(output, block.expected);
    }
  }
  if (runner.harness().is_open()) runner.harness().expect_sound();
  if (rewriting()) {
    ASSERT_EQ(std::string(variant.name), "memory_plain") << "rewrite from one variant";
    std::ofstream(path) << format_transcript(transcript, outputs);
  }
}

std::string test_name(const testing::TestParamInfo<TranscriptTest::ParamType>& info) {
  return std::get<0>(info.param) + "__" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(All, TranscriptTest,
                         testing::Combine(testing::ValuesIn(transcript_names()),
                                          testing::ValuesIn(variants)),
                         test_name);

}  // namespace
}  // namespace wq
