// Chain, walk and verdict.
#include "io/log_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "io/segment_reader.h"

namespace wq {
namespace {

constexpr uint64_t align_to_block(uint64_t offset) {
  return (offset + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
}

Status corrupt_at(uint64_t seq, uint64_t offset, const std::string& what) {
  return Status(Code::corrupt, segment_label(seq) + " at " + std::to_string(offset) + ": " + what,
                0, offset);
}

std::string missing_text(Lsn from, Lsn to) {
  return "records " + std::to_string(from) + " to " + std::to_string(to) + " are missing";
}

Result<LogSegment> load_segment(Io& io, IoQueue& queue, const std::string& log_directory,
                                const StoreUuid& uuid, uint64_t seq) {
  LogSegment segment;
  segment.path = log_directory + "/" + segment_file_name(seq);
  WQ_TRY_SET(const auto reader, SegmentReader::open(io, queue, segment.path, segment_bytes_max));
  WQ_TRY_SET(const Bytes block, reader->view(0, segment_header_bytes));
  WQ_TRY(segment_header_decode(block, uuid, seq, &segment.header, &segment.header_hash));
  segment.file_bytes = reader->file_bytes();
  return segment;
}

// Splits the segments found into those of the log and those that only a crash in trim() left:
// removals may reach the disk in any order, so a gap is no damage if the checkpoint holds all
// before it.
Status split_chain(std::vector<LogSegment> found, Lsn applied_lsn, LogChain* chain) {
  size_t first = found.size();
  while (first > 0) {
    const bool linked =
        first == found.size() || found[first].header.prev_seq == found[first - 1].header.seq;
    if (!linked) break;
    --first;
  }
  if (first > 0) {
    const SegmentHeader& behind_gap = found[first].header;
    if (behind_gap.first_lsn > applied_lsn + 1 && !WQ_PLANTED(segment_gap_taken)) {
      return Status(Code::corrupt, segment_label(behind_gap.prev_seq) +
                                       ": the segment is missing; " +
                                       missing_text(applied_lsn + 1, behind_gap.first_lsn - 1));
    }
    for (size_t i = 0; i < first; ++i) chain->leftovers.push_back(found[i].path);
  }
  chain->segments.assign(std::make_move_iterator(found.begin() + static_cast<ptrdiff_t>(first)),
                         std::make_move_iterator(found.end()));
  return Code::ok;
}

// What the successor's header says of the end is authoritative: walk_segment() verifies it.
void take_ends_from_successors(std::vector<LogSegment>& segments) {
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    const SegmentHeader& next = segments[i + 1].header;
    segments[i].end = next.prev_end;
    segments[i].last_lsn = next.first_lsn - 1;
    segments[i].last_hash = next.prev_hash;
  }
}

class Walk {
 public:
  Walk(SegmentReader& reader, LogSegment& segment, const LogSegment* next,
       const FrameVisitor& visit)
      : reader_(reader),
        segment_(segment),
        next_(next),
        visit_(visit),
        label_(segment_label(segment.header.seq)),
        seed_(frame_seed(segment.header.uuid, segment.header.seq)),
        offset_(segment_header_bytes),
        last_lsn_(segment.header.first_lsn - 1),
        last_hash_(segment.header_hash) {}

  Status run(TornTail* tail);

 private:
  struct Attempt {
    FrameVerdict verdict = FrameVerdict::bad_header;
    FrameHeader header;
    Bytes body;
    bool in_order = false;
  };
  Result<Attempt> try_frame(uint64_t offset);
  Status accept(uint64_t offset, const Attempt& attempt);
  Status check_end_against_successor() const;
  std::string reason(const Attempt& attempt) const;
  Status judge_tail(const Attempt& failed, TornTail* tail);
  Status find_later_frames(uint64_t* torn_end);
  Result<uint64_t> last_nonzero_end();

