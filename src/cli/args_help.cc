// How the help looks, and what holds for the options of every command: CLI11's own words (types,
// ranges, exclusions) are left out, an empty value is refused, and a number is one of add_number().
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/args.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t option_columns = 32;
constexpr const char* global_hint =
    "Options of every command (--store, --json, --quiet, --lock-wait, ...): wq --help";

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(option_columns); }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0) {
      text += " " + option->get_type_name();
      if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
      if (option->get_required()) text += " REQUIRED";
    }
    if (!option->get_envname().empty()) text += " (or $" + option->get_envname() + ")";
    return text;
  }

  std::string make_footer(const CLI::App* app) const override {
    const bool is_program = app->get_parent() == nullptr;
    return app->get_footer() + (is_program ? "\n" : std::string("\n\n") + global_hint + "\n");
  }
};

// The first check of each option. A mark in front of the value is taken off as well.
CLI::Validator value_check(const CLI::Option& option, bool may_be_empty) {
  std::string refusal;
  if (!may_be_empty) refusal = "is empty; give it a value";
  if (!may_be_empty && !option.get_positional()) refusal += ", or leave the option out";
  const auto check = [refusal](std::string& value) -> std::string {
    value = without_mark(value);
    return value.empty() ? refusal : "";
  };
  return CLI::Validator(check, "");
}

// Texts that a job or a row may well have. The error of a nack is one, that of a filter is not.
bool may_be_empty(const CLI::Option& option, const CLI::App& command) {
  if (!option.get_positional()) {
    return option.check_name("--error") && command.get_name() == "nack";
  }
  constexpr std::string_view texts[] = {"payload", "command", "note", "value", "prefix"};
  return std::find(std::begin(texts), std::end(texts), option.get_name()) != std::end(texts);
}

void polish(CLI::Option& option, const CLI::App& command) {
  if (option.get_items_expected_max() == 0) return;  // a flag
  const std::string type = option.get_type_name();
  if (type == "INT" || type == "UINT" || type == "FLOAT") {
    throw std::logic_error(option.get_name() + " is no option of add_number()");
  }
  option.transform(value_check(option, may_be_empty(option, command)));
}

}  // namespace

void polish_commands(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  for (CLI::Option* const option : app.get_options()) polish(*option, app);
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    polish_commands(*command);
  }
}

}  // namespace wq::cli
