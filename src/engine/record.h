// Encoding and decoding of everything that wq stores as FlatBuffers (schema/*.fbs): commands in the
// log, job envelopes, job rows and queue rows in the store. Every decoder verifies the buffer,
// bounds every length, checks every enum and answers CORRUPT, whatever bytes it is given; it never
// trusts and never crashes. Decoded views point into the given bytes. This is the only place that
// includes FlatBuffers. Thread rule: an Encoder belongs to one thread at a time; the decoders are
// free functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/command.h"
#include "engine/traits.h"
#include "engine/types.h"

namespace wq {

// Bounds of one command record: the encoder refuses more as a broken invariant, the decoder as
// CORRUPT.
constexpr size_t command_items_max = size_t{1} << 20;      // jobs, ids, tokens or settles
constexpr uint64_t command_bytes_max = uint64_t{1} << 30;  // of the encoded record

struct Header {
  Bytes name;   // 1..header_name_bytes_max, any bytes
  Bytes value;  // any bytes
};

// What was done to a payload before it was stored; see packing.h.
constexpr uint8_t packing_compressed = 1;
constexpr uint8_t packing_sealed = 2;
struct Packing {
  uint8_t flags = 0;
  uint32_t plain_bytes = 0;  // size of the payload as it was given

  bool operator==(const Packing&) const = default;
  bool is_packed() const { return flags != 0; }
  bool is_sealed() const { return (flags & packing_sealed) != 0; }
};

// The part of a job that never changes, written once: payload, headers, own retry policy, traits.
struct Envelope {
  Bytes payload;
  std::vector<Header> headers;
  Backoff backoff;  // kind none = the queue's
  int64_t enqueued_ms = 0;
  JobTraits traits = {};
  Packing packing = {};  // of the payload
};

// The part of a job that changes; 1:1 with the fields of the resident Job.
struct JobRow {
  QueueId queue = 0;
  JobState state = JobState::gone;
  uint8_t priority = default_priority;
  DeadReason reason = DeadReason::none;
  uint32_t epoch = 0;  // of the queue's state when the job entered it; see Queue::epochs
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t failures = 0;      // step of the retry policy
  uint32_t max_attempts = 0;  // 0 = the queue's
  uint32_t replays = 0;
  uint64_t position =
      0;  // ready: ready seq; delayed: due ms; leased, running: generation; dead: dead seq
  Generation generation = 0;  // of the latest lease; 0 = never leased
  int64_t since_ms = 0;       // when it entered the state
  int64_t leased_ms = 0;      // start of the latest lease
  int64_t deadline_ms = 0;    // leased, running: 0 = none
  int64_t first_dead_ms = 0;  // when it died for the first time; 0 = never
  std::string_view last_error = {};
  std::string_view progress = {};
  int64_t key_until_ms = 0;     // see Job
  int64_t deadline_set_ms = 0;  // when deadline_ms was set; 0 = at leased_ms
};

struct LaneRow {
  uint8_t priority = 0;
  uint64_t head_hint = 0;  // no ready row of this lane has a smaller seq
  uint64_t count = 0;      // ready rows of this lane
};

struct TurnRow {
  uint8_t priority = 0;
  uint64_t turn = 0;  // of the jobs without a tenant; see turns.h
};

struct QueueRow {
  QueueId id = 0;
  std::string name = {};
  QueueConfig config = {};
  QueueTotals totals = {};
  uint64_t counts[job_state_count] = {};
  uint32_t epochs[job_state_count] = {};
  uint64_t next_tail_seq = 0;
  uint64_t next_front_seq = 0;
  uint64_t next_dead_seq = 0;
  int64_t created_ms = 0;
  std::vector<LaneRow> lanes = {};       // without the lines of groups
  int64_t rate_tat_ns = 0;               // see rate.h
  uint64_t bytes[job_state_count] = {};  // of the envelopes of the jobs in counts
  bool bytes_known = true;               // false in a row that was written without them
  uint64_t history_first = 1;
  uint64_t history_next = 1;
  std::vector<TurnRow> turns = {};  // none in a queue without tenants
  uint64_t expiring = 0;            // ready jobs with expires_ms
};

// Rows of a cleared or deleted queue that still wait to be removed from the store.
struct TrashRow {
  QueueId queue = 0;
  JobState state = JobState::gone;  // which family: ready, delayed, dead
  uint32_t epoch_below = 0;         // delayed: rows of smaller epochs are trash
  uint8_t priority = 0;             // ready
  uint64_t seq_low = 0;             // ready, dead: [seq_low, seq_high]
  uint64_t seq_high = 0;
  Lsn lsn = 0;         // the command that made it trash
  bool lines = false;  // ready: of the groups, whose line has its number within seq_low..seq_high
};

struct MetaRow {
  Lsn applied_lsn = 0;
  JobId next_job_id = 1;
  Generation next_generation = 1;
  QueueId next_queue_id = 1;
  uint64_t uuid_low = 0;  // must equal the FORMAT file's
  uint64_t uuid_high = 0;
  std::vector<TrashRow> trash = {};
  bool importing = false;  // an import has begun and not ended
  uint64_t batch_members = 0;
  Lsn members_lost = 0;
};

// A job that does not exist yet; see schema/envelope.fbs.
struct NextJob {
  std::string_view queue = {};  // empty = that of the job before
  int64_t delay_ms = 0;
  int64_t run_at_ms = 0;
  uint32_t max_attempts = 0;
  uint8_t priority = default_priority;
  Bytes envelope = {};
};
constexpr int64_t next_enqueued_ms = 1;  // of an envelope that waits in a NextJob

// A schedule as it was put; see cron.h.
struct CronRow {
  std::string_view expression = {};
  std::string_view zone = {};
  uint32_t catch_up = 1;      // missed slots that run later, the newest ones
  uint32_t max_attempts = 0;  // 0 = the queue's
  uint8_t priority = default_priority;
  Bytes envelope = {};
};

// An upper bound of the encoded size, so that a builder is never driven past what FlatBuffers can
// do.
uint64_t command_bytes_bound(const Command& command);

class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Each result is valid until the next call of the same kind on this encoder, where the three
  // kinds are command, envelope, and rows: an envelope may be the input of a command or of a job
  // row. What a record can not hold (a bound or an enum of record_check.cc) is a broken invariant
  // here.
  Bytes command(const Command& command);
  Bytes envelope(std::span<const Header> headers, Bytes payload, const Backoff& backoff,
                 int64_t enqueued_ms, const JobTraits& traits = JobTraits(),
                 const Packing& packing = Packing());
  Bytes job_row(const JobRow& row, Bytes envelope);  // envelope empty = a state row
  Bytes queue_row(const QueueRow& row);
  Bytes meta_row(const MetaRow& row);
  Bytes cron_row(const CronRow& row);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `command` is overwritten; its views point into `bytes`, which must outlive it. Envelopes inside
// are verified too, here and in decode_job_row, so trusted_payload() may read them.
Status decode_command(Bytes bytes, Command& command);
Result<Envelope> decode_envelope(Bytes bytes);
// Only the payload: the hot half of decode_envelope for bytes that this process encoded itself or
// that decode_envelope accepted before.
Bytes trusted_payload(Bytes envelope);
// The same for the rest of it that callers ask for. The bytes must be aligned as a BodyRef's are.
struct EnvelopeView {
  Bytes payload;
  int64_t enqueued_ms = 0;
  uint32_t headers_count = 0;
  Bytes group;   // empty = none
  Bytes tenant;  // empty = none
  Bytes rate_key;
  uint32_t rate_cost = 1;
};
EnvelopeView trusted_envelope(Bytes envelope);
Header trusted_header(Bytes envelope, size_t i);  // i < headers_count
Backoff trusted_backoff(Bytes envelope);          // kind none = the queue's
JobTraits traits_of(Bytes envelope);              // all defaults if it has none
// The batch that the job of a verified envelope is a member of; 0 = none.
uint64_t trusted_batch(Bytes envelope);
// What follows a job (record_next.cc). The parts of a decoded one point into `bytes`, which must be
// aligned as a BodyRef's are and come from a verified envelope or row.
std::string encode_next(const NextJob& next);
NextJob trusted_next(Bytes bytes);
// The envelope of a job that comes to be now.
std::vector<std::byte> started_envelope(Bytes envelope, int64_t now_ms);
// Null if the job has none. Views point into `envelope`.
std::unique_ptr<const JobTraits> trusted_traits(Bytes envelope);
// Whether there are any; the bytes may lie anywhere.
bool trusted_has_traits(Bytes envelope);
Packing trusted_packing(Bytes envelope);  // the bytes may lie anywhere
// What is wrong with a payload as it is stored; null = nothing.
const char* check_packing(Bytes payload, const Packing& packing);
bool check_result(std::string_view result, bool sealed);
struct DecodedJobRow {
  JobRow row;
  Bytes envelope;  // empty in a state row
};
Result<DecodedJobRow> decode_job_row(Bytes bytes);
Result<QueueRow> decode_queue_row(Bytes bytes);
Result<MetaRow> decode_meta_row(Bytes bytes);
Result<CronRow> decode_cron_row(Bytes bytes);

// One line of JSON for people (wq log dump): type, ids, times, sizes; payloads only by length.
std::string command_to_json(const Command& command);
const char* command_type_name(CommandType type);  // "enqueue"

}  // namespace wq
