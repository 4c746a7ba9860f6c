#include "relay/job.h"

#include <charconv>

namespace wq::relay {
namespace {

constexpr std::string_view prefix = "wq-relay-";
// A job of the spool ends when Redis has it or refuses it, not because it was tried often.
constexpr uint32_t spool_attempts = 1'000'001;

wq_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

template <typename Number>
void read_number(std::string_view text, Number& out) {
  std::from_chars(text.data(), text.data() + text.size(), out);
}

}  // namespace

void SpooledSpec::add(std::string_view name, std::string_view value) {
  headers_.push_back({bytes_of(name), bytes_of(value)});
}

SpooledSpec::SpooledSpec(const Job& job, bool hold, bool in_order) {
  for (const auto& [name, value] : job.headers) add(name, value);
  add("wq-relay-id", job.id);
  const std::pair<const char*, int64_t> numbers[] = {{"wq-relay-run-at-ms", job.run_at_ms},
                                                     {"wq-relay-priority", job.priority + 1},
                                                     {"wq-relay-max-attempts", job.max_attempts},
                                                     {"wq-relay-attempts", job.attempts}};
  for (size_t i = 0; i < std::size(numbers); ++i) {
    if (numbers[i].second == 0) continue;
    numbers_[i] = std::to_string(numbers[i].second);
    add(numbers[i].first, numbers_[i]);
  }
  if (!job.unique_key.empty()) add("wq-relay-unique", job.unique_key);
  if (!job.group.empty()) add("wq-relay-group", job.group);
  spec_.payload = bytes_of(job.payload);
  spec_.headers = headers_.data();
  spec_.headers_count = headers_.size();
  spec_.max_attempts = spool_attempts;
  if (hold) spec_.run_at_ms = job.run_at_ms;
  if (job.priority < 0 || in_order) return;
  spec_.flags |= WQ_JOB_PRIORITY;
  spec_.priority = static_cast<uint32_t>(job.priority);
}

Job spooled_job(const wq_batch* batch, size_t i, const wq_job& stored, std::string_view store_id) {
  Job job;
  const auto view = [](const wq_bytes& bytes) {
    return std::string_view(static_cast<const char*>(bytes.data), bytes.len);
  };
  job.payload = view(stored.payload);
  for (size_t h = 0; h < stored.headers_count; ++h) {
    wq_header header{};
    if (wq_batch_header(batch, i, h, &header) != WQ_OK) break;
    const std::string_view name = view(header.name), value = view(header.value);
    const std::string_view own =
        name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size()) : std::string_view();
    if (own == "id") {
      job.id = value;
    } else if (own == "run-at-ms") {
      read_number(value, job.run_at_ms);
    } else if (own == "priority") {
      read_number(value, job.priority);
      --job.priority;
    } else if (own == "max-attempts") {
      read_number(value, job.max_attempts);
    } else if (own == "attempts") {
      read_number(value, job.attempts);
    } else if (own == "unique") {
      job.unique_key = value;
    } else if (own == "group") {
      job.group = value;
    } else {
      job.headers.emplace_back(name, value);
    }
  }
  if (!job.id.empty()) return job;
  job.id = std::string(store_id) + ":" + std::to_string(stored.id);
  job.priority = stored.priority == 100 ? -1 : static_cast<int32_t>(stored.priority);
  job.group = view(stored.group);
  return job;
}

}  // namespace wq::relay
