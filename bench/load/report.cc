#include "report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wq::bench {

struct Report::Fields {
  nlohmann::ordered_json json;
};

Report::Report(const std::string& workload) : fields_(std::make_unique<Fields>()) {
  set("workload", workload);
  set("load_average", load_average());
}

Report::~Report() = default;

void Report::set(const std::string& name, const std::string& value) {
  fields_->json[name] = value;
}

// Four significant digits are more than such a measurement is worth.
void Report::set(const std::string& name, double value) {
  fields_->json[name] = std::round(value * 1e4) / 1e4;
}

void Report::set(const std::string& name, uint64_t value) {
  fields_->json[name] = value;
}

void Report::set_latency(const std::string& name, const LatencySampler& samples) {
  if (samples.count() == 0) return;
  set(name + "_p50_us", samples.percentile_us(0.50));
  set(name + "_p99_us", samples.percentile_us(0.99));
  set(name + "_p999_us", samples.percentile_us(0.999));
  set(name + "_samples", static_cast<uint64_t>(samples.count()));
}

void Report::print() const {
  std::printf("%s\n", fields_->json.dump().c_str());
  std::fflush(stdout);
}

}  // namespace wq::bench
