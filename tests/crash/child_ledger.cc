#include "crash/child_ledger.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace wq::crash {
namespace {

constexpr uint64_t queue_jobs_max = 8;
constexpr size_t open_flows_max = 4;
constexpr std::string_view schedule_name = "each second";
constexpr std::string_view last_row = "last";

std::string pair_text(uint64_t a, uint64_t b) {
  return std::to_string(a) + " " + std::to_string(b);
}
std::string counter_row(uint64_t counter) {
  return "counter-" + std::to_string(counter);
}

wq_job_spec spec_of(const std::string& payload) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = bytes_of(payload);
  return spec;
}

// Of a row that counts or names; 0 if it is not there.
uint64_t row_value(wq_store* store, std::string_view key) {
  wq_kv_page* page = nullptr;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_kv_get(store, key.data(), key.size(), &page, &err);
  if (code != WQ_OK && code != WQ_EMPTY) complain("kv_get", code, err);
  wq_kv_row row = WQ_KV_ROW_INIT;
  if (code == WQ_OK) wq_kv_page_row(page, 0, &row);
  const uint64_t value = std::strtoull(std::string(view(row.value)).c_str(), nullptr, 10);
  wq_kv_page_free(&page);
  return value;
}

}  // namespace

void Ledger::tell_known(const std::string& path) {
  tell_rows();
  std::ifstream known(path);
  for (std::string line; std::getline(known, line);) {
    std::istringstream in(line);
    char type = 0;
    uint64_t number = 0;
    uint64_t id = 0;
    in >> type >> number >> id;
    if (type == 'f') known_flows_.push_back({number, id, false});
    if (type != 't') continue;
    wq_batch* batch = nullptr;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_job_get(shared_.queues[txn_queue], id, &batch, &err);
    if (code != WQ_OK && code != WQ_E_NOT_FOUND) complain("job_get", code, err);
    Line("J").add(number).add(code == WQ_OK ? 1 : 0).send();
    wq_batch_free(&batch);
  }
  tell_flows();
  for (const Flow& flow : known_flows_) {
    if (flow.id != 0 && !flow.sealed) flows_.push_back(flow);
  }
  put_schedule();
}

void Ledger::tell_rows() {
  for (uint64_t i = 0; i <= counter_count; ++i) {
    Line("N").add(i).add(row_value(shared_.store, counter_row(i))).send();
  }
  Line("B").add(row_value(shared_.store, last_row)).send();
}

void Ledger::tell_flows() {
  for (Flow& flow : known_flows_) {
    wq_flow_status status = WQ_FLOW_STATUS_INIT;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_flow_get_status(shared_.store, flow.id, &status, &err);
    if (code != WQ_OK && code != WQ_E_NOT_FOUND) complain("flow_get_status", code, err);
    Line line("P");
    line.add(flow.number).add(code == WQ_OK ? 1 : 0).add(status.flags).add(status.total);
    line.add(status.pending).add(status.done).add(status.failed).add(status.cancelled);
    line.add(status.follow_up_id).send();
    flow.sealed = (status.flags & WQ_FLOW_SEALED) != 0;
    if (code != WQ_OK) flow.id = 0;
  }
}

void Ledger::put_schedule() {
  wq_cron_spec spec = WQ_CRON_SPEC_INIT;
  spec.expression = bytes_of("@every 1s");
  const std::string payload = pair_text(0, 0);
  const wq_job_spec job = spec_of(payload);
  spec.job = &job;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_cron_put(shared_.queues[cron_queue], schedule_name.data(),
                                   schedule_name.size(), &spec, nullptr, &err);
  if (code != WQ_OK) complain("cron_put", code, err);
}

uint32_t Ledger::pick_level() {
  if (level_ != 0) return level_;
  const uint64_t dice = prng_.below(10);
  return dice < 3 ? WQ_MEMORY : dice < 9 ? WQ_PROCESS : WQ_POWER;
}

bool Ledger::has_room(uint32_t queue, uint64_t jobs_max) {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  wq_queue_get_stats(shared_.queues[queue], &stats, nullptr);
  return stats.ready + stats.delayed + stats.leased + stats.running + stats.dead < jobs_max;
}

