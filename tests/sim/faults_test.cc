// The k-th call fails, for k = 0, 1, 2... until a run passes untouched: each call of the disk in
// turn, once and from then on, in each of its ways to fail, and each call of the store. Whatever is
// struck:
//   - the caller gets one of the documented codes, or what was struck is gone on with;
//   - what failed without poisoning the store has changed nothing, and the store works on;
//   - a poisoned store says OK to no change any more, and what the next open finds is a state
//     between the last promise and the last record handed out, also after another power cut;
//   - a fault that no caller was told of is one that does no harm: see is_harmless().
//
// A disk that is full at any point is swept in the same way, one block after another.
//
//   WQ_LONG=1    every k also on RocksDB, where otherwise one of 31 has its turn
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>

#include "base/prng.h"
#include "quantity.h"
#include "sim/deeds.h"
#include "support/store_wrapper.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

using model::compare_state;
using model::Model;

struct Variant {
  const char* name;
  SimFault fault;
};

std::vector<Variant> variants() {
  constexpr uint32_t transfers = sim_read | sim_writes;
  constexpr uint32_t all = sim_all;
  return {
      {"EIO once", {.ops = all, .error = EIO}},
      {"EIO from then on", {.ops = all, .sticky = true, .error = EIO}},
      {"a barrier fails once, and the data is dropped", {.ops = sim_syncs, .error = EIO}},
      {"a barrier fails once, the data stays dirty",
       {.ops = sim_syncs, .error = EIO, .keep_data = true}},
      {"ENOSPC once", {.ops = sim_changes & ~sim_unlink, .error = ENOSPC}},
      {"ENOSPC from then on", {.ops = sim_changes & ~sim_unlink, .sticky = true, .error = ENOSPC}},
      {"EDQUOT once", {.ops = sim_writes, .error = EDQUOT}},
      {"ENOMEM once", {.ops = transfers, .error = ENOMEM}},
      {"EINTR once", {.ops = sim_read | sim_write, .error = EINTR}},
      {"EAGAIN once", {.ops = sim_read | sim_write, .error = EAGAIN}},
      {"short once", {.ops = transfers, .error = 0}},
      {"short from then on", {.ops = transfers, .sticky = true, .error = 0}},
  };
}

bool is_documented(Code code) {
  return code == Code::io || code == Code::no_space || code == Code::poisoned ||
         code == Code::no_memory;
}

// Outcomes that a script without faults has, too.
bool is_refusal(Code code) {
  return code == Code::not_found || code == Code::conflict;
}

struct Sweep {
  uint64_t runs = 0;
  uint64_t refused_open = 0;
  uint64_t refused = 0;    // and the store works on
  uint64_t poisoned = 0;   // and is opened again
  uint64_t kept_more = 0;  // a record that nobody was promised was there
  std::map<std::string, uint64_t> absorbed;

