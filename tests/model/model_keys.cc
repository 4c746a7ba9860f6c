// The model's keys of jobs: unique, debounce, idempotency.
#include "model/model.h"

namespace wq::model {
namespace {

KeyKind kind_of_rule(KeyRule rule) {
  return rule == KeyRule::debounce ? KeyKind::debounce : KeyKind::unique;
}

int64_t end_of(int64_t length_ms, Now now) {
  return length_ms == 0 ? INT64_MAX : now.wall_ms + length_ms;
}

KeyName name_of(QueueId queue, const Job& job) {
  return KeyName{queue, kind_of_rule(job.spec.keys.rule), job.spec.keys.key};
}

}  // namespace

JobId Model::holder(const KeyName& key, Now now) const {
  const auto row = keys.find(key);
  if (row == keys.end()) return 0;
  if (std::get<KeyKind>(key) == KeyKind::idempotency) {
    return now.wall_ms < row->second.until_ms ? row->second.holder : 0;
  }
  const auto queue = queues.find(std::get<QueueId>(key));
  if (queue == queues.end()) return 0;
  const auto job = queue->second.jobs.find(row->second.holder);
  if (job == queue->second.jobs.end() || now.wall_ms >= job->second.key_until_ms) return 0;
  return row->second.holder;
}

int64_t Model::key_end_ms(const KeyName& key) const {
  const KeyRow& row = keys.at(key);
  if (std::get<KeyKind>(key) == KeyKind::idempotency) return row.until_ms;
  return queues.at(std::get<QueueId>(key)).jobs.at(row.holder).key_until_ms;
}

// A debounced job ends the one that waits, which is gone as if it was cancelled; the first of them
// says how long the start can be put off.
void Model::take_keys(QueueId queue, Job& job, Now now) {
  const Keys& own = job.spec.keys;
  if (!own.idempotency_key.empty()) {
    keys[KeyName{queue, KeyKind::idempotency, own.idempotency_key}] =
        KeyRow{job.id, end_of(own.idempotency_ms, now)};
  }
  if (own.rule == KeyRule::none) return;
  const KeyName name = name_of(queue, job);
  job.key_until_ms = end_of(own.key_ms, now);
  if (own.rule == KeyRule::debounce) {
    if (const JobId before = holder(name, now)) {
      Job& replaced = queues.at(queue).jobs.at(before);
      job.key_until_ms = replaced.key_until_ms;
      ++queues.at(queue).totals.cancelled;
      end(queues.at(queue), replaced, EndReason::cancelled, now);
    }
    job.spec.delay_ms = std::min(now.wall_ms + own.debounce_ms, job.key_until_ms) - now.wall_ms;
  }
  keys[name] = KeyRow{job.id, job.key_until_ms};
}

// A replay takes the key again that the death freed.
void Model::retake_key(QueueId queue, Job& job, Now now) {
  if (job.spec.keys.rule != KeyRule::until_done || job.key_until_ms != 0) return;
  job.key_until_ms = end_of(job.spec.keys.key_ms, now);
  keys[name_of(queue, job)] = KeyRow{job.id, job.key_until_ms};
}

// A job whose key went to another one leaves that alone.
void Model::free_key(QueueId queue, Job& job) {
  if (job.key_until_ms == 0) return;
  job.key_until_ms = 0;
  const auto row = keys.find(name_of(queue, job));
  if (row != keys.end() && row->second.holder == job.id) keys.erase(row);
}

void Model::release_key(QueueId queue, JobId id) {
  free_key(queue, *find(queue, id));
}

}  // namespace wq::model
