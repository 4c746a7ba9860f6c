// Enqueue through the C interface: what goes in comes back, limits name their field and change
// nothing, one change for many, cancel and get.
#include <functional>
#include <limits>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiProduce = CapiSim;

constexpr int64_t day_ms = 86'400'000;

std::string header_text(const wq_bytes& bytes) {
  return std::string(static_cast<const char*>(bytes.data), bytes.len);
}

TEST_F(CapiProduce, BytesComeBackAsGiven) {
  const std::vector<std::string> payloads = {
      std::string(),          std::string("\x44\xfc\x73"), std::string("\0", 1),
      std::string("a\0b", 3), std::string("\xed\xa0\x80"), std::string(1 << 20, '\0')};
  for (const std::string& payload : payloads) enqueue(queue_, payload);
  const std::vector<SeenJob> jobs = lease(store_, queue_, 100);
  ASSERT_EQ(jobs.size(), payloads.size());
  for (size_t i = 0; i < jobs.size(); i++) EXPECT_EQ(jobs[i].payload, payloads[i]) << i;
}

TEST_F(CapiProduce, HeadersComeBackInOrder) {
  const std::string nul("v\0v", 3);
  const wq_header headers[] = {{{"type", 4}, {"mail\r\n", 6}},
                               {{"empty", 5}, {nullptr, 0}},
                               {{"type", 4}, {nul.data(), nul.size()}}};
  wq_job_spec spec = spec_of("payload");
  spec.headers = headers;
  spec.headers_count = 3;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  EXPECT_EQ(seen(batch, 0).job.headers_count, 3u);
  EXPECT_EQ(seen(batch, 0).payload, "payload");
  for (size_t h = 0; h < 3; h++) {
    wq_header got;
    ASSERT_EQ(wq_batch_header(batch, 0, h, &got), WQ_OK);
    EXPECT_EQ(header_text(got.name), header_text(headers[h].name));
    EXPECT_EQ(header_text(got.value), header_text(headers[h].value));
  }
  wq_header none = headers[0];
  EXPECT_EQ(wq_batch_header(batch, 0, 3, &none), WQ_E_INVALID);
  EXPECT_EQ(none.name.data, nullptr);
  EXPECT_EQ(wq_batch_header(batch, 1, 0, &none), WQ_E_INVALID);
  wq_job job = WQ_JOB_INIT;
  EXPECT_EQ(wq_batch_job(batch, 1, &job), WQ_E_INVALID);
  wq_batch_free(&batch);
}

TEST_F(CapiProduce, AFreshJobInFull) {
  wq_job_spec spec = spec_of("p");
  spec.flags = WQ_JOB_PRIORITY;
  spec.priority = 0;
  spec.max_attempts = 7;
  wq_call call = WQ_CALL_INIT;
  wq_enqueued out = WQ_ENQUEUED_INIT;
  ASSERT_OK(wq_enqueue(queue_, &spec, &call, &out, err()));
  EXPECT_EQ(out.code, WQ_OK);
  EXPECT_NE(out.job_id, 0u);
  EXPECT_NE(call.lsn, 0u);
  EXPECT_EQ(out.lsn, call.lsn);
  const SeenJob ready = get(queue_, out.job_id)[0];
  EXPECT_EQ(ready.job.state, WQ_STATE_READY);
  EXPECT_EQ(ready.job.id, out.job_id);
  EXPECT_EQ(ready.job.generation, 0u);
  EXPECT_EQ(ready.job.priority, 0u);
  EXPECT_EQ(ready.job.max_attempts, 7u);
  EXPECT_EQ(ready.job.attempts, 0u);
  EXPECT_EQ(ready.job.enqueued_ms, sim_.clock.wall_ms());
  EXPECT_EQ(ready.job.ready_ms, sim_.clock.wall_ms());
  EXPECT_EQ(ready.job.leased_ms, 0);
  EXPECT_EQ(ready.job.deadline_ms, 0);
  EXPECT_EQ(ready.queue_name, "q");

  advance_ms(5);
  const SeenJob leased = lease(store_, queue_, 1, 1'000)[0];
  EXPECT_EQ(leased.job.state, WQ_STATE_LEASED);
  EXPECT_NE(leased.job.generation, 0u);
  EXPECT_EQ(leased.job.attempts, 1u);
  EXPECT_EQ(leased.job.queue_index, 0u);
  EXPECT_EQ(leased.job.leased_ms, sim_.clock.wall_ms());
  EXPECT_EQ(leased.job.lease_remaining_ms, 1'000);
  EXPECT_EQ(leased.job.deadline_ms, sim_.clock.wall_ms() + 1'000);
  EXPECT_EQ(leased.job.enqueued_ms, sim_.clock.wall_ms() - 5);
  EXPECT_EQ(leased.queue_name, "q");
}

TEST_F(CapiProduce, PriorityDefaultsTo100AndZeroIsAValue) {
  wq_job_spec spec = spec_of("default");
  spec.priority = 0;  // without the flag it does not count
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  for (const uint32_t priority : {255u, 101u, 0u, 99u}) {
    spec = spec_of("explicit");
    spec.flags = WQ_JOB_PRIORITY;
    spec.priority = priority;
    ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  }
  std::vector<uint32_t> order;
  for (const SeenJob& job : lease(store_, queue_, 10)) order.push_back(job.job.priority);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 99, 100, 101, 255}));
}

