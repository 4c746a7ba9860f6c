// Whole job lives under one harness for wq and its peers: each caller enqueues a batch, leases a
// batch, checks every byte of it and acks it, again and again. Runs end after a time; what was
// measured is jobs per second of finished lives, the latency of each call (one round in eight is
// timed), CPU time and bytes sent to the device.
#pragma once

#include <cstdint>
#include <string>

#include "payload.h"
#include "queue_under_test.h"
#include "support.h"

namespace wq::bench {

struct LifeSettings {
  std::string directory;  // of the queue, for what goes to its device
  size_t batch = 1;
  size_t callers = 1;
  double seconds = 2;
  double warmup_seconds = 0.3;  // not measured, but checked like the rest
  uint64_t backlog = 0;         // jobs that wait in the queue all the time
  uint64_t jobs_max = 200'000'000;
  bool enqueue_only = false;  // the lease and ack of everything follow after the measurement
};

struct LifeFigures {
  uint64_t jobs = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t device_write_bytes = 0;
  LatencySampler enqueue, lease, ack;
};

// Fails the run unless every job was delivered exactly once, unchanged, and none is left.
LifeFigures run_lives(QueueUnderTest& queue, const LifeSettings& settings);

}  // namespace wq::bench
