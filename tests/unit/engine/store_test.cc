// What a store promises, tested on both kinds: visibility, atomicity, order, bounds, range erases,
// consistent walks, and a random run against ordered maps with reopening.
#include "engine/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "base/prng.h"
#include "unit/engine/store_harness.h"

namespace wq {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows walk(const Store& store, Family family, std::string_view lower, std::string_view upper,
          bool descending = false) {
  Rows rows;
  const auto cursor = store.scan(family, lower, upper, descending);
  for (; cursor->valid(); cursor->next()) rows.emplace_back(cursor->key(), cursor->value());
  EXPECT_TRUE(cursor->status().ok()) << cursor->status().message();
  return rows;
}

class StoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  StoreTest() : store_(GetParam()) {}
  void SetUp() override { ASSERT_TRUE(store_.open().ok()); }

  std::unique_ptr<Checkpoint> begin(uint64_t rows = by_batch) {
    auto checkpoint = store_->begin_checkpoint(rows);
    EXPECT_TRUE(checkpoint.ok());
    return std::move(checkpoint).value();
  }
  void put_letters(std::string_view letters, uint64_t rows = by_batch) {
    const auto checkpoint = begin(rows);
    for (const char letter : letters) {
      ASSERT_TRUE(checkpoint->put(Family::kv, std::string(1, letter), "v").ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  std::string letters(std::string_view lower, std::string_view upper, bool descending = false) {
    std::string out;
    for (const auto& [key, value] : walk(store_.store(), Family::kv, lower, upper, descending)) {
      out += key;
    }
    return out;
  }

  StoreHarness store_;
};

TEST_P(StoreTest, StartsEmpty) {
  for (size_t i = 0; i < family_count; ++i) {
    EXPECT_TRUE(walk(store_.store(), static_cast<Family>(i), "", "").empty());
  }
  EXPECT_EQ(read_row(store_.store(), Family::meta, "m"), "");
  EXPECT_TRUE(store_->failure().ok());
}

TEST_P(StoreTest, NothingIsVisibleBeforeCommit) {
  for (const uint64_t rows : {by_batch, by_files}) {
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->put(Family::job, "a", "1").ok());
    EXPECT_EQ(read_row(store_.store(), Family::job, "a"), "");
  }
  EXPECT_EQ(read_row(store_.store(), Family::job, "a"), "");
  ASSERT_TRUE(store_.reopen().ok());
  EXPECT_EQ(read_row(store_.store(), Family::job, "a"), "");
}

TEST_P(StoreTest, CommittedRowsStay) {
  for (const uint64_t rows : {by_batch, by_files}) {
    const std::string value = std::to_string(rows);
    const auto checkpoint = begin(rows);
    for (size_t i = 0; i < family_count; ++i) {
      ASSERT_TRUE(checkpoint->put(static_cast<Family>(i), "key", value).ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
    for (size_t i = 0; i < family_count; ++i) {
      EXPECT_EQ(read_row(store_.store(), static_cast<Family>(i), "key"), value);
    }
    ASSERT_TRUE(store_.reopen().ok());
    for (size_t i = 0; i < family_count; ++i) {
      EXPECT_EQ(read_row(store_.store(), static_cast<Family>(i), "key"), value);
    }
  }
}

TEST_P(StoreTest, EmptyValuesAndBinaryKeys) {
  const std::string zeros(4, '\0');
  const std::string ones(20, '\xff');
  for (const uint64_t rows : {by_batch, by_files}) {
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->put(Family::delay, zeros, "").ok());
    ASSERT_TRUE(checkpoint->put(Family::delay, ones, std::string("a\0b", 3)).ok());
    ASSERT_TRUE(checkpoint->commit().ok());
    EXPECT_EQ(walk(store_.store(), Family::delay, "", ""),
              (Rows{{zeros, ""}, {ones, std::string("a\0b", 3)}}));
  }
}

TEST_P(StoreTest, AnEmptyCheckpointIsFine) {
  for (const uint64_t rows : {by_batch, by_files}) EXPECT_TRUE(begin(rows)->commit().ok());
}

TEST_P(StoreTest, BreakingTheOrderIsABrokenInvariant) {
  for (const uint64_t rows : {by_batch, by_files}) {
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->put(Family::kv, "b", "1").ok());
    EXPECT_THROW(static_cast<void>(checkpoint->put(Family::kv, "a", "1")), CheckFailed);
    EXPECT_THROW(static_cast<void>(checkpoint->erase(Family::kv, "b")), CheckFailed);
    EXPECT_THROW(static_cast<void>(checkpoint->erase_range(Family::kv, "d", "d")), CheckFailed);
    ASSERT_TRUE(checkpoint->put(Family::job, "a", "1").ok());  // each family has its own order
    ASSERT_TRUE(checkpoint->commit().ok());
    EXPECT_THROW(static_cast<void>(checkpoint->commit()), CheckFailed);
    EXPECT_THROW(static_cast<void>(checkpoint->put(Family::kv, "c", "1")), CheckFailed);
  }
}

TEST_P(StoreTest, WalksStayInTheirBounds) {
  put_letters("bdf");
  EXPECT_EQ(letters("", ""), "bdf");
  EXPECT_EQ(letters("b", "f"), "bd");
  EXPECT_EQ(letters("a", "g"), "bdf");
  EXPECT_EQ(letters("c", "e"), "d");
  EXPECT_EQ(letters("e", "e"), "");
  EXPECT_EQ(letters("f", "b"), "");
  EXPECT_EQ(letters("g", ""), "");
  EXPECT_EQ(letters("", "", true), "fdb");
  EXPECT_EQ(letters("b", "f", true), "db");
  EXPECT_EQ(letters("c", "e", true), "d");
  EXPECT_EQ(letters("e", "e", true), "");
  EXPECT_EQ(letters("", "b", true), "");
}

TEST_P(StoreTest, SeekStaysInTheBounds) {
  put_letters("bdfhj");
  const auto cursor = store_->scan(Family::kv, "c", "i");
  const auto at = [&](std::string_view target) {
    cursor->seek(target);
    return cursor->valid() ? std::string(cursor->key()) : std::string("-");
  };
  EXPECT_EQ(at("e"), "f");
  EXPECT_EQ(at("f"), "f");
  EXPECT_EQ(at("a"), "d");  // back, but not below the lower bound
  EXPECT_EQ(at("i"), "-");
  EXPECT_EQ(at("z"), "-");
  EXPECT_EQ(at("h"), "h");
  cursor->next();
  EXPECT_FALSE(cursor->valid());
  EXPECT_TRUE(cursor->status().ok());
}

TEST_P(StoreTest, SeekInAnEmptyWalk) {
  put_letters("bz");
  for (const auto& [lower, upper] :
       std::vector<std::pair<std::string, std::string>>{{"c", "d"}, {"x", "c"}, {"zz", ""}}) {
    const auto cursor = store_->scan(Family::kv, lower, upper);
    EXPECT_FALSE(cursor->valid());
    cursor->seek("a");
    EXPECT_FALSE(cursor->valid());
    cursor->seek("c");
    EXPECT_FALSE(cursor->valid());
  }
}

TEST_P(StoreTest, ACursorSeesOneMoment) {
  for (const uint64_t rows : {by_batch, by_files}) {
    put_letters("abc", rows);
    const auto cursor = store_->scan(Family::kv, "", "");
    const auto backwards = store_->scan(Family::kv, "", "", true);
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->erase(Family::kv, "b").ok());
    ASSERT_TRUE(checkpoint->put(Family::kv, "c", "changed").ok());
    ASSERT_TRUE(checkpoint->put(Family::kv, "d", "v").ok());
    ASSERT_TRUE(checkpoint->commit().ok());
    ASSERT_TRUE(store_->reclaim(Family::kv, "a", "b").ok());
    std::string seen;
    for (; cursor->valid(); cursor->next()) {
      seen += cursor->key();
      seen += cursor->value();
    }
    EXPECT_EQ(seen, "avbvcv");
    EXPECT_EQ(backwards->key(), "c");
    EXPECT_EQ(letters("", ""), "cd");
    ASSERT_TRUE(store_->reclaim(Family::kv, "a", "z").ok());
  }
}

TEST_P(StoreTest, RangesEraseHalfOpen) {
  for (const uint64_t rows : {by_batch, by_files}) {
    put_letters("abcdefgh", rows);
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "b", "d").ok());
    ASSERT_TRUE(checkpoint->put(Family::kv, "d", "new").ok());
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "e", "g").ok());
    ASSERT_TRUE(checkpoint->erase(Family::kv, "h").ok());
    ASSERT_TRUE(checkpoint->commit().ok());
    EXPECT_EQ(letters("", ""), "adg");
    EXPECT_EQ(read_row(store_.store(), Family::kv, "d"), "new");
    ASSERT_TRUE(store_.reopen().ok());
    EXPECT_EQ(letters("", ""), "adg");
    EXPECT_EQ(letters("", "", true), "gda");
  }
}

