// Kills a process in the middle of its checkpoints, again and again in one directory: whatever
// commit() confirmed is there, all families agree on one checkpoint, and no file under construction
// is left.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/prng.h"
#include "support/child_process.h"
#include "test_seed.h"
#include "unit/engine/store_harness.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t rows_each = 20;  // as in store_crash_child.cc
constexpr uint64_t life = 5;

// 0 = the child ended.
uint64_t read_number(const ChildProcess& child) {
  uint64_t number = 0;
  const ssize_t got = read(child.output(), &number, sizeof number);
  return got == sizeof number ? number : 0;
}

uint64_t last_number(const Store& store, Family family) {
  return std::strtoull(read_row(store, family, "last").c_str(), nullptr, 10);
}

// Exactly the rows of the checkpoints that still live.
void check_rows(const Store& store, Family family, uint64_t last) {
  const uint64_t first = last >= life ? last - life + 1 : 1;
  const auto cursor = store.scan(family, "r", "s");
  for (uint64_t number = first; number <= last; ++number) {
    for (uint64_t row = 0; row < rows_each; ++row, cursor->next()) {
      ASSERT_TRUE(cursor->valid());
      std::string key = "r";
      put_be64(key, number);
      put_be64(key, row);
      ASSERT_EQ(cursor->key(), key);
      ASSERT_EQ(cursor->value(), std::to_string(number));
    }
  }
  ASSERT_FALSE(cursor->valid());
  ASSERT_TRUE(cursor->status().ok());
}

TEST(StoreCrash, AllFamiliesAgreeAfterAKill) {
  Prng prng(test_seed());
  const std::string directory = testing::TempDir() + "/crash";
  fs::create_directories(directory);
  uint64_t confirmed = 0;
  constexpr int rounds = 12;
  for (int round = 0; round < rounds; ++round) {
    {
      ChildProcess child("store_crash_child", {directory});
      ASSERT_TRUE(child.started());
      for (uint64_t left = 1 + prng.below(15); left > 0; --left) {
        const uint64_t number = read_number(child);
        ASSERT_NE(number, 0u) << "the child gave up";
        confirmed = number;
      }
      // Let it come to different places of the next checkpoint.
      for (uint64_t spin = prng.below(2'000'000); spin > 0; --spin) prng.next();
      child.kill_now();
      while (const uint64_t number = read_number(child)) confirmed = number;
    }
    StoreHarness store(StoreKind::rocks, directory);
    const Status opened = store.open();
    ASSERT_TRUE(opened.ok()) << opened.message();
    EXPECT_TRUE(fs::is_empty(store.options().temp_directory));
    const uint64_t last = last_number(store.store(), Family::meta);
    ASSERT_GE(last, confirmed);
    ASSERT_LE(last, confirmed + 1);
    for (const Family family : {Family::meta, Family::job, Family::ready, Family::lease}) {
      ASSERT_EQ(last_number(store.store(), family), last) << family_name(family);
      check_rows(store.store(), family, last);
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_TRUE(store.close().ok());
  }
}

}  // namespace
}  // namespace wq
