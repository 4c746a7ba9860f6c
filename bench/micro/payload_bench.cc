// Sealing and compression of payloads: what a call pays before the lock (pack), under it (bind),
// and what a lease pays (unpack). The payload is lines of JSON as a job system has them; the
// counter `ratio` is what is stored per byte given.
#include <benchmark/benchmark.h>

#include <string>

#include "base/prng.h"
#include "engine/packing.h"

namespace wq {
namespace {

std::string payload_of(size_t bytes) {
  Prng prng(1);
  std::string out;
  while (out.size() < bytes) {
    out += R"({"user_id":)" + std::to_string(prng.below(10'000'000)) +
           R"(,"event":"order.created","amount_cents":)" + std::to_string(prng.below(100'000)) +
           R"(,"session":")" + std::to_string(prng.next()) + "\"}\n";
  }
  out.resize(bytes);
  return out;
}

struct Packed {
  Packed(size_t bytes, PackPolicy how) : target{"q", how}, payload(payload_of(bytes)) {
    const std::string key(seal_key_bytes, 'k');
    keys.add(1, as_bytes(key)).ignore("32 bytes");
    keys.make_current(1).ignore("it is there");
  }
  Keyring keys;
  RandomBytes random = os_random_bytes;
  PackTarget target;
  std::string payload;
};

// state.range: bytes; 1 = sealed, 2 = compressed, 3 = both.
PackPolicy policy_of(const benchmark::State& state) {
  return {(state.range(1) & 1) != 0, (state.range(1) & 2) != 0 ? 1u : 0u};
}

void pack(benchmark::State& state) {
  Packed setup(static_cast<size_t>(state.range(0)), policy_of(state));
  size_t stored = 0;
  for (auto _ : state) {
    Packer packer(setup.keys, setup.random);
    const auto packed =
        packer.pack_ahead(as_bytes(setup.payload), setup.target, EncryptWish::by_queue);
    stored = packed.value().payload.size();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["ratio"] = static_cast<double>(stored) / static_cast<double>(state.range(0));
}
BENCHMARK(pack)->ArgsProduct({{256, 4'096, 262'144}, {1, 2, 3}});

void unpack(benchmark::State& state) {
  Packed setup(static_cast<size_t>(state.range(0)), policy_of(state));
  Packer packer(setup.keys, setup.random);
  const auto packed =
      packer.pack_ahead(as_bytes(setup.payload), setup.target, EncryptWish::by_queue);
  const Envelope envelope{packed.value().payload, {}, {}, 1, {}, packed.value().packing};
  std::vector<std::byte> storage;
  for (auto _ : state) {
    benchmark::DoNotOptimize(unpack_payload(setup.keys, envelope, "q", 1, storage).ok());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(unpack)->ArgsProduct({{256, 4'096, 262'144}, {1, 2, 3}});

// Under the engine's mutex, for each sealed job.
void bind(benchmark::State& state) {
  Packed setup(64, {true, 0});
  PayloadSealer sealer(setup.keys, setup.random);
  std::vector<std::byte> sealed;
  uint64_t job = 0;
  for (auto _ : state) {
    state.PauseTiming();
    sealer.seal(as_bytes(setup.payload), sealed).ignore("measured elsewhere");
    state.ResumeTiming();
    benchmark::DoNotOptimize(sealer.bind(sealed.data(), {"q", ++job, packing_sealed, 64}).ok());
  }
}
BENCHMARK(bind)->Iterations(100'000);

}  // namespace
}  // namespace wq