// Bug case 06, the C part: no delay is narrowed to 32 bits, none overflows into "now".
TEST_F(CapiProduce, BugCase06DelaysBeyond31Bits) {
  const int64_t delays[] = {2'147'483'646, 2'147'483'647, 2'147'483'648,
                            2'592'000'000, 4'294'967'297, 315'360'000'000};
  const int64_t now_ms = sim_.clock.wall_ms();
  std::vector<uint64_t> ids;
  for (const int64_t delay_ms : delays) {
    wq_job_spec spec = spec_of("x");
    spec.delay_ms = delay_ms;
    wq_enqueued out = WQ_ENQUEUED_INIT;
    ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, &out, err()));
    ids.push_back(out.job_id);
    EXPECT_EQ(get(queue_, out.job_id)[0].job.state, WQ_STATE_DELAYED);
    EXPECT_EQ(get(queue_, out.job_id)[0].job.ready_ms, now_ms + delay_ms);
  }
  advance_ms(10);
  EXPECT_TRUE(lease(store_, queue_, 10).empty());
  for (size_t i = 0; i < ids.size(); i++) {
    advance_ms(now_ms + delays[i] - 1 - sim_.clock.wall_ms());
    EXPECT_TRUE(lease(store_, queue_, 10).empty()) << "1 ms before " << delays[i];
    advance_ms(1);
    const std::vector<SeenJob> due = lease(store_, queue_, 10, 36'500 * day_ms);
    ASSERT_EQ(due.size(), 1u) << delays[i];
    EXPECT_EQ(due[0].job.id, ids[i]);
  }
}

struct BadSpec {
  const char* field;
  int32_t code;
  std::function<void(wq_job_spec&)> spoil;
};

