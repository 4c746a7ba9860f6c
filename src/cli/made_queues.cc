#include "cli/made_queues.h"

#include "cli/failure.h"

namespace wq::cli {

Queue MadeQueues::open(const std::string& name) {
  Queue queue;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_queue_open(store_.get(), name.data(), name.size(), nullptr,
                                     WQ_QUEUE_NO_CREATE, queue.out(), &err);
  if (code == WQ_OK) return queue;
  if (code != WQ_E_NOT_FOUND) check(code, err);
  queue = context_.open_queue(store_, name, OpenMode::create);
  made_.push_back(name);
  return queue;
}

// The failure that brought us here is what is told; one more of the same store would add nothing.
MadeQueues::~MadeQueues() {
  for (const std::string& name : made_) {
    Queue queue;
    wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
    if (wq_queue_open(store_.get(), name.data(), name.size(), nullptr, WQ_QUEUE_NO_CREATE,
                      queue.out(), nullptr) == WQ_OK &&
        wq_queue_get_stats(queue.get(), &stats, nullptr) == WQ_OK && stats.enqueued_total == 0) {
      wq_queue_delete(queue.get(), nullptr, nullptr);
    }
  }
}

}  // namespace wq::cli
