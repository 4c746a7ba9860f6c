// The lines of an import that are neither queues nor jobs nor kv rows: flows, idempotency keys,
// done jobs, rate keys. They go in by bounded groups of one kind and queue. Thread model: one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/handles.h"
#include "cli/members.h"

namespace wq::cli {

constexpr size_t import_group_max = 1'000;
constexpr size_t import_group_bytes_max = 4 << 20;

class RowImporter {
 public:
  explicit RowImporter(wq_store* store);
  ~RowImporter();
  RowImporter(const RowImporter&) = delete;
  RowImporter& operator=(const RowImporter&) = delete;

  // False: the line is of another kind. `queue_of` fails for a name that is not known.
  bool take(Members& members, const std::function<wq_queue*(const std::string& name)>& queue_of);
  void flush();
  uint64_t flows() const { return flows_; }
  uint64_t rows() const { return rows_; }

 private:
  struct Group;
  void room_for(wq_queue* queue, int kind, size_t bytes);
  void take_flow(Members& members);
  void take_key(Members& members);
  void take_done(Members& members);
  void take_rate_key(Members& members);

  wq_store* const store_;
  std::unique_ptr<Group> group_;
  uint64_t flows_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace wq::cli
