#include "cli/job_draft.h"

#include <charconv>

#include "cli/failure.h"
#include "cli/handles.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

// The limits of section 3 of wq.h.
constexpr uint64_t headers_bytes_max = 64 << 10;
constexpr size_t headers_count_max = 1024;
constexpr size_t header_name_bytes_max = 255;
constexpr uint32_t priority_max = 255;
constexpr size_t group_bytes_max = 512;
constexpr uint32_t group_limit_max = 1'000'000;
constexpr uint64_t rate_count_max = 1'000'000;
constexpr uint64_t throttle_count_max = 100;
constexpr uint32_t attempts_max = 1'000'001;
constexpr int64_t wait_max_ms = int64_t{100} * 365 * 24 * 3600 * 1000;

std::vector<int64_t> parse_duration_list(std::string_view option, std::string_view text) {
  std::vector<int64_t> list;
  for (;;) {
    const size_t comma = text.find(',');
    list.push_back(parse_duration_ms(option, text.substr(0, comma)));
    if (comma == text.npos) return list;
    text.remove_prefix(comma + 1);
  }
}

std::string headers_problem(const JobDraft& draft) {
  if (draft.headers.size() > headers_count_max) return "headers: more than 1,024";
  uint64_t bytes = 0;
  for (const auto& [name, value] : draft.headers) {
    if (name.empty() || name.size() > header_name_bytes_max) {
      return "headers: a name must have 1 to 255 bytes";
    }
    bytes += name.size() + value.size();
  }
  if (bytes > headers_bytes_max) return "headers: names and values have over 64 KiB together";
  return "";
}

std::string backoff_problem(const Backoff& backoff) {
  if (backoff.kind == 0) return "";
  const auto in_range = [](int64_t ms) { return ms >= 0 && ms <= wait_max_ms; };
  if (!in_range(backoff.base_ms) || !in_range(backoff.max_ms)) {
    return "backoff: a time is outside 0 to 100 years";
  }
  if (backoff.kind == WQ_BACKOFF_EXPONENTIAL && backoff.max_ms < backoff.base_ms) {
    return "backoff: its maximum is below its base";
  }
  if (backoff.kind != WQ_BACKOFF_LIST) return "";
  if (backoff.list_ms.empty() || backoff.list_ms.size() > WQ_BACKOFF_LIST_MAX) {
    return "backoff: a list must have 1 to 32 entries";
  }
  for (const int64_t ms : backoff.list_ms) {
    if (!in_range(ms)) return "backoff: a time is outside 0 to 100 years";
  }
  return "";
}

}  // namespace

namespace {

// "20%", "2.5%": thousandths of the delay.
uint32_t parse_jitter(std::string_view option, std::string_view text) {
  const size_t point = text.find('.');
  const bool fraction = point != text.npos;
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::string_view whole = text.substr(0, point);
  const std::string_view tenth = fraction ? text.substr(point + 1) : "0";
  uint32_t permille = 1'001;
  if (percent && is_digits(whole) && is_digits(tenth) && tenth.size() == 1) {
    permille = static_cast<uint32_t>(std::stoul(std::string(whole)) * 10 +
                                     static_cast<unsigned>(tenth[0] - '0'));
  }
  if (permille > 1'000) fail_usage(std::string(option) + ": the jitter must be 0% to 100%");
  return permille;
}

std::string jitter_text(uint32_t permille) {
  if (permille == 0) return "";
  const std::string tenth = permille % 10 == 0 ? "" : "." + std::to_string(permille % 10);
  return "~" + std::to_string(permille / 10) + tenth + "%";
}

}  // namespace

Backoff parse_backoff(std::string_view option, std::string_view text) {
  Backoff backoff;
  if (text == "none") return backoff;
  if (const size_t tilde = text.find('~'); tilde != text.npos) {
    backoff.jitter_permille = parse_jitter(option, text.substr(tilde + 1));
    text = text.substr(0, tilde);
  }
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  const size_t dots = rest.find("..");
  if (kind == "fixed" && !rest.empty()) {
    backoff.kind = WQ_BACKOFF_FIXED;
    backoff.base_ms = parse_duration_ms(option, rest);
  } else if (kind == "exponential" && dots != rest.npos) {
    backoff.kind = WQ_BACKOFF_EXPONENTIAL;
    backoff.base_ms = parse_duration_ms(option, rest.substr(0, dots));
    backoff.max_ms = parse_duration_ms(option, rest.substr(dots + 2));
  } else if (kind == "list" && !rest.empty()) {
    backoff.kind = WQ_BACKOFF_LIST;
    backoff.list_ms = parse_duration_list(option, rest);
  } else {
    fail_usage(std::string(option) + ": '" + printable(text, 60) +
               "' is none of fixed:5s, exponential:1s..10m, list:1s,5s,1m (with jitter: "
               "fixed:5s~20%), none");
  }
  const std::string problem = backoff_problem(backoff);
  if (!problem.empty()) fail_usage(std::string(option) + ": " + problem);
  return backoff;
}

std::string backoff_text(const wq_queue_config& config) {
  const std::string jitter = jitter_text(config.backoff_jitter_permille);
  switch (config.backoff_kind) {
    case WQ_BACKOFF_FIXED:
      return "fixed:" + format_exact_duration(config.backoff_base_ms) + jitter;
    case WQ_BACKOFF_EXPONENTIAL:
      return "exponential:" + format_exact_duration(config.backoff_base_ms) + ".." +
             format_exact_duration(config.backoff_max_ms) + jitter;
    case WQ_BACKOFF_LIST: {
      std::string text = "list:";
      for (uint32_t i = 0; i < config.backoff_count && i < WQ_BACKOFF_LIST_MAX; ++i) {
        text += (i > 0 ? "," : "") + format_exact_duration(config.backoff_list_ms[i]);
      }
      return text + jitter;
    }
    default:
      return "none";
  }
}

namespace {

// "COUNT/DURATION" or "COUNT/DURATION:REST"; `examples` show what may be given.
class SplitRate {
 public:
  SplitRate(std::string_view option, std::string_view text, const char* examples)
      : option_(option), text_(text), examples_(examples) {
    const size_t slash = text.find('/');
    const size_t colon = text.find(':');
    if (slash == text.npos || colon < slash) fail();
    count = text.substr(0, slash);
    has_rest = colon != text.npos;
    window_ms =
        parse_duration_ms(option, text.substr(slash + 1, has_rest ? colon - slash - 1 : text.npos));
    if (window_ms == 0) fail();
    if (has_rest) rest = text.substr(colon + 1);
  }
  uint32_t number(std::string_view digits, uint64_t most) const {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail();
    if (value < 1 || value > most) fail();
    return static_cast<uint32_t>(value);
  }
  [[noreturn]] void fail() const {
    fail_usage(std::string(option_) + ": '" + printable(text_, 60) + "' is none of " + examples_);
  }

