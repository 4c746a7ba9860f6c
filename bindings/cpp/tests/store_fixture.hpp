// store_fixture.hpp: a store in a directory of its own for each test, and small helpers.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <wq.hpp>

namespace wq_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "wq-cpp-XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = wq::Store::open(directory_ / "store", {.events_max = 1000}).value();
    queue_ = store_.queue("q", {.max_retries = 1}).value();
  }
  std::uint64_t put(wq::Bytes payload, const wq::JobOptions& options = {}) {
    return queue_.enqueue(payload, options).value().id;
  }
  wq::Job take() { return queue_.lease().value()[0]; }

  Directory directory_;
  wq::Store store_;
  wq::Queue queue_;
};

template <typename T>
wq::Errc error_of(const wq::Result<T>& result) {
  return result.has_value() ? wq::Errc{} : result.error().code();
}

}  // namespace wq_test
