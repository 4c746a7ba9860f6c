#include "crash/child_worker.h"

#include <iterator>
#include <string>

namespace wq::crash {
namespace {

constexpr int64_t live_jobs_max = 250;
constexpr int64_t long_lease_ms = 3'000;

}  // namespace

void Worker::step() {
  const uint64_t dice = prng_.below(100);
  if (dice < 30 && shared_.live < live_jobs_max) {
    enqueue(any_queue(), prng_.below(4) == 0 ? 2 + prng_.below(6) : 1);
  } else if (dice < 88) {
    lease_and_settle();
  } else if (dice < 93) {
    settle_some_token();
  } else if (dice < 97) {
    visit_dead();
  } else if (dice < 98) {
    sweep(any_queue(), prng_.below(3) == 0 ? 'Q' : 'U');
  } else if (dice < 99 && scratch_) {
    use_scratch();
  } else {
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_store_checkpoint(shared_.store, &err);
    if (code != WQ_OK) complain("checkpoint", code, err);
  }
}

void Worker::drain_step() {
  level_ = WQ_POWER;
  for (const Token& token : shared_.tokens.all()) settle(token, 'A');
  for (const Token& token : lease(4, 20)) settle(token, 'A');
  for (const Token& token : lease_from({scratch_queue}, 4, 0)) settle(token, 'A');
  for (uint32_t queue = 0; queue < numbered_queues; ++queue) {
    for (const Token& token : list_dead(queue)) settle(token, prng_.below(2) == 0 ? 'P' : 'Z');
  }
}

uint32_t Worker::pick_level() {
  if (level_ != 0) return level_;
  const uint64_t dice = prng_.below(10);
  return dice < 3 ? WQ_MEMORY : dice < 7 ? WQ_PROCESS : WQ_POWER;
}

uint32_t Worker::any_queue() {
  return work_queues[prng_.below(std::size(work_queues))];
}

void Worker::enqueue(uint32_t queue, size_t n) {
  if (queue == key_queue) n = 1;
  const uint64_t first = shared_.next_number.fetch_add(n);
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  std::vector<std::string> payloads(n);
  std::vector<std::string> keys(n);
  std::vector<wq_job_spec> specs(n, wq_job_spec WQ_JOB_SPEC_INIT);
  std::vector<wq_enqueued> out(n, wq_enqueued WQ_ENQUEUED_INIT);
  Line line = intent(op, 'E', level).add(queue);
  for (size_t i = 0; i < n; ++i) {
    payloads[i] = payload_of(first + i);
    specs[i].payload = bytes_of(payloads[i]);
    if (queue == group_queue) {
      keys[i] = "group-" + std::to_string(group_of(first + i));
      specs[i].group = bytes_of(keys[i]);
    } else if (queue == key_queue) {
      keys[i] = "key-" + std::to_string(key_of(first + i));
      specs[i].unique_key = bytes_of(keys[i]);
      specs[i].unique_until = key_held_by_dead(key_of(first + i)) ? WQ_UNIQUE_GONE : WQ_UNIQUE_DONE;
    }
    if (prng_.below(4) == 0) specs[i].delay_ms = 1;
    if (prng_.below(3) == 0) {
      specs[i].flags = WQ_JOB_PRIORITY;
      specs[i].priority = static_cast<uint32_t>(prng_.below(256));
    }
    line.add(first + i);
  }
  line.send();
  wq_call how = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      n == 1 ? wq_enqueue(shared_.queues[queue], &specs[0], &how, &out[0], &err)
             : wq_enqueue_many(shared_.queues[queue], specs.data(), n, sizeof specs[0], 0, &how,
                               out.data(), sizeof out[0], nullptr, &err);
  const bool held = queue == key_queue && code == WQ_DUPLICATE;
  if (code != WQ_OK && !held) return complain("enqueue", code, err);
  Line answer = result(op, code, how);
  for (const wq_enqueued& one : out) answer.add(one.job_id);
  answer.send();
  if (held) return;
  shared_.live += static_cast<int64_t>(n);
}

std::vector<Token> Worker::lease(uint32_t max_jobs, int64_t wait_ms) {
  constexpr size_t n = std::size(work_queues);
  const uint64_t turn = prng_.below(n);
  std::vector<uint32_t> order;
  for (uint64_t i = 0; i < n; ++i) order.push_back(work_queues[(turn + i) % n]);
  return lease_from(order, max_jobs, wait_ms);
}

std::vector<Token> Worker::lease_from(const std::vector<uint32_t>& order, uint32_t max_jobs,
                                      int64_t wait_ms) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  std::vector<wq_queue*> queues;
  for (const uint32_t index : order) queues.push_back(shared_.queues[index]);
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = max_jobs;
  options.wait_ms = wait_ms;
  options.lease_ms =
      prng_.below(3) == 0 ? 1 + static_cast<int64_t>(prng_.below(20)) : long_lease_ms;
  intent(op, 'L', level).add(options.lease_ms).send();
  wq_call how = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  wq_batch* batch = nullptr;
  const int32_t code =
      wq_lease(shared_.store, queues.data(), queues.size(), &options, nullptr, &how, &batch, &err);
  if (code != WQ_OK && code != WQ_EMPTY) {
    complain("lease", code, err);
    return {};
  }
  Line answer = result(op, code, how);
  std::vector<Token> tokens;
  for (size_t i = 0; i < wq_batch_count(batch); ++i) {
    wq_job job = WQ_JOB_INIT;
    wq_batch_job(batch, i, &job);
    const std::string_view payload = view(job.payload);
    answer.add(number_of(payload)).add(job.id).add(job.generation).add(job.attempts);
    answer.add(job.max_attempts).add(job.leased_ms).add(job.deadline_ms).add(hash_of(payload));
    tokens.push_back({order[job.queue_index], job.id, job.generation});
  }
  answer.send();
  wq_batch_free(&batch);
  return tokens;
}

