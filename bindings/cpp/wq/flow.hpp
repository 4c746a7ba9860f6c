// wq/flow.hpp: flows: jobs that are counted together, and a job at their end. Thread model: any
// thread.
#pragma once

#include "settle.hpp"

namespace wq {
inline namespace hpp1 {

using FlowStatus = wq_flow_status;

struct FlowOptions {
  std::optional<NextJob> on_complete = {};
  std::optional<NextJob> on_failure = {};
  bool allow_failures = false;  // on_complete also if members failed or were cancelled
};

struct FlowPage {
  std::vector<FlowStatus> flows;
  std::uint64_t cursor = 0;  // for the next page; 0: that was the last
};

class Flows {
 public:
  explicit Flows(detail::StorePtr store) : store_(std::move(store)) {}

  // The id of the flow, for JobOptions::flow. Outcome::conflict: an unfinished import.
  Result<Answer<std::uint64_t>> create(const FlowOptions& options = {},
                                       const Call& call = {}) const {
    detail::SpecArray specs;
    wq_flow_options how = WQ_FLOW_OPTIONS_INIT;
    wq_next_job complete;
    wq_next_job failure;
    if (options.allow_failures) how.flags |= WQ_FLOW_ALLOW_FAILURES;
    if (options.on_complete) how.on_complete = &(complete = specs.next(*options.on_complete));
    if (options.on_failure) how.on_failure = &(failure = specs.next(*options.on_failure));
    std::uint64_t flow = 0;
    detail::CallScope scope(call);
    return detail::answer_of<std::uint64_t>(
        detail::on_store(store_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_flow_create(raw, &how, &flow, scope.get(), err);
                         }),
        [&] { return flow; });
  }
  // No more jobs come from outside.
  Result<Outcome> seal(std::uint64_t flow, const Call& call = {}) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_flow_seal(raw, flow, c, err);
    });
  }
  Result<Outcome> cancel(std::uint64_t flow, const Call& call = {}) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_flow_cancel(raw, flow, c, err);
    });
  }
  Result<FlowStatus> status(std::uint64_t flow) const {
    FlowStatus status = WQ_FLOW_STATUS_INIT;
    return detail::value_of<FlowStatus>(detail::on_store(store_,
                                                         [&](wq_store* raw, wq_error* err) {
                                                           return wq_flow_get_status(raw, flow,
                                                                                     &status, err);
                                                         }),
                                        [&] { return status; });
  }
  // Newest first; `cursor` 0 begins. A page may be empty though there are more.
  Result<FlowPage> list(std::uint64_t cursor = 0, std::size_t limit = 100) const {
    FlowPage page{{}, cursor};
    page.flows.assign(std::min<std::size_t>(limit, 1001), FlowStatus WQ_FLOW_STATUS_INIT);
    std::size_t count = 0;
    return detail::value_of<FlowPage>(
        detail::on_store(store_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_flow_list(raw, &page.cursor, page.flows.data(), limit,
                                               sizeof(FlowStatus), &count, err);
                         }),
        [&] {
          page.flows.resize(count);
          return page;
        });
  }

 private:
  detail::StorePtr store_;
};

}  // namespace hpp1
}  // namespace wq
