#include "traits.h"

#include <sstream>

#include "support.h"

namespace wq::bench {

namespace {

constexpr uint64_t groups = 1'000;
constexpr uint32_t group_limit = 64;
constexpr uint64_t rate_keys = 1'000;
constexpr uint64_t tenants = 100'000;
constexpr uint32_t rate_count = 1'000'000;  // within
constexpr int64_t rate_window_ms = 10;

// Neighbouring ids go to different ones (multiplicative hashing).
uint64_t spread(uint64_t id, uint64_t count) {
  return (id * 0x9E3779B97F4A7C15u >> 32) % count;
}

wq_bytes bytes_of(const uint64_t& key) {
  return {&key, sizeof key};
}

}  // namespace

Traits parse_traits(const std::string& words) {
  Traits traits;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, ',');) {
    if (word == "unique") {
      traits.unique = true;
    } else if (word == "group") {
      traits.group = true;
    } else if (word == "rate") {
      traits.rate = true;
    } else if (word == "rate_key") {
      traits.rate_key = true;
    } else if (word == "tenant") {
      traits.tenant = true;
    } else {
      fail("--traits: '" + word + "' is none of unique, group, rate, rate_key, tenant");
    }
  }
  if (traits.group && traits.rate_key) fail("--traits: a job has a group or a rate_key, not both");
  return traits;
}

wq_queue_config traits_config(const Traits& traits) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  if (traits.group) {
    config.fields |= WQ_CONFIG_GROUP_LIMIT;
    config.group_limit = group_limit;
  }
  if (traits.rate) {
    config.fields |= WQ_CONFIG_RATE;
    config.rate_count = config.rate_burst = rate_count;
    config.rate_window_ms = rate_window_ms;
  }
  if (traits.rate_key) {
    config.fields |= WQ_CONFIG_KEY_RATE;
    config.key_rate_count = config.key_rate_burst = rate_count;
    config.key_rate_window_ms = rate_window_ms;
  }
  return config;
}

void TraitMaker::set(std::span<wq_job_spec> specs, uint64_t first_id) {
  if (!traits_.any()) return;
  if (keys_.size() < specs.size()) keys_.resize(specs.size());
  for (size_t i = 0; i < specs.size(); i++) {
    const uint64_t id = first_id + i;
    Keys& keys = keys_[i];
    keys = {id, spread(id, groups), spread(id, rate_keys), spread(id, tenants)};
    if (traits_.unique) specs[i].unique_key = bytes_of(keys.unique);
    if (traits_.group) specs[i].group = bytes_of(keys.group);
    if (traits_.rate_key) specs[i].rate_key = bytes_of(keys.rate_key);
    if (traits_.tenant) specs[i].tenant = bytes_of(keys.tenant);
  }
}

}  // namespace wq::bench