std::vector<BadSpec> bad_values() {
  static const std::string payload((16 << 20) + 1, 'p');
  return {
      {"payload", WQ_E_INVALID,
       [](wq_job_spec& s) {
         s.payload = {nullptr, 1};
       }},
      {"payload", WQ_E_TOO_LARGE,
       [](wq_job_spec& s) {
         s.payload = {payload.data(), payload.size()};
       }},
      {"priority", WQ_E_INVALID,
       [](wq_job_spec& s) {
         s.flags = WQ_JOB_PRIORITY;
         s.priority = 256;
       }},
      {"delay_ms", WQ_E_INVALID, [](wq_job_spec& s) { s.delay_ms = -1; }},
      {"delay_ms", WQ_E_INVALID, [](wq_job_spec& s) { s.delay_ms = 37'000 * day_ms; }},
      {"delay_ms", WQ_E_INVALID, [](wq_job_spec& s) { s.delay_ms = INT64_MAX; }},
      {"run_at_ms", WQ_E_INVALID, [](wq_job_spec& s) { s.run_at_ms = -1; }},
      {"run_at_ms", WQ_E_INVALID, [](wq_job_spec& s) { s.run_at_ms = INT64_MAX; }},
      {"run_at_ms", WQ_E_INVALID,
       [](wq_job_spec& s) {
         s.delay_ms = 1;
         s.run_at_ms = 1;
       }},
      {"max_attempts", WQ_E_INVALID, [](wq_job_spec& s) { s.max_attempts = UINT32_MAX; }},
  };
}

std::vector<BadSpec> bad_headers() {
  static const std::string too_long(65 * 1024, 'v');
  static const std::string long_name(256, 'n');
  static const std::vector<wq_header> many(1025, wq_header{{"n", 1}, {nullptr, 0}});
  static const wq_header big = {{"n", 1}, {too_long.data(), too_long.size()}};
  static const wq_header unnamed = {{nullptr, 0}, {"v", 1}};
  static const wq_header overlong = {{long_name.data(), long_name.size()}, {"v", 1}};
  static const wq_header null_value = {{"n", 1}, {nullptr, 1}};
  // The sum of what is claimed does not fit into a size_t; the pointers are never looked behind.
  static const wq_header wraps[] = {{{"n", 1}, {"v", 1}},
                                    {{"n", 1}, {"v", std::numeric_limits<size_t>::max()}}};
  const auto given = [](const wq_header* headers, size_t count) {
    return [headers, count](wq_job_spec& spec) {
      spec.headers = headers;
      spec.headers_count = count;
    };
  };
  return {
      {"headers", WQ_E_INVALID, given(nullptr, 1)},
      {"headers", WQ_E_TOO_LARGE, given(many.data(), many.size())},
      {"headers", WQ_E_TOO_LARGE, given(&big, std::numeric_limits<size_t>::max())},
      {"headers", WQ_E_TOO_LARGE, given(&big, 1)},
      {"headers", WQ_E_TOO_LARGE, given(wraps, 2)},
      {"headers", WQ_E_INVALID, given(&unnamed, 1)},
      {"headers", WQ_E_TOO_LARGE, given(&overlong, 1)},
      {"header value", WQ_E_INVALID, given(&null_value, 1)},
  };
}

std::vector<BadSpec> bad_backoffs() {
  static const int64_t list[33] = {};
  static const int64_t negative = -1;
  const auto listed = [](uint32_t kind, uint32_t count, const int64_t* list_ms) {
    return [kind, count, list_ms](wq_job_spec& spec) {
      spec.backoff_kind = kind;
      spec.backoff_count = count;
      spec.backoff_list_ms = list_ms;
    };
  };
  return {
      {"backoff_kind", WQ_E_UNSUPPORTED, listed(4, 0, nullptr)},
      {"backoff_base_ms", WQ_E_INVALID,
       [](wq_job_spec& s) {
         s.backoff_kind = WQ_BACKOFF_FIXED;
         s.backoff_base_ms = -1;
       }},
      {"backoff_max_ms", WQ_E_INVALID,
       [](wq_job_spec& s) {
         s.backoff_kind = WQ_BACKOFF_EXPONENTIAL;
         s.backoff_base_ms = 2;
         s.backoff_max_ms = 1;
       }},
      {"backoff_list_ms", WQ_E_INVALID, listed(WQ_BACKOFF_LIST, 0, nullptr)},
      {"backoff_list_ms", WQ_E_INVALID, listed(WQ_BACKOFF_LIST, 1, nullptr)},
      {"backoff_list_ms", WQ_E_INVALID, listed(WQ_BACKOFF_LIST, 1, &negative)},
      {"backoff_count", WQ_E_TOO_LARGE, listed(WQ_BACKOFF_LIST, 33, list)},
      {"backoff_count", WQ_E_INVALID, listed(WQ_BACKOFF_FIXED, 1, list)},
  };
}

class CapiBadSpec : public CapiSim {
 protected:
  // Each is refused by enqueue and enqueue_many, its field named, and nothing was written.
  void refuse_all(const std::vector<BadSpec>& cases) {
    wq_store_stats before = WQ_STORE_STATS_INIT;
    ASSERT_OK(wq_store_get_stats(store_, &before, err()));
    for (const BadSpec& bad : cases) {
      wq_job_spec spec = spec_of("x");
      bad.spoil(spec);
      wq_call call = WQ_CALL_INIT;
      call.lsn = 99;
      wq_enqueued out = WQ_ENQUEUED_INIT;
      EXPECT_EQ(wq_enqueue(queue_, &spec, &call, &out, err()), bad.code) << bad.field;
      EXPECT_NE(std::strstr(last_error().message, bad.field), nullptr) << last_error().message;
      EXPECT_EQ(call.lsn, 0u);
      EXPECT_EQ(out.job_id, 0u);
      EXPECT_EQ(out.code, bad.code) << bad.field;
      EXPECT_EQ(wq_enqueue_many(queue_, &spec, 1, sizeof spec, 0, &call, &out, sizeof out, nullptr,
                                err()),
                bad.code)
          << bad.field;
      EXPECT_EQ(out.code, bad.code);
    }
    wq_store_stats after = WQ_STORE_STATS_INIT;
    ASSERT_OK(wq_store_get_stats(store_, &after, err()));
    EXPECT_EQ(after.last_lsn, before.last_lsn);
    EXPECT_EQ(stats_of(queue_).enqueued_total, 0u);
  }
};

TEST_F(CapiBadSpec, Values) {
  refuse_all(bad_values());
}
TEST_F(CapiBadSpec, Headers) {
  refuse_all(bad_headers());
}
TEST_F(CapiBadSpec, Backoffs) {
  refuse_all(bad_backoffs());
}

TEST_F(CapiProduce, RunAtInThePastIsNow) {
  wq_job_spec spec = spec_of("x");
  spec.run_at_ms = 1;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  EXPECT_EQ(lease(store_, queue_).size(), 1u);
}

TEST_F(CapiProduce, ManyAreOneChangeInOrder) {
  constexpr size_t n = 500;
  std::vector<std::string> payloads;
  for (size_t i = 0; i < n; i++) payloads.push_back("job " + std::to_string(i));
  std::vector<wq_job_spec> specs;
  for (const std::string& payload : payloads) specs.push_back(spec_of(payload));
  std::vector<wq_enqueued> out(n);
  wq_call call = WQ_CALL_INIT;
  size_t accepted = 0;
  ASSERT_OK(wq_enqueue_many(queue_, specs.data(), n, sizeof specs[0], 0, &call, out.data(),
                            sizeof out[0], &accepted, err()));
  EXPECT_EQ(accepted, n);
  for (const wq_enqueued& one : out) EXPECT_EQ(one.lsn, call.lsn);
  const std::vector<SeenJob> jobs = lease(store_, queue_, n);
  ASSERT_EQ(jobs.size(), n);
  for (size_t i = 0; i < n; i++) {
    EXPECT_EQ(jobs[i].payload, payloads[i]);
    EXPECT_EQ(jobs[i].job.id, out[i].job_id);
  }
}

TEST_F(CapiProduce, OneBadOfManyRefusesAllUnlessPartial) {
  const wq_header header = {{"h", 1}, {"v", 1}};
  for (const bool bad_flags : {false, true}) {  // refused by the boundary, or by the engine
    std::vector<wq_job_spec> specs;
    for (int i = 0; i < 5; i++) {
      specs.push_back(spec_of(std::string_view("abcde").data() + i));
      specs.back().payload.len = 1;
      specs.back().headers = &header;
      specs.back().headers_count = static_cast<size_t>(i % 2);
    }
    if (bad_flags) {
      specs[3].flags = 1u << 30;
    } else {
      specs[3].delay_ms = -1;
    }
    const int32_t code = bad_flags ? WQ_E_UNSUPPORTED : WQ_E_INVALID;
    std::vector<wq_enqueued> out(5);
    wq_call call = WQ_CALL_INIT;
    size_t accepted = 9;
    const uint64_t before = stats_of(queue_).enqueued_total;
    EXPECT_EQ(wq_enqueue_many(queue_, specs.data(), 5, sizeof specs[0], 0, &call, out.data(),
                              sizeof out[0], &accepted, err()),
              code);
    EXPECT_EQ(accepted, 0u);
    EXPECT_EQ(call.lsn, 0u);
    for (const wq_enqueued& one : out) EXPECT_EQ(one.code, code);
    EXPECT_EQ(stats_of(queue_).enqueued_total, before);

    EXPECT_EQ(wq_enqueue_many(queue_, specs.data(), 5, sizeof specs[0], WQ_ENQUEUE_PARTIAL, &call,
                              out.data(), sizeof out[0], &accepted, err()),
              code);
    EXPECT_EQ(accepted, 3u);
    EXPECT_NE(call.lsn, 0u);
    for (size_t i = 0; i < 5; i++) {
      EXPECT_EQ(out[i].code, i < 3 ? WQ_OK : code) << i;
      EXPECT_EQ(out[i].job_id != 0, i < 3) << i;
      EXPECT_EQ(out[i].lsn, i < 3 ? call.lsn : 0u) << i;
    }
    EXPECT_EQ(stats_of(queue_).enqueued_total, before + 3);
    EXPECT_EQ(get(queue_, out[1].job_id)[0].job.headers_count, 1u);
    EXPECT_EQ(get(queue_, out[2].job_id)[0].job.headers_count, 0u);

    specs[0].delay_ms = -1;  // the very first one: nothing is left to take
    EXPECT_EQ(wq_enqueue_many(queue_, specs.data(), 5, sizeof specs[0], WQ_ENQUEUE_PARTIAL, &call,
                              nullptr, 0, &accepted, err()),
              WQ_E_INVALID);
    EXPECT_EQ(accepted, 0u);
    EXPECT_EQ(call.lsn, 0u);
  }
}

TEST_F(CapiProduce, ACallThatIsRefusedTellsEachJobSo) {
  const std::vector<wq_job_spec> specs(3, spec_of("x"));
  std::vector<wq_enqueued> out(3, wq_enqueued{sizeof(wq_enqueued), 77, 77, 77});
  const auto many = [&](size_t spec_size, uint32_t flags, wq_call* call) {
    const int32_t code = wq_enqueue_many(queue_, specs.data(), 3, spec_size, flags, call,
                                         out.data(), sizeof out[0], nullptr, err());
    for (wq_enqueued& one : out) {
      EXPECT_EQ(one.code, code);
      EXPECT_EQ(one.job_id, 0u);
      one.code = 77;
    }
    return code;
  };
  wq_call call = WQ_CALL_INIT;
  call.durability = 9;
  EXPECT_CODE(WQ_E_UNSUPPORTED, many(sizeof specs[0], 1u << 31, nullptr));
  EXPECT_CODE(WQ_E_INVALID, many(1, 0, nullptr));
  EXPECT_CODE(WQ_E_INVALID, many(sizeof specs[0], 0, &call));
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, specs.data(), &call, out.data(), err()));
  EXPECT_EQ(out[0].code, WQ_E_INVALID);
}

