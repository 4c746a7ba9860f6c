// The one shape that wq and its peers have in the load program, so that all run under the same
// harness. Thread model: a QueueUnderTest is shared by all threads; a Caller belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace wq::bench {

// What an OK survives; the same words as in wq.h. Peers map them to what they have (README.md).
enum class Durability { memory, process, power };
const char* durability_name(Durability durability);
Durability parse_durability(const std::string& name);

struct LeasedJob {
  uint64_t id = 0;
  uint64_t generation = 0;
  std::string_view payload;  // valid until the next lease of the same caller
};

class Caller {
 public:
  virtual ~Caller() = default;
  virtual void enqueue(std::span<const std::string_view> payloads) = 0;
  virtual std::span<const LeasedJob> lease(size_t jobs_max) = 0;  // does not wait; may be empty
  virtual void ack(std::span<const LeasedJob> jobs) = 0;
};

struct Counts {
  uint64_t ready = 0;
  uint64_t leased = 0;
};

class QueueUnderTest {
 public:
  virtual ~QueueUnderTest() = default;
  virtual std::unique_ptr<Caller> caller() = 0;
  virtual Counts counts() = 0;  // by a scan of what is stored, or by the system's own exact counts
  virtual std::string note() const = 0;  // what runs below: version, backend
  virtual void close() = 0;              // everything to the device; no call after it
};

struct QueueSettings {
  std::string directory;                              // empty or not there yet
  Durability durability = Durability::power;          // of enqueue and ack
  Durability lease_durability = Durability::process;  // at most `durability`
};

std::unique_ptr<QueueUnderTest> open_wq(const QueueSettings& settings);
std::unique_ptr<QueueUnderTest> open_rocksdb_peer(const QueueSettings& settings);
std::unique_ptr<QueueUnderTest> open_sqlite_peer(const QueueSettings& settings);

// "wq", "rocksdb" or "sqlite".
std::unique_ptr<QueueUnderTest> open_queue(const std::string& system,
                                           const QueueSettings& settings);

}  // namespace wq::bench
