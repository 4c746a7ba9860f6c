// The lines of an export, as wq import takes them: a Failure of one line that says what is wrong,
// and nobody can work on the store; or a sound store with all that the lines said, which is the
// same after an open.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "cli/failure.h"
#include "cli/importer.h"
#include "fuzz_check.h"
#include "sim_store.h"

namespace wq {
namespace {

// Outcomes that are the fault of the lines. Anything else is one of ours.
bool is_refusal(const cli::Failure& failure) {
  switch (failure.code) {
    case 0:
      return failure.exit_code == cli::exit_usage;
    case WQ_CONFLICT:
    case WQ_E_INVALID:
    case WQ_E_TOO_LARGE:
    case WQ_E_UNSUPPORTED:
    case WQ_E_FULL:
    case WQ_E_NO_KEY:
      return true;
    default:
      return false;
  }
}

void check_sound(wq_store* store) {
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  FUZZ_CHECK(wq_store_verify(store, &report, nullptr) == WQ_OK);
}

// How many items of each kind an export of the whole store has.
struct Items {
  uint64_t queues = 0, jobs = 0, rows = 0;
  bool operator==(const Items&) const = default;
};

int32_t count_item(const wq_export_item* item, void* context) {
  auto& items = *static_cast<Items*>(context);
  items.queues += item->queue != nullptr;
  items.jobs += item->job != nullptr;
  items.rows += item->kv != nullptr;
  return 0;
}

Items items_of(wq_store* store) {
  Items items;
  FUZZ_CHECK(wq_store_export(store, nullptr, 0, count_item, &items, nullptr) == WQ_OK);
  return items;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  FuzzStore made;
  FUZZ_CHECK(made.open() == WQ_OK);
  bool whole = false;
  {
    std::optional<cli::Importer> importer;
    try {
      while (!rest.empty()) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (importer) {
          importer->line(line);
        } else {
          importer.emplace(made.store, cli::read_import_head(line));
        }
      }
      if (importer) {
        importer->finish();
        whole = true;
      }
    } catch (const cli::Failure& failure) {
      FUZZ_CHECK(is_refusal(failure));
      FUZZ_CHECK(!failure.message.empty() && failure.message.find('\n') == std::string::npos);
    }
  }
  if (!whole) {
    // What was begun and not ended is no store to work on, also after an open.
    for (int i = 0; i < 2; ++i) {
      wq_queue* queue = nullptr;
      const int32_t code = wq_queue_open(made.store, "other", 5, nullptr, 0, &queue, nullptr);
      FUZZ_CHECK(code == WQ_OK || code == WQ_CONFLICT);
      wq_queue_close(&queue);
      if (code == WQ_OK) break;  // nothing was begun
      wq_store_close(&made.store);
      FUZZ_CHECK(made.open() == WQ_OK);
    }
    return 0;
  }
  check_sound(made.store);
  const Items items = items_of(made.store);
  wq_store_close(&made.store);
  FUZZ_CHECK(made.open() == WQ_OK);
  FUZZ_CHECK(items_of(made.store) == items);
  check_sound(made.store);
  return 0;
}

}  // namespace wq
