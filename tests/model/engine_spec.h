// What the engine is given of a job that the model knows: views into the model's own, which must
// outlive it. Thread model: plain data.
#pragma once

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
  }
  EngineSpec(const EngineSpec&) = delete;
  EngineSpec& operator=(const EngineSpec&) = delete;

  std::vector<Header> headers;
  JobSpec spec;
};

}  // namespace wq::model
