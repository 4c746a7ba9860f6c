// Queues through the C interface: names, configuration with versions, status, clear, delete,
// figures.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiQueue = CapiSim;

int32_t open_named(wq_store* store, const std::string& name, uint32_t flags = 0,
                   const wq_queue_config* config = nullptr) {
  wq_queue* queue = nullptr;
  const int32_t code = wq_queue_open(store, name.data(), name.size(), config, flags, &queue, err());
  EXPECT_EQ(queue != nullptr, code == WQ_OK);
  wq_queue_close(&queue);
  return code;
}

std::vector<std::string> names_of(wq_store* store) {
  wq_list* list = nullptr;
  EXPECT_OK(wq_store_queues(store, &list, err()));
  std::vector<std::string> out;
  for (size_t i = 0; i < wq_list_count(list); i++) {
    wq_bytes name;
    EXPECT_EQ(wq_list_name(list, i, &name), WQ_OK);
    out.emplace_back(static_cast<const char*>(name.data), name.len);
  }
  wq_bytes none = {"x", 1};
  EXPECT_EQ(wq_list_name(list, wq_list_count(list), &none), WQ_E_INVALID);
  EXPECT_EQ(none.len, 0u);
  EXPECT_EQ(wq_list_name(list, 0, nullptr), WQ_E_INVALID);
  wq_list_free(&list);
  EXPECT_EQ(list, nullptr);
  return out;
}

TEST_F(CapiQueue, Names) {
  EXPECT_OK(open_named(store_, std::string(255, 'n')));
  EXPECT_OK(open_named(store_, "\xe5\xb7\xa5\xe4\xbd\x9c"));
  EXPECT_OK(open_named(store_, "a b/c:\"quote\""));
  EXPECT_CODE(WQ_E_TOO_LARGE, open_named(store_, std::string(256, 'n')));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, ""));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, std::string("a\0b", 3)));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, "a\nb"));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, "a\x7f"));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, "\xff"));
  EXPECT_CODE(WQ_E_INVALID, open_named(store_, "\xed\xa0\x80"));
  wq_queue* queue = nullptr;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_open(store_, nullptr, 3, nullptr, 0, &queue, err()));
  EXPECT_EQ(names_of(store_).size(), 4u);
}

TEST_F(CapiQueue, ALengthThatCanNotBeIsRefusedBeforeTheNameIsRead) {
  for (const size_t length : {SIZE_MAX, SIZE_MAX / 2 + 1, size_t{1} << 40}) {
    wq_queue* queue = nullptr;
    EXPECT_CODE(WQ_E_TOO_LARGE, wq_queue_open(store_, "q", length, nullptr, 0, &queue, err()));
    EXPECT_EQ(queue, nullptr);
  }
  enqueue(queue_, "the store goes on");
}

TEST_F(CapiQueue, ListIsInByteOrder) {
  for (const char* name : {"b", "a", "ab", "B", "\xc3\xa9"}) open_named(store_, name);
  EXPECT_EQ(names_of(store_), (std::vector<std::string>{"B", "a", "ab", "b", "q", "\xc3\xa9"}));
}

TEST_F(CapiQueue, NoCreateOnlyFinds) {
  EXPECT_CODE(WQ_E_NOT_FOUND, open_named(store_, "new", WQ_QUEUE_NO_CREATE));
  EXPECT_EQ(names_of(store_), std::vector<std::string>{"q"});
  EXPECT_OK(open_named(store_, "q", WQ_QUEUE_NO_CREATE));
}

TEST_F(CapiQueue, DefaultsAndRoundTripOfTheConfiguration) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.fields, 63u | WQ_CONFIG_JOB_TTL | WQ_CONFIG_MAX_DEPTH | WQ_CONFIG_MAX_BYTES |
                               WQ_CONFIG_FULL_POLICY | WQ_CONFIG_DEAD_MAX_COUNT |
                               WQ_CONFIG_DEAD_MAX_AGE | WQ_CONFIG_RATE | WQ_CONFIG_GROUP_LIMIT |
                               WQ_CONFIG_KEEP_DONE | WQ_CONFIG_ENCRYPT | WQ_CONFIG_COMPRESS |
                               WQ_CONFIG_KEY_RATE | WQ_CONFIG_THROTTLE);
  EXPECT_EQ(config.max_running, 0u);
  EXPECT_EQ(config.max_retries, 3u);
  EXPECT_EQ(config.lease_ms, 60'000);
  EXPECT_EQ(config.durability, WQ_POWER);
  EXPECT_EQ(config.status, WQ_STATUS_ACTIVE);
  EXPECT_EQ(config.backoff_kind, 0u);
  const uint64_t version = config.version;

  config.max_running = 5;
  config.max_retries = 0;
  config.lease_ms = 1'234;
  config.durability = WQ_PROCESS;
  config.keep_done_count = 7;
  config.keep_done_age_ms = 8;
  config.backoff_kind = WQ_BACKOFF_LIST;
  config.backoff_count = 32;
  for (int i = 0; i < 32; i++) config.backoff_list_ms[i] = 100 * i;
  wq_call call = WQ_CALL_INIT;
  ASSERT_OK(wq_queue_configure(queue_, &config, &call, err()));
  EXPECT_NE(call.lsn, 0u);

  reopen();
  wq_queue_config again = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &again, err()));
  EXPECT_GT(again.version, version);
  config.version = again.version;
  EXPECT_EQ(std::memcmp(&config, &again, sizeof config), 0);
  ASSERT_OK(wq_queue_configure(queue_, &again, &call, err()));
  EXPECT_EQ(call.lsn, 0u) << "no field differs";
}

