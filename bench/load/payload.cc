#include "payload.h"

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "support.h"

namespace wq::bench {

namespace {

constexpr size_t id_bytes = sizeof(uint64_t);
constexpr size_t body_bytes = payload_bytes - id_bytes;
constexpr size_t body_count =
    1021;  // a prime: neighbouring and evenly spaced ids have other bodies

using Body = std::array<char, body_bytes>;

// Random bytes, so that nobody wins by compressing, made once, so that they cost a copy and a
// compare.
const std::vector<Body>& bodies() {
  static const std::vector<Body> table = [] {
    std::vector<Body> made(body_count);
    std::mt19937_64 random(20240229);
    for (Body& body : made) {
      for (char& byte : body) byte = static_cast<char>(random() & 0xff);
    }
    return made;
  }();
  return table;
}

const Body& body_of(uint64_t id) {
  return bodies()[id % body_count];
}

}  // namespace

PayloadBatch::PayloadBatch(size_t jobs_max) : bytes_(jobs_max * payload_bytes) {
  for (size_t i = 0; i < jobs_max; i++) {
    views_.emplace_back(bytes_.data() + i * payload_bytes, payload_bytes);
  }
}

std::span<const std::string_view> PayloadBatch::make(uint64_t first_id, size_t jobs) {
  for (size_t i = 0; i < jobs; i++) {
    const uint64_t id = first_id + i;
    char* out = bytes_.data() + i * payload_bytes;
    std::memcpy(out, &id, id_bytes);
    std::memcpy(out + id_bytes, body_of(id).data(), body_bytes);
  }
  return std::span(views_).first(jobs);
}

Ledger::Ledger(uint64_t ids_max) : ids_max_(ids_max), seen_((ids_max + 63) / 64) {}

uint64_t Ledger::issue(uint64_t n) {
  const uint64_t first = next_.fetch_add(n, std::memory_order_relaxed);
  if (first + n > ids_max_) fail("more jobs than the ledger has room for; raise --jobs-max");
  return first;
}

void Ledger::deliver(std::string_view payload) {
  if (payload.size() != payload_bytes) {
    fail("a payload of " + std::to_string(payload.size()) + " bytes was delivered");
  }
  uint64_t id = 0;
  std::memcpy(&id, payload.data(), id_bytes);
  if (id >= issued()) fail("job " + std::to_string(id) + " was delivered but never enqueued");
  if (std::memcmp(payload.data() + id_bytes, body_of(id).data(), body_bytes) != 0) {
    fail("job " + std::to_string(id) + " was delivered with other content");
  }
  const uint64_t bit = uint64_t{1} << (id % 64);
  if ((seen_[id / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0) {
    fail("job " + std::to_string(id) + " was delivered twice");
  }
  delivered_.fetch_add(1, std::memory_order_relaxed);
}

void Ledger::finish(const char* where) const {
  if (issued() == delivered()) return;
  fail(std::string(where) + ": " + std::to_string(issued()) + " jobs enqueued, " +
       std::to_string(delivered()) + " delivered");
}

}  // namespace wq::bench
