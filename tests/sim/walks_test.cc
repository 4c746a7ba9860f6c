// Walks over the RocksDB store on a disk that begins to fail: whatever the k-th read or open of a
// table meets, a walk gives every row or says that it failed. Never fewer rows and no word, and
// never the end of the process: RocksDB 7.8 has a bug of either kind (store_rocks.cc).
//
//   WQ_LONG=1    more layouts of tables
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/codec.h"
#include "base/prng.h"
#include "engine/store.h"
#include "quantity.h"
#include "support/sim_rocks.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

constexpr uint64_t by_files = uint64_t{1} << 32;
constexpr uint64_t rows_max = 60;
constexpr Family last_families[] = {Family::batch, Family::cron, Family::kv, Family::history};

std::string row_key(uint64_t number) {
  std::string key = "r";
  put_be64(key, number);
  return key;
}

using Rows = std::map<std::string, std::string>;

// A store with several tables on level 0 of each family, some with range tombstones. More tables
// than an open loads: those of the last families are opened by the first walk that meets them.
class Tables {
 public:
  explicit Tables(uint64_t seed) : prng_(seed) {}

  SimDisk& disk() { return disk_; }
  Store& store() { return *store_; }
  const Rows& rows(Family family) const { return rows_[static_cast<size_t>(family)]; }

