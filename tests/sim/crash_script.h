// A script of operations on the simulated disk, recorded so that the machine can be made to have
// lost power after any event of the disk. The model tells what the store held after each log
// record. The cold side is the memory store, whose commits are recorded beside the disk, or RocksDB
// on the same disk. What is done is a stream of the model test, or told by a subclass. Thread
// model: one thread.
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
  int64_t wall_max_ms = 0;  // the latest that the clock has been
};

// Where recovery may end.
struct Bounds {
  Lsn least = 0;
  Lsn most = 0;
  int64_t wall_ms = 0;
  int64_t wall_max_ms = 0;
};

class CrashScript : public model::Runner {
 public:
  explicit CrashScript(const model::Stream& stream,  // which must outlive it
                       StoreKind store = StoreKind::memory);
  explicit CrashScript(model::Stream&&, StoreKind store = StoreKind::memory) = delete;
  virtual ~CrashScript();
  // Runs all operations; the first difference between engine and model, or nothing.
  std::string run();

  StoreKind store() { return harness_.options().store; }
  uint64_t batch_rows_max() { return harness_.options().batch_rows_max; }
  SimDisk& disk() { return harness_.disk(); }
  const EngineOptions& engine_options() { return harness_.options().engine; }
  uint64_t marks() const { return marks_.size(); }
  Bounds bounds(uint64_t event) const;
  // What the store may hold after that event: the state before and, where a commit came between
  // this event and the next, the state after it.
  std::vector<std::shared_ptr<MemStoreContent>> cold_states(uint64_t event) const;
  // The model as of record `lsn`, at which the engine was recovered: it is asked how far a call
  // came whose records do not tell how they share what it did.
  model::Model model_at(Lsn lsn, Engine& engine) const;

 protected:
  void begin();  // recording
  virtual std::string do_all();
  void mark();         // after an operation has returned
  void keep_models();  // when all is done

 private:
  class RecordingStore;
  class RecordingCheckpoint;
  static HarnessOptions options_for(const model::Stream& stream, StoreKind store,
                                    CrashScript* script);
  void note_commit(MemStoreContent& content);

  std::vector<Entry> changes_;
  std::vector<model::Model> models_;  // after each change
  std::vector<Mark> marks_;
  std::vector<ColdState> cold_;
};

}  // namespace wq::sim
