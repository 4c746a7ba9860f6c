#include "cli/event_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <vector>

#include "cli/failure.h"
#include "cli/job_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr mode_t event_file_mode = 0644;

std::string_view queue_of(const wq_store_event& event) {
  return {event.queue_name, event.queue_name_len};
}

// "in 5 s", "for 60 s": what the event's time means.
std::string time_text(const wq_store_event& event) {
  if (event.time_ms == 0) return "";
  const bool is_lease = event.kind == WQ_EVENT_LEASED || event.kind == WQ_EVENT_CONFIRMED;
  const char* what = is_lease ? " for " : ", ready in ";
  if (event.kind == WQ_EVENT_KEY_COOLS) what = ", its rate key cools down for ";
  return what + format_duration(event.time_ms - event.at_ms);
}

}  // namespace

void EventReader::read(int64_t wait_ms, const std::function<void(const wq_store_event&)>& visit,
                       const std::function<void(uint64_t)>& lost) {
  constexpr size_t page = 256;
  std::vector<wq_store_event> events(page, wq_store_event WQ_STORE_EVENT_INIT);
  wq_error err = WQ_ERROR_INIT;
  for (;;) {
    size_t count = 0;
    const int32_t code = wq_events_poll(store_, &cursor_, events.data(), page, sizeof events[0],
                                        wait_ms, nullptr, &count, &err);
    if (code == WQ_EMPTY) return;
    check(code, err);
    if (cursor_.dropped > 0) lost(cursor_.dropped);
    for (size_t i = 0; i < count; ++i) visit(events[i]);
    if (count < page) return;
    wait_ms = 0;
  }
}

EventFile::EventFile(const std::string& file)
    : name_(file),
      fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, event_file_mode)) {
  if (fd_ < 0) fail_errno(name_, errno);
}

EventFile::~EventFile() {
  ::close(fd_);
}

void EventFile::write_new() {
  std::string lines;
  reader_->read(
      0, [&](const wq_store_event& event) { lines += to_json(event_record(event)) + "\n"; },
      [&](uint64_t dropped) { lines += to_json(Record().add("dropped", dropped)) + "\n"; });
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(name_, errno);
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

const char* event_name(uint32_t kind) {
  constexpr const char* names[] = {
      "unknown", "queued",         "promoted",      "leased",        "confirmed",  "acked",
      "nacked",  "released",       "expired",       "dead",          "replayed",   "cancelled",
      "cleared", "queue_declared", "queue_changed", "queue_deleted", "checkpoint", "job_expired",
      "dropped", "batch_finished", "key_cools",     "skipped"};
  return names[kind < std::size(names) ? kind : 0];
}

Record event_record(const wq_store_event& event) {
  Record record;
  record.add("sequence", event.sequence)
      .add("lsn", event.lsn)
      .add("at_ms", event.at_ms)
      .add("event", event_name(event.kind));
  if (event.queue_name_len != 0) record.add_bytes("queue", queue_of(event));
  if (event.kind == WQ_EVENT_FLOW_FINISHED) {
    record.add("batch", event.job_id).add("count", event.count);
  } else if (event.job_id != 0) {
    record.add("id", event.job_id)
        .add("generation", event.generation)
        .add("attempt", event.attempt);
  } else if (event.queue_name_len != 0) {
    record.add("count", event.count);
  }
  if (event.time_ms != 0) record.add("time_ms", event.time_ms);
  if (event.dead_reason != 0) record.add("dead_reason", dead_reason_name(event.dead_reason));
  return record;
}

void tell_event(Output& out, const wq_store_event& event) {
  if (out.json()) {
    out.record(event_record(event));
    return;
  }
  std::string line = out.paint(Color::dim, format_time(event.at_ms)) + "  " +
                     out.paint(Color::bold, event_name(event.kind));
  if (event.queue_name_len != 0) line += " " + printable(queue_of(event), 60);
  const bool one_job = event.job_id != 0 && event.kind != WQ_EVENT_FLOW_FINISHED;
  if (event.job_id != 0) line += (one_job ? " job " : " ") + std::to_string(event.job_id);
  if (event.attempt != 0) line += ", attempt " + std::to_string(event.attempt);
  if (!one_job && event.count != 0) line += ", " + plural(event.count, "job");
  if (event.dead_reason != 0) line += std::string(", ") + dead_reason_name(event.dead_reason);
  if (event.kind == WQ_EVENT_CHECKPOINT) line += " up to LSN " + format_count(event.lsn);
  out.line(line + time_text(event));
}

void tell_dropped(Output& out, uint64_t dropped) {
  if (out.json()) {
    out.record(Record().add("dropped", dropped));
  } else {
    out.line("(" + plural(dropped, "event") + " lost: they came faster than they were read)");
  }
}

}  // namespace wq::cli
