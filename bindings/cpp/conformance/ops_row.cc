// ops_row.cc: kv rows, locks and transactions.
#include "runner.hpp"

namespace conformance {
namespace {

void get(Runner& r, const Line& line) {
  const auto row = r.store.kv().get(line.must("key"));
  if (!row) return r.print(failure(row));
  if (!*row) return r.print(word(row->outcome));
  if (line.has("as")) r.versions[line.text("as")] = (*row)->version;
  r.print("ok value=" + quoted((*row)->value) + ((*row)->expires ? " expires_ms=set" : ""));
}

void put(Runner& r, const Line& line) {
  const auto version =
      r.store.kv().put(line.must("key"), line.text("value"), kv_options(r, line), call_of(line));
  if (!version) return r.print(failure(version));
  if (*version && line.has("as")) r.versions[line.text("as")] = **version;
  r.print(word(version->outcome));
}

void add(Runner& r, const Line& line) {
  const auto sum = r.store.kv().add(line.must("key"), line.number_of("delta"), kv_options(r, line),
                                    call_of(line));
  if (!sum) return r.print(failure(sum));
  r.print(*sum ? "ok sum=" + std::to_string(**sum) : word(sum->outcome));
}

void erase(Runner& r, const Line& line) {
  r.print(outcome(r.store.kv().erase(line.must("key"), kv_options(r, line), call_of(line))));
}

void list(Runner& r, const Line& line) {
  std::string after = line.text("after");
  std::vector<wq::KvRow> rows;
  std::size_t pages = 0;
  for (bool more = true; more;) {
    const auto page = r.store.kv().list(line.text("prefix"), after, line.u32("limit", 100));
    if (!page) return r.print(failure(page));
    more = page->more;
    if (page->rows.empty()) break;
    pages++;
    after = page->rows.back().key;
    rows.insert(rows.end(), page->rows.begin(), page->rows.end());
  }
  r.print(pages == 0 ? "empty" : "ok pages=" + std::to_string(pages));
  for (const wq::KvRow& row : rows) r.row(quoted(row.key) + " value=" + quoted(row.value));
}

void take(Runner& r, const Line& line) {
  const wq::Lock lock = r.store.lock(line.must("key"), line.must("owner"));
  r.print(outcome(lock.take(line.millis("ttl_ms"), call_of(line))));
}

void extend(Runner& r, const Line& line) {
  const wq::Lock lock = r.store.lock(line.must("key"), line.must("owner"));
  r.print(outcome(lock.extend(line.millis("ttl_ms"), call_of(line))));
}

void release(Runner& r, const Line& line) {
  const wq::Lock lock = r.store.lock(line.must("key"), line.must("owner"));
  r.print(outcome(lock.release(call_of(line))));
}

void add_part(Runner& r, wq::Transaction& transaction, const Line& part) {
  const std::string& kind = part.must("kind");
  if (kind == "enqueue") {
    transaction.enqueue(r.queue_of(part), part.text("payload"), job_options(r, part));
  } else if (kind == "settle") {
    transaction.settle(r.queue_of(part), settle_of(r, part, part.must("settle")));
  } else if (kind == "kv_put") {
    transaction.kv_put(part.must("key"), part.text("value"), kv_options(r, part));
  } else if (kind == "kv_add") {
    transaction.kv_add(part.must("key"), part.number_of("delta"), kv_options(r, part));
  } else if (kind == "kv_erase") {
    transaction.kv_erase(part.must("key"), kv_options(r, part));
  } else if (kind == "kv_check") {
    transaction.kv_check(part.must("key"), kv_options(r, part));
  } else {
    throw ScriptError{"no operation of a transaction is called " + kind};
  }
}

void transact(Runner& r, const Line& line) {
  wq::Transaction transaction;
  for (const Line& part : line.parts) add_part(r, transaction, part);
  const wq::TransactReport report = r.store.transact(transaction, call_of(line));
  std::string text = outcome(report.result);
  const bool done = report.result && *report.result == wq::Outcome::ok;
  if (!done && report.failed < transaction.size()) {
    text += " failed=" + std::to_string(report.failed);
  }
  r.print(text);
  if (!done) return;
  for (std::size_t i = 0; i < line.parts.size(); i++) {
    const Line& part = line.parts[i];
    const std::string& as = part.text("as");
    if (!as.empty()) r.bind(as, part.text("q"), {report.results[i].job_id, 0});
    if (part.text("kind") == "kv_add") r.row("sum=" + std::to_string(report.results[i].sum));
  }
}

}  // namespace

wq::KvOptions kv_options(Runner& r, const Line& line) {
  wq::KvOptions options;
  options.ttl = line.millis("ttl_ms");
  options.if_absent = line.flag("if_absent");
  if (line.has("version")) options.if_version = r.versions.at(line.text("version"));
  if (line.has("if_value")) options.if_value = line.text("if_value");
  return options;
}

const Table row_ops{{"kv_get", get},         {"kv_put", put},           {"kv_add", add},
                    {"kv_erase", erase},     {"kv_list", list},         {"lock_take", take},
                    {"lock_extend", extend}, {"lock_release", release}, {"transact", transact}};

}  // namespace conformance
