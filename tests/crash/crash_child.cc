// The process that crash_test kills. Works on the store of argv with three threads over the C
// interface, and tells its pipe what it is about to do and what came back (protocol.h).
//   crash_child DIRECTORY BACKEND SEED FIRST_NUMBER KNOWN_JOBS run|drain
// KNOWN_JOBS is a file of lines "queue number id": what became of them is told before the work.
#include <sys/prctl.h>
#include <unistd.h>
#include <wq.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "crash/protocol.h"

namespace wq::crash {
namespace {

constexpr int64_t live_jobs_max = 250;
constexpr int64_t long_lease_ms = 3'000;
constexpr int64_t drain_limit_ms = 60'000;

int64_t now_ms() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000 + ts.tv_nsec / 1'000'000;
}

// One line, built from words.
class Line {
 public:
  explicit Line(std::string_view head) : text_(head) {}
  template <typename T>
  Line& add(T value) {
    text_ += ' ';
    text_ += std::to_string(value);
    return *this;
  }
  Line& word(std::string_view text) {
    text_ += ' ';
    text_ += text;
    return *this;
  }
  void send() {
    text_.resize(std::min<size_t>(text_.size(), PIPE_BUF - 1));
    text_ += '\n';
    if (write(STDOUT_FILENO, text_.data(), text_.size()) < 0) _exit(3);
  }

 private:
  std::string text_;
};

void complain(const char* what, int32_t code, const wq_error& err) {
  Line("!").word(what).word(wq_error_name(code)).word(err.message).send();
}

struct Token {
  uint32_t queue = 0;
  uint64_t id = 0;
  uint64_t generation = 0;
};

// Tokens of leases that were not settled, or were: for the threads to try on each other.
class Tokens {
 public:
  void add(const Token& token, uint64_t dice) {
    const std::lock_guard lock(mutex_);
    if (tokens_.size() < tokens_max) {
      tokens_.push_back(token);
    } else {
      tokens_[dice % tokens_max] = token;
    }
  }
  bool pick(uint64_t dice, Token* token) {
    const std::lock_guard lock(mutex_);
    if (tokens_.empty()) return false;
    *token = tokens_[dice % tokens_.size()];
    return true;
  }
  std::vector<Token> all() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }

 private:
  static constexpr size_t tokens_max = 256;
  std::mutex mutex_;
  std::vector<Token> tokens_;
};

// What the threads share.
struct Shared {
  wq_store* store = nullptr;
  wq_queue* queues[queue_count + 1] = {};  // the last one is scratch_queue
  std::atomic<uint64_t> next_op{1};
  std::atomic<uint64_t> next_number{1};
  std::atomic<int64_t> live{0};
  Tokens tokens;
};

std::string_view view(const wq_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.len};
}

class Worker {
 public:
  // One of them, at most, has the scratch queue.
  Worker(Shared& shared, uint64_t seed, bool scratch)
      : shared_(shared), prng_(seed), scratch_(scratch) {}

