#include "engine/salvage.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/apply.h"
#include "engine/salvage_internal.h"
#include "io/format_file.h"
#include "io/log_salvage.h"

namespace wq {
namespace {

constexpr size_t batch_jobs_max = 1'000;
constexpr size_t batch_bytes_max = 4u << 20;
constexpr const char* state_names[job_state_count] = {"gone",   "ready",   "delayed",
                                                      "leased", "running", "dead"};

// A run of jobs of one queue on their way into the new store. Owns what their images point to.
class Batch {
 public:
  explicit Batch(Engine& engine) : engine_(engine) {}

  Status add(QueueId queue, StoredJob job) {
    if (queue != queue_ || jobs_.size() >= batch_jobs_max || bytes_ >= batch_bytes_max) {
      WQ_TRY(flush());
    }
    queue_ = queue;
    bytes_ += job.body.size();
    jobs_.push_back(std::move(job));
    return {};
  }

  Status flush() {
    if (jobs_.empty()) return {};
    std::vector<JobImage> images;
    for (const StoredJob& job : jobs_) {
      JobImage& image = images.emplace_back();
      image.id = job.id;
      image.row = job.full_row();
      WQ_TRY_SET(image.envelope, decode_envelope(job.body.bytes()));
      image.encrypt = EncryptWish::no;  // what is sealed stays so, and no key is asked for
    }
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::memory);
    WQ_TRY(engine_.import_jobs(queue_, images, call));
    jobs_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  Engine& engine_;
  QueueId queue_ = 0;
  size_t bytes_ = 0;
  std::vector<StoredJob> jobs_;
};

StoredJob stored_of(const Job& job) {
  StoredJob out;
  out.id = job.id;
  out.body = job.body;
  if (job.last_error) out.error = *job.last_error;
  if (job.progress) out.progress = *job.progress;
  JobRow& row = out.row;
  row.queue = job.queue->id;
  row.state = job.state;
  row.priority = job.priority;
  row.reason = job.state == JobState::dead ? job.reason : DeadReason::none;
  row.attempts = job.attempts;
  row.exceptions = job.exceptions;
  row.failures = job.failures;
  row.max_attempts = job.max_attempts;
  row.replays = job.replays;
  row.position = job.position;
  row.generation = job.generation;
  row.since_ms = job.since_ms;
  row.leased_ms = job.leased_ms;
  row.key_until_ms = job.key_until_ms;
  row.first_dead_ms = job.first_dead_ms;
  return out;
}

SalvageFinding finding_of(FindingKind kind, std::string where, std::string what) {
  SalvageFinding finding;
  finding.kind = kind;
  finding.where = std::move(where);
  finding.what = std::move(what);
  return finding;
}

}  // namespace

// ---- what there is at the end

Salvager::Place Salvager::place_of(JobId id, QueueId queue, JobState state, uint8_t priority,
                                   uint64_t position) const {
  Place place{queue, 0, priority, true, position, id, state};
  if (state == JobState::leased || state == JobState::running) place.is_free = false;
  if (state == JobState::dead || state == JobState::delayed) {
    place.section = state == JobState::dead ? 1 : 2;
    place.priority = 0;
  }
  return place;
}

std::vector<Salvager::Place> Salvager::places() const {
  std::vector<Place> all;
  all.reserve(cold_.jobs.size() + state_.jobs().size());
  for (const auto& [id, job] : cold_.jobs) {
    if (!state_.find_queue(job.queue)) continue;
    all.push_back(place_of(id, job.queue, job.state, job.priority, job.position));
  }
  state_.jobs().for_each([&](const Job* job) {
    if (!State::is_live(job)) return;
    all.push_back(place_of(job->id, job->queue->id, job->state, job->priority, job->position));
  });
  std::sort(all.begin(), all.end());
  return all;
}

bool Salvager::is_uncertain(JobId id) const {
  if (touched_.contains(id)) return false;
  return cold_.doubtful.contains(id) || (!missing_.empty() && id < gap_job_limit_);
}

Status Salvager::finish(const FindingVisitor& visit, SalvageReport& report) {
  if (import_open_) {
    WQ_TRY(visit(finding_of(FindingKind::missing, "import",
                            "an import into this store was not finished; what it had not brought "
                            "in is not here, so import again into a new store if you can")));
  }
  Counts found;
  Counts uncertain;
  Counts lost;
  std::map<QueueId, uint64_t> recovered;
  for (const QueueRow& row : cold_.queues) {
    for (size_t i = 1; i < job_state_count; ++i) {
      lost[{row.id, static_cast<JobState>(i)}] = row.counts[i];
    }
  }
  for (const auto& [key, count] : cold_.read_counts) {
    uint64_t& left = lost[key];
    left -= std::min(left, count);
  }
  for (const Place& place : places()) {
    ++found[{place.queue, place.state}];
    if (is_uncertain(place.id)) ++uncertain[{place.queue, place.state}];
    if (recovered_.contains(place.id)) ++recovered[place.queue];
  }
  for (auto& [key, count] : lost) {  // the log still had them, in whatever state they are now
    uint64_t& known = recovered[key.first];
    const uint64_t again = std::min(known, count);
    known -= again;
    count -= again;
  }
  const auto tell = [&](FindingKind kind, const Counts& counts, const char* what,
                        uint64_t& total) -> Status {
    for (const auto& [key, count] : counts) {
      if (count == 0) continue;
      const Queue* queue = state_.find_queue(key.first);
      SalvageFinding finding = finding_of(kind, "", what);
      finding.queue = queue ? queue->name : "queue " + std::to_string(key.first);
      finding.state = key.second;
      finding.count = count;
      finding.what = std::to_string(count) + " " + state_names[static_cast<size_t>(key.second)] +
                     " jobs " + what;
      total += count;
      WQ_TRY(visit(finding));
    }
    return {};
  };
  WQ_TRY(tell_rows(visit));
  WQ_TRY(tell_kv(visit));
  WQ_TRY(tell(FindingKind::found, found, "can be read", report.jobs_found));
  WQ_TRY(tell(FindingKind::lost, lost, "of the checkpoint can not be read", report.jobs_lost));
  return tell(FindingKind::uncertain, uncertain,
              "of these may have gone on or ended in what is missing; they are kept and may run "
              "again",
              report.jobs_uncertain);
}

Status Salvager::write(Engine& engine) {
  CallOptions call;
  // As after an unclean stop: what is missing may have handed out some more.
  const JobId id_gap = WQ_PLANTED(salvage_ids_reused) ? 0 : unclean_job_id_gap;
  WQ_TRY(engine.import_begin(job_id_limit_ + id_gap, generation_limit_ + unclean_generation_gap,
                             call));
  std::map<QueueId, QueueId> ids;
  for (const auto& [name, queue] : state_.queues()) {
    QueueRow row;
    row.name = name;
    row.config = queue->config;
    row.totals = queue->totals;
    row.created_ms = queue->created_ms;
    row.rate_tat_ns = queue->rate_tat_ns;
    WQ_TRY_SET(ids[queue->id], engine.import_queue(row, call));
  }
  WQ_TRY(write_schedules(engine, ids));
  WQ_TRY(write_rows(engine, ids));
  Batch batch(engine);
  for (const Place& place : places()) {
    const Job* job = state_.find_live(place.id);
    StoredJob stored;
    if (job) {
      stored = stored_of(*job);
    } else {
      Result<StoredJob> found = read(place.id);
      if (!found.ok()) {
        ++unwritten_;
        continue;
      }
      stored = std::move(found).value();
      if (stored.row.state != JobState::dead) stored.row.reason = DeadReason::none;
    }
    WQ_TRY(batch.add(ids[place.queue], std::move(stored)));
  }
  WQ_TRY(batch.flush());
  WQ_TRY(write_kv(engine));
  return engine.import_end(call);
}

// ---- the whole of it

namespace {

Status tell_segments(const DamagedLog& log, const FindingVisitor& visit) {
  if (!log.problem.empty()) WQ_TRY(visit(finding_of(FindingKind::damaged, "log", log.problem)));
  for (const DamagedSegment& segment : log.segments) {
    const bool whole = segment.problem.empty() && segment.bad_bodies == 0;
    SalvageFinding finding =
        finding_of(whole ? FindingKind::intact : FindingKind::damaged, segment.label,
                   std::to_string(segment.records) + " records can be read");
    finding.first_lsn = segment.first_lsn;
    finding.last_lsn = segment.last_lsn;
    finding.count = segment.records;
    if (!segment.problem.empty()) finding.what += "; " + segment.problem;
    if (segment.bad_bodies > 0) {
      finding.offset = segment.first_bad_at;
      finding.what += "; a damaged one at " + std::to_string(segment.first_bad_at);
    }
    WQ_TRY(visit(finding));
  }
  return {};
}

// The missing records, and those that do not fit the database.
Status tell_missing(const Salvager& salvager, const FindingVisitor& visit, SalvageReport& report) {
  for (const auto& [first, last] : salvager.missing()) {
    SalvageFinding finding = finding_of(
        FindingKind::missing, "log",
        "records " + std::to_string(first) + " to " + std::to_string(last) + " are missing");
    finding.first_lsn = first;
    finding.last_lsn = last;
    finding.count = last - first + 1;
    report.records_missing += finding.count;
    WQ_TRY(visit(finding));
  }
  for (const auto& [why, misfit] : salvager.misfits()) {
    const auto number = [](uint64_t value) { return std::to_string(value); };
    SalvageFinding finding =
        finding_of(FindingKind::damaged, "log",
                   number(misfit.changes) + " changes in " + number(misfit.records) +
                       " of the records " + number(misfit.first_lsn) + " to " +
                       number(misfit.last_lsn) + " do not fit the database: " + std::string(why));
    finding.first_lsn = misfit.first_lsn;
    finding.last_lsn = misfit.last_lsn;
    finding.count = misfit.records;
    WQ_TRY(visit(finding));
  }
  return {};
}

// The uuid that seeds the checksums of the log: three places have it.
Status find_uuid(Io& io, const std::string& directory, const DamagedLog& log, const ColdSide& cold,
                 StoreUuid& uuid, const FindingVisitor& visit) {
  const auto format = read_format(io, directory, Access::read);
  if (format.ok()) {
    uuid = format.value().uuid;
    if (cold.meta && (cold.meta->uuid_low != load_le<uint64_t>(uuid.data()) ||
                      cold.meta->uuid_high != load_le<uint64_t>(uuid.data() + sizeof(uint64_t)))) {
      WQ_TRY(visit(finding_of(FindingKind::damaged, "db",
                              "belongs to another store than the FORMAT file beside it")));
    }
    return visit(finding_of(FindingKind::intact, "FORMAT", "version 1"));
  }
  if (format.status().code() == Code::version) return format.status();
  WQ_TRY(visit(finding_of(FindingKind::damaged, "FORMAT", format.status().message())));
  if (log.uuid) {
    uuid = *log.uuid;
  } else if (cold.meta) {
    store_le(uuid.data(), cold.meta->uuid_low);
    store_le(uuid.data() + sizeof(uint64_t), cold.meta->uuid_high);
  } else {
    return visit(finding_of(FindingKind::note, "log", "nothing says whose log it is"));
  }
  return {};
}

Status write_new_store(const SalvageOptions& options, const Environment& environment,
                       Salvager& salvager) {
  EngineOptions engine_options = options.engine;
  engine_options.directory = options.new_directory;
  engine_options.threads = false;
  engine_options.payload_bytes_max = payload_bytes_absolute_max;
  WQ_TRY_SET(const auto engine, Engine::open(engine_options, environment));
  const Status written = salvager.write(*engine);
  const Status closed = engine->close();
  return written.ok() ? closed : written;
}

// `status` again, with what had to stay behind.
Status left_unfinished(Io& io, const std::string& directory, Status status) {
  auto there = io.exists(directory);
  if (there.ok() && !*there) return status;
  return Status(status.code(), status.message() + "; " + directory + " is not finished, remove it",
                status.os_errno(), status.offset());
}

}  // namespace

Result<SalvageReport> salvage_store(const SalvageOptions& options, const Environment& environment,
                                    const FindingVisitor& visit) {
  Io& io = *environment.io;
  WQ_TRY_SET(const bool there, io.exists(options.directory));
  if (!there) return Status(Code::not_found, options.directory + ": there is no store");
  if (!options.new_directory.empty()) {
    WQ_TRY_SET(const bool taken, io.exists(options.new_directory));
    if (taken) {
      return Status(Code::conflict, options.new_directory +
                                        ": is there already; what is salvaged goes into a new one");
    }
  }
  SalvageReport report;
  const FindingVisitor count = [&](const SalvageFinding& finding) {
    if (finding.kind == FindingKind::damaged || finding.kind == FindingKind::missing) {
      ++report.damages;
    }
    return visit ? visit(finding) : Status();
  };
  std::unique_ptr<DirLock> lock;
  if (auto locked = io.lock_dir(options.directory); locked.ok()) {
    lock = std::move(locked).value();
  } else if (locked.status().code() == Code::locked && !WQ_PLANTED(salvage_of_an_open_store)) {
    return locked.take_status();
  } else {  // on a medium that can only be read nobody else writes
    WQ_TRY(count(finding_of(FindingKind::note, "LOCK", locked.status().message())));
  }
  ColdSide cold;
  WQ_TRY(cold.read(io, options, count));
  DamagedLog log = list_damaged_log(io, options.directory);
  if (log.segments.empty() && log.problem.empty() && cold.meta) {
    log.problem = "there is no segment; what was changed behind record " +
                  std::to_string(cold.meta->applied_lsn) + " is lost";
  }
  StoreUuid uuid{};
  WQ_TRY(find_uuid(io, options.directory, log, cold, uuid, count));
  Salvager salvager(cold);
  WQ_TRY(read_damaged_log(io, options.directory, uuid, log, [&](Lsn lsn, Bytes body) -> Status {
    ++report.records;
    salvager.record(lsn, body);
    return {};
  }));
  WQ_TRY(tell_segments(log, count));
  WQ_TRY(tell_missing(salvager, count, report));
  WQ_TRY(salvager.finish(count, report));
  if (!options.new_directory.empty()) {
    Status written = write_new_store(options, environment, salvager);
    if (!written.ok()) return left_unfinished(io, options.new_directory, std::move(written));
  }
  if (const uint64_t gone = salvager.unreadable(); gone > 0) {
    WQ_TRY(count(finding_of(FindingKind::damaged, "db",
                            std::to_string(gone) + " jobs could not be read a second time")));
    report.jobs_lost += gone;
    report.jobs_found -= salvager.unwritten();
  }
  return report;
}

}  // namespace wq
