#include "model/runner.h"

#include <algorithm>
#include <cstdio>

#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr const char* rare_names[] = {
#define X(name) #name,
    WQ_MODEL_RARE(X)
#undef X
};

uint64_t dice_seed(const Op& op) {
  uint64_t seed = static_cast<uint64_t>(op.kind);
  for (const uint32_t arg : op.arg) seed = seed * 0x100000001b3ULL + arg;
  return seed;
}

}  // namespace

const char* rare_name(size_t rare) {
  return rare_names[rare];
}

HarnessOptions Runner::harness_options(const Setting& setting) {
  HarnessOptions options;
  options.store = setting.store == on_memory ? StoreKind::memory : StoreKind::rocks;
  if (setting.store == on_rocks_uring) options.backend = IoBackend::automatic;
  if (setting.store == on_rocks_threads) options.backend = IoBackend::thread;
  EngineOptions& engine = options.engine;
  engine.threads = setting.threads != 0;
  engine.expire_leases = setting.expire_at_open != 0;
  engine.memory_budget_bytes = uint64_t{setting.budget_kib} << 10;
  engine.lane_window = setting.lane_window;
  engine.checkpoint_dirty_jobs = setting.dirty_jobs_max;
  engine.checkpoint_step_jobs = 4;  // many gaps: see change_between_steps()
  engine.segment_bytes = uint64_t{setting.segment_kib} << 10;
  engine.spare_segments = setting.spare_segments;
  engine.payload_bytes_max = 8192;
  engine.disk_reserve_bytes = 0;
  engine.quota_bytes = uint64_t{setting.quota_kib} << 10;
  return options;
}

Runner::Runner(const Stream& stream, const HarnessOptions& options)
    : stream_(stream), setting_(stream.setting), harness_(options) {
  if (!setting_.threads) {
    harness_.options().between_steps = [this] { change_between_steps(); };
    harness_.options().page_was_read = [this] { outdate_page(); };
  }
}

Runner::~Runner() {
  completions_.reset();
}

Outcome run_stream(const Stream& stream, bool trace) {
  return Runner(stream).run(trace);
}

Outcome Runner::run(bool trace) {
  Outcome outcome;
  std::string failure = start();
  size_t done = 0;
  for (; failure.empty() && done < stream_.ops.size(); ++done) {
    const Op& op = stream_.ops[done];
    if (trace) std::printf("%zu: %s\n", done, to_text(op).c_str());
    if (trace) std::fflush(stdout);
    failure = step(op);
    if (failure.empty()) failure = after_each(done + 1);
    if (!failure.empty()) break;
  }
  if (failure.empty()) failure = finish();
  if (failure.empty()) note_residency();
  outcome.ok = failure.empty();
  outcome.op = done;
  outcome.message = failure;
  if (!failure.empty() && done < stream_.ops.size()) {
    outcome.message = std::string(op_name(stream_.ops[done].kind)) + ": " + failure;
  }
  outcome.rare = rare_;
  outcome.ops = ops_;
  return outcome;
}

std::string Runner::start() {
  if (const Status status = harness_.open(); !status.ok()) return "open: " + status.message();
  WQ_SAME_OR_SAY(recovered(0, 0, true));
  if (setting_.threads) {
    CallOptions call;
    Result<QueueId> probe = engine().open_queue("probe", {}, 0, true, call);
    if (!probe.ok()) return probe.status().message();
    probe_ = max_queue_ = probe.value();
    changed(call.lsn, [id = probe_](Model& model) { model.declare(id, "probe", {}); });
  }
  return {};
}

