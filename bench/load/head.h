// What a lease at the head costs once the queue has seen much work, against a fresh store: on a
// queue of one job, and on an empty one. The two stores are sampled in turns in one process, so
// that a noisy machine is noisy for both. Thread model: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "report.h"
#include "wq_handles.h"

namespace wq::bench {

// Enqueues and acks `jobs` jobs, level memory, batches of 1000, and checks each delivery.
void wear_out(const WqStore& store, uint64_t jobs);

// Adds head_one_job_{fresh,worn}_p99_us, head_empty_{...}_p99_us (medians over the rounds) and the
// ratios worn / fresh.
void compare_heads(const WqStore& fresh, const WqStore& worn, Report* report);

}  // namespace wq::bench
