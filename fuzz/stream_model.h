// What stream_fuzz expects of the store, and what it finds in it. A job whose id is not known yet
// (the next of a chain, what ends a flow, what a schedule enqueues, a call that was not answered)
// is `fresh`: it must be there once, under an id that nobody knew. Thread model: one thread.
#pragma once

#include <wq.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_check.h"

namespace wq {

constexpr uint32_t attempts_max = 3;
constexpr int64_t lease_ms = 60'000;
constexpr int64_t cool_ms = 30'000;

// What stays with a job for its life.
struct JobKind {
  uint32_t queue = 0;     // 0 plain, 1 seals payloads
  std::string payload{};  // of a chain: "c" and how many follow
  std::string group{}, key{}, rate_key{}, tenant{};
  uint64_t flow = 0;
  auto operator<=>(const JobKind&) const = default;
};

struct ModelJob {
  JobKind kind{};
  uint32_t state = WQ_STATE_READY;
  uint32_t attempts = 0;
  uint64_t generation = 0;
  bool operator==(const ModelJob&) const = default;
};

struct ModelFlow {
  uint64_t total = 0, pending = 0, done = 0, failed = 0, cancelled = 0;
  bool sealed = false;
  bool finished = false;
  bool operator==(const ModelFlow&) const = default;
};

struct Model {
  std::map<uint64_t, ModelJob> jobs;  // by id
  std::vector<JobKind> fresh;         // jobs that are there besides
  std::map<std::string, std::string> rows;
  std::map<uint64_t, ModelFlow> flows;  // by id
  bool schedule = false;

  bool has_holder(uint32_t queue, const std::string& key, uint64_t* id) const {
    for (const auto& [job_id, job] : jobs) {
      if (job.kind.queue != queue || job.kind.key != key || job.state == WQ_STATE_DEAD) continue;
      *id = job_id;
      return true;
    }
    return false;
  }
  bool is_group_full(const JobKind& kind) const {
    return !kind.group.empty() && std::any_of(jobs.begin(), jobs.end(), [&](const auto& entry) {
      const ModelJob& job = entry.second;
      return job.state == WQ_STATE_LEASED && job.kind.group == kind.group &&
             job.kind.queue == kind.queue;
    });
  }

  // Ends of a job. Its flow hears of it; the chain goes on with an ack.
  void ack(uint64_t id) {
    const JobKind kind = jobs.at(id).kind;
    jobs.erase(id);
    if (kind.payload.size() == 2 && kind.payload[0] == 'c' && kind.payload[1] > '0') {
      JobKind next{.queue = kind.queue, .payload = kind.payload};
      --next.payload[1];
      fresh.push_back(next);
    }
    count(kind.flow, &ModelFlow::done);
  }
  void die(uint64_t id) {
    jobs.at(id).state = WQ_STATE_DEAD;
    count(jobs.at(id).kind.flow, &ModelFlow::failed);
  }
  void lose(uint64_t id) {
    const uint64_t flow = jobs.at(id).kind.flow;
    jobs.erase(id);
    count(flow, &ModelFlow::cancelled);
  }
  // An attempt is over: the next one, or death.
  void retry(uint64_t id) {
    ModelJob& job = jobs.at(id);
    if (job.attempts >= attempts_max) return die(id);
    job.state = WQ_STATE_READY;
  }
  void revive(uint64_t id) {
    ModelJob& job = jobs.at(id);
    job.state = WQ_STATE_READY;
    job.attempts = 0;
    const auto flow = flows.find(job.kind.flow);
    if (flow == flows.end() || flow->second.finished) return;
    --flow->second.failed;
    ++flow->second.pending;
  }
  void seal(uint64_t id) {
    flows.at(id).sealed = true;
    finish(flows.at(id));
  }
  void join(const JobKind& kind) {
    const auto flow = flows.find(kind.flow);
    if (flow == flows.end()) return;
    ++flow->second.total;
    ++flow->second.pending;
  }

 private:
  void count(uint64_t id, uint64_t ModelFlow::*end) {
    const auto flow = flows.find(id);
    if (flow == flows.end() || flow->second.finished) return;
    --flow->second.pending;
    ++(flow->second.*end);
    finish(flow->second);
  }
  void finish(ModelFlow& flow) {
    if (flow.finished || !flow.sealed || flow.pending > 0) return;
    flow.finished = true;
    fresh.push_back({.payload = flow.failed + flow.cancelled == 0 ? "good end" : "bad end"});
  }
};

inline std::string text_of(const wq_bytes& bytes) {
  return bytes.len == 0 ? std::string()
                        : std::string(static_cast<const char*>(bytes.data), bytes.len);
}

// All that is in the store, of flows those that the model knows. False: the disk failed.
inline bool look_into(wq_store* store, const Model& known, Model& found) {
  found = {};
  found.schedule = known.schedule;
  const auto visit = [](const wq_export_item* item, void* context) -> int32_t {
    Model& out = *static_cast<Model*>(context);
    if (item->kv) out.rows[text_of(item->kv->key)] = text_of(item->kv->value);
    if (!item->job) return 0;
    const wq_job_record& job = *item->job;
    ModelJob& entry = out.jobs[job.id];
    entry.kind = {text_of(job.queue_name) == "s",
                  text_of(job.payload),
                  text_of(job.group),
                  text_of(job.key),
                  text_of(job.rate_key),
                  text_of(job.tenant),
                  job.flow};
    entry.state = job.state;
    entry.attempts = job.attempts;
    entry.generation = job.generation;
    return 0;
  };
  const int32_t exported = wq_store_export(store, nullptr, 0, visit, &found, nullptr);
  FUZZ_CHECK(exported == WQ_OK || exported == WQ_E_NO_SPACE || wq_error_maybe_committed(exported));
  if (exported != WQ_OK) return false;
  for (const auto& [id, flow] : known.flows) {
    wq_flow_status status = WQ_FLOW_STATUS_INIT;
    const int32_t code = wq_flow_get_status(store, id, &status, nullptr);
    FUZZ_CHECK(code == WQ_OK || wq_error_maybe_committed(code));
    if (code != WQ_OK) return false;
    found.flows[id] = {status.total,
                       status.pending,
                       status.done,
                       status.failed,
                       status.cancelled,
                       (status.flags & WQ_FLOW_SEALED) != 0,
                       (status.flags & WQ_FLOW_FINISHED) != 0};
  }
  return true;
}

// What was found is what was expected, with an id for each fresh job.
inline bool is_same(const Model& found, const Model& expected) {
  if (found.rows != expected.rows || found.flows != expected.flows) return false;
  std::vector<JobKind> fresh;
  for (const auto& [id, job] : found.jobs) {
    const auto known = expected.jobs.find(id);
    if (known != expected.jobs.end()) {
      if (!(known->second == job)) return false;
      continue;
    }
    if (job.state != WQ_STATE_READY || job.attempts != 0 || job.generation != 0) return false;
    fresh.push_back(job.kind);
  }
  if (found.jobs.size() != expected.jobs.size() + fresh.size()) return false;
  std::vector<JobKind> wanted = expected.fresh;
  std::sort(wanted.begin(), wanted.end());
  std::sort(fresh.begin(), fresh.end());
  return fresh == wanted;
}

}  // namespace wq