std::string Runner::step(const Op& op) {
  Prng dice(dice_seed(op));
  page_gap_ = 3;
  checkpoints_seen_ = engine().stats().checkpoints;
  ++ops_[static_cast<size_t>(op.kind)];
  switch (op.kind) {
    case OpKind::reprioritise:
    case OpKind::gate_config:
      return step_gates(op, dice);
    case OpKind::key_holder:
    case OpKind::key_cancel:
    case OpKind::key_release:
    case OpKind::progress:
    case OpKind::flow_config:
    case OpKind::batch_create:
    case OpKind::batch_seal:
    case OpKind::batch_cancel:
    case OpKind::batch_read:
    case OpKind::kv_put:
    case OpKind::kv_add:
    case OpKind::kv_erase:
    case OpKind::kv_read:
    case OpKind::lock:
    case OpKind::transact:
    case OpKind::history:
    case OpKind::cron_put:
    case OpKind::cron_remove:
    case OpKind::cron_pause:
    case OpKind::limit_config:
      return step_flows(op, dice);
    case OpKind::advance:
      return advance(dice);
    case OpKind::step_wall:
      return step_wall(dice);
    case OpKind::tick: {
      int64_t wait_ms = 0;
      return setting_.threads ? std::string() : tick_once(&wait_ms);
    }
    case OpKind::reopen:
      return close_and_open();
    case OpKind::kill:
      return kill_and_open();
    case OpKind::cut:
      return cut_and_open(dice);
    case OpKind::rebuild:
      return rebuild();
    case OpKind::enqueue:
    case OpKind::enqueue_many:
    case OpKind::cancel:
    case OpKind::get:
    case OpKind::dead_list:
    case OpKind::dead_replay:
    case OpKind::dead_remove:
    case OpKind::dead_many:
    case OpKind::lease:
    case OpKind::confirm:
    case OpKind::extend:
    case OpKind::settle:
      return step_job(op, dice);
    default:
      return step_queue(op, dice);
  }
}

// The cheap comparison. The rest is compared by `check`, and every so often anyway.
std::string Runner::after_each(size_t done) {
  constexpr size_t full_check_every = 60;
  if (draining_for_ != 0 && ++draining_for_ > 5) WQ_SAME_OR_SAY(close_and_open());
  if (setting_.checkpoints == checkpoint_each_op) {
    Prng dice(dice_seed(stream_.ops[done - 1]) + 1);
    WQ_SAME_OR_SAY(checkpoint(dice));
  }
  static_cast<void>(now());  // has the latest time noted
  const EngineStats stats = engine().stats();
  for (size_t i = 1; i < job_state_count; ++i) {
    WQ_SAME("all jobs in state " + std::to_string(i), stats.counts[i],
            live_.count(static_cast<JobState>(i)));
  }
  if (stats.poisoned) return "the store is poisoned";
  fold(stats.durable_lsn);
  note_residency();
  return done % full_check_every == 0 ? check(done % (3 * full_check_every) == 0) : std::string();
}

void Runner::note_residency() {
  if (!harness_.is_open()) return;
  const ResidencyStats seen = engine().stats().residency;
  note_rare(Rare::evicted, seen.evicted - residency_.evicted);
  note_rare(Rare::copied_on_write, seen.copied_on_write - residency_.copied_on_write);
  note_rare(Rare::swept_trash, seen.swept_trash - residency_.swept_trash);
  residency_ = seen;
}

std::string Runner::finish() {
  WQ_SAME_OR_SAY(check(false));
  WQ_SAME_OR_SAY(rebuild());
  WQ_SAME_OR_SAY(close_and_open());
  WQ_SAME_OR_SAY(check(true));
  WQ_SAME_OR_SAY(drain());
  Result<VerifyReport> report = engine().verify();
  if (!report.ok()) return report.status().message();
  if (report.value().problems != 0) return "after the drain: " + report.value().first_problem;
  WQ_SAME("resident jobs when all is done", engine().stats().resident_jobs, 0u);
  completions_.reset();
  const Status closed = harness_.close();
  return closed.ok() ? std::string() : "last close: " + closed.message();
}

Now Runner::now() {
  ManualClock& clock = harness_.clock();
  const int64_t mono_ms = clock.mono_ns() / 1'000'000;
  wall_max_ms_ = std::max(wall_max_ms_, clock.wall_ms());
  return Now{clock.wall_ms(), opened_wall_ms_ + mono_ms - opened_mono_ms_, wall_max_ms_};
}

// ---- history

void Runner::changed(Lsn lsn, Change change) {
  changed(Entry{lsn, lsn, std::move(change), false, now()});
}

void Runner::changed(Entry entry) {
  entry.change(live_);
  max_id_ = std::max(max_id_, live_.next_id - 1);  // chains and batches tell no ids
  if (history_) history_->push_back(entry);
  entries_.push_back(std::move(entry));
}

