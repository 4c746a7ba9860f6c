// A stream of calls of wq.h against a small model (stream_model.h), on a disk that fails at a place
// of the input's choice: jobs with groups, tenants, unique keys, rate keys that cool down, chains,
// flows, sealed payloads, rows, transactions, a schedule. Each call that did not fail has done what
// the model says. After a failure the store is opened again, and what it holds is the model either
// without the last call or with it; never anything else. All calls ask for WQ_POWER, so what was
// acknowledged can not be lost.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz_check.h"
#include "input.h"
#include "sim_store.h"
#include "stream_model.h"

namespace wq {
namespace {

constexpr int64_t slot_ms = 60'000;

class Stream {
 public:
  explicit Stream(Input& input) : input_(input) {}
  ~Stream() { close_queues(); }

  void run() {
    open();
    SimFault fault;
    const uint8_t how = input_.byte();
    fault.skip = input_.take<uint16_t>() % 512;
    fault.sticky = how & 1;
    fault.error = how & 2 ? EIO : ENOSPC;
    fault.ops = how & 4 ? sim_syncs : how & 8 ? sim_writes : sim_changes;
    if (how & 0x80) store_.disk.inject(fault);
    for (int i = 0; i < 200 && !input_.empty(); ++i) {
      after_ = before_;
      const int32_t code = step();
      if (code == WQ_OK) {
        if (!after_.fresh.empty()) take_fresh();
        before_ = after_;
        before_.fresh.clear();
      } else if (code < 0 && wq_error_maybe_committed(code)) {
        reopen(true);
      } else {
        FUZZ_CHECK(code > 0 || code == WQ_E_NO_SPACE || code == WQ_E_NOT_FOUND);
      }
      lease_unknown_ = false;
      replayed_ = 0;
    }
    after_ = before_;
    reopen(false);
    wq_verify_report report = WQ_VERIFY_REPORT_INIT;
    FUZZ_CHECK(wq_store_verify(store_.store, &report, nullptr) == WQ_OK);
  }

 private:
  void open() {
    FUZZ_CHECK(store_.open() == WQ_OK);
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    config.fields = WQ_CONFIG_MAX_RETRIES | WQ_CONFIG_THROTTLE;
    config.max_retries = attempts_max - 1;
    config.throttle_count = 1;
    config.throttle_window_ms = cool_ms;
    FUZZ_CHECK(wq_queue_open(store_.store, "q", 1, &config, 0, &queues_[0], nullptr) == WQ_OK);
    config.fields |= WQ_CONFIG_ENCRYPT;
    config.encrypt = 1;
    FUZZ_CHECK(wq_queue_open(store_.store, "s", 1, &config, 0, &queues_[1], nullptr) == WQ_OK);
  }
  void close_queues() {
    for (wq_queue*& queue : queues_) wq_queue_close(&queue);
  }

  // The disk is well again, as after a change of cable.
  void reopen(bool maybe) {
    store_.disk.clear_faults();
    close_queues();
    wq_store_close(&store_.store);
    open();
    if (ticking_) tick_until_idle();
    Model found;
    FUZZ_CHECK(look_into(store_.store, before_, found));
    if (maybe && lease_unknown_) {
      after_ = with_lease(found);
      for (const auto& [id, job] : after_.jobs) {
        if (!(job == before_.jobs[id])) leased_at_[id] = unknown_leased_at_;
      }
    }
    if (maybe && replayed_ != 0 && found.jobs.contains(replayed_)) {
      take_generation(replayed_, found);
    }
    FUZZ_CHECK((!ticking_ && is_same(found, before_)) || (maybe && is_same(found, after_)) ||
               (ticking_ && is_same_but_slots(found)));
    ticking_ = false;
    adopt(found);
  }
  void adopt(const Model& found) {
    const bool schedule = before_.schedule;
    before_ = found;
    before_.fresh.clear();
    before_.schedule = schedule;
  }
  // Ids of the jobs that the last call has set off. It was answered, so there is no doubt, also if
  // they can only be seen behind an open.
  void take_fresh() {
    Model found;
    if (look_into(store_.store, after_, found)) {
      FUZZ_CHECK(is_same(found, after_));
      after_ = std::move(found);
    } else {
      before_ = after_;
      reopen(false);
      after_ = before_;
    }
  }

  // A replay gives a generation that nobody held before; it is not told.
  void take_generation(uint64_t id, const Model& found) {
    const uint64_t generation = found.jobs.at(id).generation;
    if (generation > before_.jobs[id].generation) after_.jobs[id].generation = generation;
  }