TEST_P(StoreTest, RangesInAnyOrderAndErasedAgain) {
  for (const uint64_t rows : {by_batch, by_files}) {
    put_letters("abcdefgh", rows);
    const auto checkpoint = begin(rows);
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "g", "h").ok());
    ASSERT_TRUE(checkpoint->put(Family::kv, "c", "new").ok());
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "a", "c").ok());
    ASSERT_TRUE(checkpoint->erase(Family::kv, "e").ok());
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "d", "f").ok());  // over its own erase
    ASSERT_TRUE(checkpoint->erase_range(Family::kv, "x", "z").ok());  // over nothing
    ASSERT_TRUE(checkpoint->commit().ok());
    EXPECT_EQ(letters("", ""), "cfh");
    EXPECT_EQ(read_row(store_.store(), Family::kv, "c"), "new");
  }
}

TEST_P(StoreTest, ErasedKeysCanComeBack) {
  put_letters("abc", by_files);
  const auto erase_all = begin(by_files);
  ASSERT_TRUE(erase_all->erase_range(Family::kv, "a", "z").ok());
  ASSERT_TRUE(erase_all->commit().ok());
  EXPECT_EQ(letters("", ""), "");
  put_letters("b", by_batch);
  EXPECT_EQ(letters("", ""), "b");
  put_letters("c", by_files);
  EXPECT_EQ(letters("", ""), "bc");
}

