// What both stores share.
#include "engine/store.h"

namespace wq {

const char* family_name(Family family) {
  switch (family) {
    case Family::meta:
      return "meta";
    case Family::job:
      return "job";
    case Family::ready:
      return "ready";
    case Family::lease:
      return "lease";
    case Family::delay:
      return "delay";
    case Family::dlq:
      return "dlq";
    case Family::unique:
      return "unique";
    case Family::batch:
      return "batch";
    case Family::cron:
      return "cron";
    case Family::kv:
      return "kv";
    case Family::history:
      return "history";
  }
  return "unknown";
}

}  // namespace wq
