// Encoding and decoding of the records on the hot path: envelope and enqueue of one job of 256
// bytes, lease of one, settle of one, and the row that a checkpoint writes.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/record.h"

namespace wq {
namespace {

constexpr int64_t now_ms = 1'700'000'000'000;

std::string payload_of(int64_t size) {
  return std::string(static_cast<size_t>(size), 'p');
}

std::string envelope_of(int64_t payload_size) {
  Encoder encoder;
  return std::string(
      as_text(encoder.envelope({}, as_bytes(payload_of(payload_size)), Backoff(), now_ms)));
}

void encode_envelope(benchmark::State& state) {
  Encoder encoder;
  const std::string payload = payload_of(state.range(0));
  const Backoff backoff;
  for (auto _ : state) {
    benchmark::DoNotOptimize(encoder.envelope({}, as_bytes(payload), backoff, now_ms).data());
  }
}
BENCHMARK(encode_envelope)->Arg(256)->Arg(4096);

Command enqueue_of(const std::string& envelope, int64_t jobs) {
  Command command;
  command.reset(CommandType::enqueue, now_ms);
  command.queue = 1;
  for (int64_t i = 1; i <= jobs; ++i) {
    command.jobs.push_back({.id = static_cast<JobId>(i), .envelope = as_bytes(envelope)});
  }
  return command;
}

Command lease_of(int64_t jobs) {
  Command command;
  command.reset(CommandType::lease, now_ms);
  command.first_generation = 1'000'000;
  command.groups.push_back({1, static_cast<uint32_t>(jobs), now_ms + 60'000});
  for (int64_t i = 1; i <= jobs; ++i) command.ids.push_back(static_cast<JobId>(i));
  return command;
}

Command settle_of(int64_t jobs, SettleKind kind) {
  Command command;
  command.reset(CommandType::settle, now_ms);
  command.queue = 1;
  for (int64_t i = 1; i <= jobs; ++i) {
    command.settles.push_back(
        {.id = static_cast<JobId>(i), .generation = 1'000'000, .kind = kind, .delay_ms = 0});
  }
  return command;
}

void encode(benchmark::State& state, const Command& command) {
  Encoder encoder;
  size_t bytes = 0;
  for (auto _ : state) {
    const Bytes encoded = encoder.command(command);
    benchmark::DoNotOptimize(encoded.data());
    bytes = encoded.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes"] = static_cast<double>(bytes);
}

void decode(benchmark::State& state, const Command& command) {
  Encoder encoder;
  const std::string encoded(as_text(encoder.command(command)));
  Command decoded;
  for (auto _ : state) {
    const Status status = decode_command(as_bytes(encoded), decoded);
    if (!status.ok()) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void encode_enqueue(benchmark::State& state) {
  const std::string envelope = envelope_of(256);
  encode(state, enqueue_of(envelope, state.range(0)));
}
void encode_lease(benchmark::State& state) {
  encode(state, lease_of(state.range(0)));
}
void encode_acks(benchmark::State& state) {
  encode(state, settle_of(state.range(0), SettleKind::ack));
}
void encode_nacks(benchmark::State& state) {
  encode(state, settle_of(state.range(0), SettleKind::nack));
}
void decode_enqueue(benchmark::State& state) {
  const std::string envelope = envelope_of(256);
  decode(state, enqueue_of(envelope, state.range(0)));
}
void decode_lease(benchmark::State& state) {
  decode(state, lease_of(state.range(0)));
}
void decode_acks(benchmark::State& state) {
  decode(state, settle_of(state.range(0), SettleKind::ack));
}
BENCHMARK(encode_enqueue)->Arg(1)->Arg(100);
BENCHMARK(encode_lease)->Arg(1)->Arg(100);
BENCHMARK(encode_acks)->Arg(1)->Arg(100);
BENCHMARK(encode_nacks)->Arg(1)->Arg(100);
BENCHMARK(decode_enqueue)->Arg(1)->Arg(100);
BENCHMARK(decode_lease)->Arg(1)->Arg(100);
BENCHMARK(decode_acks)->Arg(1)->Arg(100);

JobRow fresh_row() {
  return {.queue = 1, .state = JobState::ready, .position = 1'000'000, .since_ms = now_ms};
}

void encode_body_row(benchmark::State& state) {
  Encoder encoder;
  const std::string envelope = envelope_of(256);
  const JobRow row = fresh_row();
  for (auto _ : state) {
    benchmark::DoNotOptimize(encoder.job_row(row, as_bytes(envelope)).data());
  }
}
BENCHMARK(encode_body_row);

// At any offset: rows come from the store unaligned, which costs a copy.
void decode_body_row(benchmark::State& state) {
  Encoder encoder;
  const std::string envelope = envelope_of(256);
  const std::string row(as_text(encoder.job_row(fresh_row(), as_bytes(envelope))));
  const std::string placed = std::string(static_cast<size_t>(state.range(0)), ' ') + row;
  const Bytes bytes = as_bytes(placed).subspan(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto decoded = decode_job_row(bytes);
    if (!decoded.ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(decoded.value().envelope.data());
  }
}
BENCHMARK(decode_body_row)->Arg(0)->Arg(1);

}  // namespace
}  // namespace wq
