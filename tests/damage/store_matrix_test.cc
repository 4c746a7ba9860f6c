// The damage matrix of a whole store, through open: our log and FORMAT file on the simulated disk,
// RocksDB's files on the real one. The outcome is always one of two: it opens with everything
// before the damage, says what was dropped, and a full scan finds it sound; or it is refused with
// the file. What lies in RocksDB's tables is read when it is needed: there the refusal may come
// with the first read, but never a wrong job and never one less.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "base/prng.h"
#include "damage/store_picture.h"
#include "engine/salvage.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq {
namespace {

namespace fs = std::filesystem;
using ByteVector = std::vector<std::byte>;

// ---- our own files

// A store of one segment without a checkpoint, and what it held after each record.
struct LoggedStore {
  SimDisk disk;
  std::map<Lsn, Picture> pictures;
  JobId last_job = 8;
};

void script(EngineHarness& harness, const std::function<void()>& note) {
  const QueueId q = harness.queue("q");
  note();
  for (int i = 0; i < 5; ++i) {
    JobSpec spec;
    spec.delay_ms = i == 4 ? 60'000 : 0;
    harness.enqueue(q, "payload " + std::to_string(i), spec);
    note();
  }
  const std::vector<JobView> jobs = harness.lease(q, 3);
  note();
  harness.ack(q, jobs[0].id, jobs[0].generation);
  note();
  harness.nack(q, jobs[1].id, jobs[1].generation, 0, 0, "no");
  note();
}

LoggedStore logged_store(bool closed) {
  EngineHarness harness(small_store());
  EXPECT_TRUE(harness.open().ok());
  LoggedStore store{SimDisk(1), {}};
  const auto note = [&] {
    store.pictures[harness.engine().stats().last_lsn] = picture(harness.engine(), store.last_job);
  };
  note();
  script(harness, note);
  SimDisk killed = harness.disk().image({CrashData::all, CrashNames::all, 512, 1});
  const Lsn last = store.pictures.rbegin()->first;
  EXPECT_TRUE(harness.close().ok());
  // The records of the end change no job.
  for (Lsn lsn = last + 1; lsn < last + 4; ++lsn) store.pictures[lsn] = store.pictures[last];
  store.disk = closed ? harness.disk().copy() : std::move(killed);
  return store;
}

struct Tally {
  size_t whole = 0, cut = 0, refused = 0;
};

// `silent`: zeros up to the end may be the end; log_matrix_test knows where frames begin and says
// when they may.
void judge(const LoggedStore& store, SimDisk& disk, const std::string& what, bool silent,
           Tally& tally) {
  const std::unique_ptr<Io> io = disk.mount();
  ManualClock clock;
  HarnessOptions options = small_store();
  options.engine.directory = "store";
  options.engine.create = false;
  Result<std::unique_ptr<Engine>> opened = Engine::open(options.engine, log_only(*io, clock));
  if (!opened.ok()) {
    ++tally.refused;
    ASSERT_TRUE(opened.status().code() == Code::corrupt ||
                opened.status().code() == Code::version ||
                opened.status().code() == Code::not_found)
        << what << ": " << opened.status().message();
    ASSERT_TRUE(opened.status().message().find("log/0000") != std::string::npos ||
                opened.status().message().find("FORMAT") != std::string::npos)
        << what << ": " << opened.status().message();
    return;
  }
  Engine& engine = *opened.value();
  const Recovery found = engine.recovery();
  const auto expected = store.pictures.find(found.log.last_lsn);
  const Picture nothing;
  ASSERT_TRUE(picture(engine, store.last_job) ==
              (expected == store.pictures.end() ? nothing : expected->second))
      << what << ": not the state as of record " << found.log.last_lsn;
  const Lsn all = store.pictures.rbegin()->first - 3;
  if (found.log.last_lsn >= all) {
    ++tally.whole;
  } else {
    ++tally.cut;
    ASSERT_TRUE(silent || !found.log.truncated_where.empty()) << what << ": dropped in silence";
  }
  const Result<VerifyReport> report = engine.verify();
  ASSERT_TRUE(report.ok()) << what << ": " << report.status().message();
  ASSERT_EQ(report.value().problems, 0u) << what << ": " << report.value().first_problem;
}

// What is salvaged of a damaged disk: a sound store, and every job right that is in it.
void salvage(const LoggedStore& store, SimDisk& disk, const std::string& what, size_t lost_max) {
  const std::unique_ptr<Io> io = disk.mount();
  ManualClock clock;
  Environment environment;
  environment.io = io.get();
  environment.clock = &clock;
  environment.open_store = [content = make_mem_store_content()](const StoreOptions&) {
    return open_mem_store(content);
  };
  const SalvageOptions options{"store", "new", "scratch", small_store().engine};
  const std::vector<std::string> before = disk.files();
  const Result<SalvageReport> report = salvage_store(options, environment, {});
  if (!report.ok() && report.status().code() == Code::version) return;  // a flip made it newer
  ASSERT_TRUE(report.ok()) << what << ": " << report.status().message();
  for (const std::string& path : before) ASSERT_TRUE(disk.has_file(path)) << what << ": " << path;
  EngineOptions engine_options = small_store().engine;
  engine_options.directory = "new";
  engine_options.create = false;
  Result<std::unique_ptr<Engine>> opened = Engine::open(engine_options, environment);
  ASSERT_TRUE(opened.ok()) << what << ": " << opened.status().message();
  const Result<VerifyReport> verified = opened.value()->verify();
  ASSERT_TRUE(verified.ok() && verified.value().problems == 0) << what;
  const Picture found = picture(*opened.value(), store.last_job);
  ASSERT_EQ(found.size(), report.value().jobs_found) << what;
  for (const auto& [id, text] : found) {
    ASSERT_NE(text.find("payload " + std::to_string(id - 1) + "'"), std::string::npos)
        << what << ": " << text;
  }
  size_t lost = 0;
  for (const auto& [id, text] : store.pictures.rbegin()->second) lost += found.contains(id) ? 0 : 1;
  ASSERT_LE(lost, lost_max) << what;
}

std::string segment_of(const SimDisk& disk) {
  for (const std::string& path : disk.files()) {
    if (path.find("/log/0") != std::string::npos) return path;
  }
  return {};
}

TEST(StoreMatrix, LogAndFormatFile) {
  Prng prng(test_seed());
  const size_t sample = scaled<size_t>(5, 1, 25);
  for (const bool closed : {false, true}) {
    LoggedStore store = logged_store(closed);
    for (const std::string& path : {segment_of(store.disk), std::string("store/FORMAT")}) {
      const ByteVector good = store.disk.read_file(path);
      size_t used = good.size();
      while (used > 0 && good[used - 1] == std::byte{0}) --used;
      Tally tally;
      for (size_t at = 0; at < used && !HasFatalFailure(); ++at) {
        if (good[at] == std::byte{0} && at % 97 != 0) continue;
        const uint64_t bit = prng.below(8);
        for (int change = 0; change < 3; ++change) {
          if (change != 0 && at % sample != 0) continue;
          ByteVector bytes = good;
          if (change == 0) bytes[at] ^= std::byte{1} << bit;
          if (change == 1) bytes.resize(at);
          if (change == 2)
            std::fill(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), std::byte{0});
          SimDisk disk = store.disk.copy();
          disk.write_file(path, bytes);
          judge(store, disk,
                path + " at " + std::to_string(at) + " change " + std::to_string(change) + " bit " +
                    std::to_string(bit),
                change == 2, tally);
          if (at % sample == 0) {
            SimDisk again = store.disk.copy();
            again.write_file(path, bytes);
            // One bit spoils one record, and that has one job at most; the header has none.
            const bool one = change == 0 || path.ends_with("FORMAT");
            salvage(store, again, path + " at " + std::to_string(at), !one ? SIZE_MAX : 1);
          }
        }
      }
      SimDisk disk = store.disk.copy();
      disk.remove_file(path);
      if (path.ends_with("FORMAT")) {
        judge(store, disk, path + " removed", false, tally);
      }
      std::printf("%s, %s: %zu opened whole, %zu cut, %zu refused\n", path.c_str(),
                  closed ? "closed" : "killed", tally.whole, tally.cut, tally.refused);
      EXPECT_GT(tally.refused, 20u);
    }
  }
}

