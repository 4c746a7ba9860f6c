// Stores: open, close, shutdown, and the calls that drive or wait for the log.
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/planted.h"
#include "capi/capi_internal.h"
#include "capi/store_path.h"

namespace wq {
namespace {

// The oldest header whose programs this library serves.
constexpr uint32_t oldest_abi_version = 0u << 16 | 1u;

Status check_abi(uint32_t abi_version) {
  if (abi_version >= oldest_abi_version && abi_version <= WQ_ABI_VERSION) return {};
  return Status(Code::version, "the program was built with wq.h " +
                                   std::to_string(abi_version >> 16) + "." +
                                   std::to_string(abi_version & 0xffff) + ", the library is " +
                                   wq_version_string());
}

Result<IoBackend> read_backend(uint32_t io_backend) {
  switch (io_backend) {
    case WQ_IO_AUTO:
      return IoBackend::automatic;
    case WQ_IO_URING:
      return IoBackend::uring;
    case WQ_IO_THREADS:
      return IoBackend::thread;
    default:
      return Status(Code::unsupported, "io_backend is not known to this library");
  }
}

template <typename T>
void set_if_given(T& field, T given) {
  if (given != 0) field = given;
}

// Before anything is touched: a refused open leaves no trace. Zero takes the default everywhere.
Status check_options(const wq_store_options& in) {
  constexpr uint32_t known = WQ_OPEN_NO_CREATE | WQ_OPEN_EXPIRE_LEASES | WQ_OPEN_NO_THREADS;
  if (in.flags & ~known) return unknown_bits("options.flags", in.flags & ~known);
  constexpr uint64_t kib = 1024;
  constexpr uint64_t mib = 1024 * kib;
  constexpr uint64_t segment_step_bytes = 4 * kib;
  if (in.spare_segments > 64) return invalid_field("spare_segments", "is more than 64");
  if (in.memory_budget_bytes != 0 && in.memory_budget_bytes < mib) {
    return invalid_field("memory_budget_bytes", "is less than 1 MiB");
  }
  if (in.payload_bytes_max > payload_bytes_absolute_max) {
    return invalid_field("payload_bytes_max", "is more than 256 MiB");
  }
  if (in.segment_bytes != 0 && (in.segment_bytes < 16 * kib || in.segment_bytes > 1024 * mib ||
                                in.segment_bytes % segment_step_bytes != 0)) {
    return invalid_field("segment_bytes", "is not a multiple of 4096 within 16 KiB and 1 GiB");
  }
  if (in.events_max > 1u << 24) return invalid_field("events_max", "is more than 2^24");
  if (in.reserved_0 != 0) return unknown_bits("options.reserved_0", in.reserved_0);
  constexpr int64_t hour_ms = 3'600'000;
  if (in.memory_window_ms < 0 || in.memory_window_ms > hour_ms) {
    return invalid_field("memory_window_ms", "is not within 0 and an hour");
  }
  return {};
}

void read_options(const wq_store_options& in, EngineOptions& out) {
  out.create = !(in.flags & WQ_OPEN_NO_CREATE);
  out.expire_leases = in.flags & WQ_OPEN_EXPIRE_LEASES;
  out.threads = !(in.flags & WQ_OPEN_NO_THREADS);
  set_if_given(out.memory_budget_bytes, in.memory_budget_bytes);
  set_if_given(out.payload_bytes_max, in.payload_bytes_max);
  set_if_given(out.segment_bytes, in.segment_bytes);
  set_if_given(out.spare_segments, in.spare_segments);
  set_if_given(out.checkpoint_log_bytes, in.checkpoint_log_bytes);
  set_if_given(out.disk_reserve_bytes, in.disk_reserve_bytes);
  set_if_given(out.memory_window_ms, in.memory_window_ms);
  out.events_max = in.events_max;
  out.quota_bytes = in.quota_bytes;
}

// RocksDB's background threads and timer belong to the process and do not come along in a fork, but
// their locks and queues do: a store in the child would wait for them for ever.
Status check_process() {
  static std::atomic<pid_t> user{0};
  pid_t first = 0;
  if (WQ_PLANTED(open_after_fork_taken)) return {};
  if (user.compare_exchange_strong(first, ::getpid()) || first == ::getpid()) return {};
  return Status(Code::forked, "this process was forked from process " + std::to_string(first) +
                                  ", which had a store open before; open stores after the fork "
                                  "only, or exec a program in the child");
}

// Of the directory, or of the one that it will be made in; of a large disk where neither can be
// asked, as the open will tell what is wrong.
uint64_t capacity_around(Io& io, const std::string& directory) {
  Result<uint64_t> capacity = io.capacity_bytes(directory);
  const size_t name_at = directory.find_last_of('/');
  if (!capacity.ok() && name_at != directory.npos) {
    capacity = io.capacity_bytes(directory.substr(0, name_at + 1));
  }
  return capacity.ok() && capacity.value() != 0 ? capacity.value() : UINT64_MAX;
}

Status open_store(const char* path, const wq_store_options* options, uint32_t abi_version,
                  wq_store** store) {
  if (!store) return invalid_field("store", "is NULL");
  WQ_TRY(check_abi(abi_version));
  std::string directory;
  WQ_TRY(read_lasting_path(path, directory));
  SizedIn<wq_store_options> in;
  WQ_TRY(in.read(options, "options"));
  WQ_TRY(check_options(*in));
  WQ_TRY_SET(const IoBackend backend, read_backend(in->io_backend));
  WQ_TRY(check_process());

  auto core = std::make_unique<StoreCore>();
  WQ_TRY_SET(core->io, make_io(backend));
  EngineOptions engine_options = options_for_disk(capacity_around(*core->io, directory));
  engine_options.directory = directory;
  read_options(*in, engine_options);
  WQ_TRY(read_keys(*in, core->keyring));
  Environment environment;
  environment.io = core->io.get();
  environment.clock = &system_clock();
  environment.keyring = &core->keyring;
  WQ_TRY_SET(core->engine, Engine::open(engine_options, environment));
  *store = make_store_handle(std::move(core));
  return {};
}

Status check_timeout(int64_t timeout_ms) {
  if (timeout_ms < -1) return invalid_field("timeout_ms", "is below -1");
  return {};
}

}  // namespace

wq_store* make_store_handle(std::unique_ptr<StoreCore> core) {
  NewHandle<wq_store> handle;
  handle->core = core.release();
  return handle.release();
}

}  // namespace wq

