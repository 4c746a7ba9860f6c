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
      << " error=" << short_text(job.last_error) << " payload=" << short_text(job.payload)
      << " flow=" << job.flow << " chain=" << job.chain_count << " group=" << text_of(job.group)
      << " parked=" << job.parked << " tenant=" << text_of(job.tenant)
      << " rate_key=" << text_of(job.rate_key) << " note=" << text_of(job.progress)
      << " sealed=" << job.key_id;
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

void dump_history(std::ostream& out, wq_queue* queue) {
  wq_done_job jobs[8] = {WQ_DONE_JOB_INIT};
  uint64_t cursor = 0;
  size_t count = 0;
  wq_list* results = nullptr;
  wq_history_list(queue, &cursor, jobs, 8, sizeof jobs[0], &count, &results, nullptr);
  for (size_t i = 0; i < count; ++i) {
    out << "  done " << jobs[i].id << " gen=" << jobs[i].generation << " at=" << jobs[i].done_ms
        << " result=" << text_of(jobs[i].result) << "\n";
  }
  wq_list_free(&results);
}

void dump_rows(std::ostream& out, wq_store* store) {
  wq_kv_page* page = nullptr;
  wq_kv_list(store, nullptr, &page, nullptr, nullptr);
  for (size_t i = 0; i < wq_kv_page_count(page); ++i) {
    wq_kv_row row = WQ_KV_ROW_INIT;
    if (wq_kv_page_row(page, i, &row) != WQ_OK) continue;
    out << "row " << text_of(row.key) << "=" << text_of(row.value) << " until=" << row.expires_ms
        << "\n";
  }
  wq_kv_page_free(&page);
}

void dump_flows(std::ostream& out, wq_store* store) {
  wq_flow_status flows[8] = {WQ_FLOW_STATUS_INIT};
  uint64_t cursor = 0;
  size_t count = 0;
  wq_flow_list(store, &cursor, flows, 8, sizeof flows[0], &count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    const wq_flow_status& flow = flows[i];
    out << "flow " << flow.flow << " flags=" << flow.flags << " " << flow.pending << "+"
        << flow.done << "+" << flow.failed << "+" << flow.cancelled << "=" << flow.total
        << " next=" << flow.follow_up_id << "\n";
  }
}

void dump_crons(std::ostream& out, wq_store* store) {
  wq_crons* crons = nullptr;
  wq_cron_list(store, nullptr, nullptr, 0, 8, &crons, nullptr);
  for (size_t i = 0; i < wq_crons_count(crons); ++i) {
    wq_cron cron = WQ_CRON_INIT;
    if (wq_crons_at(crons, i, &cron) != WQ_OK) continue;
    out << "schedule " << text_of(cron.name) << " of " << text_of(cron.queue_name)
        << " flags=" << cron.flags << " next=" << cron.next_due_ms << " last=" << cron.last_slot_ms
        << " fired=" << cron.fired << " missed=" << cron.missed << "\n";
  }
  wq_crons_free(&crons);
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
    {
      const Quiet quiet;  // the keys of a program, which the sweep is not about
      WQ_TRY(core->keyring.add(1, as_bytes(std::string_view("0123456789abcdef0123456789abcdef"))));
      WQ_TRY(core->keyring.make_current(1));
    }
    Environment environment;
    environment.keyring = &core->keyring;
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
  wq_kv_page_free(&page);
  wq_crons_free(&crons);
  wq_batch_free(&batch);
  wq_cancel_free(&cancel);
  wq_cq_close(&cq);
  wq_queue_close(&a);
  wq_queue_close(&b);
  wq_queue_close(&imported);
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
    dump_history(out, queue);
    wq_queue_close(&queue);
  }
  dump_rows(out, store);
  dump_flows(out, store);
  dump_crons(out, store);
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
    if (wq_batch_job(batch, i, &job) != WQ_OK) continue;
    (text_of(job.queue_name) == "b" ? tokens_b : tokens).push_back({job.id, job.generation});
  }
  wq_batch_free(&batch);
}

}  // namespace wq
