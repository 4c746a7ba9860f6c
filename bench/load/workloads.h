// The measurements that wq_load offers, each a function from settings to one printed Report. Every
// one checks its deliveries and fails the run if one is missing, doubled or altered.
#pragma once

#include <cstdint>
#include <string>

#include "lives.h"
#include "queue_under_test.h"
#include "raw_writer.h"

namespace wq::bench {

// Lives or enqueues of one system, wq or a peer.
void report_lives(const std::string& system, const QueueSettings& queue, const LifeSettings& lives);

void report_raw(const RawSettings& settings);

struct PipelineSettings {
  std::string directory;
  Durability durability = Durability::power;
  size_t batch = 100;
  size_t jobs_in_flight_max = 20'000;
  double seconds = 2;
  double warmup_seconds = 0.3;
  std::string traits;  // see parse_traits()
};
void report_pipelined(const PipelineSettings& settings);

// Fills a store with waiting jobs, all durable. With `hold` the process then waits to be killed.
void report_fill(const std::string& directory, uint64_t jobs, bool hold);

// Opens the store that a killed fill left, measures the open and the memory, drains it, and
// compares lease latencies with those of a short queue and of a fresh store.
void report_drain(const std::string& directory, uint64_t jobs, size_t batch);

void report_head(const std::string& directory, uint64_t jobs);
void report_wake(const std::string& directory, size_t samples);

}  // namespace wq::bench
