// wq push: arguments, lines, whole files or lines of JSON become jobs.
//
// What can be read twice (arguments, files, JSON from a pipe) is checked as a whole before the
// store is even opened, so that a bad line leaves nothing behind. Lines of a pipe are pushed as
// they come, a group whenever the writer pauses. Each group of at most 10,000 jobs is one durable
// change.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/line_reader.h"
#include "cli/made_queues.h"
#include "cli/progress.h"
#include "cli/queue_view.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr uint64_t payload_bytes_default_max = 16 << 20;
constexpr size_t group_jobs_max = 10'000;
constexpr size_t group_bytes_max = 4 << 20;  // a longer group would gain nothing
// A line of JSON may escape each byte of its payload with six.
constexpr uint64_t json_line_bytes_extra = 1 << 20;

// "-" alone is standard input, as for other commands.
bool reads_input(const PushOptions& options) {
  return options.payloads.empty() || (options.payloads.size() == 1 && options.payloads[0] == "-");
}

std::string were_pushed(uint64_t count, const char* which = "") {
  return plural(count, "job") + which + (count == 1 ? " was" : " were") + " pushed";
}

std::string ids_text(uint64_t first, uint64_t last) {
  return first == last ? "id " + std::to_string(first)
                       : "ids " + std::to_string(first) + " to " + std::to_string(last);
}

class InputFile {
 public:
  explicit InputFile(const std::string& path) : name_(path == "-" ? "standard input" : path) {
    fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_errno(path, errno);
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail_errno(name_, errno);
    if (S_ISDIR(info.st_mode)) fail_usage(name_ + ": is a directory");
    regular_ = S_ISREG(info.st_mode);
    size_bytes_ = regular_ ? static_cast<uint64_t>(info.st_size) : 0;
    begin_ = regular_ ? ::lseek(fd_, 0, SEEK_CUR) : 0;
  }
  ~InputFile() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }
  bool regular() const { return regular_; }
  uint64_t size_bytes() const { return size_bytes_; }
  void rewind() const {
    if (::lseek(fd_, begin_, SEEK_SET) < 0) fail_errno(name_, errno);
  }

 private:
  const std::string name_;
  int fd_ = -1;
  bool regular_ = false;
  uint64_t size_bytes_ = 0;
  off_t begin_ = 0;
};

// The open queue and the group that is being filled.
class Pusher {
 public:
  Pusher(Context& context, const PushOptions& options, uint64_t payload_bytes_max)
      : context_(context),
        options_(options),
        durability_(durability_of("--durability", options.durability)),
        store_(context.open_store({OpenMode::create, false, payload_bytes_max})),
        made_(context, store_),
        queue_(made_.open(options.queue)) {}

  void add(JobDraft draft) {
    group_bytes_ += draft.payload.size();
    for (const auto& [name, value] : draft.headers) group_bytes_ += name.size() + value.size();
    group_.push_back(std::move(draft));
    if (group_.size() >= group_jobs_max || group_bytes_ >= group_bytes_max) push_group();
  }

  void push_group();
  uint64_t pushed() const { return pushed_; }
  // "5 jobs were pushed (ids 1 to 5); the rest of the input was not"
  std::string pushed_text() const;
  int exit_code() const { return pushed_ == 0 && duplicates_ > 0 ? exit_refused : exit_ok; }
  bool has_group() const { return !group_.empty(); }
  void finish();
  // How many jobs the input has, where that is known before the first is pushed.
  void set_total(uint64_t total) { total_ = total; }

 private:
  std::string were_not_pushed() const;
  void tell(const std::vector<wq_enqueued>& enqueued);

  Context& context_;
  const PushOptions& options_;
  const uint32_t durability_;
  const Store store_;
  MadeQueues made_;
  const Queue queue_;
  std::vector<JobDraft> group_;
  size_t group_bytes_ = 0;
  uint64_t pushed_ = 0, duplicates_ = 0, first_id_ = 0, last_id_ = 0, total_ = 0;
  bool finishing_ = false;
  Stopwatch watch_;
};

