// The only user of cctz.
#include "engine/cron_zone.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace wq {
namespace {

using Instant = cctz::time_point<cctz::seconds>;

Instant instant_of(int64_t utc_s) {
  return Instant(cctz::seconds(utc_s));
}

int64_t seconds_of(const Instant& instant) {
  return static_cast<int64_t>(instant.time_since_epoch().count());
}

const cctz::civil_second civil_epoch(1970, 1, 1, 0, 0, 0);

// The library would also take paths and prefixes of its own.
bool name_is_plain(std::string_view name) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
  return characters && name.front() != '/';
}

}  // namespace

struct Zone::Impl {
  cctz::time_zone zone = cctz::utc_time_zone();
};

Zone::Zone() = default;
Zone::Zone(Zone&&) noexcept = default;
Zone& Zone::operator=(Zone&&) noexcept = default;
Zone::~Zone() = default;

Result<Zone> Zone::load(std::string_view name) {
  auto impl = std::make_unique<Impl>();
  if (!name.empty() && name != "UTC") {
    if (name.size() > zone_name_bytes_max || !name_is_plain(name)) {
      return Status(Code::invalid,
                    "zone: is no name of the tz database, give one like Europe/Berlin");
    }
    if (!cctz::load_time_zone(std::string(name), &impl->zone)) {
      return Status(Code::invalid, "zone: no '" + std::string(name) +
                                       "' in the tz database of this system (package tzdata)");
    }
  }
  Zone zone;
  zone.impl_ = std::move(impl);
  return zone;
}

int64_t Zone::local_s(int64_t utc_s) const {
  return utc_s + impl_->zone.lookup(instant_of(utc_s)).offset;
}

Zone::Instants Zone::instants_of(int64_t local_s) const {
  const auto found = impl_->zone.lookup(civil_epoch + local_s);
  switch (found.kind) {
    case cctz::time_zone::civil_lookup::SKIPPED:
      return {Kind::skipped, seconds_of(found.trans), 0};
    case cctz::time_zone::civil_lookup::REPEATED:
      return {Kind::twice, seconds_of(found.pre), seconds_of(found.post)};
    default:
      return {Kind::once, seconds_of(found.pre), 0};
  }
}

int64_t Zone::next_jump_s(int64_t utc_s) const {
  cctz::time_zone::civil_transition jump;
  if (!impl_->zone.next_transition(instant_of(utc_s), &jump)) return INT64_MAX;
  // The earlier of the two is skipped or comes twice.
  return seconds_of(impl_->zone.lookup(std::min(jump.from, jump.to)).trans);
}

}  // namespace wq
