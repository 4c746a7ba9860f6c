// wq_log_scan: the log of a closed store, record by record. Reads only; the directory lock keeps an
// opener from recycling segments under the scan.
#include "capi/boundary.h"
#include "capi/sized.h"
#include "capi/store_path.h"
#include "engine/command.h"
#include "engine/keys.h"
#include "engine/record.h"
#include "engine/store.h"
#include "io/format_file.h"
#include "io/io.h"
#include "io/segment_log.h"

namespace wq {
namespace {

// What the settled state covers: the log need not hold it any more. 0 before the first checkpoint.
Result<Lsn> read_applied_lsn(Io& io, const std::string& directory) {
  StoreOptions options;
  options.directory = directory + "/db";
  options.temp_directory = directory + "/tmp";
  options.create = false;
  options.read_only = true;
  WQ_TRY_SET(const bool exists, io.exists(options.directory));
  if (!exists) return Lsn{0};
  Result<std::unique_ptr<Store>> opened = open_rocks_store(options);
  // Its creation was cut short: everything is in the log.
  if (opened.status().code() == Code::not_found) return Lsn{0};
  WQ_TRY_SET(const std::unique_ptr<Store> store, std::move(opened));
  WQ_TRY_SET(const std::optional<std::string> row, store->get(Family::meta, meta_row_key()));
  Lsn applied_lsn = 0;
  if (row) {
    WQ_TRY_SET(const MetaRow meta, decode_meta_row(as_bytes(*row)));
    applied_lsn = meta.applied_lsn;
  }
  WQ_TRY(store->close());
  return applied_lsn;
}

wq_bytes view_text(std::string_view text) {
  return {text.data(), text.size()};
}

class Visitor {
 public:
  Visitor(wq_log_visit visit, void* ctx) : visit_(visit), ctx_(ctx) {}

  Status operator()(const ScannedFrame& frame) {
    wq_log_record record = WQ_LOG_RECORD_INIT;
    record.lsn = frame.lsn;
    record.durable_lsn = frame.durable_lsn;
    record.offset = frame.offset;
    record.size_bytes = frame.body.size();
    record.segment = view_text(frame.segment);
    std::string text = "{}";
    const char* type = "mark";  // says only what was durable
    if (!frame.body.empty()) {
      const Status status = decode_command(frame.body, command_);
      if (!status.ok()) {
        return Status(status.code(), frame.segment + ": " + status.message(), 0, frame.offset);
      }
      text = command_to_json(command_);
      type = command_type_name(command_.type);
    }
    record.type = view_text(type);
    record.text = view_text(text);
    return visit_(&record, ctx_) == 0 ? Code::ok : Code::cancelled;
  }

 private:
  const wq_log_visit visit_;
  void* const ctx_;
  Command command_;
};

Status scan(const char* path, wq_log_visit visit, void* ctx) {
  std::string directory;
  WQ_TRY(read_lasting_path(path, directory));
  if (!visit) return Status(Code::invalid, "visit is NULL");
  WQ_TRY_SET(const std::unique_ptr<Io> io, make_io());
  WQ_TRY(read_format(*io, directory, Access::read).take_status());
  WQ_TRY_SET(const std::unique_ptr<DirLock> lock, io->lock_dir(directory));
  // Once more: it may have been replaced before the lock was ours.
  WQ_TRY_SET(const StoreFormat format, read_format(*io, directory, Access::read));
  WQ_TRY_SET(const Lsn applied_lsn, read_applied_lsn(*io, directory));
  Visitor visitor(visit, ctx);
  LogScan found = scan_log(*io, directory, format.uuid, applied_lsn,
                           [&](const ScannedFrame& frame) { return visitor(frame); });
  return std::move(found.status);
}

}  // namespace
}  // namespace wq

extern "C" int32_t wq_log_scan(const char* path, wq_log_visit visit, void* ctx, wq_error* err) {
  return wq::boundary(err, [&] { return wq::scan(path, visit, ctx); });
}
