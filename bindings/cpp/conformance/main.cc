// conformance_runner: runs scripts of tests/conformance through wq.hpp.
//
//   conformance_runner DIRECTORY FILE.ops      prints the results; DIRECTORY is empty
//   conformance_runner --rewrite FILE.ops...   writes FILE.out beside each (in temporary stores)
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runner.hpp"

namespace {

std::string run_file(const std::string& directory, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw conformance::ScriptError{"can not be read"};
  std::ostringstream text;
  text << in.rdbuf();
  conformance::Runner runner(directory);
  runner.run(conformance::parse_script(text.str()));
  return runner.take_output();
}

int rewrite(const std::string& file) {
  std::string directory = (std::filesystem::temp_directory_path() / "wq-conformance-XXXXXX");
  if (!mkdtemp(directory.data())) return 2;
  const std::string result = run_file(directory, file);
  std::filesystem::remove_all(directory);
  std::ofstream out(std::filesystem::path(file).replace_extension(".out"), std::ios::binary);
  out << result;
  return out.good() ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  try {
    if (argc == 3 && std::string_view(argv[1]) != "--rewrite") {
      file = argv[2];
      std::fputs(run_file(argv[1], file).c_str(), stdout);
      return 0;
    }
    if (argc < 3) {
      std::fprintf(stderr, "usage: %s DIRECTORY FILE.ops | --rewrite FILE.ops...\n", argv[0]);
      return 2;
    }
    int failed = 0;
    for (int i = 2; i < argc; i++) failed |= rewrite(file = argv[i]);
    return failed;
  } catch (const conformance::ScriptError& error) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
  }
  return 2;
}
