// wq txn: the lines of a file, one operation each, as one change of the store.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/line_reader.h"
#include "cli/made_queues.h"
#include "cli/strict_json.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr int64_t int64_max = std::numeric_limits<int64_t>::max();
constexpr int64_t int64_min = std::numeric_limits<int64_t>::min();
constexpr size_t operations_max = 10'000;
constexpr uint64_t line_bytes_max = 128 << 20;

// One line. The structs of wq.h point into the rest, so it stays where it is.
struct Operation {
  std::string queue, key, value, if_value, error, result;
  std::vector<JobDraft> job;  // one, for an enqueue
  std::unique_ptr<SpecList> spec;
  wq_settle_item settle = WQ_SETTLE_ITEM_INIT;
  wq_kv_options options = WQ_KV_OPTIONS_INIT;
  wq_txn_op op = WQ_TXN_OP_INIT;
};

// Members are taken out of the line; what is left at the end is not known.
class Line {
 public:
  explicit Line(std::string_view text) : json_(parse_strict(text)) {
    if (!json_.is_object()) fail_usage("must be a JSON object with an op");
  }
  bool has(const char* name) const { return json_.contains(name); }
  std::string text(const char* name) {
    if (!has(name)) fail_field(name, "is missing");
    std::string out = text_of(name, json_[name]);
    json_.erase(name);
    return out;
  }
  std::string bytes(const std::string& name) {
    std::string out = bytes_member("the line", json_, name);
    json_.erase(name);
    json_.erase(name + "_base64");
    return out;
  }
  bool has_bytes(const std::string& name) const {
    return json_.contains(name) || json_.contains(name + "_base64");
  }
  int64_t number(const char* name, int64_t min, int64_t max) {
    const int64_t out = whole_number(name, json_[name], min, max);
    json_.erase(name);
    return out;
  }
  bool flag(const char* name) {
    if (!has(name)) return false;
    if (!json_[name].is_boolean()) fail_field(name, "must be true or false");
    const bool out = json_[name].get<bool>();
    json_.erase(name);
    return out;
  }
  std::string rest() const { return json_.dump(); }
  void finish() const {
    for (const auto& [name, value] : json_.items()) {
      fail_field(printable(name, 60), "is not known for this op");
    }
  }

 private:
  Json json_;
};

void read_settle(const std::string& name, Line& line, Operation& out) {
  const wq_token token = parse_token(line.text("token"));
  out.op.kind = WQ_TXN_SETTLE;
  out.settle.kind = name == "ack"       ? WQ_SETTLE_ACK
                    : name == "nack"    ? WQ_SETTLE_NACK
                    : name == "release" ? WQ_SETTLE_RELEASE
                                        : WQ_SETTLE_FAIL;
  out.settle.id = token.id;
  out.settle.generation = token.generation;
  if (line.has("delay_ms")) {
    out.settle.delay_ms = line.number("delay_ms", 0, int64_max);
    if (name == "nack") out.settle.flags |= WQ_NACK_DELAY;
  }
  if (line.has_bytes("error")) out.error = line.bytes("error");
  out.settle.error = bytes_of(out.error);
  if (name == "ack" && line.has_bytes("result")) out.result = line.bytes("result");
  out.settle.result = bytes_of(out.result);
  line.finish();
  out.op.settle = &out.settle;
}

void read_row(const std::string& name, Line& line, Operation& out) {
  out.op.kind = name == "put"     ? WQ_TXN_KV_PUT
                : name == "add"   ? WQ_TXN_KV_ADD
                : name == "erase" ? WQ_TXN_KV_ERASE
                                  : WQ_TXN_KV_CHECK;
  out.key = line.bytes("key");
  if (name == "put") out.value = line.bytes("value");
  out.op.delta = name != "add" ? 0 : line.has("by") ? line.number("by", int64_min, int64_max) : 1;
  if (line.has("ttl_ms")) out.options.ttl_ms = line.number("ttl_ms", 0, int64_max);
  if (line.flag("if_absent")) out.options.flags |= WQ_KV_IF_ABSENT;
  if (line.has("if_version")) {
    out.options.flags |= WQ_KV_IF_VERSION;
    out.options.version = static_cast<uint64_t>(line.number("if_version", 0, int64_max));
  }
  if (line.has_bytes("if_value")) {
    out.options.flags |= WQ_KV_IF_VALUE;
    out.if_value = line.bytes("if_value");
    out.options.value = bytes_of(out.if_value);
  }
  line.finish();
  out.op.key = bytes_of(out.key);
  out.op.value = bytes_of(out.value);
  out.op.options = &out.options;
}

