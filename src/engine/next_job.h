// Makes the encoded jobs (NextJob) that follow others out of what a caller gives. Thread model:
// any.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/engine.h"

namespace wq {

// The jobs of spec.chain, each inside of the one before; empty if there are none. All are in the
// batch of the spec. A job has the headers of the one before it that tell where work comes from
// (tags, traceparent, tracestate, baggage), unless it has one of that name itself. `targets`: the
// queue of each of them.
Result<std::string> encode_chain(const JobSpec& spec, std::span<const PackTarget> targets,
                                 Packer& packer);

// What the end of batch `batch` enqueues: its id stands in the header wq-batch. `packed` is its
// payload.
std::string encode_batch_job(const NextSpec& next, const OwnPayload& packed, uint64_t batch);

// How many jobs an encoded chain of a job in `batch` holds; 0 = it is none. For bytes of any
// origin.
uint32_t chain_length(Bytes chain, uint64_t batch);

}  // namespace wq
