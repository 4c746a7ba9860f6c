// A store in a directory of its own, a server in memory, and a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "fake_redis.h"
#include "relay/relay.h"

namespace wq::relay {

class RelayCase : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::path(std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") /
        ("relay-" + std::to_string(++number_));
    std::filesystem::remove_all(path_);
    open();
  }
  void TearDown() override {
    relay_.reset();
    wq_store_close(&store_);
    std::filesystem::remove_all(path_);
  }

  void open() {
    wq_store_options options = WQ_STORE_OPTIONS_INIT;
    options.flags = WQ_OPEN_NO_THREADS;
    wq_error err = WQ_ERROR_INIT;
    ASSERT_EQ(wq_store_open(path_.c_str(), &options, &store_, &err), WQ_OK) << err.message;
  }

  Relay& start(Options options = {}) {
    relay_.reset();
    options.queue = "q";
    std::string problem;
    if (options.layout.key.empty()) options.layout = *parse_layout("list:k", "q", problem);
    options.durability = WQ_PROCESS;
    relay_ = std::make_unique<Relay>(store_, options, std::make_unique<FakeRedis>(server_),
                                     [this] { return now_ms_; });
    return *relay_;
  }

  Outcome push(const char* payload) { return relay_->push({.payload = payload}).outcome; }

  // Copies the files while the store is open, as a crash would leave them, and goes on with them.
  void crash() {
    const std::filesystem::path copy = path_.string() + "-copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(path_, copy, std::filesystem::copy_options::recursive);
    relay_.reset();
    wq_store_close(&store_);
    std::filesystem::remove_all(path_);
    std::filesystem::rename(copy, path_);
    open();
  }

  static inline int number_ = 0;
  std::filesystem::path path_;
  wq_store* store_ = nullptr;
  FakeServer server_;
  int64_t now_ms_ = 4'000'000'000'000;  // behind that of the store
  std::unique_ptr<Relay> relay_;
};

using Payloads = std::vector<std::string>;

}  // namespace wq::relay