// ---- RocksDB's files

// In one read: the stores are compared byte for byte some thousand times.
std::string read_text(const fs::path& path) {
  std::string text(fs::file_size(path), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

ByteVector read_bytes(const fs::path& path) {
  const std::string text = read_text(path);
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

void write_bytes(const fs::path& path, const ByteVector& bytes) {
  std::ofstream(path, std::ios::binary) << as_text(bytes);
}

std::string kind_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (path.extension() == ".sst" || path.extension() == ".blob" || path.extension() == ".log") {
    return path.extension().string();
  }
  return name.substr(0, name.find('-'));  // CURRENT, MANIFEST, OPTIONS, IDENTITY, LOCK
}

constexpr uint64_t hole_bytes = uint64_t{1} << 40;

struct ColdTally {
  size_t whole = 0, refused_at_open = 0, refused_at_replay = 0, refused_at_read = 0;
};

class ColdMatrix {
 public:
  // `tail`: the log has changes that a replay has to read jobs for.
  explicit ColdMatrix(bool tail = false) : harness_(small_options()) {
    fill_store(harness_, true, tail, at_rest_);
    static int number = 0;
    root_ = fast_directory("cold-matrix-" + std::to_string(++number));
    fs::copy(harness_.directory(), root_ + "/good", fs::copy_options::recursive);
  }
  ~ColdMatrix() { fs::remove_all(root_); }

  static HarnessOptions small_options() {
    HarnessOptions options = small_store(StoreKind::rocks);
    options.engine.segment_bytes = 64 * 1024;
    options.engine.spare_segments = 0;
    return options;
  }

  std::vector<fs::path> files(const std::string& directory = "db") const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root_ + "/good/" + directory)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // `bytes` null: the file is removed.
  void run(const fs::path& file, const ByteVector* bytes, const std::string& what) {
    run(file, what, [bytes](const fs::path& victim) {
      fs::remove(victim);
      if (bytes) write_bytes(victim, *bytes);
    });
  }

  void run(const fs::path& file, const std::string& what,
           const std::function<void(const fs::path&)>& damage) {
    const std::string copy = root_ + "/store";
    fs::remove_all(copy);
    fs::copy(root_ + "/good", copy, fs::copy_options::recursive);
    damage(copy / fs::relative(file, root_ + "/good"));
    salvage(copy, what, kind_of(file));
    judge(copy, what, tallies_[kind_of(file)]);
  }

  void print() const {
    for (const auto& [kind, tally] : tallies_) {
      std::printf("%s: %zu whole, %zu refused at open, %zu refused at the read\n", kind.c_str(),
                  tally.whole, tally.refused_at_open, tally.refused_at_read);
    }
    for (const auto& [kind, tally] : salvaged_) {
      std::printf(
          "%s: %zu salvaged; of %zu jobs lost %zu in all, %zu at most; %zu older, %zu too many\n",
          kind.c_str(), tally.runs, at_rest_.jobs.size(), tally.lost, tally.lost_max, tally.older,
          tally.more);
    }
  }
  const std::map<std::string, ColdTally>& tallies() const { return tallies_; }
  const std::string& told() const { return told_; }  // by the last salvage

 private:
  void judge(const std::string& directory, const std::string& what, ColdTally& tally) {
    Result<std::unique_ptr<Io>> io = make_io();
    ASSERT_TRUE(io.ok());
    EngineOptions options = harness_.options().engine;
    options.directory = directory;
    options.create = false;
    Environment environment;
    environment.io = io.value().get();
    environment.clock = &harness_.clock();
    const std::map<std::string, std::string> before = contents_of(directory);
    Result<std::unique_ptr<Engine>> opened = Engine::open(options, environment);
    if (!opened.ok()) {
      ++tally.refused_at_open;
      if (opened.status().message().starts_with("log record")) ++tally.refused_at_replay;
      ASSERT_TRUE(contents_of(directory) == before) << what << ": a refused open has written";
      EXPECT_EQ(opened.status().code(), Code::corrupt) << what << ": " << opened.status().message();
      return;
    }
    Engine& engine = *opened.value();
    Status failure;
    const Picture found = picture(engine, at_rest_.last_job, &failure);
    for (const auto& [id, text] : found) {
      const auto expected = at_rest_.jobs.find(id);
      ASSERT_TRUE(expected != at_rest_.jobs.end() && text == expected->second)
          << what << ": job " << id << " is not as it was: " << text;
    }
    const Result<VerifyReport> report = engine.verify();
    const bool sound = report.ok() && report.value().problems == 0;
    if (found == at_rest_.jobs && sound) {
      ++tally.whole;
      return;
    }
    ++tally.refused_at_read;
    ASSERT_FALSE(sound) << what << ": a job is missing and the full scan finds nothing";
    if (!report.ok()) {
      EXPECT_EQ(report.status().code(), Code::corrupt) << what << report.status().message();
    }
    if (found != at_rest_.jobs) {
      EXPECT_EQ(failure.code(), Code::corrupt) << what << ": a job is missing without a word";
    }
  }

  // Without its files that hold rows nothing is lost, and nothing is doubtful.
  void salvage(const std::string& directory, const std::string& what, const std::string& kind) {
    Result<std::unique_ptr<Io>> io = make_io();
    ASSERT_TRUE(io.ok());
    Environment environment;
    environment.io = io.value().get();
    environment.clock = &harness_.clock();
    SalvageOptions options{directory, root_ + "/new", root_ + "/scratch",
                           harness_.options().engine};
    fs::remove_all(options.new_directory);
    const std::map<std::string, std::string> before = contents_of(directory);
    std::string& told = told_;
    told.clear();
    const Result<SalvageReport> report =
        salvage_store(options, environment, [&](const SalvageFinding& finding) -> Status {
          told += finding.where + " " + finding.queue + ": " + finding.what + "\n";
          return {};
        });
    ASSERT_TRUE(report.ok()) << what << ": " << report.status().message();
    ASSERT_TRUE(contents_of(directory) == before) << what << ": the damaged store was changed";
    ASSERT_FALSE(fs::exists(options.scratch)) << what;
    EngineOptions engine_options = harness_.options().engine;
    engine_options.directory = options.new_directory;
    engine_options.create = false;
    Result<std::unique_ptr<Engine>> opened = Engine::open(engine_options, environment);
    ASSERT_TRUE(opened.ok()) << what << ": " << opened.status().message();
    const Result<VerifyReport> verified = opened.value()->verify();
    ASSERT_TRUE(verified.ok() && verified.value().problems == 0) << what;
    const Picture found = picture(*opened.value(), at_rest_.last_job);
    size_t lost = 0;
    size_t wrong = 0;
    for (const auto& [id, text] : at_rest_.jobs) {
      const auto there = found.find(id);
      if (there == found.end()) {
        ++lost;
      } else if (moved(there->second) != moved(text)) {
        ++wrong;
      }
    }
    size_t more = 0;
    for (const auto& [id, text] : found) more += at_rest_.jobs.contains(id) ? 0 : 1;
    SalvageTally& tally = salvaged_[kind];
    ++tally.runs;
    tally.lost_max = std::max(tally.lost_max, lost);
    tally.lost += lost;
    tally.older += wrong;
    tally.more += more;
    const bool rows = kind == ".sst" || kind == ".blob" || kind == ".log" || kind == "MANIFEST" ||
                      kind == "log" || kind == "db";
    if (!rows) {
      ASSERT_EQ(lost + wrong + more, 0u) << what << "\n" << told;
    }
    if (lost + wrong + more > 0) {
      ASSERT_GT(report.value().damages, 0u) << what << "\n" << told;
    }
    if (lost > 0) {
      ASSERT_TRUE(report.value().jobs_lost > 0 || told.find("family meta") == std::string::npos ||
                  told.find("are missing") != std::string::npos ||
                  told.find("there is no segment") != std::string::npos ||
                  told.find("not read") != std::string::npos)
          << what << " lost " << lost << "\n"
          << told;
    }
    if (std::getenv("WQ_TELL") != nullptr) {
      std::printf("%s: lost %zu older %zu more %zu\n%s\n", what.c_str(), lost, wrong, more,
                  told.c_str());
    }
  }

  // An import makes leased and running jobs ready.
  static std::string moved(std::string text) {
    for (const char* state : {" state 3 ", " state 4 "}) {
      const size_t at = text.find(state);
      if (at != std::string::npos) text.replace(at, 9, " state 1 ");
    }
    return text;
  }

  static std::map<std::string, std::string> contents_of(const std::string& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.path().filename() == "LOCK" || !entry.is_regular_file()) continue;
      if (entry.file_size() > hole_bytes) continue;
      contents[entry.path().string()] = read_text(entry.path());
    }
    return contents;
  }

  struct SalvageTally {
    size_t runs = 0, lost = 0, lost_max = 0, older = 0, more = 0;
  };

  EngineHarness harness_;
  StoreAtRest at_rest_;
  std::map<std::string, SalvageTally> salvaged_;
  std::string told_;
  std::string root_;
  std::map<std::string, ColdTally> tallies_;
};