  void step() {
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

  // Takes everything there is. Leases that run are settled with their tokens, or awaited.
  void drain_step() {
    level_ = WQ_POWER;
    for (const Token& token : shared_.tokens.all()) settle(token, 'A');
    for (const Token& token : lease(4, 20)) settle(token, 'A');
    for (const Token& token : lease_from({scratch_queue}, 4, 0)) settle(token, 'A');
    for (uint32_t queue = 0; queue <= scratch_queue; ++queue) {
      for (const Token& token : list_dead(queue)) settle(token, prng_.below(2) == 0 ? 'P' : 'Z');
    }
  }

 private:
  wq_call call(uint32_t level) {
    wq_call call = WQ_CALL_INIT;
    call.durability = level;
    return call;
  }
  uint32_t pick_level() {
    if (level_ != 0) return level_;
    const uint64_t dice = prng_.below(10);
    return dice < 3 ? WQ_MEMORY : dice < 7 ? WQ_PROCESS : WQ_POWER;
  }
  Line intent(uint64_t op, char kind, uint32_t level) {
    return Line("I").add(op).word(std::string(1, kind)).add(level).add(now_ms());
  }
  Line result(uint64_t op, int32_t code, const wq_call& call) {
    return Line("R").add(op).add(code).add(call.lsn).add(now_ms());
  }

  uint32_t any_queue() { return static_cast<uint32_t>(prng_.below(queue_count)); }
  void enqueue(uint32_t queue, size_t n);
  std::vector<Token> lease(uint32_t max_jobs, int64_t wait_ms);
  std::vector<Token> lease_from(const std::vector<uint32_t>& order, uint32_t max_jobs,
                                int64_t wait_ms);
  void lease_and_settle();
  int32_t settle(const Token& token, char kind);
  int32_t settle_call(const Token& token, char kind, int64_t run_ms, wq_call* call, wq_error* err);
  void settle_many(const std::vector<Token>& tokens);
  void settle_some_token();
  std::vector<Token> list_dead(uint32_t queue);
  void visit_dead();
  bool sweep(uint32_t queue, char kind);
  void use_scratch();

  Shared& shared_;
  Prng prng_;
  const bool scratch_;
  uint32_t level_ = 0;  // of every call, if not 0
};

void Worker::enqueue(uint32_t queue, size_t n) {
  const uint64_t first = shared_.next_number.fetch_add(n);
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  std::vector<std::string> payloads(n);
  std::vector<wq_job_spec> specs(n, wq_job_spec WQ_JOB_SPEC_INIT);
  std::vector<wq_enqueued> out(n, wq_enqueued WQ_ENQUEUED_INIT);
  Line line = intent(op, 'E', level).add(queue);
  for (size_t i = 0; i < n; ++i) {
    payloads[i] = payload_of(first + i);
    specs[i].payload = {payloads[i].data(), payloads[i].size()};
    if (prng_.below(4) == 0) specs[i].delay_ms = 1;
    if (prng_.below(3) == 0) {
      specs[i].flags = WQ_JOB_PRIORITY;
      specs[i].priority = static_cast<uint32_t>(prng_.below(256));
    }
    line.add(first + i);
  }
  line.send();
  wq_call how = call(level);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      n == 1 ? wq_enqueue(shared_.queues[queue], &specs[0], &how, &out[0], &err)
             : wq_enqueue_many(shared_.queues[queue], specs.data(), n, sizeof specs[0], 0, &how,
                               out.data(), sizeof out[0], nullptr, &err);
  if (code != WQ_OK) return complain("enqueue", code, err);
  Line answer = result(op, code, how);
  for (const wq_enqueued& one : out) answer.add(one.job_id);
  answer.send();
  shared_.live += static_cast<int64_t>(n);
}

std::vector<Token> Worker::lease(uint32_t max_jobs, int64_t wait_ms) {
  const uint32_t turn = any_queue();
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < queue_count; ++i) order.push_back((turn + i) % queue_count);
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
  wq_call how = call(level);
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
  wq_call how = call(level);
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
  wq_call how = call(level);
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
  for (const Token& token : list_dead(static_cast<uint32_t>(prng_.below(queue_count)))) {
    settle(token, prng_.below(3) == 0 ? 'Z' : 'P');
  }
}

