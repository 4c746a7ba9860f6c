// wq/store.hpp: an open store, and what is made from it.
//
// ~Store closes it: callers that wait in it get Errc::closed, leases go on at the next open.
// Queues, jobs and pages may be destroyed before or after, in any order. A forked child must not
// use a store of its parent (Errc::forked). Thread model: any thread; a move is for its owner
// alone.
#pragma once

#include "cron.hpp"
#include "flow.hpp"
#include "transact.hpp"

namespace wq {
inline namespace hpp1 {

using StoreStats = wq_store_stats;
using Recovery = wq_recovery;
using VerifyReport = wq_verify_report;
using BackupReport = wq_backup_report;
using StoreEvent = wq_store_event;

// As wq_store_options; 0 takes the default.
struct StoreOptions {
  bool create = true;
  bool expire_leases = false;  // take back the leases of the time before
  bool threads = true;         // false: Store::tick drives everything
  std::uint32_t io_backend = WQ_IO_AUTO;
  std::uint32_t spare_segments = 0;
  std::uint64_t memory_budget_bytes = 0;
  std::uint64_t payload_bytes_max = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t checkpoint_log_bytes = 0;
  std::uint64_t disk_reserve_bytes = 0;
  Millis memory_window{};
  std::uint32_t events_max = 0;  // events kept for Store::events
  std::uint64_t quota_bytes = 0;
};

// Called with bytes done and to do; false stops the work. Must not throw.
struct BackupOptions {
  bool (*progress)(std::uint64_t done, std::uint64_t total, void* context) = nullptr;
  void* context = nullptr;
  std::optional<Cancel> cancel = {};
};

struct EventPage {
  Outcome outcome = Outcome::ok;  // empty, cancelled, or stale: the cursor was of another opening
  std::vector<StoreEvent> events = {};
};

// Where a reader of events stands; see wq_events_poll.
struct EventCursor {
  wq_event_cursor raw = WQ_EVENT_CURSOR_INIT;
  std::uint64_t dropped() const { return raw.dropped; }
};

namespace detail {

inline wq_store_options to_raw(const StoreOptions& options) {
  wq_store_options raw = WQ_STORE_OPTIONS_INIT;
  if (!options.create) raw.flags |= WQ_OPEN_NO_CREATE;
  if (options.expire_leases) raw.flags |= WQ_OPEN_EXPIRE_LEASES;
  if (!options.threads) raw.flags |= WQ_OPEN_NO_THREADS;
  raw.io_backend = options.io_backend;
  raw.spare_segments = options.spare_segments;
  raw.memory_budget_bytes = options.memory_budget_bytes;
  raw.payload_bytes_max = options.payload_bytes_max;
  raw.segment_bytes = options.segment_bytes;
  raw.checkpoint_log_bytes = options.checkpoint_log_bytes;
  raw.disk_reserve_bytes = options.disk_reserve_bytes;
  raw.memory_window_ms = options.memory_window.count();
  raw.events_max = options.events_max;
  raw.quota_bytes = options.quota_bytes;
  return raw;
}

// f(const wq_backup_options*, wq_backup_report*, wq_error*)
template <typename F>
Result<Answer<BackupReport>> backup_call(const BackupOptions& options, F f) {
  wq_backup_options raw = WQ_BACKUP_OPTIONS_INIT;
  raw.cancel = options.cancel ? options.cancel->get() : nullptr;
  if (options.progress) {
    raw.progress_ctx = const_cast<BackupOptions*>(&options);
    raw.progress = [](std::uint64_t done, std::uint64_t total, void* context) -> std::int32_t {
      const auto* how = static_cast<const BackupOptions*>(context);
      return how->progress(done, total, how->context) ? 0 : 1;
    };
  }
  BackupReport report = WQ_BACKUP_REPORT_INIT;
  return answer_of<BackupReport>([&](wq_error* err) { return f(&raw, &report, err); },
                                 [&] { return report; });
}

}  // namespace detail

class Store {
 public:
  Store() = default;  // closed
  Store(Store&&) = default;
  Store& operator=(Store&& other) noexcept {
    if (this != &other) close();
    handle_ = std::move(other.handle_);
    return *this;
  }
  ~Store() { close(); }

  // Opens, making it if it is not there. A second open of a directory is Errc::locked. A library
  // that is older than this header is Errc::version, and the message names both.
  static Result<Store> open(const std::string& path, const StoreOptions& options = {}) {
    const wq_store_options raw = detail::to_raw(options);
    wq_store* store = nullptr;
    return detail::value_of<Store>(
        [&](wq_error* err) { return wq_store_open(path.c_str(), &raw, &store, err); },
        [&] {
          Store opened;
          opened.handle_ = std::make_shared<detail::StoreHandle>();
          opened.handle_->raw = store;
          return opened;
        });
  }
  // Flushes and closes; once more does nothing. sync() before tells whether the flush worked.
  void close() {
    if (handle_) handle_->close();
  }
  bool is_open() const { return handle_ && handle_->raw.load(); }
  const detail::StorePtr& handle() const { return handle_; }

  // No new leases, wait for those that are out, flush, checkpoint. close() follows.
  Result<Outcome> shutdown(Millis timeout) const {
    return plain(
        [&](wq_store* raw, wq_error* err) { return wq_store_shutdown(raw, timeout.count(), err); });
  }
  Result<Outcome> sync() const { return plain(wq_store_sync); }
  Result<Outcome> checkpoint() const { return plain(wq_store_checkpoint); }
  // Until the change with this LSN has reached the level. Outcome::timeout.
  Result<Outcome> wait_durable(std::uint64_t lsn, Durability level = Durability::power,
                               Millis timeout = forever) const {
    return plain([&](wq_store* raw, wq_error* err) {
      return wq_store_wait_durable(raw, lsn, static_cast<std::uint32_t>(level), timeout.count(),
                                   err);
    });
  }
  // For stores without threads: how long nothing will be due; 0: call again, -1: nothing planned.
  Result<Millis> tick() const {
    std::int64_t due_ms = 0;
    return detail::value_of<Millis>(
        detail::on_store(handle_, [&](wq_store* raw,
                                      wq_error* err) { return wq_store_tick(raw, &due_ms, err); }),
        [&] { return Millis(due_ms); });
  }
  Result<StoreStats> stats() const {
    StoreStats stats = WQ_STORE_STATS_INIT;
    return read(stats, wq_store_get_stats);
  }
  Result<Recovery> recovery() const {
    Recovery recovery = WQ_RECOVERY_INIT;
    return read(recovery, wq_store_get_recovery);
  }
  Result<VerifyReport> verify() const {
    VerifyReport report = WQ_VERIFY_REPORT_INIT;
    return read(report, wq_store_verify);
  }
  // All figures in the text format of Prometheus.
  Result<std::string> metrics() const {
    wq_text* text = nullptr;
    return detail::value_of<std::string>(
        detail::on_store(handle_, [&](wq_store* raw,
                                      wq_error* err) { return wq_store_metrics(raw, &text, err); }),
        [&] { return detail::take_text(&text); });
  }
  Result<std::vector<std::string>> queues() const {
    detail::Owned<wq_list, wq_list_free> list;
    return detail::value_of<std::vector<std::string>>(
        detail::on_store(
            handle_,
            [&](wq_store* raw, wq_error* err) { return wq_store_queues(raw, list.out(), err); }),
        [&] {
          std::vector<std::string> names;
          for (std::size_t i = 0; i < wq_list_count(list.get()); i++) {
            wq_bytes name{};
            wq_list_name(list.get(), i, &name);
            names.push_back(Bytes(name).str());
          }
          return names;
        });
  }

  // A handle on a queue, declaring it with `config` if it is not there and `create` says so.
  Result<Queue> queue(Bytes name, const QueueConfig& config = {}, bool create = true) const {
    const wq_queue_config how = detail::to_raw(config);
    wq_queue* queue = nullptr;
    return detail::value_of<Queue>(
        detail::on_store(handle_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_queue_open(raw, name.data(), name.size(), &how,
                                                create ? 0 : WQ_QUEUE_NO_CREATE, &queue, err);
                         }),
        [&] {
          auto handle = std::make_shared<detail::QueueHandle>();
          handle->raw = queue;
          handle->store = handle_;
          handle->name = name.str();
          return Queue(std::move(handle));
        });
  }
  // From several queues: a later one only gives what the earlier ones left.
  Result<Batch> lease(std::span<const Queue> queues, const LeaseOptions& options = {},
                      const Call& call = {}) const {
    std::vector<detail::QueuePtr> handles;
    for (const Queue& queue : queues) handles.push_back(queue.handle());
    return detail::lease(handle_, std::move(handles), options, call);
  }
  TransactReport transact(const Transaction& transaction, const Call& call = {}) const {
    return transaction.run(handle_, call);
  }

  Kv kv() const { return Kv(handle_); }
  Flows flows() const { return Flows(handle_); }
  Crons crons() const { return Crons(handle_); }
  // `owner`: a token that nobody else uses.
  Lock lock(Bytes key, Bytes owner) const { return Lock(handle_, key, owner); }

  // Up to `max` events behind the cursor, which moves on. The store needs events_max.
  Result<EventPage> events(EventCursor& cursor, std::size_t max = 100, Millis wait = {},
                           const std::optional<Cancel>& cancel = {}) const {
    EventPage page;
    max = std::min<std::size_t>(max, 10'000);
    page.events.assign(max, StoreEvent WQ_STORE_EVENT_INIT);
    std::size_t count = 0;
    const Result<Outcome> outcome = plain([&](wq_store* raw, wq_error* err) {
      return wq_events_poll(raw, &cursor.raw, page.events.data(), max, sizeof(StoreEvent),
                            wait.count(), cancel ? cancel->get() : nullptr, &count, err);
    });
    if (!outcome) return outcome.error();
    page.outcome = *outcome;
    page.events.resize(count);
    return page;
  }

  // A copy of the open store in `directory`. Outcome::cancelled.
  Result<Answer<BackupReport>> backup(const std::string& directory,
                                      const BackupOptions& options = {}) const {
    return detail::backup_call(
        options, [&](const wq_backup_options* how, wq_backup_report* report, wq_error* err) {
          return detail::on_store(handle_, [&](wq_store* raw, wq_error* e) {
            return wq_store_backup(raw, directory.c_str(), how, report, e);
          })(err);
        });
  }

 private:
  template <typename F>
  Result<Outcome> plain(F f) const {
    return detail::outcome_of(detail::on_store(handle_, f));
  }
  template <typename T, typename F>
  Result<T> read(T& value, F f) const {
    return detail::value_of<T>(
        detail::on_store(handle_,
                         [&](wq_store* raw, wq_error* err) { return f(raw, &value, err); }),
        [&] { return value; });
  }
  detail::StorePtr handle_;
};

// Is the backup complete, and each byte as it was written?
inline Result<Answer<BackupReport>> backup_verify(const std::string& directory,
                                                  const BackupOptions& options = {}) {
  return detail::backup_call(
      options, [&](const wq_backup_options* how, wq_backup_report* report, wq_error* err) {
        return wq_backup_verify(directory.c_str(), how, report, err);
      });
}

// The store `path`, which must not be there, from a backup.
inline Result<Answer<BackupReport>> backup_restore(const std::string& directory,
                                                   const std::string& path,
                                                   const BackupOptions& options = {}) {
  return detail::backup_call(
      options, [&](const wq_backup_options* how, wq_backup_report* report, wq_error* err) {
        return wq_backup_restore(directory.c_str(), path.c_str(), how, report, err);
      });
}

}  // namespace hpp1
}  // namespace wq
