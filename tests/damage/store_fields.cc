#include "damage/store_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <type_traits>

#include "engine/batch.h"
#include "engine/cron.h"
#include "engine/gate.h"
#include "engine/history.h"
#include "engine/keys.h"
#include "engine/kv.h"
#include "engine/unique.h"

namespace wq {
namespace {

std::string text(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      char hex[5];
      std::snprintf(hex, sizeof hex, "\\x%02x", byte);
      out += hex;
    }
  }
  return out;
}
std::string text(const std::string& bytes) {
  return text(std::string_view(bytes));
}
std::string text(Bytes bytes) {
  return text(as_text(bytes));
}
template <typename Number>
requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) std::string text(Number number) {
  if constexpr (std::is_enum_v<Number>) {
    return std::to_string(static_cast<int64_t>(number));
  } else {
    return std::to_string(number);
  }
}
template <typename Number, size_t n>
std::string text(const Number (&numbers)[n]) {
  std::string out;
  for (const Number number : numbers) out += std::to_string(number) + " ";
  return out;
}
std::string text(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t number : numbers) out += std::to_string(number) + " ";
  return out;
}
std::string text(const std::vector<Header>& headers) {
  std::string out;
  for (const Header& header : headers) {
    const auto& [name, value] = header;
    out += text(name) + "=" + text(value) + ";";
  }
  return out;
}
// Places of lines: what they say follows from the jobs.
std::string text(const std::vector<LaneRow>& rows) {
  return std::to_string(rows.size());
}
std::string text(const std::vector<TurnRow>& rows) {
  return std::to_string(rows.size());
}
std::string text(const std::vector<LineRow>& rows) {
  return std::to_string(rows.size());
}

struct Sink {
  Fields& out;
  std::string prefix;
};

// Each struct whose members are fields of their own has its list here.
void put(const Sink& sink, const Backoff& row);
void put(const Sink& sink, const RateLimit& row);
void put(const Sink& sink, const Throttle& row);
void put(const Sink& sink, const Breaker& row);
void put(const Sink& sink, const QueueConfig& row);
void put(const Sink& sink, const QueueTotals& row);
void put(const Sink& sink, const JobTraits& row);
void put(const Sink& sink, const Packing& row);
void put(const Sink& sink, const CronState& row);

template <typename Value>
void put_one(const Sink& sink, const std::string& name, const Value& value) {
  if constexpr (requires { put(sink, value); }) {
    put({sink.out, sink.prefix + name + "."}, value);
  } else {
    sink.out[sink.prefix + name] = text(value);
  }
}

template <typename... Values>
void put_all(const Sink& sink, std::string names, const Values&... values) {
  const auto next = [&names] {
    const size_t comma = names.find(", ");
    std::string name = names.substr(0, comma);
    names.erase(0, comma == std::string::npos ? comma : comma + 2);
    return name;
  };
  (put_one(sink, next(), values), ...);
}

