#include "engine/checkpoint_rows.h"

#include <algorithm>
#include <utility>

#include "engine/keys.h"

namespace wq {
namespace {

// A shorter run is cheaper as point deletes than as a range tombstone, which every later read
// meets.
constexpr size_t range_erase_min = 64;

struct IndexRow {
  std::string key;
  std::string value;
  bool erase = false;
};

// Where the index row of a job in this state lives.
std::pair<Family, std::string> index_of(JobState state, QueueId queue, uint8_t priority,
                                        uint64_t position, JobId id, uint64_t line) {
  switch (state) {
    case JobState::ready:
      if (line != 0) return {Family::ready, line_key(queue, line, priority, position)};
      return {Family::ready, ready_key(queue, priority, position)};
    case JobState::delayed:
      return {Family::delay, delay_key(static_cast<int64_t>(position), queue, id)};
    case JobState::leased:
    case JobState::running:
      return {Family::lease, lease_key(queue, position)};
    case JobState::dead:
      return {Family::dlq, dead_key(queue, position)};
    case JobState::gone:
      break;
  }
  return {Family::meta, std::string()};  // no index row
}

// True if `next` is the key right behind `key`: nothing can lie between the two. Keys of the same
// family whose last eight bytes are a number.
bool is_next(const std::string& key, const std::string& next) {
  const size_t head = key.size() - sizeof(uint64_t);
  return key.size() == next.size() && key.compare(0, head, next, 0, head) == 0 &&
         get_be64(key.data() + head) + 1 == get_be64(next.data() + head);
}

Status write_index(std::vector<IndexRow>& rows, Family family, Checkpoint& checkpoint) {
  std::sort(rows.begin(), rows.end(),
            [](const IndexRow& a, const IndexRow& b) { return a.key < b.key; });
  const bool numbered = family != Family::delay;  // a delay key ends with the id, not with a place
  for (size_t i = 0; i < rows.size();) {
    if (!rows[i].erase) {
      WQ_TRY(checkpoint.put(family, rows[i].key, rows[i].value));
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (numbered && end < rows.size() && rows[end].erase &&
           is_next(rows[end - 1].key, rows[end].key)) {
      ++end;
    }
    if (end - i >= range_erase_min) {
      WQ_TRY(checkpoint.erase_range(family, rows[i].key, prefix_end(rows[end - 1].key)));
    } else {
      for (size_t j = i; j < end; ++j) WQ_TRY(checkpoint.erase(family, rows[j].key));
    }
    i = end;
  }
  return {};
}

Status erase_job_run(const std::vector<CapturedJob>& jobs, size_t begin, size_t end,
                     Checkpoint& checkpoint) {
  if (end - begin >= range_erase_min) {
    return checkpoint.erase_range(Family::job, job_body_key(jobs[begin].id),
                                  prefix_end(job_state_key(jobs[end - 1].id)));
  }
  for (size_t i = begin; i < end; ++i) {
    WQ_TRY(checkpoint.erase(Family::job, job_body_key(jobs[i].id)));
    if (jobs[i].before.has_state_row) {
      WQ_TRY(checkpoint.erase(Family::job, job_state_key(jobs[i].id)));
    }
  }
  return {};
}

bool is_erased(const CapturedJob& job) {
  return job.row.state == JobState::gone;
}

// Jobs keep their bodies: a checkpoint that finds no room is written once more.
Status write_jobs(std::vector<CapturedJob>& jobs, Encoder& encoder, Checkpoint& checkpoint) {
  std::sort(jobs.begin(), jobs.end(),
            [](const CapturedJob& a, const CapturedJob& b) { return a.id < b.id; });
  for (size_t i = 0; i < jobs.size();) {
    CapturedJob& job = jobs[i];
    if (!is_erased(job)) {
      job.row.last_error = job.error;
      job.row.progress = job.progress;
      const std::string key = job.body ? job_body_key(job.id) : job_state_key(job.id);
      WQ_TRY(checkpoint.put(Family::job, key, as_text(encoder.job_row(job.row, job.body.bytes()))));
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < jobs.size() && is_erased(jobs[end]) && jobs[end].id == jobs[end - 1].id + 1) {
      ++end;
    }
    WQ_TRY(erase_job_run(jobs, i, end, checkpoint));
    i = end;
  }
  return {};
}

Status write_side(Family family, const SideTable::Rows& rows, Checkpoint& checkpoint) {
  std::vector<const SideTable::Rows::value_type*> changed;
  for (const auto& row : rows) {
    if (row.second.dirty) changed.push_back(&row);
  }
  std::sort(changed.begin(), changed.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto* row : changed) {
    const std::optional<std::string>& value = row->second.value;
    WQ_TRY(value ? checkpoint.put(family, row->first, *value)
                 : checkpoint.erase(family, row->first));
  }
  return {};
}

}  // namespace

uint64_t estimate_rows(const CheckpointContent& content) {
  uint64_t rows = content.jobs.size() * 2 + content.queues.size() + content.gates.size() + 1;
  for (const SideTable::Rows* side : content.side) rows += side->size();
  return rows;
}

Status write_rows(CheckpointContent& content, Encoder& encoder, Checkpoint& checkpoint) {
  WQ_TRY(write_jobs(content.jobs, encoder, checkpoint));
  std::vector<IndexRow> indexes[family_count];
  for (const CapturedJob& job : content.jobs) {
    const StoredPlace& before = job.before;
    const auto old_row =
        index_of(before.state, before.queue, before.priority, before.position, job.id, before.line);
    const auto new_row = index_of(job.row.state, job.row.queue, job.row.priority, job.row.position,
                                  job.id, job.line);
    if (old_row == new_row) continue;
    if (!old_row.second.empty()) {
      indexes[static_cast<size_t>(old_row.first)].push_back(IndexRow{old_row.second, "", true});
    }
    if (!new_row.second.empty()) {
      std::string value = new_row.first == Family::delay ? std::string() : id_value(job.id);
      indexes[static_cast<size_t>(new_row.first)].push_back(
          IndexRow{new_row.second, std::move(value), false});
    }
  }
  for (const Family family : {Family::ready, Family::lease, Family::delay, Family::dlq}) {
    WQ_TRY(write_index(indexes[static_cast<size_t>(family)], family, checkpoint));
  }
  for (size_t i = 0; i < content.side.size(); ++i) {
    WQ_TRY(write_side(side_families[i], *content.side[i], checkpoint));
  }
  return {};
}

Status write_meta(CheckpointContent& content, Encoder& encoder, Checkpoint& checkpoint) {
  std::sort(content.gates.begin(), content.gates.end(),
            [](const GateChange& a, const GateChange& b) { return a.key < b.key; });
  for (const GateChange& gate : content.gates) {  // their keys come before the others
    WQ_TRY(gate.value ? checkpoint.put(Family::meta, gate.key, *gate.value)
                      : checkpoint.erase(Family::meta, gate.key));
  }
  WQ_TRY(checkpoint.put(Family::meta, meta_row_key(), as_text(encoder.meta_row(content.meta))));
  std::vector<std::pair<std::string, const QueueRow*>> rows;
  for (const QueueRow& row : content.queues) rows.emplace_back(queue_row_key(row.id), &row);
  for (const QueueId id : content.removed_queues) rows.emplace_back(queue_row_key(id), nullptr);
  std::sort(rows.begin(), rows.end());
  for (const auto& [key, row] : rows) {
    if (row) {
      WQ_TRY(checkpoint.put(Family::meta, key, as_text(encoder.queue_row(*row))));
    } else {
      WQ_TRY(checkpoint.erase(Family::meta, key));
    }
  }
  return {};
}

}  // namespace wq