void Ledger::step() {
  const uint64_t dice = prng_.below(100);
  if (dice < 10) {
    add_to_counter();
  } else if (dice < 20) {
    start_chain();
  } else if (dice < 40) {
    work_on_flow();
  } else if (dice < 60) {
    transact();
  } else {
    constexpr std::array<uint32_t, 5> queues = {chain_queue, flow_queue, chain_queue, flow_queue,
                                                cron_queue};
    for (const Held& held : lease(queues[prng_.below(queues.size())], 3)) {
      if (prng_.below(6) != 0) ack(held);  // else its lease runs out
    }
  }
}

void Ledger::begin_drain() {
  level_ = WQ_POWER;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      wq_cron_remove(shared_.store, schedule_name.data(), schedule_name.size(), nullptr, &err);
  if (code != WQ_OK) complain("cron_remove", code, err);
}

void Ledger::drain_step() {
  for (Flow& flow : flows_) {
    if (!flow.sealed) seal_flow(flow);
  }
  for (const uint32_t queue : {chain_queue, flow_queue, txn_queue, cron_queue}) {
    for (const Held& held : lease(queue, 10)) ack(held);
  }
}

void Ledger::start_chain() {
  if (!has_room(chain_queue, queue_jobs_max)) return;
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  const uint64_t chain = next_++;
  std::array<std::string, chain_steps> payloads;
  std::array<wq_job_spec, chain_steps> specs;
  std::array<wq_next_job, chain_steps - 1> follow;
  for (uint64_t i = 0; i < chain_steps; ++i) {
    payloads[i] = pair_text(chain, i);
    specs[i] = spec_of(payloads[i]);
    if (i == 0) continue;
    follow[i - 1] = WQ_NEXT_JOB_INIT;
    follow[i - 1].spec = &specs[i];
  }
  specs[0].chain = follow.data();
  specs[0].chain_count = follow.size();
  specs[0].chain_size = sizeof follow[0];
  intent(op, 'c', level).add(chain).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_enqueue(shared_.queues[chain_queue], &specs[0], &call, nullptr, &err);
  if (code != WQ_OK) complain("enqueue of a chain", code, err);
  result(op, code, call).send();
}

void Ledger::start_flow() {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  Flow flow{next_++, 0, false};
  const std::string name = queue_name(flow_queue);
  const std::string payloads[] = {pair_text(flow.number, flow_end),
                                  pair_text(flow.number, flow_failed_end)};
  const wq_job_spec specs[] = {spec_of(payloads[0]), spec_of(payloads[1])};
  wq_next_job ends[] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
  for (int i = 0; i < 2; ++i) {
    ends[i].queue_name = bytes_of(name);
    ends[i].spec = &specs[i];
  }
  wq_flow_options options = WQ_FLOW_OPTIONS_INIT;
  options.on_complete = &ends[0];
  options.on_failure = &ends[1];
  intent(op, 'f', level).add(flow.number).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_flow_create(shared_.store, &options, &flow.id, &call, &err);
  if (code != WQ_OK) return complain("flow_create", code, err);
  result(op, code, call).add(flow.id).send();
  flows_.push_back(flow);
  known_flows_.push_back(flow);
}

void Ledger::work_on_flow() {
  if (flows_.size() < open_flows_max && (flows_.empty() || prng_.below(3) == 0)) {
    return start_flow();
  }
  const size_t index = prng_.below(flows_.size());
  if (prng_.below(2) == 0 && has_room(flow_queue, 2 * queue_jobs_max)) {
    return join_flow(flows_[index]);
  }
  seal_flow(flows_[index]);
  flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Ledger::join_flow(Flow& flow) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  const size_t n = 1 + prng_.below(4);
  std::vector<std::string> payloads(n);
  std::vector<wq_job_spec> specs(n);
  for (size_t i = 0; i < n; ++i) {
    payloads[i] = pair_text(flow.number, i);
    specs[i] = spec_of(payloads[i]);
    specs[i].flow = flow.id;
  }
  intent(op, 'g', level).add(flow.number).add(flow.id).add(n).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_enqueue_many(shared_.queues[flow_queue], specs.data(), n, sizeof specs[0],
                                       0, &call, nullptr, 0, nullptr, &err);
  if (code != WQ_OK) complain("join of a flow", code, err);
  result(op, code, call).send();
}

void Ledger::seal_flow(Flow& flow) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  intent(op, 'h', level).add(flow.number).add(flow.id).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_flow_seal(shared_.store, flow.id, &call, &err);
  if (code != WQ_OK) complain("flow_seal", code, err);
  result(op, code, call).send();
  flow.sealed = true;
}

