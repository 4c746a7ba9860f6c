// Payloads and results on their way in and out. In: packed before the lock is taken, as the queue
// and the job ask for. Out: opened for whoever reads them, with no lock held; a job whose payload
// does not open is not handed out by a lease, but dies as unreadable. Also which keys are in use.
#include <algorithm>
#include <map>
#include <utility>

#include "base/never_destroyed.h"
#include "base/planted.h"
#include "engine/batch.h"
#include "engine/cron.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/history.h"
#include "engine/keys.h"
#include "engine/next_job.h"

namespace wq {
namespace {

PackPolicy policy_of(const Queue* queue) {
  return queue ? PackPolicy{queue->config.encrypt, queue->config.compress_min_bytes} : PackPolicy();
}

// Else it is not the payload that is the matter, but memory, or that the process exits.
bool is_unreadable(Code why) {
  return why != Code::no_memory && why != Code::closed;
}

PackTarget target_of(const Queue* queue) {
  return queue ? PackTarget{queue->name, policy_of(queue)} : PackTarget();
}

}  // namespace

const Keyring& Engine::keyring() const {
  static NeverDestroyed<Keyring> none;
  return environment_.keyring ? *environment_.keyring : none.get();
}

// A call that began before the configuration changed may still go by the old one.
PackPolicy Engine::pack_policy(QueueId id) {
  // relaxed: whoever knows of a change of the configuration knows of this, too
  if (!packs_.load(std::memory_order_relaxed)) return {};
  MutexLock lock(mutex_);
  return policy_of(state_.find_queue(id));
}

void Engine::note_packing(const QueueConfig& config) {
  if (config.encrypt || config.compress_min_bytes != 0) packs_.store(true);
}

Status Engine::refuse_without_keys(const Queue& queue) const {
  if (!queue.config.encrypt || !keyring().empty() || WQ_PLANTED(leases_without_keys)) return {};
  return Status(Code::no_key, "queue '" + queue.name +
                                  "' encrypts its payloads, and the store was opened without keys");
}

// ---- in

PackTarget Engine::pack_target(QueueId id) {
  MutexLock lock(mutex_);
  return target_of(state_.find_queue(id));
}

// Where the jobs of a chain run. A queue that is not there is told by the admission.
std::vector<PackTarget> Engine::chain_targets(QueueId id, const JobSpec& spec) {
  MutexLock lock(mutex_);
  std::vector<PackTarget> targets;
  const Queue* queue = state_.find_queue(id);
  for (const NextSpec& next : spec.chain) {
    if (!next.queue.empty()) queue = state_.find_queue(next.queue);
    targets.push_back(target_of(queue));
  }
  return targets;
}

Result<Bytes> Engine::job_envelope(Packer& packer, Encoder& encoder, QueueId id,
                                   const JobSpec& spec, int64_t now_ms) {
  const PackPolicy policy = pack_policy(id);
  if (spec.chain.empty()) return packer.envelope(encoder, policy, spec, spec.traits, now_ms);
  WQ_TRY_SET(const std::string chain, encode_chain(spec, chain_targets(id, spec), packer));
  JobTraits traits = spec.traits;
  traits.chain = chain;
  traits.chain_jobs = static_cast<uint32_t>(spec.chain.size());
  return packer.envelope(encoder, policy, spec, traits, now_ms);
}

Result<OwnPayload> Engine::pack_batch_job(Packer& packer, const NextSpec* next) {
  OwnPayload own;
  if (!next) return own;
  PackTarget target;
  {
    MutexLock lock(mutex_);
    target = target_of(state_.find_queue(next->queue));
  }
  WQ_TRY_SET(const Packer::Packed packed,
             packer.pack_ahead(next->job.payload, target, next->job.encrypt));
  own.bytes.assign(packed.payload.begin(), packed.payload.end());
  own.packing = packed.packing;
  return own;
}

// The result of a job that is sealed, or in a queue that encrypts, is sealed too, if it is kept.
Status Engine::seal_result(QueueId id, SettleItem& item, std::string& storage) {
  std::string queue_name;
  {
    MutexLock lock(mutex_);
    const Queue* queue = state_.find_queue(id);
    if (!queue || !queue->keeps_done() || WQ_PLANTED(result_not_sealed)) return {};
    const Job* job = state_.find(item.id);
    const bool sealed = job && job->packed && trusted_packing(job->body.bytes()).is_sealed();
    if (!queue->config.encrypt && !sealed) return {};
    queue_name = queue->name;
  }
  Packer packer(keyring(), environment_.random_bytes);
  WQ_TRY_SET(const Bytes result, packer.seal_result(as_bytes(item.result), queue_name, item.id));
  storage = as_text(result);
  item.result = storage;
  item.flags |= settle_sealed;
  return {};
}

// What is packed already stays as it is: it belongs to the same queue and job here.
Result<Bytes> Engine::imported_envelope(Packer& packer, Encoder& encoder, const JobImage& job,
                                        const PackTarget& target) {
  const Envelope& in = job.envelope;
  Packer::Packed packed{in.payload, in.packing};
  const bool pack = !in.packing.is_packed() && !target.policy.leaves(job.encrypt);
  if (pack) {
    WQ_TRY_SET(packed, packer.pack(in.payload, target.policy, job.encrypt));
  }
  JobTraits traits = in.traits;
  if (!traits.chain.empty()) {
    traits.chain_jobs = chain_length(as_bytes(traits.chain), traits.batch);
  }
  const Bytes envelope = encoder.envelope(in.headers, packed.payload, in.backoff, in.enqueued_ms,
                                          traits, packed.packing);
  if (pack) WQ_TRY(packer.bind(envelope, target.queue_name, job.id));
  return envelope;
}

// ---- out

Status Engine::open_view(JobView& view) const {
  if (!view.packing.is_packed()) return {};
  if (view.packing.is_sealed()) view.key_id = seal_key_id(trusted_payload(view.body.bytes()));
  Status status = caught([&]() -> Status {
    WQ_TRY_SET(view.body, unpack_body(keyring(), view.body, view.queue_name, view.id));
    return {};
  });
  if (status.ok()) return status;
  view.payload_code = status.code();
  view.body = body_without_payload(view.body);
  return status;
}

void Engine::open_schedule(CronView& view) const {
  const Result<CronRow> row = decode_cron_row(as_bytes(view.row));
  if (!row.ok()) return;  // told by whoever reads it
  const Result<Envelope> job = decode_envelope(row.value().envelope);
  if (!job.ok() || !job.value().packing.is_packed()) return;
  if (job.value().packing.is_sealed()) view.key_id = seal_key_id(job.value().payload);
  const Result<Bytes> payload =
      unpack_payload(keyring(), job.value(), view.queue_name, sealed_for_any_job, view.payload);
  if (payload.ok()) return;
  view.payload_code = payload.status().code();
  view.payload.clear();
}

void Engine::open_done(DoneJob& job, std::string_view queue_name) const {
  if (!job.sealed) return;
  job.key_id = seal_key_id(as_bytes(job.result));
  Result<std::string> opened = open_result(keyring(), as_bytes(job.result), queue_name, job.id);
  if (!opened.ok()) job.result_code = opened.status().code();
  job.result = opened.ok() ? std::move(opened).value() : std::string();
}

Result<JobView> Engine::get(QueueId id, JobId job_id) {
  WQ_TRY_SET(JobView view, find_job(id, job_id));
  open_view(view).ignore("the view says so");
  return view;
}

Result<DeadPage> Engine::dead_list(QueueId id, const DeadQuery& query) {
  WQ_TRY_SET(DeadPage page, dead_page(id, query));
  for (JobView& view : page.jobs) open_view(view).ignore("the view says so");
  return page;
}

// Settles a lease whose payload does not open, as a worker would who can not read it. Without
// memory for the payload, or while the process exits, the job is only given back.
Status Engine::give_up(QueueId id, const JobView& job, const Status& why) {
  MutexLock lock(mutex_);
  WQ_TRY_SET(const Queue* queue, queue_for(id));
  if (!check_lease(state_, queue, job.id, job.generation).ok()) return {};  // cleared meanwhile
  Command& command = begin(CommandType::settle);
  command.queue = id;
  SettleItem& item = command.settles.emplace_back();
  item.id = job.id;
  item.generation = job.generation;
  const bool unreadable = is_unreadable(why.code());
  const std::string text = why.message();
  item.kind = unreadable ? SettleKind::fail : SettleKind::release;
  if (unreadable) item.reason = DeadReason::unreadable;
  if (unreadable) item.error = text;
  WQ_TRY(commit(command).take_status());
  if (draining_) idle_.notify_all();
  return {};
}

// Opens what was leased. Those that do not open are settled and left out.
Status Engine::open_leased(std::span<const QueueId> queues, std::vector<JobView>& jobs) {
  const auto packed = [](const JobView& job) { return job.packing.is_packed(); };
  if (std::none_of(jobs.begin(), jobs.end(), packed)) return {};
  Code put_off = Code::ok;
  for (JobView& job : jobs) {
    const Status status = open_view(job);
    if (status.ok() || WQ_PLANTED(unreadable_handed_out)) continue;
    if (!is_unreadable(status.code())) put_off = status.code();
    WQ_TRY(give_up(queues[job.queue_index], job, status));
  }
  if (WQ_PLANTED(unreadable_handed_out)) return {};
  std::erase_if(jobs, [](const JobView& job) { return job.payload_code != Code::ok; });
  return jobs.empty() ? Status(put_off) : Status();
}

Status Engine::lease(const LeaseRequest& request, CallOptions& call, std::vector<JobView>& jobs) {
  WQ_ENTER();
  LeaseRequest left = request;
  const int64_t begin_ns = request.wait_ms > 0 ? environment_.clock->mono_ns() : 0;
  for (;;) {
    Lsn lsn = 0;
    WQ_TRY(take(left, jobs, lsn));
    WQ_TRY(open_leased(request.queues, jobs));
    if (!jobs.empty()) return finish(lsn, call, level_for(call, Durability::process));
    // None of them could be read: on with the next, for as long as the caller has time.
    if (request.wait_ms <= 0) continue;
    const int64_t waited_ms = (environment_.clock->mono_ns() - begin_ns) / ns_per_ms;
    left.wait_ms = std::max<int64_t>(0, request.wait_ms - waited_ms);
  }
}

// ---- keys in use

namespace {

class KeyCount {
 public:
  std::map<KeyId, KeyUse> uses;

