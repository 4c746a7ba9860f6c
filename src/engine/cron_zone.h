// Zone: a time zone of the system's tz database (/usr/share/zoneinfo, or $TZDIR). Local time is a
// number of seconds here: what a UTC clock would show if it showed the zone's time. Reading a zone
// does I/O, the first time in a process; what was read, or not found, stays so until the process
// ends. All else is pure. Thread model: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace wq {

constexpr size_t zone_name_bytes_max = 64;

class Zone {
 public:
  Zone();  // to be assigned to
  Zone(Zone&& other) noexcept;
  Zone& operator=(Zone&& other) noexcept;
  ~Zone();

  // "" and "UTC" need no database. INVALID: no such zone.
  static Result<Zone> load(std::string_view name);

  int64_t local_s(int64_t utc_s) const;

  enum class Kind : uint8_t {
    once,
    skipped,  // the clock jumps over it
    twice,
  };
  struct Instants {
    Kind kind = Kind::once;
    int64_t first_s = 0;   // UTC; skipped: when the clock jumps
    int64_t second_s = 0;  // twice: the later one
  };
  Instants instants_of(int64_t local_s) const;

  // When the clock jumps next after `utc_s`; INT64_MAX = never again.
  int64_t next_jump_s(int64_t utc_s) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace wq
