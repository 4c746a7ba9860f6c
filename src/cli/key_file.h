// The keys of a store as a file has them: a line each, its number and 64 hex digits; the last one
// is current. Keys never come in arguments, which every user of the machine can see. Thread model:
// plain values; the bytes are wiped when they go.
#pragma once

#include <wq.h>

#include <string>
#include <vector>

namespace wq::cli {

class KeyFile {
 public:
  KeyFile() = default;
  // Throws a usage Failure that names the line, and never what stands in it.
  explicit KeyFile(const std::string& path);
  ~KeyFile();
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  // The options borrow the keys.
  void give(wq_store_options& options) const;

 private:
  void read_line(const std::string& where, std::string_view line);
  std::string bytes_;  // 32 of each key
  std::vector<wq_key> keys_;
};

}  // namespace wq::cli
