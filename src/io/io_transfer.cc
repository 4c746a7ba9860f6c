// The window of pieces behind write_fully() and read_fully(), and the barrier.
#include "io/io_transfer.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "base/planted.h"

namespace wq {
namespace {

// Bounds a device that answers EINTR, EAGAIN or "0 bytes" for ever.
constexpr int idle_rounds_max = 1000;

struct Piece {
  IoOp op;
  size_t begin = 0;  // of what is left of this piece, relative to the transfer
  size_t end = 0;
  bool busy = false;
};

// One transfer over a window of pieces. Pieces are resubmitted until whole, whatever order they
// complete in.
class Transfer {
 public:
  Transfer(IoQueue& queue, File& file, IoKind kind, std::byte* data, size_t bytes, uint64_t offset)
      : queue_(queue), file_(file), kind_(kind), data_(data), bytes_(bytes), offset_(offset) {}

  // A read that reaches this many bytes has met the end of the file and is whole.
  void set_end(size_t bytes) { end_of_file_ = bytes; }
  Status run();
  bool irregular() const { return irregular_; }
  size_t bytes_before_end() const { return std::min(bytes_, end_of_file_); }

 private:
  void start(Piece& piece);
  void start_idle_pieces();
  void collect(Piece& piece);
  void fail(int os_errno, const Piece& piece);

  IoQueue& queue_;
  File& file_;
  const IoKind kind_;
  std::byte* const data_;
  const size_t bytes_;
  const uint64_t offset_;
  std::array<Piece, transfer_pieces_in_flight> pieces_;
  size_t next_ = 0;  // first byte that no piece has taken
  size_t end_of_file_ = SIZE_MAX;
  size_t busy_ = 0;
  int idle_rounds_ = 0;
  bool irregular_ = false;  // some operation was short or interrupted
  Status status_;
};

void Transfer::start(Piece& piece) {
  piece.op = IoOp{};
  piece.op.kind = kind_;
  piece.op.file = &file_;
  piece.op.data = data_ + piece.begin;
  piece.op.bytes = piece.end - piece.begin;
  piece.op.offset = offset_ + piece.begin;
  piece.busy = true;
  ++busy_;
  queue_.submit(piece.op);
}

void Transfer::start_idle_pieces() {
  for (Piece& piece : pieces_) {
    if (!status_.ok()) return;
    if (piece.busy) continue;
    if (piece.begin == piece.end) {
      if (next_ == bytes_) continue;
      piece.begin = next_;
      piece.end = next_ + std::min(transfer_piece_bytes, bytes_ - next_);
      next_ = piece.end;
    }
    start(piece);
  }
}

void Transfer::fail(int os_errno, const Piece& piece) {
  if (!status_.ok()) return;
  const char* const operation = kind_ == IoKind::read ? "read" : "write";
  status_ = status_from_errno(os_errno, file_.path(), operation, piece.op.offset);
}

void Transfer::collect(Piece& piece) {
  piece.busy = false;
  --busy_;
  const int64_t result = piece.op.result;
  if (result > 0) {
    WQ_CHECK(static_cast<uint64_t>(result) <= piece.op.bytes);
    auto moved = static_cast<size_t>(result);
    if (moved < piece.end - piece.begin) {
      irregular_ = true;
      // A direct transfer goes on at a block edge only; moving a part again does no harm.
      moved -= moved % io_block_bytes;
      if (piece.begin + static_cast<size_t>(result) >= end_of_file_)
        moved = piece.end - piece.begin;
      if (WQ_PLANTED(short_write_taken) && kind_ != IoKind::read) moved = piece.end - piece.begin;
    }
    piece.begin += moved;
    if (moved > 0) {
      idle_rounds_ = 0;
      return;
    }
    if (++idle_rounds_ >= idle_rounds_max) fail(EIO, piece);
    return;
  }
  irregular_ = true;
  if (result == 0 && kind_ == IoKind::read) {
    end_of_file_ = std::min(end_of_file_, piece.begin);
    piece.begin = piece.end;
    return;
  }
  const bool again = result == 0 || result == -EINTR || result == -EAGAIN;
  if (again && ++idle_rounds_ < idle_rounds_max) return;
  fail(again ? EIO : static_cast<int>(-result), piece);
}

Status Transfer::run() {
  start_idle_pieces();
  // After a failure nothing new starts, but what is in flight still uses the caller's buffer.
  while (busy_ > 0) {
    queue_.wait(1);
    for (Piece& piece : pieces_) {
      if (piece.busy && piece.op.done) collect(piece);
    }
    start_idle_pieces();
  }
  return std::move(status_);
}

Status barrier(IoQueue& queue, File& file) {
  IoOp op;
  op.kind = IoKind::fdatasync;
  op.file = &file;
  queue.submit(op);
  while (!op.done) queue.wait(1);
  if (op.result == 0 || WQ_PLANTED(barrier_result_ignored)) return Code::ok;
  const int os_errno = op.result < 0 ? static_cast<int>(-op.result) : EIO;
  return status_from_errno(os_errno, file.path(), "fdatasync");
}

}  // namespace

Status write_fully(IoQueue& queue, File& file, Bytes data, uint64_t offset, WriteMode mode) {
  WQ_CHECK(queue.in_flight() == 0);
  // Several dsync writes would cost a device flush each, so only a transfer of one piece uses one.
  const bool one_dsync = mode == WriteMode::dsync && data.size() <= transfer_piece_bytes;
  bool need_barrier = mode == WriteMode::sync_after || (mode == WriteMode::dsync && !one_dsync);
  if (!data.empty()) {
    // Writes only read the buffer; IoOp has one pointer for both directions.
    auto* const bytes = const_cast<std::byte*>(data.data());
    Transfer transfer(queue, file, one_dsync ? IoKind::write_dsync : IoKind::write, bytes,
                      data.size(), offset);
    WQ_TRY(transfer.run());
    // A dsync write that came in parts is not trusted to have synced each of them.
    if (one_dsync && transfer.irregular()) need_barrier = !WQ_PLANTED(partial_dsync_trusted);
  }
  return need_barrier ? barrier(queue, file) : Status(Code::ok);
}

Result<size_t> read_fully(IoQueue& queue, File& file, std::span<std::byte> out, uint64_t offset) {
  WQ_CHECK(queue.in_flight() == 0);
  // The length comes first: a short read alone does not tell the end of the file from an
  // interruption.
  WQ_TRY_SET(const uint64_t file_bytes, file.size());
  if (offset >= file_bytes) return size_t{0};
  const uint64_t wanted = std::min<uint64_t>(out.size(), file_bytes - offset);
  // Direct reads want whole blocks, also for the last one of the file.
  const uint64_t rounded = (wanted + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
  const auto ask = static_cast<size_t>(std::min<uint64_t>(out.size(), rounded));
  Transfer transfer(queue, file, IoKind::read, out.data(), ask, offset);
  transfer.set_end(static_cast<size_t>(wanted));
  WQ_TRY(transfer.run());
  return std::min(static_cast<size_t>(wanted), transfer.bytes_before_end());
}

Status write_zeros(IoQueue& queue, File& file, uint64_t offset, uint64_t bytes) {
  // Not const, so that it takes no room in the library's file.
  static std::array<std::byte, transfer_piece_bytes> zeros;
  while (bytes > 0) {
    const auto step = static_cast<size_t>(std::min<uint64_t>(bytes, zeros.size()));
    WQ_TRY(write_fully(queue, file, {zeros.data(), step}, offset, WriteMode::kernel));
    offset += step;
    bytes -= step;
  }
  return Code::ok;
}

}  // namespace wq
