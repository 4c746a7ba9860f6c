#include "engine/packing.h"

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/payload_compress.h"

namespace wq {
namespace {

// Only in what a sealed result is bound to: it does not open as the payload of its job.
constexpr uint8_t packing_result = 0x80;

SealPlace place_of(const Packing& packing, std::string_view queue_name, JobId id) {
  return {queue_name, id, packing.flags, packing.plain_bytes};
}

SealPlace place_of_result(size_t plain_bytes, std::string_view queue_name, JobId id) {
  return {queue_name, id, packing_sealed | packing_result, static_cast<uint32_t>(plain_bytes)};
}

Bytes plain_envelope(Encoder& encoder, const Envelope& from, Bytes payload) {
  return encoder.envelope(from.headers, payload, from.backoff, from.enqueued_ms, from.traits);
}

}  // namespace

Result<Bytes> Packer::envelope(Encoder& encoder, const PackPolicy& policy, const JobSpec& spec,
                               const JobTraits& traits, int64_t now_ms) {
  Packed packed{spec.payload, {}};
  if (!policy.leaves(spec.encrypt)) {
    WQ_TRY_SET(packed, pack(spec.payload, policy, spec.encrypt));
  }
  return encoder.envelope(spec.headers, packed.payload, spec.backoff, now_ms, traits,
                          packed.packing);
}

Result<Packer::Packed> Packer::pack(Bytes payload, const PackPolicy& policy, EncryptWish wish) {
  Packed out{payload, {}};
  const auto plain_bytes = static_cast<uint32_t>(payload.size());
  const bool large = policy.compress_min_bytes != 0 && plain_bytes >= policy.compress_min_bytes;
  if (large && compress_payload(payload, compressed_)) {
    out = {compressed_, {packing_compressed, plain_bytes}};
  }
  if (!policy.encrypts(wish) || WQ_PLANTED(payload_not_sealed)) return out;
  WQ_TRY(seal(out.payload));
  out.payload = sealed_;
  out.packing.flags |= packing_sealed;
  out.packing.plain_bytes = plain_bytes;
  return out;
}

Status Packer::seal(Bytes plain) {
  if (!sealer_) sealer_.emplace(keys_, random_);
  return sealer_->seal(plain, sealed_);
}

Result<Packer::Packed> Packer::pack_ahead(Bytes payload, const PackTarget& target,
                                          EncryptWish wish) {
  WQ_TRY_SET(const Packed packed, pack(payload, target.policy, wish));
  if (packed.packing.is_sealed()) {
    const SealPlace place = place_of(packed.packing, target.queue_name, sealed_for_any_job);
    WQ_TRY(sealer_->bind(sealed_.data(), place));
  }
  return packed;
}

Result<Bytes> Packer::seal_result(Bytes result, std::string_view queue_name, JobId id) {
  WQ_TRY(seal(result));
  WQ_TRY(sealer_->bind(sealed_.data(), place_of_result(result.size(), queue_name, id)));
  return Bytes(sealed_);
}

Status Packer::bind(std::span<const NewJob> jobs, std::string_view queue_name) {
  if (!sealer_) return {};
  for (const NewJob& job : jobs) WQ_TRY(bind(job.envelope, queue_name, job.id));
  return {};
}

Status Packer::bind(Bytes envelope, std::string_view queue_name, JobId id) {
  const Packing packing = trusted_packing(envelope);
  if (!sealer_ || !packing.is_sealed()) return {};
  auto* sealed = const_cast<std::byte*>(trusted_payload(envelope).data());
  return sealer_->bind(sealed, place_of(packing, queue_name, id));
}

Result<Bytes> unpack_payload(const Keyring& keys, const Envelope& envelope,
                             std::string_view queue_name, JobId id,
                             std::vector<std::byte>& storage) {
  const Packing& packing = envelope.packing;
  Bytes payload = envelope.payload;
  std::vector<std::byte> opened;
  if (packing.is_sealed()) {
    WQ_TRY(open_payload(keys, payload, place_of(packing, queue_name, id), opened));
    payload = opened;
  }
  if ((packing.flags & packing_compressed) != 0) {
    WQ_TRY(decompress_payload(payload, packing.plain_bytes, storage));
    return Bytes(storage);
  }
  if (!packing.is_sealed()) return payload;
  storage.swap(opened);
  return Bytes(storage);
}

Result<std::string> open_result(const Keyring& keys, Bytes sealed, std::string_view queue_name,
                                JobId id) {
  const size_t plain_bytes = sealed.size() - seal_extra_bytes;
  std::vector<std::byte> opened;
  WQ_TRY(open_payload(keys, sealed, place_of_result(plain_bytes, queue_name, id), opened));
  return std::string(as_text(opened));
}

Result<BodyRef> unpack_body(const Keyring& keys, const BodyRef& body, std::string_view queue_name,
                            JobId id) {
  WQ_TRY_SET(const Envelope envelope, decode_envelope(body.bytes()));
  std::vector<std::byte> storage;
  WQ_TRY_SET(const Bytes payload, unpack_payload(keys, envelope, queue_name, id, storage));
  Encoder encoder;
  return BodyRef(plain_envelope(encoder, envelope, payload));
}

BodyRef body_without_payload(const BodyRef& body) {
  const Result<Envelope> envelope = decode_envelope(body.bytes());
  WQ_CHECK(envelope.ok());  // it was verified when it came to memory
  Encoder encoder;
  return BodyRef(plain_envelope(encoder, envelope.value(), {}));
}

}  // namespace wq
