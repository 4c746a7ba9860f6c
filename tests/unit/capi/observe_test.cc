// Events, explanations, errors and metrics through wq.h.
#include <thread>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

std::string take_text(wq_text* text) {
  const wq_bytes bytes = wq_text_bytes(text);
  std::string out(static_cast<const char*>(bytes.data), bytes.len);
  wq_text_free(&text);
  EXPECT_EQ(text, nullptr);
  return out;
}

class CapiObserve : public CapiSim {
 protected:
  CapiObserve() { sim_.options.events_max = 8; }

  int32_t poll(size_t n = 8, int64_t wait_ms = 0, wq_cancel* cancel = nullptr) {
    events_.assign(n, wq_store_event WQ_STORE_EVENT_INIT);
    size_t count = 99;
    const int32_t code = wq_events_poll(store_, &cursor_, events_.data(), n, sizeof events_[0],
                                        wait_ms, cancel, &count, err());
    events_.resize(count);
    return code;
  }

  wq_event_cursor cursor_ = WQ_EVENT_CURSOR_INIT;
  std::vector<wq_store_event> events_;
};

TEST_F(CapiObserve, EventsOfAJob) {
  const uint64_t id = enqueue(queue_, "x");
  const SeenJob job = lease(store_, queue_, 1, 5'000)[0];
  ASSERT_OK(wq_fail(queue_, id, job.job.generation, "broken", 6, nullptr, err()));
  ASSERT_OK(poll());
  ASSERT_EQ(events_.size(), 4u);
  const uint32_t kinds[] = {WQ_EVENT_QUEUE_DECLARED, WQ_EVENT_QUEUED, WQ_EVENT_LEASED,
                            WQ_EVENT_DEAD};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(events_[i].kind, kinds[i]);
    EXPECT_EQ(events_[i].sequence, i + 1);
    EXPECT_STREQ(events_[i].queue_name, "q");
    EXPECT_EQ(events_[i].queue_name_len, 1u);
    EXPECT_EQ(events_[i].struct_size, sizeof(wq_store_event));
    if (i > 0) {
      EXPECT_GT(events_[i].lsn, events_[i - 1].lsn);
      EXPECT_EQ(events_[i].job_id, id);
    }
  }
  EXPECT_EQ(events_[2].time_ms - events_[2].at_ms, 5'000);
  EXPECT_EQ(events_[2].generation, job.job.generation);
  EXPECT_EQ(events_[2].attempt, 1u);
  EXPECT_EQ(events_[3].dead_reason, WQ_DEAD_FAILED);
  EXPECT_CODE(WQ_EMPTY, poll());
  EXPECT_OK(
      wq_store_wait_durable(store_, events_.empty() ? 1 : events_[0].lsn, WQ_POWER, 0, err()));

  wq_queue_error errors[2] = {WQ_QUEUE_ERROR_INIT, WQ_QUEUE_ERROR_INIT};
  size_t count = 0;
  ASSERT_OK(wq_queue_get_errors(queue_, errors, 2, sizeof errors[0], &count, err()));
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(errors[0].text, "broken");
  EXPECT_EQ(errors[0].text_len, 6u);
  EXPECT_EQ(errors[0].kind, WQ_EVENT_DEAD);
  EXPECT_EQ(errors[0].job_id, id);
}

TEST_F(CapiObserve, LostEventsAndOldCursors) {
  for (int i = 0; i < 20; ++i) enqueue(queue_, "x");  // with the queue's 21 events
  ASSERT_OK(poll(3));
  EXPECT_EQ(cursor_.dropped, 13u);
  EXPECT_EQ(events_[0].sequence, 14u);
  EXPECT_EQ(cursor_.sequence, 16u);
  ASSERT_OK(poll());
  EXPECT_EQ(events_.size(), 5u);
  EXPECT_EQ(cursor_.dropped, 0u);
  const wq_event_cursor old = cursor_;
  reopen();
  EXPECT_CODE(WQ_STALE, poll());
  EXPECT_NE(cursor_.epoch, old.epoch);
  EXPECT_EQ(cursor_.sequence, 0u);
  EXPECT_CODE(WQ_EMPTY, poll());  // the queue was there
  enqueue(queue_, "x");
  ASSERT_OK(poll());
  EXPECT_EQ(events_[0].sequence, 1u);

  wq_event_cursor now = WQ_EVENT_CURSOR_INIT;
  now.flags = WQ_EVENTS_FROM_NOW;
  std::swap(cursor_, now);
  EXPECT_CODE(WQ_EMPTY, poll());
  EXPECT_EQ(cursor_.sequence, 1u);
}

TEST_F(CapiObserve, WaitsEndByEventCancelAndClose) {
  ASSERT_OK(poll());
  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  const auto wait = [&](const auto& meanwhile) {
    int32_t code = WQ_E_INTERNAL;
    std::thread reader([&] { code = poll(8, -1, cancel); });
    meanwhile();
    reader.join();
    return code;
  };
  EXPECT_EQ(wait([&] { enqueue(queue_, "x"); }), WQ_OK);
  EXPECT_EQ(events_.size(), 1u);
  EXPECT_EQ(wait([&] { wq_cancel_fire(cancel); }), WQ_CANCELLED);
  EXPECT_CODE(WQ_CANCELLED, poll(8, 0, cancel));
  wq_cancel_free(&cancel);
  wq_store* const closing = store_;
  wq_store* mine = closing;
  int32_t code = WQ_OK;
  std::thread reader([&] { code = poll(8, -1); });
  wq_store_close(&mine);
  reader.join();
  store_ = nullptr;
  EXPECT_EQ(code, WQ_E_CLOSED);
}

TEST_F(CapiObserve, WrongArgumentsAreNamed) {
  wq_store_event event = WQ_STORE_EVENT_INIT;
  size_t count = 0;
  const auto refused = [&](const char* field, int32_t code) {
    EXPECT_EQ(code, WQ_E_INVALID);
    EXPECT_NE(std::strstr(last_error().message, field), nullptr) << last_error().message;
  };
  wq_event_cursor c = WQ_EVENT_CURSOR_INIT;
  const auto call = [&](wq_event_cursor* cursor, wq_store_event* events, size_t n, size_t size,
                        int64_t wait_ms, size_t* out) {
    return wq_events_poll(store_, cursor, events, n, size, wait_ms, nullptr, out, err());
  };
  refused("cursor", call(nullptr, &event, 1, sizeof event, 0, &count));
  refused("events", call(&c, nullptr, 1, sizeof event, 0, &count));
  refused("events", call(&c, &event, 0, sizeof event, 0, &count));
  refused("event_size", call(&c, &event, 1, 8, 0, &count));
  refused("wait_ms", call(&c, &event, 1, sizeof event, -2, &count));
  refused("count", call(&c, &event, 1, sizeof event, 0, nullptr));
  c.sequence = 1;
  refused("cursor.sequence", call(&c, &event, 1, sizeof event, 0, &count));
  c = WQ_EVENT_CURSOR_INIT;
  c.flags = 2;
  EXPECT_CODE(WQ_E_UNSUPPORTED, call(&c, &event, 1, sizeof event, 0, &count));
  refused("text", wq_store_metrics(store_, nullptr, err()));
  refused("explanation", wq_job_explain(queue_, 1, nullptr, nullptr, err()));
  refused("errors", wq_queue_get_errors(queue_, nullptr, 1, sizeof(wq_queue_error), &count, err()));
  EXPECT_EQ(wq_text_bytes(nullptr).len, 0u);
  wq_text* none = nullptr;
  wq_text_free(&none);
  wq_text_free(nullptr);
}

TEST_F(CapiObserve, Explanations) {
  const uint64_t id = enqueue(queue_, "x");
  ASSERT_OK(wq_queue_pause(queue_, nullptr, err()));
  wq_job_explanation job = WQ_JOB_EXPLANATION_INIT;
  wq_text* text = nullptr;
  ASSERT_OK(wq_job_explain(queue_, id, &job, &text, err()));
  EXPECT_EQ(job.causes, WQ_WHY_PAUSED | WQ_WHY_NO_CONSUMER);
  EXPECT_EQ(job.state, WQ_STATE_READY);
  EXPECT_EQ(job.queue_status, WQ_STATUS_PAUSED);
  EXPECT_EQ(job.ahead_exact, 1u);
  EXPECT_NE(take_text(text).find("the queue is paused"), std::string::npos);
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_explain(queue_, id + 1, &job, &text, err()));
  EXPECT_EQ(text, nullptr);
  ASSERT_OK(wq_job_explain(queue_, id, &job, nullptr, err()));

  ASSERT_OK(wq_queue_resume(queue_, nullptr, err()));
  enqueue(queue_, "y");
  const SeenJob held = lease(store_, queue_)[0];
  sim_.clock.advance(6'000);
  wq_queue_explanation queue = WQ_QUEUE_EXPLANATION_INIT;
  ASSERT_OK(wq_queue_explain(queue_, &queue, &text, err()));
  EXPECT_EQ(queue.causes, WQ_WHY_NO_CONSUMER);
  EXPECT_EQ(queue.leasable, 1u);
  EXPECT_EQ(queue.holder_id, id);
  EXPECT_EQ(queue.holder_generation, held.job.generation);
  EXPECT_EQ(queue.holder_age_ms, 6'000);
  EXPECT_EQ(queue.slots_taken, 1u);
  EXPECT_EQ(queue.enqueue_rate_1m, 0.4);
  EXPECT_EQ(queue.lease_rate_5m, 0.2);
  EXPECT_EQ(queue.ack_rate_1m, 0);
  EXPECT_NE(take_text(text).find("1 ready"), std::string::npos);
}

TEST_F(CapiObserve, MetricsOutliveTheirStore) {
  wq_text* text = nullptr;
  ASSERT_OK(wq_store_metrics(store_, &text, err()));
  wq_queue_close(&queue_);
  wq_store_close(&store_);
  EXPECT_NE(take_text(text).find("wq_queue_jobs_ready{queue=\"q\"} 0\n"), std::string::npos);
}

TEST(CapiObserveOptions, EventsMaxIsBounded) {
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.events_max = (1u << 24) + 1;
  wq_store* store = nullptr;
  EXPECT_CODE(WQ_E_INVALID, wq_store_open("/nowhere/at/all", &options, &store, err()));
  EXPECT_NE(std::strstr(last_error().message, "events_max"), nullptr);
}

}  // namespace
}  // namespace wq::capi_test
