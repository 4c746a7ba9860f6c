// What every command is given: the global options, the output, and ways to open the store and its
// queues that explain what went wrong. Thread model: one thread.
#pragma once

#include <wq.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/handles.h"
#include "cli/output.h"

namespace wq::cli {

struct GlobalOptions {
  std::string store = "wq-store";
  std::string backend = "auto";  // auto, uring, threads
  std::string lock_wait = "0";   // a duration
  std::string key_file;          // empty: no keys
  OutputOptions output;
};

enum class OpenMode { create, must_exist };

struct OpenOptions {
  OpenMode mode = OpenMode::must_exist;
  bool expire_leases = false;
  uint64_t payload_bytes_max = 0;  // 0: the default of wq.h
  uint32_t events_max = 0;
};

class Context {
 public:
  explicit Context(GlobalOptions options) : options_(options), out_(options.output) {}

  Output& out() { return out_; }
  const std::string& store_path() const { return options_.store; }

  // Opens the store of --store. Waits --lock-wait for a holder to leave. Cut or damaged things that
  // recovery met are told on standard error.
  Store open_store(const OpenOptions& open = {});
  // The same without the wait, for callers that have their own: false if it is locked, and then
  // `locked_by` is the line to show.
  bool try_open_store(const OpenOptions& open, Store& store, std::string& locked_by);

  Queue open_queue(const Store& store, std::string_view name, OpenMode mode);

  // Reads the log of the closed store at --store; waits for its lock like open_store. Returns what
  // wq_log_scan does, except that WQ_E_NOT_FOUND and WQ_E_LOCKED are Failures.
  int32_t scan_log(wq_log_visit visit, void* ctx, wq_error& err);

  wq_store_options store_options(const OpenOptions& open) const;

  // From here on commands that this process starts are told, by an environment variable, that it
  // holds the store: a wq among them that wants it would wait for its own end.
  void mark_store_for_commands() const;

 private:
  // Repeats `attempt` while it answers WQ_E_LOCKED, for --lock-wait at most.
  void wait_for_lock(const std::function<int32_t(wq_error&)>& attempt);
  void fail_if_nowhere(const std::filesystem::path& path) const;
  [[noreturn]] void fail_no_store() const;
  [[noreturn]] void fail_to_open(OpenMode mode, int32_t code, const wq_error& err) const;
  bool held_by_our_worker() const;
  std::string locked_text(const wq_error& err) const;
  int32_t open_once(const OpenOptions& open, Store& store, wq_error& err);
  void tell_recovery(const Store& store);

  const GlobalOptions options_;
  Output out_;
};

// A copy of `source` must not be made inside of it (nor inside what a link to it names): it would
// become a part of what it is a copy of. `whole` says what the source is: "the store".
void refuse_inside(const std::string& target, const std::string& source, std::string_view whole);

// Half an import is not a store to be told of as if it were whole.
void refuse_unfinished_import(const Store& store);

// Names of all queues, in byte order.
std::vector<std::string> queue_names(const Store& store);

// "power", "process", "memory", or "" for the default (0).
uint32_t durability_of(std::string_view option, const std::string& name);
const char* durability_name(uint32_t durability);
const char* backend_name(uint32_t io_backend);

}  // namespace wq::cli
