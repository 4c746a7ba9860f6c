// worker: prints the jobs of a queue, one per line, and acks them.
//
//   worker STORE QUEUE [--drain]      --drain: end when the queue is empty
//
// SIGINT and SIGTERM end it: the job at hand is finished, those leased ahead are given back. A job
// whose payload is "bad" fails.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <wq.hpp>

namespace {

// For this thread and all that it starts, so that only the one in stop_on_signal() gets them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Fires the token on the first signal. A signal handler could not: it may not take locks.
std::thread stop_on_signal(const wq::Cancel& cancel, const sigset_t& signals) {
  return std::thread([cancel, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    cancel.fire();
  });
}

void work_on(const wq::Job& job) {
  if (job.payload() == wq::Bytes("bad")) {
    job.fail("it said so").value();
    return;
  }
  std::printf("%s\n", job.payload().str().c_str());
  std::fflush(stdout);
  // stale: the lease ran out, and somebody else has the job now
  if (job.ack().value() == wq::Outcome::stale) std::fprintf(stderr, "too late\n");
}

int run(const std::string& path, const std::string& name, bool drain) {
  const sigset_t blocked = block_signals();
  const wq::Store store = wq::Store::open(path, {.expire_leases = true}).value();
  const wq::Queue queue = store.queue(name).value();
  if (drain) {
    for (;;) {
      const wq::Batch batch = queue.lease({.max_jobs = 100}).value();
      if (batch.empty()) return 0;
      for (const wq::Job& job : batch) work_on(job);
    }
  }
  wq::Consumer consumer(store, {queue}, {.batch = 10});
  std::thread signals = stop_on_signal(consumer.cancel(), blocked);
  for (const wq::Job& job : consumer) work_on(job);
  kill(getpid(), SIGTERM);  // ends the thread, if it was not a signal that ended the loop
  signals.join();
  if (!consumer.error()) return 0;
  std::fprintf(stderr, "worker: %s\n", std::string(consumer.error()->message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool drain = argc == 4 && std::string_view(argv[3]) == "--drain";
  if (argc != 3 && !drain) {
    std::fprintf(stderr, "usage: %s STORE QUEUE [--drain]\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argv[2], drain);
  } catch (const wq::Exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return 1;
  }
}
