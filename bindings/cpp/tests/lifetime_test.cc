// lifetime_test.cc: handles in any order, use after close, closing and cancelling under callers
// that wait, forks, and that opening and closing leaves nothing behind. WQ_TEST_ROUNDS: how often.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <thread>

#include "store_fixture.hpp"

namespace {

using wq::Errc;
using wq::Outcome;
using wq_test::error_of;

class Lifetime : public wq_test::StoreTest {};

int rounds() {
  const char* text = std::getenv("WQ_TEST_ROUNDS");
  return text ? std::atoi(text) : 200;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

TEST(Lifetimes, OpenAndCloseLeavesNothingBehind) {
  const wq_test::Directory directory;
  const auto once = [&] {
    const wq::Store store = wq::Store::open(directory / "s").value();
    const wq::Queue queue = store.queue("q").value();
    const wq::Completions completions = wq::Completions::open(store).value();
    EXPECT_TRUE(completions.enqueue(queue, "x", {}, wq::Durability::memory).wait());
    for (const wq::Job& job : queue.lease({.max_jobs = 10}).value()) {
      EXPECT_EQ(job.ack({}, {.durability = wq::Durability::memory}).value(), Outcome::ok);
    }
  };
  for (int i = 0; i < 20; i++) once();
  const std::size_t files = open_files();
  const std::size_t kib = resident_kib();
  for (int i = 0; i < rounds(); i++) once();
  EXPECT_EQ(open_files(), files);
  EXPECT_LT(resident_kib(), kib + 32 * 1024) << "it was " << kib << " KiB";
}

TEST_F(Lifetime, UseAfterCloseIsAnError) {
  put("x");
  const wq::Job job = take();
  const wq::Completions completions = wq::Completions::open(store_).value();
  const wq::Consumer consumer(store_, {queue_});
  store_.close();
  store_.close();
  EXPECT_FALSE(store_.is_open());
  EXPECT_EQ(error_of(store_.stats()), Errc::closed);
  EXPECT_EQ(error_of(store_.queue("q")), Errc::closed);
  EXPECT_EQ(error_of(queue_.enqueue("x")), Errc::closed);
  EXPECT_EQ(error_of(queue_.lease()), Errc::closed);
  EXPECT_EQ(error_of(job.ack()), Errc::closed);
  EXPECT_EQ(error_of(store_.kv().get("k")), Errc::closed);
  EXPECT_EQ(error_of(completions.enqueue(queue_, "x").wait()), Errc::closed);
  EXPECT_EQ(job.payload(), wq::Bytes("x")) << "its bytes are its own";
  queue_.close();
  EXPECT_EQ(error_of(queue_.stats()), Errc::closed);
  EXPECT_EQ(error_of(wq::Queue().enqueue("x")), Errc::closed);
  EXPECT_EQ(error_of(wq::Queue().lease()), Errc::closed);
  EXPECT_EQ(error_of(wq::Store().sync()), Errc::closed);
  wq::Transaction change;
  change.enqueue(wq::Queue(), "x");
  EXPECT_EQ(error_of(wq::Store().transact(change).result), Errc::closed);
}

// Each kind of object dies at each place of the order once in a while.
TEST_F(Lifetime, AnyOrderOfDestruction) {
  std::uint64_t seed =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (const char* text = std::getenv("WQ_TEST_SEED")) seed = std::strtoull(text, nullptr, 10);
  std::printf("WQ_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  for (int round = 0; round < 50; round++) {
    auto store = std::make_shared<wq::Store>(wq::Store::open(directory_ / "other").value());
    auto queue = std::make_shared<wq::Queue>(store->queue("q").value());
    queue->enqueue("x", {}, {.durability = wq::Durability::memory}).value();
    auto batch = std::make_shared<wq::Batch>(queue->lease().value());
    auto job = std::make_shared<wq::Job>((*batch)[0]);
    auto completions = std::make_shared<wq::Completions>(wq::Completions::open(*store).value());
    auto pending =
        std::make_shared<wq::Pending<wq::Result<wq::Enqueued>>>(completions->enqueue(*queue, "y"));
    auto consumer = std::make_shared<wq::Consumer>(*store, std::vector{*queue});
    std::vector<std::shared_ptr<void>> all{store,       queue,   batch,   job,
                                           completions, pending, consumer};
    store.reset(), queue.reset(), batch.reset(), job.reset();
    completions.reset(), pending.reset(), consumer.reset();
    for (; !all.empty(); seed = seed * 6364136223846793005u + 1442695040888963407u) {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>((seed >> 33) % all.size()));
    }
  }
}

// Waits until `count` calls are in a lease.
void wait_for_waiters(const wq::Store& store, std::uint64_t count) {
  while (store.stats().value().waiting < count) std::this_thread::yield();
}

TEST_F(Lifetime, ATokenEndsALease) {
  const wq::Cancel cancel = wq::Cancel::make();
  std::thread waiter([&] {
    const auto batch = queue_.lease({.wait = wq::forever, .cancel = cancel});
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->outcome(), Outcome::cancelled);
  });
  wait_for_waiters(store_, 1);
  cancel.fire();
  waiter.join();
  EXPECT_TRUE(cancel.fired());
}

