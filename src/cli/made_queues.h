// Queues that a command makes for what it is about to do. If that is refused, they go again: what
// was refused leaves no trace. Thread model: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace wq::cli {

class MadeQueues {
 public:
  MadeQueues(Context& context, const Store& store) : context_(context), store_(store) {}
  ~MadeQueues();
  MadeQueues(const MadeQueues&) = delete;
  MadeQueues& operator=(const MadeQueues&) = delete;

  // The queue of that name; made if it is not there.
  Queue open(const std::string& name);
  // The call that they were made for returned `code`: they stay if it did its work, or may have.
  void ended(int32_t code) {
    if (code == WQ_OK || wq_error_maybe_committed(code)) made_.clear();
  }

 private:
  Context& context_;
  const Store& store_;
  std::vector<std::string> made_;
};

}  // namespace wq::cli