void Ledger::add_to_counter() {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  const uint64_t counter = prng_.below(counter_count);
  const std::string key = counter_row(counter);
  intent(op, 'n', level).add(counter).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  int64_t sum = 0;
  const int32_t code =
      wq_kv_add(shared_.store, key.data(), key.size(), 1, nullptr, &call, &sum, &err);
  if (code != WQ_OK) complain("kv_add", code, err);
  result(op, code, call).add(sum).send();
}

// "This one is done, here is the next, and that is how many there were."
void Ledger::transact() {
  const std::vector<Held> held = lease(txn_queue, 1);
  if (held.empty() && !has_room(txn_queue, queue_jobs_max)) return;
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  const uint64_t n = next_++;
  const std::string payload = pair_text(n, 0);
  const std::string value = std::to_string(n);
  const std::string row = counter_row(counter_count);
  const wq_job_spec spec = spec_of(payload);
  wq_settle_item settle = WQ_SETTLE_ITEM_INIT;
  settle.kind = WQ_SETTLE_ACK;
  wq_txn_op ops[] = {WQ_TXN_OP_INIT, WQ_TXN_OP_INIT, WQ_TXN_OP_INIT, WQ_TXN_OP_INIT};
  wq_txn_result results[4] = {WQ_TXN_RESULT_INIT, WQ_TXN_RESULT_INIT, WQ_TXN_RESULT_INIT,
                              WQ_TXN_RESULT_INIT};
  ops[0].kind = WQ_TXN_ENQUEUE;
  ops[0].queue = shared_.queues[txn_queue];
  ops[0].spec = &spec;
  ops[1].kind = WQ_TXN_KV_ADD;
  ops[1].key = bytes_of(row);
  ops[1].delta = 1;
  ops[2].kind = WQ_TXN_KV_PUT;
  ops[2].key = bytes_of(last_row);
  ops[2].value = bytes_of(value);
  Line line = intent(op, 't', level);
  line.add(n).add(held.empty() ? 0 : held[0].a);
  if (!held.empty()) {
    settle.id = held[0].token.id;
    settle.generation = held[0].token.generation;
    ops[3].kind = WQ_TXN_SETTLE;
    ops[3].queue = ops[0].queue;
    ops[3].settle = &settle;
  }
  line.add(settle.id).add(settle.generation).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  size_t failed = 0;
  const int32_t code = wq_transact(shared_.store, ops, held.empty() ? 3 : 4, sizeof ops[0], &call,
                                   results, sizeof results[0], &failed, &err);
  if (code != WQ_OK && code != WQ_STALE) complain("transact", code, err);
  result(op, code, call).add(results[1].sum).add(results[0].job_id).send();
}

std::vector<Ledger::Held> Ledger::lease(uint32_t queue, uint32_t max_jobs) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = max_jobs;
  options.lease_ms = 5 + static_cast<int64_t>(prng_.below(40));
  intent(op, 'l', level).add(queue).send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  wq_batch* batch = nullptr;
  const int32_t code =
      wq_lease(shared_.store, &shared_.queues[queue], 1, &options, nullptr, &call, &batch, &err);
  if (code != WQ_OK && code != WQ_EMPTY) complain("lease of the ledger", code, err);
  Line answer = result(op, code, call);
  std::vector<Held> out;
  for (size_t i = 0; i < wq_batch_count(batch); ++i) {
    wq_job job = WQ_JOB_INIT;
    wq_batch_job(batch, i, &job);
    Held held;
    std::istringstream(std::string(view(job.payload))) >> held.a >> held.b;
    for (size_t h = 0; queue == cron_queue && h < job.headers_count; ++h) {
      wq_header header{};
      wq_batch_header(batch, i, h, &header);
      if (view(header.name) != "wq-slot-ms") continue;
      held.a = std::strtoull(std::string(view(header.value)).c_str(), nullptr, 10);
    }
    held.token = {queue, job.id, job.generation};
    answer.add(held.a).add(held.b).add(job.id).add(job.generation);
    out.push_back(held);
  }
  answer.send();
  wq_batch_free(&batch);
  return out;
}

void Ledger::ack(const Held& held) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  const Token& token = held.token;
  intent(op, 'a', level)
      .add(held.a)
      .add(held.b)
      .add(token.queue)
      .add(token.id)
      .add(token.generation)
      .send();
  wq_call call = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_ack(shared_.queues[token.queue], token.id, token.generation, &call, &err);
  if (code != WQ_OK && code != WQ_STALE) complain("ack of the ledger", code, err);
  result(op, code, call).send();
}

}  // namespace wq::crash
