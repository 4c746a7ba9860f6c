#include "raw_writer.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace wq::bench {

namespace {

constexpr size_t write_bytes = 4096;
constexpr size_t fill_bytes = 1 << 20;
constexpr off_t file_bytes = 64 << 20;

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using AlignedBuffer = std::unique_ptr<char, Free>;

[[noreturn]] void fail_errno(const char* what) {
  fail(std::string("raw: ") + what + ": " + std::strerror(errno));
}

AlignedBuffer make_buffer(size_t bytes, char value) {
  AlignedBuffer buffer(static_cast<char*>(std::aligned_alloc(write_bytes, bytes)));
  if (buffer == nullptr) fail("raw: out of memory");
  std::memset(buffer.get(), value, bytes);
  return buffer;
}

void write_at(int fd, const char* data, size_t bytes, off_t offset, int flags) {
  const iovec part{const_cast<char*>(data), bytes};
  if (pwritev2(fd, &part, 1, offset, flags) != static_cast<ssize_t>(bytes)) fail_errno("write");
}

void make_zero_file(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) fail_errno("create");
  const AlignedBuffer zeros = make_buffer(fill_bytes, 0);
  for (off_t offset = 0; offset < file_bytes; offset += static_cast<off_t>(fill_bytes)) {
    write_at(fd, zeros.get(), fill_bytes, offset, 0);
  }
  if (fsync(fd) != 0 || close(fd) != 0) fail_errno("fsync");
}

}  // namespace

RawFigures run_raw_writes(const RawSettings& settings) {
  const std::string path = settings.directory + "/raw.data";
  make_zero_file(path);
  const int fd = open(path.c_str(), O_WRONLY | (settings.direct ? O_DIRECT : 0));
  if (fd < 0) fail_errno("open");
  const AlignedBuffer block = make_buffer(write_bytes, 'w');
  off_t offset = 0;
  const auto run = [&](double seconds, RawFigures* figures) {
    const uint64_t start = now_ns();
    const uint64_t until = start + static_cast<uint64_t>(seconds * ns_per_second);
    for (uint64_t now = start; now < until;) {
      write_at(fd, block.get(), write_bytes, offset, RWF_DSYNC);
      offset = (offset + static_cast<off_t>(write_bytes)) % file_bytes;
      const uint64_t done = now_ns();
      figures->times.add(done - now);
      figures->writes++;
      now = done;
    }
    figures->seconds = static_cast<double>(now_ns() - start) / ns_per_second;
  };
  RawFigures warmup;
  run(settings.warmup_seconds, &warmup);
  RawFigures figures;
  run(settings.seconds, &figures);
  if (close(fd) != 0 || unlink(path.c_str()) != 0) fail_errno("close");
  return figures;
}

}  // namespace wq::bench
