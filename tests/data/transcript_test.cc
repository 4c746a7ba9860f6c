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
#include <ostream>
#include <sstream>
#include <string>
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

std::string path_of(const std::string& name) {
  return std::string(WQ_TEST_DATA_DIRECTORY) + "/" + name + ".txt";
}

std::string read_transcript(const std::string& name, Transcript& transcript) {
  std::stringstream text;
  text << std::ifstream(path_of(name)).rdbuf();
  return parse_transcript(text.str(), transcript);
}

struct Run {
  std::string name;
  Variant variant;
};

// For a name that appears in the output.
std::ostream& operator<<(std::ostream& out, const Run& run) {
  return out << run.name << " as " << run.variant.name;
}

bool applies(const Transcript& transcript, const Variant& variant) {
  const bool reopens = variant.between == Between::reopen || variant.between == Between::kill;
  if (transcript.memory_only && variant.store != StoreKind::memory) return false;
  if (transcript.no_checkpoints && variant.between == Between::checkpoint) return false;
  return !transcript.as_written || !reopens;
}

// A transcript that can not be read runs in every way, and fails.
std::vector<Run> all_runs() {
  std::vector<Run> runs;
  for (const std::string& name : transcript_names()) {
    Transcript transcript;
    const bool readable = read_transcript(name, transcript).empty();
    for (const Variant& variant : variants) {
      if (!readable || applies(transcript, variant)) runs.push_back(Run{name, variant});
    }
  }
  return runs;
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

// What the store does by itself waits for no disk, so a kill may undo it. It is as good a moment as
// any other one when that is there.
bool is_own_work(const std::string& command, const std::string& output) {
  return command.starts_with("advance") || command.starts_with("tick") ||
         (command.starts_with("lease") && output.find(" gen=") == std::string::npos);
}

// What the variant does after a command; the store is open.
void go_between(EngineHarness& harness, Between between) {
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

class TranscriptTest : public testing::TestWithParam<Run> {};

TEST_P(TranscriptTest, Runs) {
  const auto& [name, variant] = GetParam();
  if (variant.backend == IoBackend::uring) {
    const Result<std::unique_ptr<Io>> io = make_io(IoBackend::uring);
    if (!io.ok()) GTEST_SKIP() << io.status().message();
  }
  Transcript transcript;
  ASSERT_EQ(read_transcript(name, transcript), "") << path_of(name);
  TranscriptRunner runner(harness_options(variant));
  EngineHarness& harness = runner.harness();
  std::vector<std::string> outputs;
  for (const Block& block : transcript.blocks) {
    SCOPED_TRACE(path_of(name) + ":" + std::to_string(block.line));
    std::string& output = outputs.emplace_back();
    for (const std::string& line : block.input) {
      const std::string given = runner.run(line);
      output += given;
      if (!harness.is_open()) continue;
      if (variant.between == Between::kill && is_own_work(line, given)) {
        ASSERT_TRUE(harness.engine().sync().ok());
      }
      go_between(harness, variant.between);
      if (HasFatalFailure()) return;
    }
    if (!rewriting()) {
      ASSERT_EQ(output, block.expected);
    }
  }
  if (harness.is_open()) harness.expect_sound();
  if (rewriting()) {
    ASSERT_EQ(std::string(variant.name), "memory_plain") << "rewrite from one variant";
    std::ofstream(path_of(name)) << format_transcript(transcript, outputs);
  }
}

std::string test_name(const testing::TestParamInfo<Run>& info) {
  return info.param.name + "__" + info.param.variant.name;
}

INSTANTIATE_TEST_SUITE_P(All, TranscriptTest, testing::ValuesIn(all_runs()), test_name);

}  // namespace
}  // namespace wq
