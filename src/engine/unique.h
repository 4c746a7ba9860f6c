// The unique family: who holds the unique, debounce and idempotency keys of the jobs. Rows:
//
//   'u' queue:4 key             -> holder:8 until_ms:8   unique keys
//   'd' queue:4 key             -> holder:8 until_ms:8   debounce keys
//   'i' queue:4 key             -> holder:8 until_ms:8   idempotency keys
//   'x' until_ms:8 row-key      -> (empty), for each row above that has an end, in time order
//
// Queue and the until_ms of 'x' are big-endian, values little-endian; until_ms INT64_MAX = no end.
//
// A row of 'u' or 'd' is an index: it names the job that took the key last. Whether that job holds
// the key is a fact of the job alone: it is live, and Job::key_until_ms is still to come. So a row
// that names a job which was cleared, or which started, or whose time is up, says nothing, and
// whoever reads the row asks the job as well. A job that holds its key without an end is always
// named by the row, since nobody else can have got it: its end takes the row away unseen. A hold
// with an end may have passed to another job meanwhile: there the row goes if it is known and still
// names the job, else at its time, by the checkpoint. A row of 'i' counts by its time alone.
// Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command.h"
#include "engine/state.h"

namespace wq {

constexpr int64_t key_no_end = INT64_MAX;

enum class KeyKind : uint8_t { unique = 1, debounce = 2, idempotency = 3 };

struct KeyRow {
  JobId holder = 0;  // 0 = none
  int64_t until_ms = key_no_end;
};

std::string key_row_key(KeyKind kind, QueueId queue, std::string_view key);
struct KeyName {
  KeyKind kind = KeyKind::unique;
  QueueId queue = 0;
  std::string_view key = {};
};
std::optional<KeyName> parse_key_row_key(std::string_view row_key);
std::string key_expiry_key(int64_t until_ms, std::string_view row_key);
struct KeyExpiry {
  int64_t until_ms = 0;
  std::string_view row_key = {};
};
std::optional<KeyExpiry> parse_key_expiry_key(std::string_view row_key);

std::string encode_key_row(const KeyRow& row);
std::optional<KeyRow> decode_key_row(std::string_view bytes);

KeyKind kind_of(KeyRule rule);
int64_t key_end_ms(int64_t now_ms, int64_t key_ms);
// The rows that a new job of these traits changes, appended to `rows`.
void add_key_rows(QueueId queue, const JobTraits& traits, std::vector<std::string>& rows);

// The rows that a command of any type takes or removes. Jobs that it names must be resident.
Result<std::vector<std::string>> key_rows_of(const State& state, const Command& command);

// ---- parts of apply; rows that are taken must be known to the side table
// A new job takes its keys; a debounced one ends the job whose place it takes, which must be
// resident if it holds the key.
Status take_keys(State& state, Job& job, int64_t now_ms);
// An imported job goes on holding what it held, unless another job came in with it before.
Status adopt_keys(State& state, Job& job, int64_t now_ms);
// An idempotency key that counts by its time alone, whatever became of the job.
Status adopt_window(State& state, std::string_view row_key, const KeyRow& row);
// A dead job that becomes ready takes the key again that its death freed.
Status retake_key(State& state, Job& job, int64_t now_ms);
void free_key(State& state, Job& job);
void free_key_of_started(State& state, Job& job);
void free_key_of_dead(State& state, Job& job);
Status apply_key_release(State& state, const Command& command, const Queue* queue);
Status apply_key_forget(State& state, const Command& command);

}  // namespace wq
