// A stream of calls of wq.h against a small model, on a disk that fails at a place of the input's
// choice. Each call that did not fail has done what the model says. After a failure the store is
// opened again, and what it holds is the model either without the last call or with it; never
// anything else. All calls ask for WQ_POWER, so what was acknowledged can not be lost.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz_check.h"
#include "input.h"
#include "sim_store.h"

namespace wq {
namespace {

struct ModelJob {
  uint32_t state = WQ_STATE_READY;
  uint32_t attempts = 0;
  uint64_t generation = 0;
  bool operator==(const ModelJob&) const = default;
};

using Model = std::map<uint64_t, ModelJob>;  // by id

constexpr uint32_t attempts_max = 3;

// What the store says of the jobs that either model knows.
Model found_in(wq_queue* queue, const Model& a, const Model& b) {
  Model found;
  for (const Model* model : {&a, &b}) {
    for (const auto& [id, job] : *model) {
      wq_batch* batch = nullptr;
      wq_job view = WQ_JOB_INIT;
      const int32_t code = wq_job_get(queue, id, &batch, nullptr);
      FUZZ_CHECK(code == WQ_OK || code == WQ_E_NOT_FOUND);
      if (code == WQ_OK) {
        FUZZ_CHECK(wq_batch_job(batch, 0, &view) == WQ_OK);
        found[id] = ModelJob{view.state, view.attempts, view.generation};
      }
      wq_batch_free(&batch);
    }
  }
  return found;
}

class Stream {
 public:
  explicit Stream(Input& input) : input_(input) {}
  ~Stream() { wq_queue_close(&queue_); }

  void run() {
    open();
    SimFault fault;
    const uint8_t how = input_.byte();
    fault.skip = input_.take<uint16_t>() % 512;
    fault.sticky = how & 1;
    fault.error = how & 2 ? EIO : ENOSPC;
    fault.ops = how & 4 ? sim_syncs : how & 8 ? sim_writes : sim_changes;
    if (how & 0x80) disk_fault_ = fault;
    if (disk_fault_) store_.disk.inject(*disk_fault_);
    for (int i = 0; i < 200 && !input_.empty(); ++i) {
      after_ = before_;
      const int32_t code = step();
      if (code >= 0) {
        before_ = after_;
      } else if (wq_error_maybe_committed(code)) {
        reopen(true);
      } else {
        FUZZ_CHECK(code == WQ_E_NO_SPACE || code == WQ_E_NOT_FOUND);
        after_ = before_;
      }
    }
    reopen(false);
    wq_verify_report report = WQ_VERIFY_REPORT_INIT;
    FUZZ_CHECK(wq_store_verify(store_.store, &report, nullptr) == WQ_OK);
  }

 private:
  void open() {
    FUZZ_CHECK(store_.open() == WQ_OK);
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    config.fields = WQ_CONFIG_MAX_RETRIES;
    config.max_retries = attempts_max - 1;
    FUZZ_CHECK(wq_queue_open(store_.store, "q", 1, &config, 0, &queue_, nullptr) == WQ_OK);
  }

  // The disk is well again, as after a change of cable.
  void reopen(bool maybe) {
    store_.disk.clear_faults();
    wq_queue_close(&queue_);
    wq_store_close(&store_.store);
    open();
    Model found = found_in(queue_, before_, after_);
    if (maybe && lease_unknown_) after_ = with_lease(found);
    if (maybe && replayed_ != 0 && found.contains(replayed_)) take_generation(replayed_, found);
    lease_unknown_ = false;
    replayed_ = 0;
    FUZZ_CHECK(found == before_ || (maybe && found == after_));
    before_ = found;
  }

  // A replay gives a generation that nobody held before; it is not told.
  void take_generation(uint64_t id, const Model& found) {
    const uint64_t generation = found.at(id).generation;
    if (generation > before_[id].generation) after_[id].generation = generation;
  }

  // A lease that was not told took some ready job, one attempt more; which one only the store
  // knows.
  Model with_lease(const Model& found) const {
    for (const auto& [id, job] : found) {
      const auto known = before_.find(id);
      if (known == before_.end() || known->second == job) continue;
      if (known->second.state != WQ_STATE_READY || job.generation <= known->second.generation)
        break;
      Model with = before_;
      with[id] = {WQ_STATE_LEASED, known->second.attempts + 1, job.generation};
      return with;
    }
    return before_;
  }

  wq_call power() {
    wq_call call = WQ_CALL_INIT;
    call.durability = WQ_POWER;
    return call;
  }

  int32_t step() {
    switch (input_.byte() % 10) {
      case 0:
      case 1:
      case 2:
        return enqueue();
      case 3:
      case 4:
        return lease();
      case 5:
      case 6:
        return settle();
      case 7:
        return dead();
      case 8: {
        const int32_t code = wq_store_checkpoint(store_.store, nullptr);
        return code;
      }
      default:
        return clear();
    }
  }

