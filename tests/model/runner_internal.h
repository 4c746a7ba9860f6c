// The runner behind run_stream(). An operation returns the first difference it meets, or nothing.
//
// Crashes. Each change is kept with the LSN of its record. A crash leaves a prefix of the log, and
// recovery says where it ends; the model is then made anew from the changes up to there. What was
// acknowledged at a level that survives the crash has to be among them, and so has all that the log
// called durable. Thread model: one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/compare.h"
#include "model/compare_flow.h"
#include "model/model.h"
#include "model/runner.h"
#include "support/engine_harness.h"

namespace wq::model {

// With threads no more leases than the engine takes back in one step, between two of which it
// promotes delayed jobs: in which order is not to be foretold.
constexpr size_t due_leases_max = 900;

class Runner {
 public:
  explicit Runner(const Stream& stream) : Runner(stream, harness_options(stream.setting)) {}
  Runner(const Stream& stream, const HarnessOptions& options);
  ~Runner();
  static HarnessOptions harness_options(const Setting& setting);
  Outcome run(bool trace);

 protected:  // a test of crashes takes the pieces and runs them by itself
  using Change = std::function<void(Model&)>;
  struct Entry {
    Lsn first = 0;
    Lsn last = 0;
    Change change;
    bool promotes = false;  // several records, each of some jobs, in due order
    Now now = {};
    // Of several records: does what the engine has of them, as a crash in their middle left it.
    std::function<void(Model&, Engine&)> part = {};
  };
  struct Known {
    QueueId queue = 0;
    JobId id = 0;
    Generation generation = 0;
  };
  // Who holds a key that a new job names: a job that is there, or a new one of the same call.
  struct Holder {
    JobId id = 0;
    size_t index = 0;
    bool fresh = false;
  };
  struct Awaited {
    Lsn lsn = 0;
    Durability level = Durability::power;
  };

  // ---- running (runner.cc)
  std::string start();
  std::string step(const Op& op);
  std::string after_each(size_t done);
  std::string finish();
  void note_rare(Rare what, uint64_t times = 1) { rare_[static_cast<size_t>(what)] += times; }
  void note_residency();
  Engine& engine() { return harness_.engine(); }
  Now now();
  Lsn last_lsn() { return engine().stats().last_lsn; }

  // ---- history (runner.cc)
  void changed(Lsn lsn, Change change);  // one record
  void changed(Entry entry);
  void fold(Lsn durable);
  std::string expect_written(Lsn before, uint64_t records);
  // Records of housekeeping, which change nothing that can be seen, may have been written.
  bool may_have_kept_house();
  CallOptions make_call(Prng& dice);
  void acknowledged(const CallOptions& call, Durability standard);
  void acknowledged(Lsn lsn, Durability level);

  // ---- time (runner_time.cc)
  std::string advance(Prng& dice);
  std::string step_wall(Prng& dice);
  std::string tick_once(int64_t* wait_ms);
  std::string settle_time();
  std::string pass_time(int64_t ms);
  std::string await_due(Lsn before);
  std::string account_due(Lsn before, uint64_t leases, const std::vector<QueueId>& ahead = {});
  bool order_is_open(Now at);

  // ---- stopping (runner_crash.cc)
  std::string close_and_open();
  std::string kill_and_open();
  std::string cut_and_open(Prng& dice);
  std::string recovered(Lsn least, Lsn most, bool clean);
  std::string expire_at_open();
  std::string rebuild();
  std::string settle_copy(Engine& copy, Model& model, Now at);
  std::string open_all(Engine& of, Model& model);
  std::string drain();
  void forget_completions();

  // ---- queues and the store (runner_queues.cc)
  std::string step_queue(const Op& op, Prng& dice);
  std::string declare(Prng& dice);
  std::string remove_queue(Prng& dice);
  std::string configure(Prng& dice);
  std::string change_status(Prng& dice);
  std::string clear(Prng& dice);
  std::string wait_durable(Prng& dice);
  std::string checkpoint(Prng& dice);
  void change_between_steps();
  void outdate_page();
  std::string poll(Prng& dice);
  std::string poll_all();
  std::string take_completions(std::span<const Completion> completions);
  std::string shutdown();
  std::string check(bool verify);
  std::string bad_input(Prng& dice);
  QueueConfig random_config(Prng& dice);