  // A lease that was not told took some ready job, one attempt more; which one only the store
  // knows.
  Model with_lease(const Model& found) const {
    for (const auto& [id, job] : found.jobs) {
      const auto known = before_.jobs.find(id);
      if (known == before_.jobs.end() || known->second == job) continue;
      if (known->second.state != WQ_STATE_READY || job.generation <= known->second.generation)
        break;
      Model with = before_;
      with.jobs[id].state = WQ_STATE_LEASED;
      with.jobs[id].attempts = known->second.attempts + 1;
      with.jobs[id].generation = job.generation;
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
    switch (input_.byte() % 20) {
      case 0:
      case 1:
      case 2:
        return enqueue();
      case 3:
      case 4:
      case 10:
        return lease();
      case 5:
      case 6:
      case 11:
        return settle();
      case 7:
        return dead();
      case 8:
        return wq_store_checkpoint(store_.store, nullptr);
      case 9:
        return clear();
      case 12:
        return create_flow();
      case 13:
        return seal_flow();
      case 14:
      case 15:
        return write_row();
      case 16:
      case 17:
        return transact();
      case 18:
        return pass_time();
      default:
        return put_schedule();
    }
  }

  // ---- producing

  // A job of some kind, by two bytes of the input.
  JobKind pick_kind() {
    const uint8_t what = input_.byte();
    const uint8_t which = input_.byte();
    const std::string name(1, static_cast<char>('0' + which % 3));
    JobKind kind{.queue = (what >> 7) & 1u, .payload = std::string(which * 16u, 'p')};
    switch (what % 8) {
      case 1:
        kind.group = "g" + name;
        break;
      case 2:
        kind.key = "k" + name;
        break;
      case 3:
        kind.rate_key = "r" + name;
        break;
      case 4:
        kind.payload = "c2";
        break;
      case 5:
        if (!before_.flows.empty()) {
          const auto flow =
              std::next(before_.flows.begin(), which % static_cast<int>(before_.flows.size()));
          if (!flow->second.finished) kind.flow = flow->first;
        }
        break;
      default:
        break;
    }
    if (what & 0x40) kind.tenant = "t" + name;
    return kind;
  }

  // A spec points into the kind and into these.
  struct Chain {
    wq_job_spec specs[2] = {WQ_JOB_SPEC_INIT, WQ_JOB_SPEC_INIT};
    wq_next_job next[2] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
  };
  static wq_bytes bytes(const std::string& text) { return {text.data(), text.size()}; }
  static wq_job_spec spec_of(const JobKind& kind, Chain& chain) {
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = bytes(kind.payload);
    spec.group = bytes(kind.group);
    spec.unique_key = bytes(kind.key);
    spec.rate_key = bytes(kind.rate_key);
    spec.tenant = bytes(kind.tenant);
    spec.flow = kind.flow;
    if (kind.payload == "c2") {
      chain.specs[0].payload = {"c1", 2};
      chain.specs[1].payload = {"c0", 2};
      for (int i = 0; i < 2; ++i) chain.next[i].spec = &chain.specs[i];
      spec.chain = chain.next;
      spec.chain_count = 2;
      spec.chain_size = sizeof chain.next[0];
    }
    return spec;
  }

  int32_t enqueue() {
    const JobKind kind = pick_kind();
    Chain chain;
    const wq_job_spec spec = spec_of(kind, chain);
    wq_enqueued out = WQ_ENQUEUED_INIT;
    wq_call call = power();
    after_.fresh.push_back(kind);
    after_.join(kind);
    const int32_t code = wq_enqueue(queues_[kind.queue], &spec, &call, &out, nullptr);
    uint64_t holder = 0;
    const bool held = !kind.key.empty() && before_.has_holder(kind.queue, kind.key, &holder);
    if (code == WQ_OK) {
      FUZZ_CHECK(!held && !before_.jobs.contains(out.job_id));
      after_.fresh.clear();
      after_.jobs[out.job_id].kind = kind;
    } else if (code >= 0) {
      FUZZ_CHECK(code == WQ_DUPLICATE && held && out.job_id == holder);
    }
    return code;
  }

  int32_t create_flow() {
    if (before_.flows.size() >= 6) return WQ_OK;
    wq_job_spec specs[] = {WQ_JOB_SPEC_INIT, WQ_JOB_SPEC_INIT};
    wq_next_job ends[] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
    const char* const texts[] = {"good end", "bad end"};
    for (int i = 0; i < 2; ++i) {
      specs[i].payload = {texts[i], std::string_view(texts[i]).size()};
      ends[i].queue_name = {"q", 1};
      ends[i].spec = &specs[i];
    }
    wq_flow_options options = WQ_FLOW_OPTIONS_INIT;
    options.on_complete = &ends[0];
    options.on_failure = &ends[1];
    wq_call call = power();
    uint64_t flow = 0;
    const int32_t code = wq_flow_create(store_.store, &options, &flow, &call, nullptr);
    if (code == WQ_OK) {
      FUZZ_CHECK(!before_.flows.contains(flow));
      after_.flows[flow] = {};
    }
    return code;
  }
  int32_t seal_flow() {
    if (before_.flows.empty()) return WQ_OK;
    const auto flow =
        std::next(before_.flows.begin(), input_.byte() % static_cast<int>(before_.flows.size()));
    after_.seal(flow->first);
    wq_call call = power();
    return wq_flow_seal(store_.store, flow->first, &call, nullptr);
  }

  // ---- consuming

  bool may_be_leased(const ModelJob& job) {
    if (job.state != WQ_STATE_READY || before_.is_group_full(job.kind)) return false;
    const auto cools = cools_until_.find({job.kind.queue, job.kind.rate_key});
    return job.kind.rate_key.empty() || cools == cools_until_.end() ||
           cools->second <= store_.clock.wall_ms();
  }

  int32_t lease() {
    wq_batch* batch = nullptr;
    wq_call call = power();
    wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
    options.lease_ms = lease_ms;
    const int32_t code =
        wq_lease(store_.store, queues_, 2, &options, nullptr, &call, &batch, nullptr);
    if (code == WQ_EMPTY) {
      for (const auto& [id, job] : before_.jobs) FUZZ_CHECK(!may_be_leased(job));
    }
    wq_job job = WQ_JOB_INIT;
    if (code == WQ_OK && wq_batch_job(batch, 0, &job) == WQ_OK) {
      FUZZ_CHECK(before_.jobs.contains(job.id));
      const ModelJob& known = before_.jobs[job.id];
      FUZZ_CHECK(known.state == WQ_STATE_READY && !before_.is_group_full(known.kind));
      FUZZ_CHECK(job.queue_index == known.kind.queue);
      FUZZ_CHECK(text_of(job.payload) == known.kind.payload);
      FUZZ_CHECK(job.generation > known.generation);
      const auto cools = cools_for_sure_.find({known.kind.queue, known.kind.rate_key});
      FUZZ_CHECK(known.kind.rate_key.empty() || cools == cools_for_sure_.end() ||
                 cools->second <= store_.clock.wall_ms());
      ModelJob& leased = after_.jobs[job.id];
      leased.state = WQ_STATE_LEASED;
      leased.attempts = known.attempts + 1;
      leased.generation = job.generation;
      leased_at_[job.id] = store_.clock.wall_ms();
    }
    // What was leased by a call that failed is seen after the reopen only.
    lease_unknown_ = code < 0;
    if (lease_unknown_) unknown_leased_at_ = store_.clock.wall_ms();
    wq_batch_free(&batch);
    return code;
  }

  // Some job in that state; 0 if there is none.
  uint64_t pick(uint32_t state) {
    std::vector<uint64_t> ids;
    for (const auto& [id, job] : before_.jobs) {
      if (job.state == state) ids.push_back(id);
    }
    return ids.empty() ? 0 : ids[input_.byte() % ids.size()];
  }

  // A nack is an exception: the rate key of the job cools down, unless the job began before a
  // cool-down that it would not extend. `sure`: it was answered.
  void note_exception(uint64_t id, bool sure) {
    const JobKind& kind = before_.jobs[id].kind;
    if (kind.rate_key.empty()) return;
    const int64_t now = store_.clock.wall_ms();
    const std::pair<uint32_t, std::string> name(kind.queue, kind.rate_key);
    int64_t& maybe = cools_until_[name];
    const bool first = maybe == 0;
    maybe = std::max(maybe, now + cool_ms);
    if (sure && first) cools_for_sure_[name] = now + cool_ms;
  }

  int32_t settle() {
    const uint64_t id = pick(WQ_STATE_LEASED);
    if (id == 0) return WQ_OK;
    const uint64_t generation = before_.jobs[id].generation;
    wq_queue* const queue = queues_[before_.jobs[id].kind.queue];
    wq_call call = power();
    int32_t code = 0;
    switch (input_.byte() % 5) {
      case 0:
        after_.ack(id);
        code = wq_ack(queue, id, generation, &call, nullptr);
        break;
      case 1:
        after_.retry(id);
        code = wq_nack(queue, id, generation, nullptr, &call, nullptr);
        note_exception(id, code == WQ_OK);
        break;
      case 2:
        after_.die(id);
        code = wq_fail(queue, id, generation, "e", 1, &call, nullptr);
        break;
      case 3:
        after_.jobs[id].state = WQ_STATE_READY;
        after_.jobs[id].attempts--;
        code = wq_release(queue, id, generation, 0, 0, &call, nullptr);
        break;
      default:
        code = wq_ack(queue, id, generation + 1, &call, nullptr);
        FUZZ_CHECK(code == WQ_STALE || code == WQ_E_POISONED);
        return code;
    }
    FUZZ_CHECK(code == WQ_OK || code < 0);
    return code;
  }

  int32_t dead() {
    const uint64_t id = pick(WQ_STATE_DEAD);
    if (id == 0) return WQ_OK;
    const ModelJob& job = before_.jobs[id];
    wq_queue* const queue = queues_[job.kind.queue];
    wq_call call = power();
    int32_t code = 0;
    if (input_.byte() & 1) {
      uint64_t holder = 0;
      const bool held =
          !job.kind.key.empty() && before_.has_holder(job.kind.queue, job.kind.key, &holder);
      after_.revive(id);
      code = wq_dead_replay(queue, id, job.generation, &call, nullptr);
      replayed_ = id;
      FUZZ_CHECK(code < 0 || code == (held ? WQ_DUPLICATE : WQ_OK));
      Model found;
      if (code != WQ_OK) return code;
      if (look_into(store_.store, after_, found)) {
        take_generation(id, found);
      } else {
        before_ = after_;
        reopen(true);
        after_ = before_;
      }
    } else {
      after_.jobs.erase(id);
      code = wq_dead_remove(queue, id, job.generation, &call, nullptr);
      FUZZ_CHECK(code == WQ_OK || code < 0);
    }
    return code;
  }

  int32_t clear() {
    const uint32_t queue = input_.byte() & 1;
    uint64_t ready = 0;
    for (const auto& [id, job] : before_.jobs) {
      if (job.kind.queue != queue || job.state != WQ_STATE_READY) continue;
      after_.lose(id);
      ++ready;
    }
    uint64_t removed = 0;
    wq_call call = power();
    const int32_t code =
        wq_queue_clear(queues_[queue], WQ_STATE_BIT(WQ_STATE_READY), &removed, &call, nullptr);
    if (code == WQ_OK) FUZZ_CHECK(removed == ready);
    return code;
  }

  // ---- rows and transactions

  int32_t write_row() {
    const std::string key = "row" + std::to_string(input_.byte() % 3);
    const std::string value = input_.bytes(input_.byte() % 20);
    const bool there = before_.rows.contains(key);
    wq_kv_options options = WQ_KV_OPTIONS_INIT;
    wq_call call = power();
    int32_t code = 0;
    switch (input_.byte() % 4) {
      case 0:
        after_.rows.erase(key);
        code = wq_kv_erase(store_.store, key.data(), key.size(), nullptr, &call, nullptr);
        FUZZ_CHECK(code < 0 || code == (there ? WQ_OK : WQ_EMPTY));
        return code;
      case 1: {
        int64_t sum = 0;
        after_.rows["count"] = std::to_string(count() + 1);
        code = wq_kv_add(store_.store, "count", 5, 1, nullptr, &call, &sum, nullptr);
        FUZZ_CHECK(code < 0 || (code == WQ_OK && sum == count() + 1));
        return code;
      }
      case 2:
        options.flags = WQ_KV_IF_ABSENT;
        break;
      default:
        break;
    }
    after_.rows[key] = value;
    code = wq_kv_put(store_.store, key.data(), key.size(), value.data(), value.size(), &options,
                     &call, nullptr, nullptr);
    FUZZ_CHECK(code < 0 || code == (options.flags != 0 && there ? WQ_CONFLICT : WQ_OK));
    return code;
  }
  int64_t count() const {
    const auto row = before_.rows.find("count");
    return row == before_.rows.end() ? 0 : std::stoll(row->second);
  }

  // "Ack this, enqueue that, and count": all of it or nothing.
  int32_t transact() {
    const uint64_t acked = pick(WQ_STATE_LEASED);
    const JobKind kind = pick_kind();
    Chain chain;
    const wq_job_spec spec = spec_of(kind, chain);
    wq_settle_item settle = WQ_SETTLE_ITEM_INIT;
    settle.kind = WQ_SETTLE_ACK;
    wq_txn_op ops[] = {WQ_TXN_OP_INIT, WQ_TXN_OP_INIT, WQ_TXN_OP_INIT};
    ops[0].kind = WQ_TXN_ENQUEUE;
    ops[0].queue = queues_[kind.queue];
    ops[0].spec = &spec;
    ops[1].kind = WQ_TXN_KV_ADD;
    ops[1].key = {"count", 5};
    ops[1].delta = 1;
    size_t n = 2;
    // Every operation is judged by the state before; a key is free for who acks its holder before.
    uint64_t holder = 0;
    const bool held = !kind.key.empty() && before_.has_holder(kind.queue, kind.key, &holder);
    after_.join(kind);
    if (acked != 0) {
      const ModelJob& job = before_.jobs[acked];
      settle.id = acked;
      settle.generation = job.generation;
      ops[2].kind = WQ_TXN_SETTLE;
      ops[2].queue = queues_[job.kind.queue];
      ops[2].settle = &settle;
      n = 3;
      after_.ack(acked);
    }
    after_.fresh.push_back(kind);
    after_.rows["count"] = std::to_string(count() + 1);
    wq_txn_result results[3];
    wq_call call = power();
    const int32_t code = wq_transact(store_.store, ops, n, sizeof ops[0], &call, results,
                                     sizeof results[0], nullptr, nullptr);
    FUZZ_CHECK(code < 0 || code == (held ? WQ_DUPLICATE : WQ_OK));
    if (code == WQ_OK) FUZZ_CHECK(results[1].sum == count() + 1);
    return code;
  }

  // ---- time

  int32_t put_schedule() {
    wq_cron_spec spec = WQ_CRON_SPEC_INIT;
    spec.expression = {"@every 60s", 10};
    wq_job_spec job = WQ_JOB_SPEC_INIT;
    job.payload = {"slot", 4};
    spec.job = &job;
    wq_call call = power();
    const int32_t code = wq_cron_put(queues_[0], "each minute", 11, &spec, &call, nullptr);
    // If it was not answered it may be there or not; from here on both are right.
    if (code < 0) before_.schedule = true;
    after_.schedule = true;
    return code;
  }

  int32_t tick_until_idle() {
    int64_t due_ms = 0;
    for (int i = 0; i < 1'000 && due_ms == 0; ++i) {
      const int32_t code = wq_store_tick(store_.store, &due_ms, nullptr);
      if (code != WQ_OK) return code;
    }
    FUZZ_CHECK(due_ms != 0);  // it comes to rest
    return WQ_OK;
  }

  // Leases run out, slots come. What a tick does is promised by the sync behind it.
  int32_t pass_time() {
    const int64_t before_ms = store_.clock.wall_ms();
    store_.clock.advance((1 + input_.byte() % 100) * 1'000);
    const int64_t now = store_.clock.wall_ms();
    slots_ = static_cast<uint64_t>(now / slot_ms - before_ms / slot_ms);
    for (const auto& [id, job] : before_.jobs) {
      const auto leased = leased_at_.find(id);
      const int64_t at = leased == leased_at_.end() ? unknown_leased_at_ : leased->second;
      if (job.state == WQ_STATE_LEASED && at + lease_ms <= now) after_.retry(id);
    }
    ticking_ = true;
    int32_t code = tick_until_idle();
    if (code == WQ_OK) code = wq_store_sync(store_.store, nullptr);
    Model found;
    if (code != WQ_OK || !look_into(store_.store, before_, found)) {
      reopen(true);  // which goes on with it
      after_ = before_;
      return WQ_OK;
    }
    FUZZ_CHECK(is_same_but_slots(found));
    const bool schedule = after_.schedule;
    after_ = found;
    after_.schedule = schedule;
    ticking_ = false;
    return WQ_OK;
  }
  // As expected, with at least one job and at most one for each slot that has come.
  bool is_same_but_slots(const Model& found) const {
    Model expected = after_;
    uint64_t jobs = 0;
    for (const auto& [id, job] : found.jobs) {
      if (before_.jobs.contains(id) || job.kind.payload != "slot") continue;
      expected.fresh.push_back(job.kind);
      ++jobs;
    }
    return is_same(found, expected) && jobs <= (before_.schedule ? slots_ : 0);
  }

  Input& input_;
  FuzzStore store_;
  wq_queue* queues_[2] = {};
  uint64_t replayed_ = 0;  // a replay that was not told
  bool lease_unknown_ = false;
  bool ticking_ = false;  // time has passed, and what it brings was not promised yet
  uint64_t slots_ = 0;    // of the schedule, in that time
  std::map<uint64_t, int64_t> leased_at_;
  int64_t unknown_leased_at_ = 0;
  // When the rate keys of queues cool down, perhaps and certainly.
  std::map<std::pair<uint32_t, std::string>, int64_t> cools_until_, cools_for_sure_;
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