TEST_F(CapiQueue, ABackoffKeepsOnlyWhatItsKindUses) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  config.backoff_kind = WQ_BACKOFF_FIXED;
  config.backoff_base_ms = 7;
  config.backoff_max_ms = 9;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  const auto expect_kept = [&] {
    wq_queue_config kept = WQ_QUEUE_CONFIG_INIT;
    ASSERT_OK(wq_queue_get_config(queue_, &kept, err()));
    EXPECT_EQ(kept.backoff_base_ms, 7);
    EXPECT_EQ(kept.backoff_max_ms, 0);
  };
  expect_kept();
  reopen();
  expect_kept();
}

TEST_F(CapiQueue, AStaleVersionConflicts) {
  wq_queue_config mine = WQ_QUEUE_CONFIG_INIT;
  wq_queue_config theirs = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &mine, err()));
  ASSERT_OK(wq_queue_get_config(queue_, &theirs, err()));
  theirs.max_running = 1;
  ASSERT_OK(wq_queue_configure(queue_, &theirs, nullptr, err()));
  mine.max_retries = 9;
  wq_call call = WQ_CALL_INIT;
  EXPECT_CODE(WQ_CONFLICT, wq_queue_configure(queue_, &mine, &call, err()));
  EXPECT_EQ(call.lsn, 0u);
  mine.fields = WQ_CONFIG_MAX_RETRIES;
  EXPECT_OK(wq_queue_configure(queue_, &mine, nullptr, err()));
  ASSERT_OK(wq_queue_get_config(queue_, &mine, err()));
  EXPECT_EQ(mine.max_retries, 9u);
  EXPECT_EQ(mine.max_running, 1u) << "only the named field changed";
}

TEST_F(CapiQueue, OpenAppliesItsConfigurationOnlyToANewQueue) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_LEASE_MS;
  config.lease_ms = 5'000;
  config.max_running = 77;  // not named
  EXPECT_OK(open_named(store_, "fresh", 0, &config));
  EXPECT_OK(open_named(store_, "q", 0, &config));
  wq_queue* fresh = open_queue(store_, "fresh");
  wq_queue_config found = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(fresh, &found, err()));
  EXPECT_EQ(found.lease_ms, 5'000);
  EXPECT_EQ(found.max_running, 0u);
  ASSERT_OK(wq_queue_get_config(queue_, &found, err()));
  EXPECT_EQ(found.lease_ms, 60'000);
  wq_queue_close(&fresh);
}

TEST_F(CapiQueue, BadConfigurationsNameTheFieldAndChangeNothing) {
  wq_queue_config before = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &before, err()));
  const auto refused = [&](const char* field, int32_t code, auto spoil) {
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    config.fields = WQ_CONFIG_MAX_RUNNING;  // a good field beside the bad one
    config.max_running = 3;
    spoil(config);
    EXPECT_CODE(code, wq_queue_configure(queue_, &config, nullptr, err()));
    EXPECT_NE(std::strstr(last_error().message, field), nullptr) << last_error().message;
    EXPECT_CODE(code, open_named(store_, "never", 0, &config));
  };
  refused("lease_ms", WQ_E_INVALID, [](wq_queue_config& c) { c.fields |= WQ_CONFIG_LEASE_MS; });
  refused("lease_ms", WQ_E_INVALID, [](wq_queue_config& c) {
    c.fields |= WQ_CONFIG_LEASE_MS;
    c.lease_ms = INT64_MAX;
  });
  refused("durability", WQ_E_INVALID, [](wq_queue_config& c) { c.fields |= WQ_CONFIG_DURABILITY; });
  refused("durability", WQ_E_INVALID, [](wq_queue_config& c) {
    c.fields |= WQ_CONFIG_DURABILITY;
    c.durability = 4;
  });
  refused("max_retries", WQ_E_INVALID, [](wq_queue_config& c) {
    c.fields |= WQ_CONFIG_MAX_RETRIES;
    c.max_retries = UINT32_MAX;
  });
  refused("backoff_kind", WQ_E_UNSUPPORTED, [](wq_queue_config& c) {
    c.fields |= WQ_CONFIG_BACKOFF;
    c.backoff_kind = 9;
  });
  refused("backoff_count", WQ_E_TOO_LARGE, [](wq_queue_config& c) {
    c.fields |= WQ_CONFIG_BACKOFF;
    c.backoff_kind = WQ_BACKOFF_LIST;
    c.backoff_count = 33;
  });
  wq_queue_config after = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &after, err()));
  EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  EXPECT_EQ(names_of(store_), std::vector<std::string>{"q"});
}

