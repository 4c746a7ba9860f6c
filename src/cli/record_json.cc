// Record -> JSON.
#include <nlohmann/json.hpp>

#include "cli/record.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Record& record);

struct Converter {
  Json operator()(const Record& record) const { return json_of(record); }
  Json operator()(const List& list) const {
    Json json = Json::array();
    for (const Value& value : list) json.push_back(std::visit(*this, value.data));
    return json;
  }
  template <typename T>
  Json operator()(const T& value) const {
    return Json(value);
  }
};

Json json_of(const Record& record) {
  Json json = Json::object();
  for (const auto& [name, value] : record.fields()) {
    json.emplace(name, std::visit(Converter{}, value.data));
  }
  return json;
}

}  // namespace

Record& Record::add(std::string_view name, Value value) {
  fields_.emplace_back(name, std::move(value));
  return *this;
}

Record& Record::add_bytes(std::string_view name, std::string_view bytes) {
  if (is_utf8(bytes)) return add(name, bytes);
  return add(std::string(name) + "_base64", base64_encode(bytes));
}

std::string to_json(const Record& record) {
  // Texts were checked by add_bytes or are the program's own; anything else is replaced, not fatal.
  return json_of(record).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wq::cli
