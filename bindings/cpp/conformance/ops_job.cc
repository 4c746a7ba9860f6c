// ops_job.cc: leases, settles and single jobs.
#include <thread>

#include "runner.hpp"

namespace conformance {
namespace {

void get(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  const auto job = queue->get(token.id);
  if (!job) return r.print(failure(job));
  r.learn(*job);
  r.print("ok");
  r.print_job(*job);
}

void until(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  const auto wanted = static_cast<wq::JobState>(value_of_word(states, line.must("state")));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    const auto job = queue->get(token.id);
    if (job && job->state() == wanted) return get(r, line);
    std::this_thread::yield();
  }
  throw ScriptError{line.must("job") + " does not become " + line.must("state")};
}

void cancel(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->cancel(token.id, call_of(line))));
}

void reprioritise(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->reprioritise(token.id, line.u32("priority"), call_of(line))));
}

void progress(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->progress(token, line.text("note"), call_of(line))));
}

void explain(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  const auto told = queue->explain(token.id);
  if (!told) return r.print(failure(told));
  const std::string why = bit_words(told->raw.causes, causes);
  r.print("ok state=" + std::string(states.at(told->raw.state)) +
          " causes=" + (why.empty() ? "none" : why) + " ahead=" + std::to_string(told->raw.ahead));
}

void lease(Runner& r, const Line& line) {
  std::vector<wq::Queue> queues;
  for (const std::string& name : line.list("q")) queues.push_back(r.queue(name));
  wq::LeaseOptions options;
  options.max_jobs = line.u32("max_jobs", 1);
  options.wait = line.millis("wait_ms");
  options.lease = line.millis("lease_ms");
  if (line.has("cancelled")) {
    options.cancel = wq::Cancel::make();
    options.cancel->fire();
  }
  const auto batch = r.store.lease(queues, options, call_of(line));
  if (!batch) return r.print(failure(batch));
  r.print(word(batch->outcome()));
  std::vector<std::string> fresh = line.list("as");
  for (const wq::Job& job : *batch) {
    r.learn(job, &fresh);
    r.print_job(job);
  }
}

void confirm(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->confirm(token, line.millis("run_ms"), call_of(line))));
}

void tell_codes(Runner& r, const wq::ManySettled& many, const std::vector<std::string>& names) {
  r.print(outcome(many.result));
  for (std::size_t i = 0; i < many.codes.size(); i++) {
    r.row(r.name_of(r.named(names[i]).token.id) + " " + code_word(many.codes[i]));
  }
}

void extend(Runner& r, const Line& line) {
  const std::vector<std::string> names = line.list("jobs");
  std::vector<wq::Token> tokens;
  for (const std::string& name : names) tokens.push_back(r.named(name).token);
  const wq::Queue& queue = r.queue(line.text("q", r.named(names.at(0)).queue));
  wq::ManySettled many = queue.extend(tokens, line.millis("lease_ms"), call_of(line));
  if (names.size() == 1) many.codes.clear();
  tell_codes(r, many, names);
}

wq::NackOptions nack_options(const Line& line) {
  wq::NackOptions options;
  if (line.has("delay_ms")) options.delay = line.millis("delay_ms");
  if (line.has("priority")) options.priority = line.u32("priority");
  options.error = line.text("error");
  options.reason = value_of_word(reasons, line.text("reason", "none"));
  options.front = line.flag("front");
  options.exception = !line.flag("no_exception");
  return options;
}

wq::ReleaseOptions release_options(const Line& line) {
  return {line.millis("delay_ms"), line.flag("front")};
}

void ack(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  change(
      r, line,
      [queue = queue, token = token, &line](const wq::Call& call) {
        return queue->ack(token, line.text("result"), call);
      },
      tell_outcome);
}

void nack(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  change(
      r, line,
      [queue = queue, token = token, &line](const wq::Call& call) {
        return queue->nack(token, nack_options(line), call);
      },
      tell_outcome);
}

void release(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  change(
      r, line,
      [queue = queue, token = token, &line](const wq::Call& call) {
        return queue->release(token, release_options(line), call);
      },
      tell_outcome);
}

void fail(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  change(
      r, line,
      [queue = queue, token = token, &line](const wq::Call& call) {
        return queue->fail(token, line.text("error"), call);
      },
      tell_outcome);
}

void settle_many(Runner& r, const Line& line) {
  std::vector<wq::Settle> settles;
  std::vector<std::string> names;
  for (const Line& part : line.parts) {
    settles.push_back(settle_of(r, part, part.must("kind")));
    names.push_back(part.must("job"));
  }
  const wq::Queue& queue = r.queue_of(line);
  change(
      r, line, [&](const wq::Call& call) { return queue.settle_many(settles, call); },
      [names](Runner& runner, const wq::ManySettled& many) { tell_codes(runner, many, names); });
}

void keep(Runner& r, const Line& line) {
  const Named job = r.named(line.must("job"));
  r.bind(line.must("as"), job.queue, job.token);
  r.print("ok");
}

void forge(Runner& r, const Line& line) {
  r.bind(line.must("as"), line.must("q"),
         {static_cast<std::uint64_t>(line.number_of("id")),
          static_cast<std::uint64_t>(line.number_of("generation"))});
  r.print("ok");
}

void await(Runner& r, const Line& line) {
  const auto found = r.under_way.find(line.must("call"));
  if (found == r.under_way.end()) throw ScriptError{"nothing was begun as " + line.must("call")};
  const auto finish = std::move(found->second);
  r.under_way.erase(found);
  finish();
}

void key_release(Runner& r, const Line& line) {
  const auto [queue, token] = r.target(line);
  r.print(outcome(queue->key_release(token, call_of(line))));
}

wq::KeyKind key_kind(const Line& line) {
  return static_cast<wq::KeyKind>(value_of_word(key_kinds, line.must("kind")));
}

void key_holder(Runner& r, const Line& line) {
  const auto id = r.queue_of(line).key_holder(key_kind(line), line.must("key"));
  r.print(id ? "ok job=" + r.name_of(*id) : failure(id));
}

void key_cancel(Runner& r, const Line& line) {
  const auto id = r.queue_of(line).key_cancel(key_kind(line), line.must("key"), call_of(line));
  if (!id) return r.print(failure(id));
  r.print(*id ? "ok job=" + r.name_of(**id) : word(id->outcome));
}

}  // namespace

wq::Settle settle_of(Runner& r, const Line& part, const std::string& kind) {
  const wq::Token token = r.named(part.must("job")).token;
  if (kind == "ack") return wq::Settle::ack(token, part.text("result"));
  if (kind == "nack") return wq::Settle::nack(token, nack_options(part));
  if (kind == "release") return wq::Settle::release(token, release_options(part));
  if (kind != "fail") throw ScriptError{"no settle is called " + kind};
  return wq::Settle::fail(token, part.text("error"),
                          value_of_word(reasons, part.text("reason", "none")));
}

const Table job_ops{{"get", get},
                    {"until", until},
                    {"cancel", cancel},
                    {"reprioritise", reprioritise},
                    {"progress", progress},
                    {"explain", explain},
                    {"lease", lease},
                    {"confirm", confirm},
                    {"extend", extend},
                    {"ack", ack},
                    {"nack", nack},
                    {"release", release},
                    {"fail", fail},
                    {"settle_many", settle_many},
                    {"keep", keep},
                    {"forge", forge},
                    {"await", await},
                    {"key_release", key_release},
                    {"key_holder", key_holder},
                    {"key_cancel", key_cancel}};

}  // namespace conformance
