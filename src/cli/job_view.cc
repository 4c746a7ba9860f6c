#include "cli/job_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t payload_preview_columns = 400;
constexpr mode_t payload_file_mode = 0644;

std::string time_and_age(int64_t time_ms) {
  if (time_ms == 0) return "-";
  const int64_t age_ms = wall_clock_ms() - time_ms;
  const std::string age =
      age_ms >= 0 ? format_duration(age_ms) + " ago" : "in " + format_duration(-age_ms);
  return format_time(time_ms) + " (" + age + ")";
}

std::string header_lines(const Batch& batch, size_t i, uint32_t count) {
  std::string text;
  for (size_t h = 0; h < count; ++h) {
    wq_header header{};
    if (wq_batch_header(batch.get(), i, h, &header) != WQ_OK) break;
    if (!text.empty()) text += ", ";
    text += printable(view_of(header.name), 60) + "=" + printable(view_of(header.value), 60);
  }
  return text;
}

void add_limits(Card& card, const wq_job& job) {
  if (job.timeout_ms != 0) {
    const bool last = (job.flags & WQ_JOB_FAIL_ON_TIMEOUT) != 0;
    card.add("  timeout",
             format_exact_duration(job.timeout_ms) + (last ? ", the last attempt" : ""));
  } else if (job.flags & WQ_JOB_FAIL_ON_TIMEOUT) {
    card.add("  timeout", "with the lease, the last attempt");
  }
  if (job.retry_until_ms != 0) card.add("  retry until", time_and_age(job.retry_until_ms));
  if (job.max_exceptions != 0) {
    card.add("  exceptions",
             format_count(job.exceptions) + " of " + format_count(job.max_exceptions));
  }
  if (job.expires_at_ms != 0) card.add("  expires", time_and_age(job.expires_at_ms));
}

}  // namespace

wq_job job_at(const Batch& batch, size_t i) {
  wq_job job = WQ_JOB_INIT;
  const int32_t code = wq_batch_job(batch.get(), i, &job);
  if (code != WQ_OK) throw Failure{exit_other, code, wq_strerror(code)};
  return job;
}

const char* state_name(uint32_t state) {
  constexpr std::array<const char*, 6> names = {"unknown", "ready",   "delayed",
                                                "leased",  "running", "dead"};
  return names[state < names.size() ? state : 0];
}

const char* dead_reason_name(uint32_t reason) {
  return reason < std::size(dead_reasons) ? dead_reasons[reason] : "unknown";
}

uint32_t dead_reason_of(std::string_view option, const std::string& name) {
  for (uint32_t reason = 0; reason < std::size(dead_reasons); ++reason) {
    if (name == dead_reasons[reason]) return reason;
  }
  std::string known;
  for (size_t i = 1; i < std::size(dead_reasons); ++i) {
    known += (i > 1 ? ", " : "") + std::string(dead_reasons[i]);
  }
  fail_usage(std::string(option) + ": '" + name + "' is none of " + known);
}

bool is_last_attempt(const wq_job& job, bool is_exception) {
  const bool last_exception =
      is_exception && job.max_exceptions != 0 && job.exceptions + 1 >= job.max_exceptions;
  const bool too_late = job.retry_until_ms != 0 && wall_clock_ms() >= job.retry_until_ms;
  return job.attempts >= job.max_attempts || last_exception || too_late;
}

List headers_record(const Batch& batch, size_t i) {
  List list;
  const wq_job job = job_at(batch, i);
  for (size_t h = 0; h < job.headers_count; ++h) {
    wq_header header{};
    const int32_t code = wq_batch_header(batch.get(), i, h, &header);
    if (code != WQ_OK) throw Failure{exit_other, code, wq_strerror(code)};
    Record record;
    record.add_bytes("name", view_of(header.name)).add_bytes("value", view_of(header.value));
    list.emplace_back(std::move(record));
  }
  return list;
}