void Pusher::push_group() {
  if (group_.empty()) return;
  const SpecList specs(group_);
  std::vector<wq_enqueued> enqueued(specs.size(), WQ_ENQUEUED_INIT);
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code =
      wq_enqueue_many(queue_.get(), specs.data(), specs.size(), sizeof(wq_job_spec), 0, &call,
                      enqueued.data(), sizeof(wq_enqueued), nullptr, &err);
  made_.ended(code);
  if (code != WQ_OK && code != WQ_DUPLICATE) {
    std::string message = message_of(code, err);
    if (code == WQ_DISABLED) message = status_problem(options_.queue, WQ_STATUS_DISABLED);
    if (code == WQ_E_NO_SPACE) message = context_.store_path() + ": " + message;
    if (pushed_ > 0 || code == WQ_E_NO_SPACE) {
      message += "; " + were_pushed(pushed_, " before it");
    }
    if (wq_error_maybe_committed(code)) message += "; these jobs may have been pushed all the same";
    throw Failure{exit_code_of(code), code, std::move(message)};
  }
  for (const wq_enqueued& job : enqueued) {
    if (job.code != WQ_OK) {
      ++duplicates_;
      continue;
    }
    ++pushed_;
    if (first_id_ == 0) first_id_ = job.job_id;
    last_id_ = job.job_id;
  }
  try {
    tell(enqueued);
  } catch (Failure& failure) {
    failure.message += "; " + were_pushed(pushed_) + " all the same (" +
                       ids_text(first_id_, last_id_) + ")" + were_not_pushed();
    throw;
  }
  group_.clear();
  group_bytes_ = 0;
}

std::string Pusher::pushed_text() const {
  return were_pushed(pushed_) + (pushed_ > 0 ? " (" + ids_text(first_id_, last_id_) + ")" : "") +
         were_not_pushed();
}

std::string Pusher::were_not_pushed() const {
  if (finishing_ || (total_ != 0 && total_ == pushed_ + duplicates_)) return "";
  if (total_ == 0) return "; the rest of the input was not";
  const uint64_t rest = total_ - pushed_ - duplicates_;
  return "; the other " + format_count(rest) + (rest == 1 ? " was not" : " were not");
}

void Pusher::tell(const std::vector<wq_enqueued>& enqueued) {
  Output& out = context_.out();
  for (const wq_enqueued& job : enqueued) {
    if (out.json()) {
      Record record;
      record.add("id", job.job_id).add_bytes("queue", options_.queue);
      if (job.code == WQ_OK) record.add("lsn", job.lsn);
      if (job.code != WQ_OK) record.add("duplicate", true);
      out.record(record);
    } else if (options_.ids || !reads_input(options_) || options_.format == "whole") {
      out.line(std::to_string(job.job_id));
    }
  }
  out.flush();
}

void Pusher::finish() {
  finishing_ = true;
  push_group();
  made_.ended(WQ_OK);  // also of an input without a job
  if (duplicates_ > 0) {
    context_.out().note("not pushed: " + plural(duplicates_, "job") +
                        ", another one has the key (see wq key)");
  }
  if (pushed_ == 0) {
    if (duplicates_ == 0) context_.out().note("nothing to push: the input has no job");
    return;
  }
  wq_error err = WQ_ERROR_INIT;
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  check(wq_queue_get_config(queue_.get(), &config, &err), err);
  const uint32_t level = durability_ != 0 ? durability_ : config.durability;
  const std::string rate = rate_of(pushed_, watch_.seconds());
  context_.out().note("pushed " + plural(pushed_, "job") + " to " + printable(options_.queue, 60) +
                      " (" + ids_text(first_id_, last_id_) + (rate.empty() ? "" : ", " + rate) +
                      "), durability: " + durability_name(level));
}

