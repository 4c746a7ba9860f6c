// Jobs that are only in the store come back page by page: each page is read once, however many
// callers wait for it.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/engine_harness.h"

namespace wq {
namespace {

constexpr size_t page_rows = 16;  // of a store that is short of memory
constexpr size_t jobs = 3'000;

HarnessOptions all_cold() {
  HarnessOptions options;
  options.engine.memory_budget_bytes = 1;
  options.engine.lane_window = 1;
  return options;
}

QueueId fill(EngineHarness& harness) {
  const QueueId q = harness.queue("q");
  const std::vector<JobSpec> specs(jobs);
  CallOptions call;
  EXPECT_TRUE(harness.engine().enqueue_many(q, specs, false, call, {}).ok());
  EXPECT_TRUE(harness.engine().checkpoint().ok());
  return q;
}

TEST(EngineRefill, EachPageIsReadOnceForAllCallers) {
  std::atomic<size_t> pages{0};
  HarnessOptions options = all_cold();
  options.page_was_read = [&] { ++pages; };
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = fill(harness);
  std::mutex mutex;
  std::set<JobId> seen;
  const auto work = [&] {
    for (;;) {
      const std::vector<JobView> taken = harness.lease(q, 5);
      if (taken.empty()) return;
      const std::lock_guard lock(mutex);
      for (const JobView& job : taken) EXPECT_TRUE(seen.insert(job.id).second) << job.id;
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(work);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(seen.size(), jobs);
  EXPECT_LE(pages, jobs / page_rows + 1);
  harness.expect_sound();
}

// The lane goes while its page is read, and others may wait for the page.
TEST(EngineRefill, APageOfAQueueThatIsDeletedHoldsUpNobody) {
  EngineHarness* store = nullptr;
  QueueId q = 0;
  std::vector<std::thread> waiting;
  std::atomic<int> answered{0};
  HarnessOptions options = all_cold();
  options.page_was_read = [&] {
    if (!waiting.empty()) return;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&] {
        LeaseRequest request;
        request.queues = {&q, 1};
        CallOptions call;
        std::vector<JobView> taken;
        // Before the delete it may get the job that is in memory.
        const Code code = store->engine().lease(request, call, taken).code();
        EXPECT_TRUE(code == Code::not_found || code == Code::ok) << static_cast<int>(code);
        ++answered;
      });
    }
    CallOptions call;
    EXPECT_TRUE(store->engine().remove_queue(q, call).ok());
  };
  EngineHarness harness(options);
  store = &harness;
  ASSERT_TRUE(harness.open().ok());
  q = fill(harness);
  LeaseRequest request;
  request.queues = {&q, 1};
  request.max_jobs = 5;
  CallOptions call;
  std::vector<JobView> taken;
  while (harness.engine().lease(request, call, taken).ok()) {
  }
  for (std::thread& caller : waiting) caller.join();
  EXPECT_EQ(answered, 3);
  harness.expect_sound();
}

}  // namespace
}  // namespace wq
