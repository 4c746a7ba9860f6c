// Backups: of an open store, and their check and restore, which need none.
#include "engine/backup.h"
#include "base/clock.h"
#include "capi/capi_internal.h"
#include "capi/store_path.h"

namespace wq {
namespace {

// The options and the report of one call. Holds the cancel token meanwhile.
class BackupCall {
 public:
  Status open(const wq_backup_options* options, wq_backup_report* report) {
    WQ_TRY(options_.read(options, "options"));
    if (options_->flags != 0) return unknown_bits("options.flags", options_->flags);
    if (report) WQ_TRY(check_out(report, "report"));
    report_ = report;
    if (!options_->cancel) return {};
    const Code code = cancel_.enter(options_->cancel);
    return code == Code::ok ? Status() : handle_refused(code, "options.cancel");
  }

  BackupProgress progress() {
    return [this](uint64_t done_bytes, uint64_t total_bytes) -> Status {
      // acquire: pairs with wq_cancel_fire
      const bool fired = options_->cancel && cancel_->fired.load(std::memory_order_acquire);
      if (fired) return Status(Code::cancelled, "the token was fired");
      if (!options_->progress) return {};
      const int32_t answer = options_->progress(done_bytes, total_bytes, options_->progress_ctx);
      return answer == 0 ? Status() : Status(Code::cancelled, "progress asked to stop");
    };
  }

  Status close(Result<BackupReport> done) {
    if (!done.ok()) return done.take_status();
    if (!report_) return {};
    constexpr int64_t ns_per_ms = 1'000'000;
    wq_backup_report out{};
    out.lsn = done->last_lsn;
    out.checkpoint_lsn = done->checkpoint_lsn;
    out.files = done->files;
    out.bytes = done->bytes;
    out.created_ms = done->created_ms;
    out.elapsed_ms = (system_clock().mono_ns() - start_ns_) / ns_per_ms;
    write_struct(report_, report_->struct_size, out);
    return {};
  }

 private:
  SizedIn<wq_backup_options> options_;
  wq_backup_report* report_ = nullptr;
  Inside<wq_cancel> cancel_;
  const int64_t start_ns_ = system_clock().mono_ns();
};

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_store_backup(wq_store* store, const char* directory, const wq_backup_options* options,
                        wq_backup_report* report, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::BackupCall call;
    std::string target;
    WQ_TRY(wq::read_lasting_path(directory, target));
    WQ_TRY(call.open(options, report));
    return call.close(engine.backup(target, call.progress()));
  });
}

int32_t wq_backup_verify(const char* directory, const wq_backup_options* options,
                         wq_backup_report* report, wq_error* err) {
  return wq::boundary(err, [&]() -> wq::Status {
    wq::BackupCall call;
    std::string backup;
    WQ_TRY(wq::read_lasting_path(directory, backup));
    WQ_TRY(call.open(options, report));
    WQ_TRY_SET(const std::unique_ptr<wq::Io> io, wq::make_io());
    return call.close(wq::verify_backup(*io, backup, call.progress()));
  });
}

int32_t wq_backup_restore(const char* directory, const char* path, const wq_backup_options* options,
                          wq_backup_report* report, wq_error* err) {
  return wq::boundary(err, [&]() -> wq::Status {
    wq::BackupCall call;
    std::string backup, store;
    WQ_TRY(wq::read_lasting_path(directory, backup));
    WQ_TRY(wq::read_lasting_path(path, store));
    WQ_TRY(call.open(options, report));
    WQ_TRY_SET(const std::unique_ptr<wq::Io> io, wq::make_io());
    return call.close(wq::restore_backup(*io, backup, store, call.progress()));
  });
}

}  // extern "C"
