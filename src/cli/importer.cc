// The lines of an export, one after another, into a new store. Lines are checked strictly, and jobs
// go in by bounded groups.
#include "cli/importer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "cli/failure.h"
#include "cli/handles.h"
#include "cli/import_rows.h"
#include "cli/job_draft.h"
#include "cli/job_view.h"
#include "cli/members.h"
#include "cli/strict_json.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr int64_t int64_max = std::numeric_limits<int64_t>::max();
constexpr size_t group_jobs_max = import_group_max;
constexpr size_t group_bytes_max = import_group_bytes_max;

constexpr const char* state_names[] = {"", "ready", "delayed", "leased", "running", "dead"};
constexpr const char* status_names[] = {"active", "paused", "disabled"};
constexpr const char* durability_names[] = {"", "memory", "process", "power"};
constexpr const char* policy_names[] = {"refuse", "drop-oldest"};
constexpr const char* backoff_names[] = {"none", "fixed", "exponential", "list"};
constexpr const char* key_rule_names[] = {"", "until_started", "until_done", "until_gone",
                                          "debounce"};

struct BackoffParts {
  uint32_t kind = 0;
  int64_t base_ms = 0, max_ms = 0;
  std::vector<int64_t> list_ms;
  uint32_t jitter_permille = 0;
};