  int32_t enqueue() {
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    const std::string payload(input_.take<uint16_t>() % 5'000, 'p');
    spec.payload = {payload.data(), payload.size()};
    wq_enqueued out = WQ_ENQUEUED_INIT;
    wq_call call = power();
    const int32_t code = wq_enqueue(queue_, &spec, &call, &out, nullptr);
    if (code == WQ_OK) after_[out.job_id] = {};
    return code;
  }

  int32_t lease() {
    wq_batch* batch = nullptr;
    wq_call call = power();
    const int32_t code =
        wq_lease(store_.store, &queue_, 1, nullptr, nullptr, &call, &batch, nullptr);
    bool any_ready = false;
    uint64_t first = 0;
    for (const auto& [id, job] : before_) any_ready |= job.state == WQ_STATE_READY;
    if (code == WQ_EMPTY) FUZZ_CHECK(!any_ready);
    wq_job job = WQ_JOB_INIT;
    if (code == WQ_OK && wq_batch_job(batch, 0, &job) == WQ_OK) {
      first = job.id;
      FUZZ_CHECK(before_.count(first) == 1 && before_[first].state == WQ_STATE_READY);
      after_[first] = {WQ_STATE_LEASED, before_[first].attempts + 1, job.generation};
    }
    // What was leased by a call that failed is seen after the reopen only.
    if (code < 0) lease_unknown_ = true;
    wq_batch_free(&batch);
    return code;
  }

  // Some job, mostly one in that state; 0 if there is none at all.
  uint64_t pick(uint32_t state) {
    std::vector<uint64_t> ids;
    for (const auto& [id, job] : before_) {
      if (job.state == state) ids.push_back(id);
    }
    return ids.empty() ? 0 : ids[input_.byte() % ids.size()];
  }

  int32_t settle() {
    const uint64_t id = pick(WQ_STATE_LEASED);
    if (id == 0) return WQ_OK;
    const uint64_t generation = before_[id].generation;
    wq_call call = power();
    int32_t code = 0;
    switch (input_.byte() % 5) {
      case 0:
        after_.erase(id);
        code = wq_ack(queue_, id, generation, &call, nullptr);
        break;
      case 1:
        after_[id].state = before_[id].attempts >= attempts_max ? WQ_STATE_DEAD : WQ_STATE_READY;
        code = wq_nack(queue_, id, generation, nullptr, &call, nullptr);
        break;
      case 2:
        after_[id].state = WQ_STATE_DEAD;
        code = wq_fail(queue_, id, generation, "e", 1, &call, nullptr);
        break;
      case 3:
        after_[id].state = WQ_STATE_READY;
        after_[id].attempts--;
        code = wq_release(queue_, id, generation, 0, 0, &call, nullptr);
        break;
      default:
        code = wq_ack(queue_, id, generation + 1, &call, nullptr);
        FUZZ_CHECK(code == WQ_STALE || code == WQ_E_POISONED);
        return code;
    }
    FUZZ_CHECK(code == WQ_OK || code < 0);
    return code;
  }

  int32_t dead() {
    const uint64_t id = pick(WQ_STATE_DEAD);
    if (id == 0) return WQ_OK;
    wq_call call = power();
    int32_t code = 0;
    if (input_.byte() & 1) {
      after_[id].state = WQ_STATE_READY;
      after_[id].attempts = 0;
      code = wq_dead_replay(queue_, id, before_[id].generation, &call, nullptr);
      if (code == WQ_OK) take_generation(id, found_in(queue_, after_, after_));
      replayed_ = code == WQ_OK ? 0 : id;
    } else {
      after_.erase(id);
      code = wq_dead_remove(queue_, id, before_[id].generation, &call, nullptr);
    }
    FUZZ_CHECK(code == WQ_OK || code < 0);
    return code;
  }

  int32_t clear() {
    std::erase_if(after_, [](const auto& entry) { return entry.second.state == WQ_STATE_READY; });
    uint64_t removed = 0;
    wq_call call = power();
    const int32_t code =
        wq_queue_clear(queue_, WQ_STATE_BIT(WQ_STATE_READY), &removed, &call, nullptr);
    if (code == WQ_OK) FUZZ_CHECK(removed == before_.size() - after_.size());
    return code;
  }

  Input& input_;
  FuzzStore store_;
  wq_queue* queue_ = nullptr;
  std::optional<SimFault> disk_fault_;
  uint64_t replayed_ = 0;  // a replay that was not told
  bool lease_unknown_ = false;
  Model before_;  // without the call that runs
  Model after_;   // with it
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Stream(input).run();
  return 0;
}

}  // namespace wq