  Status add_jobs(const Store& store) {
    return each_row(store, Family::job, [&](std::string_view key, std::string_view value) {
      const auto parsed = parse_job_key(key);
      if (!parsed || parsed->is_state) return Status();
      WQ_TRY_SET(const DecodedJobRow row, decode_job_row(as_bytes(value)));
      add_job(row.envelope);
      return Status();
    });
  }
  Status add_batches(const Store& store) {
    return each_row(store, Family::batch, [&](std::string_view key, std::string_view value) {
      const auto parsed = parse_batch_key(key);
      const auto row = parsed && parsed->job == 0 ? decode_batch_row(value) : std::nullopt;
      if (!row || row->is_finished()) return Status();
      add_next(row->on_complete);
      add_next(row->on_failure);
      return Status();
    });
  }
  Status add_schedules(const Store& store) {
    return each_row(store, Family::cron, [&](std::string_view key, std::string_view value) {
      if (!parse_cron_row_key(key)) return Status();
      WQ_TRY_SET(const CronRow row, decode_cron_row(as_bytes(value)));
      add_job(row.envelope);
      return Status();
    });
  }
  Status add_history(const Store& store) {
    return each_row(store, Family::history, [&](std::string_view key, std::string_view value) {
      const auto parsed = parse_history_key(key);
      const auto row = parsed && !parsed->by_id ? decode_done_row(value) : std::nullopt;
      if (row && row->sealed) add_sealed(as_bytes(row->result));
      return Status();
    });
  }

