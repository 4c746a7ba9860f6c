// Opening a log one of whose files is anything at all: it opens, with records that can be replayed,
// or is refused as CORRUPT or VERSION. The file is the only, the first, the middle or the last one
// of a sound log; either the input's bytes as they are, or the sound file with bytes of it changed,
// its checksums put right or not. Room for a record is only made where the file has one.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/hash.h"
#include "fuzz_check.h"
#include "input.h"
#include "io/frame.h"
#include "io/segment.h"
#include "io/segment_log.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

namespace wq {
namespace {

using FileBytes = std::vector<std::byte>;

constexpr uint64_t header_hash_seed = 0x77712d7365676d74;  // "wq-segmt"

LogOptions log_options() {
  LogOptions options;
  options.directory = "store";
  options.segment_bytes = segment_bytes_min;
  options.spare_segments = 0;
  options.uuid[0] = std::byte{7};
  return options;
}

std::string path_of(uint64_t seq) {
  return "store/" + segment_label(seq);
}

// Three segments of 16 KiB, closed in order.
const std::vector<FileBytes>& sound_log() {
  static const std::vector<FileBytes> files = [] {
    SimDisk disk;
    const auto io = disk.mount();
    ManualClock clock;
    FUZZ_CHECK(io->make_dir("store").ok());
    auto log = SegmentLog::open(*io, clock, log_options());
    FUZZ_CHECK(log.ok());
    Lsn last = 0;
    for (int i = 0; i < 24; ++i) {
      last = log.value()->append(as_bytes(std::string(1'200, static_cast<char>('a' + i)))).value();
      FUZZ_CHECK(log.value()->wait(last, Durability::power, -1).ok());
    }
    FUZZ_CHECK(log.value()->close().ok());
    std::vector<FileBytes> out;
    for (uint64_t seq = 1; disk.has_file(path_of(seq)); ++seq) {
      out.push_back(disk.read_file(path_of(seq)));
    }
    FUZZ_CHECK(out.size() >= 3);
    return out;
  }();
  return files;
}

void put_checksums_right(FileBytes& file, uint64_t seq) {
  if (file.size() < segment_header_bytes) return;
  constexpr size_t at_hash = segment_header_bytes - sizeof(uint64_t);
  store_le<uint64_t>(file.data() + at_hash, hash64({file.data(), at_hash}, header_hash_seed));
  const uint64_t seed = frame_seed(log_options().uuid, seq);
  for (size_t at = segment_header_bytes; at + frame_header_bytes <= file.size();) {
    std::byte* const frame = file.data() + at;
    const uint64_t bytes = frame_encoded_bytes(frame);
    frame_seal(frame, seed, load_le<uint64_t>(frame + 24));
    if (bytes > file.size() - at) return;
    at += static_cast<size_t>(bytes);
    if (load_le<uint64_t>(file.data() + std::min(at, file.size() - 8)) == 0) {
      at = (at + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
    }
  }
}

FileBytes made_up(Input& input, const FileBytes& sound, uint64_t seq) {
  const uint8_t how = input.byte();
  FileBytes file;
  if (how & 1) {
    const std::string raw = input.rest();
    file.assign(as_bytes(raw).begin(), as_bytes(raw).end());
  } else {
    file = sound;
    while (!input.empty()) {
      const auto at = input.take<uint16_t>() % file.size();
      file[at] = static_cast<std::byte>(input.byte());
    }
  }
  if (how & 2) put_checksums_right(file, seq);
  if (how & 4) file.resize(file.size() / 2);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const std::vector<FileBytes>& sound = sound_log();
  const uint8_t which = input.byte() % 4;  // only, first, middle, last
  const size_t changed = which <= 1 ? 0 : which == 2 ? 1 : sound.size() - 1;
  SimDisk disk;
  const auto io = disk.mount();
  FUZZ_CHECK(io->make_dir("store").ok() && io->make_dir("store/log").ok());
  for (size_t i = 0; i < sound.size(); ++i) {
    if (which == 0 && i != 0) break;
    const uint64_t seq = i + 1;
    disk.write_file(path_of(seq), i == changed ? made_up(input, sound[i], seq) : sound[i]);
  }
  ManualClock clock;
  auto opened = SegmentLog::open(*io, clock, log_options());
  if (!opened.ok()) {
    const Code code = opened.status().code();
    FUZZ_CHECK(code == Code::corrupt || code == Code::version);
    return 0;
  }
  SegmentLog& log = *opened.value();
  const LogRecovery recovery = log.recovery();
  Lsn expected = recovery.first_lsn;
  if (expected != 0) {
    const Status replayed = log.replay(expected, [&](Lsn lsn, Bytes) -> Status {
      FUZZ_CHECK(lsn == expected++);
      return {};
    });
    FUZZ_CHECK(replayed.ok());
    FUZZ_CHECK(expected == recovery.last_lsn + 1);
  }
  // What opened can be written to.
  const auto appended = log.append(as_bytes(std::string("more")));
  FUZZ_CHECK(appended.ok() && appended.value() == recovery.last_lsn + 1);
  FUZZ_CHECK(log.wait(appended.value(), Durability::power, -1).ok());
  FUZZ_CHECK(log.close().ok());
  return 0;
}

}  // namespace wq
