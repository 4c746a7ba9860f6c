// The result of one measurement: names and values in order, printed as one line of JSON that run.py
// reads. Thread model: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "support.h"

namespace wq::bench {

class Report {
 public:
  explicit Report(const std::string& workload);
  ~Report();
  void set(const std::string& name, const std::string& value);
  void set(const std::string& name, double value);
  void set(const std::string& name, uint64_t value);
  // name_p50_us, name_p99_us, name_p999_us, name_samples
  void set_latency(const std::string& name, const LatencySampler& samples);
  void print() const;

 private:
  struct Fields;
  std::unique_ptr<Fields> fields_;
};

}  // namespace wq::bench
