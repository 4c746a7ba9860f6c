// The runner's ends and beginnings: close, kill, power cut, rebuilding from the log, the final
// drain.
#include <algorithm>

#include "model/runner_internal.h"

namespace wq::model {

void Runner::forget_completions() {
  completions_.reset();
  awaited_.clear();
}

std::string Runner::close_and_open() {
  const Lsn last = last_lsn() + 1;  // closing in order is a record, too
  constexpr Lsn housekeeping_max = 1'000;
  const Lsn most = setting_.flows != 0 ? last + housekeeping_max : last;
  const Status closed = engine().close();
  if (!closed.ok()) return "close: " + closed.message();
  if (completions_) WQ_SAME_OR_SAY(poll_all());
  forget_completions();
  harness_.close().ignore("closed already");
  if (const Status status = harness_.open(); !status.ok()) return "open: " + status.message();
  return recovered(last, most, true);
}

std::string Runner::kill_and_open() {
  if (setting_.threads) {  // what the threads write meanwhile is not told: make an end of it
    if (const Status status = engine().sync(); !status.ok()) return status.message();
  }
  const EngineStats stats = engine().stats();
  const Lsn least = std::max(acked_process_, stats.process_lsn);
  forget_completions();
  const Status status = harness_.kill_and_open();
  if (!status.ok()) return "open after a kill: " + status.message();
  constexpr Lsn housekeeping_max = 1'000;  // of threads, just before they died
  const Lsn more = setting_.threads && setting_.flows != 0 ? housekeeping_max : 0;
  const Lsn found = std::max(engine().recovery().log.last_lsn, engine().recovery().applied_lsn);
  if (found < stats.last_lsn) note_rare(Rare::kill_lost_a_tail);
  return recovered(least, stats.last_lsn + more, false);
}

std::string Runner::cut_and_open(Prng& dice) {
  CrashImage image;
  image.data = static_cast<CrashData>(dice.below(4));
  image.names = static_cast<CrashNames>(dice.below(4));
  constexpr uint32_t sectors[] = {512, 4096, 1};
  image.sector_bytes = sectors[dice.below(3)];
  image.seed = dice.next();
  const EngineStats stats = engine().stats();
  const Lsn least = std::max(acked_power_, stats.durable_lsn);
  forget_completions();
  const Status status = harness_.cut_and_open(image);
  if (!status.ok()) return "open after a power cut: " + status.message();
  const Lsn found = std::max(engine().recovery().log.last_lsn, engine().recovery().applied_lsn);
  if (found > least) note_rare(Rare::cut_kept_the_unpromised);
  if (found < stats.last_lsn) note_rare(Rare::cut_lost_a_tail);
  return recovered(least, stats.last_lsn, false);
}

// The log was found to end somewhere: the model goes back to that point.
std::string Runner::recovered(Lsn least, Lsn most, bool clean) {
  const Recovery& recovery = engine().recovery();
  const Lsn found = std::max(recovery.log.last_lsn, recovery.applied_lsn);
  if (found < least || found > most) {
    return "recovered up to record " + std::to_string(found) + ", expected " +
           std::to_string(least) + " to " + std::to_string(most);
  }
  WQ_SAME("clean", recovery.clean, clean);
  WQ_SAME("records replayed", recovery.records_replayed, found - recovery.applied_lsn);
  if (recovery.log.truncated_bytes > 0) note_rare(Rare::torn_tail);
  if (!clean && recovery.records_replayed > 0) {
    note_rare(recovery.applied_lsn > 0 ? Rare::replayed_from_checkpoint : Rare::replayed_all);
  }
  if (recovery.log.first_lsn > 1) note_rare(Rare::log_recycled);
  fold(found);
  Model past = base_;
  if (!entries_.empty() && entries_.front().first <= found) {
    // Somewhere between the records of one call.
    const Entry& cut = entries_.front();
    if (!cut.promotes && !cut.part) return "recovered half of a change";
    if (cut.part) {
      note_rare(Rare::due_work_recovered_in_part);
      cut.part(past, engine());
    }
    Model whole = past;
    if (setting_.expire_at_open) whole.expire(whole.expired(INT64_MAX), now());
    const uint64_t all = whole.count(JobState::delayed);
    const uint64_t left = engine().stats().counts[static_cast<int>(JobState::delayed)];
    if (cut.promotes && left > all) {
      return differ("delayed jobs in the middle of a promotion", left, all);
    }
    if (cut.promotes) past.promote(all - left, cut.now);
  }
  entries_.clear();
  live_ = std::move(past);
  opened_wall_ms_ = harness_.clock().wall_ms();
  opened_mono_ms_ = harness_.clock().mono_ns() / 1'000'000;
  if (!clean) live_.next_id += unclean_job_id_gap;
  max_id_ = std::max(max_id_, live_.next_id - 1);
  live_.reopen(now());
  const uint64_t leases = live_.count(JobState::leased) + live_.count(JobState::running);
  WQ_SAME("leases kept and expired", recovery.leases_kept + recovery.leases_expired, leases);
  if (setting_.expire_at_open) WQ_SAME_OR_SAY(expire_at_open());
  const Lsn first_last = found + 1 + (recovery.leases_expired > 0 ? 1 : 0);
  if (!setting_.threads) WQ_SAME("newest record after opening", last_lsn(), first_last);
  base_ = live_;
  acked_process_ = acked_power_ = first_last;
  residency_ = ResidencyStats{};
  // Queue ids are never told to anybody who could outlive the process: a lost one may come again.
  max_queue_ = live_.queues.empty() ? 0 : live_.queues.rbegin()->first;
  draining_for_ = 0;
  opened_before_ = found > 0;
  checkpoints_seen_ = 0;
  WQ_SAME_OR_SAY(finish_sweep());
  // With threads nothing stays due for long.
  return setting_.threads && opened_before_ ? await_due(first_last) : std::string();
}

// The option takes back every lease that has a deadline, the earliest first.
std::string Runner::expire_at_open() {
  const std::vector<Pick> leases = live_.expired(INT64_MAX);
  WQ_SAME("leases expired at open", engine().recovery().leases_expired, leases.size());
  if (!leases.empty()) note_rare(Rare::expired_at_open);
  live_.expire(leases, now());
  return {};
}

// Metamorphic: replaying the whole log into an empty store gives the state that the live engine has
// after all its checkpoints, evictions and refills. Possible while no segment was recycled.
std::string Runner::rebuild() {
  if (setting_.store != on_memory || setting_.expire_at_open) return {};
  if (live_.expired(INT64_MAX).size() > due_leases_max) return {};  // more than one step of a tick
  if (const Status status = engine().sync(); !status.ok()) return status.message();
  if (!harness_.disk().has_file("store/log/0000000000000001.seg")) return {};
  SimDisk disk = harness_.disk().image(CrashImage{CrashData::all, CrashNames::all});
  const std::unique_ptr<Io> io = disk.mount();
  EngineOptions options = harness_.options().engine;
  options.directory = "store";
  options.threads = false;
  Environment environment;
  environment.io = io.get();
  environment.clock = &harness_.clock();
  environment.open_store = [](const StoreOptions&) {
    return open_mem_store(make_mem_store_content());
  };
  Result<std::unique_ptr<Engine>> opened = Engine::open(options, environment);
  if (!opened.ok()) return "rebuild: " + opened.status().message();
  note_rare(Rare::rebuilt);
  Engine& copy = *opened.value();
  // Opening it begins a run of its own, with its own clock.
  Model model = live_;
  Now at = now();
  at.run_ms = at.wall_ms;
  model.reopen(at);
  model.next_id += unclean_job_id_gap;
  CompareOptions compare;
  compare.ages = !wall_was_set_back_;
  WQ_SAME("rebuild: applied_lsn", copy.recovery().applied_lsn, 0u);
  WQ_SAME_OR_SAY(compare_state(copy, model, at, compare));
  WQ_SAME_OR_SAY(settle_copy(copy, model, at));
  WQ_SAME_OR_SAY(open_all(copy, model));
  return compare_by_draining(copy, model, at, SIZE_MAX);
}

// Works off what is due on an engine that is not the stream's own.
std::string Runner::settle_copy(Engine& copy, Model& model, Now at) {
  for (int64_t wait_ms = 0; wait_ms == 0;) {
    const Result<int64_t> next = copy.tick();
    if (!next.ok()) return "tick of a copy: " + next.status().message();
    wait_ms = next.value();
    model.expire(model.expired(at.run_ms), at);
    due_work(copy, model, at).apply(model, at);
  }
  return {};
}

std::string Runner::open_all(Engine& of, Model& model) {
  for (auto& [id, queue] : model.queues) {
    QueueConfig config = queue.config;
    config.status = QueueStatus::active;
    config.pause_kept = false;
    config.max_running = 0;
    config.rate = config.key_rate = {};
    config.throttle = {};
    constexpr uint32_t fields =
        config_status | config_max_running | config_rate | config_key_rate | config_throttle;
    CallOptions call;
    const Status status = of.configure(id, config, fields, call);
    if (!status.ok()) return "drain: " + status.message();
    if (config != queue.config) model.configure(id, config, now());
  }
  return {};
}

// Everything ends: leases run out, delays pass, attempts are used up, and each job comes out in
// order until it is dead, or running with no deadline.
std::string Runner::drain() {
  constexpr int64_t year_ms = int64_t{1000} * 3600 * 24 * 366;
  size_t jobs_left = 0;
  for (const auto& [id, queue] : live_.queues) jobs_left += queue.jobs.size();
  constexpr size_t attempts_max = 4;
  // One that does not wait for its group may be released in each round.
  const size_t guarded_max = setting_.gates != 0 ? jobs_left : 0;
  const size_t rounds_max = 64 + guarded_max + jobs_left * attempts_max / due_leases_max;
  WQ_SAME_OR_SAY(settle_time());
  WQ_SAME_OR_SAY(remove_schedules());
  WQ_SAME_OR_SAY(open_all(engine(), live_));
  for (size_t round = 0;; ++round) {
    if (round == rounds_max) return "the drain does not end";
    const size_t leases_max = setting_.threads ? due_leases_max : SIZE_MAX;
    WQ_SAME_OR_SAY(compare_by_draining(engine(), live_, now(), leases_max));
    // The end of a batch may have enqueued a job into a queue that was done with.
    for (int more = 0; more < 3 && !setting_.threads && live_.count(JobState::ready) != 0; ++more) {
      WQ_SAME_OR_SAY(compare_by_draining(engine(), live_, now(), leases_max));
    }
    if (!setting_.threads) {
      WQ_SAME("ready jobs after a drain", live_.count(JobState::ready), 0u);
    }
    if (live_.count(JobState::delayed) + live_.expired(INT64_MAX).size() == 0) break;
    WQ_SAME_OR_SAY(pass_time(year_ms));
    WQ_SAME_OR_SAY(settle_time());
  }
  // The end of a batch may enqueue a job, so a second time.
  for (int round = 0; round < 2; ++round) {
    for (auto& [id, queue] : live_.queues) {
      CallOptions call;
      const size_t jobs = queue.jobs.size();
      const Result<uint64_t> cleared = engine().clear(id, clearable_states, call);
      if (!cleared.ok()) return "drain: " + cleared.status().message();
      WQ_SAME("drain: jobs cleared", cleared.value(), jobs);
      live_.clear(id, clearable_states);
      for (const Model::Sweep& step : live_.sweep_plan()) live_.sweep(step, now());
    }
  }
  note_rare(Rare::drained);
  return compare_state(engine(), live_, now(), CompareOptions{});
}

}  // namespace wq::model
