// What a command tells, as data: named values in order, which print as one line of JSON. Numbers
// stay exact (64-bit integers are never turned into floating point), and bytes that are not UTF-8
// are told in base64 under the name with "_base64" behind it. Thread model: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace wq::cli {

struct Value;

class Record {
 public:
  Record& add(std::string_view name, Value value);
  // `bytes` as text if they are UTF-8, else base64 as `name`_base64.
  Record& add_bytes(std::string_view name, std::string_view bytes);

  const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

using List = std::vector<Value>;

struct Value {
  Value() = default;
  Value(bool value) : data(value) {}
  Value(int value) : data(int64_t{value}) {}
  Value(int64_t value) : data(value) {}
  Value(uint32_t value) : data(uint64_t{value}) {}
  Value(uint64_t value) : data(value) {}
  Value(double value) : data(value) {}
  Value(const char* value) : data(std::string(value)) {}
  Value(std::string value) : data(std::move(value)) {}
  Value(std::string_view value) : data(std::string(value)) {}
  Value(List value) : data(std::move(value)) {}
  Value(Record value) : data(std::move(value)) {}

  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, List, Record> data =
      nullptr;
};

// One line, without the newline.
std::string to_json(const Record& record);

}  // namespace wq::cli
