// The allocation sweep of calls that need no open store: each allocation of them fails in turn, on
// the real disk. They answer WQ_E_NO_MEMORY, leave nothing behind, and go through when they are
// made again.
#include <gtest/gtest.h>
#include <wq.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "alloc/alloc_fault.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

class OutsideSweep : public testing::Test {
 protected:
  // A store with some jobs, closed, and a backup of it.
  void SetUp() override {
    fs::create_directories(base_);
    wq_store* store = nullptr;
    wq_queue* queue = nullptr;
    wq_error err = WQ_ERROR_INIT;
    ASSERT_EQ(wq_store_open(store_.c_str(), nullptr, &store, &err), WQ_OK) << err.message;
    ASSERT_EQ(wq_queue_open(store, "q", 1, nullptr, 0, &queue, &err), WQ_OK) << err.message;
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(wq_enqueue(queue, &spec, nullptr, nullptr, &err), WQ_OK) << err.message;
    }
    ASSERT_EQ(wq_store_backup(store, backup_.c_str(), nullptr, nullptr, &err), WQ_OK)
        << err.message;
    wq_queue_close(&queue);
    wq_store_close(&store);
  }

  template <typename Call, typename After>
  void sweep(const char* name, Call&& call, After&& after) {
    uint64_t refused = 0;
    for (const bool sticky : {false, true}) {
      for (uint64_t k = 1;; ++k) {
        SCOPED_TRACE(std::string(name) + ", allocation " + std::to_string(k));
        AllocFaultPlan plan;
        plan.fail_at = k;
        plan.sticky = sticky;
        int32_t code = 0;
        bool struck = false;
        {
          const AllocFault fault(plan);
          code = call();
          struck = fault.struck();
        }
        ASSERT_TRUE(code == WQ_OK || (struck && code == WQ_E_NO_MEMORY)) << code;
        after(code, sticky);
        if (HasFailure()) return;
        if (!struck) break;
        refused += code == WQ_E_NO_MEMORY;
      }
    }
    std::printf("%s: refused %llu times\n", name, static_cast<unsigned long long>(refused));
    EXPECT_GT(refused, 0u) << name;
  }

  const std::string base_ =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string store_ = base_ + "/store";
  const std::string backup_ = base_ + "/backup";
  const std::string restored_ = base_ + "/restored";
};

TEST_F(OutsideSweep, BackupVerify) {
  sweep(
      "wq_backup_verify",
      [&] {
        wq_backup_report report = WQ_BACKUP_REPORT_INIT;
        return wq_backup_verify(backup_.c_str(), nullptr, &report, nullptr);
      },
      [](int32_t, bool) {});
}

TEST_F(OutsideSweep, BackupRestore) {
  sweep(
      "wq_backup_restore",
      [&] {
        return wq_backup_restore(backup_.c_str(), restored_.c_str(), nullptr, nullptr, nullptr);
      },
      [&](int32_t code, bool sticky) {
        // What it was building may stay if there is not even memory to remove it.
        EXPECT_TRUE(sticky || fs::exists(restored_ + "/FORMAT") == (code == WQ_OK));
        fs::remove_all(restored_);
      });
  EXPECT_EQ(wq_backup_restore(backup_.c_str(), restored_.c_str(), nullptr, nullptr, nullptr),
            WQ_OK);
  EXPECT_FALSE(fs::exists(restored_ + ".restoring"));
}

}  // namespace
}  // namespace wq