  // ---- jobs (runner_jobs.cc, runner_leases.cc)
  std::string step_job(const Op& op, Prng& dice);
  std::string enqueue(Prng& dice);
  std::string enqueue_many(Prng& dice);
  std::string cancel(Prng& dice);
  std::string get(Prng& dice);
  std::string lease(Prng& dice);
  std::string take_leased(std::span<const QueueId> from, const LeaseRequest& request,
                          const CallOptions& call, const std::vector<JobView>& jobs,
                          const std::vector<Pick>& picks);
  std::string confirm(Prng& dice);
  std::string extend(Prng& dice);
  std::string settle(Prng& dice);
  Settlement random_settlement(Prng& dice, const Known& token);
  Code expected_code(QueueId queue, const Known& token);
  bool same_code(QueueId queue, const Known& token, Code got, Code expected);
  Spec random_spec(Prng& dice, const Queue* queue);  // null: there is no such queue
  // What a call with new jobs meets, as far as it is known before.
  struct Coming {
    std::vector<std::optional<Holder>> holders;   // of the keys that each names
    std::vector<std::optional<Holder>> replaced;  // whose place each takes
    size_t good = 0;                              // before the first refusal
    Code refusal = Code::ok;                      // of that one
    std::vector<JobId> dropped;
  };
  Code expected_enqueue(QueueId id, std::span<const Spec> specs, bool partial, Coming& coming);
  void told_of_holder(const CallOptions& call, Durability standard, Lsn last);
  std::string new_job(QueueId queue, JobId id, const Spec& spec);

  // ---- dead letters (runner_dead.cc)
  DeadQuery any_dead_query(Prng& dice);
  Token any_dead(QueueId queue, Prng& dice);
  std::string dead_list(Prng& dice);
  std::string change_dead(Prng& dice, bool replay);
  std::vector<JobId> wanted_dead(QueueId id, const DeadBulk& bulk);
  Code plan_dead(QueueId id, const DeadBulk& bulk, std::vector<JobId>* changed);
  std::string change_many_dead(Prng& dice);
  std::string changed_dead(QueueId id, bool remove, Lsn before, Lsn last,
                           const std::vector<JobId>& letters);

  // ---- groups, rates, turns (runner_gates.cc)
  std::string step_gates(const Op& op, Prng& dice);
  std::string gate_config(Prng& dice);
  std::string reprioritise(Prng& dice);
  void add_gates(Prng& dice, Spec& spec);
  bool has_gates(std::span<const QueueId> queues);
  std::string settle_guards(std::span<const QueueId> from, bool* leave_out);
  std::string follow_lease(std::span<const QueueId> from, const LeaseRequest& request,
                           const CallOptions& call, Lsn before, const std::vector<JobView>& jobs);
  std::string follow_failed_lease(std::span<const QueueId> from, Lsn before);
  std::string account_gates(std::span<const QueueId> from, Lsn before, uint64_t leases,
                            const std::vector<Pick>& overlapped, Lsn* first_guarded);
  void overlapped(const std::vector<Pick>& picks, Lsn first, Lsn last);
  void note_gates(std::span<const QueueId> from);
  int64_t step_back_max_ms();

  // ---- keys (runner_keys.cc)
  class KeyPlan {
   public:
    KeyPlan(const Model& model, Now now) : model_(model), now_(now) {}
    std::optional<Holder> place(QueueId queue, const Keys& keys, size_t index);
    void end(JobId id) { ending_.insert(id); }
    // Whose place the one that was placed last takes.
    const std::optional<Holder>& replaced() const { return replaced_; }

   private:
    std::optional<Holder> holder(const KeyName& key) const;
    const Model& model_;
    Now now_;
    std::map<KeyName, Holder> taken_;
    std::set<JobId> ending_;
    std::optional<Holder> replaced_;
  };
  std::string step_flows(const Op& op, Prng& dice);
  void add_keys(Prng& dice, Spec& spec);
  KeyName any_key(Prng& dice);
  std::string learn_key(const KeyName& key);
  std::string learn_keys(QueueId queue, const Keys& keys);
  std::string key_holder(Prng& dice);
  std::string key_cancel(Prng& dice);
  std::string key_release(Prng& dice);
  void note_duplicate(const Keys& keys, const Holder& holder);
  void note_debounced(QueueId queue, const Spec& spec);

  // ---- limits of queues (runner_limits.cc)
  std::string limit_config(Prng& dice);
  uint64_t size_of(const Spec& spec);
  bool counts_bytes(const Queue& queue) const {
    return queue.config.max_bytes != 0 || setting_.quota_kib != 0;
  }
  bool is_over_quota(const std::map<QueueId, Intake>& coming) const;
  void learn_sizes(QueueId queue);
  Intake intake_of(QueueId queue, std::span<const Spec> specs, const Coming& coming);
  Code admit(QueueId queue, const Intake& in, Coming& coming);
  Code find_room(QueueId queue, std::span<const Spec> specs, bool partial, Coming& coming);
  std::string came_in(QueueId id, Lsn lsn, Lsn before, const std::vector<JobId>& ids,
                      const std::vector<Spec>& taken, Coming& coming);
  std::string learn_dropped(QueueId queue, Coming& coming);
  bool has_room_for_replay(const Model& model, QueueId queue, JobId job);
  void note_full(const Queue& queue, Code code);
  void note_dropped(QueueId queue, const std::vector<JobId>& dropped);
  std::string at_rest();