JobDraft base_draft(const PushOptions& options) {
  JobDraft draft;
  if (!options.delay.empty()) draft.delay_ms = parse_duration_ms("--delay", options.delay);
  if (!options.at.empty()) draft.run_at_ms = parse_time_ms("--at", options.at);
  if (!options.backoff.empty()) draft.backoff = parse_backoff("--backoff", options.backoff);
  // Of a job "none" means no delay; kind 0 would be the policy of the queue.
  if (options.backoff == "none") draft.backoff.kind = WQ_BACKOFF_FIXED;
  draft.has_priority = options.priority >= 0;
  if (draft.has_priority) draft.priority = static_cast<uint32_t>(options.priority);
  draft.max_attempts = options.max_attempts;
  draft.max_exceptions = options.max_exceptions;
  draft.fail_on_timeout = options.fail_on_timeout;
  if (options.encrypt) draft.encrypt_flag = WQ_JOB_ENCRYPT;
  if (options.plain) draft.encrypt_flag = WQ_JOB_PLAIN;
  if (!options.expires.empty()) draft.expires_at_ms = parse_ahead_ms("--expires", options.expires);
  if (!options.retry_until.empty()) {
    draft.retry_until_ms = parse_ahead_ms("--retry-until", options.retry_until);
  }
  if (!options.timeout.empty()) draft.timeout_ms = parse_duration_ms("--timeout", options.timeout);
  draft.keys = parse_keys(options.keys);
  draft.batch = options.batch;
  for (const std::string& payload : options.chain) {
    draft.chain.push_back({.queue = {}, .payload = payload});
  }
  draft.group = options.group;
  draft.group_limit = options.group_limit;
  draft.tenant = options.tenant;
  if (options.overlap == "skip") {
    draft.overlap = WQ_OVERLAP_SKIP;
  } else if (!options.overlap.empty()) {
    draft.overlap = WQ_OVERLAP_RELEASE;
    draft.overlap_ms = parse_duration_ms("--overlap", options.overlap);
  }
  draft.rate_key = options.rate_key;
  draft.rate_cost = options.rate_cost;
  for (const std::string& header : options.headers) draft.headers.push_back(parse_header(header));
  const std::string problem = draft_problem(draft, payload_bytes_default_max);
  if (!problem.empty()) fail_usage(problem);
  return draft;
}

// reader.next() that a signal ends, also while it waits for whoever writes the pipe.
bool next_line(LineReader& reader, std::string_view& line, const StopSignals* signals) {
  if (signals == nullptr) return reader.next(line);
  for (;;) {
    if (signals->count() > 0) {
      throw Failure{128 + signals->last_signal(), WQ_CANCELLED, "stopped by a signal"};
    }
    const LineReader::Next next = reader.try_next(line);
    if (next != LineReader::Next::wait) return next == LineReader::Next::line;
    pollfd polls[] = {{reader.fd(), POLLIN, 0}, {signals->fd(), POLLIN, 0}};
    ::poll(polls, std::size(polls), -1);
    signals->drain();
  }
}

// What one push reads its jobs from, and how a line becomes a job.
class LineSource {
 public:
  LineSource(const PushOptions& options, uint64_t payload_bytes_max)
      : options_(options), payload_bytes_max_(payload_bytes_max), base_(base_draft(options)) {}

  // Calls `take` with each job. Throws with the line's number in front when one is bad.
  void read(LineReader& reader, const std::function<void(JobDraft)>& take,
            const StopSignals* signals = nullptr) const {
    std::string_view line;
    while (next_line(reader, line, signals)) {
      if (std::optional<JobDraft> draft = parse(line, reader.line_number()))
        take(*std::move(draft));
    }
  }

  LineReader reader_of(const InputFile& input) const {
    return LineReader(input.fd(), input.name(), separator(), line_bytes_max());
  }
  LineReader reader_of(std::string text) const {
    return LineReader(std::move(text), separator(), line_bytes_max());
  }
  bool json() const { return options_.format == "jsonl"; }

 private:
  char separator() const { return options_.format == "null" ? '\0' : '\n'; }
  uint64_t line_bytes_max() const {
    return json() ? payload_bytes_max_ * 6 + json_line_bytes_extra : payload_bytes_max_;
  }

  std::optional<JobDraft> parse(std::string_view line, uint64_t number) const {
    if (!json()) {
      JobDraft draft = base_;
      draft.payload = line;
      return draft;
    }
    if (line.find_first_not_of(" \t\r") == line.npos) return std::nullopt;
    try {
      JobDraft draft = parse_job_line(line, base_);
      const std::string problem = draft_problem(draft, payload_bytes_max_);
      if (!problem.empty()) fail_usage(problem);
      return draft;
    } catch (Failure& failure) {
      failure.message = "line " + std::to_string(number) + ": " + failure.message;
      failure.help_helps = false;
      throw;
    }
  }

  const PushOptions& options_;
  const uint64_t payload_bytes_max_;
  const JobDraft base_;
};

// With --partial a bad line stops the push after the jobs before it.
void push_lines(Context& context, const LineSource& source, LineReader& reader, Pusher& pusher,
                uint64_t total_bytes) {
  Progress progress(context.out(), "push", total_bytes, "bytes");
  const StopSignals signals;
  const auto push_line = [&](JobDraft draft) {
    pusher.add(std::move(draft));
    if (pusher.has_group() && reader.would_wait()) pusher.push_group();
    progress.update(reader.bytes_read());
  };
  try {
    source.read(reader, push_line, &signals);
  } catch (Failure& failure) {
    if (failure.code == WQ_CANCELLED) failure.message += "; " + pusher.pushed_text();
    if (failure.code == 0 && failure.exit_code == exit_usage) {
      pusher.push_group();
      failure.message += "; " + were_pushed(pusher.pushed(), " before it");
    }
    throw;
  }
}

