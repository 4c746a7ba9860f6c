// What crash_child writes to its pipe and crash_test reads: one line of numbers per write(), each
// shorter than PIPE_BUF, so that a kill leaves a line whole or leaves none of it. Both sides also
// make payloads from here; nothing of the engine is used, so that one mistake can not hide another.
//
//   O                               about to open the store
//   G clean replayed truncated      it is open
//   C number id found now state attempts generation deadline hash    what became of a known job
//   H key id                        the job that holds this unique key, 0: none
//   T total                         jobs in all queues that have numbers
//   V problems                      of the full check
//   Y                               the workers start
//   I op kind level now ...         about to call; by kind:
//       E queue number...           enqueue, one or many
//       L lease_ms                  lease
//       A N F B queue id generation ack, nack, fail, give back
//       K queue id generation run   confirm with this run time (0: none)
//       W queue id generation lease extend the lease to this time
//       X queue id generation       cancel the job, whatever its generation
//       Q D U queue                 clear it of all jobs, delete it, purge its dead letters
//       P Z queue id generation     replay, remove a dead letter
//       M queue (kind id generation)...    settle many
//   R op code lsn now ...           the call returned; by kind:
//       E id...                     or the id of the job that holds the key
//       L (number id generation attempts max_attempts leased deadline hash)...
//       M code...
//   S number id hash                a dead letter was listed
//   ! text                          something that must not happen
//   F                               drained, checked and closed
//
// The ledger is one thread of the child with queues of its own, which makes one call after another.
// Its calls are I and R lines with a small letter, its look after an open has lines of its own:
//   I op c level now chain          enqueue the first job of a chain
//   I op f level now flow           create a flow                          R id
//   I op g level now flow id n      n jobs join it
//   I op h level now flow id        seal it
//   I op n level now counter        add 1 to a row                         R sum
//   I op t level now n acked id generation    one transaction: ack the job of the transaction
//                                   `acked` (0: of none), enqueue that of this one, add 1 to
//                                   the row of transactions, write n to another    R sum id
//   I op l level now queue          lease                                  R (a b id generation)...
//   I op a level now queue a b id generation    ack
//   N counter value                 a row (counter_count: that of transactions)
//   B n                             the row with the newest transaction
//   J n found                       the job of a transaction
//   P flow known flags total pending done failed cancelled follow_up    a flow
// What a job is: a = chain, b = step; a = flow, b = member (99: what ends it, 98: in failure);
// a = transaction; a = slot of the schedule in ms.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wq::crash {

// The queues, by index. The first three are plain ones.
constexpr uint32_t scratch_queue = 3;  // is deleted now and then; of one thread only
constexpr uint32_t group_queue = 4;    // each job is of a group, one of which runs at a time
constexpr uint32_t sealed_queue = 5;   // encrypts
constexpr uint32_t key_queue = 6;      // each job has a unique key
constexpr uint32_t numbered_queues = 7;
constexpr uint32_t chain_queue = 7;  // from here on: of the ledger
constexpr uint32_t flow_queue = 8;
constexpr uint32_t txn_queue = 9;
constexpr uint32_t cron_queue = 10;
constexpr uint32_t queue_count = 11;
// Those that all threads work on.
constexpr uint32_t work_queues[] = {0, 1, 2, group_queue, sealed_queue, key_queue};

constexpr uint64_t group_count = 5;
constexpr uint64_t key_count = 6;
inline uint64_t group_of(uint64_t number) {
  return number % group_count;
}
inline uint64_t key_of(uint64_t number) {
  return number % key_count;
}
// Keys are held until the job is gone, or until it is done or dead.
inline bool key_held_by_dead(uint64_t key) {
  return key % 2 == 0;
}

constexpr uint64_t chain_steps = 4;
constexpr uint64_t counter_count = 3;
constexpr uint64_t flow_end = 99;
constexpr uint64_t flow_failed_end = 98;

constexpr size_t number_bytes = sizeof(uint64_t);

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The payload of a job: its number, and bytes and a length that follow from it. A few are longer
// than a log segment.
inline std::string payload_of(uint64_t number) {
  const uint64_t dice = mix(number);
  const size_t extra = dice % 20 == 0 ? 12'000 + (dice >> 8) % 12'000 : (dice >> 8) % 700;
  std::string bytes(number_bytes + extra, '\0');
  std::memcpy(bytes.data(), &number, number_bytes);
  uint64_t word = dice;
  for (size_t i = number_bytes; i < bytes.size(); ++i) {
    if (i % 8 == 0) word = mix(word);
    bytes[i] = static_cast<char>(word >> (i % 8 * 8));
  }
  return bytes;
}

inline uint64_t number_of(std::string_view payload) {
  uint64_t number = 0;
  if (payload.size() >= number_bytes) std::memcpy(&number, payload.data(), number_bytes);
  return number;
}

inline uint64_t hash_of(std::string_view payload) {
  uint64_t hash = mix(payload.size());
  for (const char c : payload) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace wq::crash
