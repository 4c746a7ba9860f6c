// A primary in memory: it knows ids as Redis does, and fails as it is told.
#pragma once

#include <wq.h>

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "relay/primary.h"

namespace wq::relay {

// The server, which outlives its connections.
struct FakeServer {
  std::vector<std::string> jobs;  // payloads in the order in which they were taken
  std::set<std::string> seen;
  std::deque<Verdict> next;  // of the next requests; then `otherwise`
  Verdict otherwise = Verdict::applied;
  // An unknown one was done all the same.
  bool does_unknown = true;
  std::function<void()> before;  // called once for each send
  uint64_t sends = 0;
};

class FakeRedis final : public Primary {
 public:
  explicit FakeRedis(FakeServer& server) : server_(server) {}

  std::vector<Answer> send(std::span<const Request> requests) override {
    ++server_.sends;
    if (server_.before) server_.before();
    std::vector<Answer> answers;
    for (const Request& request : requests) answers.push_back(answer(request));
    return answers;
  }

 private:
  Answer answer(const Request& request) {
    Verdict verdict = server_.otherwise;
    if (!server_.next.empty()) {
      verdict = server_.next.front();
      server_.next.pop_front();
    }
    if (verdict == Verdict::refused) return {verdict, "WRONGTYPE"};
    if (verdict == Verdict::unavailable) return {verdict, "gone"};
    const bool unknown = verdict == Verdict::unknown;
    if (!unknown || server_.does_unknown) verdict = take(request);
    return unknown ? Answer{Verdict::unknown, "no answer"} : Answer{verdict, ""};
  }

  Verdict take(const Request& request) {
    const std::string& id = request.arguments[0];
    if (request.arguments.size() == 1) {  // asks only
      return server_.seen.contains(id) ? Verdict::applied : Verdict::duplicate;
    }
    if (!server_.seen.insert(id).second) return Verdict::duplicate;
    server_.jobs.push_back(request.arguments[3]);
    return Verdict::applied;
  }

  FakeServer& server_;
};

}  // namespace wq::relay