BackoffParts read_backoff(const std::string& where, const Json& json) {
  Members members(where, json);
  BackoffParts out;
  out.kind = members.one_of("kind", backoff_names);
  if (out.kind == WQ_BACKOFF_FIXED || out.kind == WQ_BACKOFF_EXPONENTIAL) {
    out.base_ms = members.time("base_ms");
  }
  if (out.kind == WQ_BACKOFF_EXPONENTIAL) out.max_ms = members.time("max_ms");
  if (out.kind == WQ_BACKOFF_LIST) {
    const Json& list = members.get("list_ms");
    if (!list.is_array() || list.size() > WQ_BACKOFF_LIST_MAX) {
      fail_field(members.field("list_ms"), "must be an array of at most 32");
    }
    for (const Json& entry : list) {
      out.list_ms.push_back(whole_number(members.field("list_ms"), entry, 0, int64_max));
    }
  }
  if (members.has("jitter_permille")) {
    out.jitter_permille = static_cast<uint32_t>(members.number("jitter_permille", 1'000));
  }
  members.finish();
  return out;
}

std::vector<std::pair<std::string, std::string>> read_headers(const Json& list) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (!list.is_array()) fail_field("headers", "must be an array");
  for (const Json& entry : list) {
    Members header("headers[" + std::to_string(headers.size()) + "]", entry);
    std::string name = header.bytes("name");
    headers.emplace_back(std::move(name), header.bytes("value"));
    header.finish();
  }
  return headers;
}

// A schedule of the file; `record` points into the rest.
struct ImportedCron {
  std::string name, expression, zone, payload;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<wq_header> header_views;
  BackoffParts backoff;
  wq_cron record = WQ_CRON_INIT;
};

std::unique_ptr<ImportedCron> read_schedule(Members& members) {
  auto cron = std::make_unique<ImportedCron>();
  cron->name = text_of("schedule", members.get("schedule"));
  cron->expression = text_of("expression", members.get("expression"));
  cron->zone = text_of("zone", members.get("zone"));
  if (members.has("backoff")) cron->backoff = read_backoff("backoff", members.get("backoff"));
  if (members.has("headers")) cron->headers = read_headers(members.get("headers"));
  cron->payload = members.bytes("payload");
  for (const auto& [name, value] : cron->headers) {
    cron->header_views.push_back({bytes_of(name), bytes_of(value)});
  }
  wq_cron& record = cron->record;
  const Json& paused = members.get("paused");
  if (!paused.is_boolean()) fail_field("paused", "must be true or false");
  record.flags = paused.get<bool>() ? WQ_CRON_PAUSED : 0;
  if (members.has("encrypt") && members.flag("encrypt")) record.flags |= WQ_JOB_ENCRYPT;
  if (members.has("packing")) {
    record.packing = members.small("packing");
    record.plain_bytes = members.small("plain_bytes");
  }
  record.name = bytes_of(cron->name);
  record.expression = bytes_of(cron->expression);
  record.zone = bytes_of(cron->zone);
  record.next_due_ms = members.time("next_due_ms");
  record.last_slot_ms = members.time("last_slot_ms");
  record.created_ms = members.time("created_ms");
  record.fired = members.number("fired");
  record.missed = members.number("missed");
  record.catch_up = members.small("catch_up");
  record.priority = static_cast<uint32_t>(members.number("priority", 255));
  record.max_attempts = members.small("max_attempts");
  record.backoff_jitter_permille = cron->backoff.jitter_permille;
  record.backoff_kind = cron->backoff.kind;
  record.backoff_base_ms = cron->backoff.base_ms;
  record.backoff_max_ms = cron->backoff.max_ms;
  record.backoff_list_ms = cron->backoff.list_ms.data();
  record.backoff_count = static_cast<uint32_t>(cron->backoff.list_ms.size());
  record.payload = bytes_of(cron->payload);
  record.headers = cron->header_views.data();
  record.headers_count = cron->header_views.size();
  members.finish();
  return cron;
}

// Answers how far it is used up.
int64_t read_rate(const Json& json, wq_queue_config& config) {
  Members members("config.rate", json);
  config.rate_count = members.small("count");
  config.rate_window_ms = members.time("window_ms");
  config.rate_burst = members.small("burst");
  const int64_t used_ns = members.time("used_ns");
  members.finish();
  return used_ns;
}

wq_queue_stats read_totals(const Json& json) {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  Members totals("totals", json);
  stats.enqueued_total = totals.number("enqueued");
  stats.leased_total = totals.number("leased");
  stats.acked_total = totals.number("acked");
  stats.nacked_total = totals.number("nacked");
  stats.failed_total = totals.number("failed");
  stats.released_total = totals.number("released");
  stats.expired_total = totals.number("expired");
  stats.dead_total = totals.number("dead");
  stats.replayed_total = totals.number("replayed");
  stats.cancelled_total = totals.number("cancelled");
  stats.cleared_total = totals.number("cleared");
  if (totals.has("jobs_expired")) stats.jobs_expired_total = totals.number("jobs_expired");
  if (totals.has("dropped")) {
    stats.dropped_total = totals.number("dropped");
    stats.dead_dropped_total = totals.number("dead_dropped");
  }
  if (totals.has("chain_cut")) stats.chain_cut_total = totals.number("chain_cut");
  if (totals.has("skipped")) stats.skipped_total = totals.number("skipped");
  totals.finish();
  return stats;
}

void read_key_rate(const Json& json, wq_queue_config& config) {
  Members members("config.key_rate", json);
  config.key_rate_count = members.small("count");
  config.key_rate_window_ms = members.time("window_ms");
  config.key_rate_burst = members.small("burst");
  members.finish();
}

void read_throttle(const Json& json, wq_queue_config& config) {
  Members members("config.throttle", json);
  config.throttle_count = members.small("count");
  config.throttle_window_ms = members.time("window_ms");
  config.throttle_cool_ms = members.time("cool_ms");
  members.finish();
}

// Exports of before there were rates and groups have none. Answers as read_rate().
int64_t read_gates(Members& settings, wq_queue_config& config) {
  config.group_limit = settings.has("group_limit") ? settings.small("group_limit") : 1;
  if (settings.has("key_rate")) read_key_rate(settings.get("key_rate"), config);
  if (settings.has("throttle")) read_throttle(settings.get("throttle"), config);
  return settings.has("rate") ? read_rate(settings.get("rate"), config) : 0;
}

// A job of the file; `record` points into the rest.
struct ImportedJob {
  std::string payload, last_error, progress, key, idempotency_key, chain;
  std::string group, tenant, rate_key;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<wq_header> header_views;
  BackoffParts backoff;
  wq_job_record record = WQ_JOB_RECORD_INIT;

  void point() {
    for (const auto& [name, value] : headers) {
      header_views.push_back({bytes_of(name), bytes_of(value)});
    }
    record.headers = header_views.data();
    record.headers_count = header_views.size();
    record.payload = bytes_of(payload);
    record.last_error = bytes_of(last_error);
    record.progress = bytes_of(progress);
    record.backoff_jitter_permille = backoff.jitter_permille;
    record.key = bytes_of(key);
    record.idempotency_key = bytes_of(idempotency_key);
    record.chain = bytes_of(chain);
    record.group = bytes_of(group);
    record.tenant = bytes_of(tenant);
    record.rate_key = bytes_of(rate_key);
    record.backoff_kind = backoff.kind;
    record.backoff_base_ms = backoff.base_ms;
    record.backoff_max_ms = backoff.max_ms;
    record.backoff_list_ms = backoff.list_ms.data();
    record.backoff_count = static_cast<uint32_t>(backoff.list_ms.size());
  }
};

// An older export has none of these.
void read_limits(Members& members, ImportedJob& job) {
  wq_job_record& record = job.record;
  if (members.has("timeout_ms")) record.timeout_ms = members.time("timeout_ms");
  if (members.has("retry_until_ms")) record.retry_until_ms = members.time("retry_until_ms");
  if (members.has("expires_at_ms")) record.expires_at_ms = members.time("expires_at_ms");
  if (members.has("max_exceptions")) record.max_exceptions = members.small("max_exceptions");
  if (members.has("fail_on_timeout")) {
    const Json& flag = members.get("fail_on_timeout");
    if (!flag.is_boolean()) fail_field("fail_on_timeout", "must be true or false");
    if (flag.get<bool>()) record.flags |= WQ_JOB_FAIL_ON_TIMEOUT;
  }
  if (members.has("encrypt") && members.flag("encrypt")) record.flags |= WQ_JOB_ENCRYPT;
  if (members.has("packing")) {
    record.packing = members.small("packing");
    record.plain_bytes = members.small("plain_bytes");
  }
  if (members.has("progress") || members.has("progress_base64")) {
    job.progress = members.bytes("progress");
  }
}

void read_keys(Members& members, ImportedJob& job) {
  if (members.has("key")) {
    Members key("key", members.get("key"));
    job.key = key.bytes("key");
    job.record.key_rule = key.one_of("rule", key_rule_names);
    job.record.key_ms = key.time("time_ms");
    job.record.key_until_ms = key.time("until_ms");
    key.finish();
  }
  if (members.has("idempotency")) {
    Members key("idempotency", members.get("idempotency"));
    job.idempotency_key = key.bytes("key");
    job.record.idempotency_ms = key.time("window_ms");
    key.finish();
  }
}

void read_job(Members& members, ImportedJob& job) {
  wq_job_record& record = job.record;
  record.id = members.number("job");
  record.state = members.one_of("state", state_names);
  record.generation = members.number("generation");
  record.priority = static_cast<uint32_t>(members.number("priority", 255));
  record.attempts = members.small("attempts");
  record.exceptions = members.small("exceptions");
  record.failures = members.small("failures");
  record.max_attempts = members.small("max_attempts");
  record.replays = members.small("replays");
  record.enqueued_ms = members.time("enqueued_ms");
  record.since_ms = members.time("since_ms");
  record.leased_ms = members.time("leased_ms");
  if (members.has("first_dead_ms")) record.first_dead_ms = members.time("first_dead_ms");
  if (record.state == WQ_STATE_DELAYED) record.due_ms = members.time("due_ms");
  if (record.state == WQ_STATE_DEAD) {
    record.dead_reason = members.one_of("dead_reason", dead_reasons);
  }
  read_limits(members, job);
  if (members.has("backoff")) job.backoff = read_backoff("backoff", members.get("backoff"));
  if (members.has("last_error") || members.has("last_error_base64")) {
    job.last_error = members.bytes("last_error");
  }
  if (members.has("group") || members.has("group_base64")) job.group = members.bytes("group");
  if (members.has("group_limit")) record.group_limit = members.small("group_limit");
  if (members.has("overlap")) record.overlap = members.one_of("overlap", overlap_names);
  if (members.has("overlap_ms")) record.overlap_ms = members.time("overlap_ms");
  if (members.has("tenant") || members.has("tenant_base64")) job.tenant = members.bytes("tenant");
  if (members.has("rate_key") || members.has("rate_key_base64")) {
    job.rate_key = members.bytes("rate_key");
    record.rate_cost = members.small("rate_cost");
  }
  if (members.has("headers")) job.headers = read_headers(members.get("headers"));
  read_keys(members, job);
  if (members.has("batch")) record.flow = members.number("batch");
  if (members.has("chain_base64")) job.chain = members.bytes("chain");
  job.payload = members.bytes("payload");
  members.finish();
  job.point();
}

// Members that exports of earlier builds do not have.
void read_limits(Members& settings, wq_queue_config& config) {
  if (!settings.has("max_depth")) return;
  config.consumers_paused = settings.flag("consumers_paused");
  config.max_depth = settings.number("max_depth");
  config.max_bytes = settings.number("max_bytes");
  config.full_policy = settings.one_of("full_policy", policy_names);
  config.dead_max_count = settings.number("dead_max_count");
  config.dead_max_age_ms = settings.time("dead_max_age_ms");
  if (!settings.has("encrypt")) return;
  config.encrypt = settings.flag("encrypt");
  config.compress_min_bytes = settings.small("compress_min_bytes");
}

}  // namespace

