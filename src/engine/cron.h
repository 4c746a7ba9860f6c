// Schedules: jobs that are enqueued by the clock. Two rows for each in the family `cron`, whose
// keys end with the name:
//
//   'd' name -> a CronRow: expression, zone and the job as it is enqueued   (changed by a put only)
//   't' name -> CronState: when it is due, what it did                      (changed by each run)
//
// All states are in memory, with a heap of the times they are due; the other row is read when it is
// needed. A record of type cron_fire enqueues the jobs of its slots and moves the schedule on, so a
// slot runs once or not at all, whatever happens in between.
// Thread model: guarded by the engine's mutex.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/command.h"
#include "engine/types.h"

namespace wq {

class State;

constexpr size_t cron_schedules_max = 10'000;
constexpr uint64_t cron_payload_bytes_max = 1u << 20;

struct Schedule {
  std::string name;
  QueueId queue = 0;
  CronState state;
  Lsn put_lsn = 0;  // of the last put since open
  // Not stored: when to look at it again, and why its last slots could not be told.
  int64_t wake_ms = 0;
  std::string problem;
};

class CronTable {
 public:
  Schedule* find(std::string_view name) const;
  Schedule& add(std::string_view name);
  void erase(Schedule* schedule);
  void set(Schedule* schedule, const CronState& state);  // due anew
  void wake_at(Schedule* schedule, int64_t wake_ms);
  void end_rests();  // all wake when they are due

  Schedule* first() const;  // by wake_ms; null: none is waiting
  size_t size() const { return schedules_.size(); }
  const std::map<std::string, std::unique_ptr<Schedule>, std::less<>>& schedules() const {
    return schedules_;
  }

 private:
  std::map<std::string, std::unique_ptr<Schedule>, std::less<>> schedules_;
  std::set<std::pair<int64_t, std::string_view>> waiting_;  // wake_ms, name
};

std::string cron_row_key(std::string_view name);
std::string cron_state_key(std::string_view name);
std::optional<std::string_view> parse_cron_row_key(std::string_view key);
std::optional<std::string_view> parse_cron_state_key(std::string_view key);

struct CronStateRow {
  QueueId queue = 0;
  CronState state;
};
std::string encode_cron_state(QueueId queue, const CronState& state);
std::optional<CronStateRow> decode_cron_state(std::string_view bytes);

// Of cron_put, cron_remove and cron_fire; the jobs of the last are apply's business.
Status apply_cron(State& state, const Command& command, Lsn lsn);
// With their queue.
void remove_schedules(State& state, QueueId queue);

}  // namespace wq
