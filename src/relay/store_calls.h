// The calls of wq.h that a relay makes, with errors as Error.
#pragma once

#include <wq.h>

#include <string>

#include "relay/relay.h"

namespace wq::relay {

// The error object of one call.
class CallError {
 public:
  wq_error* get() { return &err_; }
  // Any other outcome than WQ_OK is thrown.
  void check(int32_t code) const {
    if (code == WQ_OK) return;
    throw Error(code, code < 0 && err_.message[0] != '\0' ? err_.message : wq_strerror(code));
  }

 private:
  wq_error err_ = WQ_ERROR_INIT;
};

// Where a count of the relay of that queue stands.
std::string count_key(const std::string& queue, const char* name);
wq_queue_stats stats_of(wq_queue* queue);
// The value of a row; empty if there is none.
std::string kv_value(wq_store* store, const std::string& key);
// The number in a row; 0 if there is none.
int64_t kv_number(wq_store* store, const std::string& key);
void kv_add(wq_store* store, const std::string& key, int64_t by);

}  // namespace wq::relay