  std::string_view count, rest;
  bool has_rest = false;
  int64_t window_ms = 0;

 private:
  std::string_view option_, text_;
  const char* examples_;
};

}  // namespace

RateParts parse_rate(std::string_view option, std::string_view text) {
  RateParts rate;
  if (text == "none") return rate;
  const SplitRate split(option, text, "100/1m, 100/1m:20 (a burst), none; up to 1,000,000 jobs");
  rate.count = split.number(split.count, rate_count_max);
  rate.window_ms = split.window_ms;
  rate.burst = split.has_rest ? split.number(split.rest, rate_count_max) : 1;
  if (rate.burst > rate.count) {
    fail_usage(std::string(option) + ": a burst can not be more than the rate");
  }
  return rate;
}

void set_rate(std::string_view text, wq_queue_config& config) {
  const RateParts rate = parse_rate("--rate", text);
  config.fields |= WQ_CONFIG_RATE;
  config.rate_count = rate.count;
  config.rate_burst = rate.burst;
  config.rate_window_ms = rate.window_ms;
}

ThrottleParts parse_throttle(std::string_view option, std::string_view text) {
  ThrottleParts throttle;
  if (text == "none") return throttle;
  const SplitRate split(option, text,
                        "10/5m, 10/5m:1m (cools down for 1m), none; up to 100 exceptions");
  throttle.count = split.number(split.count, throttle_count_max);
  throttle.window_ms = split.window_ms;
  throttle.cool_ms = split.has_rest ? parse_duration_ms(option, split.rest) : split.window_ms;
  if (throttle.cool_ms == 0) split.fail();
  return throttle;
}

std::string throttle_text(const ThrottleParts& throttle) {
  if (throttle.count == 0) return "none";
  return std::to_string(throttle.count) + "/" + format_exact_duration(throttle.window_ms) +
         (throttle.cool_ms != throttle.window_ms ? ":" + format_exact_duration(throttle.cool_ms)
                                                 : "");
}

std::string rate_text(const RateParts& rate) {
  if (rate.count == 0) return "no limit";
  return std::to_string(rate.count) + "/" + format_exact_duration(rate.window_ms) +
         (rate.burst > 1 ? ":" + std::to_string(rate.burst) : "");
}

std::pair<std::string, std::string> parse_header(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos) {
    fail_usage("--header: '" + printable(text, 60) + "' is not NAME=VALUE");
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string draft_problem(const JobDraft& draft, uint64_t payload_bytes_max) {
  if (draft.payload.size() > payload_bytes_max) {
    return "payload: " + format_bytes(draft.payload.size()) + " is over the limit of " +
           format_bytes(payload_bytes_max) + "; --payload-max raises it";
  }
  if (draft.delay_ms < 0 || draft.delay_ms > wait_max_ms) return "delay_ms: outside 0 to 100 years";
  if (draft.run_at_ms < 0) return "run_at_ms: before 1970";
  if (draft.delay_ms != 0 && draft.run_at_ms != 0) {
    return "run_at_ms: not together with delay_ms";
  }
  if (draft.has_priority && draft.priority > priority_max) return "priority: outside 0 to 255";
  if (draft.max_attempts > attempts_max) return "max_attempts: outside 1 to 1,000,001";
  if (draft.timeout_ms < 0 || draft.timeout_ms > wait_max_ms) {
    return "timeout_ms: outside 0 to 100 years";
  }
  if (draft.backoff.jitter_permille > 1'000) return "backoff: its jitter is over 1000 per mille";
  if (draft.group.size() > group_bytes_max) return "group: over 512 bytes";
  if (draft.group_limit > group_limit_max) return "group_limit: outside 1 to 1,000,000";
  if (draft.group_limit != 0 && draft.group.empty()) return "group_limit: without a group";
  if (draft.tenant.size() > group_bytes_max) return "tenant: over 512 bytes";
  if (draft.overlap != WQ_OVERLAP_PARK && draft.group.empty()) return "overlap: without a group";
  const bool releases = draft.overlap == WQ_OVERLAP_RELEASE;
  if (releases != (draft.overlap_ms != 0) || draft.overlap_ms > wait_max_ms) {
    return releases ? "overlap_ms: outside 1 ms to 100 years" : "overlap_ms: without a release";
  }
  if (draft.rate_key.size() > group_bytes_max) return "rate_key: over 512 bytes";
  if (draft.rate_cost > rate_count_max) return "rate_cost: outside 1 to 1,000,000";
  if (draft.rate_cost != 0 && draft.rate_key.empty()) return "rate_cost: without a rate_key";
  if (!draft.rate_key.empty() && !draft.group.empty()) return "rate_key: not together with group";
  std::string problem = keys_problem(draft.keys, draft.delay_ms != 0 || draft.run_at_ms != 0);
  if (problem.empty()) problem = headers_problem(draft);
  return problem.empty() ? backoff_problem(draft.backoff) : problem;
}

SpecList::SpecList(const std::vector<JobDraft>& drafts) {
  size_t headers_count = 0;
  size_t chain_count = 0;
  for (const JobDraft& draft : drafts) {
    headers_count += draft.headers.size();
    chain_count += draft.chain.size();
  }
  headers_.reserve(headers_count);  // specs point into them, so they must not move
  chain_specs_.reserve(chain_count);
  chain_.reserve(chain_count);
  specs_.reserve(drafts.size());
  for (const JobDraft& draft : drafts) {
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = bytes_of(draft.payload);
    spec.headers = headers_.data() + headers_.size();
    spec.headers_count = draft.headers.size();
    for (const auto& [name, value] : draft.headers) {
      headers_.push_back({bytes_of(name), bytes_of(value)});
    }
    spec.delay_ms = draft.delay_ms;
    spec.run_at_ms = draft.run_at_ms;
    if (draft.has_priority) spec.flags |= WQ_JOB_PRIORITY;
    spec.priority = draft.priority;
    spec.max_attempts = draft.max_attempts;
    spec.group = bytes_of(draft.group);
    spec.group_limit = draft.group_limit;
    spec.overlap = draft.overlap;
    spec.overlap_ms = draft.overlap_ms;
    spec.tenant = bytes_of(draft.tenant);
    spec.rate_key = bytes_of(draft.rate_key);
    spec.rate_cost = draft.rate_cost;
    spec.backoff_kind = draft.backoff.kind;
    spec.backoff_base_ms = draft.backoff.base_ms;
    spec.backoff_max_ms = draft.backoff.max_ms;
    spec.backoff_count = static_cast<uint32_t>(draft.backoff.list_ms.size());
    spec.backoff_jitter_permille = draft.backoff.jitter_permille;
    spec.expires_at_ms = draft.expires_at_ms;
    spec.retry_until_ms = draft.retry_until_ms;
    spec.timeout_ms = draft.timeout_ms;
    spec.max_exceptions = draft.max_exceptions;
    if (draft.fail_on_timeout) spec.flags |= WQ_JOB_FAIL_ON_TIMEOUT;
    spec.flags |= draft.encrypt_flag;
    spec.backoff_list_ms = draft.backoff.list_ms.empty() ? nullptr : draft.backoff.list_ms.data();
    fill_keys(draft.keys, spec);
    spec.flow = draft.batch;
    spec.chain = chain_.data() + chain_.size();
    spec.chain_count = draft.chain.size();
    spec.chain_size = sizeof(wq_next_job);
    for (const NextDraft& following : draft.chain) {
      wq_job_spec& next_spec = chain_specs_.emplace_back(wq_job_spec WQ_JOB_SPEC_INIT);
      next_spec.flags = draft.encrypt_flag;
      next_spec.payload = bytes_of(following.payload);
      next_spec.delay_ms = following.delay_ms;
      wq_next_job& next = chain_.emplace_back(wq_next_job WQ_NEXT_JOB_INIT);
      next.queue_name = bytes_of(following.queue);
      next.spec = &next_spec;
    }
    specs_.push_back(spec);
  }
}

}  // namespace wq::cli
