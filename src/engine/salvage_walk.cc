// The rows of a damaged family, walked around what can not be read.
#include <algorithm>

#include "engine/salvage_internal.h"

namespace wq {
namespace {

// Damaged places that are walked around; a store has no more blocks worth the time.
constexpr size_t holes_max = 100'000;

// Keys are fractions to the base 256: the one in the middle of two, with `digits` digits.
std::string middle_of(const std::string& low, const std::string& high, size_t digits) {
  const auto digit = [](const std::string& key, size_t i) {
    return i < key.size() ? static_cast<unsigned char>(key[i]) : 0u;
  };
  std::string sum(digits, '\0');
  unsigned carry = 0;
  for (size_t i = digits; i-- > 0;) {
    const unsigned both = digit(low, i) + digit(high, i) + carry;
    sum[i] = static_cast<char>(both & 0xff);
    carry = both >> 8;
  }
  for (size_t i = 0; i < digits; ++i) {
    const unsigned here = (carry << 8) | static_cast<unsigned char>(sum[i]);
    sum[i] = static_cast<char>(here >> 1);
    carry = here & 1;
  }
  return sum;
}

// The first key at or behind `from` and below `upper` at which a walk can begin again: one that is
// far enough, then the edge between what can be read and what can not. None: nothing more can be
// read.
std::optional<std::string> next_readable(const Store& store, Family family, const std::string& from,
                                         const std::string& upper) {
  const auto works = [&](const std::string& key) {
    const auto cursor = store.scan(family, key, upper);
    return cursor->valid() || cursor->status().ok();
  };
  std::string good;
  for (size_t length = from.size(); length > 0; --length) {
    good = prefix_end(from.substr(0, length));
    if (works(good)) break;
  }
  if (good >= upper) return std::nullopt;
  std::string bad = from;
  const size_t digits = std::max(bad.size(), good.size()) + 2;
  for (size_t step = 0; step < 8 * digits; ++step) {
    std::string middle = middle_of(bad, good, digits);
    if (middle <= bad || middle >= good) break;
    (works(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

void walk_rows(const Store& store, Family family, const std::string& lower,
               const std::string& upper, const RowVisit& visit, std::string& problem) {
  std::string next = lower;
  for (size_t holes = 0; holes < holes_max; ++holes) {
    const auto cursor = store.scan(family, next, upper);
    for (; cursor->valid(); cursor->next()) {
      if (cursor->key() >= upper) break;  // a damaged store knows no upper bound
      next = std::string(cursor->key()) + '\0';
      const bool sound = visit(cursor->key(), cursor->value());
      if (!sound && problem.empty()) problem = "a malformed row";
    }
    const Status status = cursor->status();
    if (status.ok()) return;
    if (problem.empty()) problem = status.message();
    std::optional<std::string> behind = next_readable(store, family, next, upper);
    if (!behind) return;
    next = std::move(*behind);
  }
}

// Where the checkpoint does not tell what became of a row, what its tables have must do, though it
// may be of an earlier moment.
void ColdSide::each_row(Family family, const std::string& lower, const std::string& upper,
                        const RowVisit& visit) const {
  std::string ignored;
  if (stores[0].store) walk_rows(*stores[0].store, family, lower, upper, visit, ignored);
  if (is_whole(family) || !stores[1].store) return;
  const auto missing = [&](std::string_view key, std::string_view value) {
    return tells(family, key) || visit(key, value);
  };
  walk_rows(*stores[1].store, family, lower, upper, missing, ignored);
}

bool ColdSide::tells(Family family, std::string_view key) const {
  return stores[0].store && stores[0].store->get(family, key).ok();
}

}  // namespace wq
