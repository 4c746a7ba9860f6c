// Keys and arguments of each layout, and addresses of Redis.
#include "relay/layout.h"

#include <gtest/gtest.h>

#include "relay/redis.h"

namespace wq::relay {
namespace {

using Texts = std::vector<std::string>;

Layout layout_of(const char* text) {
  std::string problem;
  const auto layout = parse_layout(text, "mail", problem);
  EXPECT_TRUE(layout.has_value()) << problem;
  return layout.value_or(Layout());
}

TEST(Layout, KeysOfEach) {
  const Job job{.id = "i", .payload = "p"};
  const SeenLimits limits{.keep_ms = 5, .keep_count = 7};
  EXPECT_EQ(apply_request(layout_of("list:jobs:{queue}"), "mail", job, limits).keys,
            (Texts{"jobs:mail:wq-seen", "jobs:mail"}));
  EXPECT_EQ(apply_request(layout_of("prismgo:app"), "mail", job, limits).keys,
            (Texts{"app:queues:mail:wq-seen", "app:queues:mail", "app:queues:mail:delayed",
                   "app:queues:mail:notify"}));
  const Request task = apply_request(layout_of("waitqueue:ns:12"), "mail", job, limits);
  EXPECT_EQ(task.keys[0], "TaskQueue:ns:12:waitingQueue:wq-seen");
  EXPECT_EQ(task.keys[2], "TaskQueue:ns:12:taskStateHashKv");
  EXPECT_EQ(task.arguments, (Texts{"i", "5", "7", "p"}));
  EXPECT_EQ(known_request(layout_of("list:k"), "mail", "i").keys, (Texts{"k:wq-seen"}));
}

TEST(Layout, AStreamCarriesAllThatAJobHas) {
  const Job job{.id = "i",
                .payload = std::string("\0\xff", 2),
                .headers = {{"h", "v"}},
                .run_at_ms = 9,
                .priority = 0,
                .max_attempts = 4,
                .attempts = 2,
                .unique_key = "u",
                .group = "g"};
  const Request request = apply_request(layout_of("stream:s"), "mail", job, {});
  EXPECT_EQ(
      Texts(request.arguments.begin() + 3, request.arguments.end()),
      (Texts{"id", "i", "payload", std::string("\0\xff", 2), "priority", "0", "max_attempts", "4",
             "attempts", "2", "run_at_ms", "9", "unique", "u", "group", "g", "header:h", "v"}));
}

TEST(Layout, WhatALayoutHasNoPlaceForIsNamed) {
  const Layout list = layout_of("list:k");
  EXPECT_EQ(unfit(list, {.payload = "p", .run_at_ms = 5}), "");
  EXPECT_EQ(unfit(list, {.headers = {{"a", "b"}}}), "headers");
  EXPECT_EQ(unfit(list, {.priority = 1}), "a priority");
  EXPECT_EQ(unfit(list, {.unique_key = "u"}), "a unique key");
  EXPECT_EQ(unfit(layout_of("stream:k"), {.headers = {{"a", "b"}}, .priority = 1}), "");
}

TEST(Layout, WrongTextsAreTold) {
  for (const char* text : {"", "list", "list:", "queue:k", "waitqueue:ns",
                           "waitqueue:ns:", "waitqueue::1", "prismgo:"}) {
    std::string problem;
    EXPECT_FALSE(parse_layout(text, "q", problem).has_value()) << text;
    EXPECT_FALSE(problem.empty()) << text;
  }
}

TEST(RedisAddress, Forms) {
  struct Case {
    const char* text;
    const char* host;
    int port;
    const char* user;
    const char* password;
    uint32_t database;
  };
  for (const Case& c :
       {Case{"redis://h", "h", 6379, "", "", 0}, Case{"h:7000", "h", 7000, "", "", 0},
        Case{"redis://:p%40%2f@h:1/3", "h", 1, "", "p@/", 3},
        Case{"redis://u:p@x@[::1]:2/", "::1", 2, "u", "p@x", 0},
        Case{"redis://:100%@h", "h", 6379, "", "100%", 0}}) {
    RedisOptions options;
    std::string problem;
    ASSERT_TRUE(parse_redis_address(c.text, options, problem)) << c.text << ": " << problem;
    EXPECT_EQ(options.host, c.host);
    EXPECT_EQ(options.port, c.port);
    EXPECT_EQ(options.user, c.user);
    EXPECT_EQ(options.password, c.password);
    EXPECT_EQ(options.database, c.database);
    EXPECT_EQ(address_text(options).find("p@"), std::string::npos);
  }
  for (const char* text : {"", "redis://", "redis://h:0", "redis://h:65536", "redis://h:1x",
                           "redis://user@h", "rediss://h", "unix://", "[::1", "redis://h/x"}) {
    RedisOptions options;
    std::string problem;
    EXPECT_FALSE(parse_redis_address(text, options, problem)) << text;
    EXPECT_FALSE(problem.empty()) << text;
  }
}

}  // namespace
}  // namespace wq::relay