class Importer::State {
 public:
  State(wq_store* store, const ImportHead& head)
      : store_(store), expected_(head), rows_beside_(store) {
    wq_store_record record = WQ_STORE_RECORD_INIT;
    record.next_job_id = head.next_job_id;
    record.next_generation = head.next_generation;
    wq_error err = WQ_ERROR_INIT;
    check(wq_import_begin(store_, &record, &err), err);
  }

  void line(std::string_view text) {
    const Json json = parse_strict(text);
    Members members("", json);
    if (members.has("job")) return job(members);
    if (members.has("config")) return queue(members);
    if (members.has("kv") || members.has("kv_base64")) return row(members);
    if (rows_beside_.take(members, [this](const std::string& name) { return queue_of(name); })) {
      return;
    }
    fail_field("the line", "is of no kind that an export has");
  }
  void finish() {
    flush();
    const uint64_t flows = rows_beside_.flows();
    const uint64_t beside = rows_beside_.rows();
    if (queues_.size() != expected_.queues || jobs_ != expected_.jobs ||
        rows_ != expected_.kv_rows || flows != expected_.flows || beside != expected_.rows) {
      fail_usage("the input is not whole: " + plural(queues_.size(), "queue") + " of " +
                 format_count(expected_.queues) + ", " + plural(jobs_, "job") + " of " +
                 format_count(expected_.jobs) + ", " + plural(rows_, "kv row") + " of " +
                 format_count(expected_.kv_rows) + ", " + plural(flows, "batch", "batches") +
                 " of " + format_count(expected_.flows) + ", " + plural(beside, "other row") +
                 " of " + format_count(expected_.rows));
    }
    wq_error err = WQ_ERROR_INIT;
    check(wq_import_end(store_, &err), err);
  }
  uint64_t jobs() const { return jobs_; }
  size_t queues() const { return queues_.size(); }