TEST_F(CapiQueue, StatusChanges) {
  const auto status = [&] { return stats_of(queue_).status; };
  wq_call call = WQ_CALL_INIT;
  EXPECT_OK(wq_queue_resume(queue_, &call, err()));
  EXPECT_OK(wq_queue_enable(queue_, &call, err()));
  EXPECT_EQ(call.lsn, 0u) << "it was active";
  EXPECT_OK(wq_queue_pause(queue_, &call, err()));
  EXPECT_NE(call.lsn, 0u);
  EXPECT_EQ(status(), WQ_STATUS_PAUSED);
  EXPECT_OK(wq_queue_pause(queue_, &call, err()));
  EXPECT_EQ(call.lsn, 0u);
  EXPECT_OK(wq_queue_enable(queue_, &call, err()));
  EXPECT_EQ(call.lsn, 0u) << "it was not disabled";
  EXPECT_EQ(status(), WQ_STATUS_PAUSED);
  EXPECT_OK(wq_queue_disable(queue_, nullptr, err()));
  EXPECT_OK(wq_queue_disable(queue_, nullptr, err()));
  EXPECT_EQ(status(), WQ_STATUS_DISABLED);
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_pause(queue_, &call, err()));
  EXPECT_EQ(call.lsn, 0u) << "the pause of before lies behind it";
  reopen();
  EXPECT_EQ(status(), WQ_STATUS_DISABLED);
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.consumers_paused, 1u);
  EXPECT_OK(wq_queue_enable(queue_, nullptr, err()));
  EXPECT_EQ(status(), WQ_STATUS_PAUSED);
  EXPECT_OK(wq_queue_disable(queue_, nullptr, err()));
  EXPECT_OK(wq_queue_resume(queue_, &call, err()));
  EXPECT_NE(call.lsn, 0u);
  EXPECT_EQ(status(), WQ_STATUS_DISABLED);
  EXPECT_OK(wq_queue_enable(queue_, nullptr, err()));
  EXPECT_EQ(status(), WQ_STATUS_ACTIVE);
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.consumers_paused, 0u);
  EXPECT_OK(wq_queue_pause(queue_, nullptr, err()));
  EXPECT_OK(wq_queue_resume(queue_, nullptr, err()));
  EXPECT_EQ(status(), WQ_STATUS_ACTIVE);
}

TEST_F(CapiQueue, ClearTakesTheNamedStates) {
  // Two ready, one delayed, one leased, one running, one dead.
  for (int i = 0; i < 5; i++) enqueue(queue_, "x");
  const std::vector<SeenJob> jobs = lease(store_, queue_, 3);
  ASSERT_OK(wq_confirm(queue_, jobs[1].job.id, jobs[1].job.generation, 0, nullptr, err()));
  ASSERT_OK(wq_fail(queue_, jobs[2].job.id, jobs[2].job.generation, "x", 1, nullptr, err()));
  wq_job_spec spec = spec_of("later");
  spec.delay_ms = 1'000;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));

  uint64_t removed = 0;
  wq_call call = WQ_CALL_INIT;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_clear(queue_, 1, &removed, &call, err())) << "bit of no state";
  EXPECT_CODE(WQ_E_INVALID, wq_queue_clear(queue_, 1u << 31, &removed, &call, err()));
  EXPECT_EQ(removed, 0u);
  EXPECT_OK(wq_queue_clear(queue_, 0, &removed, &call, err()));
  EXPECT_EQ(removed, 3u);
  EXPECT_NE(call.lsn, 0u);
  EXPECT_OK(wq_queue_clear(queue_, 0, &removed, &call, err()));
  EXPECT_EQ(removed, 0u);
  EXPECT_EQ(call.lsn, 0u);
  EXPECT_OK(wq_queue_clear(queue_, WQ_STATE_BIT(WQ_STATE_LEASED) | WQ_STATE_BIT(WQ_STATE_RUNNING),
                           &removed, nullptr, err()));
  EXPECT_EQ(removed, 2u);
  EXPECT_CODE(WQ_STALE, wq_ack(queue_, jobs[0].job.id, jobs[0].job.generation, nullptr, err()));
  EXPECT_CODE(WQ_STALE, wq_ack(queue_, jobs[1].job.id, jobs[1].job.generation, nullptr, err()));
  EXPECT_OK(wq_dead_purge(queue_, &removed, nullptr, err()));
  EXPECT_EQ(removed, 1u);
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.ready + stats.delayed + stats.leased + stats.running + stats.dead, 0u);
  EXPECT_EQ(stats.cleared_total, 6u);
}

TEST_F(CapiQueue, OldestReadyAge) {
  EXPECT_EQ(stats_of(queue_).oldest_ready_age_ms, 0);
  enqueue(queue_, "x");
  advance_ms(250);
  enqueue(queue_, "y");
  advance_ms(250);
  EXPECT_EQ(stats_of(queue_).oldest_ready_age_ms, 500);
}

}  // namespace
}  // namespace wq::capi_test
