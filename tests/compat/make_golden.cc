// Makes the store that compat_test.py keeps of a format: jobs in every state in tables, in
// RocksDB's log and in ours, and no orderly end. Run it once per format, through compat_test.py
// --make; what it made stays for ever. Times are far away, so that nothing becomes due while it is
// kept. Arguments: the directory of the store, and one for FORMAT files of versions that do not
// exist. Thread model: one thread.
#include <unistd.h>
#include <wq.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/format_file.h"

namespace {

constexpr int64_t year_ms = 366ll * 86'400'000;

wq_error last_error = WQ_ERROR_INIT;

void must(int32_t code) {
  if (code == WQ_OK) return;
  std::fprintf(stderr, "make_golden: %s: %s\n", wq_error_name(code), last_error.message);
  std::exit(1);
}

wq_queue* open_queue(wq_store* store, std::string_view name) {
  wq_queue* queue = nullptr;
  must(wq_queue_open(store, name.data(), name.size(), nullptr, 0, &queue, &last_error));
  return queue;
}

void push(wq_queue* queue, const std::string& payload, int64_t delay_ms = 0,
          uint32_t priority = 100) {
  const wq_header header = {{"kind", 4}, {"golden", 6}};
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = {payload.data(), payload.size()};
  spec.headers = &header;
  spec.headers_count = 1;
  spec.delay_ms = delay_ms;
  spec.flags = WQ_JOB_PRIORITY;
  spec.priority = priority;
  spec.backoff_kind = WQ_BACKOFF_EXPONENTIAL;
  spec.backoff_base_ms = 50 * year_ms;
  spec.backoff_max_ms = 60 * year_ms;
  must(wq_enqueue(queue, &spec, nullptr, nullptr, &last_error));
}

std::vector<wq_token> lease(wq_store* store, wq_queue* queue, uint32_t count) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = count;
  options.lease_ms = 90 * year_ms;
  wq_batch* batch = nullptr;
  must(wq_lease(store, &queue, 1, &options, nullptr, nullptr, &batch, &last_error));
  std::vector<wq_token> tokens;
  for (size_t i = 0; i < wq_batch_count(batch); ++i) {
    wq_job job = WQ_JOB_INIT;
    must(wq_batch_job(batch, i, &job));
    tokens.push_back({job.id, job.generation});
  }
  wq_batch_free(&batch);
  return tokens;
}

// A job into each state, and settled ones; each round leaves the same.
void round_of_states(wq_store* store, wq_queue* queue, const std::string& name) {
  for (int i = 0; i < 7; ++i) push(queue, name + " " + std::to_string(i));
  push(queue, name + std::string(5'000, 'b'), 0, 200);  // over 4 KiB: into a blob file one day
  push(queue, name + std::string("\0\xff", 2), 0, 0);
  push(queue, name + " delayed", 80 * year_ms);
  const std::vector<wq_token> got = lease(store, queue, 6);
  must(wq_ack(queue, got[0].id, got[0].generation, nullptr, &last_error));
  must(wq_nack(queue, got[1].id, got[1].generation, nullptr, nullptr, &last_error));  // delayed
  must(wq_fail(queue, got[2].id, got[2].generation, "no way", 6, nullptr, &last_error));
  must(wq_fail(queue, got[3].id, got[3].generation, "replayed", 8, nullptr, &last_error));
  must(wq_dead_replay(queue, got[3].id, got[3].generation, nullptr, &last_error));
  must(wq_confirm(queue, got[4].id, got[4].generation, 0, nullptr, &last_error));
}

void settings(wq_store* store) {
  wq_queue* paused = open_queue(store, "paused");
  push(paused, "behind the pause");
  must(wq_queue_pause(paused, nullptr, &last_error));
  wq_queue* disabled = open_queue(store, "disabled");
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RUNNING | WQ_CONFIG_LEASE_MS | WQ_CONFIG_BACKOFF;
  config.max_running = 7;
  config.lease_ms = 12'345;
  config.backoff_kind = WQ_BACKOFF_LIST;
  config.backoff_count = 2;
  config.backoff_list_ms[0] = 1'000;
  config.backoff_list_ms[1] = 5'000;
  must(wq_queue_configure(disabled, &config, nullptr, &last_error));
  must(wq_queue_disable(disabled, nullptr, &last_error));
  wq_queue* cleared = open_queue(store, "cleared");
  push(cleared, "gone");
  must(wq_queue_clear(cleared, 0, nullptr, nullptr, &last_error));
  wq_queue_close(&paused);
  wq_queue_close(&disabled);
  wq_queue_close(&cleared);
}

// FORMAT of a store as libraries to come might write it.
void write_formats(wq::Io& io, const std::string& store, const std::string& directory) {
  const wq::StoreFormat now = wq::read_format(io, store, wq::Access::write).value();
  wq::StoreFormat format = now;
  const auto write = [&](const char* name) {
    std::filesystem::create_directories(directory + "/" + name);
    if (!wq::write_format(io, directory + "/" + name, format).ok()) std::exit(1);
    format = now;
  };
  format.version = now.version + 1;
  write("newer");
  format.incompatible = 1ull << 40;
  write("incompatible");
  format.read_only_compatible = 1ull << 40;
  write("read_only");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.flags = WQ_OPEN_NO_THREADS;  // nothing is written that is not asked for
  options.segment_bytes = 64 << 10;
  options.spare_segments = 1;
  wq_store* store = nullptr;
  must(wq_store_open(argv[1], &options, &store, &last_error));
  wq_queue* bulk = open_queue(store, "bulk");
  for (int i = 0; i < 9'000; ++i) {
    wq_call call = WQ_CALL_INIT;
    call.durability = WQ_MEMORY;
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    const std::string payload = "bulk " + std::to_string(i);
    spec.payload = {payload.data(), payload.size()};
    must(wq_enqueue(bulk, &spec, &call, nullptr, &last_error));
  }
  wq_queue* mail = open_queue(store, "mail");
  round_of_states(store, mail, "in tables");
  must(wq_store_checkpoint(store, &last_error));  // large: SST files
  round_of_states(store, mail, "in RocksDB's log");
  settings(store);
  must(wq_store_checkpoint(store, &last_error));  // small: a batch
  round_of_states(store, mail, "in the log");
  push(mail, "the last one that is whole");
  wq_call call = WQ_CALL_INIT;
  call.durability = WQ_PROCESS;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  const std::string torn(3'000, 't');
  spec.payload = {torn.data(), torn.size()};
  must(wq_enqueue(mail, &spec, &call, nullptr, &last_error));  // compat_test.py cuts it
  const auto io = wq::make_io(wq::IoBackend::thread);
  write_formats(*io.value(), argv[1], argv[2]);
  std::fflush(nullptr);
  _exit(0);  // as a kill would leave it
}
