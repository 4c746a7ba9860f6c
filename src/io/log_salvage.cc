#include "io/log_salvage.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "io/frame.h"
#include "io/segment.h"
#include "io/segment_reader.h"

namespace wq {
namespace {

constexpr size_t uuid_offset = 16;  // in the header block

struct FoundFrame {
  Lsn lsn = 0;
  uint64_t offset = 0;
  uint32_t body_bytes = 0;
};

struct SegmentFrames {
  SegmentHeader header;
  std::vector<FoundFrame> frames;  // by LSN
  Lsn begins = 0;                  // records of earlier segments from here on are dead
};

std::string path_of(const std::string& directory, uint64_t seq) {
  return directory + "/" + segment_label(seq);
}

Status read_header(Io& io, IoQueue& queue, const std::string& directory, DamagedSegment& segment,
                   SegmentHeader& header) {
  WQ_TRY_SET(const auto reader,
             SegmentReader::open(io, queue, path_of(directory, segment.seq), segment_bytes_max));
  WQ_TRY_SET(const Bytes block, reader->view(0, segment_header_bytes));
  StoreUuid own{};
  if (block.size() >= segment_header_bytes) {
    std::memcpy(own.data(), block.data() + uuid_offset, own.size());
  }
  uint64_t hash = 0;
  WQ_TRY(segment_header_decode(block, own, segment.seq, &header, &hash));
  segment.uuid = own;
  segment.header_sound = true;
  return {};
}

// Every sound frame of one segment file, wherever it stands.
class FrameSearch {
 public:
  FrameSearch(SegmentReader& reader, DamagedSegment& segment, uint64_t seed)
      : reader_(reader), segment_(segment), seed_(seed) {}

  std::vector<FoundFrame> run() {
    for (uint64_t at = segment_header_bytes; at + frame_header_bytes <= reader_.file_bytes();) {
      at = step(at);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FoundFrame& a, const FoundFrame& b) { return a.lsn < b.lsn; });
    const auto same = [](const FoundFrame& a, const FoundFrame& b) { return a.lsn == b.lsn; };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    return std::move(found_);
  }

 private:
  // Looks at one place; the next one to look at.
  uint64_t step(uint64_t at) {
    Result<Bytes> head = reader_.view(at, frame_header_bytes);
    if (!head.ok()) return unreadable(at, head.status());
    FrameHeader header;
    if (frame_decode_header(head.value(), seed_, &header) != FrameVerdict::valid) {
      return at + frame_align_bytes;
    }
    const uint64_t whole = frame_header_bytes + uint64_t{header.body_bytes};
    if (at + whole > reader_.file_bytes()) return bad_body(at);
    Result<Bytes> frame = reader_.view(at, whole);
    if (!frame.ok()) return unreadable(at, frame.status());
    if (frame_decode(frame.value(), seed_, &header) != FrameVerdict::valid) return bad_body(at);
    if (header.type == FrameType::record) found_.push_back({header.lsn, at, header.body_bytes});
    return at + frame_bytes(header.body_bytes);
  }

  // Its length is sound, but what stands there is not: others may.
  uint64_t bad_body(uint64_t at) {
    if (segment_.bad_bodies++ == 0) segment_.first_bad_at = at;
    return at + frame_align_bytes;
  }

  uint64_t unreadable(uint64_t at, const Status& status) {
    if (segment_.problem.empty()) segment_.problem = status.message();
    return (at / io_block_bytes + 1) * io_block_bytes;
  }

