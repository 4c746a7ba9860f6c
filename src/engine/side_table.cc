#include "engine/side_table.h"

#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace wq {

uint64_t SideTable::bytes_of(std::string_view key, const Row& row) {
  constexpr uint64_t node_bytes = 128;  // of the map, with the two string objects
  return node_bytes + key.size() + (row.value ? row.value->size() : 0);
}

const std::optional<std::string>* SideTable::find(std::string_view key) const {
  if (const auto found = rows_.find(key); found != rows_.end()) return &found->second.value;
  if (const auto found = frozen_.find(key); found != frozen_.end()) return &found->second.value;
  return nullptr;
}

void SideTable::load(std::string_view key, std::optional<std::string> value) {
  if (!find(key)) add_clean(key, std::move(value));
}

void SideTable::add_clean(std::string_view key, std::optional<std::string> value) {
  const bool below = value.has_value();
  const auto [place, added] = rows_.emplace(key, Row{std::move(value), false, below});
  clean_.emplace_back(key);
  clean_bytes_ += bytes_of(key, place->second);
  bytes_ += bytes_of(key, place->second);
}

// The row in the current map; one that is only frozen is taken over as clean.
SideTable::Row& SideTable::known(std::string_view key) {
  if (const auto found = rows_.find(key); found != rows_.end()) return found->second;
  const auto frozen = frozen_.find(key);
  WQ_CHECK(frozen != frozen_.end());
  const bool below = frozen->second.value.has_value();
  const auto place = rows_.emplace(key, Row{frozen->second.value, false, below}).first;
  bytes_ += bytes_of(key, place->second);
  return place->second;
}

void SideTable::change(std::string_view key, std::optional<std::string> value) {
  Row& row = known(key);
  bytes_ -= bytes_of(key, row);
  row.value = std::move(value);
  if (!row.dirty) {
    row.dirty = true;
    ++dirty_count_;
  }
  // Born and gone since the last freeze: nobody below has to hear of it, and it is a row that was
  // only read.
  if (!row.value && !row.below) {
    row.dirty = false;
    --dirty_count_;
    clean_.emplace_back(key);
  }
  bytes_ += bytes_of(key, row);
}

void SideTable::put(std::string_view key, std::string value) {
  change(key, std::move(value));
}

void SideTable::erase(std::string_view key) {
  change(key, std::nullopt);
}

void SideTable::overwrite(std::string_view key, std::optional<std::string> value) {
  if (!find(key)) bytes_ += bytes_of(key, rows_.emplace(key, Row{{}, false, true}).first->second);
  change(key, std::move(value));
}

void SideTable::pin(std::string_view key) {
  const auto found = pins_.find(key);
  if (found == pins_.end()) {
    pins_.emplace(key, 1);
  } else {
    ++found->second;
  }
}

void SideTable::unpin(std::string_view key) {
  const auto found = pins_.find(key);
  WQ_CHECK(found != pins_.end());
  if (--found->second == 0) pins_.erase(found);
}

void SideTable::drop_clean(size_t keep_rows, uint64_t keep_bytes) {
  if (clean_.size() <= keep_rows + pins_.size() && clean_bytes_ <= keep_bytes) return;
  std::vector<std::string> kept;
  for (std::string& key : clean_) {
    const auto found = rows_.find(key);
    if (found == rows_.end() || found->second.dirty) continue;
    if (pins_.contains(key)) {
      kept.push_back(std::move(key));
      continue;
    }
    bytes_ -= bytes_of(key, found->second);
    rows_.erase(found);
  }
  clean_ = std::move(kept);
  clean_bytes_ = 0;
}

void SideTable::freeze() {
  WQ_CHECK(frozen_.empty());
  frozen_ = std::exchange(rows_, {});
  frozen_bytes_ = std::exchange(bytes_, 0);
  dirty_count_ = 0;
  clean_.clear();
  clean_bytes_ = 0;
}

void SideTable::complete() {
  for (const auto& [key, pins] : pins_) {
    const auto found = frozen_.find(key);
    if (found == frozen_.end() || rows_.contains(key)) continue;
    if (!WQ_PLANTED(pinned_rows_forgotten)) add_clean(key, std::move(found->second.value));
  }
  frozen_ = Rows();
  frozen_bytes_ = 0;
}

}  // namespace wq
