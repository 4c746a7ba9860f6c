// Whole numbers of the command line. CLI11 would take -1 for the largest unsigned number, clamp
// what is beyond 64 bits and read 010 as 8; so every number of the program comes through here, and
// args_help.cc sees to it.
#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <utility>

#include "cli/args.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

template <typename T>
CLI::Option* add_number_option(CLI::App& command, const std::string& names, T& value,
                               const std::string& description, NumberRange range) {
  // The long name is the last one: "-n,--limit".
  const std::string name = names.substr(names.rfind(',') + 1);
  const CLI::callback_t take = [&value, name, range](const CLI::results_t& results) {
    const std::string& text = results.back();
    const size_t sign = text.starts_with('-') ? 1 : 0;
    if (text.size() == sign || text.find_first_not_of("0123456789", sign) != text.npos) {
      throw CLI::ValidationError(name, "'" + printable(text, 60) + "' is not a whole number");
    }
    T number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool fits = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
                      std::cmp_greater_equal(number, range.min) &&
                      std::cmp_less_equal(number, range.max);
    if (!fits) {
      throw CLI::ValidationError(name, printable(text, 60) + " is outside " +
                                           std::to_string(range.min) + " to " +
                                           std::to_string(range.max));
    }
    value = number;
    return true;
  };
  CLI::Option* const option = command.add_option(names, take, description, false,
                                                 [&value] { return std::to_string(value); });
  return option->type_name("N");
}

}  // namespace

CLI::Option* add_number(CLI::App& command, const std::string& names, uint32_t& value,
                        const std::string& description, NumberRange range) {
  return add_number_option(command, names, value, description, range);
}

CLI::Option* add_number(CLI::App& command, const std::string& names, uint64_t& value,
                        const std::string& description, NumberRange range) {
  return add_number_option(command, names, value, description, range);
}

CLI::Option* add_number(CLI::App& command, const std::string& names, int64_t& value,
                        const std::string& description, NumberRange range) {
  return add_number_option(command, names, value, description, range);
}

}  // namespace wq::cli
