// Lease and settle through the C interface, including what belongs to another queue (bug case 54).
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiConsume = CapiSim;

wq_settle_item item_of(const SeenJob& job, uint32_t kind) {
  wq_settle_item item = WQ_SETTLE_ITEM_INIT;
  item.kind = kind;
  item.id = job.job.id;
  item.generation = job.job.generation;
  return item;
}

TEST_F(CapiConsume, LeaseArguments) {
  wq_batch* batch = nullptr;
  wq_queue* none = nullptr;
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  const auto answer = [&] {
    return wq_lease(store_, &queue_, 1, &options, nullptr, nullptr, &batch, err());
  };
  EXPECT_CODE(WQ_E_INVALID, wq_lease(store_, nullptr, 1, nullptr, nullptr, nullptr, &batch, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_lease(store_, &queue_, 0, nullptr, nullptr, nullptr, &batch, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_lease(store_, &none, 1, nullptr, nullptr, nullptr, &batch, err()));
  options.max_jobs = 10'001;
  EXPECT_LT(answer(), 0);
  EXPECT_NE(std::strstr(last_error().message, "max_jobs"), nullptr) << last_error().message;
  options.max_jobs = 1;
  options.wait_ms = -2;
  EXPECT_CODE(WQ_E_INVALID, answer());
  EXPECT_NE(std::strstr(last_error().message, "wait_ms"), nullptr) << last_error().message;
  options.wait_ms = 0;
  options.lease_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, answer());
  EXPECT_NE(std::strstr(last_error().message, "lease_ms"), nullptr) << last_error().message;
  options.lease_ms = 0;
  EXPECT_CODE(WQ_EMPTY, answer());
  wq_queue* twice[] = {queue_, queue_};
  EXPECT_CODE(WQ_E_INVALID, wq_lease(store_, twice, 2, nullptr, nullptr, nullptr, &batch, err()));
  wq_queue* again = open_queue(store_, "q");
  twice[1] = again;
  EXPECT_CODE(WQ_E_INVALID, wq_lease(store_, twice, 2, nullptr, nullptr, nullptr, &batch, err()));
  wq_queue_close(&again);
  const std::vector<wq_queue*> many(257, queue_);
  EXPECT_CODE(WQ_E_TOO_LARGE,
              wq_lease(store_, many.data(), 257, nullptr, nullptr, nullptr, &batch, err()));
  EXPECT_EQ(batch, nullptr);
}

TEST_F(CapiConsume, QueuesAreAskedInOrder) {
  wq_queue* second = open_queue(store_, "second");
  wq_queue* third = open_queue(store_, "third");
  enqueue(third, "c1");
  enqueue(queue_, "a1");
  enqueue(second, "b1");
  enqueue(queue_, "a2");
  wq_queue* order[] = {third, queue_, second};
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 3;
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_lease(store_, order, 3, &options, nullptr, nullptr, &batch, err()));
  const std::vector<SeenJob> jobs = seen_all(batch);
  ASSERT_EQ(jobs.size(), 3u);
  const char* payloads[] = {"c1", "a1", "a2"};
  const char* names[] = {"third", "q", "q"};
  const uint32_t places[] = {0, 1, 1};
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(jobs[i].payload, payloads[i]);
    EXPECT_EQ(jobs[i].queue_name, names[i]);
    EXPECT_EQ(jobs[i].job.queue_index, places[i]);
  }
  EXPECT_OK(wq_ack(third, jobs[0].job.id, jobs[0].job.generation, nullptr, err()));
  wq_queue_close(&second);
  wq_queue_close(&third);
}

TEST_F(CapiConsume, QueuesOfAnotherStoreAreInvalid) {
  SimStore other;
  wq_store* store = other.open();
  ASSERT_NE(store, nullptr);
  wq_queue* foreign = open_queue(store, "q");
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_E_INVALID,
              wq_lease(store_, &foreign, 1, nullptr, nullptr, nullptr, &batch, err()));
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store, &cq, err()));
  wq_call call = WQ_CALL_INIT;
  call.cq = cq;
  const wq_job_spec spec = spec_of("x");
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, &spec, &call, nullptr, err()));
  wq_cq_close(&cq);
  wq_queue_close(&foreign);
  wq_store_close(&store);
}