TEST_F(Lifetime, ClosingEndsALease) {
  std::thread of_store([&] {
    EXPECT_EQ(error_of(store_.lease({&queue_, 1}, {.wait = wq::forever})), Errc::closed);
  });
  wq::Queue other = store_.queue("other").value();
  std::thread of_queue(
      [&] { EXPECT_EQ(error_of(other.lease({.wait = wq::forever})), Errc::closed); });
  wait_for_waiters(store_, 2);
  other.close();
  of_queue.join();
  store_.close();
  of_store.join();
}

TEST_F(Lifetime, ClosingUnderBusyThreads) {
  std::latch begun(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&, i] {
      begun.arrive_and_wait();
      for (;;) {
        const auto result = queue_.enqueue("x", {}, {.durability = wq::Durability::memory});
        const auto batch = i % 2 ? queue_.lease() : store_.lease({&queue_, 1});
        if (!result && result.error().code() == Errc::closed) break;
      }
    });
  }
  begun.wait();
  store_.close();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Lifetime, AConsumerEndsByItsToken) {
  for (int i = 0; i < 10; i++) put(std::string(1, static_cast<char>('a' + i)));
  std::string seen;
  {
    wq::Consumer consumer(store_, {queue_}, {.batch = 4});
    for (const wq::Job& job : consumer) {
      seen += job.payload().view();
      EXPECT_EQ(job.ack().value(), Outcome::ok);
      if (seen.size() == 6) consumer.cancel().fire();
    }
    EXPECT_FALSE(consumer.error());
  }
  EXPECT_EQ(seen, "abcdef");
  // What was leased ahead is back, in its place.
  EXPECT_EQ(queue_.stats().value().ready, 4u);
  EXPECT_EQ(take().payload(), wq::Bytes("g"));
}

TEST_F(Lifetime, AConsumerGivesBackWhatItDidNotHandOut) {
  for (int i = 0; i < 3; i++) put("x");
  {
    wq::Consumer consumer(store_, {queue_}, {.batch = 3});
    EXPECT_TRUE(consumer.next());
  }
  EXPECT_EQ(queue_.stats().value().ready, 2u);
  wq::Consumer other(store_, {queue_});
  std::thread waiter([&] {
    for (int i = 0; i < 2; i++) EXPECT_TRUE(other.next());
    EXPECT_FALSE(other.next());
  });
  wait_for_waiters(store_, 1);
  store_.close();
  waiter.join();
  ASSERT_TRUE(other.error());
  EXPECT_EQ(other.error()->code(), Errc::closed);
}

TEST_F(Lifetime, AForkedChildIsToldSo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool told = error_of(queue_.enqueue("x")) == Errc::forked &&
                      error_of(store_.stats()) == Errc::forked &&
                      error_of(wq::Store::open(directory_ / "new")) == Errc::forked;
    queue_.close();
    store_.close();
    _exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(queue_.enqueue("x"));
}

}  // namespace
