// ops_store.cc: operations on the store and its backups.
#include <list>

#include "runner.hpp"

namespace conformance {
namespace {

// N, or N:M, are keys with the id N: 32 bytes N or M. They stand in `bytes`.
std::vector<wq::EncryptionKey> keys_of(const Line& line, std::list<std::string>& bytes) {
  std::vector<wq::EncryptionKey> keys;
  for (const std::string& key : line.list("keys")) {
    const std::vector<std::string> parts = split(key, ':');
    bytes.emplace_back(32, static_cast<char>(std::stoul(parts.back())));
    keys.push_back({static_cast<std::uint32_t>(std::stoul(parts.front())), bytes.back()});
  }
  return keys;
}

wq::Result<wq::Store> open_store(const Runner& r, const Line& line) {
  std::list<std::string> keys;
  wq::StoreOptions options;
  options.keys = keys_of(line, keys);
  options.current_key = line.u32("current_key");
  options.create = !line.flag("no_create");
  options.expire_leases = line.flag("expire_leases");
  options.events_max = line.u32("events_max");
  options.payload_bytes_max = static_cast<std::uint64_t>(line.number_of("payload_bytes_max"));
  options.quota_bytes = static_cast<std::uint64_t>(line.number_of("quota_bytes"));
  options.memory_budget_bytes = static_cast<std::uint64_t>(line.number_of("memory_budget_bytes"));
  options.segment_bytes = static_cast<std::uint64_t>(line.number_of("segment_bytes"));
  return wq::Store::open(r.path(line.text("store", "store")), options);
}

void open(Runner& r, const Line& line) {
  auto store = open_store(r, line);
  r.print(store ? "ok" : failure(store));
  if (store) r.open(*std::move(store));
}

void open_again(Runner& r, const Line& line) {
  const auto store = open_store(r, line);
  r.print(store ? "ok" : failure(store));
}

void close(Runner& r, const Line&) {
  r.store.close();
  r.print("ok");
}

void shutdown(Runner& r, const Line& line) {
  r.print(outcome(r.store.shutdown(line.millis("timeout_ms"))));
}

void sync(Runner& r, const Line&) {
  r.print(outcome(r.store.sync()));
}

void checkpoint(Runner& r, const Line&) {
  r.print(outcome(r.store.checkpoint()));
}

void tick(Runner& r, const Line&) {
  const auto due = r.store.tick();
  r.print(due ? "ok" : failure(due));
}

void recovery(Runner& r, const Line&) {
  const auto told = r.store.recovery();
  if (!told) return r.print(failure(told));
  r.print("ok leases_kept=" + std::to_string(told->leases_kept) +
          " leases_expired=" + std::to_string(told->leases_expired));
}

void queues(Runner& r, const Line&) {
  const auto names = r.store.queues();
  if (!names) return r.print(failure(names));
  r.print("ok");
  for (const std::string& name : *names) r.row(queue_word(name));
}

void store_stats(Runner& r, const Line&) {
  const auto stats = r.store.stats();
  if (!stats) return r.print(failure(stats));
  constexpr std::string_view words[] = {"none", "open", "draining", "poisoned"};
  r.print("ok status=" + std::string(words[stats->status]) +
          " queues=" + std::to_string(stats->queues) + " ready=" + std::to_string(stats->ready) +
          " delayed=" + std::to_string(stats->delayed) +
          " leased=" + std::to_string(stats->leased) +
          " running=" + std::to_string(stats->running) + " dead=" + std::to_string(stats->dead));
}

void store_keys(Runner& r, const Line&) {
  const auto keys = r.store.keys();
  if (!keys) return r.print(failure(keys));
  r.print("ok");
  for (const wq::KeyUse& key : *keys) {
    r.row(std::to_string(key.id) + (key.payloads == 0 ? "" : " payloads=set") +
          if_set("known", (key.flags & WQ_KEY_KNOWN) != 0) +
          if_set("current", (key.flags & WQ_KEY_CURRENT) != 0));
  }
}

void metrics(Runner& r, const Line&) {
  const auto text = r.store.metrics();
  if (!text) return r.print(failure(text));
  r.print(text->empty() ? "empty" : "ok");
}

void verify(Runner& r, const Line&) {
  const auto report = r.store.verify();
  if (!report) return r.print(failure(report));
  r.print("ok jobs=" + std::to_string(report->jobs) +
          " problems=" + std::to_string(report->problems));
}

void print_backup(Runner& r, const wq::Result<wq::Answer<wq::BackupReport>>& report) {
  r.print(report ? word(report->outcome) : failure(report));
}

void backup(Runner& r, const Line& line) {
  print_backup(r, r.store.backup(r.path(line.must("dir"))));
}

void backup_verify(Runner& r, const Line& line) {
  print_backup(r, wq::backup_verify(r.path(line.must("dir"))));
}

void restore(Runner& r, const Line& line) {
  print_backup(r, wq::backup_restore(r.path(line.must("dir")), r.path(line.must("store"))));
}

void events_op(Runner& r, const Line&) {
  bool first = true;
  for (;;) {
    const auto page = r.store.events(r.cursor);
    if (!page) return r.print(failure(page));
    if (page->outcome != wq::Outcome::ok) {
      if (first) r.print(word(page->outcome));
      return;
    }
    for (const wq::StoreEvent& event : page->events) {
      if (event.kind == WQ_EVENT_CHECKPOINT) continue;
      if (std::exchange(first, false)) r.print("ok");
      std::string text(events.at(event.kind));
      if (event.queue_name_len) {
        text += " queue=" + queue_word(std::string_view(event.queue_name, event.queue_name_len));
      }
      const bool of_flow = event.kind == WQ_EVENT_FLOW_FINISHED;
      if (of_flow) text += " flow=" + r.flow_name(event.job_id);
      if (event.job_id && !of_flow) text += " job=" + r.name_of(event.job_id);
      text += if_set("count", event.count);
      if (event.dead_reason) text += " dead_reason=" + std::string(reasons.at(event.dead_reason));
      r.row(text);
    }
  }
}

}  // namespace

const Table store_ops{{"open", open},       {"open_again", open_again},
                      {"close", close},     {"shutdown", shutdown},
                      {"sync", sync},       {"checkpoint", checkpoint},
                      {"tick", tick},       {"recovery", recovery},
                      {"queues", queues},   {"store_stats", store_stats},
                      {"metrics", metrics}, {"verify", verify},
                      {"backup", backup},   {"backup_verify", backup_verify},
                      {"restore", restore}, {"events", events_op},
                      {"store_keys", store_keys}};

}  // namespace conformance