// Where the records of a manifest begin: crc (4), length (2), type (1), bytes. All in one block.
// The format: https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format
std::vector<size_t> manifest_records(const ByteVector& bytes) {
  std::vector<size_t> begins;
  for (size_t at = 0; at + 7 <= bytes.size();) {
    begins.push_back(at);
    at +=
        7 + std::to_integer<size_t>(bytes[at + 4]) + (std::to_integer<size_t>(bytes[at + 5]) << 8);
  }
  return begins;
}

// A length beyond the end of the file is that of a record whose writer died: RocksDB drops it and
// all behind it without a word.
TEST(StoreMatrix, EachLengthOfTheManifest) {
  ColdMatrix matrix;
  size_t records = 0;
  for (const fs::path& file : matrix.files()) {
    if (kind_of(file) != "MANIFEST") continue;
    const ByteVector good = read_bytes(file);
    for (const size_t at : manifest_records(good)) {
      ByteVector bytes = good;
      bytes[at + 5] ^= std::byte{0x40};
      matrix.run(file, &bytes, file.filename().string() + " length at " + std::to_string(at));
      ++records;
    }
  }
  EXPECT_GT(records, family_count);
  matrix.print();
}

// No checksum covers the footer of a table: 53 bytes that say where its index is and what kind of
// checksum its blocks have.
TEST(StoreMatrix, EachBitOfAFooter) {
  Prng prng(test_seed());
  constexpr size_t footer_bytes = 53;
  const size_t step = scaled<size_t>(97, 1, 211);
  ColdMatrix matrix;
  for (const fs::path& file : matrix.files()) {
    if (kind_of(file) != ".sst") continue;
    const ByteVector good = read_bytes(file);
    for (size_t bit = prng.below(step); bit < footer_bytes * 8; bit += step) {
      ByteVector bytes = good;
      bytes[good.size() - footer_bytes + bit / 8] ^= std::byte{1} << (bit % 8);
      matrix.run(file, &bytes, file.filename().string() + " footer bit " + std::to_string(bit));
    }
  }
  matrix.print();
}

