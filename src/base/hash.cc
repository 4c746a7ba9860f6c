#include "base/hash.h"

#include <xxhash.h>

#include <new>

namespace wq {

uint64_t hash64(Bytes bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

namespace {

XXH3_state_t* state_of(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

}  // namespace

StreamHash::StreamHash(uint64_t seed) : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset_withSeed(state_of(state_), seed);
}

StreamHash::~StreamHash() {
  XXH3_freeState(state_of(state_));
}

void StreamHash::update(Bytes bytes) {
  XXH3_64bits_update(state_of(state_), bytes.data(), bytes.size());
}

uint64_t StreamHash::value() const {
  return XXH3_64bits_digest(state_of(state_));
}

}  // namespace wq
