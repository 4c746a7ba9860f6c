// Deeds: single operations with their choices made, on one queue of the simulated machine. Each is
// done on the engine and, if the engine says that it was done, on the model. Where there is nothing
// to do it on (no job is leased, the queue is gone) a deed is answered by a refusal, and that is
// one of its outcomes. Made for scripts that must be the same each time: every short sequence, and
// runs in which one call after another fails. Thread model: one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/crash_script.h"

namespace wq::sim {

#define WQ_SIM_DEEDS(X)                                                                        \
  X(enqueue)                                                                                   \
  X(enqueue_delayed)                                                                           \
  X(enqueue_many)                                                                              \
  X(lease)                                                                                     \
  X(confirm) X(extend) X(ack) X(nack) X(nack_delay) X(fail) X(expire) X(promote) X(replay)     \
      X(clear) X(delete_queue) X(checkpoint) X(rotate) X(enqueue_first) X(release) X(cancel)   \
          X(remove_dead) X(purge) X(pause) X(resume) X(configure) X(sync)                      \
              X(lease_many) /* gates */ X(enqueue_grouped) X(enqueue_rated) X(enqueue_tenants) \
                  X(enqueue_guarded) /* flows */ X(enqueue_unique) X(enqueue_debounced)        \
                      X(enqueue_chain) X(enqueue_member) X(seal) X(write_row) X(transact)      \
                          X(schedule) X(slot)

enum class Deed : uint8_t {
#define X(name) name,
  WQ_SIM_DEEDS(X)
#undef X
};
constexpr size_t deed_count = 0
#define X(name) +1
    WQ_SIM_DEEDS(X);
#undef X
constexpr size_t short_deed_count = 17;  // the first of them make the short sequences
const char* deed_name(Deed deed);

Status differs(const std::string& what);

class Deeds : public CrashScript {
 public:
  // `stream` tells the setting only.
  explicit Deeds(const model::Stream& stream, StoreKind store = StoreKind::memory)
      : CrashScript(stream, store) {}

  static model::Stream setting();
  // About 200 deeds that lead through all states.
  static std::vector<Deed> long_script();
  // What short sequences begin with: a job in each state.
  static const std::vector<Deed>& prelude();

  // What the engine answered. A difference between engine and model is an `internal` error.
  Status act(Deed deed);
  // Opens the store and the record of it.
  Status begin_and_open();
  using CrashScript::keep_models;
  Engine& of() { return engine(); }
  EngineHarness& harness() { return harness_; }
  // Everything that engine and model tell; the first difference, or nothing.
  std::string compare_now();
  Lsn promised();     // the newest record that must survive a power cut
  Lsn last_change();  // the newest record of a deed that was done

 private:
  std::string do_all() override { return {}; }
  Status ensure_queue(CallOptions& call);
  Status enqueue(int64_t delay_ms, size_t bytes, uint8_t priority, CallOptions& call);
  Status enqueue_some(CallOptions& call);
  Status enqueue_all(const std::vector<model::Spec>& specs, CallOptions& call);
  Status enqueue_gated(Deed deed, CallOptions& call);
  Status lease(uint32_t jobs, CallOptions& call);
  Status settle(model::Settle kind, int64_t delay_ms, CallOptions& call);
  Status on_token(Deed deed, CallOptions& call);
  Status on_dead(bool replay, CallOptions& call);
  Status on_queue(Deed deed, CallOptions& call);
  Status pass(int64_t ms);
  // deeds_flow.cc
  Status enqueue_spec(const model::Spec& spec, CallOptions& call);
  Status enqueue_keyed(KeyRule rule, CallOptions& call);
  Status enqueue_chain(CallOptions& call);
  Status enqueue_member(CallOptions& call);
  Status seal(CallOptions& call);
  Status write_row(CallOptions& call);
  Status transact(CallOptions& call);
  Status schedule(CallOptions& call);
  Status dispatch_flow(Deed deed, CallOptions& call);
  Status dispatch(Deed deed, CallOptions& call);
  Known held() const;

  QueueId queue_ = 0;
  uint64_t batch_ = 0;  // the one that members join
  uint64_t numbered_ = 0;
};

}  // namespace wq::sim