TEST_F(CapiProduce, ManyBounds) {
  const std::vector<wq_job_spec> specs(10'001, spec_of("x"));
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue_many(queue_, specs.data(), 0, sizeof specs[0], 0, nullptr,
                                            nullptr, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_TOO_LARGE, wq_enqueue_many(queue_, specs.data(), 10'001, sizeof specs[0], 0,
                                              nullptr, nullptr, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue_many(queue_, nullptr, 1, sizeof specs[0], 0, nullptr,
                                            nullptr, 0, nullptr, err()));
  EXPECT_OK(wq_enqueue_many(queue_, specs.data(), 10'000, sizeof specs[0], 0, nullptr, nullptr, 0,
                            nullptr, err()));
  EXPECT_EQ(stats_of(queue_).ready, 10'000u);
}

TEST_F(CapiProduce, DisabledQueueRefusesAndPausedTakes) {
  const wq_job_spec spec = spec_of("x");
  ASSERT_OK(wq_queue_pause(queue_, nullptr, err()));
  EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  ASSERT_OK(wq_queue_disable(queue_, nullptr, err()));
  wq_enqueued out = WQ_ENQUEUED_INIT;
  EXPECT_EQ(wq_enqueue(queue_, &spec, nullptr, &out, err()), WQ_DISABLED);
  EXPECT_EQ(out.code, WQ_DISABLED);
  size_t accepted = 9;
  EXPECT_EQ(wq_enqueue_many(queue_, &spec, 1, sizeof spec, WQ_ENQUEUE_PARTIAL, nullptr, &out,
                            sizeof out, &accepted, err()),
            WQ_DISABLED);
  EXPECT_EQ(accepted, 0u);
  EXPECT_EQ(out.code, WQ_DISABLED);
  EXPECT_EQ(stats_of(queue_).ready, 1u);
}

TEST_F(CapiProduce, CancelRemovesReadyDelayedLeasedAndRunning) {
  const uint64_t ready = enqueue(queue_, "ready");
  wq_job_spec spec = spec_of("delayed");
  spec.delay_ms = 1'000;
  wq_enqueued delayed = WQ_ENQUEUED_INIT;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, &delayed, err()));
  ASSERT_OK(wq_job_cancel(queue_, ready, nullptr, err()));
  ASSERT_OK(wq_job_cancel(queue_, delayed.job_id, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_cancel(queue_, ready, nullptr, err()));
  enqueue(queue_, "leased");
  enqueue(queue_, "running");
  const std::vector<SeenJob> jobs = lease(store_, queue_, 2);
  ASSERT_EQ(jobs.size(), 2u);
  ASSERT_OK(wq_confirm(queue_, jobs[1].job.id, jobs[1].job.generation, 0, nullptr, err()));
  for (const SeenJob& job : jobs) {
    ASSERT_OK(wq_job_cancel(queue_, job.job.id, nullptr, err()));
    EXPECT_CODE(WQ_STALE, wq_ack(queue_, job.job.id, job.job.generation, nullptr, err()));
    wq_batch* batch = nullptr;
    EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_get(queue_, job.job.id, &batch, err()));
    EXPECT_EQ(batch, nullptr);
  }
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.cancelled_total, 4u);
  EXPECT_EQ(stats.ready + stats.delayed + stats.leased + stats.running + stats.dead, 0u);
}

