// Tests that run on each real backend, and a queue that misbehaves in front of a real one.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "io/io.h"

namespace wq {

class BackendTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool uring = std::string(GetParam()) == "uring";
    auto io = make_io(uring ? IoBackend::uring : IoBackend::thread);
    if (!io.ok()) {
      ASSERT_EQ(io.status().code(), Code::unsupported);
      GTEST_SKIP() << io.status().message();
    }
    io_ = std::move(io).value();
    EXPECT_STREQ(io_->name(), GetParam());
    queue_ = io_->open_queue().value();
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = c == '/' ? '.' : c;
    directory_ = testing::TempDir() + "/" + name;
    std::filesystem::create_directories(directory_);
  }
  std::unique_ptr<File> make_file(const std::string& name, const std::string& contents) {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << contents;
    return io_->open(directory_ + "/" + name, OpenMode::read_write).value();
  }
  std::string read_file(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::unique_ptr<Io> io_;
  std::unique_ptr<IoQueue> queue_;
  std::string directory_;
};

// Passes operations on after `touch` had a look: it may shorten the operation, or answer it itself
// by setting `done` and `result`. Keeps its own completions back so that they come late.
class MeddlingQueue final : public IoQueue {
 public:
  MeddlingQueue(IoQueue& inner, std::function<void(IoOp&)> touch)
      : inner_(inner), touch_(std::move(touch)) {}

  void submit(IoOp& op) override {
    op.done = false;
    kinds_.push_back(op.kind);
    touch_(op);
    if (op.done) {
      op.done = false;
      answered_.push_back(&op);
    } else {
      inner_.submit(op);
    }
  }
  void wait(size_t count) override {
    if (answered_.empty()) return inner_.wait(count);
    inner_.wait(inner_.in_flight());
    for (IoOp* op : answered_) op->done = true;
    answered_.clear();
  }
  size_t in_flight() const override { return inner_.in_flight() + answered_.size(); }
  const std::vector<IoKind>& kinds() const { return kinds_; }

 private:
  IoQueue& inner_;
  std::function<void(IoOp&)> touch_;
  std::vector<IoOp*> answered_;
  std::vector<IoKind> kinds_;
};

}  // namespace wq
