// What can be learned of the disk below a directory without harming it: file system, mount options,
// write cache, and whether the operations that wq relies on work and take as long as they must.
// Thread model: one thread.
#pragma once

#include <string>
#include <vector>

namespace wq::cli {

enum class Verdict { good, note, warning, bad };

struct DeviceFact {
  std::string check;
  std::string found;
  Verdict verdict = Verdict::good;
  std::string meaning;  // empty where the finding speaks for itself
};

// Works in `directory`, which is ours, and leaves nothing there.
std::vector<DeviceFact> look_at_device(const std::string& directory);
const char* verdict_name(Verdict verdict);

}  // namespace wq::cli
