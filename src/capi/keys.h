// Keys of jobs at the boundary: in the spec of a new job and in the record of one on its way to
// another store. Thread model: free functions on the caller's memory.
#pragma once

#include "capi/capi_internal.h"
#include "engine/transfer.h"

namespace wq {

Status read_spec_keys(const wq_job_spec& in, JobSpec& out);
void tell_record_keys(const JobImage& job, wq_job_record& out);
Status read_record_keys(const wq_job_record& in, JobImage& out);

}  // namespace wq
