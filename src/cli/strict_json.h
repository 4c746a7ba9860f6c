// JSON lines from outside, read strictly: a member that is given twice, deep nesting and numbers
// out of range are errors that name the place. The only header of the program that shows the
// parser's types; for the files that read JSON. Thread model: free functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace wq::cli {

using Json = nlohmann::json;

// Throws a usage Failure whose message begins with the field.
[[noreturn]] void fail_field(const std::string& field, const std::string& problem);

Json parse_strict(std::string_view line);
int64_t whole_number(const std::string& field, const Json& value, int64_t min, int64_t max);
std::string text_of(const std::string& field, const Json& value);
// `name` or `name`_base64 of an object, exactly one of them.
std::string bytes_member(const std::string& where, const Json& object, const std::string& name);

}  // namespace wq::cli
