#include "relay/redis.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

namespace wq::relay {
namespace {

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

timeval time_of(int64_t ms) {
  timeval out{};
  out.tv_sec = static_cast<time_t>(ms / 1000);
  out.tv_usec = static_cast<suseconds_t>(ms % 1000 * 1000);
  return out;
}

// Errors of a server in a state that ends, or of a configuration that somebody will mend: nothing
// was done, and later it may be. NOSCRIPT is that of a server whose scripts were flushed. Before
// Redis 7 the word of an error in a script stands further back, behind a minus.
bool is_passing(std::string_view error) {
  constexpr std::string_view words[] = {
      "OOM",        "LOADING", "BUSY",   "READONLY",  "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN",
      "NOREPLICAS", "MISCONF", "NOAUTH", "WRONGPASS", "NOPERM",     "NOSCRIPT", "MOVED"};
  const std::string_view first = error.substr(0, error.find(' '));
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return first == word || error.find("-" + std::string(word) + " ") != error.npos;
  });
}

class Redis final : public Primary {
 public:
  explicit Redis(RedisOptions options) : options_(std::move(options)) {}

  std::vector<Answer> send(std::span<const Request> requests) override;

 private:
  // Empty if there is a connection, else why there is none.
  std::string connect();
  std::string set_up();
  std::string load(std::string_view script);
  // Appends the call to what goes out with the next answer that is waited for.
  void append(const std::vector<std::string_view>& words);
  void append_request(const Request& request);
  // Null if none came: then the connection is gone, and `problem_` says why.
  Reply receive();
  Answer answer_of(const redisReply& reply) const;
  void drop(std::string why);

  const RedisOptions options_;
  std::unique_ptr<redisContext, FreeContext> context_;
  std::map<std::string_view, std::string> loaded_;  // script: SHA1 at this connection
  std::string problem_;
};

void Redis::drop(std::string why) {
  problem_ = "redis " + address_text(options_) + ": " + std::move(why);
  context_.reset();
  loaded_.clear();
}

void Redis::append(const std::vector<std::string_view>& words) {
  std::vector<const char*> data;
  std::vector<size_t> sizes;
  for (const std::string_view word : words) {
    data.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), data.data(), sizes.data());
}

Reply Redis::receive() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) == REDIS_OK && reply != nullptr) {
    return Reply(static_cast<redisReply*>(reply));
  }
  const bool late = context_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
  drop(late ? "no answer within " + std::to_string(options_.answer_ms) + " ms"
            : std::string(context_->errstr));
  return nullptr;
}

std::string Redis::connect() {
  if (context_) return "";
  const timeval limit = time_of(options_.connect_ms);
  context_.reset(options_.unix_socket.empty()
                     ? redisConnectWithTimeout(options_.host.c_str(), options_.port, limit)
                     : redisConnectUnixWithTimeout(options_.unix_socket.c_str(), limit));
  if (!context_) return problem_ = "redis: out of memory";
  if (context_->err != 0) {
    drop(context_->errstr);
    return problem_;
  }
  redisSetTimeout(context_.get(), time_of(options_.answer_ms));
  return set_up();
}

std::string Redis::set_up() {
  const std::string database = std::to_string(options_.database);
  std::vector<std::vector<std::string_view>> calls;
  if (!options_.password.empty() && !options_.user.empty()) {
    calls.push_back({"AUTH", options_.user, options_.password});
  } else if (!options_.password.empty()) {
    calls.push_back({"AUTH", options_.password});
  }
  if (options_.database != 0) calls.push_back({"SELECT", database});
  for (const auto& call : calls) {
    append(call);
    const Reply reply = receive();
    if (!reply) return problem_;
    if (reply->type == REDIS_REPLY_ERROR) {
      drop(std::string(call[0]) + ": " + std::string(reply->str, reply->len));
      return problem_;
    }
  }
  return "";
}

// The text of a script goes out once for each connection, later its SHA1 does. Empty, or what is
// wrong.
std::string Redis::load(std::string_view script) {
  std::string& sha = loaded_[script];
  if (!sha.empty()) return "";
  append({"SCRIPT", "LOAD", script});
  const Reply reply = receive();
  if (!reply) return problem_;
  if (reply->type == REDIS_REPLY_STRING) {
    sha.assign(reply->str, reply->len);
    return "";
  }
  drop(reply->str != nullptr ? std::string(reply->str, reply->len) : "SCRIPT LOAD failed");
  return problem_;
}

