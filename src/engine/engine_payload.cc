// Payloads of packed jobs on their way out: opened for whoever reads a job, with no lock held. What
// a lease can not open it does not hand out; the job dies as unreadable. Also which keys are in
// use.
#include <algorithm>
#include <map>
#include <utility>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/keys.h"

namespace wq {

const Keyring& Engine::keyring() const {
  static const Keyring none;
  return environment_.keyring ? *environment_.keyring : none;
}

// A call that began before the configuration changed may still go by the old one.
PackPolicy Engine::pack_policy(QueueId id) {
  // relaxed: whoever knows of a change of the configuration knows of this, too
  if (!packs_.load(std::memory_order_relaxed)) return {};
  MutexLock lock(mutex_);
  const Queue* queue = state_.find_queue(id);
  return queue ? PackPolicy{queue->config.encrypt, queue->config.compress_min_bytes} : PackPolicy();
}

void Engine::note_packing(const QueueConfig& config) {
  if (config.encrypt || config.compress_min_bytes != 0) packs_.store(true);
}

Status Engine::refuse_without_keys(const Queue& queue) const {
  if (!queue.config.encrypt || !keyring().empty() || WQ_PLANTED(leases_without_keys)) return {};
  return Status(Code::no_key, "queue '" + queue.name +
                                  "' encrypts its payloads, and the store was opened without keys");
}

Status Engine::enqueue_one_packed(QueueId id, const JobSpec& spec, CallOptions& call,
                                  JobId& job_id) {
  EnqueueOutcome outcome;
  WQ_TRY(enqueue_many(id, {&spec, 1}, false, call, {&outcome, 1}).take_status());
  job_id = outcome.id;
  return {};
}

std::string Engine::name_of(QueueId id) {
  MutexLock lock(mutex_);
  const Queue* queue = state_.find_queue(id);
  return queue ? queue->name : std::string();
}

// What is packed already stays as it is: it belongs to the same queue and job here.
Result<Bytes> Engine::imported_envelope(Packer& packer, Encoder& encoder, const JobImage& job,
                                        const PackPolicy& policy, std::string_view queue_name) {
  const Envelope& in = job.envelope;
  Packer::Packed packed{in.payload, in.packing};
  const bool pack = !in.packing.is_packed() && !policy.leaves(job.encrypt);
  if (pack) {
    WQ_TRY_SET(packed, packer.pack(in.payload, policy, job.encrypt));
  }
  const Bytes envelope = encoder.envelope(in.headers, packed.payload, in.backoff, in.enqueued_ms,
                                          in.traits, packed.packing);
  if (pack) WQ_TRY(packer.bind(envelope, queue_name, job.id));
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
// memory for the payload the job is only given back.
Status Engine::give_up(QueueId id, const JobView& job, const Status& why) {
  MutexLock lock(mutex_);
  WQ_TRY_SET(const Queue* queue, queue_for(id));
  if (!check_lease(state_, queue, job.id, job.generation).ok()) return {};  // cleared meanwhile
  Command& command = begin(CommandType::settle);
  command.queue = id;
  SettleItem& item = command.settles.emplace_back();
  item.id = job.id;
  item.generation = job.generation;
  const bool unreadable = why.code() != Code::no_memory;
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
  bool no_memory = false;
  for (JobView& job : jobs) {
    const Status status = open_view(job);
    if (status.ok() || WQ_PLANTED(unreadable_handed_out)) continue;
    no_memory |= status.code() == Code::no_memory;
    WQ_TRY(give_up(queues[job.queue_index], job, status));
  }
  if (WQ_PLANTED(unreadable_handed_out)) return {};
  std::erase_if(jobs, [](const JobView& job) { return job.payload_code != Code::ok; });
  return jobs.empty() && no_memory ? Status(Code::no_memory) : Status();
}

Status Engine::lease(const LeaseRequest& request, CallOptions& call, std::vector<JobView>& jobs) {
  WQ_ENTER();
  LeaseRequest left = request;
  const int64_t begin_ns = environment_.clock->mono_ns();
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

Result<std::vector<KeyUse>> Engine::key_use() {
  WQ_ENTER();
  WQ_TRY(run_checkpoint());
  std::map<KeyId, KeyUse> uses;
  for (const KeyId id : keyring().ids()) uses[id].known = true;
  const auto cursor = store_->scan(Family::job, std::string(), std::string());
  for (; cursor->valid(); cursor->next()) {
    const auto key = parse_job_key(cursor->key());
    if (!key || key->is_state) continue;
    WQ_TRY_SET(const DecodedJobRow row, decode_job_row(as_bytes(cursor->value())));
    if (!trusted_packing(row.envelope).is_sealed()) continue;
    ++uses[seal_key_id(trusted_payload(row.envelope))].jobs;
  }
  WQ_TRY(cursor->status());
  std::vector<KeyUse> out;
  for (auto& [id, use] : uses) {
    use.id = id;
    use.current = id == keyring().current();
    out.push_back(use);
  }
  return out;
}

}  // namespace wq