// A FIFO would block the open for ever, and a device and a hole have no end in sight. One table is
// as good as another for a sanitizer.
TEST(StoreMatrix, WhatIsNoFileOrHasNoEnd) {
  ColdMatrix matrix;
  std::vector<fs::path> files = matrix.files("log");
  std::map<std::string, size_t> of_kind;
  for (const fs::path& file : matrix.files()) {
    const size_t earlier = of_kind[kind_of(file)]++;
    if (kind_of(file) != "LOCK" && earlier < scaled<size_t>(1'000, 1'000, 1)) files.push_back(file);
  }
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    matrix.run(file, name + " is a FIFO", [](const fs::path& victim) {
      fs::remove(victim);
      ASSERT_EQ(::mkfifo(victim.c_str(), 0600), 0);
    });
    matrix.run(file, name + " is a device", [](const fs::path& victim) {
      fs::remove(victim);
      fs::create_symlink("/dev/zero", victim);
    });
    matrix.run(file, name + " is a directory", [](const fs::path& victim) {
      fs::remove(victim);
      fs::create_directory(victim);
    });
    matrix.run(file, name + " has a hole behind it",
               [](const fs::path& victim) { fs::resize_file(victim, hole_bytes + 1); });
    matrix.run(file, name + " is a hole", [](const fs::path& victim) {
      fs::resize_file(victim, 0);
      fs::resize_file(victim, hole_bytes + 1);
    });
  }
  matrix.print();
}