void Redis::append_request(const Request& request) {
  const std::string count = std::to_string(request.keys.size());
  std::vector<std::string_view> words = {"EVALSHA", loaded_[request.script], count};
  words.insert(words.end(), request.keys.begin(), request.keys.end());
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  append(words);
}

Answer Redis::answer_of(const redisReply& reply) const {
  if (reply.type == REDIS_REPLY_INTEGER) {
    return {reply.integer == 1 ? Verdict::applied : Verdict::duplicate, ""};
  }
  const std::string text =
      reply.str != nullptr ? std::string(reply.str, reply.len) : "an answer of an unknown kind";
  return {is_passing(text) ? Verdict::unavailable : Verdict::refused,
          "redis " + address_text(options_) + ": " + text};
}

std::vector<Answer> Redis::send(std::span<const Request> requests) {
  std::string problem = connect();
  for (size_t i = 0; problem.empty() && i < requests.size(); ++i) {
    problem = load(requests[i].script);
  }
  if (!problem.empty()) {
    return std::vector<Answer>(requests.size(), Answer{Verdict::unavailable, problem});
  }
  for (const Request& request : requests) append_request(request);
  std::vector<Answer> answers;
  bool loses_scripts = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Reply reply = context_ ? receive() : nullptr;
    answers.push_back(reply ? answer_of(*reply) : Answer{Verdict::unknown, problem_});
    loses_scripts |= answers[i].verdict == Verdict::unavailable;
  }
  if (loses_scripts) drop("the server does not take jobs now");
  return answers;
}

}  // namespace

std::unique_ptr<Primary> make_redis(RedisOptions options) {
  return std::make_unique<Redis>(std::move(options));
}

std::string address_text(const RedisOptions& options) {
  if (!options.unix_socket.empty()) return options.unix_socket;
  const bool is_ipv6 = options.host.find(':') != options.host.npos;
  return (is_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

namespace {

template <typename Number>
bool read_number(std::string_view text, Number max, Number& out) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end && out <= max;
}

// %40 for what has a meaning in an address.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool read_host(std::string_view text, RedisOptions& options, std::string& problem) {
  std::string_view port;
  if (!text.empty() && text[0] == '[') {
    const size_t end = text.find(']');
    if (end == text.npos) return problem = "a '[' without its ']'", false;
    options.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    options.host = text.substr(0, text.find(':'));
    port = text.substr(options.host.size());
  }
  if (options.host.empty()) return problem = "there is no host", false;
  if (port.empty()) return true;
  uint16_t number = 0;
  if (port[0] != ':' || !read_number<uint16_t>(port.substr(1), UINT16_MAX, number) || number == 0) {
    return problem = "the port must be a number from 1 to 65535", false;
  }
  options.port = number;
  return true;
}

}  // namespace

bool parse_redis_address(std::string_view text, RedisOptions& options, std::string& problem) {
  constexpr std::string_view tcp = "redis://", local = "unix://";
  if (text.substr(0, local.size()) == local) {
    options.unix_socket = text.substr(local.size());
    if (options.unix_socket.empty()) problem = "there is no path behind unix://";
    return !options.unix_socket.empty();
  }
  const bool is_url = text.substr(0, tcp.size()) == tcp;
  if (!is_url && text.find("://") != text.npos) {
    return problem = "known are redis://, unix:// and HOST:PORT; there is no TLS", false;
  }
  if (is_url) text.remove_prefix(tcp.size());
  if (const size_t at = text.rfind('@'); is_url && at != text.npos) {
    const std::string_view login = text.substr(0, at);
    const size_t colon = login.find(':');
    if (colon == login.npos) return problem = "before the @ must stand [USER]:PASSWORD", false;
    options.user = percent_decoded(login.substr(0, colon));
    options.password = percent_decoded(login.substr(colon + 1));
    text.remove_prefix(at + 1);
  }
  if (const size_t slash = text.find('/'); slash != text.npos) {
    const std::string_view number = text.substr(slash + 1);
    if (!number.empty() && !read_number<uint32_t>(number, 1'000'000, options.database)) {
      return problem = "the database behind the / must be a number", false;
    }
    text = text.substr(0, slash);
  }
  return read_host(text, options, problem);
}

}  // namespace wq::relay
