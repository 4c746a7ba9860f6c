// A store opens, or is refused, however few threads the system lets the process have. This
// program's own pthread_create comes before that of the C library, for RocksDB as well, and counts
// those that live.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <memory>

#include "support/engine_harness.h"

namespace {

std::atomic<int> living{0};
std::atomic<int> living_max{1'000};

struct Start {
  void* (*body)(void*);
  void* argument;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  void* const result = start->body(start->argument);
  --living;
  return result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attr,
                                                                     void* (*body)(void*),
                                                                     void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (++living > living_max) {
    --living;
    return EAGAIN;
  }
  return create(thread, attr, run, new Start{body, argument});
}

namespace wq {
namespace {

TEST(ThreadRoom, AStoreIsOpenedOrRefusedHoweverFewThreadsThereMayBe) {
  HarnessOptions options;
  options.store = StoreKind::rocks;
  options.engine.threads = true;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 50; ++i) harness.enqueue(q, "a job");
  ASSERT_TRUE(harness.close().ok());  // with a checkpoint: there are tables to open
  // Those of RocksDB's pools stay.
  const int before = living;
  int refused = 0;
  for (int more = 0; more < 12; ++more) {
    living_max = before + more;
    const Status opened = harness.open();
    living_max = 1'000;
    if (opened.ok()) {
      EXPECT_GT(refused, 0) << "what is refused here?";
      EXPECT_EQ(harness.engine().queue_stats(q)->counts[1], 50u);
      ASSERT_TRUE(harness.close().ok());
      continue;
    }
    ++refused;
    EXPECT_EQ(opened.code(), Code::no_memory) << opened.message();
    EXPECT_NE(opened.message().find("a thread can not be started"), std::string::npos)
        << opened.message();
  }
  EXPECT_LT(refused, 12);
}

}  // namespace
}  // namespace wq