  void make(int rounds) {
    open();
    for (int round = 0; round < rounds; ++round) {
      change();
      flush();
    }
    close();
  }
  // Of one family: rows, then a range that is erased, then two rows with a block of their own each.
  // When a walk comes to the second one, the next row below it is in the range.
  void make_layers(Family family, uint64_t erased, uint64_t behind) {
    const std::string block(20'000, 'b');
    open();
    Rows& rows = rows_[static_cast<size_t>(family)];
    commit([&](Checkpoint& checkpoint) {
      for (uint64_t row = 0; row < rows_max; ++row) {
        if (row == erased - 1) continue;  // so that this is the next one below
        ASSERT_TRUE(checkpoint.put(family, row_key(row), "old").ok());
        rows[row_key(row)] = "old";
      }
    });
    commit([&](Checkpoint& checkpoint) {
      ASSERT_TRUE(checkpoint.erase_range(family, row_key(erased), row_key(behind)).ok());
      rows.erase(rows.lower_bound(row_key(erased)), rows.lower_bound(row_key(behind)));
    });
    commit([&](Checkpoint& checkpoint) {
      for (const uint64_t row : {erased - 1, behind + 5}) {
        ASSERT_TRUE(checkpoint.put(family, row_key(row), block).ok());
        rows[row_key(row)] = block;
      }
    });
    close();
  }
  void open() {
    StoreOptions options;
    options.directory = "store/db";
    options.temp_directory = "store/tmp";
    ASSERT_TRUE(disk_.mount()->make_dir("store").ok());
    rocks_ = std::make_unique<SimRocks>(disk_);
    Result<std::unique_ptr<Store>> opened = rocks_->open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = std::move(opened).value();
  }
  void close() {
    EXPECT_TRUE(store_->close().ok());
    store_.reset();
    rocks_.reset();
  }

 private:
  template <typename Fill>
  void commit(Fill&& fill) {
    const auto checkpoint = begin(1);
    fill(*checkpoint);
    ASSERT_TRUE(checkpoint->commit().ok());
    flush();
  }
  // Erases a range, writes some rows behind it, in all families.
  void change() {
    const auto checkpoint = begin(1);
    for (size_t i = 0; i < family_count; ++i) {
      const auto family = static_cast<Family>(i);
      const uint64_t from = prng_.below(rows_max);
      const uint64_t to = from + 1 + prng_.below(8);
      if (prng_.below(3) != 0) {
        ASSERT_TRUE(checkpoint->erase_range(family, row_key(from), row_key(to)).ok());
        rows_[i].erase(rows_[i].lower_bound(row_key(from)), rows_[i].lower_bound(row_key(to)));
      }
      for (uint64_t row = prng_.below(4); row < rows_max; row += 1 + prng_.below(9)) {
        if (row >= from && row < to) continue;  // a range and a row of one commit do not overlap
        const std::string value(8 + prng_.below(600), static_cast<char>('a' + prng_.below(26)));
        ASSERT_TRUE(checkpoint->put(family, row_key(row), value).ok());
        rows_[i][row_key(row)] = value;
      }
    }
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  // What is in memory becomes a table of its own before files come in.
  void flush() {
    const auto checkpoint = begin(by_files);
    ASSERT_TRUE(checkpoint->put(Family::meta, row_key(rows_max + 1), "last").ok());
    ASSERT_TRUE(checkpoint->commit().ok());
    rows_[static_cast<size_t>(Family::meta)][row_key(rows_max + 1)] = "last";
  }
  std::unique_ptr<Checkpoint> begin(uint64_t rows) {
    auto begun = store_->begin_checkpoint(rows);
    EXPECT_TRUE(begun.ok()) << begun.status().message();
    return std::move(begun).value();
  }

  SimDisk disk_;
  std::unique_ptr<SimRocks> rocks_;
  std::unique_ptr<Store> store_;
  Prng prng_;
  Rows rows_[family_count];
};

struct Figures {
  uint64_t runs = 0;
  uint64_t whole = 0;
  uint64_t failed = 0;
};

// Up or down from some row.
void walk(const Store& store, Family family, const Rows& rows, bool down, uint64_t from,
          Figures& figures, const std::string& where) {
  Rows found;
  const std::string lower = from == 0 ? std::string() : row_key(from);
  const auto cursor = store.scan(family, lower, "", down);
  for (; cursor->valid(); cursor->next()) {
    found.emplace(std::string(cursor->key()), std::string(cursor->value()));
  }
  const Status status = cursor->status();
  if (!status.ok()) {
    ++figures.failed;
    EXPECT_EQ(status.code(), Code::io) << where << status.message();
    return;
  }
  ++figures.whole;
  ASSERT_TRUE(found == Rows(rows.lower_bound(lower), rows.end()))
      << where << "a walk over " << family_name(family) << " that did not fail gave "
      << found.size() << " rows, there are " << std::distance(rows.lower_bound(lower), rows.end());
}

TEST(Walks, EachReadOfATableFailsInTurn) {
  const uint64_t seed = test_seed();
  Prng prng(seed);
  Figures figures;
  const int layouts = scaled(6, 300, 2);
  for (int layout = 0; layout < layouts; ++layout) {
    Tables tables(prng.next());
    tables.make(3);
    const bool sticky = prng.below(2) == 0;
    const bool down = prng.below(4) == 0;
    const uint64_t from = prng.below(3) == 0 ? prng.below(rows_max) : 0;
    for (uint64_t k = 0;; ++k) {
      tables.open();
      const size_t fault = tables.disk().inject(
          {.ops = sim_read | sim_open, .path = "store/db/", .skip = k, .sticky = sticky});
      const std::string where = "layout " + std::to_string(layout) + ", k = " + std::to_string(k) +
                                (sticky ? ", from then on: " : ", once: ");
      for (const Family family : last_families) {
        walk(tables.store(), family, tables.rows(family), down, from, figures, where);
        if (testing::Test::HasFatalFailure()) return;
      }
      ++figures.runs;
      const bool hit = tables.disk().fault_hits(fault) > 0;
      tables.disk().clear_faults();
      for (const Family family : last_families) {
        Figures healed;
        walk(tables.store(), family, tables.rows(family), down, from, healed, where);
        EXPECT_EQ(healed.failed, 0u) << where << "the disk is well again";
      }
      tables.close();
      if (!hit) break;
    }
  }
  std::printf("%llu runs, %llu walks whole, %llu failed\n",
              static_cast<unsigned long long>(figures.runs),
              static_cast<unsigned long long>(figures.whole),
              static_cast<unsigned long long>(figures.failed));
  EXPECT_GT(figures.failed, figures.runs / 2);
}

// RocksDB would go on behind the range as if the rows that could not be read were not there, and
// give what they had replaced.
TEST(Walks, AReadThatFailedIsNotForgottenBehindAnErasedRange) {
  Figures figures;
  Tables tables(1);
  tables.make_layers(Family::history, 20, 40);
  for (uint64_t k = 0;; ++k) {
    tables.open();
    const size_t fault =
        tables.disk().inject({.ops = sim_read | sim_open, .path = "store/db/", .skip = k});
    walk(tables.store(), Family::history, tables.rows(Family::history), false, 0, figures,
         "k = " + std::to_string(k) + ": ");
    const bool hit = tables.disk().fault_hits(fault) > 0;
    tables.disk().clear_faults();
    tables.close();
    if (!hit || HasFatalFailure()) break;
  }
  EXPECT_GT(figures.failed, 0u);
  EXPECT_EQ(figures.whole, 1u);
}

}  // namespace
}  // namespace wq::sim