 private:
  template <typename Visit>
  static Status each_row(const Store& store, Family family, Visit&& visit) {
    const auto cursor = store.scan(family, std::string(), std::string());
    for (; cursor->valid(); cursor->next()) WQ_TRY(visit(cursor->key(), cursor->value()));
    return cursor->status();
  }
  void add_sealed(Bytes sealed) { ++uses[seal_key_id(sealed)].payloads; }
  // A job and what follows it. Each is copied to where its tables are aligned.
  void add_job(Bytes envelope) {
    if (trusted_packing(envelope).is_sealed()) add_sealed(trusted_payload(envelope));
    if (!trusted_has_traits(envelope)) return;
    const BodyRef body(envelope);
    add_next(traits_of(body.bytes()).chain);
  }
  void add_next(std::string_view next) {
    if (next.empty() || WQ_PLANTED(keys_ahead_uncounted)) return;
    const BodyRef body(as_bytes(next));
    add_job(trusted_next(body.bytes()).envelope);
  }
};

}  // namespace

Result<std::vector<KeyUse>> Engine::key_use() {
  WQ_ENTER();
  WQ_TRY(run_checkpoint());
  KeyCount count;
  for (const KeyId id : keyring().ids()) count.uses[id].known = true;
  WQ_TRY(count.add_jobs(*store_));
  WQ_TRY(count.add_batches(*store_));
  WQ_TRY(count.add_schedules(*store_));
  WQ_TRY(count.add_history(*store_));
  std::vector<KeyUse> out;
  for (auto& [id, use] : count.uses) {
    use.id = id;
    use.current = id == keyring().current();
    out.push_back(use);
  }
  return out;
}

}  // namespace wq
