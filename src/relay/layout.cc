#include "relay/layout.h"

namespace wq::relay {
namespace {

// Each script begins by looking for the id and ends by remembering it. What runs between them may
// fail (a key of another type): then the script ends there, and nothing is remembered.
#define WQ_RELAY_BEGIN                                            \
  "if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end\n" \
  "local time = redis.call('TIME')\n"                             \
  "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
#define WQ_RELAY_END                                                          \
  "redis.call('ZADD', KEYS[1], now, ARGV[1])\n"                               \
  "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ARGV[2]))\n" \
  "redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[3]))\n"       \
  "return 1\n"

constexpr std::string_view list_script =
    WQ_RELAY_BEGIN "redis.call('RPUSH', KEYS[2], ARGV[4])\n" WQ_RELAY_END;

// Behind the third argument: names and values of the entry in turn.
constexpr std::string_view stream_script =
    WQ_RELAY_BEGIN "redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))\n" WQ_RELAY_END;

// A delayed envelope waits in a sorted set. A ready one is announced by a token for workers that
// block. ARGV[5] is when it is due, 0 for at once.
constexpr std::string_view prismgo_script = WQ_RELAY_BEGIN
    "if tonumber(ARGV[5]) > now then\n"
    "  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])\n"
    "else\n"
    "  redis.call('RPUSH', KEYS[2], ARGV[4])\n"
    "  redis.call('LPUSH', KEYS[4], '1')\n"
    "end\n" WQ_RELAY_END;

// A task that is known there in any state is a duplicate. While the scheduler still moves the tasks
// of its older form, they are known only by the lists that they stand in.
constexpr std::string_view waitqueue_script = WQ_RELAY_BEGIN
    "local task = ARGV[4]\n"
    "local known = redis.call('HEXISTS', KEYS[3], task) == 1\n"
    "    or redis.call('HEXISTS', KEYS[6], task) == 1\n"
    "if not known and redis.call('GET', KEYS[7]) ~= 'complete' then\n"
    "  known = redis.call('LPOS', KEYS[2], task) or redis.call('LPOS', KEYS[8], task)\n"
    "end\n"
    "if known then return 0 end\n"
    "redis.call('LPUSH', KEYS[2], task)\n"
    "redis.call('HSET', KEYS[3], task, 'waiting')\n"
    "redis.call('HSET', KEYS[4], task, now)\n"
    "redis.call('HSET', KEYS[5], task, ARGV[1])\n" WQ_RELAY_END;

constexpr std::string_view known_script =
    "if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end\n"
    "return 0\n";

std::string replaced(std::string_view text, std::string_view queue) {
  constexpr std::string_view mark = "{queue}";
  std::string out(text);
  for (size_t at = 0; (at = out.find(mark, at)) != out.npos; at += queue.size()) {
    out.replace(at, mark.size(), queue);
  }
  return out;
}

std::string ready_key(const Layout& layout, std::string_view queue) {
  switch (layout.kind) {
    case LayoutKind::prismgo:
      return layout.key + ":queues:" + std::string(queue);
    case LayoutKind::waitqueue:
      return layout.key + "waitingQueue";
    default:
      return layout.key;
  }
}

// Beside the jobs, so that a hash tag of theirs holds for it as well.
std::string seen_key(const Layout& layout, std::string_view queue) {
  return ready_key(layout, queue) + ":wq-seen";
}

void add_field(std::vector<std::string>& out, std::string_view name, std::string value) {
  out.emplace_back(name);
  out.push_back(std::move(value));
}

void add_stream_fields(std::vector<std::string>& out, const Job& job) {
  add_field(out, "id", job.id);
  add_field(out, "payload", job.payload);
  if (job.priority >= 0) add_field(out, "priority", std::to_string(job.priority));
  if (job.max_attempts != 0) add_field(out, "max_attempts", std::to_string(job.max_attempts));
  if (job.attempts != 0) add_field(out, "attempts", std::to_string(job.attempts));
  if (job.run_at_ms != 0) add_field(out, "run_at_ms", std::to_string(job.run_at_ms));
  if (!job.unique_key.empty()) add_field(out, "unique", job.unique_key);
  if (!job.group.empty()) add_field(out, "group", job.group);
  for (const auto& [name, value] : job.headers) add_field(out, "header:" + name, value);
}

// Lua hands at most some thousand values to one call.
constexpr size_t stream_headers_max = 1'000;

}  // namespace

std::optional<Layout> parse_layout(std::string_view text, std::string_view queue,
                                   std::string& problem) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  Layout layout;
  layout.key = replaced(rest, queue);
  if (kind == "list") {
    layout.kind = LayoutKind::list;
  } else if (kind == "stream") {
    layout.kind = LayoutKind::stream;
  } else if (kind == "prismgo") {
    layout.kind = LayoutKind::prismgo;
  } else if (kind == "waitqueue") {
    layout.kind = LayoutKind::waitqueue;
    const size_t middle = rest.rfind(':');
    if (middle == rest.npos || middle == 0 || middle + 1 == rest.size()) {
      problem = "waitqueue needs a namespace and a queue: waitqueue:NAMESPACE:ID";
      return std::nullopt;
    }
    layout.key = "TaskQueue:" + layout.key + ":";
  } else {
    problem = "'" + std::string(text) +
              "' is none of list:KEY, stream:KEY, prismgo:PREFIX, waitqueue:NAMESPACE:ID";
    return std::nullopt;
  }
  if (rest.empty()) {
    problem = "there is nothing behind '" + std::string(kind) + ":'";
    return std::nullopt;
  }
  return layout;
}

Request apply_request(const Layout& layout, std::string_view queue, const Job& job,
                      const SeenLimits& limits) {
  Request request;
  const std::string ready = ready_key(layout, queue);
  request.keys = {seen_key(layout, queue), ready};
  request.arguments = {job.id, std::to_string(limits.keep_ms), std::to_string(limits.keep_count)};
  switch (layout.kind) {
    case LayoutKind::list:
      request.script = list_script;
      request.arguments.push_back(job.payload);
      break;
    case LayoutKind::stream:
      request.script = stream_script;
      add_stream_fields(request.arguments, job);
      break;
    case LayoutKind::prismgo:
      request.script = prismgo_script;
      request.keys.push_back(ready + ":delayed");
      request.keys.push_back(ready + ":notify");
      request.arguments.push_back(job.payload);
      request.arguments.push_back(std::to_string(job.run_at_ms));
      break;
    case LayoutKind::waitqueue:
      request.script = waitqueue_script;
      for (const char* name :
           {"taskStateHashKv", "enqueuedAtHashKv", "taskGenerationHashKv", "runningHashKv",
            "reliabilityMigrationV1", "reliabilityMigrationWaitingV1"}) {
        request.keys.push_back(layout.key + name);
      }
      request.arguments.push_back(job.payload);
      break;
  }
  return request;
}

Request known_request(const Layout& layout, std::string_view queue, std::string_view id) {
  return {known_script, {seen_key(layout, queue)}, {std::string(id)}};
}

std::string unfit(const Layout& layout, const Job& job) {
  if (layout.kind == LayoutKind::stream) {
    return job.headers.size() > stream_headers_max ? "more than 1,000 headers" : "";
  }
  if (!job.headers.empty()) return "headers";
  if (!job.unique_key.empty()) return "a unique key";
  if (!job.group.empty()) return "a group";
  if (job.priority >= 0) return "a priority";
  if (job.max_attempts != 0 || job.attempts != 0) return "attempts";
  return "";
}

}  // namespace wq::relay