int32_t Worker::settle_call(const Token& token, char kind, int64_t run_ms, wq_call* call,
                            wq_error* err) {
  wq_queue* const queue = shared_.queues[token.queue];
  switch (kind) {
    case 'A':
      return wq_ack(queue, token.id, token.generation, call, err);
    case 'N': {
      wq_nack_options options = WQ_NACK_OPTIONS_INIT;
      options.flags = prng_.below(2) == 0 ? WQ_NACK_DELAY : WQ_NACK_FRONT;
      if (options.flags == WQ_NACK_DELAY) options.delay_ms = 1;
      options.error = {"again", 5};
      return wq_nack(queue, token.id, token.generation, &options, call, err);
    }
    case 'F':
      return wq_fail(queue, token.id, token.generation, "broken", 6, call, err);
    case 'B':
      return wq_release(queue, token.id, token.generation, static_cast<int64_t>(prng_.below(2)), 0,
                        call, err);
    case 'K':
      return wq_confirm(queue, token.id, token.generation, run_ms, call, err);
    case 'W': {
      const wq_token one = {token.id, token.generation};
      int32_t outcome = WQ_OK;
      const int32_t code = wq_extend(queue, &one, 1, run_ms, &outcome, call, err);
      return code != WQ_OK ? code : outcome;
    }
    case 'X':
      return wq_job_cancel(queue, token.id, call, err);
    case 'P':
      return wq_dead_replay(queue, token.id, token.generation, call, err);
    default:
      return wq_dead_remove(queue, token.id, token.generation, call, err);
  }
}

int32_t Worker::settle(const Token& token, char kind) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  int64_t run_ms = 5 + static_cast<int64_t>(prng_.below(50));
  if (kind == 'K' && prng_.below(2) == 0) run_ms = 0;
  Line line = intent(op, kind, level).add(token.queue).add(token.id).add(token.generation);
  if (kind == 'K' || kind == 'W') line.add(run_ms);
  line.send();
  wq_call how = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = settle_call(token, kind, run_ms, &how, &err);
  if (code < 0 && code != WQ_E_NOT_FOUND) {
    complain("settle", code, err);
    return code;
  }
  result(op, code, how).send();
  if (code == WQ_OK && (kind == 'A' || kind == 'X' || kind == 'Z')) --shared_.live;
  return code;
}

// Acks and nacks of one queue, in one change.
void Worker::settle_many(const std::vector<Token>& tokens) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  Line line = intent(op, 'M', level).add(tokens[0].queue);
  std::vector<wq_settle_item> items;
  for (const Token& token : tokens) {
    if (token.queue != tokens[0].queue) continue;
    wq_settle_item item = WQ_SETTLE_ITEM_INIT;
    item.kind = prng_.below(4) == 0 ? WQ_SETTLE_NACK : WQ_SETTLE_ACK;
    item.id = token.id;
    item.generation = token.generation;
    items.push_back(item);
    line.word(item.kind == WQ_SETTLE_ACK ? "A" : "N").add(token.id).add(token.generation);
  }
  line.send();
  std::vector<int32_t> codes(items.size());
  wq_call how = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_settle_many(shared_.queues[tokens[0].queue], items.data(), items.size(),
                                      sizeof items[0], codes.data(), &how, &err);
  if (code < 0 && code != WQ_E_NOT_FOUND) return complain("settle_many", code, err);
  Line answer = result(op, code, how);
  for (size_t i = 0; i < items.size(); ++i) {
    answer.add(codes[i]);
    if (codes[i] == WQ_OK && items[i].kind == WQ_SETTLE_ACK) --shared_.live;
  }
  answer.send();
}