Record job_record(const Batch& batch, size_t i) {
  const wq_job job = job_at(batch, i);
  Record record;
  record.add("id", job.id)
      .add("generation", job.generation)
      .add("token", token_text(job.id, job.generation));
  record.add_bytes("queue", view_of(job.queue_name));
  record.add("state", state_name(job.state))
      .add("priority", job.priority)
      .add("attempts", job.attempts)
      .add("max_attempts", job.max_attempts)
      .add("exceptions", job.exceptions)
      .add("replays", job.replays)
      .add("enqueued_ms", job.enqueued_ms)
      .add("ready_ms", job.ready_ms)
      .add("leased_ms", job.leased_ms)
      .add("deadline_ms", job.deadline_ms)
      .add("first_dead_ms", job.first_dead_ms);
  if (job.group.len > 0) {
    record.add_bytes("group", view_of(job.group));
    record.add("parked", job.parked != 0);
  }
  if (job.tenant.len > 0) record.add_bytes("tenant", view_of(job.tenant));
  if (job.rate_key.len > 0) {
    record.add_bytes("rate_key", view_of(job.rate_key))
        .add("rate_cost", job.rate_cost)
        .add("parked", job.parked != 0);
  }
  if (job.state == WQ_STATE_DEAD) {
    record.add("dead_ms", job.dead_ms).add("dead_reason", dead_reason_name(job.dead_reason));
  }
  if (job.timeout_ms != 0) record.add("timeout_ms", job.timeout_ms);
  if (job.flags & WQ_JOB_FAIL_ON_TIMEOUT) record.add("fail_on_timeout", true);
  if (job.retry_until_ms != 0) record.add("retry_until_ms", job.retry_until_ms);
  if (job.max_exceptions != 0) record.add("max_exceptions", job.max_exceptions);
  if (job.expires_at_ms != 0) record.add("expires_at_ms", job.expires_at_ms);
  if (job.flow != 0) record.add("batch", job.flow).add("batch_cancelled", job.flow_cancelled != 0);
  if (job.chain_count != 0) record.add("chain_jobs", job.chain_count);
  if (job.last_error.len > 0) record.add_bytes("last_error", view_of(job.last_error));
  if (job.progress.len > 0) record.add_bytes("progress", view_of(job.progress));
  record.add("headers", headers_record(batch, i));
  if (job.key_id != 0) record.add("key", job.key_id);
  if (job.payload_code != WQ_OK) record.add("payload_error", wq_error_name(job.payload_code));
  record.add_bytes("payload", view_of(job.payload));
  return record;
}

