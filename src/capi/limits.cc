// Limits in a queue's configuration.
#include "capi/capi_internal.h"

namespace wq {

static_assert(WQ_FULL_REFUSE == static_cast<int>(FullPolicy::refuse) &&
              WQ_FULL_DROP_OLDEST == static_cast<int>(FullPolicy::drop_oldest));

void read_limits(const wq_queue_config& in, QueueConfig& out) {
  out.max_depth = in.max_depth;
  out.max_bytes = in.max_bytes;
  // The engine refuses what it does not know; a number that wraps must not pass for one it does.
  out.full_policy = static_cast<FullPolicy>(std::min<uint32_t>(in.full_policy, UINT8_MAX));
  out.dead_max_count = in.dead_max_count;
  out.dead_max_age_ms = in.dead_max_age_ms;
}

void write_limits(const QueueConfig& in, wq_queue_config& out) {
  out.max_depth = in.max_depth;
  out.max_bytes = in.max_bytes;
  out.full_policy = static_cast<uint32_t>(in.full_policy);
  out.consumers_paused = in.status == QueueStatus::paused || in.pause_kept;
  out.dead_max_count = in.dead_max_count;
  out.dead_max_age_ms = in.dead_max_age_ms;
}

}  // namespace wq
