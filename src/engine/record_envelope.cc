// Reading envelopes, and the small tables that several records share.
#include "base/check.h"
#include "engine/payload_seal.h"
#include "engine/record_internal.h"
#include "engine/schema/envelope_generated.h"

namespace wq {
namespace {

// A backoff table unpacked without allocating.
struct BackoffParts {
  BackoffKind kind = BackoffKind::none;
  int64_t base_ms = 0;
  int64_t max_ms = 0;
  uint32_t jitter_permille = 0;
  size_t list_count = 0;
  int64_t list_ms[backoff_list_max] = {};
};

const char* unpack_backoff(const fb::Backoff* table, BackoffParts& parts) {
  parts.kind = static_cast<BackoffKind>(table->kind());
  if (parts.kind == BackoffKind::none) return "backoff table without a kind";
  parts.base_ms = table->base_ms();
  parts.max_ms = table->max_ms();
  parts.jitter_permille = table->jitter_permille();
  const Bytes list = vector_bytes(table->list_ms());
  parts.list_count = list.size() / sizeof(int64_t);
  const bool by_list = parts.kind == BackoffKind::list;
  const bool has_cap = parts.kind == BackoffKind::exponential;
  if ((by_list ? parts.base_ms != 0 : !list.empty()) || (!has_cap && parts.max_ms != 0)) {
    return "backoff with a part that its kind does not have";
  }
  if (parts.list_count > backoff_list_max) return "length of the backoff list";
  if (parts.jitter_permille > jitter_permille_max) return "jitter of the backoff";
  if (!list.empty()) std::memcpy(parts.list_ms, list.data(), list.size());
  return check_backoff(parts.kind, parts.base_ms, parts.max_ms, {parts.list_ms, parts.list_count});
}

const char* check_headers(const flatbuffers::Vector<flatbuffers::Offset<fb::Header>>* headers) {
  if (headers == nullptr) return nullptr;
  if (headers->size() > headers_count_max) return "too many headers";
  size_t total_bytes = 0;
  for (const fb::Header* header : *headers) {
    const size_t name_bytes = vector_bytes(header->name()).size();
    if (name_bytes == 0 || name_bytes > header_name_bytes_max) return "length of a header name";
    total_bytes += name_bytes + vector_bytes(header->value()).size();
    if (total_bytes > headers_bytes_max) return "headers are too long";
  }
  return nullptr;
}

// Its views point into the table.
JobTraits read_traits(const fb::Traits* table) {
  JobTraits traits;
  traits.expires_ms = table->expires_ms();
  traits.retry_until_ms = table->retry_until_ms();
  traits.timeout_ms = table->timeout_ms();
  traits.max_exceptions = table->max_exceptions();
  traits.fail_on_timeout = table->fail_on_timeout();
  traits.key_rule = static_cast<KeyRule>(table->key_rule());
  traits.key = as_text(vector_bytes(table->key()));
  traits.key_ms = table->key_ms();
  traits.idempotency_key = as_text(vector_bytes(table->idempotency_key()));
  traits.idempotency_ms = table->idempotency_ms();
  traits.batch = table->batch();
  traits.chain = as_text(vector_bytes(table->chain()));
  traits.chain_jobs = table->chain_jobs();
  traits.group = as_text(vector_bytes(table->group()));
  traits.group_limit = table->group_limit();
  traits.tenant = as_text(vector_bytes(table->tenant()));
  traits.overlap = static_cast<OverlapRule>(table->overlap());
  traits.overlap_ms = table->overlap_ms();
  traits.rate_key = as_text(vector_bytes(table->rate_key()));
  traits.rate_cost = table->rate_cost();
  return traits;
}

// Every job of a chain is in the batch of the first, and knows how many follow it.
const char* check_chain(const JobTraits& traits, uint32_t depth) {
  if (traits.chain.empty()) return nullptr;
  if (depth >= chain_jobs_max) return "chain is too long";
  JobTraits following;
  if (const char* reason = check_next(as_bytes(traits.chain), depth + 1, &following)) return reason;
  if (following.chain_jobs + 1 != traits.chain_jobs) return "length of a chain";
  return following.batch == traits.batch ? nullptr : "chain out of its batch";
}

const char* check_aligned_envelope(const AlignedImage& image, uint32_t depth = 0,
                                   JobTraits* told = nullptr) {
  if (image.size() > command_bytes_max) return "envelope is too long";
  // All headers, the envelope itself, its backoff and its traits.
  constexpr flatbuffers::uoffset_t tables_max = headers_count_max + 3;
  flatbuffers::Verifier verifier(image.data(), image.size(), record_depth_max, tables_max);
  if (!verifier.VerifyBuffer<fb::Envelope>()) return "envelope is not well formed";
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(image.data());
  if (table->enqueued_ms() < 0) return "enqueue time is negative";
  const Packing packing{table->packing(), table->plain_bytes()};
  const Bytes payload = vector_bytes(table->payload());
  if (const char* reason = check_packing(payload, packing)) return reason;
  if (packing.is_sealed() && seal_key_id(payload) == 0) return "sealed payload of no job";
  if (table->backoff() != nullptr) {
    BackoffParts parts;
    if (const char* reason = unpack_backoff(table->backoff(), parts)) return reason;
  }
  if (table->traits() != nullptr) {
    JobTraits traits = read_traits(table->traits());
    if (const char* reason = check_traits(traits)) return reason;
    if (const char* reason = check_chain(traits, depth)) return reason;
    if (told) *told = traits;
  }
  return check_headers(table->headers());
}

}  // namespace

const char* check_envelope(Bytes bytes, uint32_t depth, JobTraits* traits) {
  return check_aligned_envelope(AlignedImage(bytes), depth, traits);
}

const char* read_backoff(const fb::Backoff* table, Backoff& out) {
  out = Backoff();
  if (table == nullptr) return nullptr;
  BackoffParts parts;
  if (const char* reason = unpack_backoff(table, parts)) return reason;
  out.kind = parts.kind;
  out.base_ms = parts.base_ms;
  out.max_ms = parts.max_ms;
  out.list_ms.assign(parts.list_ms, parts.list_ms + parts.list_count);
  out.jitter_permille = parts.jitter_permille;
  return nullptr;
}

const char* read_config(const fb::QueueConfig* table, QueueConfig& out) {
  if (table == nullptr) return "no configuration";
  out.max_running = table->max_running();
  out.max_retries = table->max_retries();
  out.lease_ms = table->lease_ms();
  out.durability = static_cast<Durability>(table->durability());
  out.status = static_cast<QueueStatus>(table->status());
  out.version = table->version();
  out.job_ttl_ms = table->job_ttl_ms();
  out.max_depth = table->max_depth();
  out.max_bytes = table->max_bytes();
  out.full_policy = static_cast<FullPolicy>(table->full_policy());
  out.dead_max_count = table->dead_max_count();
  out.dead_max_age_ms = table->dead_max_age_ms();
  out.pause_kept = table->pause_kept();
  out.encrypt = table->encrypt();
  out.compress_min_bytes = table->compress_min_bytes();
  out.keep_done_count = table->keep_done_count();
  out.keep_done_age_ms = table->keep_done_age_ms();
  out.rate = {table->rate_count(), table->rate_burst(), table->rate_window_ms()};
  out.group_limit = table->group_limit();
  out.key_rate = {table->key_rate_count(), table->key_rate_burst(), table->key_rate_window_ms()};
  out.throttle = {table->throttle_count(), table->throttle_window_ms(), table->throttle_cool_ms()};
  if (const char* reason = read_backoff(table->backoff(), out.backoff)) return reason;
  return check_config(out);
}

Result<Envelope> decode_envelope(Bytes bytes) {
  const AlignedImage image(bytes);
  if (const char* reason = check_aligned_envelope(image)) return corrupt_record("job", reason);
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(image.data());
  Envelope envelope;
  envelope.payload = image.in_input(vector_bytes(table->payload()));
  envelope.enqueued_ms = table->enqueued_ms();
  envelope.packing = {table->packing(), table->plain_bytes()};
  if (table->traits() != nullptr) {
    envelope.traits = read_traits(table->traits());
    JobTraits& traits = envelope.traits;
    for (std::string_view* view : {&traits.key, &traits.idempotency_key, &traits.group,
                                   &traits.rate_key, &traits.chain, &traits.tenant}) {
      *view = as_text(image.in_input(as_bytes(*view)));
    }
  }
  if (table->headers() != nullptr) {
    envelope.headers.reserve(table->headers()->size());
    for (const fb::Header* header : *table->headers()) {
      envelope.headers.push_back({image.in_input(vector_bytes(header->name())),
                                  image.in_input(vector_bytes(header->value()))});
    }
  }
  if (const char* reason = read_backoff(table->backoff(), envelope.backoff)) {
    return corrupt_record("job", reason);
  }
  return envelope;
}

Bytes trusted_payload(Bytes envelope) {
  // By ReadScalar and raw addresses only: the bytes may lie unaligned.
  using flatbuffers::ReadScalar;
  using flatbuffers::uoffset_t;
  const auto* start = reinterpret_cast<const uint8_t*>(envelope.data());
  const auto* root =
      reinterpret_cast<const flatbuffers::Table*>(start + ReadScalar<uoffset_t>(start));
  const auto* vector = root->GetPointer<const uint8_t*>(fb::Envelope::VT_PAYLOAD);
  if (vector == nullptr) return {};
  const auto count = ReadScalar<uoffset_t>(vector);
  return {reinterpret_cast<const std::byte*>(vector + sizeof count), count};
}

EnvelopeView trusted_envelope(Bytes envelope) {
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(envelope.data());
  EnvelopeView view;
  view.payload = vector_bytes(table->payload());
  view.enqueued_ms = table->enqueued_ms();
  view.headers_count = table->headers() == nullptr ? 0 : table->headers()->size();
  if (const fb::Traits* traits = table->traits()) {
    view.group = vector_bytes(traits->group());
    view.tenant = vector_bytes(traits->tenant());
    view.rate_key = vector_bytes(traits->rate_key());
    view.rate_cost = traits->rate_cost();
  }
  return view;
}

Backoff trusted_backoff(Bytes envelope) {
  Backoff backoff;
  const char* reason =
      read_backoff(flatbuffers::GetRoot<fb::Envelope>(envelope.data())->backoff(), backoff);
  WQ_CHECK(reason == nullptr);
  return backoff;
}

JobTraits traits_of(Bytes envelope) {
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(envelope.data());
  return table->traits() == nullptr ? JobTraits() : read_traits(table->traits());
}

std::unique_ptr<const JobTraits> trusted_traits(Bytes envelope) {
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(envelope.data());
  if (table->traits() == nullptr) return nullptr;
  return std::make_unique<const JobTraits>(read_traits(table->traits()));
}

bool trusted_has_traits(Bytes envelope) {
  using flatbuffers::ReadScalar;
  using flatbuffers::uoffset_t;
  const auto* start = reinterpret_cast<const uint8_t*>(envelope.data());
  const auto* root =
      reinterpret_cast<const flatbuffers::Table*>(start + ReadScalar<uoffset_t>(start));
  return root->GetPointer<const uint8_t*>(fb::Envelope::VT_TRAITS) != nullptr;
}

Packing trusted_packing(Bytes envelope) {
  using flatbuffers::ReadScalar;
  using flatbuffers::uoffset_t;
  const auto* start = reinterpret_cast<const uint8_t*>(envelope.data());
  const auto* root =
      reinterpret_cast<const flatbuffers::Table*>(start + ReadScalar<uoffset_t>(start));
  return {root->GetField<uint8_t>(fb::Envelope::VT_PACKING, 0),
          root->GetField<uint32_t>(fb::Envelope::VT_PLAIN_BYTES, 0)};
}

uint64_t trusted_batch(Bytes envelope) {
  const AlignedImage image(envelope);
  const auto* traits = flatbuffers::GetRoot<fb::Envelope>(image.data())->traits();
  return traits == nullptr ? 0 : traits->batch();
}

Header trusted_header(Bytes envelope, size_t i) {
  const auto* table = flatbuffers::GetRoot<fb::Envelope>(envelope.data());
  const auto* header = table->headers()->Get(static_cast<flatbuffers::uoffset_t>(i));
  return Header{vector_bytes(header->name()), vector_bytes(header->value())};
}

}  // namespace wq
