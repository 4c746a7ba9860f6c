// A directory of its own for a target whose code wants real files. Thread model: one thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fuzz_check.h"

namespace wq {

// Made anew; stays behind, below TEST_TMPDIR if that is set.
inline std::filesystem::path make_work_directory(const std::string& target) {
  namespace fs = std::filesystem;
  const char* const base = std::getenv("TEST_TMPDIR");
  const fs::path parent = base ? fs::path(base) : fs::temp_directory_path();
  fs::create_directories(parent);
  std::string name = (parent / (target + ".XXXXXX")).string();
  FUZZ_CHECK(::mkdtemp(name.data()) != nullptr);
  return name;
}

}  // namespace wq
