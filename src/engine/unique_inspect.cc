#include "engine/unique_inspect.h"

#include "engine/engine.h"
#include "engine/key_plan.h"

namespace wq {
namespace {

class KeyScanner {
 public:
  KeyScanner(const State& state, const Store& store, VerifyReport& report)
      : state_(state),
        store_(store),
        jobs_(store),
        table_(state.side(Family::unique)),
        report_(report) {}

  Status run(uint64_t jobs_holding) {
    const auto cursor = store_.scan(Family::unique, std::string(), std::string());
    for (; cursor->valid(); cursor->next()) {
      if (!table_.find(cursor->key())) WQ_TRY(check(cursor->key(), cursor->value()));
    }
    WQ_TRY(cursor->status());
    Status status;
    table_.for_each([&](const std::string& key, const std::optional<std::string>& value) {
      if (value && status.ok()) status = check(key, *value);
    });
    WQ_TRY(std::move(status));
    if (ending_ != ends_) {
      problem(std::to_string(ending_) + " rows have an end, " + std::to_string(ends_) +
              " have a place in the order of ends");
    }
    if (holders_ != jobs_holding) {
      problem(std::to_string(jobs_holding) + " jobs hold a key without an end, rows name " +
              std::to_string(holders_));
    }
    return {};
  }

 private:
  void problem(const std::string& what) {
    if (report_.problems++ == 0) report_.first_problem = "family unique: " + what;
  }

  Status check(std::string_view key, std::string_view value) {
    ++report_.entries;
    if (const auto end = parse_key_expiry_key(key)) return check_end(*end);
    const std::optional<KeyName> name = parse_key_row_key(key);
    const std::optional<KeyRow> row = decode_key_row(value);
    if (!name || !row) {
      problem("malformed row");
      return {};
    }
    if (row->until_ms != key_no_end) {
      ++ending_;
      return {};
    }
    if (name->kind == KeyKind::idempotency) {
      problem("a window without an end");
      return {};
    }
    return count_holder(row->holder);
  }

  Status check_end(const KeyExpiry& end) {
    ++ends_;
    std::optional<std::string> stored;
    const std::optional<std::string>* value = table_.find(end.row_key);
    if (!value) {
      WQ_TRY_SET(stored, store_.get(Family::unique, end.row_key));
      value = &stored;
    }
    const std::optional<KeyRow> row = *value ? decode_key_row(**value) : std::nullopt;
    if (!row || row->until_ms != end.until_ms) problem("a place in the order of ends without row");
    return {};
  }

  // Rows of jobs that a clear has ended name nobody, until they are swept.
  Status count_holder(JobId id) {
    ColdJobs cold;
    if (!state_.find(id)) {
      WQ_TRY_SET(StoredJob job, jobs_.read(id));
      cold.put(std::move(job));
    }
    const JobGlance job = glance(state_, cold, id);
    if (job.live && job.key_until_ms == key_no_end) ++holders_;
    return {};
  }

  const State& state_;
  const Store& store_;
  StoredJobReader jobs_;
  const SideTable& table_;
  VerifyReport& report_;
  uint64_t ending_ = 0;
  uint64_t ends_ = 0;
  uint64_t holders_ = 0;
};

}  // namespace

Status inspect_keys(const State& state, const Store& store, uint64_t jobs_holding,
                    VerifyReport& report) {
  return KeyScanner(state, store, report).run(jobs_holding);
}

}  // namespace wq
