// What a relay sends to and what it hears: the seam between the relay and Redis, so that tests can
// stand in for a server that is slow, full, restarted or gone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wq::relay {

// One script to run, atomically, over its keys and arguments.
struct Request {
  std::string_view script;  // text of the script; lives as long as the program
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

enum class Verdict : uint8_t {
  applied,      // the script returned 1
  duplicate,    // it returned 0: the id was known
  refused,      // the server said no, and would say so again (a key of another type, a bad script)
  unavailable,  // nothing was done: no connection, or a server that is full, loading or read-only
  unknown,      // sent, and no answer came in time: it may have been done
};

struct Answer {
  Verdict verdict = Verdict::unavailable;
  std::string text;  // of anything but applied and duplicate: what happened, for people
};

class Primary {
 public:
  virtual ~Primary() = default;
  // Runs the requests in order and waits for their answers, one for each. A later one may have been
  // done where an earlier one was not: whose order counts goes alone.
  virtual std::vector<Answer> send(std::span<const Request> requests) = 0;
};

}  // namespace wq::relay
