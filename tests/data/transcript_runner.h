// TranscriptRunner: carries out the commands of transcripts on an EngineHarness. Jobs go by the
// name that the transcript gives them and generations by the order in which they were first seen,
// so that the output does not depend on how often the store was reopened in between. What holds in
// every transcript is checked on the way: ids and generations only grow, payloads come back as they
// were. Thread model: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/transcript.h"
#include "support/engine_harness.h"

namespace wq {

class TranscriptRunner {
 public:
  explicit TranscriptRunner(const HarnessOptions& options);

  // The command's output, each line with its newline.
  std::string run(const std::string& line);
  EngineHarness& harness() { return harness_; }

 private:
  using Method = std::string (TranscriptRunner::*)(const Arguments&);
  static const std::map<std::string, Method>& table();

  struct Known {
    std::string queue;
    std::string payload;
    JobId id = 0;
    Generation generation = 0;  // of its latest lease
  };

  // store
  std::string open(const Arguments& args);
  std::string close(const Arguments& args);
  std::string reopen(const Arguments& args);
  std::string kill(const Arguments& args);
  std::string cut(const Arguments& args);
  std::string recovery(const Arguments& args);
  std::string checkpoint(const Arguments& args);
  std::string verify(const Arguments& args);
  std::string sync(const Arguments& args);
  std::string shutdown(const Arguments& args);
  // time
  std::string advance(const Arguments& args);
  std::string wait(const Arguments& args);
  std::string step_wall(const Arguments& args);
  std::string tick(const Arguments& args);
  // queues
  std::string queue(const Arguments& args);
  std::string configure(const Arguments& args);
  std::string config(const Arguments& args);
  std::string status(const Arguments& args);
  std::string queues(const Arguments& args);
  std::string clear(const Arguments& args);
  std::string remove_queue(const Arguments& args);
  std::string stats(const Arguments& args);
  // jobs
  std::string enqueue(const Arguments& args);
  std::string enqueue_many(const Arguments& args);
  std::string cancel(const Arguments& args);
  std::string reprioritise(const Arguments& args);
  std::string progress(const Arguments& args);
  std::string get(const Arguments& args);
  std::string dump(const Arguments& args);
  std::string lease(const Arguments& args);
  std::string confirm(const Arguments& args);
  std::string extend(const Arguments& args);
  std::string settle(const Arguments& args);
  // dead letters
  std::string dead(const Arguments& args);
  std::string dead_one(const Arguments& args);

  void apply_open_options(const Arguments& args);
  QueueId queue_id(const std::string& name) const;
  Known& known(const std::string& name);
  Token token(const std::string& name, const Arguments& args);
  void remember(const std::string& name, const std::string& queue, const std::string& payload,
                JobId id);
  uint64_t ordinal(Generation generation);
  std::string status_text(const Status& status) const;
  std::string handed_out(const JobView& job, const std::vector<std::string>& queues);
  std::string time_text(int64_t wall_ms) const;
  std::string describe(const std::string& name, const JobView& job);
  std::string name_of(JobId id) const;
  std::string check_payload(const Known& job, const JobView& view) const;

  EngineHarness harness_;
  int64_t start_ms_ = 0;
  std::map<std::string, QueueId> queues_;
  std::map<std::string, Known> jobs_;
  std::map<JobId, std::string> names_;
  std::map<Generation, uint64_t> ordinals_;
};

}  // namespace wq
