#include "cli/context.h"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/failure.h"
#include "cli/key_file.h"
#include "cli/progress.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr int lock_retry_ms = 50;

// The command line of a process, arguments separated by blanks; empty if it is not to be had.
std::string command_line_of(uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& byte : text) {
    if (byte == '\0') byte = ' ';
  }
  return printable(text, 240);
}

// A line of wq.h about a locked store, with the command line of the process that holds it. The line
// says "process PID"; the number is read out of it for display only.
std::string locked_message(const std::string& message) {
  constexpr std::string_view mark = "process ";
  const size_t at = message.find(mark);
  if (at == message.npos) return message;
  const uint64_t pid = std::strtoull(message.c_str() + at + mark.size(), nullptr, 10);
  const std::string command = pid == 0 ? "" : command_line_of(pid);
  if (command.empty()) return message;
  return message + " (it runs: " + command + ")";
}

constexpr const char* worker_variable = "WQ_WORKER_STORE";

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const auto canonical = std::filesystem::weakly_canonical(absolute, error);
  return error ? path : canonical.string();
}

// "nobody (uid 65534)"
std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return std::string(entry != nullptr ? entry->pw_name : "?") + " (uid " +
         std::to_string(::geteuid()) + ")";
}

}  // namespace

void Context::mark_store_for_commands() const {
  ::setenv(worker_variable, absolute_path(options_.store).c_str(), 1);
}

bool Context::held_by_our_worker() const {
  const char* const held = std::getenv(worker_variable);
  return held != nullptr && absolute_path(options_.store) == held;
}

std::string Context::locked_text(const wq_error& err) const {
  const std::string message = locked_message(message_of(WQ_E_LOCKED, err));
  if (!held_by_our_worker()) return message;
  return message +
         ": the wq work that started this command. It holds the store until it ends, so waiting "
         "does not help: write new jobs to standard output and push them afterwards, or use "
         "another store";
}

wq_store_options Context::store_options(const OpenOptions& open) const {
  wq_store_options store_options = WQ_STORE_OPTIONS_INIT;
  if (open.mode == OpenMode::must_exist) store_options.flags |= WQ_OPEN_NO_CREATE;
  if (open.expire_leases) store_options.flags |= WQ_OPEN_EXPIRE_LEASES;
  if (options_.backend == "uring") store_options.io_backend = WQ_IO_URING;
  if (options_.backend.starts_with("thread")) store_options.io_backend = WQ_IO_THREADS;
  store_options.payload_bytes_max = open.payload_bytes_max;
  store_options.events_max = open.events_max;
  return store_options;
}

// A removed directory stays the working directory of those who are in it, but nothing can be made
// or found in it.
void Context::fail_if_nowhere(const std::filesystem::path& path) const {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (path.is_absolute() || !here.empty()) return;
  throw Failure{exit_not_found, WQ_E_NOT_FOUND,
                "the store is named '" + options_.store +
                    "', from the working directory on, which can not be found: " + error.message() +
                    "; change to another one, or give the whole path"};
}

void Context::fail_no_store() const {
  throw Failure{exit_not_found, WQ_E_NOT_FOUND,
                "there is no store at '" + options_.store +
                    "'; name one with --store DIR or WQ_STORE, or make one with wq push"};
}

// What the library says is true of any program; here it is said in the words of this one.
void Context::fail_to_open(OpenMode mode, int32_t code, const wq_error& err) const {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = options_.store;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    fail(exit_usage, "'" + options_.store + "' is a file; a store is a directory");
  }
  if (code == WQ_E_NOT_FOUND) {
    fail_if_nowhere(path);
    const fs::path parent = fs::absolute(path, error).lexically_normal().parent_path();
    if (mode == OpenMode::must_exist) fail_no_store();
    if (!fs::exists(parent, error)) {
      throw Failure{exit_not_found, code,
                    "can not make the store '" + options_.store + "': there is no directory '" +
                        parent.string() + "'; make it first"};
    }
  }
  std::string message = message_of(code, err);
  if (err.os_errno == EACCES || err.os_errno == EPERM || err.os_errno == EROFS) {
    message +=
        "; every command writes to the store, stat too, and this one runs as user " + user_name();
  }
  throw Failure{exit_code_of(code), code, std::move(message)};
}

int32_t Context::open_once(const OpenOptions& open, Store& store, wq_error& err) {
  wq_store_options store_options = this->store_options(open);
  const KeyFile keys(options_.key_file);
  keys.give(store_options);
  const int32_t code = wq_store_open(options_.store.c_str(), &store_options, store.out(), &err);
  if (code != WQ_OK && code != WQ_E_LOCKED) fail_to_open(open.mode, code, err);
  if (code == WQ_OK) tell_recovery(store);
  return code;
}

bool Context::try_open_store(const OpenOptions& open, Store& store, std::string& locked_by) {
  wq_error err = WQ_ERROR_INIT;
  if (open_once(open, store, err) == WQ_OK) return true;
  locked_by = locked_text(err);
  return false;
}

