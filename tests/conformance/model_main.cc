// conformance_model_test: what the scripts must print, said by the reference model.
//
//   conformance_model_test DIRECTORY      the .ops files of DIRECTORY against their .out files
//
// Prints, for each script, how many results the model said as well and which it passed over.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "conformance/model_runner.h"

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Below this the scripts or the model have changed so that little is compared any more.
constexpr size_t share_least_percent = 35;

struct Totals {
  size_t scripts = 0;
  size_t operations = 0;
  size_t equal = 0;
  size_t different = 0;
};

void compare(const std::filesystem::path& path, Totals& totals) {
  const auto script = conformance::parse_script(read(path));
  std::filesystem::path out = path;
  const auto expected = conformance::split(read(out.replace_extension(".out")), '\n');
  wq::conformance_model::ModelRunner runner;
  const auto told = runner.run(script, expected);
  std::string over;
  for (const auto& [op, count] : told.passed_over) {
    over += (over.empty() ? "; passed over: " : ", ") + op + " " + std::to_string(count);
  }
  std::printf("%s: %zu of %zu equal%s\n", path.filename().c_str(), told.equal, told.operations,
              over.c_str());
  for (const std::string& difference : told.different) std::printf("  %s\n", difference.c_str());
  if (!told.different.empty()) std::printf("different: %s\n", path.filename().c_str());
  totals.scripts++;
  totals.operations += told.operations;
  totals.equal += told.equal;
  totals.different += !told.different.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  Totals totals;
  try {
    std::vector<std::filesystem::path> scripts;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      if (entry.path().extension() == ".ops") scripts.push_back(entry.path());
    }
    std::sort(scripts.begin(), scripts.end());
    for (const auto& path : scripts) compare(path, totals);
  } catch (const conformance::ScriptError& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 2;
  }
  const size_t percent = totals.operations == 0 ? 0 : 100 * totals.equal / totals.operations;
  std::printf("conformance: %zu equal, %zu different, %zu of %zu results are known to the model\n",
              totals.scripts - totals.different, totals.different, totals.equal, totals.operations);
  if (percent < share_least_percent) {
    std::printf("that is %zu %%, and %zu %% are wanted\n", percent, share_least_percent);
  }
  return totals.different == 0 && percent >= share_least_percent ? 0 : 1;
}
