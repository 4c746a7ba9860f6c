// Changes of single jobs that are neither produced nor settled by them: another priority, a note.
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {

Status Engine::reprioritise(QueueId id, JobId job_id, uint8_t priority, CallOptions& call) {
  {
    // A job that has the priority keeps its place, and a command would move it to the tail.
    WQ_TRY_SET(const JobView view, find_job(id, job_id));
    const bool waits = view.state == JobState::ready || view.state == JobState::delayed;
    if (waits && view.priority == priority) return {};
  }
  Lsn lsn = 0;
  const auto check = [&](JobState state, Generation) -> Status {
    if (state == JobState::ready || state == JobState::delayed) return {};
    return Status(Code::conflict,
                  "job " + std::to_string(job_id) +
                      (state == JobState::dead ? " is a dead letter; replay it first"
                                               : " is held by a worker, whose nack can change it"));
  };
  const auto change = [&]() WQ_REQUIRES(mutex_) -> Status {
    Command& command = begin(CommandType::reprioritise);
    command.queue = id;
    command.ids.push_back(job_id);
    command.priority = priority;
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_job(id, job_id, check, change));
  return finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::set_progress(QueueId id, Token token, std::string_view note, CallOptions& call) {
  WQ_ENTER();
  if (note.size() > progress_bytes_max) {
    return Status(Code::too_large, "note: has " + std::to_string(note.size()) +
                                       " bytes, the limit is " +
                                       std::to_string(progress_bytes_max));
  }
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    WQ_TRY(check_lease(state_, queue, token.id, token.generation));
    Command& command = begin(CommandType::progress);
    command.queue = id;
    SettleItem& item = command.settles.emplace_back();
    item.id = token.id;
    item.generation = token.generation;
    command.note = note;
    WQ_TRY_SET(lsn, commit(command));
  }
  return finish(lsn, call, level_for(call, Durability::process));
}

}  // namespace wq
