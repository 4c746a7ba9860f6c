// wq_store_repair: a look at a damaged store, and what can be read of it in a new one.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/clock.h"
#include "capi/boundary.h"
#include "capi/sized.h"
#include "capi/store_path.h"
#include "engine/salvage.h"
#include "io/io.h"

namespace wq {
namespace {

wq_bytes view_text(const std::string& text) {
  return {text.data(), text.size()};
}

// A name that no other process uses.
std::string scratch_directory() {
  static std::atomic<uint64_t> number{0};
  const char* const base = std::getenv("TMPDIR");
  return std::string(base && base[0] != '\0' ? base : "/tmp") + "/wq-repair-" +
         std::to_string(::getpid()) + "-" + std::to_string(++number);
}

wq_repair_finding to_public(const SalvageFinding& in) {
  wq_repair_finding out = WQ_REPAIR_FINDING_INIT;
  out.kind = static_cast<uint32_t>(in.kind);
  out.state = static_cast<uint32_t>(in.state);
  out.offset = in.offset;
  out.first_lsn = in.first_lsn;
  out.last_lsn = in.last_lsn;
  out.count = in.count;
  out.where = view_text(in.where);
  out.queue = view_text(in.queue);
  out.what = view_text(in.what);
  return out;
}

Status repair(const char* path, const char* new_path, wq_repair_visit visit, void* ctx,
              wq_repair_report* report) {
  SalvageOptions options;
  WQ_TRY(read_lasting_path(path, options.directory));
  if (new_path) WQ_TRY(read_lasting_path(new_path, options.new_directory));
  if (report) WQ_TRY(check_out(report, "report"));
  options.scratch = scratch_directory();
  WQ_TRY_SET(const std::unique_ptr<Io> io, make_io());
  Environment environment;
  environment.io = io.get();
  environment.clock = &system_clock();
  const auto tell = [&](const SalvageFinding& finding) -> Status {
    if (!visit) return {};
    const wq_repair_finding out = to_public(finding);
    return visit(&out, ctx) == 0 ? Code::ok : Code::cancelled;
  };
  WQ_TRY_SET(const SalvageReport found, salvage_store(options, environment, tell));
  if (!report) return {};
  wq_repair_report out{};
  out.damages = found.damages;
  out.jobs_found = found.jobs_found;
  out.jobs_lost = found.jobs_lost;
  out.jobs_uncertain = found.jobs_uncertain;
  out.records = found.records;
  out.records_missing = found.records_missing;
  write_struct(report, report->struct_size, out);
  return {};
}

}  // namespace
}  // namespace wq

extern "C" int32_t wq_store_repair(const char* path, const char* new_path, wq_repair_visit visit,
                                   void* ctx, wq_repair_report* report, wq_error* err) {
  return wq::boundary(err, [&] { return wq::repair(path, new_path, visit, ctx, report); });
}
