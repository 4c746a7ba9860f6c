// wq verify --crash: a drill on the user's own disk. A second process of this program pushes and
// acks jobs and tells each step over a pipe: what it begins, and what it was promised. It is killed
// again and again; after each kill the store is opened, and what is in it is compared with what was
// told. A kill leaves the kernel and the device alone, so this shows nothing about power loss: what
// can be looked at for that is in device.cc, and the report says where it ends.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/device.h"
#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* levels[] = {"power", "process", "memory"};
constexpr int kills_min = 2;  // per level, however slow the disk is
constexpr int64_t life_ms_min = 20, life_ms_span = 180;
constexpr uint32_t drain_jobs = 1'000;
constexpr const char* drill_queue = "drill";

constexpr const char* cannot_show =
    "Kills leave the kernel and the device running: whether a flush survives real power loss is "
    "for "
    "the device to keep. Pull the plug under load to know (docs/TESTING.md).";

class DrillDirectory {
 public:
  explicit DrillDirectory(const std::string& parent)
      : path_(parent + "/wq-crash-" + std::to_string(::getpid())) {
    std::error_code error;
    if (!fs::create_directory(path_, error)) fail_errno(path_, error ? error.value() : EEXIST);
  }
  ~DrillDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  DrillDirectory(const DrillDirectory&) = delete;
  DrillDirectory& operator=(const DrillDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// What the killed process told of each job.
enum class Told { begun, pushed, ack_begun, acked };

struct LevelResult {
  std::string level;
  uint64_t kills = 0, promised = 0, found = 0, lost = 0, back = 0, unknown = 0, cut_tails = 0;
  bool kept() const { return back == 0 && unknown == 0 && (lost == 0 || level == "memory"); }
};

// One level: a store of its own, killed until the time is over.
class Drill {
 public:
  Drill(Context& context, const StopSignals& signals, const std::string& directory,
        const std::string& level)
      : context_(context), signals_(signals), store_path_(directory + "/" + level) {
    result_.level = level;
  }

  LevelResult run(double seconds) {
    const Stopwatch watch;
    while (result_.kills < kills_min || watch.seconds() < seconds) {
      if (signals_.count() > 0) fail(128 + signals_.last_signal(), "stopped");
      context_.out().status("drill: level " + result_.level + ", " + plural(result_.kills, "kill"));
      live_and_die();
      compare();
    }
    return result_;
  }

 private:
  void live_and_die();
  void note(const std::string& line);
  void compare();

  Context& context_;
  const StopSignals& signals_;
  const std::string store_path_;
  LevelResult result_;
  uint64_t next_number_ = 1;
  std::map<uint64_t, Told> told_;
};

void Drill::live_and_die() {
  Child child;
  Child::Options options;
  options.pipe_stdin = false;
  options.out = Child::Stdout::pipe;
  const int failed = child.start({"/proc/self/exe", "--store", store_path_, "crash-child",
                                  result_.level, std::to_string(next_number_)},
                                 options);
  if (failed != 0) fail_errno("the drill's own process", failed);
  std::string text;
  // Counted from its first word, so that slow opening does not take all of its life. The lengths
  // need no luck: they are spread evenly, and the machine adds its own.
  const int64_t life_ms = life_ms_min + static_cast<int64_t>(result_.kills * 67) % life_ms_span;
  std::unique_ptr<Stopwatch> alive;
  bool open = true;
  while (open && (!alive || alive->ms() < life_ms)) {
    std::vector<pollfd> polls;
    child.add_polls(polls, false);
    const int64_t wait_ms = alive ? std::max<int64_t>(1, life_ms - alive->ms()) : 1'000;
    ::poll(polls.data(), polls.size(), static_cast<int>(wait_ms));
    open = child.read_stdout(text);
    child.pass_stderr(context_.out());
    if (!alive && !text.empty()) alive = std::make_unique<Stopwatch>();
    if (signals_.count() > 1) break;
  }
  child.kill_now();
  int status = 0;
  while (!child.reap(status)) ::poll(nullptr, 0, 1);
  while (child.read_stdout(text) && !text.empty() && open) {
    std::vector<pollfd> polls;
    child.add_polls(polls, false);
    if (polls.empty() || ::poll(polls.data(), polls.size(), 10) == 0) break;
  }
  if (!open)
    fail(exit_storage, "the drill's own process ended by itself: " + describe_exit(status));
  ++result_.kills;
  std::istringstream lines(text);
  std::string line;
  // The last line may be cut; a promise counts when all of it was told.
  while (std::getline(lines, line) && !lines.eof()) note(line);
}

void Drill::note(const std::string& line) {
  const uint64_t number = parse_number("drill", line.substr(1));
  switch (line.empty() ? '?' : line[0]) {
    case 'b':
      told_[number] = Told::begun;
      next_number_ = std::max(next_number_, number + 1);
      break;
    case 'P':
      told_[number] = Told::pushed;
      ++result_.promised;
      break;
    case 'a':
      told_[number] = Told::ack_begun;
      break;
    case 'A':
      told_[number] = Told::acked;
      ++result_.promised;
      break;
    default:
      fail(exit_other, "the drill's own process said '" + printable(line, 40) + "'");
  }
}

// Takes everything out of the store: what must be there is, what must not be is not.
void Drill::compare() {
  wq_store_options options = context_.store_options({OpenMode::create, true, 0});
  wq_error err = WQ_ERROR_INIT;
  Store store;
  check(wq_store_open(store_path_.c_str(), &options, store.out(), &err), err);
  wq_recovery recovery = WQ_RECOVERY_INIT;
  check(wq_store_get_recovery(store.get(), &recovery, &err), err);
  if (recovery.truncated_bytes > 0) ++result_.cut_tails;
  Queue queue = context_.open_queue(store, drill_queue, OpenMode::create);
  wq_queue* const handle = queue.get();
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = drain_jobs;
  std::set<uint64_t> found;
  for (;;) {
    Batch batch;
    const int32_t code =
        wq_lease(store.get(), &handle, 1, &take, nullptr, nullptr, batch.out(), &err);
    if (code == WQ_EMPTY) break;
    check(code, err);
    std::vector<wq_settle_item> items(wq_batch_count(batch.get()), WQ_SETTLE_ITEM_INIT);
    for (size_t i = 0; i < items.size(); ++i) {
      wq_job job = WQ_JOB_INIT;
      check(wq_batch_job(batch.get(), i, &job), err);
      found.insert(parse_number("drill", view_of(job.payload)));
      items[i].kind = WQ_SETTLE_ACK;
      items[i].id = job.id;
      items[i].generation = job.generation;
    }
    check(wq_settle_many(handle, items.data(), items.size(), sizeof(wq_settle_item), nullptr,
                         nullptr, &err),
          err);
  }
  for (const uint64_t number : found) {
    if (!told_.contains(number)) ++result_.unknown;
  }
  for (const auto& [number, told] : told_) {
    const bool there = found.contains(number);
    if (there) ++result_.found;
    if (told == Told::pushed && !there) ++result_.lost;
    // At memory level an ack may be lost, and then the job comes back, as it must.
    if (told == Told::acked && there && result_.level != "memory") ++result_.back;
  }
  told_.clear();
}

DeviceFact ring_of(Context& context, const std::string& directory) {
  wq_store_options options = context.store_options({OpenMode::create, false, 0});
  options.io_backend = WQ_IO_URING;
  wq_error err = WQ_ERROR_INIT;
  Store store;
  const int32_t code = wq_store_open((directory + "/ring").c_str(), &options, store.out(), &err);
  if (code == WQ_OK) return {"io_uring", "works", Verdict::good, ""};
  return {"io_uring", message_of(code, err), Verdict::note, "threads write the log instead"};
}

Record record_of(const std::string& directory, bool ok, const std::vector<DeviceFact>& facts,
                 const std::vector<LevelResult>& results) {
  List device, drilled;
  for (const DeviceFact& fact : facts) {
    device.emplace_back(Record()
                            .add("check", fact.check)
                            .add("found", fact.found)
                            .add("verdict", verdict_name(fact.verdict))
                            .add("meaning", fact.meaning));
  }
  for (const LevelResult& result : results) {
    drilled.emplace_back(Record()
                             .add("durability", result.level)
                             .add("kept", result.kept())
                             .add("kills", result.kills)
                             .add("promised", result.promised)
                             .add("found", result.found)
                             .add("lost", result.lost)
                             .add("came_back", result.back)
                             .add("unknown", result.unknown)
                             .add("cut_tails", result.cut_tails));
  }
  Record record;
  record.add("ok", ok);
  record.add_bytes("directory", directory);
  record.add("device", std::move(device))
      .add("levels", std::move(drilled))
      .add("cannot_show", cannot_show);
  return record;
}

void print(Output& out, const std::vector<DeviceFact>& facts,
           const std::vector<LevelResult>& results) {
  Table device({{"CHECK"}, {"VERDICT"}, {"FOUND"}});
  for (const DeviceFact& fact : facts) {
    device.add({fact.check, verdict_name(fact.verdict),
                printable(fact.found + (fact.meaning.empty() ? "" : ": " + fact.meaning))});
    if (fact.verdict != Verdict::good) {
      device.paint_last(1, fact.verdict == Verdict::bad ? Color::red : Color::yellow);
    }
  }
  device.print(out);
  out.line("");
  constexpr auto right = Table::Align::right;
  Table table({{"level"},
               {"after kills"},
               {"kills", right},
               {"promised", right},
               {"lost", right},
               {"came back", right},
               {"unknown", right},
               {"tails cut", right}});
  for (const LevelResult& result : results) {
    const char* const verdict = !result.kept()     ? "BROKEN"
                                : result.lost == 0 ? "kept"
                                                   : "kept (may lose its window)";
    table.add({result.level, verdict, format_count(result.kills), format_count(result.promised),
               format_count(result.lost), format_count(result.back), format_count(result.unknown),
               format_count(result.cut_tails)});
    table.paint_last(1, result.kept() ? Color::green : Color::red);
  }
  table.print(out);
  out.line("");
  out.line(cannot_show);
}

void say(char what, uint64_t number) {
  const std::string line = what + std::to_string(number) + "\n";
  // Nobody listens any more: the drill is over.
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ::_exit(exit_other);
  }
}

}  // namespace

