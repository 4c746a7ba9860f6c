#include "alloc/alloc_world.h"

#include <sstream>
#include <utility>

#include "alloc/alloc_fault.h"
#include "alloc/quiet_world.h"
#include "capi/boundary.h"
#include "capi/capi_internal.h"

namespace wq {
namespace {

constexpr uint64_t dumped_ids_max = 400;  // above all ids that the script hands out

std::string text_of(const wq_bytes& bytes) {
  return bytes.len == 0 ? std::string()
                        : std::string(static_cast<const char*>(bytes.data), bytes.len);
}

// Long payloads are told by length and ends.
std::string short_text(const wq_bytes& bytes) {
  std::string text = text_of(bytes);
  if (text.size() <= 40) return text;
  return text.substr(0, 16) + ".." + std::to_string(text.size()) + ".." +
         text.substr(text.size() - 4);
}

void dump_job(std::ostream& out, const wq_batch* batch) {
  wq_job job = WQ_JOB_INIT;
  if (wq_batch_job(batch, 0, &job) != WQ_OK) return;
  out << "  job " << job.id << " state=" << job.state << " gen=" << job.generation
      << " priority=" << job.priority << " attempts=" << job.attempts << "/" << job.max_attempts
      << " exceptions=" << job.exceptions << " replays=" << job.replays
      << " enqueued=" << job.enqueued_ms << " ready=" << job.ready_ms << " leased=" << job.leased_ms
      << " deadline=" << job.deadline_ms << " dead=" << job.dead_ms << "/" << job.dead_reason
      << " error=" << short_text(job.last_error) << " payload=" << short_text(job.payload);
  for (size_t i = 0; i < job.headers_count; ++i) {
    wq_header header;
    if (wq_batch_header(batch, 0, i, &header) == WQ_OK) {
      out << " " << text_of(header.name) << ":" << short_text(header.value);
    }
  }
  out << "\n";
}

void dump_queue(std::ostream& out, wq_queue* queue) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  out << wq_queue_get_config(queue, &config, nullptr) << wq_queue_get_stats(queue, &stats, nullptr);
  out << " running=" << config.max_running << " retries=" << config.max_retries
      << " lease=" << config.lease_ms << " durability=" << config.durability
      << " status=" << config.status << " backoff=" << config.backoff_kind << "/"
      << config.backoff_base_ms << "/" << config.backoff_count << " version=" << config.version
      << "\n  counts " << stats.ready << " " << stats.delayed << " " << stats.leased << " "
      << stats.running << " " << stats.dead << " totals " << stats.enqueued_total << " "
      << stats.leased_total << " " << stats.acked_total << " " << stats.nacked_total << " "
      << stats.failed_total << " " << stats.released_total << " " << stats.expired_total << " "
      << stats.dead_total << " " << stats.replayed_total << " " << stats.cancelled_total << " "
      << stats.cleared_total << "\n";
  for (uint64_t id = 1; id <= dumped_ids_max; ++id) {
    wq_batch* batch = nullptr;
    if (wq_job_get(queue, id, &batch, nullptr) == WQ_OK) dump_job(out, batch);
    wq_batch_free(&batch);
  }
}

}  // namespace

World::World(WorldKind kind, std::string directory, bool threads)
    : kind_(kind), directory_(std::move(directory)), threads_(threads) {}

World::~World() {
  close();
}

int32_t World::open() {
  store = nullptr;
  return boundary(&err, [&]() -> Status {
    EngineOptions options;
    options.directory = kind_ == WorldKind::rocks ? directory_ : "store";
    options.threads = threads_;
    options.segment_bytes = 64u << 10;  // so that the script goes through several
    options.spare_segments = 1;
    options.disk_reserve_bytes = 0;
    options.events_max = 16;
    auto core = std::make_unique<StoreCore>();
    Environment environment;
    environment.clock = &clock;
    if (kind_ == WorldKind::rocks) {
      WQ_TRY_SET(core->io, make_io(IoBackend::thread));
    } else {
      core->io = quiet_io(disk_.mount());
    }
    environment.open_store = [this](const StoreOptions& given) -> Result<std::unique_ptr<Store>> {
      const Quiet quiet;
      auto opened = kind_ == WorldKind::rocks ? open_rocks_store(given) : open_mem_store(content_);
      if (!opened.ok()) return opened;
      return quiet_store(std::move(opened).value());
    };
    environment.io = core->io.get();
    WQ_TRY_SET(core->engine, Engine::open(options, environment));
    store = make_store_handle(std::move(core));
    return {};
  });
}

void World::close() {
  wq_list_free(&list);
  wq_batch_free(&batch);
  wq_cancel_free(&cancel);
  wq_cq_close(&cq);
  wq_queue_close(&a);
  wq_queue_close(&b);
  wq_store_close(&store);
}

std::string World::dump() {
  std::ostringstream out;
  wq_list* names = nullptr;
  out << "queues " << wq_store_queues(store, &names, nullptr) << "\n";
  for (size_t i = 0; i < wq_list_count(names); ++i) {
    wq_bytes name;
    if (wq_list_name(names, i, &name) != WQ_OK) continue;
    wq_queue* queue = nullptr;
    out << "queue " << text_of(name) << " "
        << wq_queue_open(store, name.data, name.len, nullptr, WQ_QUEUE_NO_CREATE, &queue, nullptr);
    dump_queue(out, queue);
    wq_queue_close(&queue);
  }
  wq_list_free(&names);
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  out << "verify " << wq_store_verify(store, &report, nullptr) << " " << report.first_problem
      << "\n";
  return out.str();
}

bool World::poisoned() {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  return wq_store_get_stats(store, &stats, nullptr) == WQ_OK && stats.status == WQ_STORE_POISONED;
}

void World::take_batch() {
  for (size_t i = 0; i < wq_batch_count(batch); ++i) {
    wq_job job = WQ_JOB_INIT;
    if (wq_batch_job(batch, i, &job) == WQ_OK) tokens.push_back({job.id, job.generation});
  }
  wq_batch_free(&batch);
}

}  // namespace wq
