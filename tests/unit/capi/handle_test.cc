// Gate, HandlePool and the fork guard: what keeps a call that comes too late, or in the wrong
// process, from doing harm.
#include "capi/handle.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace wq {
namespace {

struct Thing : HandleHead {
  Thing() : HandleHead(HandleKind::list) {}
};

TEST(Gate, BeginsShut) {
  Gate gate;
  EXPECT_TRUE(gate.is_shut());
  EXPECT_FALSE(gate.enter());
  gate.open();
  EXPECT_TRUE(gate.enter());
  gate.leave();
  EXPECT_TRUE(gate.shut());
  EXPECT_FALSE(gate.shut()) << "shut once only";
  EXPECT_FALSE(gate.enter());
  gate.wait_empty();
}

TEST(Gate, ClosingWaitsForThoseInside) {
  Gate gate;
  gate.open();
  ASSERT_TRUE(gate.enter());
  ASSERT_TRUE(gate.enter());
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    gate.shut();
    gate.wait_empty();
    closed = true;
  });
  while (!gate.is_shut()) std::this_thread::yield();
  gate.leave();
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(closed);
  gate.leave();
  closer.join();
  EXPECT_TRUE(closed);
}

TEST(Gate, NobodyIsInsideAfterClosing) {
  for (int round = 0; round < 200; round++) {
    Gate gate;
    gate.open();
    std::atomic<int> inside{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; i++) {
      callers.emplace_back([&] {
        while (!stop) {
          if (!gate.enter()) continue;
          inside++;
          inside--;
          gate.leave();
        }
      });
    }
    gate.shut();
    gate.wait_empty();
    EXPECT_EQ(inside, 0);
    stop = true;
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(HandlePool, KeepsClosedHandlesBack) {
  HandlePool<Thing> pool;
  std::vector<Thing*> made;
  for (int i = 0; i < 8; i++) made.push_back(pool.take());
  for (Thing* thing : made) pool.put(thing);
  std::set<Thing*> closed(made.begin(), made.end());
  EXPECT_EQ(closed.size(), made.size());
  Thing* fresh = pool.take();  // too few are closed: none of them comes back yet
  EXPECT_EQ(closed.count(fresh), 0u);
  pool.put(fresh);

  std::vector<Thing*> all = made;
  all.push_back(fresh);
  for (int i = 0; i < 32; i++) {
    Thing* thing = pool.take();
    if (std::find(all.begin(), all.end(), thing) == all.end()) all.push_back(thing);
    pool.put(thing);
  }
  EXPECT_LE(all.size(), 18u) << "the pool must reuse, or it grows for ever";
  for (Thing* thing : all) delete thing;
}

TEST(HandlePool, OldestComesBackFirst) {
  HandlePool<Thing> pool;
  std::vector<Thing*> made;
  for (int i = 0; i < 20; i++) made.push_back(pool.take());
  for (Thing* thing : made) pool.put(thing);
  for (int i = 0; i < 4; i++) EXPECT_EQ(pool.take(), made[static_cast<size_t>(i)]);
  for (Thing* thing : made) delete thing;
}

TEST(ForkGuard, ChildIsAnotherProcess) {
  const uint64_t epoch = fork_epoch();
  EXPECT_NE(epoch, 0u);
  EXPECT_EQ(fork_epoch(), epoch);
  EXPECT_TRUE(same_process(epoch));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int failures = 0;
    if (same_process(epoch)) failures |= 1;
    const uint64_t own = fork_epoch();  // the child may open handles of its own
    if (own == epoch || own == 0) failures |= 2;
    if (!same_process(own) || same_process(epoch)) failures |= 4;
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(same_process(own) || same_process(epoch) ? 1 : 0);
    int status = 0;
    waitpid(grandchild, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) failures |= 8;
    _exit(failures);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(same_process(epoch));
}

}  // namespace
}  // namespace wq
