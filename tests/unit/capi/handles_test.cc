// Handles through every function that takes one: healthy, NULL, of the wrong kind, closed, of a
// closed store, of a deleted queue, of another process. Nothing of it may crash (bug case 42).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "unit/capi/entry_points.h"

namespace wq::capi_test {
namespace {

using CapiHandles = CapiSim;

TEST_F(CapiHandles, HealthyOnesAnswerAsDocumented) {
  const uint64_t id = enqueue(queue_, "done");  // the job that the calls name: it is no more
  const SeenJob job = lease(store_, queue_)[0];
  ASSERT_EQ(id, 1u);
  ASSERT_OK(wq_ack(queue_, id, job.job.generation, nullptr, err()));
  for (const QueueCall& entry : queue_calls()) {
    EXPECT_CODE(entry.fresh, entry.call(queue_, nullptr, err())) << entry.name;
    EXPECT_EQ(last_error().code, entry.fresh) << entry.name;
  }
  wq_queue_close(&queue_);
  queue_ = open_queue(store_, "q");
  for (const StoreCall& entry : store_calls()) {
    EXPECT_OK(entry.call(store_, queue_, err())) << entry.name;
  }
}

TEST_F(CapiHandles, NullAndWrongKindsAreInvalid) {
  // A queue where a store belongs, and so on: only the memory knows.
  auto* queue_as_store = reinterpret_cast<wq_store*>(queue_);
  auto* store_as_queue = reinterpret_cast<wq_queue*>(store_);
  for (const StoreCall& entry : store_calls()) {
    EXPECT_EQ(entry.call(nullptr, queue_, err()), WQ_E_INVALID) << entry.name;
    EXPECT_NE(std::strstr(last_error().message, "store"), nullptr) << last_error().message;
    EXPECT_EQ(entry.call(nullptr, queue_, nullptr), WQ_E_INVALID) << entry.name;
    EXPECT_EQ(entry.call(queue_as_store, queue_, err()), WQ_E_INVALID) << entry.name;
  }
  for (const QueueCall& entry : queue_calls()) {
    EXPECT_EQ(entry.call(nullptr, nullptr, err()), WQ_E_INVALID) << entry.name;
    EXPECT_NE(std::strstr(last_error().message, "queue"), nullptr) << last_error().message;
    EXPECT_EQ(entry.call(nullptr, nullptr, nullptr), WQ_E_INVALID) << entry.name;
    EXPECT_EQ(entry.call(store_as_queue, nullptr, err()), WQ_E_INVALID) << entry.name;
  }
  wq_event event = WQ_EVENT_INIT;
  size_t count = 7;
  EXPECT_EQ(wq_cq_poll(nullptr, &event, 1, sizeof event, 0, &count, err()), WQ_E_INVALID);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(wq_cq_eventfd(nullptr), WQ_E_INVALID);
  EXPECT_EQ(wq_cq_eventfd(reinterpret_cast<wq_cq*>(queue_)), WQ_E_INVALID);
  wq_cancel_fire(nullptr);
  wq_cancel_fire(reinterpret_cast<wq_cancel*>(queue_));
  EXPECT_EQ(wq_cancel_new(nullptr, err()), WQ_E_INVALID);
}

TEST_F(CapiHandles, AnErrorThatIsNotInitialisedStopsEveryCall) {
  wq_error bad = WQ_ERROR_INIT;
  bad.struct_size = 0;
  for (const StoreCall& entry : store_calls()) {
    EXPECT_EQ(entry.call(store_, queue_, &bad), WQ_E_INVALID) << entry.name;
  }
  for (const QueueCall& entry : queue_calls()) {
    EXPECT_EQ(entry.call(queue_, nullptr, &bad), WQ_E_INVALID) << entry.name;
  }
  EXPECT_EQ(stats_of(queue_).enqueued_total, 0u);
  wq_store* other = nullptr;
  EXPECT_EQ(wq_store_open("/nowhere", nullptr, &other, &bad), WQ_E_INVALID);
  wq_cancel* cancel = nullptr;
  EXPECT_EQ(wq_cancel_new(&cancel, &bad), WQ_E_INVALID);
  EXPECT_EQ(cancel, nullptr);
  EXPECT_EQ(wq_log_scan(
                "/nowhere", [](const wq_log_record*, void*) { return 0; }, nullptr, &bad),
            WQ_E_INVALID);
}

TEST_F(CapiHandles, ChildrenOfAClosedStoreAnswerClosed) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_store* const stale = store_;
  wq_store_close(&store_);
  EXPECT_EQ(store_, nullptr);
  for (const QueueCall& entry : queue_calls()) {
    EXPECT_EQ(entry.call(queue_, nullptr, err()), WQ_E_CLOSED) << entry.name;
  }
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  EXPECT_EQ(wq_cq_poll(cq, &event, 1, sizeof event, 0, &count, err()), WQ_E_CLOSED);
  EXPECT_EQ(wq_cq_poll(cq, &event, 1, sizeof event, -1, &count, err()), WQ_E_CLOSED);
  // A copy of the pointer, which the rules forbid, still finds a handle that says so.
  for (const StoreCall& entry : store_calls()) {
    EXPECT_EQ(entry.call(stale, queue_, err()), WQ_E_CLOSED) << entry.name;
  }
  wq_cq_close(&cq);
}

TEST_F(CapiHandles, StaleCopiesOfClosedHandlesAreHarmless) {
  wq_queue* queue = open_queue(store_, "q");
  wq_queue* stale_queue = queue;
  wq_queue_close(&queue);
  wq_queue_close(&queue);
  for (const QueueCall& entry : queue_calls()) {
    EXPECT_EQ(entry.call(stale_queue, nullptr, err()), WQ_E_CLOSED) << entry.name;
  }
  wq_queue_close(&stale_queue);  // a double close through a copy
  EXPECT_EQ(stale_queue, nullptr);

  enqueue(queue_, "x");
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  wq_batch* stale_batch = batch;
  wq_batch_free(&batch);
  wq_batch_free(&batch);
  wq_job job = WQ_JOB_INIT;
  wq_header header;
  for (const wq_batch* gone :
       {static_cast<const wq_batch*>(nullptr), static_cast<const wq_batch*>(stale_batch)}) {
    EXPECT_EQ(wq_batch_count(gone), 0u);
    EXPECT_EQ(wq_batch_job(gone, 0, &job), WQ_E_INVALID);
    EXPECT_EQ(wq_batch_header(gone, 0, 0, &header), WQ_E_INVALID);
  }
  wq_batch_free(&stale_batch);

  wq_list* list = nullptr;
  ASSERT_OK(wq_store_queues(store_, &list, err()));
  wq_list* stale_list = list;
  wq_list_free(&list);
  wq_bytes name;
  EXPECT_EQ(wq_list_count(stale_list), 0u);
  EXPECT_EQ(wq_list_name(stale_list, 0, &name), WQ_E_INVALID);
  wq_list_free(&stale_list);

  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  wq_cancel* stale_cancel = cancel;
  wq_cancel_free(&cancel);
  wq_cancel_fire(stale_cancel);
  wq_batch* none = nullptr;
  EXPECT_EQ(wq_lease(store_, &queue_, 1, nullptr, stale_cancel, nullptr, &none, err()),
            WQ_E_CLOSED);
  wq_cancel_free(&stale_cancel);

  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_cq* stale_cq = cq;
  wq_cq_close(&cq);
  EXPECT_EQ(wq_cq_eventfd(stale_cq), WQ_E_CLOSED);
  wq_call call = WQ_CALL_INIT;
  call.cq = stale_cq;
  const wq_job_spec spec = WQ_JOB_SPEC_INIT;
  EXPECT_EQ(wq_enqueue(queue_, &spec, &call, nullptr, err()), WQ_E_CLOSED);
  wq_cq_close(&stale_cq);
}

TEST_F(CapiHandles, ClosingNothingDoesNothing) {
  wq_store_close(nullptr);
  wq_queue_close(nullptr);
  wq_batch_free(nullptr);
  wq_list_free(nullptr);
  wq_cq_close(nullptr);
  wq_cancel_free(nullptr);
  wq_store* store = nullptr;
  wq_store_close(&store);
  wq_batch* batch = nullptr;
  wq_batch_free(&batch);
}

TEST_F(CapiHandles, DeletedQueueIsNotFoundThroughEveryHandle) {
  wq_queue* other = open_queue(store_, "q");
  ASSERT_OK(wq_queue_delete(queue_, nullptr, err()));
  for (wq_queue* handle : {queue_, other}) {
    for (const QueueCall& entry : queue_calls()) {
      EXPECT_EQ(entry.call(handle, nullptr, err()), WQ_E_NOT_FOUND) << entry.name;
    }
    wq_batch* batch = nullptr;
    EXPECT_EQ(wq_lease(store_, &handle, 1, nullptr, nullptr, nullptr, &batch, err()),
              WQ_E_NOT_FOUND);
  }
  wq_queue* again = open_queue(store_, "q");
  EXPECT_EQ(queue_calls()[0].call(again, nullptr, err()), WQ_OK);
  EXPECT_EQ(queue_calls()[0].call(other, nullptr, err()), WQ_E_NOT_FOUND);
  wq_queue_close(&other);
  wq_queue_close(&again);
}

// Every order of closing one handle of each kind.
TEST(CapiLifetime, HandlesMayBeClosedInAnyOrder) {
  std::vector<int> order(6);
  std::iota(order.begin(), order.end(), 0);
  SimStore sim;
  do {
    wq_store* store = sim.open();
    ASSERT_NE(store, nullptr);
    wq_queue* queue = open_queue(store, "q");
    enqueue(queue, "payload");
    wq_batch* batch = nullptr;
    ASSERT_OK(wq_lease(store, &queue, 1, nullptr, nullptr, nullptr, &batch, err()));
    wq_list* list = nullptr;
    ASSERT_OK(wq_store_queues(store, &list, err()));
    wq_cq* cq = nullptr;
    ASSERT_OK(wq_cq_open(store, &cq, err()));
    wq_cancel* cancel = nullptr;
    ASSERT_OK(wq_cancel_new(&cancel, err()));
    for (const int step : order) {
      if (batch) {
        EXPECT_EQ(seen(batch, 0).payload, "payload");
        EXPECT_EQ(seen(batch, 0).queue_name, "q");
      }
      if (list) {
        wq_bytes name;
        ASSERT_EQ(wq_list_name(list, 0, &name), WQ_OK);
        EXPECT_EQ(std::string(static_cast<const char*>(name.data), name.len), "q");
      }
      if (step == 0) wq_store_close(&store);
      if (step == 1) wq_queue_close(&queue);
      if (step == 2) wq_batch_free(&batch);
      if (step == 3) wq_list_free(&list);
      if (step == 4) wq_cq_close(&cq);
      if (step == 5) wq_cancel_free(&cancel);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(CapiHandles, AStoreOpensAgainWhileChildrenOfTheClosedOneLive) {
  enqueue(queue_, "kept");
  wq_store_close(&store_);
  store_ = sim_.open();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(queue_calls()[0].call(queue_, nullptr, err()), WQ_E_CLOSED) << "the old one stays old";
  wq_queue* fresh = open_queue(store_, "q");
  EXPECT_EQ(stats_of(fresh).ready, 1u);
  wq_queue_close(&fresh);
}

TEST_F(CapiHandles, AForkedChildIsRefusedEverywhere) {
  enqueue(queue_, "x");
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int failures = 0;
    for (const StoreCall& entry : store_calls()) {
      if (entry.call(store_, queue_, err()) != WQ_E_FORKED) failures |= 1;
    }
    for (const QueueCall& entry : queue_calls()) {
      if (entry.call(queue_, nullptr, err()) != WQ_E_FORKED) failures |= 2;
    }
    if (wq_cq_eventfd(cq) != WQ_E_FORKED) failures |= 4;
    wq_cancel_fire(cancel);
    wq_queue_close(&queue_);  // forgets only
    wq_store_close(&store_);
    wq_cq_close(&cq);
    wq_cancel_free(&cancel);
    if (queue_ || store_ || cq || cancel) failures |= 8;
    SimStore own;
    wq_store* store = own.open();
    if (!store) _exit(failures | 16);
    wq_queue* queue = open_queue(store, "mine");
    if (enqueue(queue, "y") != 1 || lease(store, queue).size() != 1) failures |= 32;
    wq_store_close(&store);
    wq_queue_close(&queue);
    _exit(failures);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(lease(store_, queue_).size(), 1u) << "the parent goes on";
  wq_cq_close(&cq);
  wq_cancel_free(&cancel);
}

TEST(CapiLifetime, ThousandsOfOpensAndClosesLeakNothing) {
  SimStore sim;
  wq_store* store = sim.open();
  ASSERT_NE(store, nullptr);
  for (int i = 0; i < 10'000; i++) {
    wq_queue* queue = open_queue(store, "q");
    wq_cancel* cancel = nullptr;
    ASSERT_OK(wq_cancel_new(&cancel, err()));
    wq_cq* cq = nullptr;
    ASSERT_OK(wq_cq_open(store, &cq, err()));
    ASSERT_GE(wq_cq_eventfd(cq), 0) << "descriptors must come back";
    wq_cq_close(&cq);
    wq_cancel_free(&cancel);
    wq_queue_close(&queue);
  }
  wq_store_close(&store);
}

}  // namespace
}  // namespace wq::capi_test