// RocksDB goes on behind the greatest number that it finds, and asserts that none is 0.
TEST(StoreMatrix, NamesThatRocksDbNeverMade) {
  ColdMatrix matrix;
  for (const char* name : {"000000.log", "18446744073709551615.log", "18446744073709551615.sst",
                           "99999999999999999999.sst", "MANIFEST-18446744073709551615"}) {
    matrix.run(matrix.files().front().parent_path() / name, std::string(name) + " is there",
               [](const fs::path& added) { write_bytes(added, ByteVector(100)); });
  }
  matrix.run(matrix.files().front().parent_path() / "000999.sst", "a directory is there",
             [](const fs::path& added) { fs::create_directories(added / "full"); });
  for (const auto& [kind, tally] : matrix.tallies()) {
    EXPECT_EQ(tally.refused_at_open + tally.refused_at_read, 0u) << kind;
  }
}

TEST(StoreMatrix, SalvageTellsOfALogWithoutSegments) {
  ColdMatrix matrix(true);
  matrix.run(matrix.files("log").front().parent_path(), "no segment", [](const fs::path& log) {
    fs::remove_all(log);
    fs::create_directory(log);
  });
  EXPECT_NE(matrix.told().find("there is no segment"), std::string::npos) << matrix.told();
}

TEST(StoreMatrix, SalvageTellsOfTheDatabaseOfAnotherStore) {
  ColdMatrix matrix;
  ColdMatrix other;
  matrix.run(matrix.files().front().parent_path(), "another's", [&](const fs::path& database) {
    fs::remove_all(database);
    fs::copy(other.files().front().parent_path(), database, fs::copy_options::recursive);
  });
  EXPECT_NE(matrix.told().find("belongs to another store"), std::string::npos) << matrix.told();
}

