// What wq import does with the lines of an export. Anything that is wrong with a line, or that the
// store refuses, is a Failure: what is there by then stays marked as unfinished (wq.h), so that
// nobody works on half a store. Thread model: one thread.
#pragma once

#include <wq.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace wq::cli {

class Importer {
 public:
  explicit Importer(wq_store* store);  // an empty one
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  void line(std::string_view text);
  // After the last line: all that the first one announced is there.
  void finish();

  uint64_t jobs() const;
  uint64_t jobs_expected() const;
  size_t queues() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace wq::cli