TEST_P(StoreTest, ReclaimRemovesForGood) {
  put_letters("abcdef", by_files);
  ASSERT_TRUE(store_->reclaim(Family::kv, "b", "e").ok());
  ASSERT_TRUE(store_->reclaim(Family::kv, "b", "e").ok());
  EXPECT_EQ(letters("", ""), "aef");
  ASSERT_TRUE(store_.reopen().ok());
  EXPECT_EQ(letters("", ""), "aef");
  ASSERT_TRUE(store_->reclaim(Family::kv, "b", "").ok());
  EXPECT_EQ(letters("", ""), "a");
}

// Random checkpoints on both roads against ordered maps, with walks, reclaims and reopening.
class OracleRun {
 public:
  OracleRun(StoreHarness& store, uint64_t seed) : store_(store), prng_(seed) {}

  void step() {
    const uint64_t choice = prng_.below(100);
    if (choice < 55) {
      change();
    } else if (choice < 85) {
      compare_walk();
    } else if (choice < 95) {
      compare_gets();
    } else if (choice < 98) {
      reclaim();
    } else {
      ASSERT_TRUE(store_.reopen().ok());
    }
  }
  void compare_all() {
    for (size_t family = 0; family < family_count; ++family) {
      ASSERT_EQ(walk(store_.store(), static_cast<Family>(family), "", ""),
                Rows(oracle_[family].begin(), oracle_[family].end()));
    }
  }