// The log is replayed before RocksDB may write.
TEST(StoreMatrix, ARefusedReplayHasWrittenNothing) {
  ColdMatrix matrix(true);
  for (const fs::path& file : matrix.files()) {
    if (kind_of(file) != ".sst") continue;
    ByteVector bytes = read_bytes(file);
    bytes[20] ^= std::byte{1};  // in its first block of rows
    matrix.run(file, &bytes, file.filename().string());
  }
  EXPECT_GT(matrix.tallies().at(".sst").refused_at_replay, 0u);
}

TEST(StoreMatrix, FilesOfTheColdStore) {
  const char* const only = std::getenv("WQ_FILES");  // a part of the names to damage
  Prng prng(test_seed());
  ColdMatrix matrix;
  for (const fs::path& file : matrix.files()) {
    const std::string name = file.filename().string();
    if (only != nullptr && name.find(only) == std::string::npos) continue;
    const ByteVector good = read_bytes(file);
    matrix.run(file, nullptr, name + " removed");
    const ByteVector empty;
    matrix.run(file, &empty, name + " emptied");
    const ByteVector zeros(good.size());
    matrix.run(file, &zeros, name + " zeroed");
    if (good.empty()) continue;
    // In even steps over the file: each kind of block of a table is met.
    const size_t flips = std::min<size_t>(good.size(), scaled<size_t>(14, 10'000, 4));
    for (size_t i = 0; i < flips && !HasFatalFailure(); ++i) {
      const size_t at = i * good.size() / flips + prng.below(good.size() / flips);
      ByteVector bytes = good;
      bytes[at] ^= std::byte{1} << prng.below(8);
      matrix.run(file, &bytes, name + " at " + std::to_string(at));
    }
    const size_t cuts = scaled<size_t>(4, 40, 2);
    for (size_t i = 1; i < cuts && !HasFatalFailure(); ++i) {
      ByteVector bytes = good;
      bytes.resize(good.size() * i / cuts);
      matrix.run(file, &bytes, name + " cut to " + std::to_string(bytes.size()));
    }
  }
  matrix.print();
  if (only != nullptr) return;
  const auto& tallies = matrix.tallies();
  for (const char* kind : {".sst", ".blob", ".log", "CURRENT", "MANIFEST", "OPTIONS", "IDENTITY"}) {
    EXPECT_TRUE(tallies.contains(kind)) << kind;
  }
}

}  // namespace
}  // namespace wq
