#include "sim/crash_script.h"

#include "support/store_wrapper.h"

#include <algorithm>

namespace wq::sim {

// Tells of each commit when it is over.
class CrashScript::RecordingCheckpoint final : public CheckpointWrapper {
 public:
  RecordingCheckpoint(std::unique_ptr<Checkpoint> inner, CrashScript& script,
                      std::shared_ptr<MemStoreContent> content)
      : CheckpointWrapper(std::move(inner)), script_(script), content_(std::move(content)) {}

  Status commit() override {
    WQ_TRY(CheckpointWrapper::commit());
    script_.note_commit(*content_);
    return {};
  }

 private:
  CrashScript& script_;
  std::shared_ptr<MemStoreContent> content_;
};

class CrashScript::RecordingStore final : public StoreWrapper {
 public:
  RecordingStore(std::unique_ptr<Store> inner, CrashScript& script,
                 std::shared_ptr<MemStoreContent> content)
      : StoreWrapper(std::move(inner)), script_(script), content_(std::move(content)) {}

  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    WQ_TRY_SET(std::unique_ptr<Checkpoint> begun, StoreWrapper::begin_checkpoint(expected_rows));
    return std::unique_ptr<Checkpoint>(
        std::make_unique<RecordingCheckpoint>(std::move(begun), script_, content_));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    WQ_TRY(StoreWrapper::reclaim(family, begin, end));
    script_.note_commit(*content_);
    return {};
  }

 private:
  CrashScript& script_;
  std::shared_ptr<MemStoreContent> content_;
};

HarnessOptions CrashScript::options_for(const model::Stream& stream, StoreKind store,
                                        CrashScript* script) {
  HarnessOptions options = harness_options(stream.setting);
  options.store = store;
  options.batch_rows_max = 40;  // both roads of a checkpoint
  options.wrap_store = [script](std::unique_ptr<Store> inner,
                                std::shared_ptr<MemStoreContent> content) {
    return std::unique_ptr<Store>(
        std::make_unique<RecordingStore>(std::move(inner), *script, std::move(content)));
  };
  return options;
}

CrashScript::CrashScript(const model::Stream& stream, StoreKind store)
    : Runner(stream, options_for(stream, store, this)) {
  history_ = &changes_;
}

// The last checkpoint of the engine still tells of its commit.
CrashScript::~CrashScript() {
  completions_.reset();
  if (harness_.is_open()) static_cast<void>(harness_.close());
}

void CrashScript::note_commit(MemStoreContent& content) {
  cold_.push_back(ColdState{harness_.disk().events(), copy_mem_store_content(content)});
}

void CrashScript::mark() {
  const EngineStats stats = engine().stats();
  marks_.push_back(Mark{harness_.disk().events(), std::max(acked_power_, stats.durable_lsn),
                        stats.last_lsn, harness_.clock().wall_ms(), now().wall_max_ms});
}

void CrashScript::begin() {
  harness_.disk().start_recording();
  cold_.push_back(ColdState{0, make_mem_store_content()});
}

std::string CrashScript::run() {
  begin();
  std::string failure = start();
  if (failure.empty()) mark();
  if (failure.empty()) failure = do_all();
  keep_models();
  return failure;
}

std::string CrashScript::do_all() {
  for (const model::Op& op : stream_.ops) {
    WQ_SAME_OR_SAY(step(op));
    WQ_SAME_OR_SAY(after_each(1));  // the cheap comparison only
    mark();
  }
  return {};
}

void CrashScript::keep_models() {
  model::Model model;
  models_.clear();
  for (const Entry& entry : changes_) {
    entry.change(model);
    models_.push_back(model);
  }
}

// The operation that was under way at the event has returned with the first mark behind it.
Bounds CrashScript::bounds(uint64_t event) const {
  Bounds bounds;
  for (const Mark& mark : marks_) {
    if (mark.events <= event) bounds.least = mark.promised;
    bounds.most = mark.last;
    bounds.wall_ms = mark.wall_ms;
    bounds.wall_max_ms = mark.wall_max_ms;
    if (mark.events > event) break;
  }
  return bounds;
}

std::vector<std::shared_ptr<MemStoreContent>> CrashScript::cold_states(uint64_t event) const {
  std::vector<std::shared_ptr<MemStoreContent>> states;
  for (const ColdState& cold : cold_) {
    if (cold.events < event) states.clear();  // an older one was replaced before this event
    if (cold.events <= event) states.push_back(cold.content);
  }
  return states;
}

model::Model CrashScript::model_at(Lsn lsn, Engine& engine) const {
  size_t done = 0;
  while (done < changes_.size() && changes_[done].last <= lsn) ++done;
  model::Model model = done == 0 ? model::Model() : models_[done - 1];
  if (done == changes_.size() || changes_[done].first > lsn) return model;
  if (changes_[done].part) changes_[done].part(model, engine);
  if (changes_[done].promotes) {
    const uint64_t delayed = engine.stats().counts[static_cast<int>(JobState::delayed)];
    const uint64_t all = model.count(JobState::delayed);
    if (all >= delayed) model.promote(all - delayed, changes_[done].now);
  }
  return model;
}

}  // namespace wq::sim