TEST_F(CapiProduce, ADeadJobIsNotCancelled) {
  const uint64_t id = enqueue(queue_, "x");
  const SeenJob job = lease(store_, queue_)[0];
  ASSERT_OK(wq_fail(queue_, id, job.job.generation, "no", 2, nullptr, err()));
  EXPECT_CODE(WQ_CONFLICT, wq_job_cancel(queue_, id, nullptr, err()));
  EXPECT_EQ(stats_of(queue_).dead, 1u);
}

TEST_F(CapiProduce, CallLsnIsWaitable) {
  wq_call call = WQ_CALL_INIT;
  call.durability = WQ_MEMORY;
  const wq_job_spec spec = spec_of("x");
  ASSERT_OK(wq_enqueue(queue_, &spec, &call, nullptr, err()));
  EXPECT_OK(wq_store_wait_durable(store_, call.lsn, WQ_POWER, -1, err()));
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_GE(stats.durable_lsn, call.lsn);
  EXPECT_OK(wq_store_wait_durable(store_, call.lsn, WQ_PROCESS, 0, err()));
  EXPECT_OK(wq_store_wait_durable(store_, 0, WQ_POWER, 0, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_wait_durable(store_, stats.last_lsn + 1, WQ_POWER, 0, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_wait_durable(store_, 1, WQ_MEMORY, 0, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_wait_durable(store_, 1, 4, 0, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_wait_durable(store_, 1, WQ_POWER, -2, err()));
  call.durability = 4;
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, &spec, &call, nullptr, err()));
  EXPECT_EQ(call.lsn, 0u);
}

}  // namespace
}  // namespace wq::capi_test
