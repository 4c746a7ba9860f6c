// The store in memory: one ordered map per family, for the simulator and the model. Readers share
// immutable maps: a cursor holds the map it started on, and a commit that meets such a holder
// changes a copy. The content outlives the Store object, as a directory outlives a process; only
// commit and reclaim change it. Thread model: as store.h says; the content's mutex guards every
// access to the map pointers, a cursor reads its own map without it.
#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "base/mutex.h"
#include "engine/store.h"

namespace wq {
namespace {

using Rows = std::map<std::string, std::string, std::less<>>;

constexpr size_t row_head_bytes = 9;

struct KeyRange {
  std::string begin;
  std::string end;
};

// The rows of [begin, end); an empty `end` has no bound.
std::pair<Rows::iterator, Rows::iterator> rows_between(Rows& rows, std::string_view begin,
                                                       std::string_view end) {
  if (!end.empty() && begin >= end) return {rows.end(), rows.end()};
  return {rows.lower_bound(begin), end.empty() ? rows.end() : rows.lower_bound(end)};
}

}  // namespace

struct MemStoreContent {
  Mutex mutex;  // leaf: nothing is locked under it
  std::array<std::shared_ptr<Rows>, family_count> families WQ_GUARDED_BY(mutex);
  uint64_t commits WQ_GUARDED_BY(mutex) = 0;

  MemStoreContent() {
    for (auto& rows : families) rows = std::make_shared<Rows>();
  }

  // The map of a family, ready to be changed: no cursor sees it.
  Rows& own_rows(size_t family) WQ_REQUIRES(mutex) {
    if (families[family].use_count() > 1)
      families[family] = std::make_shared<Rows>(*families[family]);
    return *families[family];
  }
};

namespace {

class MemCursor final : public Cursor {
 public:
  MemCursor(std::shared_ptr<MemStoreContent> content, Family family, std::string_view lower,
            std::string_view upper, bool descending)
      : content_(std::move(content)), descending_(descending) {
    {
      MutexLock lock(content_->mutex);
      rows_ = content_->families[static_cast<size_t>(family)];
    }
    std::tie(begin_, end_) = rows_between(*rows_, lower, upper);
    at_ = descending_ ? end_ : begin_;
    if (descending_) step_back();
  }
  ~MemCursor() override {
    // Under the mutex, so that own_rows() can trust the count it reads.
    MutexLock lock(content_->mutex);
    rows_.reset();
  }

  bool valid() const override { return at_ != end_; }
  std::string_view key() const override {
    WQ_CHECK(valid());
    return at_->first;
  }
  std::string_view value() const override {
    WQ_CHECK(valid());
    return at_->second;
  }
  void next() override {
    WQ_CHECK(valid());
    if (descending_) {
      step_back();
    } else {
      ++at_;
    }
  }
  void seek(std::string_view target) override {
    WQ_CHECK(!descending_);
    if (begin_ == end_ || target <= begin_->first) {
      at_ = begin_;
      return;
    }
    at_ = rows_->lower_bound(target);
    if (end_ != rows_->end() && (at_ == rows_->end() || at_->first > end_->first)) at_ = end_;
  }
  Status status() const override { return {}; }

 private:
  void step_back() { at_ = at_ == begin_ ? end_ : std::prev(at_); }

  std::shared_ptr<MemStoreContent> content_;
  std::shared_ptr<Rows> rows_;
  Rows::iterator begin_;
  Rows::iterator end_;
  Rows::iterator at_;  // end_ = not on a row, in both directions
  const bool descending_;
};

class MemCheckpoint final : public Checkpoint {
 public:
  explicit MemCheckpoint(std::shared_ptr<MemStoreContent> content) : content_(std::move(content)) {}

  Status put(Family family, std::string_view key, std::string_view value) override {
    changes_of(family, key).push_back({std::string(key), std::string(value)});
    return {};
  }
  Status erase(Family family, std::string_view key) override {
    changes_of(family, key).push_back({std::string(key), std::nullopt});
    return {};
  }
  Status erase_range(Family family, std::string_view begin, std::string_view end) override {
    WQ_CHECK(!committed_);
    WQ_CHECK(begin < end);
    ranges_[static_cast<size_t>(family)].push_back({std::string(begin), std::string(end)});
    return {};
  }
  uint64_t commit_bytes() const override { return 0; }
  Status commit() override {
    WQ_CHECK(!committed_);
    committed_ = true;
    for (size_t family = 0; family < family_count; ++family) check_ranges(family);
    MutexLock lock(content_->mutex);
    for (size_t family = 0; family < family_count; ++family) {
      if (ranges_[family].empty() && changes_[family].empty()) continue;
      Rows& rows = content_->own_rows(family);
      for (const KeyRange& range : ranges_[family]) {
        const auto [first, last] = rows_between(rows, range.begin, range.end);
        rows.erase(first, last);
      }
      for (Change& change : changes_[family]) {
        if (change.value) {
          rows.insert_or_assign(std::move(change.key), *std::move(change.value));
        } else {
          rows.erase(change.key);
        }
      }
    }
    ++content_->commits;
    return {};
  }