void Worker::lease_and_settle() {
  const std::vector<Token> tokens =
      lease(1 + static_cast<uint32_t>(prng_.below(4)), static_cast<int64_t>(prng_.below(3)));
  if (tokens.size() > 1 && prng_.below(3) == 0) return settle_many(tokens);
  for (const Token& token : tokens) {
    if (prng_.below(8) == 0) shared_.tokens.add(token, prng_.next());
    const uint64_t dice = prng_.below(100);
    if (dice >= 90 && settle(token, 'W') != WQ_OK) continue;
    if (dice < 15 && settle(token, 'K') == WQ_OK) {
      if (prng_.below(4) == 0) continue;  // it goes on running, also after the kill
    }
    if (dice < 62) {
      settle(token, 'A');
    } else if (dice < 76) {
      settle(token, 'N');
    } else if (dice < 82) {
      settle(token, 'F');
    } else if (dice < 90) {
      settle(token, 'B');
    } else if (dice < 93) {
      settle(token, 'X');
    } else {
      shared_.tokens.add(token, prng_.next());  // abandoned
    }
  }
}

void Worker::settle_some_token() {
  Token token;
  if (!shared_.tokens.pick(prng_.next(), &token)) return;
  settle(token, "AANFBKW"[prng_.below(7)]);
}

std::vector<Token> Worker::list_dead(uint32_t queue) {
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.flags = WQ_DEAD_OLDEST_FIRST;
  query.limit = 4;
  wq_batch* batch = nullptr;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_dead_list(shared_.queues[queue], &query, &batch, nullptr, &err);
  if (code != WQ_OK && code != WQ_EMPTY) complain("dead_list", code, err);
  std::vector<Token> tokens;
  for (size_t i = 0; i < wq_batch_count(batch); ++i) {
    wq_job job = WQ_JOB_INIT;
    wq_batch_job(batch, i, &job);
    const std::string_view payload = view(job.payload);
    Line("S").add(number_of(payload)).add(job.id).add(hash_of(payload)).send();
    tokens.push_back({queue, job.id, job.generation});
  }
  wq_batch_free(&batch);
  return tokens;
}

void Worker::visit_dead() {
  for (const Token& token : list_dead(any_queue())) {
    settle(token, prng_.below(3) == 0 ? 'Z' : 'P');
  }
}

// All jobs of a queue at once: they are cleared, go with the queue, or are its dead letters.
bool Worker::sweep(uint32_t queue, char kind) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  intent(op, kind, level).add(queue).send();
  wq_call how = call_at(level);
  wq_error err = WQ_ERROR_INIT;
  wq_queue* const handle = shared_.queues[queue];
  constexpr uint32_t all_states = WQ_STATE_BIT(WQ_STATE_READY) | WQ_STATE_BIT(WQ_STATE_DELAYED) |
                                  WQ_STATE_BIT(WQ_STATE_LEASED) | WQ_STATE_BIT(WQ_STATE_RUNNING) |
                                  WQ_STATE_BIT(WQ_STATE_DEAD);
  uint64_t removed = 0;
  const int32_t code = kind == 'Q'   ? wq_queue_clear(handle, all_states, &removed, &how, &err)
                       : kind == 'D' ? wq_queue_delete(handle, &how, &err)
                                     : wq_dead_purge(handle, &removed, &how, &err);
  if (code != WQ_OK) {
    complain("sweep", code, err);
    return false;
  }
  result(op, code, how).send();
  shared_.live -= static_cast<int64_t>(removed);
  return true;
}

// A queue that comes and goes under one name: nothing of one life may show in the next.
void Worker::use_scratch() {
  enqueue(scratch_queue, 1 + prng_.below(6));
  for (const Token& token : lease_from({scratch_queue}, 3, 0)) {
    if (prng_.below(2) == 0) settle(token, "ANF"[prng_.below(3)]);
  }
  if (prng_.below(2) == 0 || !sweep(scratch_queue, 'D')) return;
  wq_queue_close(&shared_.queues[scratch_queue]);
  wq_error err = WQ_ERROR_INIT;
  if (!open_queue(shared_, scratch_queue, &err)) complain("open a queue again", err.code, err);
}

}  // namespace wq::crash
