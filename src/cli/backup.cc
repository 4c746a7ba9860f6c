// wq backup, restore and verify --backup. The library makes, checks and restores directories; a tar
// is packed from one, or unpacked to one, that lies beside it and goes away again. Whatever stops a
// command, nothing half done keeps a final name.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/backup_tar.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;

bool is_tar(const std::string& path) {
  return path == "-" || path.ends_with(".tar");
}

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// A directory of ours beside `place`; whatever happens, it goes.
class TempDirectory {
 public:
  explicit TempDirectory(const std::string& place)
      : path_(without_end_slashes(place) + ".wq-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) fail_errno(path_, errno);
  }
  ~TempDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One call of the library or one walk over a tar: shown as it goes, ended by a signal.
class Work {
 public:
  Work(Output& out, const StopSignals& signals, const std::string& label)
      : signals_(signals), progress_(out, label, 0, "bytes") {
    options_.progress = [](uint64_t done, uint64_t total, void* ctx) -> int32_t {
      Work& work = *static_cast<Work*>(ctx);
      work.progress_.set_total(total);
      work.progress_.update(done);
      return work.signals_.count() > 0 ? 1 : 0;
    };
    options_.progress_ctx = this;
  }

  const wq_backup_options* options() const { return &options_; }
  void check(int32_t code, const wq_error& err) const {
    stop_if_asked();
    cli::check(code, err);
  }
  TarProgress tar_progress() {
    return [this](uint64_t bytes) {
      stop_if_asked();
      progress_.update(bytes);
    };
  }

 private:
  void stop_if_asked() const {
    if (signals_.count() == 0) return;
    throw Failure{128 + signals_.last_signal(), WQ_CANCELLED, "stopped by a signal"};
  }

  const StopSignals& signals_;
  Progress progress_;
  wq_backup_options options_ = WQ_BACKUP_OPTIONS_INIT;
};

Record record_of(const std::string& backup, const wq_backup_report& report) {
  Record record;
  record.add_bytes("backup", backup);
  record.add("lsn", report.lsn)
      .add("checkpoint_lsn", report.checkpoint_lsn)
      .add("files", report.files)
      .add("bytes", report.bytes)
      .add("created_ms", report.created_ms)
      .add("elapsed_ms", report.elapsed_ms);
  return record;
}

std::string size_text(const wq_backup_report& report) {
  return plural(report.files, "file") + ", " + format_bytes(report.bytes) +
         ", all changes up to LSN " + std::to_string(report.lsn);
}

void sync_path(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int result = fd < 0 ? -1 : ::fsync(fd);
  const int os_errno = errno;
  if (fd >= 0) ::close(fd);
  if (result != 0) fail_errno(path, os_errno);
}

// Under another name until it is whole and on the device.
void write_tar_file(const std::string& directory, const std::string& target, Work& work) {
  const std::string part = target + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) fail_errno(part, errno);
  try {
    write_tar(directory, fd, work.tar_progress());
    if (::fsync(fd) != 0) fail_errno(part, errno);
    // Not rename(): what came to be under that name meanwhile is not ours to replace.
    if (::link(part.c_str(), target.c_str()) != 0) fail_errno(target, errno);
  } catch (const Failure&) {
    ::close(fd);
    ::unlink(part.c_str());
    throw;
  }
  ::close(fd);
  ::unlink(part.c_str());
  const std::string parent = fs::path(target).parent_path().string();
  sync_path(parent.empty() ? "." : parent);
}

wq_backup_report backup_into(Context& context, const Store& store, const StopSignals& signals,
                             const std::string& directory) {
  Work work(context.out(), signals, "copying");
  wq_error err = WQ_ERROR_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  work.check(wq_store_backup(store.get(), directory.c_str(), work.options(), &report, &err), err);
  return report;
}

// The backup as a directory: itself, or a tar unpacked beside `place`.
class BackupDirectory {
 public:
  BackupDirectory(Context& context, const StopSignals& signals, const std::string& backup,
                  const std::string& place)
      : path_(backup) {
    if (!is_tar(backup) || fs::is_directory(backup)) return;
    int fd = STDIN_FILENO;
    if (backup != "-") fd = ::open(backup.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail_errno(backup, errno);
    temp_ = std::make_unique<TempDirectory>(place);
    path_ = temp_->path();
    Work work(context.out(), signals, "unpacking");
    read_tar(fd, path_, work.tar_progress());
    if (backup != "-") ::close(fd);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<TempDirectory> temp_;
};

}  // namespace

int run_backup(Context& context, const std::string& target) {
  Output& out = context.out();
  if (target == "-" && ::isatty(STDOUT_FILENO) != 0) {
    fail_usage("a tar is not for a terminal; redirect standard output or name a file");
  }
  if (target != "-") refuse_inside(target, context.store_path(), "the store");
  if (target != "-" && is_tar(target) && fs::exists(fs::symlink_status(target))) {
    fail_usage(target + ": is there already; name a new file for each backup");
  }
  const StopSignals signals;
  const Store store = context.open_store();
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  if (is_tar(target)) {
    const TempDirectory temp(target == "-" ? context.store_path() : target);
    report = backup_into(context, store, signals, temp.path());
    Work work(out, signals, "packing");
    if (target == "-") {
      write_tar(temp.path(), STDOUT_FILENO, work.tar_progress());
    } else {
      write_tar_file(temp.path(), target, work);
    }
  } else {
    report = backup_into(context, store, signals, target);
  }
  out.clear_status();
  if (target == "-") {
    out.note("backup: " + size_text(report));
  } else if (out.json()) {
    out.record(record_of(target, report));
  } else {
    out.line(printable(target) + ": " + size_text(report));
  }
  return exit_ok;
}

int run_restore(Context& context, const std::string& backup) {
  Output& out = context.out();
  if (backup != "-") refuse_inside(context.store_path(), backup, "the backup");
  const StopSignals signals;
  const BackupDirectory from(context, signals, backup, context.store_path());
  wq_error err = WQ_ERROR_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  {
    Work work(out, signals, "restoring");
    work.check(wq_backup_restore(from.path().c_str(), context.store_path().c_str(), work.options(),
                                 &report, &err),
               err);
  }
  if (out.json()) {
    Record record = record_of(backup, report);
    record.add_bytes("store", context.store_path());
    out.record(record);
  } else {
    out.line(printable(context.store_path()) + ": restored as of " +
             format_time(report.created_ms) + ", " + size_text(report));
  }
  return exit_ok;
}

int run_verify_backup(Context& context, const std::string& backup) {
  Output& out = context.out();
  const StopSignals signals;
  const std::string place = backup == "-" ? "stdin" : backup;
  const BackupDirectory from(context, signals, backup, place);
  wq_error err = WQ_ERROR_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  {
    Work work(out, signals, "checking");
    work.check(wq_backup_verify(from.path().c_str(), work.options(), &report, &err), err);
  }
  if (out.json()) {
    Record record = record_of(backup, report);
    record.add("ok", true);
    out.record(record);
  } else {
    out.line(out.paint(Color::green, "ok") + ": " + printable(backup) + ", made " +
             format_time(report.created_ms) + ", " + size_text(report));
  }
  return exit_ok;
}

}  // namespace wq::cli
