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

std::string encode(Encoder& encoder, const NextSpec& next, std::span<const Header> headers,
                   const JobTraits& traits) {
  const JobSpec& job = next.job;
  NextJob out;
  out.queue = next.queue;
  out.delay_ms = job.delay_ms;
  out.run_at_ms = job.run_at_ms;
  out.max_attempts = job.max_attempts;
  out.priority = job.priority;
  out.envelope = encoder.envelope(headers, job.payload, job.backoff, next_enqueued_ms, traits);
  return encode_next(out);
}

}  // namespace

std::string encode_chain(const JobSpec& spec) {
  std::string following;
  if (spec.chain.empty()) return following;
  const std::vector<std::vector<Header>> headers = chain_headers(spec);
  Encoder encoder;
  uint32_t count = 0;
  for (size_t i = spec.chain.size(); i-- > 0; ++count) {
    JobTraits traits = spec.chain[i].job.traits;
    traits.batch = spec.traits.batch;
    traits.chain = following;
    traits.chain_jobs = count;
    following = encode(encoder, spec.chain[i], headers[i], traits);
  }
  return following;
}

Bytes encode_envelope(Encoder& encoder, const JobSpec& spec, int64_t now_ms) {
  if (spec.chain.empty()) {
    return encoder.envelope(spec.headers, spec.payload, spec.backoff, now_ms, spec.traits);
  }
  JobTraits traits = spec.traits;
  const std::string chain = encode_chain(spec);
  traits.chain = chain;
  traits.chain_jobs = static_cast<uint32_t>(spec.chain.size());
  return encoder.envelope(spec.headers, spec.payload, spec.backoff, now_ms, traits);
}

std::string encode_batch_job(const NextSpec& next, uint64_t batch) {
  const std::string id = std::to_string(batch);
  std::vector<Header> headers(next.job.headers.begin(), next.job.headers.end());
  headers.push_back({as_bytes("wq-batch"), as_bytes(id)});
  Encoder encoder;
  return encode(encoder, next, headers, next.job.traits);
}

}  // namespace wq