int push_input(Context& context, const PushOptions& options, uint64_t payload_bytes_max) {
  const InputFile input(options.file);
  if (options.format == "whole") {
    JobDraft draft = base_draft(options);
    draft.payload = read_all(input.fd(), input.name(), payload_bytes_max);
    Pusher pusher(context, options, payload_bytes_max);
    pusher.add(std::move(draft));
    pusher.finish();
    return pusher.exit_code();
  }
  const LineSource source(options, payload_bytes_max);
  const bool from_memory = source.json() && !input.regular() && !options.partial;
  const std::string text = from_memory ? read_all(input.fd(), input.name(), UINT64_MAX) : "";
  uint64_t total = 0;
  if (!options.partial && (from_memory || input.regular())) {
    LineReader reader = from_memory ? source.reader_of(text) : source.reader_of(input);
    try {
      source.read(reader, [&](const JobDraft&) { ++total; });
    } catch (Failure& failure) {
      failure.message += "; nothing was pushed";
      throw;
    }
    if (input.regular()) input.rewind();
  }
  Pusher pusher(context, options, payload_bytes_max);
  pusher.set_total(total);
  LineReader reader = from_memory ? source.reader_of(text) : source.reader_of(input);
  push_lines(context, source, reader, pusher, input.size_bytes());
  pusher.finish();
  return pusher.exit_code();
}

int push_arguments(Context& context, const PushOptions& options, uint64_t payload_bytes_max) {
  const JobDraft base = base_draft(options);
  Pusher pusher(context, options, payload_bytes_max);
  pusher.set_total(options.payloads.size());
  for (const std::string& payload : options.payloads) {
    JobDraft draft = base;
    draft.payload = payload;
    pusher.add(std::move(draft));
  }
  pusher.finish();
  return pusher.exit_code();
}

}  // namespace

namespace {

// Asks for one job what the queue would answer; nothing is made, not even the queue.
int test_push(Context& context, const PushOptions& options) {
  if (options.payloads.size() > 1) fail_usage("--test: give one payload or none");
  JobDraft draft = base_draft(options);
  if (!options.payloads.empty()) draft.payload = options.payloads[0];
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  const std::vector<JobDraft> drafts{std::move(draft)};
  const SpecList specs(drafts);
  wq_job_spec spec = *specs.data();
  spec.flags |= WQ_JOB_DRY_RUN;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_enqueue(queue.get(), &spec, nullptr, nullptr, &err);
  const std::string problem = code == WQ_DISABLED
                                  ? status_problem(options.queue, WQ_STATUS_DISABLED)
                                  : message_of(code, err);
  if (context.out().json()) {
    Record record;
    record.add_bytes("queue", options.queue).add("outcome", wq_error_name(code));
    context.out().record(record);
  }
  if (code != WQ_OK) throw Failure{exit_code_of(code), code, problem};
  context.out().note("queue " + printable(options.queue, 60) +
                     " would take it; nothing was pushed");
  return exit_ok;
}

}  // namespace

int run_push(Context& context, const PushOptions& options) {
  if (options.test) return test_push(context, options);
  const uint64_t payload_bytes_max = options.payload_max.empty()
                                         ? payload_bytes_default_max
                                         : parse_size("--payload-max", options.payload_max);
  if (payload_bytes_max == 0) fail_usage("--payload-max: must be at least 1");
  if (!reads_input(options) && (options.file_given || options.format != "lines")) {
    fail_usage("--file and --format go without payloads as arguments");
  }
  if (!options.payloads.empty() && options.file_given) {
    fail_usage("- is standard input; --file names another");
  }
  if (!options.at.empty() && parse_time_ms("--at", options.at) <= wall_clock_ms()) {
    context.out().note("note: --at lies in the past; the job is ready at once");
  }
  if (reads_input(options)) {
    if (options.file == "-" && ::isatty(STDIN_FILENO) == 1) {
      context.out().note("reading jobs from the terminal, one per line; Ctrl-D ends");
    }
    return push_input(context, options, payload_bytes_max);
  }
  return push_arguments(context, options, payload_bytes_max);
}

}  // namespace wq::cli
