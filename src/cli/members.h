// The members of an object of JSON that came in, each asked for by its name. A member that nobody
// asks for, and one that is missing or of another kind, fails the line with its name.
// Thread model: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "cli/failure.h"
#include "cli/strict_json.h"
#include "cli/text.h"

namespace wq::cli {

// The members of one object; every one must be asked for, or it is an error.
class Members {
 public:
  Members(std::string where, const Json& object) : where_(std::move(where)), object_(object) {
    if (!object.is_object()) fail_field(where_.empty() ? "the line" : where_, "must be an object");
  }
  bool has(const char* name) const { return object_.contains(name); }
  const Json& get(const char* name) {
    known_.insert(name);
    const auto found = object_.find(name);
    if (found == object_.end()) fail_field(field(name), "is missing");
    return *found;
  }
  uint64_t number(const char* name, int64_t max = std::numeric_limits<int64_t>::max()) {
    return static_cast<uint64_t>(whole_number(field(name), get(name), 0, max));
  }
  uint32_t small(const char* name) {
    return static_cast<uint32_t>(number(name, std::numeric_limits<uint32_t>::max()));
  }
  int64_t time(const char* name) { return static_cast<int64_t>(number(name)); }
  template <size_t n>
  uint32_t one_of(const char* name, const char* const (&names)[n]) {
    const std::string text = text_of(field(name), get(name));
    for (size_t i = 0; i < n; ++i) {
      if (text == names[i] && !text.empty()) return static_cast<uint32_t>(i);
    }
    fail_field(field(name), "'" + printable(text, 40) + "' is not known");
  }
  bool flag(const char* name) {
    const Json& value = get(name);
    if (!value.is_boolean()) fail_field(field(name), "must be true or false");
    return value.get<bool>();
  }
  std::string bytes(const char* name) {
    known_.insert(name);
    known_.insert(std::string(name) + "_base64");
    return bytes_member(where_.empty() ? "the line" : where_, object_, name);
  }
  std::string field(const std::string& name) const {
    return where_.empty() ? name : where_ + "." + name;
  }
  void finish() const {
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) fail_field(field(printable(name, 60)), "is not known");
    }
  }

 private:
  const std::string where_;
  const Json& object_;
  std::set<std::string> known_;
};

}  // namespace wq::cli
