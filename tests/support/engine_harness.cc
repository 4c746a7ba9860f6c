#include "support/engine_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace wq {
namespace {

std::string make_temp_directory() {
  const char* base = std::getenv("TEST_TMPDIR");
  const std::filesystem::path root = base ? base : std::filesystem::temp_directory_path();
  std::filesystem::create_directories(root);
  std::string pattern = (root / "wq_engine_XXXXXX").string();
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

std::vector<std::string> names_outside_of_db(const std::string& directory) {
  std::vector<std::string> names;
  for (auto entry = std::filesystem::recursive_directory_iterator(directory);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    if (entry->path().filename() == "db") entry.disable_recursion_pending();
    names.push_back(entry->path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Threads of the engine may still finish a spare segment or a write. A copy during which a file
// came, went or was renamed is none of one moment, and is made again; a file that only grows gives
// a prefix, as a kill does.
void copy_outside_of_db(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  constexpr int attempts_max = 1'000;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    std::error_code error;
    fs::remove_all(to);
    fs::create_directory(to);
    const std::vector<std::string> before = names_outside_of_db(from);
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      const fs::path name = entry.path().filename();
      if (name == "db" || error) continue;
      fs::copy(entry.path(), to / name, fs::copy_options::recursive, error);
    }
    if (!error && names_outside_of_db(from) == before) return;
  }
  ADD_FAILURE() << "the files of " << from << " never come to rest";
}

}  // namespace

EngineHarness::EngineHarness(HarnessOptions options)
    : options_(std::move(options)), content_(make_mem_store_content()) {
  if (options_.store != StoreKind::rocks) {
    directory_ = "store";
    io_ = disk_.mount();
    if (options_.store == StoreKind::sim_rocks) rocks_ = std::make_unique<SimRocks>(disk_);
    return;
  }
  directory_ = make_temp_directory() + "/store";
  Result<std::unique_ptr<Io>> io = make_io(options_.backend);
  EXPECT_TRUE(io.ok()) << io.status().message();
  io_ = std::move(io).value();
}

EngineHarness::~EngineHarness() {
  engine_.reset();
  old_directories_.push_back(directory_);
  if (options_.store != StoreKind::rocks) return;
  for (const std::string& directory : old_directories_) {
    std::filesystem::remove_all(std::filesystem::path(directory).parent_path());
  }
}

Environment EngineHarness::environment() {
  Environment environment;
  environment.io = io_.get();
  environment.clock = options_.clock ? options_.clock : &clock_;
  environment.keyring = options_.keyring;
  if (options_.store != StoreKind::rocks) environment.entropy = [] { return uint64_t{7}; };
  environment.between_steps = options_.between_steps;
  environment.page_was_read = options_.page_was_read;
  if (options_.store == StoreKind::memory) {
    environment.open_store =
        [content = content_, wrap = options_.wrap_store, refuse = options_.refuse_store](
            const StoreOptions& store_options) -> Result<std::unique_ptr<Store>> {
      if (refuse && !store_options.read_only) WQ_TRY(refuse());
      WQ_TRY_SET(std::unique_ptr<Store> store, open_mem_store(content));
      return wrap ? wrap(std::move(store), content) : std::move(store);
    };
  }
  if (options_.store == StoreKind::sim_rocks) {
    environment.open_store = [this](const StoreOptions& store_options) {
      StoreOptions given = store_options;
      given.batch_rows_max = options_.batch_rows_max;
      return rocks_->open(given);
    };
  }
  return environment;
}

Status EngineHarness::open() {
  options_.engine.directory = directory_;
  Result<std::unique_ptr<Engine>> opened = Engine::open(options_.engine, environment());
  if (!opened.ok()) return opened.take_status();
  engine_ = std::move(opened).value();
  return {};
}

Status EngineHarness::close() {
  const Status status = engine_->close();
  engine_.reset();
  return status;
}

Status EngineHarness::kill_and_open() {
  if (options_.store != StoreKind::rocks) {
    // Disk and store are copied one after the other: no checkpoint may come in between.
    if (options_.engine.threads) {
      engine_->poison("killed by the test");
      EXPECT_EQ(engine_->checkpoint().code(), Code::poisoned);
    }
    return cut_and_open(CrashImage{CrashData::all, CrashNames::all});
  }
  // What lies outside of RocksDB's directory is copied as another process would find it after a
  // kill: every byte that the kernel was given, none that was only in the memory of the engine.
  // RocksDB would go on changing its files under a copy, and what it acknowledged is on the disk
  // anyway: its directory is taken over once it is closed. A poisoned engine begins no checkpoint
  // any more, and asking for one waits for the one under way: after the copy of the log the
  // database must not get ahead of it.
  namespace fs = std::filesystem;
  engine_->poison("killed by the test");
  EXPECT_EQ(engine_->checkpoint().code(), Code::poisoned);
  const std::string copy = make_temp_directory() + "/store";
  copy_outside_of_db(directory_, copy);
  engine_.reset();
  fs::rename(fs::path(directory_) / "db", fs::path(copy) / "db");
  old_directories_.push_back(std::exchange(directory_, copy));
  return open();
}

Status EngineHarness::cut_and_open(const CrashImage& image) {
  EXPECT_NE(options_.store, StoreKind::rocks);
  SimDisk after = disk_.image(image);
  std::shared_ptr<MemStoreContent> content = copy_mem_store_content(*content_);
  engine_.reset();
  io_.reset();
  rocks_.reset();
  disk_ = std::move(after);
  content_ = std::move(content);
  io_ = disk_.mount();
  if (options_.store == StoreKind::sim_rocks) rocks_ = std::make_unique<SimRocks>(disk_);
  return open();
}

// ---- shorthand

QueueId EngineHarness::queue(std::string_view name, const QueueConfig& config, uint32_t fields) {
  CallOptions call;
  Result<QueueId> id = engine_->open_queue(name, config, fields, true, call);
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? id.value() : 0;
}

JobId EngineHarness::enqueue(QueueId queue, std::string_view payload, const JobSpec& spec) {
  JobSpec full = spec;
  full.payload = as_bytes(payload);
  CallOptions call;
  JobId id = 0;
  const Status status = engine_->enqueue(queue, full, call, id);
  EXPECT_TRUE(status.ok()) << status.message();
  return id;
}

std::vector<JobView> EngineHarness::lease(QueueId queue, uint32_t max_jobs, int64_t lease_ms) {
  LeaseRequest request;
  request.queues = std::span(&queue, 1);
  request.max_jobs = max_jobs;
  request.lease_ms = lease_ms;
  CallOptions call;
  std::vector<JobView> jobs;
  const Status status = engine_->lease(request, call, jobs);
  EXPECT_FALSE(status.is_error()) << status.message();
  EXPECT_EQ(status.ok(), !jobs.empty());
  return jobs;
}

Code EngineHarness::settle(QueueId queue, const SettleItem& item) {
  CallOptions call;
  Code code = Code::internal;
  const Status status = engine_->settle(queue, std::span(&item, 1), call, std::span(&code, 1));
  return status.ok() ? code : status.code();
}

Code EngineHarness::ack(QueueId queue, JobId id, Generation generation) {
  SettleItem item;
  item.id = id;
  item.generation = generation;
  return settle(queue, item);
}

Code EngineHarness::nack(QueueId queue, JobId id, Generation generation, int64_t delay_ms,
                         uint8_t flags, std::string_view error) {
  SettleItem item;
  item.id = id;
  item.generation = generation;
  item.kind = SettleKind::nack;
  item.delay_ms = delay_ms;
  item.flags = flags;
  item.error = error;
  return settle(queue, item);
}

void EngineHarness::tick() {
  for (;;) {
    Result<int64_t> next = engine_->tick();
    ASSERT_TRUE(next.ok()) << next.status().message();
    if (next.value() > 0) return;
  }
}

void EngineHarness::advance(int64_t ms) {
  clock_.advance(ms);
  tick();
}

void EngineHarness::expect_sound() {
  Result<VerifyReport> report = engine_->verify();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
}

std::string payload_of(const JobView& job) {
  return std::string(as_text(trusted_payload(job.body.bytes())));
}

}  // namespace wq
