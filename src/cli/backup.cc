// wq backup, restore and verify --backup. The library makes, checks and restores directories; a tar
// is packed from one, or unpacked to one, that lies beside it and goes away again. Whatever stops a
// command, nothing half done keeps a final name.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "cli/backup_tar.h"
#include "cli/commands.h"
#include "cli/descriptor.h"
#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned rename_noreplace = 1;  // RENAME_NOREPLACE, which not every C library has

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
  // Only to look at what is in it: where `place` can not be written to, TMPDIR is as good.
  static std::unique_ptr<TempDirectory> to_look(const std::string& place) {
    try {
      return std::make_unique<TempDirectory>(place);
    } catch (const Failure&) {
      const char* const given = std::getenv("TMPDIR");
      const std::string directory = given != nullptr && given[0] != '\0' ? given : "/tmp";
      return std::make_unique<TempDirectory>(directory + "/backup");
    }
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
  // A signal that comes when all is done stops nothing: what was made is there, and is told.
  void check(int32_t code, const wq_error& err) const {
    if (code == WQ_CANCELLED) stop_if_asked();
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

// Gives a file its name, but never one that somebody else took meanwhile. Not every file system
// knows both ways.
void give_name(const std::string& from, const std::string& to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), rename_noreplace) ==
      0) {
    return;
  }
  if (errno != EINVAL && errno != ENOSYS) fail_errno(to, errno);
  if (::link(from.c_str(), to.c_str()) != 0) fail_errno(to, errno);
}

// Under another name until it is whole and on the device: in `directory`, which is ours alone.
void write_tar_file(const std::string& directory, const std::string& target, Work& work) {
  const std::string part = directory + "/packed";
  const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (file.get() < 0) fail_errno(part, errno);
  write_tar(directory, file.get(), work.tar_progress());
  if (::fsync(file.get()) != 0) fail_errno(part, errno);
  give_name(part, target);
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

// The backup as a directory: itself, or a tar unpacked to one that is there for a while.
class BackupDirectory {
 public:
  using MakeTemp = std::function<std::unique_ptr<TempDirectory>()>;

  BackupDirectory(Context& context, const StopSignals& signals, const std::string& backup,
                  const MakeTemp& make_temp)
      : name_(backup), path_(backup) {
    std::error_code error;
    const bool from_input = backup == "-";
    if (!from_input && fs::is_directory(backup, error)) return;
    if (!is_tar(backup) && !fs::exists(backup, error)) return;
    const Descriptor file(from_input ? -1 : ::open(backup.c_str(), O_RDONLY | O_CLOEXEC));
    if (!from_input && file.get() < 0) fail_errno(backup, errno);
    temp_ = make_temp();
    path_ = temp_->path();
    Work work(context.out(), signals, "unpacking");
    read_tar(from_input ? STDIN_FILENO : file.get(), path_, work.tar_progress());
  }

  // Calls `use` with the directory. What goes wrong is told of the archive, and not of a directory
  // that is gone when one reads it.
  void with(const std::function<void(const char* directory)>& use) const {
    try {
      use(path_.c_str());
    } catch (Failure& failure) {
      const std::string name = name_ == "-" ? "standard input" : name_;
      const size_t at = temp_ ? failure.message.find(path_) : std::string::npos;
      if (at != std::string::npos) failure.message.replace(at, path_.size(), name);
      throw;
    }
  }

 private:
  const std::string name_;
  std::string path_;
  std::unique_ptr<TempDirectory> temp_;
};

// Found out before all is copied: no directory can be renamed to take these places.
void check_place(const std::string& store) {
  const std::string path = without_end_slashes(store);
  std::error_code error;
  if (!fs::is_directory(path, error)) return;
  const auto refuse = [&](const std::string& what) {
    fail_usage("'" + printable(store) + "' " + what);
  };
  const fs::path last = fs::path(path).filename();
  if (last == "." || last == "..") refuse("is no name; give the directory's own");
  if (fs::is_symlink(path, error)) refuse("is a link; name the directory that it leads to");
  struct stat here {
  }, above{};
  const bool known =
      ::stat(path.c_str(), &here) == 0 && ::stat((path + "/..").c_str(), &above) == 0;
  if (known && here.st_dev != above.st_dev) {
    refuse(
        "is where a file system is mounted, and can not be replaced; name a directory in it "
        "that is not there yet");
  }
}

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
  check_place(context.store_path());
  const StopSignals signals;
  const BackupDirectory from(context, signals, backup,
                             [&] { return std::make_unique<TempDirectory>(context.store_path()); });
  wq_error err = WQ_ERROR_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  from.with([&](const char* directory) {
    Work work(out, signals, "restoring");
    work.check(
        wq_backup_restore(directory, context.store_path().c_str(), work.options(), &report, &err),
        err);
  });
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
  const BackupDirectory from(context, signals, backup,
                             [&] { return TempDirectory::to_look(place); });
  wq_error err = WQ_ERROR_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  from.with([&](const char* directory) {
    Work work(out, signals, "checking");
    work.check(wq_backup_verify(directory, work.options(), &report, &err), err);
  });
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