  // ---- limits, chains, batches (runner_flow.cc)
  void add_flows(Prng& dice, Spec& spec);
  void add_limits(Prng& dice, Limits& limits, int64_t due_ms);
  Next any_next(Prng& dice, bool of_chain);
  uint64_t any_batch(Prng& dice);
  std::string learn_batch(uint64_t batch);
  Code chain_code(const Spec& spec) const;
  Code batch_code(uint64_t batch) const;
  std::string flow_config(Prng& dice);
  std::string progress(Prng& dice);
  std::string batch_create(Prng& dice);
  std::string batch_seal(Prng& dice);
  std::string batch_cancel(Prng& dice);
  std::string batch_read(Prng& dice);
  std::string changed_and_swept(Lsn before, Change change);
  std::string finish_sweep();
  void note_flows();  // states that were reached

  // ---- kv rows, transactions (runner_kv.cc, runner_transact.cc)
  struct KvAsked {
    KvVerb verb = KvVerb::put;
    std::string key;
    std::string value;
    int64_t delta = 0;
    int64_t ttl_ms = 0;
    uint32_t condition = 0;
    uint64_t version = 0;
    std::string wanted;  // the value that the condition asks for
    KvWrite write() const;
  };
  struct KvAnswer {
    Code code = Code::ok;
    bool writes = false;
    KvRow row;  // but for its version
    bool erases = false;
    int64_t sum = 0;
  };
  KvAsked any_kv(Prng& dice, KvVerb verb);
  KvAnswer expected_kv(const KvAsked& asked, bool in_transaction);
  static void write_kv(Model& model, const KvAsked& asked, KvAnswer answer, Lsn lsn);
  std::string learn_row(const std::string& key);
  std::string kv_write(const KvAsked& asked, Prng& dice);
  std::string kv_read(Prng& dice);
  std::string lock(Prng& dice);
  std::string transact(Prng& dice);
  struct TxnPlan;
  void plan_transaction(Prng& dice, TxnPlan& plan);
  Code txn_code(TxnPlan& plan, size_t i);
  Code txn_room(TxnPlan& plan, size_t i);
  std::string commit_transaction(TxnPlan& plan, const CallOptions& call,
                                 std::span<const TxnResult> results);

  // ---- history, schedules (runner_rows.cc)
  std::string history(Prng& dice);
  std::string cron_put(Prng& dice);
  std::string cron_remove(Prng& dice);
  std::string cron_pause(Prng& dice);
  std::string remove_schedules();
  void note_due(const DueWork& work, Now at);

  // ---- choices
  QueueId any_queue(Prng& dice);             // mostly one that is there; else one that was
  Known any_job(QueueId queue, Prng& dice);  // mostly a live one of the queue
  Known any_token(QueueId queue, Prng& dice);
  uint8_t any_priority(Prng& dice);
  int64_t any_ms(Prng& dice);

  const Stream& stream_;
  const Setting& setting_;
  EngineHarness harness_;
  Model live_;
  Model base_;  // as of the last change that is known to be durable
  std::deque<Entry> entries_;
  std::vector<Entry>* history_ = nullptr;  // gets every change
  Lsn acked_process_ = 0;
  Lsn acked_power_ = 0;
  int64_t opened_wall_ms_ = 0;
  int64_t opened_mono_ms_ = 0;
  bool wall_was_set_back_ = false;
  uint32_t draining_for_ = 0;  // operations since shutdown; 0 = not shut down
  bool opened_before_ = false;

  std::unique_ptr<CompletionQueue> completions_;
  std::map<uint64_t, Awaited> awaited_;
  std::optional<Prng> between_steps_;  // what happens between the steps of the running checkpoint
  std::string between_failure_;
  bool in_checkpoint_ = false;
  uint64_t page_gap_ = 3;  // see outdate_page()
  uint64_t pages_left_ = 3;
  uint64_t next_user_data_ = 1;

  std::vector<QueueId> all_queues_;  // also deleted ones
  std::vector<Known> all_jobs_;      // also ended ones; the generation is that of the latest lease
  std::vector<Known> all_tokens_;
  JobId max_id_ = 0;
  Generation max_generation_ = 0;
  QueueId max_queue_ = 0;
  QueueId probe_ = 0;  // with threads: an empty queue, to lease from when time has passed
  uint64_t made_ = 0;
  Sizes sizes_;                    // of jobs, as the engine told them
  uint64_t stored_bytes_ = 0;      // of all jobs, before the call
  int64_t wall_max_ms_ = 0;        // the latest that the wall clock has been
  uint64_t checkpoints_seen_ = 0;  // when the operation began
  ResidencyStats residency_;
  std::array<uint64_t, rare_count> rare_{};
  std::array<uint64_t, op_kind_count> ops_{};
  Status trouble_;  // of a look at what a lease did; a disk that fails now and then
};

SettleItem to_item(const Settlement& what);  // views into it

// A refusal that should have happened.
inline std::string wrong_code(const std::string& what, Code got, Code expected) {
  return what + ": " + code_name(got) + ", expected " + code_name(expected);
}

}  // namespace wq::model
