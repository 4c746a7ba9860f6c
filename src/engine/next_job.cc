#include "engine/next_job.h"

#include <algorithm>
#include <vector>

namespace wq {
namespace {

constexpr std::string_view inherited_names[] = {"tags", "traceparent", "tracestate", "baggage"};

bool has_header(std::span<const Header> headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const Header& header) { return as_text(header.name) == name; });
}

bool has_room(std::span<const Header> headers, const Header& more) {
  size_t bytes = more.name.size() + more.value.size();
  for (const Header& header : headers) bytes += header.name.size() + header.value.size();
  return headers.size() < headers_count_max && bytes <= headers_bytes_max;
}

// The headers of each job of a chain, with those that it inherits as far as there is room.
std::vector<std::vector<Header>> chain_headers(const JobSpec& first) {
  std::vector<std::vector<Header>> out;
  std::span<const Header> before = first.headers;
  for (const NextSpec& next : first.chain) {
    std::vector<Header>& headers =
        out.emplace_back(next.job.headers.begin(), next.job.headers.end());
    for (const Header& header : before) {
      const std::string_view name = as_text(header.name);
      const bool inherited = std::find(std::begin(inherited_names), std::end(inherited_names),
                                       name) != std::end(inherited_names);
      if (!inherited || has_header(next.job.headers, name)) continue;
      if (has_room(headers, header)) headers.push_back(header);
    }
    before = headers;
  }
  return out;
}

std::string encode(Encoder& encoder, const NextSpec& next, const Packer::Packed& packed,
                   std::span<const Header> headers, const JobTraits& traits) {
  const JobSpec& job = next.job;
  NextJob out;
  out.queue = next.queue;
  out.delay_ms = job.delay_ms;
  out.run_at_ms = job.run_at_ms;
  out.max_attempts = job.max_attempts;
  out.priority = job.priority;
  out.envelope = encoder.envelope(headers, packed.payload, job.backoff, next_enqueued_ms, traits,
                                  packed.packing);
  return encode_next(out);
}

}  // namespace

Result<std::string> encode_chain(const JobSpec& spec, std::span<const PackTarget> targets,
                                 Packer& packer) {
  std::string following;
  const std::vector<std::vector<Header>> headers = chain_headers(spec);
  Encoder encoder;
  uint32_t count = 0;
  for (size_t i = spec.chain.size(); i-- > 0; ++count) {
    const JobSpec& job = spec.chain[i].job;
    const Result<Packer::Packed> packed = packer.pack_ahead(job.payload, targets[i], job.encrypt);
    if (!packed.ok()) {
      return Status(packed.status().code(),
                    "chain[" + std::to_string(i) + "]: " + packed.status().message());
    }
    JobTraits traits = job.traits;
    traits.batch = spec.traits.batch;
    traits.chain = following;
    traits.chain_jobs = count;
    following = encode(encoder, spec.chain[i], packed.value(), headers[i], traits);
  }
  return following;
}

std::string encode_batch_job(const NextSpec& next, const OwnPayload& packed, uint64_t batch) {
  const std::string id = std::to_string(batch);
  std::vector<Header> headers(next.job.headers.begin(), next.job.headers.end());
  headers.push_back({as_bytes("wq-batch"), as_bytes(id)});
  Encoder encoder;
  return encode(encoder, next, {packed.bytes, packed.packing}, headers, next.job.traits);
}

}  // namespace wq