 private:
  void queue(Members& members) {
    const std::string name = text_of("queue", members.get("queue"));
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    Members settings("config", members.get("config"));
    config.status = settings.one_of("status", status_names);
    config.max_running = settings.small("max_running");
    config.max_retries = settings.small("max_retries");
    config.lease_ms = settings.time("lease_ms");
    config.durability = settings.one_of("durability", durability_names);
    config.version = settings.number("version");
    read_limits(settings, config);
    const BackoffParts backoff = read_backoff("config.backoff", settings.get("backoff"));
    if (settings.has("job_ttl_ms")) config.job_ttl_ms = settings.time("job_ttl_ms");
    if (settings.has("keep_done_count")) config.keep_done_count = settings.small("keep_done_count");
    if (settings.has("keep_done_age_ms")) {
      config.keep_done_age_ms = settings.time("keep_done_age_ms");
    }
    const int64_t rate_used_ns = read_gates(settings, config);
    settings.finish();
    config.backoff_jitter_permille = backoff.jitter_permille;
    config.backoff_kind = backoff.kind;
    config.backoff_base_ms = backoff.base_ms;
    config.backoff_max_ms = backoff.max_ms;
    config.backoff_count = static_cast<uint32_t>(backoff.list_ms.size());
    std::copy(backoff.list_ms.begin(), backoff.list_ms.end(), config.backoff_list_ms);
    const wq_queue_stats stats = read_totals(members.get("totals"));
    wq_queue_record record = WQ_QUEUE_RECORD_INIT;
    record.name = bytes_of(name);
    record.created_ms = members.time("created_ms");
    record.config = &config;
    record.rate_used_ns = rate_used_ns;
    record.stats = &stats;
    std::vector<std::unique_ptr<ImportedCron>> schedules;
    std::vector<wq_cron> crons;
    if (members.has("schedules")) {
      const Json& list = members.get("schedules");
      if (!list.is_array()) fail_field("schedules", "must be an array");
      for (const Json& entry : list) {
        Members one("schedules[" + std::to_string(schedules.size()) + "]", entry);
        schedules.push_back(read_schedule(one));
        crons.push_back(schedules.back()->record);
      }
    }
    record.schedules = crons.data();
    record.schedules_count = crons.size();
    members.finish();
    wq_error err = WQ_ERROR_INIT;
    check(wq_import_queue(store_, &record, queues_[name].out(), &err), err);
  }

