// The kv family: conditions, counters, expiry, pages; and random operations against a map, with
// checkpoints, closes and kills anywhere, on both stores.
#include <gtest/gtest.h>

#include <map>

#include "engine/kv.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

class KvTest : public testing::TestWithParam<StoreKind> {
 protected:
  KvTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 64 << 10;  // a kill copies the simulated disk
    return options;
  }
  static CallOptions at_process_level() {  // survives the kills of these tests
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    return call;
  }
  Code put(std::string_view key, std::string_view value, int64_t ttl_ms = 0,
           const KvCondition& condition = {}) {
    CallOptions call = at_process_level();
    return harness_.engine().kv_put(key, KvPut{value, ttl_ms, condition}, call).code();
  }
  Code erase(std::string_view key, const KvCondition& condition = {}) {
    CallOptions call = at_process_level();
    return harness_.engine().kv_erase(key, condition, call).code();
  }
  // "-" = no such row.
  std::string get(std::string_view key) {
    const Result<KvEntry> entry = harness_.engine().kv_get(key);
    if (entry.ok()) return entry.value().value;
    EXPECT_EQ(entry.status().code(), Code::empty) << entry.status().message();
    return "-";
  }
  uint64_t version(std::string_view key) {
    const Result<KvEntry> entry = harness_.engine().kv_get(key);
    return entry.ok() ? entry.value().version : 0;
  }
  Result<int64_t> add(std::string_view key, int64_t delta, int64_t ttl_ms = 0) {
    CallOptions call = at_process_level();
    return harness_.engine().kv_add(key, delta, ttl_ms, call);
  }
  std::string keys(std::string_view prefix, std::string_view after = {}, size_t limit = 1000) {
    const Result<KvPage> page = harness_.engine().kv_list(prefix, after, limit);
    EXPECT_TRUE(page.ok()) << page.status().message();
    std::string out;
    for (const std::string& key : page.value().keys) out += key + " ";
    return out + (page.value().more ? "..." : ".");
  }
  void checkpoint() { ASSERT_TRUE(harness_.engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  uint64_t rows_stored() {
    checkpoint();
    reopen();
    const Result<VerifyReport> report = harness_.engine().verify();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
    return report.value().entries;
  }

  EngineHarness harness_;
};

TEST_P(KvTest, PutGetErase) {
  EXPECT_EQ(get("a"), "-");
  EXPECT_EQ(put("a", std::string("\0\xff", 2)), Code::ok);
  EXPECT_EQ(get("a"), std::string("\0\xff", 2));
  EXPECT_EQ(put("a", ""), Code::ok);
  EXPECT_EQ(get("a"), "");
  checkpoint();
  EXPECT_EQ(get("a"), "");
  EXPECT_EQ(erase("a"), Code::ok);
  EXPECT_EQ(get("a"), "-");
  EXPECT_EQ(erase("a"), Code::empty);
  kill();
  EXPECT_EQ(get("a"), "-");
  EXPECT_EQ(rows_stored(), 0u);
}

TEST_P(KvTest, LimitsNameTheField) {
  EXPECT_EQ(put("", "x"), Code::invalid);
  EXPECT_EQ(put(std::string(513, 'k'), "x"), Code::too_large);
  EXPECT_EQ(put(std::string(512, 'k'), "x"), Code::ok);
  EXPECT_EQ(put("v", std::string(kv_value_bytes_max + 1, 'v')), Code::too_large);
  EXPECT_EQ(put("v", std::string(kv_value_bytes_max, 'v')), Code::ok);
  EXPECT_EQ(put("t", "x", -1), Code::invalid);
  EXPECT_EQ(get("t"), "-");
  kill();
  EXPECT_EQ(get("v").size(), kv_value_bytes_max);
}

TEST_P(KvTest, ConditionsAreCheckedAndChangeNothingWhenTheyFail) {
  EXPECT_EQ(put("a", "1", 0, {.flags = kv_if_version, .version = 1}), Code::conflict);
  EXPECT_EQ(put("a", "1", 0, {.flags = kv_if_absent}), Code::ok);
  EXPECT_EQ(put("a", "2", 0, {.flags = kv_if_absent}), Code::conflict);
  const uint64_t first = version("a");
  EXPECT_EQ(put("a", "2", 0, {.flags = kv_if_version, .version = first}), Code::ok);
  EXPECT_GT(version("a"), first);
  EXPECT_EQ(put("a", "3", 0, {.flags = kv_if_version, .version = first}), Code::conflict);
  checkpoint();
  EXPECT_EQ(put("a", "3", 0, {.flags = kv_if_version, .version = version("a")}), Code::ok);
  EXPECT_EQ(erase("a", {.flags = kv_if_value, .value = "2"}), Code::conflict);
  EXPECT_EQ(erase("a", {.flags = kv_if_value, .value = "3"}), Code::ok);
}

// A lock is a row with its owner as the value and a time to live.
TEST_P(KvTest, ALockHasOneOwnerUntilItsTimeIsUp) {
  const auto lock = [&](std::string_view owner) {
    return put("lock", owner, 1'000, {.flags = kv_if_absent | kv_if_value, .value = owner});
  };
  EXPECT_EQ(lock("one"), Code::ok);
  EXPECT_EQ(lock("two"), Code::conflict);
  harness_.advance(900);
  EXPECT_EQ(lock("one"), Code::ok);  // renewed
  kill();
  harness_.advance(900);
  EXPECT_EQ(lock("two"), Code::conflict);
  harness_.advance(101);
  EXPECT_EQ(get("lock"), "-");
  EXPECT_EQ(lock("two"), Code::ok);
  EXPECT_EQ(erase("lock", {.flags = kv_if_value, .value = "one"}), Code::conflict);
  EXPECT_EQ(erase("lock", {.flags = kv_if_value, .value = "two"}), Code::ok);
}

TEST_P(KvTest, CountersKeepTheirExpiryAndRefuseWhatIsNoNumber) {
  EXPECT_EQ(add("n", 5, 1'000).value(), 5);
  EXPECT_EQ(add("n", -7, 9'999).value(), -2);  // the ttl is for a new row only
  EXPECT_EQ(get("n"), "-2");
  harness_.advance(1'001);
  EXPECT_EQ(get("n"), "-");
  EXPECT_EQ(put("n", "9223372036854775807"), Code::ok);
  EXPECT_EQ(add("n", 1).status().code(), Code::conflict);
  EXPECT_EQ(get("n"), "9223372036854775807");
  for (const char* text : {"", "x", "1x", " 1", "9223372036854775808"}) {
    EXPECT_EQ(put("t", text), Code::ok);
    EXPECT_EQ(add("t", 1).status().code(), Code::conflict) << text;
  }
}

TEST_P(KvTest, ExpiredRowsLeaveTheDisk) {
  for (int i = 0; i < 2'500; ++i) EXPECT_EQ(put("k" + std::to_string(i), "v", 1'000), Code::ok);
  EXPECT_EQ(put("k7", "later", 5'000), Code::ok);
  EXPECT_EQ(put("k8", "for ever"), Code::ok);
  EXPECT_EQ(rows_stored(), 2'500u + 2'499u);  // rows, and their places in the order of expiry
  harness_.advance(2'000);
  EXPECT_EQ(keys("k"), "k7 k8 .");
  EXPECT_EQ(rows_stored(), 3u);
  harness_.advance(4'000);
  EXPECT_EQ(rows_stored(), 1u);
  EXPECT_EQ(get("k8"), "for ever");
}

TEST_P(KvTest, PagesMixMemoryAndStore) {
  for (const char* key : {"b1", "b3", "b5", "b7", "a", "c"}) EXPECT_EQ(put(key, "x"), Code::ok);
  checkpoint();
  reopen();
  EXPECT_EQ(put("b2", "x"), Code::ok);
  EXPECT_EQ(erase("b3"), Code::ok);
  EXPECT_EQ(put("b9", "x"), Code::ok);
  EXPECT_EQ(keys("b"), "b1 b2 b5 b7 b9 .");
  EXPECT_EQ(keys("b", "", 2), "b1 b2 ...");
  EXPECT_EQ(keys("b", "b2", 2), "b5 b7 ...");
  EXPECT_EQ(keys("b", "b7", 2), "b9 .");
  EXPECT_EQ(keys(""), "a b1 b2 b5 b7 b9 c .");
  EXPECT_EQ(keys("", "b9"), "c .");
  EXPECT_EQ(keys("zz"), ".");
}

TEST_P(KvTest, RandomOperationsGiveWhatAMapGives) {
  Prng prng(test_seed());
  struct Row {
    std::string value;
    int64_t expires_ms = 0;
  };
  std::map<std::string, Row> model;
  const int rounds = GetParam() == StoreKind::rocks ? 1'500 : 6'000;
  for (int i = 0; i < rounds; ++i) {
    const std::string key = "key" + std::to_string(prng.below(40));
    const int64_t now_ms = harness_.clock().wall_ms();
    if (const auto row = model.find(key);
        row != model.end() && row->second.expires_ms != 0 && row->second.expires_ms <= now_ms) {
      model.erase(row);
    }
    const bool there = model.contains(key);
    switch (prng.below(12)) {
      case 0:
      case 1:
      case 2: {
        const int64_t ttl_ms = prng.below(2) == 0 ? 0 : static_cast<int64_t>(1 + prng.below(300));
        const std::string value = std::to_string(i);
        ASSERT_EQ(put(key, value, ttl_ms), Code::ok);
        model[key] = Row{value, ttl_ms == 0 ? 0 : now_ms + ttl_ms};
        break;
      }
      case 3:
      case 4:
        ASSERT_EQ(erase(key), there ? Code::ok : Code::empty);
        model.erase(key);
        break;
      case 5:
        ASSERT_EQ(put(key, "new", 0, {.flags = kv_if_absent}), there ? Code::conflict : Code::ok);
        if (!there) model[key] = Row{"new", 0};
        break;
      case 6:
        harness_.advance(static_cast<int64_t>(prng.below(100)));
        break;
      case 7:
        if (prng.below(8) == 0) kill();
        break;
      case 8:
        if (prng.below(8) == 0) reopen();
        break;
      case 9:
        if (prng.below(4) == 0) checkpoint();
        break;
      default:
        ASSERT_EQ(get(key), there ? model[key].value : "-") << key << " after " << i;
    }
  }
  harness_.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Stores, KvTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