 private:
  struct Change {
    std::string key;
    std::optional<std::string> value;  // none = erase
  };

  std::vector<Change>& changes_of(Family family, std::string_view key) {
    WQ_CHECK(!committed_);
    std::vector<Change>& changes = changes_[static_cast<size_t>(family)];
    const bool ascending = changes.empty() || changes.back().key < key;
    WQ_CHECK(ascending);
    return changes;
  }
  // The rule that only this store can check at little cost: no range covers a row of its own.
  void check_ranges(size_t family) const {
    const std::vector<Change>& changes = changes_[family];
    for (const KeyRange& range : ranges_[family]) {
      auto at = std::lower_bound(changes.begin(), changes.end(), range.begin,
                                 [](const Change& c, const std::string& k) { return c.key < k; });
      for (; at != changes.end() && at->key < range.end; ++at) WQ_CHECK(!at->value);
    }
  }

  std::shared_ptr<MemStoreContent> content_;
  std::array<std::vector<Change>, family_count> changes_;
  std::array<std::vector<KeyRange>, family_count> ranges_;
  bool committed_ = false;
};

class MemStore final : public Store {
 public:
  explicit MemStore(std::shared_ptr<MemStoreContent> content) : content_(std::move(content)) {}

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    MutexLock lock(content_->mutex);
    const Rows& rows = *content_->families[static_cast<size_t>(family)];
    const auto found = rows.find(key);
    if (found == rows.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    return std::make_unique<MemCursor>(content_, family, lower, upper, descending);
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t /*expected_rows*/) override {
    return std::unique_ptr<Checkpoint>(std::make_unique<MemCheckpoint>(content_));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    WQ_CHECK(end.empty() || begin < end);
    MutexLock lock(content_->mutex);
    Rows& rows = content_->own_rows(static_cast<size_t>(family));
    const auto [first, last] = rows_between(rows, begin, end);
    rows.erase(first, last);
    return {};
  }
  // For each row: family, length of the key, length of the value, key, value.
  Result<std::unique_ptr<HeldFiles>> hold_files() override {
    MutexLock lock(content_->mutex);
    std::string file;
    for (size_t family = 0; family < family_count; ++family) {
      for (const auto& [key, value] : *content_->families[family]) {
        std::byte head[row_head_bytes];
        head[0] = static_cast<std::byte>(family);
        store_le<uint32_t>(head + 1, static_cast<uint32_t>(key.size()));
        store_le<uint32_t>(head + 5, static_cast<uint32_t>(value.size()));
        file.append(reinterpret_cast<const char*>(head), sizeof head);
        file.append(key).append(value);
      }
    }
    auto held = std::make_unique<HeldFiles>();
    held->files.push_back({"rows", "", file.size(), std::move(file)});
    return held;
  }
  Status failure() const override { return {}; }
  StoreStats stats() const override {
    MutexLock lock(content_->mutex);
    StoreStats stats;
    stats.checkpoints_written = content_->commits;
    for (const auto& rows : content_->families) {
      for (const auto& [key, value] : *rows) stats.memory_bytes += key.size() + value.size();
    }
    return stats;
  }
  Status close() override { return {}; }

 private:
  std::shared_ptr<MemStoreContent> content_;
};

}  // namespace

std::shared_ptr<MemStoreContent> make_mem_store_content() {
  return std::make_shared<MemStoreContent>();
}

std::shared_ptr<MemStoreContent> copy_mem_store_content(MemStoreContent& from) {
  auto copy = std::make_shared<MemStoreContent>();
  MutexLock lock(from.mutex);
  MutexLock copy_lock(copy->mutex);
  for (size_t i = 0; i < family_count; ++i) {
    copy->families[i] = std::make_shared<Rows>(*from.families[i]);
  }
  copy->commits = from.commits;
  return copy;
}

Result<std::shared_ptr<MemStoreContent>> read_mem_store_content(std::string_view file) {
  auto content = std::make_shared<MemStoreContent>();
  MutexLock lock(content->mutex);
  while (!file.empty()) {
    const auto* const head = reinterpret_cast<const std::byte*>(file.data());
    const auto whole = [&] {
      return row_head_bytes + uint64_t{load_le<uint32_t>(head + 1)} + load_le<uint32_t>(head + 5);
    };
    if (file.size() < row_head_bytes || file.size() < whole() ||
        static_cast<size_t>(head[0]) >= family_count) {
      return Status(Code::corrupt, "rows of a memory store: malformed");
    }
    const size_t key_bytes = load_le<uint32_t>(head + 1);
    const std::string_view rest = file.substr(row_head_bytes, whole() - row_head_bytes);
    content->families[static_cast<size_t>(head[0])]->emplace(rest.substr(0, key_bytes),
                                                             rest.substr(key_bytes));
    file.remove_prefix(row_head_bytes + rest.size());
  }
  return content;
}

Result<std::unique_ptr<Store>> open_mem_store(std::shared_ptr<MemStoreContent> content) {
  WQ_CHECK(content != nullptr);
  return std::unique_ptr<Store>(std::make_unique<MemStore>(std::move(content)));
}

}  // namespace wq
