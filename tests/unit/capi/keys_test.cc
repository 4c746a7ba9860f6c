// Unique, debounce and idempotency keys through wq.h: fields of the spec, DUPLICATE and what comes
// with it, the calls on keys, and keys on their way to another store.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

wq_bytes bytes(std::string_view text) {
  return {text.data(), text.size()};
}

class CapiKeys : public CapiSim {
 protected:
  static wq_job_spec unique(std::string_view key, uint32_t until = 0) {
    wq_job_spec spec = spec_of("x");
    spec.unique_key = bytes(key);
    spec.unique_until = until;
    return spec;
  }
  static wq_job_spec debounced(std::string_view key, int64_t window_ms) {
    wq_job_spec spec = spec_of("x");
    spec.debounce_key = bytes(key);
    spec.debounce_ms = window_ms;
    return spec;
  }
  wq_enqueued add(const wq_job_spec& spec) {
    wq_enqueued out = WQ_ENQUEUED_INIT;
    const int32_t code = wq_enqueue(queue_, &spec, nullptr, &out, err());
    EXPECT_EQ(out.code, code);
    return out;
  }
  uint64_t holder(uint32_t kind, std::string_view key, int32_t expected = WQ_OK) {
    uint64_t id = 77;
    EXPECT_CODE(expected, wq_key_holder(queue_, kind, key.data(), key.size(), &id, err()));
    return id;
  }
};

TEST_F(CapiKeys, DuplicateNamesTheHolder) {
  const wq_enqueued first = add(unique("k"));
  EXPECT_EQ(first.code, WQ_OK);
  const wq_enqueued second = add(unique("k"));
  EXPECT_EQ(second.code, WQ_DUPLICATE);
  EXPECT_EQ(second.job_id, first.job_id);
  EXPECT_EQ(second.lsn, 0u);
  EXPECT_NE(std::strstr(last_error().message, std::to_string(first.job_id).c_str()), nullptr);
  EXPECT_EQ(holder(WQ_KEY_UNIQUE, "k"), first.job_id);
  EXPECT_EQ(holder(WQ_KEY_DEBOUNCE, "k", WQ_E_NOT_FOUND), 0u);
  EXPECT_EQ(holder(4, "k", WQ_E_INVALID), 0u);
  EXPECT_EQ(stats_of(queue_).ready, 1u);
  reopen();
  EXPECT_EQ(add(unique("k")).code, WQ_DUPLICATE);
}

TEST_F(CapiKeys, ScopesOfTheHeader) {
  EXPECT_EQ(add(unique("a", WQ_UNIQUE_STARTED)).code, WQ_OK);
  EXPECT_EQ(add(unique("b", WQ_UNIQUE_DONE)).code, WQ_OK);
  EXPECT_EQ(add(unique("c", WQ_UNIQUE_GONE)).code, WQ_OK);
  const std::vector<SeenJob> jobs = lease(store_, queue_, 3);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(add(unique("a")).code, WQ_OK);
  EXPECT_EQ(add(unique("b")).code, WQ_DUPLICATE);
  for (const SeenJob& job : jobs) {
    EXPECT_OK(wq_fail(queue_, job.job.id, job.job.generation, nullptr, 0, nullptr, err()));
  }
  const wq_enqueued b = add(unique("b"));
  EXPECT_EQ(b.code, WQ_OK);
  EXPECT_EQ(add(unique("c")).code, WQ_DUPLICATE);
  const wq_job& dead = jobs[1].job;
  EXPECT_CODE(WQ_DUPLICATE, wq_dead_replay(queue_, dead.id, dead.generation, nullptr, err()));
  uint64_t id = 0;
  EXPECT_OK(wq_key_cancel(queue_, WQ_KEY_UNIQUE, "b", 1, nullptr, &id, err()));
  EXPECT_EQ(id, b.job_id);
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_key_cancel(queue_, WQ_KEY_UNIQUE, "b", 1, nullptr, &id, err()));
  EXPECT_EQ(id, 0u);
  EXPECT_CODE(WQ_CONFLICT, wq_key_cancel(queue_, WQ_KEY_UNIQUE, "c", 1, nullptr, nullptr, err()));
  EXPECT_OK(wq_dead_replay(queue_, dead.id, dead.generation, nullptr, err()));
  EXPECT_EQ(holder(WQ_KEY_UNIQUE, "b"), dead.id);
}

