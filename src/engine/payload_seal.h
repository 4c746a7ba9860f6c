// Sealing of payloads: AES-256-GCM through libcrypto, which payload_seal.cc alone includes; why it
// is built so is in docs/design/0004-sealed-payloads.md, the bytes are in docs/FORMAT.md. A payload
// is sealed in two steps: the bulk under a fresh data key, with no lock held; then the data key
// under the current key of the keyring, bound to the job that the payload belongs to, whose id is
// known late. Keys are wiped when they go, and never copied. Thread model: a Keyring does not
// change once it is shared; a PayloadSealer belongs to one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "base/result.h"

namespace wq {

constexpr size_t seal_key_bytes = 32;
constexpr size_t seal_nonce_bytes = 12;
constexpr size_t seal_tag_bytes = 16;
// In front of a sealed payload: key id:4 nonce:12 job id:8, the data key and its tag.
constexpr size_t seal_head_bytes = 4 + seal_nonce_bytes + 8 + seal_key_bytes + seal_tag_bytes;
constexpr size_t seal_extra_bytes = seal_head_bytes + seal_tag_bytes;

using KeyId = uint32_t;  // 1 and up
// In place of a job's id: what was sealed before its job had one opens as that of any in its queue.
constexpr uint64_t sealed_for_any_job = 0;
using RandomBytes = std::function<void(std::span<std::byte>)>;

class SecretKey {
 public:
  SecretKey() = default;
  ~SecretKey() { wipe(); }
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  void wipe();
  std::span<std::byte> bytes() { return bytes_; }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::array<std::byte, seal_key_bytes> bytes_{};
};

// The keys of an open store, given by whoever opens it and kept nowhere else.
class Keyring {
 public:
  Status add(KeyId id, Bytes key);
  Status make_current(KeyId id);
  KeyId current() const { return current_; }  // 0 = none
  bool empty() const { return keys_.empty(); }
  const SecretKey* find(KeyId id) const;
  std::vector<KeyId> ids() const;

 private:
  struct Entry {
    KeyId id = 0;
    SecretKey key;
  };
  std::vector<std::unique_ptr<Entry>> keys_;  // each stays where it is until it is wiped
  KeyId current_ = 0;
};

// Where a sealed payload belongs, and what it is there: all that must not be changed behind our
// back. None of it changes while the job is stored, wherever it is moved to.
struct SealPlace {
  std::string_view queue_name;
  uint64_t job = 0;
  uint8_t packing = 0;
  uint32_t plain_bytes = 0;
};

// Of a sealed payload; 0 = not bound to a job yet.
KeyId seal_key_id(Bytes sealed);

class GcmCipher;

class PayloadSealer {
 public:
  PayloadSealer(const Keyring& keys, const RandomBytes& random);
  ~PayloadSealer();
  PayloadSealer(const PayloadSealer&) = delete;
  PayloadSealer& operator=(const PayloadSealer&) = delete;

  // `sealed` is overwritten. What it holds opens once it was bound.
  Status seal(Bytes payload, std::vector<std::byte>& sealed);
  // `sealed`: where the result of seal() stands by now. Once for each, right before it is stored.
  Status bind(std::byte* sealed, const SealPlace& place);

 private:
  struct Draft;
  Status start();

  const Keyring& keys_;
  const RandomBytes& random_;
  KeyId key_id_ = 0;
  std::unique_ptr<GcmCipher> cipher_;  // of the current key, made with no lock held
  std::deque<Draft> drafts_;           // whose data keys wait to be bound
};

// `payload` is overwritten. NO_KEY: the key is not there, or does not open this.
Status open_payload(const Keyring& keys, Bytes sealed, const SealPlace& place,
                    std::vector<std::byte>& payload);

}  // namespace wq