TEST_F(CapiConsume, PausedAndDisabledAreTold) {
  enqueue(queue_, "x");
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_queue_pause(queue_, nullptr, err()));
  EXPECT_CODE(WQ_PAUSED, wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  ASSERT_OK(wq_queue_disable(queue_, nullptr, err()));
  EXPECT_CODE(WQ_DISABLED, wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  ASSERT_OK(wq_queue_enable(queue_, nullptr, err()));
  EXPECT_CODE(WQ_PAUSED, wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  ASSERT_OK(wq_queue_resume(queue_, nullptr, err()));
  EXPECT_EQ(lease(store_, queue_).size(), 1u);
}

TEST_F(CapiConsume, EverySettleAndWhatItLeaves) {
  for (int i = 0; i < 4; i++) enqueue(queue_, std::string(1, static_cast<char>('a' + i)));
  const std::vector<SeenJob> jobs = lease(store_, queue_, 4);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_OK(wq_ack(queue_, jobs[0].job.id, jobs[0].job.generation, nullptr, err()));
  EXPECT_OK(wq_nack(queue_, jobs[1].job.id, jobs[1].job.generation, nullptr, nullptr, err()));
  EXPECT_OK(wq_release(queue_, jobs[2].job.id, jobs[2].job.generation, 0, 0, nullptr, err()));
  const std::string why("fatal\0 \xff", 8);
  EXPECT_OK(wq_fail(queue_, jobs[3].job.id, jobs[3].job.generation, why.data(), why.size(), nullptr,
                    err()));
  for (const SeenJob& job : jobs) {
    EXPECT_CODE(WQ_STALE, wq_ack(queue_, job.job.id, job.job.generation, nullptr, err()));
  }
  const SeenJob nacked = get(queue_, jobs[1].job.id)[0];
  EXPECT_EQ(nacked.job.state, WQ_STATE_READY);
  EXPECT_EQ(nacked.job.attempts, 1u);
  EXPECT_EQ(nacked.job.exceptions, 1u);
  const SeenJob released = get(queue_, jobs[2].job.id)[0];
  EXPECT_EQ(released.job.state, WQ_STATE_READY);
  EXPECT_EQ(released.job.attempts, 0u);
  EXPECT_EQ(released.job.exceptions, 0u);
  const SeenJob failed = get(queue_, jobs[3].job.id)[0];
  EXPECT_EQ(failed.job.state, WQ_STATE_DEAD);
  EXPECT_EQ(failed.job.dead_reason, WQ_DEAD_FAILED);
  EXPECT_EQ(failed.job.dead_ms, sim_.clock.wall_ms());
  EXPECT_EQ(failed.last_error, why);
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.leased_total, 4u);
  EXPECT_EQ(stats.acked_total, 1u);
  EXPECT_EQ(stats.nacked_total, 1u);
  EXPECT_EQ(stats.released_total, 1u);
  EXPECT_EQ(stats.failed_total, 1u);
  EXPECT_EQ(stats.dead_total, 1u);
  EXPECT_EQ(stats.ready, 2u);
  EXPECT_EQ(stats.dead, 1u);
}

TEST_F(CapiConsume, NackOptions) {
  const uint64_t first = enqueue(queue_, "first");
  enqueue(queue_, "second");
  SeenJob job = lease(store_, queue_)[0];
  wq_nack_options options = WQ_NACK_OPTIONS_INIT;
  options.flags = WQ_NACK_FRONT | WQ_NACK_NO_EXCEPTION;
  options.error = {"try again", 9};
  ASSERT_OK(wq_nack(queue_, first, job.job.generation, &options, nullptr, err()));
  job = lease(store_, queue_)[0];
  EXPECT_EQ(job.job.id, first) << "to the head";
  EXPECT_EQ(job.job.attempts, 2u);
  EXPECT_EQ(job.job.exceptions, 0u);
  EXPECT_EQ(job.last_error, "try again");

  options = WQ_NACK_OPTIONS_INIT;
  options.flags = WQ_NACK_DELAY | WQ_NACK_PRIORITY;
  options.delay_ms = 500;
  options.priority = 7;
  ASSERT_OK(wq_nack(queue_, first, job.job.generation, &options, nullptr, err()));
  const SeenJob delayed = get(queue_, first)[0];
  EXPECT_EQ(delayed.job.state, WQ_STATE_DELAYED);
  EXPECT_EQ(delayed.job.priority, 7u);
  EXPECT_EQ(delayed.job.ready_ms, sim_.clock.wall_ms() + 500);
  EXPECT_EQ(delayed.last_error, "try again") << "no text keeps the one before";
  advance_ms(500);
  EXPECT_EQ(lease(store_, queue_)[0].job.id, first) << "priority 7 goes before 100";
}

TEST_F(CapiConsume, ANackWithADelayOfZeroIsNotThePolicy) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_BACKOFF;
  config.backoff_kind = WQ_BACKOFF_FIXED;
  config.backoff_base_ms = 1'000;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  const uint64_t id = enqueue(queue_, "x");
  SeenJob job = lease(store_, queue_)[0];
  ASSERT_OK(wq_nack(queue_, id, job.job.generation, nullptr, nullptr, err()));
  EXPECT_EQ(get(queue_, id)[0].job.state, WQ_STATE_DELAYED);
  EXPECT_EQ(get(queue_, id)[0].job.ready_ms, sim_.clock.wall_ms() + 1'000);
  advance_ms(1'000);
  job = lease(store_, queue_)[0];
  wq_nack_options options = WQ_NACK_OPTIONS_INIT;
  options.flags = WQ_NACK_DELAY;
  ASSERT_OK(wq_nack(queue_, id, job.job.generation, &options, nullptr, err()));
  EXPECT_EQ(get(queue_, id)[0].job.state, WQ_STATE_READY);
}

TEST_F(CapiConsume, BadSettlesNameTheFieldAndChangeNothing) {
  const uint64_t id = enqueue(queue_, "x");
  const uint64_t generation = lease(store_, queue_)[0].job.generation;
  wq_nack_options options = WQ_NACK_OPTIONS_INIT;
  const auto nack = [&] { return wq_nack(queue_, id, generation, &options, nullptr, err()); };
  options.delay_ms = 5;
  EXPECT_CODE(WQ_E_INVALID, nack());
  options.flags = WQ_NACK_DELAY;
  options.delay_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, nack());
  options.delay_ms = INT64_MAX;
  EXPECT_CODE(WQ_E_INVALID, nack());
  EXPECT_NE(std::strstr(last_error().message, "delay_ms"), nullptr) << last_error().message;
  options = WQ_NACK_OPTIONS_INIT;
  options.priority = 1;
  EXPECT_CODE(WQ_E_INVALID, nack());
  options.flags = WQ_NACK_PRIORITY;
  options.priority = 256;
  EXPECT_CODE(WQ_E_INVALID, nack());
  options = WQ_NACK_OPTIONS_INIT;
  options.error = {nullptr, 1};
  EXPECT_CODE(WQ_E_INVALID, nack());
  EXPECT_CODE(WQ_E_INVALID, wq_release(queue_, id, generation, -1, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_fail(queue_, id, generation, nullptr, 1, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_confirm(queue_, id, generation, -1, nullptr, err()));
  const wq_token token = {id, generation};
  EXPECT_CODE(WQ_E_INVALID, wq_extend(queue_, &token, 1, -1, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_extend(queue_, &token, 0, 1, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_extend(queue_, nullptr, 1, 1, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_TOO_LARGE, wq_extend(queue_, &token, 10'001, 1, nullptr, nullptr, err()));
  EXPECT_EQ(get(queue_, id)[0].job.state, WQ_STATE_LEASED);
  EXPECT_OK(wq_ack(queue_, id, generation, nullptr, err()));
}

TEST_F(CapiConsume, SettleManyItemsThatDoNotFitTheirKind) {
  const uint64_t id = enqueue(queue_, "x");
  const SeenJob job = lease(store_, queue_)[0];
  const auto answer = [&](const wq_settle_item& item) {
    const wq_settle_item items[] = {item_of(job, WQ_SETTLE_ACK), item};
    return wq_settle_many(queue_, items, 2, sizeof items[0], nullptr, nullptr, err());
  };
  wq_settle_item item = item_of(job, 0);
  EXPECT_CODE(WQ_E_UNSUPPORTED, answer(item));
  item.kind = 5;
  EXPECT_CODE(WQ_E_UNSUPPORTED, answer(item));
  for (const uint32_t kind : {WQ_SETTLE_ACK, WQ_SETTLE_FAIL}) {
    item = item_of(job, kind);
    item.delay_ms = 1;
    EXPECT_CODE(WQ_E_INVALID, answer(item));
    EXPECT_EQ(std::strncmp(last_error().message, "items[1]", 8), 0) << last_error().message;
    item = item_of(job, kind);
    item.flags = 1;
    EXPECT_CODE(WQ_E_UNSUPPORTED, answer(item));
    item = item_of(job, kind);
    item.priority = 1;
    EXPECT_CODE(WQ_E_INVALID, answer(item));
  }
  for (const uint32_t kind : {WQ_SETTLE_ACK, WQ_SETTLE_RELEASE}) {
    item = item_of(job, kind);
    item.error = {"x", 1};
    EXPECT_CODE(WQ_E_INVALID, answer(item));
  }
  EXPECT_EQ(get(queue_, id)[0].job.state, WQ_STATE_LEASED) << "the good item was not applied";
}

TEST_F(CapiConsume, SettleManyIsOneChangeAndTellsEachCode) {
  constexpr size_t n = 40;  // more than fits on the stack of the boundary
  for (size_t i = 0; i < n; i++) enqueue(queue_, "x");
  const std::vector<SeenJob> jobs = lease(store_, queue_, n);
  ASSERT_EQ(jobs.size(), n);
  wq_queue* other = open_queue(store_, "other");
  enqueue(other, "y");
  const SeenJob foreign = lease(store_, other)[0];
  const uint32_t kinds[] = {WQ_SETTLE_ACK, WQ_SETTLE_NACK, WQ_SETTLE_FAIL, WQ_SETTLE_RELEASE};
  std::vector<wq_settle_item> items;
  for (size_t i = 0; i < n; i++) items.push_back(item_of(jobs[i], kinds[i % 4]));
  items[10].generation += 1'000;
  items[20].id = foreign.job.id;
  items[20].generation = foreign.job.generation;
  items[39] = items[0];  // settled twice in one call
  std::vector<int32_t> codes(n, 77);
  wq_call call = WQ_CALL_INIT;
  EXPECT_EQ(wq_settle_many(queue_, items.data(), n, sizeof items[0], codes.data(), &call, err()),
            WQ_STALE)
      << "the first that was not settled";
  EXPECT_NE(call.lsn, 0u);
  for (size_t i = 0; i < n; i++) {
    const int32_t expected = i == 10 || i == 39 ? WQ_STALE : i == 20 ? WQ_E_NOT_FOUND : WQ_OK;
    EXPECT_EQ(codes[i], expected) << i;
  }
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.acked_total, 9u);
  EXPECT_EQ(stats.nacked_total, 10u);
  EXPECT_EQ(stats.failed_total, 9u);
  EXPECT_EQ(stats.released_total, 9u);
  EXPECT_EQ(stats.leased, 3u);
  EXPECT_EQ(stats_of(other).leased, 1u);

  // Nothing that could be settled: nothing is written.
  EXPECT_EQ(wq_settle_many(queue_, items.data(), 1, sizeof items[0], codes.data(), &call, err()),
            WQ_STALE);
  EXPECT_EQ(call.lsn, 0u);
  wq_queue_close(&other);
}

TEST_F(CapiConsume, ExtendManyTellsEachCode) {
  enqueue(queue_, "a");
  enqueue(queue_, "b");
  const std::vector<SeenJob> jobs = lease(store_, queue_, 2, 1'000);
  advance_ms(900);
  const wq_token tokens[] = {{jobs[0].job.id, jobs[0].job.generation},
                             {12345, 1},  // never given out
                             {jobs[1].job.id, jobs[1].job.generation}};
  int32_t codes[3] = {};
  EXPECT_EQ(wq_extend(queue_, tokens, 3, 1'000, codes, nullptr, err()), WQ_E_NOT_FOUND);
  EXPECT_EQ(codes[0], WQ_OK);
  EXPECT_EQ(codes[1], WQ_E_NOT_FOUND);
  EXPECT_EQ(codes[2], WQ_OK);
  advance_ms(900);
  EXPECT_EQ(get(queue_, jobs[1].job.id)[0].job.lease_remaining_ms, 100);
  EXPECT_OK(wq_ack(queue_, jobs[0].job.id, jobs[0].job.generation, nullptr, err()));
  advance_ms(101);
  EXPECT_EQ(get(queue_, jobs[1].job.id)[0].job.state, WQ_STATE_READY) << "reclaimed";
  EXPECT_CODE(WQ_STALE, wq_ack(queue_, jobs[1].job.id, jobs[1].job.generation, nullptr, err()));
  EXPECT_EQ(stats_of(queue_).expired_total, 1u);
}

TEST_F(CapiConsume, ConfirmedJobsHaveNoDeadline) {
  const uint64_t id = enqueue(queue_, "x");
  const uint64_t generation = lease(store_, queue_, 1, 1'000)[0].job.generation;
  ASSERT_OK(wq_confirm(queue_, id, generation, 0, nullptr, err()));
  advance_ms(1'000'000);
  EXPECT_EQ(get(queue_, id)[0].job.state, WQ_STATE_RUNNING);
  EXPECT_EQ(get(queue_, id)[0].job.deadline_ms, 0);
  ASSERT_OK(wq_confirm(queue_, id, generation, 500, nullptr, err()));
  EXPECT_EQ(get(queue_, id)[0].job.lease_remaining_ms, 500);
  EXPECT_CODE(WQ_STALE, wq_confirm(queue_, id, generation + 1, 0, nullptr, err()));
  EXPECT_OK(wq_ack(queue_, id, generation, nullptr, err()));
}

TEST_F(CapiConsume, LongErrorTextsAreCutAndKept) {
  std::string text;
  while (text.size() < 10u << 20) text += "\xe2\x82\xac";
  const uint64_t id = enqueue(queue_, "x");
  const uint64_t generation = lease(store_, queue_)[0].job.generation;
  ASSERT_OK(wq_fail(queue_, id, generation, text.data(), text.size(), nullptr, err()));
  const SeenJob dead = get(queue_, id)[0];
  EXPECT_LE(dead.last_error.size(), 4096u);
  EXPECT_GT(dead.last_error.size(), 4000u);
  EXPECT_EQ(dead.last_error.substr(0, 3), "\xe2\x82\xac");
}

// A batch that was filled and then could not be handed out must leave nothing for the next one.
TEST_F(CapiConsume, AFailedLeaseLeavesNothingBehind) {
  for (int i = 0; i < 30; i++) enqueue(queue_, "lost");  // more than the pool keeps back
  sim_.disk.inject({.ops = sim_syncs, .path = ".seg", .sticky = true, .error = EIO});
  wq_call call = WQ_CALL_INIT;
  call.durability = WQ_POWER;
  for (int i = 0; i < 30; i++) {
    wq_batch* batch = nullptr;
    EXPECT_LT(wq_lease(store_, &queue_, 1, nullptr, nullptr, &call, &batch, err()), 0);
    EXPECT_EQ(batch, nullptr);
  }
  SimStore healthy;
  wq_store* store = healthy.open();
  ASSERT_NE(store, nullptr);
  wq_queue* queue = open_queue(store, "q");
  for (int i = 0; i < 30; i++) {
    enqueue(queue, "mine");
    const std::vector<SeenJob> jobs = lease(store, queue);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].payload, "mine");
  }
  wq_queue_close(&queue);
  wq_store_close(&store);
}

TEST_F(CapiConsume, BugCase54JobsOfAnotherQueueAreNotFound) {
  wq_queue* b = open_queue(store_, "b");
  enqueue(queue_, "J1");
  enqueue(b, "J2");
  const SeenJob j2 = lease(store_, b)[0];
  const uint64_t id = j2.job.id;
  const uint64_t generation = j2.job.generation;
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_cancel(queue_, id, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_get(queue_, id, &batch, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_ack(queue_, id, generation, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_nack(queue_, id, generation, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_release(queue_, id, generation, 0, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_fail(queue_, id, generation, nullptr, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_confirm(queue_, id, generation, 0, nullptr, err()));
  const wq_token token = {id, generation};
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_extend(queue_, &token, 1, 5, nullptr, nullptr, err()));
  EXPECT_EQ(stats_of(b).leased, 1u);
  ASSERT_OK(wq_fail(b, id, generation, "x", 1, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_dead_get(queue_, id, generation, &batch, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_dead_replay(queue_, id, generation, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_dead_remove(queue_, id, generation, nullptr, err()));
  EXPECT_EQ(batch, nullptr);
  const wq_queue_stats stats = stats_of(b);
  EXPECT_EQ(stats.dead, 1u);
  EXPECT_EQ(stats.replayed_total + stats.cancelled_total + stats.acked_total, 0u);
  EXPECT_EQ(stats_of(queue_).ready, 1u);

  // Numbers are not used again after a queue of the same name was deleted.
  ASSERT_OK(wq_queue_delete(b, nullptr, err()));
  wq_queue_close(&b);
  b = open_queue(store_, "b");
  EXPECT_GT(enqueue(b, "J3"), id);
  EXPECT_GT(lease(store_, b)[0].job.generation, generation);
  wq_queue_close(&b);
}

}  // namespace
}  // namespace wq::capi_test
