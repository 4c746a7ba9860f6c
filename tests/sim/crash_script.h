// A script of operations on the simulated disk and the memory store, recorded so that the machine
// can be made to have lost power after any event of the disk. The script is a stream of the model
// test, so the model tells what the store held after each log record. Thread model: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/runner_internal.h"

namespace wq::sim {

// What the cold store holds from an event of the disk on. Its commits are atomic.
struct ColdState {
  uint64_t events = 0;
  std::shared_ptr<MemStoreContent> content;
};

// The state of things when an operation had returned.
struct Mark {
  uint64_t events = 0;
  Lsn promised = 0;  // acknowledged at power level, or told to be durable
  Lsn last = 0;      // newest record handed out
  int64_t wall_ms = 0;
};

// Where recovery may end.
struct Bounds {
  Lsn least = 0;
  Lsn most = 0;
  int64_t wall_ms = 0;
};

class CrashScript : public model::Runner {
 public:
  explicit CrashScript(const model::Stream& stream);  // which must outlive it
  explicit CrashScript(model::Stream&&) = delete;
  ~CrashScript();
  // Runs all operations; the first difference between engine and model, or nothing.
  std::string run();

  const SimDisk& disk() { return harness_.disk(); }
  const EngineOptions& engine_options() { return harness_.options().engine; }
  uint64_t marks() const { return marks_.size(); }
  Bounds bounds(uint64_t event) const;
  // What the store may hold after that event: the state before and, where a commit came between
  // this event and the next, the state after it.
  std::vector<std::shared_ptr<MemStoreContent>> cold_states(uint64_t event) const;
  // The model as of record `lsn`. `delayed` is what the engine counts: the records of one call that
  // promotes many do not tell how they share them.
  model::Model model_at(Lsn lsn, uint64_t delayed) const;

 private:
  class RecordingStore;
  class RecordingCheckpoint;
  static HarnessOptions options_for(const model::Stream& stream, CrashScript* script);
  void mark();
  void note_commit(MemStoreContent& content);

  std::vector<Entry> changes_;
  std::vector<model::Model> models_;  // after each change
  std::vector<Mark> marks_;
  std::vector<ColdState> cold_;
};

}  // namespace wq::sim
