// Packing: what is done to a payload before it is stored, and undone when its job is handed out:
// first compression, then sealing, as the job and its queue ask for. Only this file and
// engine_payload.cc know both; whatever lies between (commands, apply, checkpoint, store) carries
// bytes. Thread model: a Packer belongs to one thread at a time; the rest are free functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/body.h"
#include "engine/command.h"
#include "engine/payload_seal.h"
#include "engine/record.h"

namespace wq {

struct JobSpec;

// What a job says of sealing. `by_queue` = as the queue is configured.
enum class EncryptWish : uint8_t { by_queue = 0, yes = 1, no = 2 };

struct PackPolicy {
  bool encrypt = false;
  uint32_t compress_min_bytes = 0;  // 0 = no compression

  bool encrypts(EncryptWish wish) const {
    return wish == EncryptWish::by_queue ? encrypt : wish == EncryptWish::yes;
  }
  bool leaves(EncryptWish wish) const { return compress_min_bytes == 0 && !encrypts(wish); }
};

// The queue that a payload is for.
struct PackTarget {
  std::string queue_name;
  PackPolicy policy;
};

// A packed payload that is kept.
struct OwnPayload {
  std::vector<std::byte> bytes;
  Packing packing;
};

// Makes the envelopes of the jobs of one call, before the engine's mutex is taken.
class Packer {
 public:
  Packer(const Keyring& keys, const RandomBytes& random) : keys_(keys), random_(random) {}

  // Valid until the next call with this packer or encoder. `traits` stand for those of the spec.
  Result<Bytes> envelope(Encoder& encoder, const PackPolicy& policy, const JobSpec& spec,
                         const JobTraits& traits, int64_t now_ms);
  // The payload as it is to be stored, and what was done to it.
  struct Packed {
    Bytes payload;
    Packing packing;
  };
  Result<Packed> pack(Bytes payload, const PackPolicy& policy, EncryptWish wish);
  // That of a job to come, which has no id yet: what follows in a chain or ends a batch, and what a
  // schedule runs. Needs no bind(): it is bound to its queue.
  Result<Packed> pack_ahead(Bytes payload, const PackTarget& target, EncryptWish wish);
  // What the ack of a job leaves behind.
  Result<Bytes> seal_result(Bytes result, std::string_view queue_name, JobId id);

  // Under the mutex, right before the commit: binds what was sealed to the jobs that it belongs to.
  // Writes into the envelopes, whose memory is the caller's, once for each.
  Status bind(std::span<const NewJob> jobs, std::string_view queue_name);
  Status bind(Bytes envelope, std::string_view queue_name, JobId id);

 private:
  Status seal(Bytes plain);  // into sealed_

  const Keyring& keys_;
  const RandomBytes& random_;
  std::optional<PayloadSealer> sealer_;  // none = nothing was sealed
  std::vector<std::byte> compressed_;
  std::vector<std::byte> sealed_;
};

// The payload as it was given. Points into `storage` or the envelope.
Result<Bytes> unpack_payload(const Keyring& keys, const Envelope& envelope,
                             std::string_view queue_name, JobId id,
                             std::vector<std::byte>& storage);
// The same of a sealed result.
Result<std::string> open_result(const Keyring& keys, Bytes sealed, std::string_view queue_name,
                                JobId id);
// A body that says the same but was never packed.
Result<BodyRef> unpack_body(const Keyring& keys, const BodyRef& body, std::string_view queue_name,
                            JobId id);
// The same without its payload, for one that does not unpack.
BodyRef body_without_payload(const BodyRef& body);

}  // namespace wq