// The list of the members of `row`, all of them and in their order, and all of them into `sink`.
#define WQ_FIELDS(row, ...)          \
  const auto& [__VA_ARGS__] = (row); \
  put_all(sink, #__VA_ARGS__, __VA_ARGS__)

void put(const Sink& sink, const Backoff& row) {
  WQ_FIELDS(row, kind, base_ms, max_ms, list_ms, jitter_permille);
}

void put(const Sink& sink, const RateLimit& row) {
  WQ_FIELDS(row, count, burst, window_ms);
}

void put(const Sink& sink, const Throttle& row) {
  WQ_FIELDS(row, count, window_ms, cool_ms);
}

void put(const Sink& sink, const Breaker& row) {
  WQ_FIELDS(row, cool_until_ms, failed_ms);
}

void put(const Sink& sink, const QueueConfig& row) {
  WQ_FIELDS(row, max_running, max_retries, lease_ms, durability, status, backoff, version,
            job_ttl_ms, rate, group_limit, key_rate, throttle, max_depth, max_bytes, full_policy,
            dead_max_count, dead_max_age_ms, pause_kept, encrypt, compress_min_bytes,
            keep_done_count, keep_done_age_ms);
}

void put(const Sink& sink, const QueueTotals& row) {
  WQ_FIELDS(row, enqueued, leased, acked, nacked, failed, released, expired, dead, replayed,
            cancelled, cleared, jobs_expired, dropped, dead_dropped, chain_cut, skipped);
}

void put(const Sink& sink, const JobTraits& row) {
  WQ_FIELDS(row, expires_ms, retry_until_ms, timeout_ms, max_exceptions, fail_on_timeout, key_rule,
            key, key_ms, idempotency_key, idempotency_ms, batch, chain, chain_jobs, group,
            group_limit, overlap, overlap_ms, tenant, rate_key, rate_cost);
}

void put(const Sink& sink, const Packing& row) {
  WQ_FIELDS(row, flags, plain_bytes);
}

void put(const Sink& sink, const CronState& row) {
  WQ_FIELDS(row, paused, next_due_ms, last_slot_ms, created_ms, fired, missed);
}

void put_envelope(const Sink& sink, const Envelope& row) {
  WQ_FIELDS(row, payload, headers, backoff, enqueued_ms, traits, packing);
}

void put_job(const Sink& sink, const JobRow& row) {
  WQ_FIELDS(row, queue, state, priority, reason, epoch, attempts, exceptions, failures,
            max_attempts, replays, position, generation, since_ms, leased_ms, deadline_ms,
            first_dead_ms, last_error, progress, key_until_ms, deadline_set_ms);
}

void put_queue(const Sink& sink, const QueueRow& row) {
  WQ_FIELDS(row, id, name, config, totals, counts, epochs, next_tail_seq, next_front_seq,
            next_dead_seq, created_ms, lanes, rate_tat_ns, bytes, bytes_known, history_first,
            history_next, turns, expiring);
}

void put_schedule(const Sink& sink, const CronRow& row) {
  WQ_FIELDS(row, expression, zone, catch_up, max_attempts, priority, envelope);
}

void put_batch(const Sink& sink, const BatchRow& row) {
  WQ_FIELDS(row, flags, created_ms, finished_ms, total, pending, done, failed, cancelled, follow_up,
            on_complete, on_failure);
}

void put_kv(const Sink& sink, const KvRow& row) {
  WQ_FIELDS(row, version, expires_ms, value);
}

void put_key(const Sink& sink, const KeyRow& row) {
  WQ_FIELDS(row, holder, until_ms);
}

void put_done(const Sink& sink, const DoneRow& row) {
  WQ_FIELDS(row, id, generation, enqueued_ms, leased_ms, done_ms, batch, attempts, exceptions,
            replays, priority, result, sealed);
}

void put_rate_key(const Sink& sink, const GateRow& row) {
  WQ_FIELDS(row, limit, tat_ns, breaker, number, lines);
}

// What a row has of which nobody said anything.
StoreFields default_rows() {
  StoreFields out;
  put_job({out["job"], ""}, JobRow());
  put_envelope({out["job"], ""}, Envelope());
  put_queue({out["queue"], ""}, QueueRow());
  put_schedule({out["schedule"], ""}, CronRow());
  put_envelope({out["schedule"], "job."}, Envelope());
  put({out["schedule"], ""}, CronState());
  put_batch({out["batch"], ""}, BatchRow());
  put_kv({out["kv"], ""}, KvRow());
  put_key({out["key"], ""}, KeyRow());
  put_done({out["done"], ""}, DoneRow());
  put_rate_key({out["rate"], ""}, GateRow());
  return out;
}

struct Reader {
  const Store& store;
  const Keyring& keys;
  int64_t now_ms;
  StoreFields out;
  std::map<QueueId, QueueRow> queues;
  // By queue: held or not, priority, place, id.
  std::map<std::string, std::set<std::tuple<bool, int, uint64_t, JobId>>> order;

  template <typename Visit>
  void each(Family family, Visit&& visit) {
    const auto cursor = store.scan(family, std::string(), std::string());
    for (; cursor->valid(); cursor->next()) visit(cursor->key(), cursor->value());
    EXPECT_TRUE(cursor->status().ok()) << cursor->status().message();
  }
  std::string queue_name(QueueId id) {
    const auto found = queues.find(id);
    return found == queues.end() ? "no queue" : found->second.name;
  }
  void put_opened(const Sink& sink, Envelope envelope, QueueId queue, JobId id) {
    std::vector<std::byte> storage;
    if (envelope.packing.is_packed()) {
      const auto payload = unpack_payload(keys, envelope, queue_name(queue), id, storage);
      EXPECT_TRUE(payload.ok()) << payload.status().message();
      if (payload.ok()) envelope.payload = payload.value();
    }
    put_envelope(sink, envelope);
  }

  void read_meta() {
    each(Family::meta, [&](std::string_view key, std::string_view value) {
      if (!parse_queue_row_key(key)) return;
      Result<QueueRow> row = decode_queue_row(as_bytes(value));
      ASSERT_TRUE(row.ok());
      put_queue({out["queue " + row.value().name], ""}, row.value());
      queues[row.value().id] = std::move(row).value();
    });
    each(Family::meta, [&](std::string_view key, std::string_view value) {
      const auto gate = parse_gate_row_key(key);
      if (!gate || gate->name.kind != GateName::rate_key) return;
      const auto row = decode_gate_row(GateName::rate_key, value);
      ASSERT_TRUE(row);
      // Of others only jobs wait: it says nothing any more.
      const Throttle& throttle = queues[gate->queue].config.throttle;
      const int64_t used_until_ms = row->tat_ns / 1'000'000;
      if (std::max(used_until_ms, row->breaker.kept_until_ms(throttle)) <= now_ms) return;
      put_rate_key({out["rate " + queue_name(gate->queue) + "/" + std::string(gate->name.key)], ""},
                   *row);
    });
  }
  void read_job(JobId id) {
    const Result<std::optional<std::string>> body = store.get(Family::job, job_body_key(id));
    ASSERT_TRUE(body.ok() && body.value());
    const auto decoded = decode_job_row(as_bytes(*body.value()));
    ASSERT_TRUE(decoded.ok());
    JobRow row = decoded.value().row;
    const Result<std::optional<std::string>> state = store.get(Family::job, job_state_key(id));
    ASSERT_TRUE(state.ok());
    if (state.value()) row = decode_job_row(as_bytes(*state.value())).value().row;
    const auto queue = queues.find(row.queue);
    if (queue == queues.end() ||
        row.epoch != queue->second.epochs[static_cast<size_t>(row.state)]) {
      return;  // of a clear
    }
    Fields& fields = out["job " + std::to_string(id)];
    put_job({fields, ""}, row);
    fields["queue"] = queue->second.name;
    put_opened({fields, ""}, decode_envelope(decoded.value().envelope).value(), row.queue, id);
    const bool held = row.state == JobState::leased || row.state == JobState::running;
    if (held || row.state == JobState::ready) {
      order["ready " + queue->second.name].insert({!held, row.priority, row.position, id});
    } else {
      const bool dead = row.state == JobState::dead;
      order[(dead ? "dead " : "delayed ") + queue->second.name].insert({true, 0, row.position, id});
    }
  }
  void read_jobs() {
    std::vector<JobId> ids;
    each(Family::job, [&](std::string_view key, std::string_view) {
      const auto parsed = parse_job_key(key);
      if (parsed && !parsed->is_state) ids.push_back(parsed->id);
    });
    for (const JobId id : ids) read_job(id);
    for (const auto& [queue, jobs] : order) {
      // By priority, in each of them those that are held first.
      std::map<int, std::string> by_priority;
      for (const auto& [waits, priority, place, id] : jobs) {
        by_priority[priority] += std::to_string(id) + " ";
      }
      for (const auto& [priority, ids_text] : by_priority) {
        out["order " + queue][std::to_string(priority)] = ids_text;
      }
    }
  }
  void read_rows() {
    each(Family::cron, [&](std::string_view key, std::string_view value) {
      if (const auto name = parse_cron_row_key(key)) {
        const CronRow row = decode_cron_row(as_bytes(value)).value();
        Fields& fields = out["schedule " + std::string(*name)];
        put_schedule({fields, ""}, row);
        fields["envelope"] = "";  // told opened
        const auto state = store.get(Family::cron, cron_state_key(*name)).value();
        const CronStateRow state_row = *decode_cron_state(*state);
        const auto& [queue, cron_state] = state_row;
        fields["queue"] = queue_name(queue);
        put({fields, ""}, cron_state);
        put_opened({fields, "job."}, decode_envelope(row.envelope).value(), queue,
                   sealed_for_any_job);
      }
    });
    each(Family::batch, [&](std::string_view key, std::string_view value) {
      const auto name = parse_batch_key(key);
      if (name->kind != 'b') return;
      put_batch({out["batch " + std::to_string(name->batch)], ""}, *decode_batch_row(value));
    });
    each(Family::kv, [&](std::string_view key, std::string_view value) {
      const auto name = parse_kv_row_key(key);
      if (name && decode_kv_row(value)->is_live(now_ms))
        put_kv({out["kv " + std::string(*name)], ""}, *decode_kv_row(value));
    });
    each(Family::unique, [&](std::string_view key, std::string_view value) {
      const auto name = parse_key_row_key(key);
      if (!name || name->kind != KeyKind::idempotency) return;
      if (decode_key_row(value)->until_ms <= now_ms) return;
      put_key({out["key " + queue_name(name->queue) + "/" + std::string(name->key)], ""},
              *decode_key_row(value));
    });
    each(Family::history, [&](std::string_view key, std::string_view value) {
      const auto name = parse_history_key(key);
      if (name->by_id) return;
      const DoneRow row = *decode_done_row(value);
      const QueueRow& queue = queues.at(name->queue);
      if (!is_kept(queue, name->number, row, now_ms)) return;
      put_done({out["done " + queue.name + "/" + std::to_string(row.id)], ""}, row);
    });
  }
};

std::string kind_of(const std::string& item) {
  return item.substr(0, item.find(' '));
}

}  // namespace