  SegmentReader& reader_;
  DamagedSegment& segment_;
  const uint64_t seed_;
  std::vector<FoundFrame> found_;
};

// Records behind the place where the next segment says that this one ended, or with LSNs that a
// later one has again, were cut by an open.
void drop_dead_frames(std::vector<SegmentFrames>& segments) {
  Lsn begins = UINT64_MAX;
  for (size_t i = segments.size(); i > 0; --i) {
    SegmentFrames& segment = segments[i - 1];
    const SegmentFrames* const next = i < segments.size() ? &segments[i] : nullptr;
    const bool linked =
        next != nullptr && next->header.seq != 0 && next->header.prev_seq == segment.header.seq;
    std::erase_if(segment.frames, [&](const FoundFrame& frame) {
      return frame.lsn >= begins || (linked && frame.offset >= next->header.prev_end);
    });
    if (segment.begins == 0 && !segment.frames.empty()) segment.begins = segment.frames[0].lsn;
    if (segment.begins != 0) begins = std::min(begins, segment.begins);
  }
}

Status visit_frames(SegmentReader& reader, const SegmentFrames& frames, DamagedSegment& segment,
                    const std::function<Status(Lsn, Bytes)>& visit) {
  for (const FoundFrame& found : frames.frames) {
    Result<Bytes> body = reader.view(found.offset + frame_header_bytes, found.body_bytes);
    if (!body.ok()) {
      if (segment.problem.empty()) segment.problem = body.status().message();
      continue;
    }
    if (segment.records++ == 0) segment.first_lsn = found.lsn;
    segment.last_lsn = found.lsn;
    WQ_TRY(visit(found.lsn, body.value()));
  }
  return {};
}

}  // namespace

DamagedLog list_damaged_log(Io& io, const std::string& directory) {
  DamagedLog log;
  const auto names = io.list(directory + "/" + std::string(log_directory_name));
  auto queue = io.open_queue();
  if (!names.ok() || !queue.ok()) {
    log.problem = names.ok() ? queue.status().message() : names.status().message();
    return log;
  }
  std::map<StoreUuid, size_t> votes;
  for (const std::string& name : names.value()) {
    const auto seq = parse_segment_name(name);
    if (!seq) continue;
    DamagedSegment segment;
    segment.seq = *seq;
    segment.label = segment_label(*seq);
    SegmentHeader header;
    const Status status = read_header(io, *queue.value(), directory, segment, header);
    if (status.ok()) {
      ++votes[segment.uuid];
    } else {
      segment.problem = status.message();
    }
    log.segments.push_back(std::move(segment));
  }
  std::sort(log.segments.begin(), log.segments.end(),
            [](const DamagedSegment& a, const DamagedSegment& b) { return a.seq < b.seq; });
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != votes.end()) log.uuid = most->first;
  return log;
}

Status read_damaged_log(Io& io, const std::string& directory, const StoreUuid& uuid,
                        DamagedLog& log, const std::function<Status(Lsn, Bytes)>& visit) {
  WQ_TRY_SET(const auto queue, io.open_queue());
  std::vector<SegmentFrames> all(log.segments.size());
  const auto open = [&](size_t i) {
    const uint64_t told = all[i].header.segment_bytes;  // 0: its header could not be read
    return SegmentReader::open(io, *queue, path_of(directory, log.segments[i].seq),
                               told != 0 ? told : segment_bytes_max);
  };
  for (size_t i = 0; i < all.size(); ++i) {
    DamagedSegment& segment = log.segments[i];
    if (segment.header_sound && segment.uuid != uuid) {
      segment.problem = segment.label + ": belongs to another store";
      continue;
    }
    all[i].header.seq = segment.seq;
    if (segment.header_sound) {
      read_header(io, *queue, directory, segment, all[i].header).ignore("was read before");
      all[i].begins = all[i].header.first_lsn;
    }
    const auto reader = open(i);
    if (!reader.ok()) {
      segment.problem = reader.status().message();
      continue;
    }
    all[i].frames = FrameSearch(*reader.value(), segment, frame_seed(uuid, segment.seq)).run();
  }
  drop_dead_frames(all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].frames.empty()) continue;
    WQ_TRY_SET(const auto reader, open(i));
    WQ_TRY(visit_frames(*reader, all[i], log.segments[i], visit));
  }
  return {};
}

}  // namespace wq
