// wq repair: what is left of a damaged store, and with --salvage all of it in a new one.
#include <iterator>
#include <optional>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr const char* kind_names[] = {"note",  "intact", "damaged",  "missing",
                                      "found", "lost",   "uncertain"};
constexpr const char* state_names[] = {"", "ready", "delayed", "leased", "running", "dead"};

struct Telling {
  Output* out;
  std::optional<Failure> failure;  // an exception must not pass through wq.h
};

void tell(Output& out, const wq_repair_finding& finding) {
  const char* const kind =
      finding.kind < std::size(kind_names) ? kind_names[finding.kind] : "unknown";
  if (out.json()) {
    Record record;
    record.add("finding", kind);
    record.add_bytes("where", view_of(finding.where));
    if (finding.queue.len > 0) record.add_bytes("queue", view_of(finding.queue));
    if (finding.state != 0 && finding.state < std::size(state_names)) {
      record.add("state", state_names[finding.state]);
    }
    record.add("count", finding.count)
        .add("first_lsn", finding.first_lsn)
        .add("last_lsn", finding.last_lsn)
        .add("offset", finding.offset);
    record.add_bytes("what", view_of(finding.what));
    out.record(record);
    return;
  }
  const bool bad = finding.kind == WQ_REPAIR_DAMAGED || finding.kind == WQ_REPAIR_MISSING ||
                   finding.kind == WQ_REPAIR_LOST;
  const std::string_view where =
      finding.queue.len > 0 ? view_of(finding.queue) : view_of(finding.where);
  out.line(out.paint(bad ? Color::red : Color::plain, kind) + "\t" + printable(where) + "\t" +
           printable(view_of(finding.what)));
}

int32_t tell_finding(const wq_repair_finding* finding, void* ctx) {
  auto* const telling = static_cast<Telling*>(ctx);
  try {
    tell(*telling->out, *finding);
  } catch (const Failure& failure) {
    telling->failure = failure;
    return 1;
  }
  return 0;
}

}  // namespace

int run_repair(Context& context, const RepairOptions& options) {
  if (!options.salvage.empty()) refuse_inside(options.salvage, context.store_path(), "the store");
  Output& out = context.out();
  Telling telling{&out, std::nullopt};
  wq_repair_report report = WQ_REPAIR_REPORT_INIT;
  wq_error err = WQ_ERROR_INIT;
  const char* const target = options.salvage.empty() ? nullptr : options.salvage.c_str();
  const int32_t code =
      wq_store_repair(context.store_path().c_str(), target, tell_finding, &telling, &report, &err);
  if (telling.failure) throw Failure(*telling.failure);
  check(code, err);
  const bool whole = report.damages == 0 && report.jobs_lost == 0;
  if (out.json()) {
    Record record;
    record.add("ok", whole)
        .add("damages", report.damages)
        .add("jobs_found", report.jobs_found)
        .add("jobs_lost", report.jobs_lost)
        .add("jobs_uncertain", report.jobs_uncertain)
        .add("log_records", report.records)
        .add("log_records_missing", report.records_missing);
    if (target != nullptr) record.add_bytes("salvaged_into", options.salvage);
    out.record(record);
  } else {
    out.line((whole ? out.paint(Color::green, "whole") : out.paint(Color::red, "damaged")) + ": " +
             plural(report.jobs_found, "job") + " can be read, " + format_count(report.jobs_lost) +
             " lost, " + format_count(report.jobs_uncertain) + " uncertain" +
             (target == nullptr ? "; nothing was changed"
                                : "; all that can be read "
                                  "is in " +
                                      printable(options.salvage)));
  }
  return whole || target != nullptr ? exit_ok : exit_storage;
}

}  // namespace wq::cli
