// A job as the commands tell it: the JSON object that pull, show, dead and work --lines share, and
// the card for people. Also finds the queue of a job, since ids are unique in a store but wq.h asks
// queue by queue. Thread model: one thread.
#pragma once

#include <wq.h>

#include <optional>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "cli/handles.h"
#include "cli/record.h"

namespace wq::cli {

wq_job job_at(const Batch& batch, size_t i);

const char* state_name(uint32_t state);
inline constexpr const char* dead_reasons[] = {
    "",          "failed",  "lease_expired", "timeout",   "retry_until", "max_exceptions",
    "cancelled", "expired", "unknown_type",  "unreadable"};
const char* dead_reason_name(uint32_t reason);
uint32_t dead_reason_of(std::string_view option, const std::string& name);  // "" is any

// Whether the attempt that holds the job is the last if it is nacked now.
bool is_last_attempt(const wq_job& job, bool is_exception = true);

// Headers in the order given, each {name, value}.
List headers_record(const Batch& batch, size_t i);
Record job_record(const Batch& batch, size_t i);
void print_job(Output& out, const Batch& batch, size_t i);

// Writes exactly the payload: to a file, which is made anew, or with "-" to standard output. Throws
// if there is none because it does not open.
void write_payload(Output& out, const std::string& file, const wq_job& job);

std::string no_such_job(uint64_t id);  // what is said when no queue has it

// One thing that was done to a job, or was refused, and with --json told either way. `generation`
// is 0 where only the job was named. `message` is empty if it was done.
struct Outcome {
  uint64_t id = 0;
  std::optional<uint64_t> generation;  // none: it is about the job, or about a bare id
  std::string outcome;                 // "acked", or the name of a code
  std::string message;
  bool names_job = false;  // the message does, so it is told without a name in front
};
Record outcome_record(const Outcome& outcome);
void tell_outcome(Output& out, const Outcome& outcome);

// The queue that holds job `id` in whatever state, and the job as it is now. With `name` only that
// queue is asked. False if no queue has it: it ended, was removed, or never was.
bool find_job(Context& context, const Store& store, const std::string& name, uint64_t id,
              Queue& queue, Batch& batch);

}  // namespace wq::cli
