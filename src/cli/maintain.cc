// wq verify, log dump and version: what one wants to know when something looks wrong.
#include <optional>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

struct LogTotals {
  uint64_t records = 0, bytes = 0, first_lsn = 0, last_lsn = 0;
};

int32_t count_record(const wq_log_record* record, void* ctx) {
  auto* const totals = static_cast<LogTotals*>(ctx);
  if (totals->records == 0) totals->first_lsn = record->lsn;
  totals->last_lsn = record->lsn;
  ++totals->records;
  totals->bytes += record->size_bytes;
  return 0;
}

struct Dump {
  Output* out;
  const LogDumpOptions* options;
  uint64_t told = 0;
  std::set<std::string, std::less<>> types_passed_over{};
  std::optional<Failure> failure{};  // an exception must not pass through wq.h
};

void tell_record(Output& out, const wq_log_record& record) {
  if (out.json()) {
    // The record is JSON already; it is put in as it is, so that numbers stay what they are.
    Record head;
    head.add("lsn", record.lsn)
        .add("type", std::string(static_cast<const char*>(record.type.data), record.type.len))
        .add("segment",
             std::string(static_cast<const char*>(record.segment.data), record.segment.len))
        .add("offset", record.offset)
        .add("size_bytes", record.size_bytes)
        .add("durable_lsn", record.durable_lsn);
    std::string line = to_json(head);
    line.pop_back();
    out.line(line + ",\"record\":" + std::string(view_of(record.text)) + "}");
    return;
  }
  out.line(std::to_string(record.lsn) + "\t" + printable(view_of(record.type)) + "\t" +
           printable(view_of(record.segment)) + "+" + std::to_string(record.offset) + "\t" +
           std::string(view_of(record.text)));
}

int32_t dump_record(const wq_log_record* record, void* ctx) {
  auto* const dump = static_cast<Dump*>(ctx);
  const LogDumpOptions& options = *dump->options;
  if (record->lsn < options.from_lsn) return 0;
  try {
    if (!options.type.empty() && view_of(record->type) != options.type) {
      dump->types_passed_over.emplace(view_of(record->type));
      return 0;
    }
    tell_record(*dump->out, *record);
  } catch (const Failure& failure) {
    dump->failure = failure;
    return 1;
  }
  ++dump->told;
  return options.limit != 0 && dump->told >= options.limit ? 1 : 0;
}

Record verify_record(const wq_verify_report& report, const LogTotals& log) {
  Record record;
  record.add("ok", report.problems == 0)
      .add("jobs", report.jobs)
      .add("entries", report.entries)
      .add("problems", report.problems);
  record.add_bytes("first_problem", report.first_problem);
  record.add("elapsed_ms", report.elapsed_ms)
      .add("log_records", log.records)
      .add("log_bytes", log.bytes);
  return record;
}

}  // namespace

int run_verify(Context& context) {
  Output& out = context.out();
  out.status("checking every job, every index entry and the log");
  wq_error err = WQ_ERROR_INIT;
  // The log first, as it was found: opening writes to it, and cuts an unfinished tail.
  LogTotals log;
  check(context.scan_log(count_record, &log, err), err);
  const Store store = context.open_store();
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  const int32_t code = wq_store_verify(store.get(), &report, &err);
  if (code != WQ_E_CORRUPT || report.problems == 0) check(code, err);
  out.clear_status();
  if (report.problems == 0) refuse_unfinished_import(store);
  if (out.json()) {
    out.record(verify_record(report, log));
  } else if (report.problems == 0) {
    out.line(out.paint(Color::green, "ok") + ": " + plural(report.jobs, "job") + ", " +
             plural(report.entries, "index entry", "index entries") + " and " +
             plural(log.records, "log record") + " checked in " +
             format_duration(report.elapsed_ms) + ", no problem found");
  } else {
    out.line(out.paint(Color::red, "damaged") + ": " + plural(report.problems, "problem") +
             ", the first: " + printable(report.first_problem));
  }
  return report.problems == 0 ? exit_ok : exit_storage;
}

int run_log_dump(Context& context, const LogDumpOptions& options) {
  Dump dump{&context.out(), &options};
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = context.scan_log(dump_record, &dump, err);
  if (dump.failure) throw Failure(*dump.failure);
  if (code != WQ_CANCELLED) check(code, err);
  context.out().note(dump.told == 0 ? "no record" : plural(dump.told, "record"));
  if (dump.told == 0 && !dump.types_passed_over.empty()) {
    std::string types;
    for (const std::string& type : dump.types_passed_over) types += ' ' + printable(type);
    context.out().warning("no record of type " + printable(options.type) + "; there are:" + types);
  }
  return dump.told == 0 ? exit_empty : exit_ok;
}

namespace {

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

int run_version(Context& context) {
  Output& out = context.out();
  const std::string header =
      version_text(WQ_VERSION_MAJOR, WQ_VERSION_MINOR) + "." + std::to_string(WQ_VERSION_PATCH);
  const std::string library = wq_version_string();
  const std::string abi = version_text(WQ_ABI_VERSION >> 16, WQ_ABI_VERSION & 0xffff);
  if (out.json()) {
    Record record;
    record.add("version", header)
        .add("library_version", library)
        .add("abi_version", WQ_ABI_VERSION)
        .add("abi", abi)
        .add("format_version", wq_format_version())
        .add("build", wq_build_info());
    out.record(record);
    return exit_ok;
  }
  out.line("wq " + header + (library == header ? "" : ", library " + library) + ", ABI " + abi +
           ", store format " + std::to_string(wq_format_version()));
  std::string build = wq_build_info();
  const std::string known = "wq " + library + " ";
  if (build.starts_with(known)) build.erase(0, known.size());
  out.line(build);
  return exit_ok;
}

}  // namespace wq::cli