int run_crash(Context& context, const CrashOptions& options) {
  Output& out = context.out();
  if (options.seconds == 0) fail_usage("--seconds: must be at least 1");
  const StopSignals signals;
  std::vector<DeviceFact> facts;
  std::vector<LevelResult> results;
  {
    const DrillDirectory directory(options.directory);
    out.status("drill: looking at the disk");
    facts = look_at_device(directory.path());
    facts.push_back(ring_of(context, directory.path()));
    const double share = static_cast<double>(options.seconds) / std::size(levels);
    for (const char* const level : levels) {
      results.push_back(Drill(context, signals, directory.path(), level).run(share));
    }
  }
  out.clear_status();
  bool ok = true;
  for (const DeviceFact& fact : facts) ok = ok && fact.verdict != Verdict::bad;
  for (const LevelResult& result : results) ok = ok && result.kept();
  if (out.json()) {
    out.record(record_of(options.directory, ok, facts, results));
  } else {
    print(out, facts, results);
  }
  return ok ? exit_ok : exit_storage;
}

// Pushes and acks without end; the one that started it kills it.
int run_crash_child(Context& context, const std::string& level, uint64_t first_number) {
  const Store store = context.open_store({OpenMode::create, false, 0});
  const Queue queue = context.open_queue(store, drill_queue, OpenMode::create);
  wq_queue* const handle = queue.get();
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("level", level);
  wq_error err = WQ_ERROR_INIT;
  for (uint64_t number = first_number;; ++number) {
    const std::string payload = std::to_string(number);
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = bytes_of(payload);
    say('b', number);
    check(wq_enqueue(handle, &spec, &call, nullptr, &err), err);
    say('P', number);
    if (number % 2 != 0) continue;  // half of them stay
    Batch batch;
    check(wq_lease(store.get(), &handle, 1, nullptr, nullptr, nullptr, batch.out(), &err), err);
    wq_job job = WQ_JOB_INIT;
    check(wq_batch_job(batch.get(), 0, &job), err);
    const uint64_t taken = parse_number("drill", view_of(job.payload));
    say('a', taken);
    check(wq_ack(handle, job.id, job.generation, &call, &err), err);
    say('A', taken);
  }
}

}  // namespace wq::cli
