// The part of Io that both real backends share: files, names and directories by plain system calls.
// Only how data operations are carried out differs, see thread_io.cc and uring_io.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/io.h"

namespace wq {

class PosixFile final : public File {
 public:
  PosixFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  const std::string& path() const override { return path_; }
  Result<uint64_t> size() override;
  Result<uint64_t> allocated_bytes() override;
  Status resize(uint64_t bytes) override;
  Status sync() override;
  void forget_cached() override;
  int fd() const { return fd_; }

 private:
  const std::string path_;
  const int fd_;
};

class PosixIo : public Io {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status make_dir(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<bool> exists(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status unlink(const std::string& path) override;
  Status remove_dir(const std::string& path) override;
  Status sync_dir(const std::string& directory) override;
  Result<uint64_t> free_bytes(const std::string& path) override;
  Result<uint64_t> capacity_bytes(const std::string& path) override;
  Result<std::string> network_file_system(const std::string& path) override;
  Result<std::unique_ptr<DirLock>> lock_dir(const std::string& directory) override;
};

// Carries out one operation on the calling thread: pwritev2, pread or fdatasync. Bytes moved or a
// negative errno.
int64_t run_blocking(const IoOp& op);

// UNSUPPORTED with the reason where the kernel does not let this process have io_uring.
Result<std::unique_ptr<Io>> make_uring_io();
std::unique_ptr<Io> make_thread_io();

}  // namespace wq
