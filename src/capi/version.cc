// What this library is and what it was built from.
#include <rocksdb/version.h>
#include <wq.h>

#include <string>

#include "build_config.h"
#include "io/format_file.h"

#define WQ_TEXT_(x) #x
#define WQ_TEXT(x) WQ_TEXT_(x)
#define WQ_VERSION_TEXT \
  WQ_TEXT(WQ_VERSION_MAJOR) "." WQ_TEXT(WQ_VERSION_MINOR) "." WQ_TEXT(WQ_VERSION_PATCH)

namespace {

std::string describe_build() {
  std::string text = "wq " WQ_VERSION_TEXT " commit " WQ_BUILD_COMMIT " " WQ_BUILD_TYPE
                     ", " WQ_BUILD_COMPILER ", RocksDB ";
  text += rocksdb::GetRocksVersionAsString();
  if (const std::string uring = WQ_BUILD_URING_VERSION; uring.empty()) {
    text += ", no io_uring";
  } else {
    text += ", liburing " + uring;
  }
  if (const std::string sanitizers = WQ_BUILD_SANITIZERS; !sanitizers.empty()) {
    text += ", sanitizers " + sanitizers;
  }
  if (const std::string invariants = WQ_BUILD_INVARIANTS; invariants == "ON") {
    text += ", invariants";
  }
#ifdef WQ_WITH_PLANTED
  text += ", planted bugs";
#endif
  return text;
}

}  // namespace

extern "C" {

uint32_t wq_version(void) {
  return WQ_VERSION_MAJOR << 16 | WQ_VERSION_MINOR << 8 | WQ_VERSION_PATCH;
}

const char* wq_version_string(void) {
  return WQ_VERSION_TEXT;
}

uint32_t wq_format_version(void) {
  return wq::store_format_version;
}

const char* wq_build_info(void) {
  try {
    static const auto* text =
        new std::string(describe_build());  // never destroyed: for any exit order
    return text->c_str();
  } catch (...) {
    return "wq " WQ_VERSION_TEXT " commit " WQ_BUILD_COMMIT;
  }
}

}  // extern "C"
