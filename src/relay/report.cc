// What a relay tells of itself: the report, from rows of the store, and the text for Prometheus.
#include <array>

#include "relay/relay.h"
#include "relay/store_calls.h"

namespace wq::relay {

Report read_report(wq_store* store, wq_queue* queue, const std::string& name) {
  const auto count = [&](const char* what) {
    return static_cast<uint64_t>(kv_number(store, count_key(name, what)));
  };
  Report out;
  out.direct_sent = count("direct_sent");
  out.direct_duplicate = count("direct_duplicate");
  out.direct_refused = count("direct_refused");
  out.direct_failed = count("direct_failed");
  out.sent = count("sent");
  out.duplicate = count("duplicate");
  out.missing = count("missing");
  const wq_queue_stats stats = stats_of(queue);
  out.spooled = stats.enqueued_total;
  out.dead = stats.dead;
  out.local_ready = stats.ready;
  out.local_delayed = stats.delayed;
  out.local_held = stats.leased + stats.running;
  out.oldest_ready_age_ms = stats.oldest_ready_age_ms;
  return out;
}

namespace {

std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string metrics_text(const std::string& queue, const Report& report, const Health& health) {
  struct Row {
    const char* name;
    const char* type;
    const char* help;
    std::string labels;
    double value;
  };
  const auto of = [](uint64_t value) { return static_cast<double>(value); };
  const std::string base = "queue=\"" + label(queue) + "\"";
  const auto with = [&](const char* outcome) {
    return base + ",outcome=\"" + std::string(outcome) + "\"";
  };
  const char* direct = "Pushes that went to Redis at once, by outcome.";
  const char* relayed = "Spooled jobs that left the queue for Redis, by outcome.";
  const char* local = "Jobs that are in the queue, by state.";
  const std::array rows = {
      Row{"wq_relay_direct_total", "counter", direct, with("sent"), of(report.direct_sent)},
      Row{"wq_relay_direct_total", "counter", direct, with("duplicate"),
          of(report.direct_duplicate)},
      Row{"wq_relay_direct_total", "counter", direct, with("refused"), of(report.direct_refused)},
      Row{"wq_relay_direct_total", "counter", direct, with("failed"), of(report.direct_failed)},
      Row{"wq_relay_spooled_total", "counter", "Jobs that came into the queue.", base,
          of(report.spooled)},
      Row{"wq_relay_relayed_total", "counter", relayed, with("sent"), of(report.sent)},
      Row{"wq_relay_relayed_total", "counter", relayed, with("duplicate"), of(report.duplicate)},
      Row{"wq_relay_relayed_total", "counter", relayed, with("missing"), of(report.missing)},
      Row{"wq_relay_jobs", "gauge", local, base + ",state=\"ready\"", of(report.local_ready)},
      Row{"wq_relay_jobs", "gauge", local, base + ",state=\"delayed\"", of(report.local_delayed)},
      Row{"wq_relay_jobs", "gauge", local, base + ",state=\"held\"", of(report.local_held)},
      Row{"wq_relay_jobs", "gauge", local, base + ",state=\"dead\"", of(report.dead)},
      Row{"wq_relay_oldest_ready_seconds", "gauge", "Age of the oldest job that waits for Redis.",
          base, static_cast<double>(report.oldest_ready_age_ms) / 1000},
      Row{"wq_relay_breaker_state", "gauge", "0: closed, 1: open, 2: one attempt is under way.",
          base, static_cast<double>(health.state)},
      Row{"wq_relay_breaker_opened_total", "counter", "How often the breaker opened.", base,
          of(health.opened)},
      Row{"wq_relay_failures_total", "counter", "Calls that Redis did not take.", base,
          of(health.failures)},
      Row{"wq_relay_timeouts_total", "counter", "Calls that Redis did not answer in time.", base,
          of(health.timeouts)}};
  std::string out;
  std::string_view last;
  for (const Row& row : rows) {
    if (row.name != last) {
      out += std::string("# HELP ") + row.name + " " + row.help + "\n# TYPE " + row.name + " " +
             row.type + "\n";
    }
    last = row.name;
    std::string number = std::to_string(row.value);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    out += std::string(row.name) + "{" + row.labels + "} " + number + "\n";
  }
  return out;
}

}  // namespace wq::relay