void print_job(Output& out, const Batch& batch, size_t i) {
  const wq_job job = job_at(batch, i);
  out.line(out.paint(Color::bold, "job " + std::to_string(job.id)) + " of queue " +
           printable(view_of(job.queue_name), 60) + ": " + state_name(job.state));
  Card card;
  if (job.generation != 0) card.add("  token", token_text(job.id, job.generation));
  card.add("  attempts", std::to_string(job.attempts) + " of " + std::to_string(job.max_attempts) +
                             ", " + format_count(job.exceptions) + " failed");
  card.add("  priority", std::to_string(job.priority));
  if (job.replays > 0) card.add("  replays", std::to_string(job.replays));
  if (job.group.len > 0) {
    card.add("  group", printable(view_of(job.group), 60) +
                            (job.parked != 0 ? ", waits for others of it" : ""));
  }
  if (job.tenant.len > 0) card.add("  tenant", printable(view_of(job.tenant), 60));
  if (job.rate_key.len > 0) {
    card.add("  rate key", printable(view_of(job.rate_key), 60) + ", cost " +
                               format_count(job.rate_cost) +
                               (job.parked != 0 ? ", parked: used up or cooling down" : ""));
  }
  if (job.flow != 0) {
    card.add("  batch", std::to_string(job.flow) + (job.flow_cancelled != 0 ? ", cancelled" : ""));
  }
  if (job.chain_count != 0) card.add("  chain", plural(job.chain_count, "job") + " after it");
  card.add("  enqueued", time_and_age(job.enqueued_ms));
  if (job.ready_ms != 0) card.add("  ready", time_and_age(job.ready_ms));
  if (job.leased_ms != 0) card.add("  leased", time_and_age(job.leased_ms));
  if (job.deadline_ms != 0) card.add("  deadline", time_and_age(job.deadline_ms));
  if (job.state == WQ_STATE_DEAD) {
    card.add("  died", time_and_age(job.dead_ms) + ", " + dead_reason_name(job.dead_reason));
  }
  add_limits(card, job);
  if (job.progress.len > 0) {
    card.add("  progress", printable(view_of(job.progress), payload_preview_columns));
  }
  const bool died_before = job.first_dead_ms != 0 && job.first_dead_ms != job.dead_ms;
  if (died_before) card.add("  first died", time_and_age(job.first_dead_ms));
  if (job.last_error.len > 0) {
    card.add("  last error", printable(view_of(job.last_error), payload_preview_columns));
  }
  if (job.headers_count > 0) card.add("  headers", header_lines(batch, i, job.headers_count));
  card.add("  payload", job.payload_code == WQ_OK ? format_bytes(job.payload.len) : "unreadable");
  if (job.key_id != 0) card.add("  sealed with", "key " + std::to_string(job.key_id));
  card.print(out);
  if (job.payload.len > 0) {
    out.line("  " + printable(view_of(job.payload), payload_preview_columns));
  }
}

void write_payload(Output& out, const std::string& file, const wq_job& job) {
  if (job.payload_code != WQ_OK) {
    throw Failure{exit_code_of(job.payload_code), job.payload_code,
                  "the payload of job " + std::to_string(job.id) +
                      " does not open: " + wq_strerror(job.payload_code)};
  }
  std::string_view payload = view_of(job.payload);
  if (file == "-") {
    out.raw(payload);
    return;
  }
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, payload_file_mode);
  if (fd < 0) fail_errno(file, errno);
  while (!payload.empty()) {
    const ssize_t count = ::write(fd, payload.data(), payload.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int os_errno = errno;
      ::close(fd);
      fail_errno(file, os_errno);
    }
    payload.remove_prefix(static_cast<size_t>(count));
  }
  if (::close(fd) != 0) fail_errno(file, errno);
}

std::string no_such_job(uint64_t id) {
  return "there is no job " + std::to_string(id) +
         ": it ended, was removed, or never was in this store";
}

Record outcome_record(const Outcome& outcome) {
  Record record;
  record.add("id", outcome.id);
  if (outcome.generation) record.add("token", token_text(outcome.id, *outcome.generation));
  record.add("outcome", outcome.outcome);
  if (!outcome.message.empty()) record.add_bytes("message", outcome.message);
  return record;
}

void tell_outcome(Output& out, const Outcome& outcome) {
  if (out.json()) {
    out.record(outcome_record(outcome));
  } else if (!outcome.message.empty()) {
    const std::string name = outcome.generation ? token_text(outcome.id, *outcome.generation)
                                                : std::to_string(outcome.id);
    const std::string prefix = outcome.names_job ? "" : name + ": ";
    out.error_bytes("wq: " + prefix + outcome.message + "\n");
  }
}

bool find_job(Context& context, const Store& store, const std::string& name, uint64_t id,
              Queue& queue, Batch& batch) {
  const std::vector<std::string> names =
      name.empty() ? queue_names(store) : std::vector<std::string>{name};
  for (const std::string& candidate : names) {
    wq_error err = WQ_ERROR_INIT;
    queue = context.open_queue(store, candidate, OpenMode::must_exist);
    const int32_t code = wq_job_get(queue.get(), id, batch.out(), &err);
    if (code == WQ_OK) return true;
    if (code != WQ_E_NOT_FOUND) check(code, err);
  }
  return false;
}

}  // namespace wq::cli