 private:
  using Oracle = std::map<std::string, std::string>;
  struct Range {
    std::string begin, end;
  };

  std::string key() {
    std::string out(1 + prng_.below(2), '\0');
    for (char& c : out) c = static_cast<char>(prng_.below(20) * 13);
    return out;
  }
  Range range() {
    Range out{key(), key()};
    if (out.end < out.begin) std::swap(out.begin, out.end);
    if (out.begin == out.end) out.end += '\0';
    return out;
  }
  size_t family() { return prng_.below(3); }  // few families and keys: much overlap

  // Rows in key order, ranges before, among or after them.
  void change_family(Checkpoint& checkpoint, size_t index, Oracle& oracle) {
    const auto family = static_cast<Family>(index);
    std::vector<Range> ranges(prng_.below(3) == 0 ? prng_.below(4) : 0);
    for (Range& r : ranges) r = range();
    std::map<std::string, std::optional<std::string>> rows;
    for (uint64_t i = prng_.below(40); i > 0; --i) {
      const std::string k = key();
      const bool covered = std::any_of(ranges.begin(), ranges.end(),
                                       [&](const Range& r) { return k >= r.begin && k < r.end; });
      if (prng_.below(3) == 0 || covered) {
        rows[k] = std::nullopt;
      } else {
        rows[k] = std::to_string(prng_.next()) + std::string(prng_.below(100), 'v');
      }
    }
    for (const Range& r : ranges) {
      oracle.erase(oracle.lower_bound(r.begin), oracle.lower_bound(r.end));
    }
    const bool ordered = prng_.below(2) == 0;
    if (ordered) {
      std::sort(ranges.begin(), ranges.end(),
                [](const Range& a, const Range& b) { return a.begin < b.begin; });
    }
    size_t next_range = 0;
    for (const auto& [k, value] : rows) {
      while (ordered && next_range < ranges.size() && ranges[next_range].begin <= k) {
        const Range& r = ranges[next_range++];
        ASSERT_TRUE(checkpoint.erase_range(family, r.begin, r.end).ok());
      }
      if (value) {
        ASSERT_TRUE(checkpoint.put(family, k, *value).ok());
        oracle[k] = *value;
      } else {
        ASSERT_TRUE(checkpoint.erase(family, k).ok());
        oracle.erase(k);
      }
    }
    for (; next_range < ranges.size(); ++next_range) {
      const Range& r = ranges[next_range];
      ASSERT_TRUE(checkpoint.erase_range(family, r.begin, r.end).ok());
    }
  }
  void change() {
    auto checkpoint = store_->begin_checkpoint(prng_.below(2) == 0 ? by_batch : by_files);
    ASSERT_TRUE(checkpoint.ok());
    std::vector<Oracle> changed(oracle_, oracle_ + family_count);
    // A walk that started before must not see it.
    const size_t watched = family();
    const auto cursor = store_->scan(static_cast<Family>(watched), "", "");
    for (size_t index = 0; index < 3; ++index) {
      if (prng_.below(4) != 0) change_family(*checkpoint.value(), index, changed[index]);
    }
    if (prng_.below(8) == 0) return;  // dropped without commit
    ASSERT_TRUE(checkpoint.value()->commit().ok());
    Rows seen;
    for (; cursor->valid(); cursor->next()) seen.emplace_back(cursor->key(), cursor->value());
    ASSERT_EQ(seen, Rows(oracle_[watched].begin(), oracle_[watched].end()));
    std::copy(changed.begin(), changed.end(), oracle_);
  }
  void reclaim() {
    const size_t index = family();
    const Range r = range();
    ASSERT_TRUE(store_->reclaim(static_cast<Family>(index), r.begin, r.end).ok());
    oracle_[index].erase(oracle_[index].lower_bound(r.begin), oracle_[index].lower_bound(r.end));
  }
  void compare_gets() {
    for (int i = 0; i < 20; ++i) {
      const size_t index = family();
      const std::string k = key();
      const auto found = oracle_[index].find(k);
      ASSERT_EQ(read_row(store_.store(), static_cast<Family>(index), k),
                found == oracle_[index].end() ? "" : found->second);
    }
  }
  void compare_walk() {
    const size_t index = family();
    const auto family_id = static_cast<Family>(index);
    const Range r = range();
    const Oracle& oracle = oracle_[index];
    Rows expected(oracle.lower_bound(r.begin), oracle.lower_bound(r.end));
    ASSERT_EQ(walk(store_.store(), family_id, r.begin, r.end), expected);
    const std::string target = key();
    const auto cursor = store_->scan(family_id, r.begin, r.end);
    cursor->seek(target);
    const auto at = oracle.lower_bound(std::clamp(target, r.begin, r.end));
    if (at == oracle.end() || at->first >= r.end) {
      ASSERT_FALSE(cursor->valid());
    } else {
      ASSERT_EQ(cursor->key(), at->first);
    }
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(walk(store_.store(), family_id, r.begin, r.end, true), expected);
  }