// What is durable can not be lost any more: the base moves over it.
void Runner::fold(Lsn durable) {
  while (!entries_.empty() && entries_.front().last <= durable) {
    entries_.front().change(base_);
    entries_.pop_front();
  }
}

std::string Runner::expect_written(Lsn before, uint64_t records) {
  const uint64_t written = last_lsn() - before;
  if (written > records && may_have_kept_house()) return {};
  WQ_SAME("log records written", written, records);
  return {};
}

// A checkpoint takes away the rows of kv and of keys whose time is up, and batches that ended long
// ago. With threads one may be at it at any time.
bool Runner::may_have_kept_house() {
  if (!(setting_.flows & (flow_keys | flow_kv | flow_batches | flow_transact))) return false;
  return setting_.threads || engine().stats().checkpoints != checkpoints_seen_;
}

CallOptions Runner::make_call(Prng& dice) {
  CallOptions call;
  if (setting_.weak_levels) call.durability = static_cast<uint32_t>(dice.below(4));
  if (setting_.completions && dice.below(2) == 0) {
    if (!completions_) completions_ = std::move(engine().open_completion()).value();
    call.completion = completions_.get();
    call.user_data = next_user_data_++;
  }
  return call;
}

void Runner::acknowledged(const CallOptions& call, Durability standard) {
  if (call.lsn == 0) return;
  const Durability level =
      call.durability == 0 ? standard : static_cast<Durability>(call.durability);
  if (call.completion) {
    awaited_[call.user_data] = Awaited{call.lsn, level};
  } else {
    acknowledged(call.lsn, level);
  }
}

void Runner::acknowledged(Lsn lsn, Durability level) {
  if (level >= Durability::process) acked_process_ = std::max(acked_process_, lsn);
  if (level >= Durability::power) acked_power_ = std::max(acked_power_, lsn);
}

// ---- choices

QueueId Runner::any_queue(Prng& dice) {
  std::vector<QueueId> there;
  for (const auto& [id, queue] : live_.queues) {
    if (id != probe_) there.push_back(id);
  }
  if (there.empty() || (!all_queues_.empty() && dice.below(60) == 0)) {
    return all_queues_.empty() ? max_queue_ + 1 : all_queues_[dice.below(all_queues_.size())];
  }
  return there[dice.below(there.size())];
}

Runner::Known Runner::any_job(QueueId queue, Prng& dice) {
  const Queue* in = live_.find(queue);
  if (in && !in->jobs.empty() && dice.below(8) != 0) {
    auto job = in->jobs.begin();
    std::advance(job, static_cast<ptrdiff_t>(dice.below(in->jobs.size())));
    return Known{queue, job->first, job->second.generation};
  }
  if (all_jobs_.empty() || dice.below(20) == 0) return Known{queue, dice.next(), 1};
  return all_jobs_[dice.below(all_jobs_.size())];
}

Runner::Known Runner::any_token(QueueId queue, Prng& dice) {
  std::vector<Known> held;
  if (const Queue* in = live_.find(queue)) {
    for (const auto& [id, job] : in->jobs) {
      if (live_.holds(queue, id, job.generation)) held.push_back(Known{queue, id, job.generation});
    }
  }
  if (!held.empty() && dice.below(6) != 0) return held[dice.below(held.size())];
  if (all_tokens_.empty() || dice.below(20) == 0) return any_job(queue, dice);
  return all_tokens_[dice.below(all_tokens_.size())];
}

uint8_t Runner::any_priority(Prng& dice) {
  constexpr uint8_t choices[] = {default_priority, 0, 255, 99, 101, 7};
  return choices[dice.below(std::min<size_t>(setting_.priorities, std::size(choices)))];
}

int64_t Runner::any_ms(Prng& dice) {
  const int64_t scale_ms = setting_.time_scale_ms;
  switch (dice.below(5)) {
    case 0:
      return 1;
    case 1:
      return 1 + scale_ms / 10;
    case 2:
      return 1 + static_cast<int64_t>(dice.below(static_cast<uint64_t>(scale_ms)));
    case 3:
      return scale_ms;
    default:
      return scale_ms * static_cast<int64_t>(1 + dice.below(40));
  }
}

}  // namespace wq::model