std::unique_ptr<Operation> read_operation(std::string_view text) {
  auto out = std::make_unique<Operation>();
  Line line(text);
  const std::string name = line.text("op");
  if (name == "put" || name == "add" || name == "erase" || name == "check") {
    read_row(name, line, *out);
    return out;
  }
  if (name != "enqueue" && name != "ack" && name != "nack" && name != "release" && name != "fail") {
    fail_field("op", "'" + printable(name, 60) +
                         "' is none of enqueue, ack, nack, release, fail, put, add, erase, check");
  }
  out->queue = line.text("queue");
  if (name != "enqueue") {
    read_settle(name, line, *out);
    return out;
  }
  out->op.kind = WQ_TXN_ENQUEUE;
  out->job.push_back(parse_job_line(line.rest(), JobDraft()));
  out->spec = std::make_unique<SpecList>(out->job);
  out->op.spec = out->spec->data();
  return out;
}

std::vector<std::unique_ptr<Operation>> read_operations(int fd, const std::string& name) {
  LineReader lines(fd, name, '\n', line_bytes_max);
  std::vector<std::unique_ptr<Operation>> out;
  std::string_view line;
  while (lines.next(line)) {
    try {
      if (out.size() == operations_max) fail_usage("a transaction has at most 10,000 operations");
      out.push_back(read_operation(line));
    } catch (Failure& failure) {
      failure.message = "line " + std::to_string(lines.line_number()) + ": " + failure.message;
      throw;
    }
  }
  if (out.empty()) fail_usage("the input is empty");
  return out;
}

void tell(Context& context, const std::vector<std::unique_ptr<Operation>>& operations,
          const std::vector<wq_txn_result>& results, uint64_t lsn) {
  if (!context.out().json()) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].job_id != 0) context.out().line(std::to_string(results[i].job_id));
    }
    context.out().note(plural(results.size(), "operation") + " done in one change");
    return;
  }
  List list;
  for (size_t i = 0; i < results.size(); ++i) {
    Record record;
    const uint32_t kind = operations[i]->op.kind;
    if (kind == WQ_TXN_ENQUEUE) record.add("id", results[i].job_id);
    if (kind == WQ_TXN_KV_ADD) record.add("value", results[i].sum);
    list.emplace_back(std::move(record));
  }
  context.out().record(Record().add("lsn", lsn).add("results", std::move(list)));
}

}  // namespace

int run_txn(Context& context, const TxnOptions& options) {
  int fd = STDIN_FILENO;
  if (options.file != "-") fd = ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_errno(options.file, errno);
  const auto operations =
      read_operations(fd, options.file == "-" ? "standard input" : options.file);
  if (fd != STDIN_FILENO) ::close(fd);
  const Store store = context.open_store({OpenMode::create, false, 0});
  MadeQueues made(context, store);
  std::map<std::string, Queue> queues;
  std::vector<wq_txn_op> ops;
  for (const auto& operation : operations) {
    if (!operation->queue.empty()) {
      Queue& queue = queues[operation->queue];
      // As with push, a job makes the queue it goes to.
      const bool makes = operation->op.kind == WQ_TXN_ENQUEUE;
      if (queue.get() == nullptr) {
        queue = makes ? made.open(operation->queue)
                      : context.open_queue(store, operation->queue, OpenMode::must_exist);
      }
      operation->op.queue = queue.get();
    }
    ops.push_back(operation->op);
  }
  std::vector<wq_txn_result> results(ops.size());
  size_t failed = 0;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_transact(store.get(), ops.data(), ops.size(), sizeof ops[0], &call,
                                   results.data(), sizeof results[0], &failed, &err);
  made.ended(code);
  if (code != WQ_OK && failed < ops.size()) {
    throw Failure{exit_code_of(code), code,
                  "line " + std::to_string(failed + 1) +
                      " was refused, nothing was done: " + message_of(code, err)};
  }
  check(code, err);
  tell(context, operations, results, call.lsn);
  return exit_ok;
}

}  // namespace wq::cli
