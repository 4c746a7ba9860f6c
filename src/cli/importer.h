// What wq import does with the lines of an export. Anything that is wrong with a line, or that the
// store refuses, is a Failure: what is there by then stays marked as unfinished (wq.h), so that
// nobody works on half a store. Thread model: one thread.
#pragma once

#include <wq.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace wq::cli {

// The first line of an export.
struct ImportHead {
  uint64_t next_job_id = 0, next_generation = 0;
  uint64_t queues = 0, jobs = 0, kv_rows = 0, flows = 0, rows = 0;  // that follow it
};
ImportHead read_import_head(std::string_view line);

class Importer {
 public:
  Importer(wq_store* store, const ImportHead& head);  // an empty one
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  void line(std::string_view text);  // one behind the first
  // After the last line: all that the first one announced is there.
  void finish();

  uint64_t jobs() const;
  size_t queues() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace wq::cli