TEST_F(CapiKeys, TheHolderReleasesItsKey) {
  const wq_enqueued first = add(unique("k"));
  const std::vector<SeenJob> jobs = lease(store_, queue_);
  ASSERT_EQ(jobs.size(), 1u);
  const uint64_t generation = jobs[0].job.generation;
  EXPECT_CODE(WQ_STALE, wq_key_release(queue_, first.job_id, generation + 1, nullptr, err()));
  wq_call call = WQ_CALL_INIT;
  EXPECT_OK(wq_key_release(queue_, first.job_id, generation, &call, err()));
  EXPECT_NE(call.lsn, 0u);
  EXPECT_EQ(add(unique("k")).code, WQ_OK);
  EXPECT_OK(wq_key_release(queue_, first.job_id, generation, &call, err()));
  EXPECT_EQ(call.lsn, 0u);
}

TEST_F(CapiKeys, DebounceAndWindow) {
  const wq_enqueued first = add(debounced("k", 1'000));
  advance_ms(500);
  const wq_enqueued second = add(debounced("k", 1'000));
  EXPECT_EQ(second.code, WQ_OK);
  EXPECT_EQ(holder(WQ_KEY_DEBOUNCE, "k"), second.job_id);
  EXPECT_EQ(stats_of(queue_).delayed, 1u);
  EXPECT_NE(first.job_id, second.job_id);
  wq_job_spec request = spec_of("x");
  request.idempotency_key = bytes("r");
  request.idempotency_ms = 1'000;
  const wq_enqueued once = add(request);
  EXPECT_EQ(add(request).job_id, once.job_id);
  advance_ms(1'000);
  EXPECT_EQ(add(request).code, WQ_OK);
  EXPECT_EQ(lease(store_, queue_, 5).size(), 3u);
}

TEST_F(CapiKeys, ManyTellEachJob) {
  std::vector<wq_job_spec> specs = {unique("a"), unique("a"), spec_of("plain")};
  wq_enqueued out[3] = {WQ_ENQUEUED_INIT, WQ_ENQUEUED_INIT, WQ_ENQUEUED_INIT};
  size_t accepted = 9;
  const auto many = [&](size_t n) {
    return wq_enqueue_many(queue_, specs.data(), n, sizeof specs[0], 0, nullptr, out, sizeof out[0],
                           &accepted, err());
  };
  EXPECT_OK(many(3));
  EXPECT_EQ(accepted, 2u);
  EXPECT_EQ(out[1].code, WQ_DUPLICATE);
  EXPECT_EQ(out[1].job_id, out[0].job_id);
  EXPECT_EQ(out[1].lsn, 0u);
  EXPECT_EQ(out[2].code, WQ_OK);
  EXPECT_CODE(WQ_DUPLICATE, many(2));
  EXPECT_EQ(accepted, 0u);
  EXPECT_EQ(out[0].code, WQ_DUPLICATE);
  EXPECT_EQ(stats_of(queue_).enqueued_total, 2u);
}

// A duplicate has no event; a change has one.
TEST_F(CapiKeys, CompletionOfADuplicate) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_call call = WQ_CALL_INIT;
  call.cq = cq;
  call.user_data = 5;
  const wq_job_spec spec = unique("k");
  EXPECT_OK(wq_enqueue(queue_, &spec, &call, nullptr, err()));
  EXPECT_CODE(WQ_DUPLICATE, wq_enqueue(queue_, &spec, &call, nullptr, err()));
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  EXPECT_OK(wq_cq_poll(cq, &event, 1, sizeof event, 0, &count, err()));
  EXPECT_EQ(event.user_data, 5u);
  EXPECT_CODE(WQ_EMPTY, wq_cq_poll(cq, &event, 1, sizeof event, 0, &count, err()));
  wq_cq_close(&cq);
}

TEST_F(CapiKeys, RefusalsNameTheField) {
  const auto refused = [&](const char* field, int32_t code, const wq_job_spec& spec) {
    EXPECT_CODE(code, wq_enqueue(queue_, &spec, nullptr, nullptr, err())) << field;
    EXPECT_NE(std::strstr(last_error().message, field), nullptr) << last_error().message;
  };
  refused("unique_until", WQ_E_INVALID, unique("k", 4));
  refused("unique_key", WQ_E_INVALID, unique("", WQ_UNIQUE_GONE));
  refused("unique_key", WQ_E_TOO_LARGE, unique(std::string(513, 'k')));
  refused("debounce_key", WQ_E_INVALID, debounced("", 5));
  refused("debounce_ms", WQ_E_INVALID, debounced("k", 0));
  wq_job_spec both = unique("k");
  both.debounce_key = bytes("k");
  refused("debounce_key", WQ_E_INVALID, both);
  wq_job_spec window = spec_of("x");
  window.idempotency_ms = 5;
  refused("idempotency_ms", WQ_E_INVALID, window);
  wq_job_spec reserved = spec_of("x");
  reserved.reserved_0 = 1;
  refused("reserved_0", WQ_E_INVALID, reserved);
}

struct Moved {
  wq_store* store;
  wq_queue* queue = nullptr;
  size_t keys = 0;
};

int32_t move(const wq_export_item* item, void* ctx) {
  Moved& to = *static_cast<Moved*>(ctx);
  if (item->store) return wq_import_begin(to.store, item->store, err());
  if (item->queue) return wq_import_queue(to.store, item->queue, &to.queue, err());
  if (item->key) {
    EXPECT_EQ(std::string(static_cast<const char*>(item->queue_name.data), item->queue_name.len),
              "q");
    return wq_import_keys(to.queue, item->key, 1, sizeof *item->key, err());
  }
  to.keys += item->job->key.len + item->job->idempotency_key.len;
  return wq_import_jobs(to.queue, item->job, 1, sizeof *item->job, err());
}

// The same request is refused where the store moved to, though its job has ended.
TEST_F(CapiKeys, TheWindowOfAnEndedJobMoves) {
  wq_job_spec spec = spec_of("request");
  spec.idempotency_key = bytes("once");
  spec.idempotency_ms = 60'000;
  const wq_enqueued first = add(spec);
  const std::vector<SeenJob> jobs = lease(store_, queue_);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_OK(wq_ack(queue_, first.job_id, jobs[0].job.generation, nullptr, err()));
  SimStore other;
  Moved to{other.open()};
  EXPECT_OK(wq_store_export(store_, nullptr, 0, move, &to, err()));
  EXPECT_OK(wq_import_end(to.store, err()));
  std::swap(to.queue, queue_);
  EXPECT_EQ(add(spec).job_id, first.job_id);
  std::swap(to.queue, queue_);
  wq_queue_close(&to.queue);
  wq_store_close(&to.store);
}

TEST_F(CapiKeys, RowsOfAnImportAreChecked) {
  SimStore other;
  Moved to{other.open()};
  wq_key_record key = WQ_KEY_RECORD_INIT;
  key.key = bytes("k");
  key.job_id = 1;
  key.until_ms = INT64_C(1) << 50;
  wq_store_record head = WQ_STORE_RECORD_INIT;
  head.next_job_id = head.next_generation = 10;
  ASSERT_OK(wq_import_begin(to.store, &head, err()));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_get_config(queue_, &config, err()));
  wq_queue_record row = WQ_QUEUE_RECORD_INIT;
  row.name = bytes("q");
  row.config = &config;
  ASSERT_OK(wq_import_queue(to.store, &row, &to.queue, err()));
  EXPECT_OK(wq_import_keys(to.queue, &key, 1, sizeof key, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_import_keys(to.queue, &key, 1, sizeof key, err()));
  key.reserved_0 = 1;
  EXPECT_CODE(WQ_E_INVALID, wq_import_keys(to.queue, &key, 1, sizeof key, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_import_keys(to.queue, nullptr, 1, sizeof key, err()));

  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  status.flow = 3;
  wq_flow_record flow = WQ_FLOW_RECORD_INIT;
  EXPECT_CODE(WQ_E_INVALID, wq_import_flows(to.store, &flow, 1, sizeof flow, err()));
  flow.status = &status;
  EXPECT_OK(wq_import_flows(to.store, &flow, 1, sizeof flow, err()));
  status.flow = 4;
  status.flags = WQ_FLOW_FINISHED;
  EXPECT_CODE(WQ_E_INVALID, wq_import_flows(to.store, &flow, 1, sizeof flow, err()));
  status.flags = 0;
  flow.on_failure = bytes("no job");
  EXPECT_CODE(WQ_E_INVALID, wq_import_flows(to.store, &flow, 1, sizeof flow, err()));

  wq_done_job done = WQ_DONE_JOB_INIT;
  done.id = done.generation = 5;
  done.result = bytes("result");
  EXPECT_OK(wq_import_history(to.queue, &done, 1, sizeof done, err()));
  done.id = 6;
  done.key_id = 1;
  EXPECT_CODE(WQ_E_INVALID, wq_import_history(to.queue, &done, 1, sizeof done, err()));

  const int64_t times[] = {2, 1};
  wq_rate_key_record rate = WQ_RATE_KEY_RECORD_INIT;
  rate.key = bytes("r");
  rate.exceptions_count = 2;
  EXPECT_CODE(WQ_E_INVALID, wq_import_rate_keys(to.queue, &rate, 1, sizeof rate, err()));
  rate.exceptions_ms = times;
  EXPECT_CODE(WQ_E_INVALID, wq_import_rate_keys(to.queue, &rate, 1, sizeof rate, err()));
  rate.exceptions_count = 1;
  EXPECT_OK(wq_import_rate_keys(to.queue, &rate, 1, sizeof rate, err()));
  rate.exceptions_count = 101;
  EXPECT_CODE(WQ_E_INVALID, wq_import_rate_keys(to.queue, &rate, 1, sizeof rate, err()));
  EXPECT_OK(wq_import_end(to.store, err()));
  wq_queue_close(&to.queue);
  wq_store_close(&to.store);
}

TEST_F(CapiKeys, KeysMoveWithTheirJobs) {
  wq_job_spec spec = unique("unique", WQ_UNIQUE_GONE);
  spec.unique_ttl_ms = 60'000;
  spec.idempotency_key = bytes("once");
  spec.idempotency_ms = 60'000;
  const wq_enqueued held = add(spec);
  add(debounced("late", 1'000));
  SimStore other;
  Moved to{other.open()};
  EXPECT_OK(wq_store_export(store_, nullptr, 0, move, &to, err()));
  EXPECT_OK(wq_import_end(to.store, err()));
  EXPECT_EQ(to.keys, 14u);
  std::swap(to.queue, queue_);
  EXPECT_EQ(add(spec).job_id, held.job_id);
  EXPECT_EQ(holder(WQ_KEY_UNIQUE, "unique"), held.job_id);
  EXPECT_EQ(holder(WQ_KEY_DEBOUNCE, "late"), held.job_id + 1);
  std::swap(to.queue, queue_);
  wq_queue_close(&to.queue);
  wq_store_close(&to.store);
}

}  // namespace
}  // namespace wq::capi_test