  void row(Members& members) {
    if (row_group_.size() >= group_jobs_max || group_bytes_ >= group_bytes_max) flush();
    KvLine& line = row_group_.emplace_back();
    line.key = members.bytes("kv");
    line.value = members.bytes("value");
    line.expires_ms = members.time("expires_ms");
    members.finish();
    group_bytes_ += line.value.size();
    ++rows_;
  }

  void job(Members& members) {
    wq_queue* const queue = queue_of(text_of("queue", members.get("queue")));
    if (queue != group_queue_ || group_.size() >= group_jobs_max ||
        group_bytes_ >= group_bytes_max) {
      flush();
    }
    group_queue_ = queue;
    auto job = std::make_unique<ImportedJob>();
    read_job(members, *job);
    group_bytes_ += job->payload.size() + job->chain.size();
    group_.push_back(std::move(job));
    ++jobs_;
  }

  wq_queue* queue_of(const std::string& name) const {
    const auto found = queues_.find(name);
    if (found == queues_.end()) fail_field("queue", "'" + printable(name, 60) + "' is not known");
    return found->second.get();
  }

  void flush() {
    flush_rows();
    rows_beside_.flush();  // they come before the jobs
    if (group_.empty()) return;
    std::vector<wq_job_record> records;
    for (const auto& job : group_) records.push_back(job->record);
    wq_error err = WQ_ERROR_INIT;
    check(wq_import_jobs(group_queue_, records.data(), records.size(), sizeof records[0], &err),
          err);
    group_.clear();
    group_bytes_ = 0;
  }

  void flush_rows() {
    if (row_group_.empty()) return;
    std::vector<wq_kv_record> records;
    for (const KvLine& line : row_group_) {
      wq_kv_record record = WQ_KV_RECORD_INIT;
      record.expires_ms = line.expires_ms;
      record.key = bytes_of(line.key);
      record.value = bytes_of(line.value);
      records.push_back(record);
    }
    wq_error err = WQ_ERROR_INIT;
    check(wq_import_kv(store_, records.data(), records.size(), sizeof records[0], &err), err);
    row_group_.clear();
    group_bytes_ = 0;
  }

  struct KvLine {
    std::string key, value;
    int64_t expires_ms = 0;
  };

  wq_store* const store_;
  const ImportHead expected_;
  uint64_t jobs_ = 0, rows_ = 0;
  RowImporter rows_beside_;
  std::vector<KvLine> row_group_;
  std::map<std::string, Queue> queues_;
  wq_queue* group_queue_ = nullptr;
  std::vector<std::unique_ptr<ImportedJob>> group_;  // records point into them
  size_t group_bytes_ = 0;
};

ImportHead read_import_head(std::string_view line) {
  // As wq_import_begin takes them.
  constexpr int64_t next_max = int64_t{1} << 62;
  const Json json = parse_strict(line);
  Members members("", json);
  const auto next = [&](const char* name) {
    return static_cast<uint64_t>(whole_number(name, members.get(name), 1, next_max));
  };
  if (!members.has("wq_export")) fail_field("the line", "is not the head of an export");
  if (members.number("wq_export") != 1) {
    fail_field("wq_export", "is a form that this version does not know");
  }
  members.number("lsn");
  ImportHead head;
  head.next_job_id = next("next_job_id");
  head.next_generation = next("next_generation");
  head.queues = members.number("queues");
  head.jobs = members.number("jobs");
  if (members.has("kv_rows")) head.kv_rows = members.number("kv_rows");
  if (members.has("batches")) head.flows = members.number("batches");
  if (members.has("rows")) head.rows = members.number("rows");
  members.finish();
  return head;
}

Importer::Importer(wq_store* store, const ImportHead& head)
    : state_(std::make_unique<State>(store, head)) {}
Importer::~Importer() = default;
void Importer::line(std::string_view text) {
  state_->line(text);
}
void Importer::finish() {
  state_->finish();
}
uint64_t Importer::jobs() const {
  return state_->jobs();
}
size_t Importer::queues() const {
  return state_->queues();
}

}  // namespace wq::cli
