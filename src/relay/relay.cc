// The push side of a relay, and what it tells of itself.
#include "relay/relay.h"

#include <chrono>

#include "relay/store_calls.h"

namespace wq::relay {
namespace {

int64_t wall_clock_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

constexpr int64_t keep_counts_every_ms = 30'000;

}  // namespace

Relay::Relay(wq_store* store, Options options, std::unique_ptr<Primary> primary, Clock clock)
    : store_(store),
      options_(std::move(options)),
      clock_(clock ? std::move(clock) : Clock(wall_clock_ms)),
      primary_(std::move(primary)),
      breaker_(options_.breaker) {
  CallError err;
  err.check(wq_queue_open(store_, options_.queue.data(), options_.queue.size(), nullptr, 0, &queue_,
                          err.get()));
  try {
    identify_store();
    take_back_held();
  } catch (...) {
    wq_queue_close(&queue_);
    throw;
  }
  kept_at_ms_ = clock_();
}

Relay::~Relay() {
  try {
    keep_direct_counts();
  } catch (const Error&) {
    // A store that can not be written any more said so before; only counts are lost here.
  }
  wq_queue_close(&queue_);
}

// For the ids of jobs that another program spooled: the same after every restart.
void Relay::identify_store() {
  const std::string key = "wq-relay/store";
  const std::string drawn = draw_id();
  wq_kv_options only_new = WQ_KV_OPTIONS_INIT;
  only_new.flags = WQ_KV_IF_ABSENT;
  CallError err;
  const int32_t code = wq_kv_put(store_, key.data(), key.size(), drawn.data(), drawn.size(),
                                 &only_new, nullptr, nullptr, err.get());
  if (code != WQ_CONFLICT) err.check(code);
  store_id_ = kv_value(store_, key);
}

// What a process that is gone had leased: nobody sends it any more. In a queue whose order counts
// that is one job at most, and it goes on in its place.
void Relay::take_back_held() const {
  for (;;) {
    CallError err;
    wq_queue_explanation found = WQ_QUEUE_EXPLANATION_INIT;
    err.check(wq_queue_explain(queue_, &found, nullptr, err.get()));
    if (found.holder_id == 0) return;
    const int32_t code = wq_release(queue_, found.holder_id, found.holder_generation, 0,
                                    WQ_RELEASE_FRONT, nullptr, err.get());
    if (code != WQ_STALE) err.check(code);
  }
}

// ---- push

Pushed Relay::push(Job job) {
  if (job.id.empty()) job.id = draw_id();
  Pushed out{Outcome::refused, job.id, unfit(options_.layout, job)};
  if (!out.text.empty()) {
    out.text = "the layout has no place for " + out.text;
    return out;
  }
  const bool waits_here = !options_.layout.has_delay() && job.run_at_ms > clock_();
  if (options_.mode == Mode::always || (options_.mode == Mode::fallback && waits_here)) {
    spool(job);
    out.outcome = Outcome::spooled;
    return out;
  }
  out = push_direct(job);
  // The copy comes after the answer, so that a drain does not ask for what is under way.
  if (options_.mode == Mode::shadow) spool(job);
  return out;
}

Pushed Relay::push_direct(const Job& job) {
  const std::lock_guard lock(mutex_);
  Pushed out{Outcome::spooled, job.id, ""};
  if (options_.in_order && options_.mode == Mode::fallback && has_backlog()) {
    spool(job);
    out.text = "jobs before it are spooled";
    return out;
  }
  const Request request = apply_request(options_.layout, options_.queue, job, options_.seen);
  const Answer answer = ask({&request, 1})[0];
  out.text = answer.text;
  switch (answer.verdict) {
    case Verdict::applied:
      out.outcome = Outcome::sent;
      ++direct_.sent;
      break;
    case Verdict::duplicate:
      out.outcome = Outcome::duplicate;
      ++direct_.duplicate;
      break;
    case Verdict::refused:
      out.outcome = Outcome::refused;
      ++direct_.refused;
      break;
    case Verdict::unavailable:
    case Verdict::unknown:
      if (options_.mode == Mode::shadow) {
        out.outcome = Outcome::failed;
        ++direct_.failed;
      } else {
        spool(job);
      }
      break;
  }
  return out;
}

void Relay::spool(const Job& job) const {
  const SpooledSpec spec(job, !options_.layout.has_delay(), options_.in_order);
  wq_call call = WQ_CALL_INIT;
  call.durability = options_.durability;
  CallError err;
  err.check(wq_enqueue(queue_, spec.get(), &call, nullptr, err.get()));
}

// Jobs that wait for their time hold up nobody.
bool Relay::has_backlog() const {
  const wq_queue_stats stats = stats_of(queue_);
  return stats.ready + stats.leased + stats.running > 0;
}

// ---- what Redis says

// One verdict for each request; none is sent while the breaker is open.
std::vector<Answer> Relay::ask(std::span<const Request> requests) {
  if (!breaker_.allows(clock_())) {
    return std::vector<Answer>(requests.size(),
                               {Verdict::unavailable, "not tried again yet: " + health_.problem});
  }
  std::vector<Answer> answers = primary_->send(requests);
  const Answer* bad = nullptr;
  for (const Answer& answer : answers) {
    const bool passing =
        answer.verdict == Verdict::unavailable || answer.verdict == Verdict::unknown;
    if (!passing) continue;
    health_.failures += answer.verdict == Verdict::unavailable;
    health_.timeouts += answer.verdict == Verdict::unknown;
    bad = &answer;
  }
  if (bad != nullptr) {
    breaker_.failed(clock_());
    health_.problem = bad->text;
  } else {
    breaker_.succeeded();
    health_.problem.clear();
  }
  return answers;
}

int64_t Relay::retry_at_ms() const {
  const std::lock_guard lock(mutex_);
  return breaker_.state() == Breaker::State::open ? breaker_.until_ms() : clock_();
}

Health Relay::health() const {
  const std::lock_guard lock(mutex_);
  Health out = health_;
  out.state = breaker_.state();
  out.opened = breaker_.opened();
  return out;
}

// ---- counts

// The counts of direct pushes belong to no record of the log: they follow now and then.
void Relay::keep_direct_counts() {
  Direct now, before;
  {
    const std::lock_guard lock(mutex_);
    now = direct_;
    before = kept_;
    kept_ = direct_;
    kept_at_ms_ = clock_();
  }
  const std::pair<const char*, uint64_t> counts[] = {
      {"direct_sent", now.sent - before.sent},
      {"direct_duplicate", now.duplicate - before.duplicate},
      {"direct_refused", now.refused - before.refused},
      {"direct_failed", now.failed - before.failed}};
  for (const auto& [name, by] : counts) {
    if (by != 0) kv_add(store_, count_key(options_.queue, name), static_cast<int64_t>(by));
  }
}

void Relay::keep_direct_counts_now_and_then() {
  {
    const std::lock_guard lock(mutex_);
    if (clock_() - kept_at_ms_ < keep_counts_every_ms) return;
  }
  keep_direct_counts();
}

Report Relay::report() const {
  const std::lock_guard lock(mutex_);
  Report out = read_report(store_, queue_, options_.queue);
  out.direct_sent += direct_.sent - kept_.sent;
  out.direct_duplicate += direct_.duplicate - kept_.duplicate;
  out.direct_refused += direct_.refused - kept_.refused;
  out.direct_failed += direct_.failed - kept_.failed;
  return out;
}

}  // namespace wq::relay
