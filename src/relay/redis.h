// Redis as the primary, over one connection that is made when it is needed. A server that does not
// answer within the time is left: its connection is closed, so that a late answer can not be taken
// for that of a later call. Thread model: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "relay/primary.h"

namespace wq::relay {

struct RedisOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  std::string unix_socket;  // instead of host and port
  std::string user, password;
  uint32_t database = 0;
  int64_t connect_ms = 500;   // 1 or more
  int64_t answer_ms = 1'000;  // for each answer; 1 or more
};

// "redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]", "unix:///PATH" or "HOST:PORT". False, with
// the reason in `problem`, if it is none of them. The password never stands in a message.
bool parse_redis_address(std::string_view text, RedisOptions& options, std::string& problem);

// The address without the password.
std::string address_text(const RedisOptions& options);

std::unique_ptr<Primary> make_redis(RedisOptions options);

}  // namespace wq::relay
