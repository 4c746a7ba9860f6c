// SideTable: the rows of one family that change together with the jobs, but are no jobs: key to
// value, nothing else. The store holds what the last checkpoint left; this holds what changed
// since, and what a command under construction has to know. Values never change in place, so a
// checkpoint takes the whole map aside (freeze) and writes it with no lock held, while changes go
// on in a new one. A lookup goes through the current map, the frozen one and then, as "not known",
// to the caller, who reads the store and tells load().
//
// The rule that makes a row read from the store right: it was read while the store version did not
// change (see residency.h), and load() never overrides what is known already.
// Thread model: guarded by the engine's mutex; the frozen map may be read by the checkpoint alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace wq {

class SideTable {
 public:
  struct Row {
    std::optional<std::string> value;  // none: there is no such row
    bool dirty = false;                // differs from the frozen map or the store
    bool below = false;                // the frozen map or the store has a row of this key
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return hash64(as_bytes(key), 0); }
  };
  using Rows = std::unordered_map<std::string, Row, KeyHash, std::equal_to<>>;

  // Null: not known, the store has to be asked.
  const std::optional<std::string>* find(std::string_view key) const;

  // What the store holds for a key that is not known. Kept until the next freeze or drop_clean().
  void load(std::string_view key, std::optional<std::string> value);
  // The row must be known: only then is it clear what a checkpoint has to do.
  void put(std::string_view key, std::string value);
  void erase(std::string_view key);
  // The same for a row that need not be known: at worst a checkpoint erases what is not there.
  void overwrite(std::string_view key, std::optional<std::string> value);

  // While it is pinned a row that is known stays known, over checkpoints too. Pins count.
  void pin(std::string_view key);
  void unpin(std::string_view key);

  // Forgets rows that were only read, once there are more than these, or they hold more.
  void drop_clean(size_t keep_rows, uint64_t keep_bytes);

  uint64_t bytes() const { return bytes_ + frozen_bytes_; }
  uint64_t unfrozen_bytes() const { return bytes_; }
  size_t dirty_count() const { return dirty_count_; }

  // Each row that memory knows, as it is now, in no order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, row] : rows_) visit(key, row.value);
    for (const auto& [key, row] : frozen_) {
      if (!rows_.contains(key)) visit(key, row.value);
    }
  }

  // ---- checkpoint
  void freeze();
  const Rows& frozen() const { return frozen_; }  // dirty rows and clean ones
  void complete();                                // the store has what was frozen

 private:
  static uint64_t bytes_of(std::string_view key, const Row& row);
  Row& known(std::string_view key);
  void change(std::string_view key, std::optional<std::string> value);
  void add_clean(std::string_view key, std::optional<std::string> value);

  Rows rows_;
  Rows frozen_;
  std::unordered_map<std::string, uint32_t, KeyHash, std::equal_to<>> pins_;
  std::vector<std::string> clean_;  // keys that load() brought; some may have become dirty
  uint64_t clean_bytes_ = 0;        // of what load() brought since the last drop, as it was then
  uint64_t bytes_ = 0;
  uint64_t frozen_bytes_ = 0;
  size_t dirty_count_ = 0;
};

}  // namespace wq
