// Salvage of kv rows: those of the checkpoint with what the log says over them, and all rows around
// a damaged block. And of a store into which an import was killed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "engine/salvage.h"
#include "support/engine_harness.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

using Rows = std::map<std::string, std::string>;

class KvSalvage : public testing::Test {
 protected:
  KvSalvage() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = StoreKind::rocks;
    return options;
  }

  void put(const Rows& rows) {
    std::vector<TxnOp> ops;
    for (const auto& [key, value] : rows) {
      TxnOp& op = ops.emplace_back();
      op.kind = TxnOp::Kind::kv;
      op.kv.key = key;
      op.kv.value = value;
      op.kv.ttl_ms = key.starts_with("t") ? 1'000'000 : 0;
    }
    std::vector<TxnResult> results(ops.size());
    CallOptions call;
    size_t failed = 0;
    ASSERT_TRUE(harness_.engine().transact(ops, call, results, failed).ok());
  }
  // The store stops where it is, with a log that no checkpoint covers.
  void stop() {
    harness_.engine().poison("stopped by the test");
    EXPECT_EQ(harness_.close().code(), Code::poisoned);
  }
  // The rows of the salvaged store.
  Rows salvage(std::string& told) {
    Result<std::unique_ptr<Io>> io = make_io();
    EXPECT_TRUE(io.ok());
    Environment environment;
    environment.io = io.value().get();
    environment.clock = &harness_.clock();
    const std::string base = harness_.directory();
    const SalvageOptions options{base, base + "-new", base + "-scratch", harness_.options().engine};
    const Result<SalvageReport> report =
        salvage_store(options, environment, [&](const SalvageFinding& finding) -> Status {
          told += finding.where + ": " + finding.what + "\n";
          return {};
        });
    EXPECT_TRUE(report.ok()) << report.status().message();
    EngineOptions engine_options = harness_.options().engine;
    engine_options.directory = options.new_directory;
    engine_options.create = false;
    Result<std::unique_ptr<Engine>> engine = Engine::open(engine_options, environment);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    const Result<VerifyReport> verified = engine.value()->verify();
    EXPECT_TRUE(verified.ok() && verified.value().problems == 0) << told;
    Rows rows;
    std::string after;
    for (bool more = true; more;) {
      const KvPage page = engine.value()->kv_list("", after, 1'000).value();
      for (size_t i = 0; i < page.keys.size(); ++i) {
        rows[page.keys[i]] = page.entries[i].value;
        EXPECT_EQ(page.entries[i].expires_ms != 0, page.keys[i].starts_with("t"));
      }
      more = page.more;
      if (more) after = page.keys.back();
    }
    EXPECT_TRUE(engine.value()->close().ok());
    return rows;
  }

  EngineHarness harness_;
};

TEST_F(KvSalvage, TheLogGoesOverTheCheckpoint) {
  put({{"a", "1"}, {"b", "1"}, {"c", "1"}, {"t", "1"}});
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  put({{"b", "2"}, {"d", "2"}, {"t2", "2"}});
  CallOptions call;
  ASSERT_TRUE(harness_.engine().kv_erase("c", {}, call).ok());
  stop();
  std::string told;
  EXPECT_EQ(salvage(told), (Rows{{"a", "1"}, {"b", "2"}, {"d", "2"}, {"t", "1"}, {"t2", "2"}}))
      << told;
  EXPECT_NE(told.find("5 key-value rows can be read"), std::string::npos) << told;
}

TEST_F(KvSalvage, RowsAroundADamagedBlockAreRead) {
  Prng prng(7);
  Rows all;
  for (int i = 0; i < 20'000; ++i) {
    std::string value;
    while (value.size() < 100) value += static_cast<char>('a' + prng.below(26));
    all["key" + std::to_string(100'000 + i)] = value;
  }
  Rows some;
  for (const auto& row : all) {
    some.insert(row);
    if (some.size() < 5'000) continue;
    put(some);
    some.clear();
  }
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  put({{"z", "in the log"}});
  stop();
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(harness_.directory() + "/db")) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(largest) / 2));
    file.write("damage", 6);
  }
  std::string told;
  const Rows found = salvage(told);
  EXPECT_NE(told.find("family kv"), std::string::npos) << told;
  EXPECT_GT(found.size(), 19'000u) << told;
  EXPECT_TRUE(found.contains("key100000") && found.contains("key119999") && found.contains("z"));
  for (const auto& [key, value] : found) {
    ASSERT_EQ(value, key == "z" ? "in the log" : all[key]) << key;
  }
}

// Rows of two ingested checkpoints have the same number of RocksDB once the manifest is gone, which
// told them apart: a walk of RocksDB itself asserts that this can not be.
TEST_F(KvSalvage, TablesOfTwoCheckpointsWithoutAManifest) {
  const auto many = [](char fill) {
    Rows rows;
    for (int i = 0; i < 18'000; ++i) rows["key" + std::to_string(100'000 + i)] = {fill, 'x'};
    return rows;
  };
  const auto put_all = [this](const Rows& rows) {
    Rows some;
    for (const auto& row : rows) {
      some.insert(row);
      if (some.size() < 6'000) continue;
      put(some);
      some.clear();
    }
  };
  const Rows old_rows = many('a');
  put_all(old_rows);
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  put_all(many('b'));
  CallOptions call;
  ASSERT_TRUE(harness_.engine().kv_erase("key100007", {}, call).ok());
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  stop();
  for (const auto& entry : fs::directory_iterator(harness_.directory() + "/db")) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) fs::resize_file(entry, 35);
  }
  std::string told;
  const Rows found = salvage(told);
  EXPECT_EQ(found.size(), old_rows.size() - (found.contains("key100007") ? 0 : 1)) << told;
  for (const auto& [key, value] : found) {
    ASSERT_TRUE(value == "ax" || value == "bx") << key << " " << value;
  }
}

// No checkpoint knows of the import, only the log.
TEST_F(KvSalvage, AnImportThatWasKilledIsTold) {
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::power);
  ASSERT_TRUE(harness_.engine().import_begin(1, 1, call).ok());
  stop();
  std::string told;
  EXPECT_TRUE(salvage(told).empty());
  EXPECT_NE(told.find("import: an import into this store was not finished"), told.npos) << told;
}

}  // namespace
}  // namespace wq