  void print(const std::string& name) const {
    std::printf(
        "%s: %llu runs, %llu opens refused, %llu calls refused, %llu times poisoned (%llu "
        "with more than promised), gone on:",
        name.c_str(), static_cast<unsigned long long>(runs),
        static_cast<unsigned long long>(refused_open), static_cast<unsigned long long>(refused),
        static_cast<unsigned long long>(poisoned), static_cast<unsigned long long>(kept_more));
    for (const auto& [what, times] : absorbed) {
      std::printf(" %s %llu,", what.c_str(), static_cast<unsigned long long>(times));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
};

const std::vector<Deed>& script() {
  static const std::vector<Deed> deeds = [] {
    std::vector<Deed> all = Deeds::long_script();
    all.resize(all.size() / 4);  // one round
    return all;
  }();
  return deeds;
}

// One run with one fault.
class FaultRun {
 public:
  FaultRun(const Deeds& reference, StoreKind store, Sweep& sweep)
      : reference_(reference), deeds_(setting_, store), sweep_(sweep) {}

  Deeds& deeds() { return deeds_; }
  // The first violation, or nothing. `hits` and `heal`: how often the fault struck, and its end.
  std::string run(const std::function<uint64_t()>& hits, const std::function<void()>& heal) {
    ++sweep_.runs;
    const Status opened = deeds_.begin_and_open();
    if (!opened.ok()) {
      if (hits() == 0 || !is_documented(opened.code())) return "open: " + opened.message();
      ++sweep_.refused_open;
      told_ = true;
      heal();
      return reopen(0, 1, false);
    }
    for (const Deed deed : script()) {
      const Lsn before = deeds_.of().stats().last_lsn;
      const Status status = deeds_.act(deed);
      if (!status.is_error() || is_refusal(status.code())) continue;
      const std::string what = std::string(deed_name(deed)) + ": ";
      if (hits() == 0) return what + status.message();
      if (!is_documented(status.code())) return what + "not documented: " + status.message();
      told_ = true;
      const EngineStats stats = deeds_.of().stats();
      if (stats.poisoned) return after_poison(what, heal);
      ++sweep_.refused;
      diverged_ |= stats.last_lsn != before;
      heal();
      WQ_SAME_OR_SAY(compare(what + "refused, but "));
    }
    heal();
    WQ_SAME_OR_SAY(compare("at the end: "));
    const Lsn last = deeds_.of().stats().last_lsn;
    const Status closed = deeds_.harness().close();
    if (!closed.ok()) {
      told_ = true;
      if (hits() == 0 || !is_documented(closed.code())) return "close: " + closed.message();
    }
    return reopen(last, last + 1, true);
  }
  bool told() const { return told_; }

 private:
  std::string compare(const std::string& where) {
    const std::string failure = deeds_.compare_now();
    return failure.empty() ? failure : where + failure;
  }

  std::string after_poison(const std::string& what, const std::function<void()>& heal) {
    ++sweep_.poisoned;
    const Lsn last = deeds_.of().stats().last_lsn;
    const Lsn promised = deeds_.promised();
    heal();
    CallOptions call;
    const Result<QueueId> late = deeds_.of().open_queue("late", {}, 0, true, call);
    if (late.ok()) return what + "poisoned, and then OK";
    if (late.status().code() != Code::poisoned) return what + "then " + late.status().message();
    if (deeds_.of().checkpoint().ok()) return what + "poisoned, and then a checkpoint";
    const Status closed = deeds_.harness().close();
    if (closed.code() != Code::poisoned) return what + "poisoned, but closed in order";
    return reopen(promised, last, false);
  }

  // In place, as a program does that goes on: the page cache may show what the disk has not.
  std::string reopen(Lsn least, Lsn most, bool clean) {
    EngineHarness& harness = deeds_.harness();
    if (const Status status = harness.open(); !status.ok()) return "reopen: " + status.message();
    const Recovery& recovery = harness.engine().recovery();
    const Lsn found = std::max(recovery.log.last_lsn, recovery.applied_lsn);
    if (found < least || found > most) {
      return "reopen: record " + std::to_string(found) + ", expected " + std::to_string(least) +
             " to " + std::to_string(most);
    }
    WQ_SAME_OR_SAY(compare_found(found, least, clean));
    // And now the power goes: what was told must be there.
    if (const Status status = harness.cut_and_open(CrashImage{}); !status.ok()) {
      return "open after a cut: " + status.message();
    }
    WQ_SAME("record after a cut", harness.engine().recovery().log.last_lsn, found + 1);
    return compare_found(found, least, clean);
  }

  std::string compare_found(Lsn found, Lsn least, bool clean) {
    EngineHarness& harness = deeds_.harness();
    deeds_.keep_models();
    Model model = deeds_.model_at(found, harness.engine());
    if (!clean && found > deeds_.last_change()) {
      if (found > least) ++sweep_.kept_more;
      if (diverged_) return verify();
      model = reference_.model_at(found, harness.engine());
    }
    const model::Now now{harness.clock().wall_ms(), harness.clock().wall_ms()};
    model.reopen(now);
    model::CompareOptions options;
    options.ages = false;
    WQ_SAME_OR_SAY(compare_state(harness.engine(), model, now, options));
    return verify();
  }

  std::string verify() {
    const Result<VerifyReport> report = deeds_.harness().engine().verify();
    if (!report.ok()) return "verify: " + report.status().message();
    return report.value().problems == 0 ? std::string() : report.value().first_problem;
  }

  const model::Stream setting_ = Deeds::setting();
  const Deeds& reference_;
  Deeds deeds_;
  Sweep& sweep_;
  bool diverged_ = false;  // from the reference: a refused deed had been done in part
  bool told_ = false;
};

// What may be struck without anybody being told: an operation that is done again, a spare segment
// that is made ahead (rotation copes without), a file that is removed and would be at the next
// open, RocksDB's search for such files.
bool is_harmless(const Variant& variant, const std::string& struck) {
  if (variant.fault.error == EINTR || variant.fault.error == EAGAIN || variant.fault.error == 0) {
    return true;
  }
  return struck.find("spare") != std::string::npos || struck.find(".tmp") != std::string::npos ||
         struck.find("/OPTIONS-") != std::string::npos ||  // written by RocksDB, read by nobody
         struck.starts_with("unlink ") || struck == "list store/db" || struck == "mkdir store/db";
}

// Of the calls that are struck in several ways: with a sanitizer each in a third of the ways.
uint64_t call_step() {
  return scaled<uint64_t>(1, 1, 3);
}

// Where a sweep with steps begins: always the same in CI, another place with each long run.
uint64_t first_of(uint64_t step) {
  const uint64_t seed = test_seed();
  return long_run() ? Prng(seed).below(step) : 0;
}

void sweep_disk(StoreKind store, uint64_t step, const char* label) {
  const model::Stream setting = Deeds::setting();
  Deeds reference(setting, store);
  ASSERT_EQ(reference.begin_and_open().code(), Code::ok);
  for (const Deed deed : script()) {
    const Status status = reference.act(deed);
    ASSERT_TRUE(!status.is_error() || is_refusal(status.code()))
        << deed_name(deed) << ": " << status.message();
  }
  reference.keep_models();
  uint64_t first = first_of(step);
  for (const Variant& variant : variants()) {
    first = (first + 1) % step;  // each call is met, if not in each way
    Sweep sweep;
    for (uint64_t k = first;; k += step) {
      FaultRun run(reference, store, sweep);
      SimDisk& disk = run.deeds().disk();
      SimFault fault = variant.fault;
      fault.skip = k;
      const size_t number = disk.inject(fault);
      uint64_t hits = 0;
      std::string struck;
      // The disk may be another one afterwards.
      const auto look = [&] {
        if (hits == 0) hits = run.deeds().disk().fault_hits(number);
        if (hits > 0 && struck.empty()) struck = run.deeds().disk().first_struck();
        return hits;
      };
      bool healed = false;
      const auto heal = [&] {
        if (std::exchange(healed, true)) return;
        look();
        run.deeds().disk().clear_faults();
      };
      const std::string failure = run.run([&] { return healed ? hits : look(); }, heal);
      ASSERT_EQ(failure, "") << label << ": " << variant.name << ", k = " << k << ", struck "
                             << struck;
      if (hits == 0) break;  // it passed untouched
      if (run.told()) continue;
      ++sweep.absorbed[struck.substr(0, struck.find(' '))];
      ASSERT_TRUE(is_harmless(variant, struck))
          << label << ": " << variant.name << ", k = " << k << ": nobody was told of " << struck;
    }
    sweep.print(std::string(label) + ", " + variant.name);
    EXPECT_GT(sweep.runs, 1u);
  }
}

// The room ends at one block after another.
void sweep_capacity(StoreKind store, uint64_t step_bytes, const char* label) {
  const model::Stream setting = Deeds::setting();
  Deeds reference(setting, store);
  ASSERT_EQ(reference.begin_and_open().code(), Code::ok);
  for (const Deed deed : script()) {
    const Status status = reference.act(deed);
    ASSERT_TRUE(!status.is_error() || is_refusal(status.code())) << status.message();
  }
  reference.keep_models();
  Sweep sweep;
  for (uint64_t bytes = 0;; bytes += step_bytes) {
    FaultRun run(reference, store, sweep);
    run.deeds().disk().set_capacity(bytes);
    const std::string failure =
        run.run([] { return uint64_t{1}; }, [&] { run.deeds().disk().set_capacity(UINT64_MAX); });
    ASSERT_EQ(failure, "") << label << ": a disk of " << bytes << " bytes";
    if (!run.told()) break;
  }
  sweep.print(std::string(label) + ", a full disk");
}

TEST(Faults, EachCallOfTheDiskInTurn) {
  sweep_disk(StoreKind::memory, call_step(), "memory store");
}

// Long runs only: once in about ten runs an assertion of RocksDB 7.8 ends the process when the disk
// fails under its manifest (TableFileName: number > 0; docs/TESTING.md, "The simulated machine").
TEST(Faults, EachCallOfTheDiskUnderTheLogAndRocksDb) {
  if (!long_run()) GTEST_SKIP() << "long runs only";
  sweep_disk(StoreKind::sim_rocks, 1, "RocksDB");
}

TEST(Faults, ADiskThatIsFullAtAnyPoint) {
  sweep_capacity(StoreKind::memory, 4096, "memory store");
  sweep_capacity(StoreKind::sim_rocks, long_run() ? 4096 : 65536, "RocksDB");
}

// A write that went elsewhere reads back as damage, or as a torn tail if nothing was written behind
// it; never as another state than one that the store had.
TEST(Faults, AMisdirectedWriteIsNeverAWrongState) {
  const model::Stream setting = Deeds::setting();
  Prng prng(test_seed());
  uint64_t refused = 0;
  uint64_t opened = 0;
  for (uint64_t k = 0;; ++k) {
    Deeds deeds(setting);
    const size_t fault = deeds.disk().inject(
        {.ops = sim_writes, .path = ".seg", .skip = k, .misdirect = prng.below(2) ? 8192 : -4096});
    ASSERT_TRUE(deeds.begin_and_open().ok());
    for (const Deed deed : script()) {
      const Status status = deeds.act(deed);
      ASSERT_TRUE(!status.is_error() || is_refusal(status.code())) << status.message();
    }
    if (deeds.disk().fault_hits(fault) == 0) break;
    deeds.keep_models();
    EngineHarness& harness = deeds.harness();
    const Status status = harness.cut_and_open({CrashData::all, CrashNames::all});
    if (!status.ok()) {
      ASSERT_EQ(status.code(), Code::corrupt) << status.message();
      ++refused;
      continue;
    }
    ++opened;
    const Recovery& recovery = harness.engine().recovery();
    const Lsn found = std::max(recovery.log.last_lsn, recovery.applied_lsn);
    Model model = deeds.model_at(found, harness.engine());
    const model::Now now{harness.clock().wall_ms(), harness.clock().wall_ms()};
    model.reopen(now);
    model::CompareOptions options;
    options.ages = false;
    ASSERT_EQ(compare_state(harness.engine(), model, now, options), "") << "k = " << k;
  }
  std::printf("misdirected: %llu times CORRUPT, %llu times opened\n",
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(opened));
  EXPECT_GT(refused, 0u);
}

// Stands before the memory store and lets its k-th call fail.
class FailingStore final : public StoreWrapper {
 public:
  struct Fault {
    uint64_t skip = 0;
    bool sticky = false;
    Code code = Code::io;
    bool after = false;  // what a commit or reclaim failed to do was done all the same
    uint64_t seen = 0;
    uint64_t hits = 0;
    std::string struck;

    bool strikes(const char* call) {
      const uint64_t number = seen++;
      if (number < skip || (number > skip && !sticky)) return false;
      if (hits++ == 0) struck = call;
      return true;
    }
    Status failure(const char* call) const {
      return Status(code, std::string("db: ") + call + ": injected");
    }
  };

  FailingStore(std::unique_ptr<Store> inner, std::shared_ptr<Fault> fault)
      : StoreWrapper(std::move(inner)), fault_(std::move(fault)) {}

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    if (fault_->strikes("get")) return fault_->failure("get");
    return StoreWrapper::get(family, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    if (fault_->strikes("scan")) return std::make_unique<FailedWalk>(fault_->failure("scan"));
    return StoreWrapper::scan(family, lower, upper, descending);
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    if (fault_->strikes("begin")) return fault_->failure("begin");
    WQ_TRY_SET(std::unique_ptr<Checkpoint> begun, StoreWrapper::begin_checkpoint(expected_rows));
    return std::unique_ptr<Checkpoint>(
        std::make_unique<FailingCheckpoint>(std::move(begun), fault_));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    const bool fails = fault_->strikes("reclaim");
    if (!fails || fault_->after) WQ_TRY(StoreWrapper::reclaim(family, begin, end));
    return fails ? fault_->failure("reclaim") : Status();
  }
  Status failure() const override {
    return fault_->strikes("background") ? fault_->failure("background work")
                                         : StoreWrapper::failure();
  }
  Status close() override {
    WQ_TRY(StoreWrapper::close());
    return fault_->strikes("close") ? fault_->failure("close") : Status();
  }

 private:
  class FailedWalk final : public Cursor {
   public:
    explicit FailedWalk(Status status) : status_(std::move(status)) {}
    bool valid() const override { return false; }
    std::string_view key() const override { return {}; }
    std::string_view value() const override { return {}; }
    void next() override {}
    void seek(std::string_view) override {}
    Status status() const override { return status_; }

   private:
    Status status_;
  };

  class FailingCheckpoint final : public CheckpointWrapper {
   public:
    FailingCheckpoint(std::unique_ptr<Checkpoint> inner, std::shared_ptr<Fault> fault)
        : CheckpointWrapper(std::move(inner)), fault_(std::move(fault)) {}
    Status put(Family family, std::string_view key, std::string_view value) override {
      if (fault_->strikes("put")) return fault_->failure("put");
      return CheckpointWrapper::put(family, key, value);
    }
    Status erase(Family family, std::string_view key) override {
      if (fault_->strikes("erase")) return fault_->failure("erase");
      return CheckpointWrapper::erase(family, key);
    }
    Status erase_range(Family family, std::string_view begin, std::string_view end) override {
      if (fault_->strikes("erase_range")) return fault_->failure("erase_range");
      return CheckpointWrapper::erase_range(family, begin, end);
    }
    Status commit() override {
      const bool fails = fault_->strikes("commit");
      if (!fails || fault_->after) WQ_TRY(CheckpointWrapper::commit());
      return fails ? fault_->failure("commit") : Status();
    }

   private:
    std::shared_ptr<Fault> fault_;
  };

  std::shared_ptr<Fault> fault_;
};

bool is_of_checkpoint(const std::string& call) {
  return call == "begin" || call == "put" || call == "erase" || call == "erase_range" ||
         call == "commit" || call == "background";
}

TEST(Faults, EachCallOfTheStoreInTurn) {
  const model::Stream setting = Deeds::setting();
  Deeds reference(setting);
  ASSERT_EQ(reference.begin_and_open().code(), Code::ok);
  for (const Deed deed : script()) reference.act(deed).ignore("as in the runs below");
  reference.keep_models();
  for (const Code code : {Code::io, Code::no_space}) {
    for (const int mode : {0, 1, 2}) {  // once; from then on; once, and done all the same
      Sweep sweep;
      for (uint64_t k = static_cast<uint64_t>(mode) % call_step();; k += call_step()) {
        FaultRun run(reference, StoreKind::memory, sweep);
        const auto fault = std::make_shared<FailingStore::Fault>();
        fault->skip = k;
        fault->code = code;
        fault->sticky = mode == 1;
        fault->after = mode == 2;
        HarnessOptions& options = run.deeds().harness().options();
        options.wrap_store = [fault](std::unique_ptr<Store> inner,
                                     std::shared_ptr<MemStoreContent>) {
          return std::unique_ptr<Store>(std::make_unique<FailingStore>(std::move(inner), fault));
        };
        const std::string failure =
            run.run([&] { return fault->hits; }, [&] { fault->skip = UINT64_MAX; });
        ASSERT_EQ(failure, "") << "store call " << k << ", mode " << mode << ", struck "
                               << fault->struck;
        if (fault->hits == 0) break;
        if (run.told()) continue;
        ++sweep.absorbed[fault->struck];
        // A checkpoint without room is written again: a spare segment makes some for it.
        const bool written_again =
            code == Code::no_space && mode != 1 && is_of_checkpoint(fault->struck);
        if (written_again) continue;
        ADD_FAILURE() << "nobody was told of store call " << k << ", " << fault->struck;
      }
      sweep.print(std::string("store calls, ") + code_name(code) + ", mode " +
                  std::to_string(mode));
    }
  }
}

}  // namespace
}  // namespace wq::sim
