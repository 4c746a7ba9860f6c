#include "engine/dead_scan.h"

#include <utility>

namespace wq {
namespace {

// How many rows one scan looks at when a filter refuses most of them.
constexpr size_t dead_scan_max = 20'000;

}  // namespace

bool DeadQuery::wants(DeadReason died_of, int64_t died_ms, std::string_view error) const {
  if (reason != DeadReason::none && reason != died_of) return false;
  if (from_ms != 0 && died_ms < from_ms) return false;
  if (until_ms != 0 && died_ms >= until_ms) return false;
  return error_part.empty() || error.find(error_part) != std::string_view::npos;
}

Result<DeadScan> scan_dead(const Store& store, const DeadRange& range, const DeadQuery& query,
                           const PageLimits& limits) {
  DeadScan out;
  StoredJobReader jobs(store);
  const auto cursor = store.scan(Family::dlq, dead_key(range.queue, range.low),
                                 dead_key(range.queue, range.high), range.descending);
  size_t bytes = 0;
  for (; cursor->valid(); cursor->next()) {
    if (out.rows.size() >= limits.rows || bytes >= limits.bytes || out.examined >= dead_scan_max) {
      return out;
    }
    const auto key = parse_seq_key(cursor->key());
    const auto id = parse_id_value(cursor->value());
    if (!key || !id) return Status(Code::corrupt, "db: family dlq: malformed row");
    out.last_seq = key->seq;
    ++out.examined;
    WQ_TRY_SET(StoredJob job, jobs.read(*id));
    if (!query.wants(job.row.reason, job.row.since_ms, job.error)) continue;
    bytes += job.body.size();
    out.rows.push_back(ScannedDead{key->seq, out.examined, std::move(job)});
  }
  WQ_TRY(cursor->status());
  out.complete = true;
  return out;
}

}  // namespace wq