StoreFields fields_of(const Store& store, const Keyring& keys, int64_t now_ms) {
  Reader reader{store, keys, now_ms, {}, {}, {}};
  reader.read_meta();
  reader.read_jobs();
  reader.read_rows();
  return std::move(reader.out);
}

StoreFields fields_of(const std::string& directory, const Keyring& keys, int64_t now_ms) {
  StoreOptions options;
  options.directory = directory + "/db";
  options.temp_directory = directory + "/tmp";
  options.read_only = true;
  const auto store = open_rocks_store(options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  if (!store.ok()) return {};
  StoreFields out = fields_of(*store.value(), keys, now_ms);
  EXPECT_TRUE(store.value()->close().ok());
  return out;
}

std::vector<std::string> unused_fields(const StoreFields& rows) {
  std::vector<std::string> out;
  for (const auto& [kind, defaults] : default_rows()) {
    for (const auto& [field, value] : defaults) {
      const bool used = std::any_of(rows.begin(), rows.end(), [&](const auto& item) {
        if (kind_of(item.first) != kind) return false;
        const auto found = item.second.find(field);
        return found != item.second.end() && found->second != value;
      });
      if (!used) out.push_back(kind + "." + field);
    }
  }
  return out;
}

bool is_given_anew(const std::string& field) {
  static const std::set<std::string> given{
      // The queue of a job is told by its name. Its place is in the order.
      "job.epoch", "job.position", "job.deadline_ms", "job.deadline_set_ms",
      // Numbers and places, and what is counted from the jobs.
      "queue.id", "queue.counts", "queue.epochs", "queue.next_tail_seq", "queue.next_front_seq",
      "queue.next_dead_seq", "queue.lanes", "queue.bytes", "queue.bytes_known", "queue.expiring",
      "queue.history_first", "queue.history_next", "queue.turns",
      "schedule.envelope",  // told opened
      "schedule.job.enqueued_ms",
      "kv.version",  // the LSN of the change
      "rate.limit", "rate.number", "rate.lines"};
  return given.contains(field) || field.starts_with("schedule.job.traits.");  // it never has any
}

StoreFields as_moved(StoreFields rows) {
  for (auto& [item, fields] : rows) {
    const std::string kind = kind_of(item);
    std::erase_if(fields,
                  [&](const auto& field) { return is_given_anew(kind + "." + field.first); });
    const auto state = fields.find("state");
    const bool held = state != fields.end() && (state->second == text(JobState::leased) ||
                                                state->second == text(JobState::running));
    if (kind == "job" && held) state->second = text(JobState::ready);
  }
  return rows;
}

std::string difference(const StoreFields& expected, const StoreFields& found) {
  std::string out;
  for (const auto& [item, fields] : expected) {
    const auto other = found.find(item);
    if (other == found.end()) {
      out += item + " is missing\n";
      continue;
    }
    for (const auto& [field, value] : fields) {
      const auto there = other->second.find(field);
      const std::string now = there == other->second.end() ? "nothing" : there->second;
      if (now != value) out += item + ": " + field + " is '" + now + "', was '" + value + "'\n";
    }
  }
  for (const auto& [item, fields] : found) {
    if (!expected.contains(item)) out += item + " is new\n";
  }
  return out;
}

}  // namespace wq
