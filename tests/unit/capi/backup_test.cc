// Backups over wq.h: a round trip on the real disk, the report, cancelling both ways, and what is
// refused. What a backup holds is tested in tests/backup.
#include <filesystem>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiBackup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/capi-backup";
    std::filesystem::create_directories(root_);
    ASSERT_OK(wq_store_open((root_ + "/store").c_str(), nullptr, &store_, err()));
    ASSERT_OK(wq_queue_open(store_, "q", 1, nullptr, 0, &queue_, err()));
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = {"hello", 5};
    wq_enqueued done = WQ_ENQUEUED_INIT;
    ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, &done, err()));
    lsn_ = done.lsn;
  }
  void TearDown() override {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
    std::filesystem::remove_all(root_);
  }
  std::string in_root(const char* name) const { return root_ + "/" + name; }

  std::string root_;
  wq_store* store_ = nullptr;
  wq_queue* queue_ = nullptr;
  uint64_t lsn_ = 0;
};

TEST_F(CapiBackup, RoundTrip) {
  wq_backup_report made = WQ_BACKUP_REPORT_INIT, checked = made, restored = made;
  const std::string backup = in_root("backup");
  ASSERT_OK(wq_store_backup(store_, backup.c_str(), nullptr, &made, err()));
  EXPECT_EQ(made.lsn, lsn_);
  EXPECT_GT(made.files, 2u);
  EXPECT_GT(made.created_ms, 0);
  ASSERT_OK(wq_backup_verify(backup.c_str(), nullptr, &checked, err()));
  EXPECT_EQ(checked.bytes, made.bytes);
  EXPECT_EQ(checked.files, made.files);
  EXPECT_EQ(checked.created_ms, made.created_ms);
  ASSERT_OK(wq_backup_restore(backup.c_str(), in_root("new").c_str(), nullptr, &restored, err()));
  EXPECT_EQ(restored.lsn, made.lsn);

  wq_store* store = nullptr;
  ASSERT_OK(wq_store_open(in_root("new").c_str(), nullptr, &store, err()));
  wq_queue* queue = nullptr;
  ASSERT_OK(wq_queue_open(store, "q", 1, nullptr, WQ_QUEUE_NO_CREATE, &queue, err()));
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_lease(store, &queue, 1, nullptr, nullptr, nullptr, &batch, err()));
  wq_job job = WQ_JOB_INIT;
  ASSERT_OK(wq_batch_job(batch, 0, &job));
  EXPECT_EQ(std::string_view(static_cast<const char*>(job.payload.data), job.payload.len), "hello");
  wq_batch_free(&batch);
  wq_queue_close(&queue);
  wq_store_close(&store);
}

TEST_F(CapiBackup, ProgressCountsUpAndStops) {
  struct Seen {
    uint64_t last = 0, calls = 0, stop_at = 0;
  } seen;
  wq_backup_options options = WQ_BACKUP_OPTIONS_INIT;
  options.progress_ctx = &seen;
  options.progress = [](uint64_t done, uint64_t total, void* ctx) -> int32_t {
    Seen& s = *static_cast<Seen*>(ctx);
    EXPECT_GE(done, s.last);
    EXPECT_LE(done, total);
    s.last = done;
    return ++s.calls == s.stop_at ? 1 : 0;
  };
  ASSERT_OK(wq_store_backup(store_, in_root("whole").c_str(), &options, nullptr, err()));
  ASSERT_GT(seen.calls, 2u);
  seen = {0, 0, seen.calls - 1};
  EXPECT_CODE(WQ_CANCELLED,
              wq_store_backup(store_, in_root("cut").c_str(), &options, nullptr, err()));
  EXPECT_FALSE(std::filesystem::exists(in_root("cut")));
}

// The working directory of another one while a call is at work, where things have the same names.
class CapiBackupElsewhere : public CapiBackup {
 protected:
  static constexpr const char* names[] = {"made", "new", "new.restoring"};

