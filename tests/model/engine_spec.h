// What the engine is given of a job that the model knows: views into the model's own, which must
// outlive it. Thread model: plain data.
#pragma once

#include <deque>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"

namespace wq::model {

inline void fill_gates(const GateSpec& from, JobTraits& traits) {
  traits.group = from.group;
  traits.group_limit = from.group_limit;
  traits.overlap = from.overlap;
  traits.overlap_ms = from.overlap_ms;
  traits.tenant = from.tenant;
  traits.rate_key = from.rate_key;
  traits.rate_cost = from.rate_cost;
}

inline void fill_limits(const Limits& from, JobTraits& traits) {
  traits.expires_ms = from.expires_ms;
  traits.retry_until_ms = from.retry_until_ms;
  traits.timeout_ms = from.timeout_ms;
  traits.max_exceptions = from.max_exceptions;
  traits.fail_on_timeout = from.fail_on_timeout;
}

inline void fill_keys(const Keys& from, JobSpec& spec) {
  spec.traits.key_rule = from.rule;
  spec.traits.key = from.key;
  spec.traits.key_ms = from.key_ms;
  spec.traits.idempotency_key = from.idempotency_key;
  spec.traits.idempotency_ms = from.idempotency_ms;
  spec.debounce_ms = from.debounce_ms;
}

// A job that follows others.
struct EngineNext {
  explicit EngineNext(const Next& from) {
    for (const auto& [name, value] : from.headers) {
      headers.push_back(Header{as_bytes(name), as_bytes(value)});
    }
    next.queue = from.queue;
    next.job.payload = as_bytes(from.payload);
    next.job.headers = headers;
    next.job.delay_ms = from.delay_ms;
    next.job.priority = from.priority;
    next.job.max_attempts = from.max_attempts;
    fill_limits(from.limits, next.job.traits);
  }
  EngineNext(const EngineNext&) = delete;
  EngineNext& operator=(const EngineNext&) = delete;

  std::vector<Header> headers;
  NextSpec next;
};

// What a spec points to while a call is made.
struct EngineSpec {
  explicit EngineSpec(const Spec& from) {
    for (const auto& [name, value] : from.headers) {
      headers.push_back(Header{as_bytes(name), as_bytes(value)});
    }
    spec.payload = as_bytes(from.payload);
    spec.headers = headers;
    spec.delay_ms = from.delay_ms;
    spec.run_at_ms = from.run_at_ms;
    spec.priority = from.priority;
    spec.max_attempts = from.max_attempts;
    spec.backoff = from.backoff;
    fill_gates(from.gate, spec.traits);
    fill_limits(from.limits, spec.traits);
    fill_keys(from.keys, spec);
    spec.traits.batch = from.flow.batch;
    for (const Next& next : from.flow.chain) chain.push_back(followers.emplace_back(next).next);
    spec.chain = chain;
  }
  EngineSpec(const EngineSpec&) = delete;
  EngineSpec& operator=(const EngineSpec&) = delete;

  std::vector<Header> headers;
  std::deque<EngineNext> followers;
  std::vector<NextSpec> chain;
  JobSpec spec;
};

}  // namespace wq::model