extern "C" {

int32_t wq_store_open_abi(const char* path, const wq_store_options* options, uint32_t abi_version,
                          wq_store** store, wq_error* err) {
  if (store) *store = nullptr;
  return wq::boundary(err, [&] { return wq::open_store(path, options, abi_version, store); });
}

void wq_store_close(wq_store** store) {
  wq_store* closing = wq::begin_close(store);
  if (!closing) return;
  try {
    closing->core->engine->close().ignore("the header says so: shutdown and sync tell");
  } catch (...) {
    // Nothing more can be done for it; the log holds what was promised.
  }
  closing->gate.wait_empty();
  wq::drop(std::exchange(closing->core, nullptr));
  wq::handle_pool<wq_store>().put(closing);
}

int32_t wq_store_shutdown(wq_store* store, int64_t timeout_ms, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_timeout(timeout_ms));
    wq::Status status = engine.shutdown(timeout_ms);
    if (status.code() != wq::Code::timeout) return status;
    // Jobs are still out; what there is becomes durable and quick to open all the same.
    WQ_TRY(engine.sync());
    WQ_TRY(engine.checkpoint());
    return status;
  });
}

int32_t wq_store_tick(wq_store* store, int64_t* next_due_ms, wq_error* err) {
  if (next_due_ms) *next_due_ms = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY_SET(const int64_t due_ms, engine.tick());
    if (next_due_ms) *next_due_ms = due_ms;
    return {};
  });
}

int32_t wq_store_sync(wq_store* store, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) { return engine.sync(); });
}

int32_t wq_store_wait_durable(wq_store* store, uint64_t lsn, uint32_t durability,
                              int64_t timeout_ms, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_timeout(timeout_ms));
    if (durability != WQ_PROCESS && durability != WQ_POWER) {
      return wq::invalid_field("durability", "is neither WQ_PROCESS nor WQ_POWER");
    }
    return engine.wait_durable(lsn, static_cast<wq::Durability>(durability), timeout_ms);
  });
}

int32_t wq_store_checkpoint(wq_store* store, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) { return engine.checkpoint(); });
}

}  // extern "C"
