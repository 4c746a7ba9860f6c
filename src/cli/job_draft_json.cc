// A line of JSON -> JobDraft. Strict: a field that is not known is an error, since a misspelt
// "delya_ms" would otherwise be a job that runs at once.
#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/strict_json.h"
#include "cli/text.h"

namespace wq::cli {
namespace {}  // namespace

void fail_field(const std::string& field, const std::string& problem) {
  fail_usage(field + ": " + problem);
}

int64_t whole_number(const std::string& field, const Json& value, int64_t min, int64_t max) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  if (!fits || value.get<int64_t>() < min || value.get<int64_t>() > max) {
    fail_field(field,
               "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value.get<int64_t>();
}

std::string text_of(const std::string& field, const Json& value) {
  if (!value.is_string()) fail_field(field, "must be a string");
  return value.get<std::string>();
}

namespace {

std::string bytes_of_base64(const std::string& field, const Json& value) {
  std::optional<std::string> bytes = base64_decode(text_of(field, value));
  if (!bytes) fail_field(field, "must be base64 (RFC 4648, with padding)");
  return *std::move(bytes);
}

}  // namespace

std::string bytes_member(const std::string& where, const Json& object, const std::string& name) {
  const auto text = object.find(name);
  const auto base64 = object.find(name + "_base64");
  if ((text == object.end()) == (base64 == object.end())) {
    fail_field(where, "needs one of '" + name + "' and '" + name + "_base64'");
  }
  if (text != object.end()) return text_of(where + "." + name, *text);
  return bytes_of_base64(where + "." + name + "_base64", *base64);
}

namespace {

void read_headers(const Json& value, JobDraft& draft) {
  draft.headers.clear();
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      draft.headers.emplace_back(name, text_of("headers." + name, text));
    }
    return;
  }
  if (!value.is_array()) fail_field("headers", "must be an object, or an array of name and value");
  for (const Json& entry : value) {
    const std::string where = "headers[" + std::to_string(draft.headers.size()) + "]";
    if (!entry.is_object() || entry.size() != 2) {
      fail_field(where, "must be an object with name and value");
    }
    draft.headers.emplace_back(bytes_member(where, entry, "name"),
                               bytes_member(where, entry, "value"));
  }
}

int64_t backoff_time(const Json& object, const char* name) {
  const auto found = object.find(name);
  const std::string field = std::string("backoff.") + name;
  if (found == object.end()) fail_field(field, "is missing");
  return whole_number(field, *found, 0, std::numeric_limits<int64_t>::max());
}

void read_backoff(const Json& value, JobDraft& draft) {
  if (!value.is_object()) fail_field("backoff", "must be an object with a kind");
  const auto kind = value.find("kind");
  const std::string name = kind == value.end() ? "" : text_of("backoff.kind", *kind);
  Backoff& backoff = draft.backoff;
  backoff = Backoff{};
  size_t members = 2;
  if (name == "fixed") {
    backoff.kind = WQ_BACKOFF_FIXED;
    backoff.base_ms = backoff_time(value, "base_ms");
  } else if (name == "exponential") {
    backoff.kind = WQ_BACKOFF_EXPONENTIAL;
    backoff.base_ms = backoff_time(value, "base_ms");
    backoff.max_ms = backoff_time(value, "max_ms");
    members = 3;
  } else if (name == "list") {
    backoff.kind = WQ_BACKOFF_LIST;
    const auto list = value.find("list_ms");
    if (list == value.end() || !list->is_array()) fail_field("backoff.list_ms", "must be an array");
    for (const Json& entry : *list) {
      backoff.list_ms.push_back(
          whole_number("backoff.list_ms", entry, 0, std::numeric_limits<int64_t>::max()));
    }
  } else {
    fail_field("backoff.kind", "must be fixed, exponential or list");
  }
  if (const auto jitter = value.find("jitter_permille"); jitter != value.end()) {
    backoff.jitter_permille =
        static_cast<uint32_t>(whole_number("backoff.jitter_permille", *jitter, 0, 1'000));
    ++members;
  }
  if (value.size() != members)
    fail_field("backoff", "has a member that '" + name + "' does not know");
}

// False if it is no such field.
bool read_limit(const std::string& name, const Json& value, JobDraft& draft) {
  constexpr int64_t int64_max = std::numeric_limits<int64_t>::max();
  if (name == "expires_at_ms") {
    draft.expires_at_ms = whole_number(name, value, 0, int64_max);
  } else if (name == "retry_until_ms") {
    draft.retry_until_ms = whole_number(name, value, 0, int64_max);
  } else if (name == "timeout_ms") {
    draft.timeout_ms = whole_number(name, value, 0, int64_max);
  } else if (name == "max_exceptions") {
    draft.max_exceptions =
        static_cast<uint32_t>(whole_number(name, value, 0, std::numeric_limits<uint32_t>::max()));
  } else if (name == "fail_on_timeout") {
    if (!value.is_boolean()) fail_field(name, "must be true or false");
    draft.fail_on_timeout = value.get<bool>();
  } else if (name == "encrypt") {
    if (!value.is_boolean()) fail_field(name, "must be true or false");
    draft.encrypt_flag = value.get<bool>() ? WQ_JOB_ENCRYPT : WQ_JOB_PLAIN;
  } else {
    return false;
  }
  return true;
}

std::string key_member(const std::string& where, const Json& value, size_t members_max) {
  if (!value.is_object()) fail_field(where, "must be an object with a key");
  std::string key = bytes_member(where, value, "key");
  if (key.empty()) fail_field(where + ".key", "is empty");
  if (value.size() > members_max) fail_field(where, "has a member that is not known");
  return key;
}

int64_t key_time(const std::string& where, const Json& object, const char* name, int64_t min) {
  const auto found = object.find(name);
  const std::string field = where + "." + name;
  if (found == object.end() && min > 0) fail_field(field, "is missing");
  if (found == object.end()) return 0;
  return whole_number(field, *found, min, std::numeric_limits<int64_t>::max());
}

// The number of members that are known, of those that are there.
size_t known_members(const Json& value, std::initializer_list<const char*> names) {
  size_t known = 0;
  for (const char* const name : names) known += value.contains(name);
  return known;
}

void read_unique(const Json& value, JobKeys& keys) {
  keys.unique =
      key_member("unique", value, known_members(value, {"key", "key_base64", "until", "ttl_ms"}));
  const auto until = value.find("until");
  const std::string name = until == value.end() ? "done" : text_of("unique.until", *until);
  keys.unique_until = name == "started" ? WQ_UNIQUE_STARTED
                      : name == "done"  ? WQ_UNIQUE_DONE
                      : name == "gone"  ? WQ_UNIQUE_GONE
                                        : 0;
  if (keys.unique_until == 0) fail_field("unique.until", "must be started, done or gone");
  keys.unique_ttl_ms = key_time("unique", value, "ttl_ms", 0);
}

void read_debounce(const Json& value, JobKeys& keys) {
  keys.debounce = key_member("debounce", value,
                             known_members(value, {"key", "key_base64", "window_ms", "max_ms"}));
  keys.debounce_ms = key_time("debounce", value, "window_ms", 1);
  keys.debounce_max_ms = key_time("debounce", value, "max_ms", 0);
}

void read_idempotency(const Json& value, JobKeys& keys) {
  keys.idempotency =
      key_member("idempotency", value, known_members(value, {"key", "key_base64", "window_ms"}));
  keys.idempotency_ms = key_time("idempotency", value, "window_ms", 1);
}

void read_chain(const Json& value, JobDraft& draft) {
  if (!value.is_array()) fail_field("chain", "must be an array of jobs");
  draft.chain.clear();
  for (const Json& entry : value) {
    const std::string where = "chain[" + std::to_string(draft.chain.size()) + "]";
    if (!entry.is_object()) fail_field(where, "must be an object with a payload");
    NextDraft& next = draft.chain.emplace_back();
    next.payload = bytes_member(where, entry, "payload");
    for (const auto& [name, member] : entry.items()) {
      if (name == "queue") {
        next.queue = text_of(where + ".queue", member);
      } else if (name == "delay_ms") {
        next.delay_ms =
            whole_number(where + ".delay_ms", member, 0, std::numeric_limits<int64_t>::max());
      } else if (name != "payload" && name != "payload_base64") {
        fail_field(where + "." + printable(name, 60),
                   "is no field of a job of a chain; use payload, payload_base64, queue, delay_ms");
      }
    }
  }
}

void read_field(const std::string& name, const Json& value, JobDraft& draft) {
  constexpr int64_t int64_max = std::numeric_limits<int64_t>::max();
  if (name == "payload") {
    draft.payload = text_of(name, value);
  } else if (name == "payload_base64") {
    draft.payload = bytes_of_base64(name, value);
  } else if (name == "headers") {
    read_headers(value, draft);
  } else if (name == "delay_ms") {
    draft.delay_ms = whole_number(name, value, 0, int64_max);
    draft.run_at_ms = 0;  // the line overrides the command line
  } else if (name == "run_at_ms") {
    draft.run_at_ms = whole_number(name, value, 0, int64_max);
    draft.delay_ms = 0;
  } else if (name == "priority") {
    draft.priority = static_cast<uint32_t>(whole_number(name, value, 0, 255));
    draft.has_priority = true;
  } else if (name == "max_attempts") {
    draft.max_attempts = static_cast<uint32_t>(whole_number(name, value, 1, 1'000'001));
  } else if (name == "backoff") {
    read_backoff(value, draft);
  } else if (name == "chain") {
    read_chain(value, draft);
  } else if (name == "batch") {
    draft.batch = static_cast<uint64_t>(whole_number(name, value, 1, int64_max));
  } else if (name == "unique") {
    read_unique(value, draft.keys);
  } else if (name == "debounce") {
    read_debounce(value, draft.keys);
  } else if (name == "idempotency") {
    read_idempotency(value, draft.keys);
  } else if (name == "group") {
    draft.group = text_of(name, value);
  } else if (name == "group_base64") {
    draft.group = bytes_of_base64(name, value);
  } else if (name == "group_limit") {
    draft.group_limit = static_cast<uint32_t>(whole_number(name, value, 1, 1'000'000));
  } else if (name == "overlap") {
    const auto* found =
        std::find(std::begin(overlap_names), std::end(overlap_names), text_of(name, value));
    if (found == std::end(overlap_names)) fail_field(name, "must be park, release or skip");
    draft.overlap = static_cast<uint32_t>(found - overlap_names);
  } else if (name == "overlap_ms") {
    draft.overlap_ms = whole_number(name, value, 1, int64_max);
  } else if (name == "tenant") {
    draft.tenant = text_of(name, value);
  } else if (name == "tenant_base64") {
    draft.tenant = bytes_of_base64(name, value);
  } else if (name == "rate_key") {
    draft.rate_key = text_of(name, value);
  } else if (name == "rate_key_base64") {
    draft.rate_key = bytes_of_base64(name, value);
  } else if (name == "rate_cost") {
    draft.rate_cost = static_cast<uint32_t>(whole_number(name, value, 1, 1'000'000));
  } else if (!read_limit(name, value, draft)) {
    fail_field(printable(name, 60),
               "is no field of a job; use payload, payload_base64, headers, delay_ms, run_at_ms, "
               "priority, max_attempts, backoff, timeout_ms, fail_on_timeout, retry_until_ms, "
               "max_exceptions, expires_at_ms, unique, debounce, idempotency, group, "
               "group_base64, group_limit, overlap, overlap_ms, tenant, tenant_base64, rate_key, "
               "rate_key_base64, rate_cost, chain, batch, encrypt");
  }
}

constexpr size_t depth_max = 8;  // a job needs three

// Sees each name before the parser drops a second member of the same one.
class MemberCheck {
 public:
  bool operator()(Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (levels_.size() == depth_max) fail_field(place(), "is nested too deeply");
      levels_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      levels_.pop_back();
    } else if (event == Event::key) {
      Level& level = levels_.back();
      level.name = value.get<std::string>();
      if (!level.seen.insert(level.name).second) fail_field(place(), "is given twice");
    }
    return true;
  }

  // The member that is read now: "headers.a".
  std::string place() const {
    std::string text;
    for (const Level& level : levels_) {
      if (!level.name.empty()) text += (text.empty() ? "" : ".") + printable(level.name, 60);
    }
    return text.empty() ? "the line" : text;
  }

 private:
  struct Level {
    std::string name;
    std::set<std::string> seen;
  };
  std::vector<Level> levels_;
};

}  // namespace

Json parse_strict(std::string_view line) {
  MemberCheck check;
  try {
    return Json::parse(
        line, [&](int, Json::parse_event_t event, Json& value) { return check(event, value); });
  } catch (const Json::parse_error& error) {
    fail_usage("not JSON: at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    fail_field(check.place(), "is a number that is out of range");
  }
}

JobDraft parse_job_line(std::string_view line, const JobDraft& base) {
  const Json json = parse_strict(line);
  if (!json.is_object()) fail_usage("must be a JSON object with a payload");
  const bool has_text = json.contains("payload"), has_base64 = json.contains("payload_base64");
  if (has_text == has_base64) fail_field("payload", "give one of payload and payload_base64");
  if (json.contains("delay_ms") && json.contains("run_at_ms")) {
    fail_field("run_at_ms", "not together with delay_ms");
  }
  if (json.contains("group") && json.contains("group_base64")) {
    fail_field("group", "not together with group_base64");
  }
  if (json.contains("tenant") && json.contains("tenant_base64")) {
    fail_field("tenant", "not together with tenant_base64");
  }
  if (json.contains("rate_key") && json.contains("rate_key_base64")) {
    fail_field("rate_key", "not together with rate_key_base64");
  }
  JobDraft draft = base;
  for (const auto& [name, value] : json.items()) read_field(name, value, draft);
  return draft;
}

}  // namespace wq::cli
