// Runs scripts through the reference model (tests/model) and compares what it says with the .out
// file, result by result: so that a result is not only what the library happened to answer.
//
// The model knows queues, enqueues without keys, leases, settles and dead letters. What it does not
// know is passed over; if that may have changed a queue, the queue is passed over from then on. An
// operation that was refused (arguments, limits) has changed nothing, and what follows shows that.
// Time passes only in a wait of a lease and in `until`. Thread model: one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/script.h"
#include "model/model.h"

namespace wq::conformance_model {

using ::conformance::Line;

struct Comparison {
  size_t equal = 0;
  std::vector<std::string> different;         // what was said and what stands there
  std::map<std::string, size_t> passed_over;  // operation -> how often
  size_t operations = 0;
};

class ModelRunner {
 public:
  Comparison run(const std::vector<Line>& script, const std::vector<std::string>& expected);

 private:
  // The rows of a result, or none if the model can not tell.
  using Rows = std::vector<std::string>;
  struct Named {
    std::string queue;  // name of the handle
    JobId id = 0;
    Generation generation = 0;
  };

  bool answer(const Line& line, Rows& rows);
  void pass_over(const Line& line);

  bool store_op(const Line& line, Rows& rows);
  bool queue_op(const Line& line, Rows& rows);
  std::string config_line(QueueId queue) const;
  bool declare(const Line& line, Rows& rows);
  bool configure(const Line& line, Rows& rows);
  bool enqueue(const Line& line, Rows& rows);
  bool enqueue_many(const Line& line, Rows& rows);
  bool lease(const Line& line, Rows& rows);
  bool job_op(const Line& line, Rows& rows);
  bool settle(const Line& line, Rows& rows);
  bool settle_many(const Line& line, Rows& rows);
  bool extend(const Line& line, Rows& rows);
  bool dead_op(const Line& line, Rows& rows);
  bool dead_entry(const Line& line, Rows& rows);
  bool dead_list(const Line& line, Rows& rows);
  bool dead_many(const Line& line, QueueId queue, Rows& rows);
  bool until(const Line& line, QueueId queue, const Named& job, Rows& rows);
  bool reprioritise(const Line& line, QueueId queue, const Named& job, Rows& rows);

  std::string one_settle(const std::string& kind, const Line& line, QueueId queue,
                         const Named& job);
  bool config_of(const Line& line, QueueConfig& config) const;
  bool spec_of(const Line& line, model::Spec& spec) const;
  std::string stats(QueueId queue) const;
  std::string job_row(QueueId queue, const model::Job& job);
  std::string name_of(JobId id, std::vector<std::string>* fresh);
  void learn(const std::string& queue, const model::Job& job);
  void add_job(QueueId queue, const model::Spec& spec, const std::string& as,
               const std::string& handle);

  // The queue behind a handle; 0 if there is none, or it is passed over.
  QueueId known(const std::string& handle) const;
  std::string no_lease(QueueId queue, const Named& job) const;  // "stale" or not found
  bool pass_time(int64_t until_ms);  // to the next moment at which something is due
  void remember_deaths();

  model::Model model_;
  model::Now now_{1'000'000'000, 0};
  std::map<std::string, QueueId> handles_;
  std::set<std::string> passed_over_;  // handles
  std::map<std::string, Named> jobs_;
  std::map<JobId, std::string> names_;
  std::map<JobId, int64_t> first_dead_ms_;
  std::map<JobId, std::string> notes_;  // of progress
  std::map<std::string, uint64_t> versions_;
  QueueId last_queue_ = 0;
  JobId last_job_ = 0;
  Generation last_generation_ = 0;
  bool open_ = false;
  bool draining_ = false;
  bool lost_ = false;  // another store is open than the one that is followed
};

}  // namespace wq::conformance_model
