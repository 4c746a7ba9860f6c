// main() of every GoogleTest program. Gives the process a fresh directory of its own: below
// $TEST_TMPDIR if that is set, else below the system's temp directory, and points $TEST_TMPDIR (and
// so testing::TempDir()) at it. It is removed when all tests pass and kept, with its path printed,
// when one fails. A child that is killed on purpose never gets to the removal, its parent does.
// --seed=N is for test_seed.h.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace {

namespace fs = std::filesystem;

// Empty on failure.
std::string make_fresh_directory(const fs::path& program) {
  const char* given = std::getenv("TEST_TMPDIR");
  std::error_code error;
  const fs::path base = given != nullptr ? fs::path(given) : fs::temp_directory_path(error);
  fs::create_directories(base, error);
  std::string pattern = (base / (program.filename().string() + ".XXXXXX")).string();
  return mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
}

// Handed on in the environment, so that programs which a test starts see it as well.
void take_seed(int argc, char** argv) {
  constexpr std::string_view option = "--seed=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(option)) continue;
    setenv("WQ_TEST_SEED", argv[i] + option.size(), 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  take_seed(argc, argv);
  const std::string directory = make_fresh_directory(argv[0]);
  if (directory.empty()) {
    std::fprintf(stderr, "can not make a temp directory; set TEST_TMPDIR to a writable one\n");
    return 2;
  }
  setenv("TEST_TMPDIR", directory.c_str(), 1);
  const int result = RUN_ALL_TESTS();
  if (result != 0) {
    std::fprintf(stderr, "files of the failed run are kept in %s\n", directory.c_str());
    return result;
  }
  std::error_code error;
  fs::remove_all(directory, error);
  return 0;
}