  void SetUp() override {
    CapiBackup::SetUp();
    before_ = std::filesystem::current_path();
    elsewhere_ = in_root("elsewhere");
    std::filesystem::create_directories(elsewhere_);
    for (const char* const name : names) {
      ASSERT_OK(
          wq_store_backup(store_, (elsewhere_ + "/" + name).c_str(), nullptr, nullptr, err()));
    }
    std::filesystem::current_path(root_);
    options_.progress_ctx = this;
    options_.progress = [](uint64_t done, uint64_t, void* ctx) -> int32_t {
      auto* const test = static_cast<CapiBackupElsewhere*>(ctx);
      if (done > 0) std::filesystem::current_path(test->elsewhere_);
      return done > test->stop_at_ ? 1 : 0;
    };
  }
  void TearDown() override {
    for (const char* const name : names) {
      EXPECT_EQ(wq_backup_verify((elsewhere_ + "/" + name).c_str(), nullptr, nullptr, err()), WQ_OK)
          << name << ": " << err()->message;
    }
    std::filesystem::current_path(before_);
    CapiBackup::TearDown();
  }

  std::filesystem::path before_;
  std::string elsewhere_;
  wq_backup_options options_ = WQ_BACKUP_OPTIONS_INIT;
  uint64_t stop_at_ = UINT64_MAX;
};

TEST_F(CapiBackupElsewhere, GoesWhereItBegan) {
  ASSERT_OK(wq_store_backup(store_, "made", &options_, nullptr, err()));
  std::filesystem::current_path(root_);
  ASSERT_OK(wq_backup_verify("made", &options_, nullptr, err()));
  std::filesystem::current_path(root_);
  ASSERT_OK(wq_backup_restore("made", "new", &options_, nullptr, err()));
  wq_store* store = nullptr;
  ASSERT_OK(wq_store_open(in_root("new").c_str(), nullptr, &store, err()));
  wq_store_close(&store);
}

TEST_F(CapiBackupElsewhere, RemovesOnlyItsOwn) {
  ASSERT_OK(wq_store_backup(store_, in_root("whole").c_str(), nullptr, nullptr, err()));
  stop_at_ = 1000;
  EXPECT_CODE(WQ_CANCELLED, wq_store_backup(store_, "made", &options_, nullptr, err()));
  EXPECT_FALSE(std::filesystem::exists(in_root("made")));
  std::filesystem::current_path(root_);
  wq_backup_report whole = WQ_BACKUP_REPORT_INIT;
  ASSERT_OK(wq_backup_verify("whole", nullptr, &whole, err()));
  stop_at_ = whole.bytes + 1000;  // while it copies
  EXPECT_CODE(WQ_CANCELLED, wq_backup_restore("whole", "new", &options_, nullptr, err()));
  EXPECT_FALSE(std::filesystem::exists(in_root("new.restoring")));
}

TEST_F(CapiBackup, CancelTokens) {
  wq_backup_options options = WQ_BACKUP_OPTIONS_INIT;
  ASSERT_OK(wq_cancel_new(&options.cancel, err()));
  ASSERT_OK(wq_store_backup(store_, in_root("whole").c_str(), &options, nullptr, err()));
  wq_cancel_fire(options.cancel);
  EXPECT_CODE(WQ_CANCELLED,
              wq_store_backup(store_, in_root("cut").c_str(), &options, nullptr, err()));
  EXPECT_CODE(WQ_CANCELLED, wq_backup_verify(in_root("whole").c_str(), &options, nullptr, err()));
  EXPECT_CODE(WQ_CANCELLED, wq_backup_restore(in_root("whole").c_str(), in_root("new").c_str(),
                                              &options, nullptr, err()));
  EXPECT_FALSE(std::filesystem::exists(in_root("cut")));
  EXPECT_FALSE(std::filesystem::exists(in_root("new")));
  wq_cancel_free(&options.cancel);
}

TEST_F(CapiBackup, Refusals) {
  EXPECT_CODE(WQ_E_INVALID, wq_store_backup(store_, nullptr, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_backup(store_, "", nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_backup_verify(nullptr, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_backup_restore("x", nullptr, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_TOO_LARGE,
              wq_backup_verify(std::string(5'000, 'x').c_str(), nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND,
              wq_store_backup(store_, in_root("no/parent").c_str(), nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID,
              wq_store_backup(store_, in_root("store").c_str(), nullptr, nullptr, err()));
  wq_backup_options options = WQ_BACKUP_OPTIONS_INIT;
  options.flags = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED,
              wq_store_backup(store_, in_root("x").c_str(), &options, nullptr, err()));
  EXPECT_FALSE(std::filesystem::exists(in_root("x")));
}

}  // namespace
}  // namespace wq::capi_test