void Context::wait_for_lock(const std::function<int32_t(wq_error&)>& attempt) {
  const int64_t wait_ms = parse_duration_ms("--lock-wait", options_.lock_wait, true);
  const Stopwatch watch;
  wq_error err = WQ_ERROR_INIT;
  while (attempt(err) == WQ_E_LOCKED) {
    const bool waited = wait_ms >= 0 && watch.ms() >= wait_ms;
    if (waited || held_by_our_worker()) {
      std::string message = locked_text(err);
      if (!held_by_our_worker()) {
        message += wait_ms == 0 ? "; --lock-wait 30s waits for it"
                                : "; waited " + format_exact_duration(wait_ms);
      }
      throw Failure{exit_locked, WQ_E_LOCKED, std::move(message)};
    }
    ::poll(nullptr, 0, lock_retry_ms);
  }
}

Store Context::open_store(const OpenOptions& open) {
  Store store;
  wait_for_lock([&](wq_error& err) { return open_once(open, store, err); });
  return store;
}

int32_t Context::scan_log(wq_log_visit visit, void* ctx, wq_error& err) {
  int32_t code = WQ_OK;
  wait_for_lock([&](wq_error& scan_err) {
    code = wq_log_scan(options_.store.c_str(), visit, ctx, &scan_err);
    err = scan_err;
    return code;
  });
  if (code == WQ_E_CORRUPT || code == WQ_OK || code == WQ_CANCELLED) return code;
  fail_to_open(OpenMode::must_exist, code, err);
}

void Context::tell_recovery(const Store& store) {
  wq_error err = WQ_ERROR_INIT;
  wq_recovery recovery = WQ_RECOVERY_INIT;
  check(wq_store_get_recovery(store.get(), &recovery, &err), err);
  if (recovery.truncated_bytes > 0) {
    out_.warning("the log ended in an unfinished record; " +
                 std::to_string(recovery.truncated_bytes) +
                 " bytes were cut: " + recovery.truncated_where);
  }
}

Queue Context::open_queue(const Store& store, std::string_view name, OpenMode mode) {
  Queue queue;
  wq_error err = WQ_ERROR_INIT;
  const uint32_t flags = mode == OpenMode::must_exist ? WQ_QUEUE_NO_CREATE : 0;
  const int32_t code =
      wq_queue_open(store.get(), name.data(), name.size(), nullptr, flags, queue.out(), &err);
  if (code == WQ_E_NOT_FOUND) {
    throw Failure{exit_not_found, code,
                  "there is no queue '" + printable(name, 60) + "' in '" + options_.store +
                      "'; wq ls shows what is there"};
  }
  check(code, err);
  return queue;
}

void refuse_inside(const std::string& target, const std::string& source, std::string_view whole) {
  namespace fs = std::filesystem;
  const auto parts_of = [](const std::string& path) {
    std::vector<fs::path> parts;
    for (const fs::path& part : fs::path(absolute_path(path))) {
      if (!part.empty()) parts.push_back(part);  // behind a slash at the end
    }
    return parts;
  };
  const std::vector<fs::path> outer = parts_of(source), inner = parts_of(target);
  if (inner.size() < outer.size() || !std::equal(outer.begin(), outer.end(), inner.begin())) return;
  fail(exit_usage, "'" + printable(target) + "' is inside " + std::string(whole) + " '" +
                       printable(source) + "'; name a place outside of it");
}

// A read of any row is refused then, also where there is no queue yet.
void refuse_unfinished_import(const Store& store) {
  wq_kv_page* page = nullptr;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_kv_get(store.get(), "wq", 2, &page, &err);
  wq_kv_page_free(&page);
  if (code != WQ_EMPTY) check(code, err);
}

std::vector<std::string> queue_names(const Store& store) {
  wq_error err = WQ_ERROR_INIT;
  NameList list;
  check(wq_store_queues(store.get(), list.out(), &err), err);
  std::vector<std::string> names;
  for (size_t i = 0; i < wq_list_count(list.get()); ++i) {
    wq_bytes name{};
    check(wq_list_name(list.get(), i, &name), err);
    names.emplace_back(view_of(name));
  }
  return names;
}

uint32_t durability_of(std::string_view option, const std::string& name) {
  if (name.empty()) return 0;
  if (name == "power") return WQ_POWER;
  if (name == "process") return WQ_PROCESS;
  if (name == "memory") return WQ_MEMORY;
  fail_usage(std::string(option) + ": '" + name + "' is none of power, process, memory");
}

const char* durability_name(uint32_t durability) {
  switch (durability) {
    case WQ_MEMORY:
      return "memory";
    case WQ_PROCESS:
      return "process";
    case WQ_POWER:
      return "power";
    default:
      return "default";
  }
}

const char* backend_name(uint32_t io_backend) {
  switch (io_backend) {
    case WQ_IO_URING:
      return "io_uring";
    case WQ_IO_THREADS:
      return "threads";
    default:
      return "unknown";
  }
}

}  // namespace wq::cli