  SegmentReader& reader_;
  LogSegment& segment_;
  const LogSegment* const next_;
  const FrameVisitor& visit_;
  const std::string label_;
  const uint64_t seed_;
  uint64_t offset_;  // behind the last accepted frame
  Lsn last_lsn_;
  uint64_t last_hash_;
  bool closed_ = false;
};

Result<Walk::Attempt> Walk::try_frame(uint64_t offset) {
  Attempt attempt;
  WQ_TRY_SET(const Bytes head, reader_.view(offset, frame_header_bytes));
  attempt.verdict = frame_decode_header(head, seed_, &attempt.header);
  if (attempt.verdict != FrameVerdict::valid) return attempt;
  // The length is sound, so this reads no more than was once written.
  const uint64_t whole = frame_header_bytes + uint64_t{attempt.header.body_bytes};
  WQ_TRY_SET(const Bytes frame, reader_.view(offset, whole));
  attempt.verdict = frame_decode(frame, seed_, &attempt.header);
  if (attempt.verdict != FrameVerdict::valid) return attempt;
  attempt.body = frame.subspan(frame_header_bytes);
  const bool is_record = attempt.header.type == FrameType::record;
  attempt.in_order = attempt.header.lsn == last_lsn_ + (is_record ? 1 : 0);
  if (WQ_PLANTED(lsn_gap_taken) && attempt.header.lsn > last_lsn_) attempt.in_order = true;
  return attempt;
}

Status Walk::accept(uint64_t offset, const Attempt& attempt) {
  if (visit_) {
    WQ_TRY(visit_(ScannedFrame{label_, offset, attempt.header.lsn, attempt.header.durable_lsn,
                               static_cast<uint16_t>(attempt.header.type), attempt.body}));
  }
  last_lsn_ = attempt.header.lsn;
  last_hash_ = attempt.header.header_hash;
  offset_ = offset + frame_bytes(attempt.header.body_bytes);
  closed_ = attempt.header.type == FrameType::close;
  return Code::ok;
}

std::string Walk::reason(const Attempt& attempt) const {
  if (attempt.verdict != FrameVerdict::valid) return frame_verdict_text(attempt.verdict);
  return "frame of record " + std::to_string(attempt.header.lsn) + " where " +
         std::to_string(last_lsn_ + 1) + " was expected";
}

Status Walk::check_end_against_successor() const {
  const SegmentHeader& next = next_->header;
  if (WQ_PLANTED(segment_end_unchecked)) return Code::ok;
  if (offset_ == next.prev_end && last_lsn_ + 1 == next.first_lsn && last_hash_ == next.prev_hash) {
    return Code::ok;
  }
  return corrupt_at(segment_.header.seq, offset_,
                    "does not end as " + segment_label(next.seq) + " says, which follows record " +
                        std::to_string(next.first_lsn - 1) + " at " +
                        std::to_string(next.prev_end) + "; one of them is of another history");
}

// Sound headers behind the break. One that knows more to be durable than was found proves damage.
Status Walk::find_later_frames(uint64_t* torn_end) {
  constexpr uint64_t step_bytes = uint64_t{1} << 20;
  for (uint64_t base = offset_; base < reader_.file_bytes(); base += step_bytes) {
    WQ_TRY_SET(const Bytes bytes, reader_.view(base, step_bytes + frame_header_bytes));
    for (size_t i = 0; i < step_bytes && i + frame_header_bytes <= bytes.size();
         i += frame_align_bytes) {
      FrameHeader header;
      if (frame_decode_header(bytes.subspan(i), seed_, &header) != FrameVerdict::valid) continue;
      if (header.durable_lsn > last_lsn_ && !WQ_PLANTED(damage_is_a_torn_tail)) {
        return corrupt_at(segment_.header.seq, offset_,
                          missing_text(last_lsn_ + 1, header.durable_lsn) +
                              ", which the frame at " + std::to_string(base + i) +
                              " knows to have been durable");
      }
      const uint64_t end = base + i + frame_bytes(header.body_bytes);
      if (header.lsn > last_lsn_) *torn_end = std::max(*torn_end, end);
    }
  }
  return Code::ok;
}

Result<uint64_t> Walk::last_nonzero_end() {
  constexpr uint64_t step_bytes = uint64_t{1} << 20;
  uint64_t end = offset_;
  for (uint64_t base = offset_; base < reader_.file_bytes(); base += step_bytes) {
    WQ_TRY_SET(const Bytes bytes, reader_.view(base, step_bytes));
    for (size_t i = bytes.size(); i > 0; --i) {
      if (bytes[i - 1] == std::byte{0}) continue;
      end = base + i;
      break;
    }
  }
  return end;
}

Status Walk::judge_tail(const Attempt& failed, TornTail* tail) {
  *tail = TornTail{};
  if (closed_) return Code::ok;  // nothing was ever written behind the frame of an orderly end
  uint64_t torn_end = offset_;
  WQ_TRY(find_later_frames(&torn_end));
  // A recycled file holds bytes of its former life, so only a sound header tells that something of
  // this one was cut. In a file that was zeros any other byte does.
  if (!segment_.header.recycled) {
    WQ_TRY_SET(const uint64_t nonzero_end, last_nonzero_end());
    torn_end = std::max(torn_end, nonzero_end);
  }
  torn_end = std::min(torn_end, std::max(offset_, reader_.file_bytes()));
  std::string why = reason(failed);
  if (reader_.file_bytes() < segment_.header.segment_bytes) {
    why = "the file ends at " + std::to_string(reader_.file_bytes()) + ", its header says " +
          std::to_string(segment_.header.segment_bytes);
    torn_end = std::max(torn_end, offset_ + 1);  // something is gone, even if nothing is left of it
  }
  if (torn_end == offset_) return Code::ok;
  tail->bytes = torn_end - offset_;
  tail->where = label_ + " at " + std::to_string(offset_) + ": " + why;
  return Code::ok;
}

Status Walk::run(TornTail* tail) {
  Attempt failed;
  for (;;) {
    if (next_ != nullptr && offset_ >= next_->header.prev_end) break;
    WQ_TRY_SET(Attempt attempt, try_frame(offset_));
    uint64_t at = offset_;
    const uint64_t edge = align_to_block(offset_);
    if (!attempt.in_order && edge != offset_) {
      WQ_TRY_SET(const Attempt second, try_frame(edge));
      // Where neither fits, the place that holds the remains of a frame gives the better reason.
      if (second.in_order || attempt.verdict == FrameVerdict::bad_header) {
        attempt = second;
        at = edge;
      }
    }
    if (attempt.in_order) {
      WQ_TRY(accept(at, attempt));
      if (closed_ && next_ == nullptr) break;
      continue;
    }
    if (next_ != nullptr && last_lsn_ + 1 >= next_->header.first_lsn) break;
    if (next_ != nullptr) {
      return corrupt_at(
          segment_.header.seq, at,
          reason(attempt) + "; " + missing_text(last_lsn_ + 1, next_->header.first_lsn - 1));
    }
    failed = attempt;
    break;
  }
  if (next_ != nullptr) {
    WQ_TRY(check_end_against_successor());
  } else {
    WQ_TRY(judge_tail(failed, tail));
  }
  segment_.end = offset_;
  segment_.last_lsn = last_lsn_;
  segment_.last_hash = last_hash_;
  return Code::ok;
}

}  // namespace

Result<LogChain> load_chain(Io& io, IoQueue& queue, const std::string& directory,
                            const StoreUuid& uuid, Lsn applied_lsn) {
  LogChain chain;
  const std::string log_directory = directory + "/" + std::string(log_directory_name);
  auto names = io.list(log_directory);
  if (!names.ok()) {
    if (names.status().code() == Code::not_found) return chain;
    return names.take_status();
  }
  std::vector<LogSegment> found;
  for (const std::string& name : *names) {
    if (const auto seq = parse_segment_name(name)) {
      WQ_TRY_SET(LogSegment segment, load_segment(io, queue, log_directory, uuid, *seq));
      found.push_back(std::move(segment));
    } else if (const auto number = parse_spare_name(name)) {
      chain.spares.push_back(log_directory + "/" + name);
      chain.spare_number_max = std::max(chain.spare_number_max, *number);
    } else if (is_temp_name(name)) {
      chain.temp_files.push_back(log_directory + "/" + name);
    }
  }
  WQ_TRY(split_chain(std::move(found), applied_lsn, &chain));
  take_ends_from_successors(chain.segments);
  if (!chain.segments.empty() && chain.segments.front().header.first_lsn > applied_lsn + 1 &&
      !WQ_PLANTED(late_log_taken)) {
    const SegmentHeader& first = chain.segments.front().header;
    return Status(Code::corrupt, segment_label(first.seq) + ": the log begins with record " +
                                     std::to_string(first.first_lsn) + "; " +
                                     missing_text(applied_lsn + 1, first.first_lsn - 1));
  }
  return chain;
}

Status walk_segment(Io& io, IoQueue& queue, LogSegment& segment, const LogSegment* next,
                    TornTail* tail, const FrameVisitor& visit) {
  WQ_CHECK((next == nullptr) == (tail != nullptr));
  WQ_TRY_SET(const auto reader,
             SegmentReader::open(io, queue, segment.path, segment.header.segment_bytes));
  return Walk(*reader, segment, next, visit).run(tail);
}

Status read_segment(Io& io, IoQueue& queue, const std::string& directory, const StoreUuid& uuid,
                    uint64_t seq, Lsn last, const FrameVisitor& visit) {
  const std::string log_directory = directory + "/" + std::string(log_directory_name);
  WQ_TRY_SET(LogSegment segment, load_segment(io, queue, log_directory, uuid, seq));
  bool reached = false;
  // What lies behind the last one may change under the reader, so the walk stops there.
  const FrameVisitor until_last = [&](const ScannedFrame& frame) -> Status {
    WQ_TRY(visit(frame));
    reached = frame.type == static_cast<uint16_t>(FrameType::record) && frame.lsn == last;
    return reached ? Code::cancelled : Code::ok;
  };
  TornTail tail;
  Status status = walk_segment(io, queue, segment, nullptr, &tail, until_last);
  if (reached) return Code::ok;
  WQ_TRY(std::move(status));
  return corrupt_at(seq, segment.end, missing_text(segment.last_lsn + 1, last));
}

}  // namespace wq
