// Events of an open store: reading them from where the last read ended, and how one looks. Thread
// model: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/handles.h"
#include "cli/output.h"
#include "cli/record.h"

namespace wq::cli {

constexpr uint32_t events_kept = 1u << 16;

class EventReader {
 public:
  explicit EventReader(const Store& store) : store_(store.get()) {}

  // Waits up to wait_ms for the first; `lost` is told first, if events were overwritten unread.
  void read(int64_t wait_ms, const std::function<void(const wq_store_event&)>& visit,
            const std::function<void(uint64_t)>& lost);

 private:
  wq_store* const store_;
  wq_event_cursor cursor_ = WQ_EVENT_CURSOR_INIT;
};

// A file that the events of a store are appended to, as lines of JSON.
class EventFile {
 public:
  explicit EventFile(const std::string& file);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  void follow(const Store& store) { reader_.emplace(store); }
  // What there is since the last call, once it follows a store.
  void write_new();  // throws a Failure if the file does not take them

 private:
  std::optional<EventReader> reader_;
  const std::string name_;
  const int fd_;
};

const char* event_name(uint32_t kind);  // WQ_EVENT_...
Record event_record(const wq_store_event& event);
void tell_event(Output& out, const wq_store_event& event);
void tell_dropped(Output& out, uint64_t dropped);

}  // namespace wq::cli
