// runner.hpp: the state of a running script: the store, and the names that stand for ids.
// The operations are in ops_*.cc, each file with a table of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <wq.hpp>

#include "script.h"

namespace conformance {

class Runner;
using Op = void (*)(Runner&, const Line&);
using Table = std::map<std::string, Op, std::less<>>;
extern const Table store_ops, queue_ops, job_ops, dead_ops, row_ops, flow_ops;

// A named job: a queue handle by name, and a token.
struct Named {
  std::string queue;
  wq::Token token{};
};

class Runner {
 public:
  explicit Runner(std::string directory) : directory_(std::move(directory)) {}

  // Prints what each operation gives.
  void run(const std::vector<Line>& script);
  std::string take_output() { return std::move(out_); }

  // ---- results
  void print(const std::string& line) { (out_ += line) += '\n'; }
  void row(const std::string& line) { print("  " + line); }
  void print_job(const wq::Job& job);

  // ---- the store
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void open(wq::Store store);
  wq::Store store;
  wq::EventCursor cursor;

  // ---- names
  const wq::Queue& queue(const std::string& name);
  void bind_queue(const std::string& name, wq::Queue queue) { queues_[name] = std::move(queue); }
  const wq::Queue& queue_of(const Line& line) { return queue(line.must("q")); }

  Named& named(const std::string& name);
  // Of job= and, if it is there, q=.
  std::pair<const wq::Queue*, wq::Token> target(const Line& line);
  void bind(const std::string& name, const std::string& queue, wq::Token token);
  // What a job is called; the next of `fresh` if it has no name yet.
  std::string name_of(std::uint64_t id, std::vector<std::string>* fresh = nullptr,
                      const std::string& queue = {});
  void learn(const wq::Job& job, std::vector<std::string>* fresh = nullptr);

  std::map<std::string, std::uint64_t> versions;
  void bind_flow(const std::string& name, std::uint64_t flow);
  std::uint64_t flow(const std::string& name) const;
  std::string flow_name(std::uint64_t flow) const;

  // ---- operations under way
  std::map<std::string, std::function<void()>> under_way;
  wq::Completions& completions();

 private:
  std::string header_text(const wq::Header& header) const;
  std::string handle_of(wq::Bytes queue_name) const;

  std::string directory_;
  std::string out_;
  std::map<std::string, wq::Queue> queues_;
  std::map<std::string, Named> jobs_;
  std::map<std::uint64_t, std::string> job_names_;
  std::map<std::string, std::uint64_t> flows_;
  std::map<std::uint64_t, std::string> flow_names_;
  std::optional<wq::Completions> completions_;
};

// ---- what several files of operations need

std::string word(wq::Outcome outcome);
std::string word(const wq::Error& error);
std::string code_word(std::int32_t code);

template <typename T>
std::string failure(const wq::Result<T>& result) {
  return word(result.error());
}
inline std::string outcome(const wq::Result<wq::Outcome>& result) {
  return result ? word(*result) : word(result.error());
}

wq::JobOptions job_options(Runner& runner, const Line& line);
wq::NextJob next_job(Runner& runner, const Line& part);
wq::KvOptions kv_options(Runner& runner, const Line& line);
wq::Settle settle_of(Runner& runner, const Line& part, const std::string& kind);
inline wq::Durability durability_of(const Line& line) {
  return static_cast<wq::Durability>(value_of_word(durabilities, line.text("durability", "none")));
}
inline wq::Call call_of(const Line& line) {
  return {durability_of(line)};
}

// " key=N", or nothing for 0.
std::string if_set(std::string_view key, std::uint64_t value);

// " key_id=N KEY=WQ_E_...": how something is sealed, and why it does not open.
std::string key_text(std::uint32_t key_id, std::string_view key, std::int32_t code);

// Does a change now and tells of it, or with async= begins it and tells of it when it is awaited.
template <typename F, typename T>
void change(Runner& runner, const Line& line, F&& f, T tell) {
  if (!line.has("async")) {
    auto result = f(call_of(line));
    tell(runner, result);
    return;
  }
  using R = std::invoke_result_t<F, const wq::Call&>;
  auto pending = std::make_shared<wq::Pending<R>>(
      runner.completions().begin(std::forward<F>(f), durability_of(line)));
  runner.print("begun");
  runner.under_way[line.text("async")] = [&runner, pending, tell] {
    tell(runner, pending->wait());
  };
}
inline void tell_outcome(Runner& runner, const wq::Result<wq::Outcome>& result) {
  runner.print(outcome(result));
}

}  // namespace conformance
