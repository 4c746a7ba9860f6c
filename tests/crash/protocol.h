// What crash_child writes to its pipe and crash_test reads: one line of numbers per write(), each
// shorter than PIPE_BUF, so that a kill leaves a line whole or leaves none of it. Both sides also
// make payloads from here; nothing of the engine is used, so that one mistake can not hide another.
//
//   O                               about to open the store
//   G clean replayed truncated      it is open
//   C number id found now state attempts generation deadline hash    what became of a known job
//   T total                         jobs in all queues
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
//       E id...
//       L (number id generation attempts max_attempts leased deadline hash)...
//       M code...
//   S number id hash                a dead letter was listed
//   ! text                          something that must not happen
//   F                               drained, checked and closed
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wq::crash {

constexpr uint32_t queue_count = 3;
constexpr uint32_t scratch_queue =
    3;  // one more, which is deleted now and then; of one thread only
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