// All jobs of a queue at once: they are cleared, go with the queue, or are its dead letters.
bool Worker::sweep(uint32_t queue, char kind) {
  const uint32_t level = pick_level();
  const uint64_t op = shared_.next_op++;
  intent(op, kind, level).add(queue).send();
  wq_call how = call(level);
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

bool open_queue(Shared& shared, uint32_t index, wq_error* err) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RETRIES | WQ_CONFIG_BACKOFF;
  config.max_retries = index * 3;
  if (index == 1) {
    config.backoff_kind = WQ_BACKOFF_FIXED;
    config.backoff_base_ms = 2;
  }
  const std::string name = "queue-" + std::to_string(index);
  return wq_queue_open(shared.store, name.data(), name.size(), &config, 0, &shared.queues[index],
                       err) == WQ_OK;
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

bool open_store(const char* directory, uint32_t backend, Shared& shared) {
  Line("O").send();
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.io_backend = backend;
  options.spare_segments = 1;
  options.memory_budget_bytes = 1u << 20;
  options.segment_bytes = 16u << 10;
  options.checkpoint_log_bytes = 32u << 10;
  options.disk_reserve_bytes = 1u << 20;
  wq_error err = WQ_ERROR_INIT;
  bool open = wq_store_open(directory, &options, &shared.store, &err) == WQ_OK;
  for (uint32_t i = 0; open && i <= scratch_queue; ++i) open = open_queue(shared, i, &err);
  if (!open) {
    complain("open", err.code, err);
    return false;
  }
  wq_recovery recovery = WQ_RECOVERY_INIT;
  wq_store_get_recovery(shared.store, &recovery, nullptr);
  Line("G").add(recovery.clean).add(recovery.records_replayed).add(recovery.truncated_bytes).send();
  return true;
}

int64_t total_jobs(const Shared& shared) {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  wq_store_get_stats(shared.store, &stats, nullptr);
  return static_cast<int64_t>(stats.ready + stats.delayed + stats.leased + stats.running +
                              stats.dead);
}

void tell_known_jobs(const char* path, Shared& shared) {
  std::ifstream known(path);
  uint32_t queue = 0;
  uint64_t number = 0;
  uint64_t id = 0;
  while (known >> queue >> number >> id) {
    wq_batch* batch = nullptr;
    wq_error err = WQ_ERROR_INIT;
    const int64_t before_ms = now_ms();
    const int32_t code = wq_job_get(shared.queues[queue], id, &batch, &err);
    if (code != WQ_OK && code != WQ_E_NOT_FOUND) complain("job_get", code, err);
    wq_job job = WQ_JOB_INIT;
    if (code == WQ_OK) wq_batch_job(batch, 0, &job);
    Line line("C");
    line.add(code == WQ_OK ? number_of(view(job.payload)) : number).add(id);
    line.add(code == WQ_OK ? 1 : 0).add(std::max(before_ms, now_ms()));
    line.add(job.state).add(job.attempts).add(job.generation).add(job.deadline_ms);
    line.add(hash_of(view(job.payload))).send();
    // Those of the scratch queue are for the thread that has it.
    if (queue != scratch_queue && (job.state == WQ_STATE_LEASED || job.state == WQ_STATE_RUNNING)) {
      shared.tokens.add({queue, id, job.generation}, number);
    }
    wq_batch_free(&batch);
  }
  shared.live = total_jobs(shared);
  Line("T").add(shared.live.load()).send();
}

void check_store(const Shared& shared) {
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_store_verify(shared.store, &report, &err);
  if (code != WQ_OK) complain("verify", code, err);
  Line("V").add(report.problems).send();
}

void drain(Shared& shared, uint64_t seed) {
  Worker worker(shared, seed, false);
  const int64_t limit_ms = now_ms() + drain_limit_ms;
  while (total_jobs(shared) > 0 && now_ms() < limit_ms) worker.drain_step();
  check_store(shared);
  Line("T").add(total_jobs(shared)).send();
  for (wq_queue*& queue : shared.queues) wq_queue_close(&queue);
  wq_store_close(&shared.store);
  Line("F").send();
}

int run(char** argv) {
  Shared shared;
  const auto backend = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  shared.next_number = std::strtoull(argv[4], nullptr, 10);
  if (!open_store(argv[1], backend, shared)) return 1;
  tell_known_jobs(argv[5], shared);
  check_store(shared);
  Line("Y").send();
  if (std::string_view(argv[6]) == "drain") {
    drain(shared, seed);
    return 0;
  }
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&shared, seed, i] {
      Worker worker(shared, seed + i, i == 0);
      for (;;) worker.step();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace wq::crash

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return wq::crash::run(argv);
}
