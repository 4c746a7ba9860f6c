// Admission: checks of a request against the limits of SPEC section 5, before anything changes.
// Every refusal names the field. Free functions without state. Thread model: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/record.h"
#include "engine/types.h"

namespace wq {

struct JobSpec;

constexpr int64_t lease_ms_max = delay_ms_max;
constexpr size_t jobs_per_call_max = 10'000;
constexpr uint64_t call_payload_bytes_max = 512ull << 20;  // of all jobs in one enqueue_many

Status admit_queue_name(std::string_view name);
Status admit_queue_config(const QueueConfig& config);
Status admit_backoff(const Backoff& backoff);
Status admit_delay_ms(const char* field, int64_t delay_ms);  // 0 .. delay_ms_max
Status admit_lease_ms(const char* field, int64_t lease_ms);  // 1 .. lease_ms_max
Status admit_settle(const SettleItem& item);
Status admit_tenant(std::string_view tenant);
Status admit_group(const JobTraits& traits);
Status admit_rate_key(const JobTraits& traits);
Status admit_traits(const JobTraits& traits);
bool has_times(const JobSpec& spec);  // admit_job() needs to know what time it is
Status admit_key(const char* field, std::string_view key);  // 1 .. key_bytes_max bytes
Status admit_keys(const JobTraits& traits);                 // unique, debounce, idempotency
// A job that follows others: of a chain, or of the end of a batch.
Status admit_next(const JobSpec& spec);
// The count and the bytes of a chain, and each of its jobs.
Status admit_chain(const JobSpec& spec, uint64_t payload_bytes_max, int64_t now_ms);
Status admit_job(const JobSpec& spec, uint64_t payload_bytes_max, int64_t now_ms);
uint64_t text_bytes(const JobSpec& spec);  // of payload and headers
// What they count for call_payload_bytes_max, no less than they take in a record: what comes with a
// call is refused by the name of a field, and not by the record that can not be written.
uint64_t counted_bytes(const JobSpec& spec);  // with its chain
uint64_t counted_bytes(const SettleItem& item);
constexpr uint64_t row_beside_bytes = 256;  // of a small entry, beside its texts

// The longest prefix within error_bytes_max that does not cut a UTF-8 character; text that is not
// UTF-8 is cut at the limit. A cut text ends with a mark, so `storage` may hold the result.
std::string_view cut_error(std::string_view error, std::string& storage);

}  // namespace wq
