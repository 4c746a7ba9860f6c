// Sealing, writing, rotation.
#include "io/log_writer.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "io/io_transfer.h"

namespace wq {
namespace {

constexpr uint32_t plain_barriers_min = 3;

}  // namespace

LogWriter::LogWriter(Io& io, std::unique_ptr<IoQueue> queue, SparePool& spares,
                     std::string log_directory, const StoreUuid& uuid, const LogSegment* previous)
    : io_(io),
      queue_(std::move(queue)),
      spares_(spares),
      log_directory_(std::move(log_directory)),
      uuid_(uuid) {
  if (previous == nullptr) return;
  seq_ = previous->header.seq;
  end_ = previous->end;
  last_hash_ = previous->last_hash;
  last_lsn_ = previous->last_lsn;
}

Status LogWriter::write(AppendBuffer& group, bool barrier, Lsn durable_lsn, WriteOutcome* outcome) {
  outcome->durable_lsn = durable_lsn;
  for (const AppendRun& run : group.runs()) {
    if (file_ == nullptr || run.place.seq != seq_) WQ_TRY(begin_segment(run, outcome));
    const bool last = &run == &group.runs().back();
    WQ_TRY(write_run(group, run, barrier && last, outcome));
  }
  if (group.empty() && barrier && unsynced(*outcome)) outcome->unsynced = file_.get();
  return Code::ok;
}

Status LogWriter::sync_written(WriteOutcome* outcome) {
  if (!unsynced(*outcome)) return Code::ok;
  WQ_TRY(write_fully(*queue_, *file_, {}, 0, WriteMode::sync_after));
  outcome->durable_lsn = last_lsn_;
  return Code::ok;
}

Status LogWriter::write_run(AppendBuffer& group, const AppendRun& run, bool barrier,
                            WriteOutcome* outcome) {
  std::byte* const data = group.data(run);
  const size_t frames = run.frames_end - run.begin;
  size_t at = 0;
  // Sealed here and not at append, so that each frame tells the newest durable LSN: this is what
  // lets a reader tell damage from a torn tail.
  while (at < frames) {
    const auto bytes = static_cast<size_t>(frame_encoded_bytes(data + at));
    last_hash_ = frame_seal(data + at, run.place.seed, outcome->durable_lsn);
    at += bytes;
  }
  WQ_CHECK(at == frames);
  const bool plain = !unsynced(*outcome) || WQ_PLANTED(dsync_over_unsynced);
  const bool dsync = barrier && plain && !WQ_PLANTED(power_without_barrier);
  const size_t bytes = run.end - run.begin;
  File& file = barrier ? barrier_file(run, plain) : *file_;
  WQ_TRY(write_fully(*queue_, file, {data, bytes}, run.place.offset,
                     dsync ? WriteMode::dsync : WriteMode::kernel));
  end_ = run.place.offset + frames;
  last_lsn_ = run.last_lsn;
  outcome->written_bytes += bytes;
  if (barrier && plain) outcome->durable_lsn = last_lsn_;
  if (barrier && !plain && !WQ_PLANTED(power_without_barrier)) outcome->unsynced = file_.get();
  return Code::ok;
}

Result<std::string> LogWriter::write_header(const SegmentHeader& header,
                                            std::optional<SpareFile> spare) {
  alignas(io_block_bytes) std::array<std::byte, segment_header_bytes> block;
  const uint64_t hash = segment_header_encode(block.data(), header);
  const std::string path =
      spare ? spare->path : log_directory_ + "/" + segment_file_name(header.seq) + ".tmp";
  WQ_TRY_SET(file_, io_.open(path, spare ? OpenMode::read_write : OpenMode::create));
  if (!spare) WQ_TRY(file_->resize(header.segment_bytes));
  WQ_TRY(write_fully(*queue_, *file_, block, 0, WriteMode::kernel));
  const bool later = WQ_PLANTED(segment_header_unsynced) || WQ_PLANTED(segment_renamed_early);
  if (!later) WQ_TRY(file_->sync());
  last_hash_ = hash;
  return path;
}

Status LogWriter::begin_segment(const AppendRun& run, WriteOutcome* outcome) {
  if (file_ != nullptr && !WQ_PLANTED(rotation_unsynced)) WQ_TRY(sync_written(outcome));
  WQ_CHECK(run.place.seq == seq_ + 1);
  WQ_CHECK(run.place.offset == segment_header_bytes);
  std::optional<SpareFile> spare;
  // A record larger than a segment has one of its own size. Without a spare the file grows as it is
  // written, which is slower than into zeros but does not make anybody wait for them.
  if (run.place.segment_bytes == spares_.segment_bytes()) spare = spares_.take();
  SegmentHeader header;
  header.uuid = uuid_;
  header.seq = run.place.seq;
  header.first_lsn = run.first_lsn;
  header.prev_seq = seq_;
  header.prev_end = end_;
  header.prev_hash = last_hash_;
  header.segment_bytes = run.place.segment_bytes;
  header.recycled = spare && spare->recycled && !WQ_PLANTED(recycled_unmarked);
  WQ_TRY_SET(const std::string path, write_header(header, spare));
  const std::string final_path = log_directory_ + "/" + segment_file_name(header.seq);
  WQ_TRY(io_.rename(path, final_path));
  if (!WQ_PLANTED(segment_name_unsynced)) WQ_TRY(io_.sync_dir(log_directory_));
  if (WQ_PLANTED(segment_renamed_early)) WQ_TRY(file_->sync());
  // Again, under the name that messages shall tell.
  WQ_TRY_SET(file_, io_.open(final_path, OpenMode::read_write));
  WQ_TRY(open_direct(final_path));
  outcome->written_bytes += segment_header_bytes;
  outcome->begun.push_back({final_path, header.seq, header.first_lsn, 0, !spare.has_value()});
  seq_ = header.seq;
  end_ = segment_header_bytes;
  last_lsn_ = header.first_lsn - 1;
  return Code::ok;
}

// Past the page cache a group goes to the device without a copy; but a change between the two ways
// costs more than that saves, as the kernel then has to drop and read back pages. So only where no
// group before asked for less than a barrier: not between the leases of a worker that waits for
// each of its steps, but for a producer, and for a pipeline (docs/design/0001-log-writes.md).
File& LogWriter::barrier_file(const AppendRun& run, bool plain) {
  plain_barriers_ = plain ? plain_barriers_ + 1 : 0;
  const bool whole_blocks = run.place.offset % io_block_bytes == 0 &&
                            (run.end - run.begin) % io_block_bytes == 0 &&
                            run.begin % io_block_bytes == 0;
  const bool direct = direct_ != nullptr && whole_blocks && plain_barriers_ >= plain_barriers_min;
  return direct ? *direct_ : *file_;
}

Status LogWriter::open_direct(const std::string& path) {
  auto opened = io_.open(path, OpenMode::read_write_direct);
  if (!opened.ok() && opened.status().code() != Code::unsupported) return opened.take_status();
  direct_ = opened.ok() ? std::move(opened).value() : nullptr;
  return Code::ok;
}

}  // namespace wq
