// The drain of a relay: jobs of the queue go to Redis in order, and leave the queue in one change
// with the counts of what became of them.
#include "relay/relay.h"
#include "relay/store_calls.h"

namespace wq::relay {
namespace {

constexpr uint64_t step_jobs = 100;
// Far longer than a step takes: Redis is given up on long before.
constexpr int64_t lease_ms = 10 * 60 * 1000;

wq_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

class Batch {
 public:
  Batch() = default;
  ~Batch() { wq_batch_free(&batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  wq_batch* get() const { return batch_; }
  wq_batch** out() { return &batch_; }

 private:
  wq_batch* batch_ = nullptr;
};

bool is_passing(Verdict verdict) {
  return verdict == Verdict::unavailable || verdict == Verdict::unknown;
}

}  // namespace

Drained Relay::drain(uint64_t max_jobs) {
  const std::lock_guard drain_lock(drain_mutex_);
  Drained total;
  uint64_t left = max_jobs;
  while (left > 0 && !total.is_stopped) {
    const int64_t retry_ms = retry_at_ms();
    if (clock_() < retry_ms) {
      total.is_stopped = true;
      total.text = "not tried again yet: " + health().problem;
      break;
    }
    const uint64_t taken = drain_step(options_.in_order ? 1 : std::min(left, step_jobs), total);
    if (taken == 0) break;
    left -= taken;
  }
  keep_direct_counts_now_and_then();
  return total;
}

uint64_t Relay::drain_step(uint64_t max_jobs, Drained& total) {
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = static_cast<uint32_t>(max_jobs);
  take.lease_ms = lease_ms;
  Batch batch;
  CallError err;
  const int32_t code =
      wq_lease(store_, &queue_, 1, &take, nullptr, nullptr, batch.out(), err.get());
  if (code == WQ_EMPTY || code == WQ_PAUSED || code == WQ_DISABLED) return 0;
  err.check(code);
  std::vector<wq_token> tokens;
  std::vector<Request> requests;
  for (size_t i = 0; i < wq_batch_count(batch.get()); ++i) {
    wq_job stored = WQ_JOB_INIT;
    err.check(wq_batch_job(batch.get(), i, &stored));
    const Job job = spooled_job(batch.get(), i, stored, store_id_);
    tokens.push_back({stored.id, stored.generation});
    requests.push_back(options_.mode == Mode::shadow
                           ? known_request(options_.layout, options_.queue, job.id)
                           : apply_request(options_.layout, options_.queue, job, options_.seen));
  }
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    answers = ask(requests);
  }
  settle(tokens, answers, total);
  return tokens.size();
}

// Jobs that Redis did not take go back to the head of the queue, the last one first, so that they
// stand there as before.
void Relay::settle(const std::vector<wq_token>& tokens, const std::vector<Answer>& answers,
                   Drained& total) const {
  Drained step;
  std::vector<wq_settle_item> items;
  for (size_t n = tokens.size(); n-- > 0;) {
    const Answer& answer = answers[n];
    wq_settle_item item = WQ_SETTLE_ITEM_INIT;
    item.id = tokens[n].id;
    item.generation = tokens[n].generation;
    item.kind = WQ_SETTLE_ACK;
    if (is_passing(answer.verdict)) {
      item.kind = WQ_SETTLE_RELEASE;
      item.flags = WQ_RELEASE_FRONT;
      step.is_stopped = true;
      step.text = answer.text;
    } else if (answer.verdict == Verdict::refused) {
      item.kind = WQ_SETTLE_FAIL;
      item.error = bytes_of(answer.text);
      ++step.refused;
    } else if (options_.mode == Mode::shadow && answer.verdict == Verdict::duplicate) {
      ++step.missing;
    } else if (answer.verdict == Verdict::duplicate) {
      ++step.duplicate;
    } else {
      ++step.sent;
    }
    items.push_back(item);
  }
  commit(items, step);
  total.sent += step.sent;
  total.duplicate += step.duplicate;
  total.refused += step.refused;
  total.missing += step.missing;
  total.is_stopped = step.is_stopped;
  if (step.is_stopped) total.text = step.text;
}

void Relay::commit(const std::vector<wq_settle_item>& items, const Drained& step) const {
  const std::pair<const char*, uint64_t> counts[] = {
      {"sent", step.sent}, {"duplicate", step.duplicate}, {"missing", step.missing}};
  std::vector<std::string> keys;
  for (const auto& [name, by] : counts) keys.push_back(count_key(options_.queue, name));
  std::vector<wq_txn_op> ops;
  for (const wq_settle_item& item : items) {
    wq_txn_op op = WQ_TXN_OP_INIT;
    op.kind = WQ_TXN_SETTLE;
    op.queue = queue_;
    op.settle = &item;
    ops.push_back(op);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (counts[i].second == 0) continue;
    wq_txn_op op = WQ_TXN_OP_INIT;
    op.kind = WQ_TXN_KV_ADD;
    op.key = bytes_of(keys[i]);
    op.delta = static_cast<int64_t>(counts[i].second);
    ops.push_back(op);
  }
  CallError err;
  const int32_t code = wq_transact(store_, ops.data(), ops.size(), sizeof ops[0], nullptr, nullptr,
                                   0, nullptr, err.get());
  if (code != WQ_STALE) return err.check(code);
  // Somebody settled a job of the relay's queue, a clear perhaps. The others leave one by one;
  // what this step sent is then not in the counts.
  std::vector<int32_t> codes(items.size());
  const int32_t settled = wq_settle_many(queue_, items.data(), items.size(), sizeof items[0],
                                         codes.data(), nullptr, err.get());
  if (settled != WQ_STALE) err.check(settled);
}

}  // namespace wq::relay