  StoreHarness& store_;
  Prng prng_;
  Oracle oracle_[family_count];
};

TEST_P(StoreTest, RandomRunMatchesOrderedMaps) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  OracleRun run(store_, seed);
  const int steps = GetParam() == StoreKind::mem ? 2'000 : 300;
  for (int i = 0; i < steps && !HasFatalFailure(); ++i) run.step();
  ASSERT_FALSE(HasFatalFailure());
  run.compare_all();
  ASSERT_TRUE(store_.reopen().ok());
  run.compare_all();
}

TEST_P(StoreTest, ReadersRunWhileCheckpointsCommit) {
  // One row per family says which checkpoint wrote it; a walk must never mix two.
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> walks{0};
  std::thread reader([&] {
    while (!stop.load()) {
      const auto cursor = store_->scan(Family::ready, "", "");
      std::string first;
      for (; cursor->valid(); cursor->next()) {
        if (first.empty()) first = cursor->value();
        EXPECT_EQ(first, cursor->value());
      }
      EXPECT_TRUE(cursor->status().ok());
      EXPECT_TRUE(store_->get(Family::job, row_key(7)).ok());
      walks.fetch_add(1);
    }
  });
  for (uint64_t round = 0; round < 60 || walks.load() < 20; ++round) {
    const auto checkpoint = begin(round % 2 == 0 ? by_files : by_batch);
    const std::string value = std::to_string(round);
    for (uint64_t i = 0; i < 50; ++i) {
      EXPECT_TRUE(checkpoint->put(Family::ready, row_key(i), value).ok());
      EXPECT_TRUE(checkpoint->put(Family::job, row_key(i), value).ok());
    }
    EXPECT_TRUE(checkpoint->commit().ok());
  }
  stop.store(true);
  reader.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, testing::Values(StoreKind::mem, StoreKind::rocks),
                         store_kind_name);

TEST(MemStore, ARangeOverOwnRowsIsABrokenInvariant) {
  StoreHarness store(StoreKind::mem);
  ASSERT_TRUE(store.open().ok());
  auto checkpoint = store->begin_checkpoint(1);
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(checkpoint.value()->put(Family::kv, "b", "1").ok());
  ASSERT_TRUE(checkpoint.value()->erase_range(Family::kv, "a", "c").ok());
  EXPECT_THROW(static_cast<void>(checkpoint.value()->commit()), CheckFailed);
}

TEST(FamilyNames, ArePartOfTheFormat) {
  const char* const names[] = {"meta",   "job",   "ready", "lease", "delay",  "dlq",
                               "unique", "batch", "cron",  "kv",    "history"};
  for (size_t i = 0; i < family_count; ++i) {
    EXPECT_STREQ(family_name(static_cast<Family>(i)), names[i]);
  }
  EXPECT_STREQ(family_name(static_cast<Family>(family_count)), "unknown");
}

}  // namespace
}  // namespace wq
