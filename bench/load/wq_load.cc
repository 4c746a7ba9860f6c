// wq_load: measures one workload of one system in a fresh directory and prints the figures as one
// line of JSON. bench/run.py drives it; one process for each measurement keeps memory and I/O
// figures apart.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "support.h"
#include "workloads.h"

namespace wq::bench {

namespace {

// A directory of its own for the run, removed at the end. Not /tmp by default: that may be a file
// system in memory, where nothing is durable and all figures are wrong.
class WorkDirectory {
 public:
  WorkDirectory(const std::string& parent, bool keep) : keep_(keep) {
    std::filesystem::create_directories(parent);
    if (keep) {
      path_ = parent;
      return;
    }
    std::string name = parent + "/wq_load.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) fail("can not make a directory in " + parent);
    path_ = name;
  }
  ~WorkDirectory() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const bool keep_;
  std::string path_;
};

struct Arguments {
  std::string system = "wq";
  std::string durability = "power";
  std::string lease_durability = "process";
  std::string directory = ".";
  bool buffered = false;
  bool hold = false;
  uint64_t jobs = 1'000'000;
  size_t in_flight = 20'000;
  std::string traits;
  LifeSettings lives;
};

void add_common(CLI::App* command, Arguments* a) {
  command->add_option("--dir", a->directory, "where to put the files; a disk, not a tmpfs");
}

void add_rate_options(CLI::App* command, Arguments* a) {
  add_common(command, a);
  command->add_option("--seconds", a->lives.seconds);
  command->add_option("--warmup", a->lives.warmup_seconds);
}

void add_system_options(CLI::App* command, Arguments* a) {
  add_rate_options(command, a);
  command->add_option("--system", a->system, "wq, rocksdb or sqlite");
  command->add_option("--durability", a->durability, "memory, process or power");
  command->add_option("--lease-durability", a->lease_durability, "at most --durability");
  command->add_option("--batch", a->lives.batch, "jobs in one call")->check(CLI::Range(1, 10000));
  command->add_option("--callers", a->lives.callers, "threads")->check(CLI::Range(1, 1024));
}

QueueSettings queue_settings(const Arguments& a, const std::string& directory) {
  QueueSettings settings;
  settings.directory = directory;
  settings.durability = parse_durability(a.durability);
  settings.lease_durability = std::min(settings.durability, parse_durability(a.lease_durability));
  return settings;
}

void add_life_commands(CLI::App* app, Arguments* a) {
  CLI::App* life = app->add_subcommand("life", "enqueue, lease and ack, by one or many callers");
  add_system_options(life, a);
  life->add_option("--backlog", a->lives.backlog, "jobs that wait all the time");
  life->callback([a] {
    const WorkDirectory work(a->directory, false);
    a->lives.directory = work.path();
    report_lives(a->system, queue_settings(*a, work.path()), a->lives);
  });
  CLI::App* enqueue = app->add_subcommand("enqueue", "enqueue only; the drain is not measured");
  add_system_options(enqueue, a);
  enqueue->callback([a] {
    const WorkDirectory work(a->directory, false);
    a->lives.enqueue_only = true;
    a->lives.directory = work.path();
    report_lives(a->system, queue_settings(*a, work.path()), a->lives);
  });
  CLI::App* raw = app->add_subcommand("raw", "durable 4 KiB writes, one after the other");
  add_rate_options(raw, a);
  raw->add_flag("--buffered", a->buffered, "through the page cache instead of O_DIRECT");
  raw->callback([a] {
    const WorkDirectory work(a->directory, false);
    report_raw({work.path(), !a->buffered, a->lives.seconds, a->lives.warmup_seconds});
  });
  CLI::App* pipelined = app->add_subcommand("pipelined", "wq, one thread and a completion queue");
  add_system_options(pipelined, a);
  pipelined->add_option("--in-flight", a->in_flight, "jobs under way at most");
  pipelined->add_option("--traits", a->traits,
                        "what jobs use: of unique, group, rate, rate_key, tenant, with commas");
  pipelined->callback([a] {
    const WorkDirectory work(a->directory, false);
    report_pipelined({work.path(), parse_durability(a->durability), a->lives.batch, a->in_flight,
                      a->lives.seconds, a->lives.warmup_seconds, a->traits});
  });
}

void add_store_commands(CLI::App* app, Arguments* a) {
  CLI::App* fill = app->add_subcommand("fill", "wq: waiting jobs, left in --dir");
  add_common(fill, a);
  fill->add_option("--jobs", a->jobs);
  fill->add_flag("--hold", a->hold, "wait to be killed");
  fill->callback([a] {
    const WorkDirectory work(a->directory, true);
    report_fill(work.path(), a->jobs, a->hold);
  });
  CLI::App* drain = app->add_subcommand("drain", "wq: open and drain what fill left in --dir");
  add_common(drain, a);
  drain->add_option("--jobs", a->jobs, "as given to fill");
  drain->add_option("--batch", a->lives.batch)->check(CLI::Range(1, 10000));
  drain->callback([a] {
    const WorkDirectory work(a->directory, true);
    report_drain(work.path(), a->jobs, a->lives.batch);
  });
  CLI::App* head = app->add_subcommand("head", "wq: lease at the head after --jobs jobs");
  add_common(head, a);
  head->add_option("--jobs", a->jobs);
  head->callback([a] {
    const WorkDirectory work(a->directory, false);
    report_head(work.path(), a->jobs);
  });
  CLI::App* wake = app->add_subcommand("wake", "wq: wake-up of a blocked lease");
  add_common(wake, a);
  wake->add_option("--jobs", a->jobs, "samples");
  wake->callback([a] {
    const WorkDirectory work(a->directory, false);
    report_wake(work.path(), a->jobs);
  });
}

}  // namespace

}  // namespace wq::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Measures whole job lives of wq and its peers. One line of JSON on standard output.");
  app.require_subcommand(1);
  wq::bench::Arguments arguments;
  wq::bench::add_life_commands(&app, &arguments);
  wq::bench::add_store_commands(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    wq::bench::fail(error.what());
  }
  return 0;
}
