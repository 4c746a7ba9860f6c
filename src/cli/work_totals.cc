#include "cli/work_totals.h"

#include "cli/text.h"

namespace wq::cli {

bool is_deadly(const Verdict& verdict) {
  return verdict.kind == WQ_SETTLE_FAIL || (verdict.kind == WQ_SETTLE_NACK && verdict.last_attempt);
}

void WorkTotals::count(const Verdict& verdict, int32_t code) {
  if (code != WQ_OK) {
    ++stale;
    return;
  }
  acked += verdict.kind == WQ_SETTLE_ACK;
  nacked += verdict.kind == WQ_SETTLE_NACK;
  failed += verdict.kind == WQ_SETTLE_FAIL;
  released += verdict.kind == WQ_SETTLE_RELEASE;
  dead += is_deadly(verdict);
}

Record WorkTotals::record(double seconds) const {
  Record record;
  record.add("event", "summary")
      .add("leased", leased)
      .add("acked", acked)
      .add("retried", nacked)
      .add("failed", failed)
      .add("dead", dead)
      .add("released", released)
      .add("stale", stale)
      .add("fed", fed)
      .add("seconds", seconds);
  return record;
}

std::string WorkTotals::text(double seconds, const std::vector<std::string>& queues) const {
  std::string text = "worked: " + plural(acked, "job") + " done";
  if (dead > 0) {
    const std::string where = queues.size() == 1 ? " -q " + printable(queues[0], 60) : "";
    text += ", " + format_count(dead) + " dead (wq dead ls" + where + ")";
  }
  const uint64_t retries = nacked - (dead - failed);
  if (retries > 0) text += ", " + plural(retries, "retry", "retries");
  if (released > 0) text += ", " + format_count(released) + " given back";
  if (stale > 0) text += ", " + format_count(stale) + " with a lost lease";
  text += " in " + format_duration(static_cast<int64_t>(seconds * 1000));
  const std::string rate = rate_of(acked, seconds);
  return rate.empty() ? text : text + " (" + rate + ")";
}

}  // namespace wq::cli
