// Peer: the queue that a careful engineer hand-rolls on SQLite. WAL mode, exclusive locking (one
// process, no shared memory), 64 MiB page cache, prepared statements, one transaction per step. The
// payload is written once into its own table, and the narrow tables ready and lease take the
// changes: on the machine this was tuned on that beat one wide table with a partial index and
// UPDATE..RETURNING by 5 to 40 % from batch 10 up, and lost nothing at batch 1.
//
// Thread model: SQLite has one writer; callers of many threads take turns on one connection.
#include <sqlite3.h>

#include <mutex>
#include <vector>

#include "queue_under_test.h"
#include "support.h"

namespace wq::bench {

namespace {

constexpr int64_t lease_ms = 60'000;

class SqlitePeer;

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) !=
        SQLITE_OK) {
      fail(std::string("sqlite: ") + sql + ": " + sqlite3_errmsg(db));
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, uint64_t value) {
    sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Statement& bind(int index, std::string_view bytes) {
    sqlite3_bind_blob(statement_, index, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    return *this;
  }
  // True while there is a row; afterwards the statement is ready for the next use.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) fail(std::string("sqlite: step: ") + sqlite3_errmsg(db_));
    sqlite3_reset(statement_);
    return false;
  }
  void run() {
    while (step()) {
    }
  }
  uint64_t number(int column) const {
    return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string_view bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteCaller : public Caller {
 public:
  explicit SqliteCaller(SqlitePeer& peer) : peer_(peer) {}
  void enqueue(std::span<const std::string_view> payloads) override;
  std::span<const LeasedJob> lease(size_t jobs_max) override;
  void ack(std::span<const LeasedJob> jobs) override;

 private:
  SqlitePeer& peer_;
  std::vector<char>
      payload_bytes_;  // the rows are gone with the statement; callers get these copies
  std::vector<LeasedJob> leased_;
};

struct Statements {
  explicit Statements(sqlite3* db)
      : begin(db, "BEGIN IMMEDIATE"),
        commit(db, "COMMIT"),
        insert_job(db, "INSERT INTO job(id, payload) VALUES(?1, ?2)"),
        insert_ready(db, "INSERT INTO ready(seq, id) VALUES(?1, ?2)"),
        select_head(db,
                    "SELECT r.seq, r.id, j.payload FROM ready r JOIN job j ON j.id = r.id "
                    "ORDER BY r.seq LIMIT ?1"),
        delete_ready(db, "DELETE FROM ready WHERE seq <= ?1"),
        insert_lease(db,
                     "INSERT INTO lease(id, generation, deadline_ms, attempts) "
                     "VALUES(?1, ?2, ?3, 1)"),
        delete_lease(db, "DELETE FROM lease WHERE id = ?1 AND generation = ?2"),
        delete_job(db, "DELETE FROM job WHERE id = ?1"),
        count_ready(db, "SELECT count(*) FROM ready"),
        count_leased(db, "SELECT count(*) FROM lease") {}

  Statement begin, commit, insert_job, insert_ready, select_head, delete_ready, insert_lease,
      delete_lease, delete_job, count_ready, count_leased;
};

class SqlitePeer : public QueueUnderTest {
 public:
  explicit SqlitePeer(const QueueSettings& settings);
  ~SqlitePeer() override { close(); }

  std::unique_ptr<Caller> caller() override { return std::make_unique<SqliteCaller>(*this); }
  Counts counts() override;
  std::string note() const override { return std::string("SQLite ") + sqlite3_libversion(); }
  void close() override;

 private:
  friend class SqliteCaller;

  void execute(const char* sql);
  void begin(Durability durability);

  const QueueSettings settings_;
  std::mutex mutex_;  // guards the connection and all below
  sqlite3* db_ = nullptr;
  std::unique_ptr<Statements> statements_;
  Durability current_;  // what the pragma stands at
  uint64_t next_id_ = 1;
  uint64_t next_generation_ = 1;
};

SqlitePeer::SqlitePeer(const QueueSettings& settings)
    : settings_(settings), current_(settings.durability) {
  if (settings.durability == Durability::memory) {
    fail("sqlite: no level 'memory': without its WAL in the kernel a commit is not in the file");
  }
  const std::string path = settings.directory + "/queue.db";
  if (sqlite3_open_v2(path.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    fail("sqlite: open " + path + ": " + sqlite3_errmsg(db_));
  }
  execute("PRAGMA locking_mode = EXCLUSIVE");
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA cache_size = -65536");
  execute("PRAGMA temp_store = MEMORY");
  execute(settings.durability == Durability::power ? "PRAGMA synchronous = FULL"
                                                   : "PRAGMA synchronous = NORMAL");
  execute("CREATE TABLE job(id INTEGER PRIMARY KEY, payload BLOB NOT NULL)");
  execute("CREATE TABLE ready(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL)");
  execute(
      "CREATE TABLE lease(id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, "
      "deadline_ms INTEGER NOT NULL, attempts INTEGER NOT NULL)");
  statements_ = std::make_unique<Statements>(db_);
}

void SqlitePeer::execute(const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(db_, sql, nullptr, nullptr, &message) != SQLITE_OK) {
    fail(std::string("sqlite: ") + sql + ": " + (message != nullptr ? message : "failed"));
  }
}

// FULL syncs the WAL at each commit; NORMAL leaves it in the kernel. The pragma acts when it is
// compiled, so it can not be prepared; it costs a microsecond or two.
void SqlitePeer::begin(Durability durability) {
  if (durability != current_) {
    execute(durability == Durability::power ? "PRAGMA synchronous = FULL"
                                            : "PRAGMA synchronous = NORMAL");
    current_ = durability;
  }
  statements_->begin.run();
}

Counts SqlitePeer::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts;
  while (statements_->count_ready.step()) counts.ready = statements_->count_ready.number(0);
  while (statements_->count_leased.step()) counts.leased = statements_->count_leased.number(0);
  return counts;
}

void SqlitePeer::close() {
  const std::lock_guard lock(mutex_);
  if (db_ == nullptr) return;
  statements_.reset();
  if (sqlite3_close(db_) != SQLITE_OK) fail("sqlite: close");
  db_ = nullptr;
}

void SqliteCaller::enqueue(std::span<const std::string_view> payloads) {
  const std::lock_guard lock(peer_.mutex_);
  Statements& sql = *peer_.statements_;
  peer_.begin(peer_.settings_.durability);
  for (const std::string_view payload : payloads) {
    const uint64_t id = peer_.next_id_++;
    sql.insert_job.bind(1, id).bind(2, payload).run();
    sql.insert_ready.bind(1, id).bind(2, id).run();
  }
  sql.commit.run();
}

std::span<const LeasedJob> SqliteCaller::lease(size_t jobs_max) {
  const std::lock_guard lock(peer_.mutex_);
  Statements& sql = *peer_.statements_;
  payload_bytes_.clear();
  leased_.clear();
  peer_.begin(peer_.settings_.lease_durability);
  uint64_t last_seq = 0;
  sql.select_head.bind(1, jobs_max);
  while (sql.select_head.step()) {
    last_seq = sql.select_head.number(0);
    const std::string_view payload = sql.select_head.bytes(2);
    payload_bytes_.insert(payload_bytes_.end(), payload.begin(), payload.end());
    leased_.push_back({sql.select_head.number(1), peer_.next_generation_++,
                       std::string_view(nullptr, payload.size())});
  }
  const uint64_t deadline_ms = static_cast<uint64_t>(lease_ms) + now_ns() / 1'000'000;
  const char* next = payload_bytes_.data();
  for (LeasedJob& job : leased_) {
    job.payload = std::string_view(next, job.payload.size());
    next += job.payload.size();
    sql.insert_lease.bind(1, job.id).bind(2, job.generation).bind(3, deadline_ms).run();
  }
  if (!leased_.empty()) sql.delete_ready.bind(1, last_seq).run();
  sql.commit.run();
  return leased_;
}

void SqliteCaller::ack(std::span<const LeasedJob> jobs) {
  const std::lock_guard lock(peer_.mutex_);
  Statements& sql = *peer_.statements_;
  peer_.begin(peer_.settings_.durability);
  for (const LeasedJob& job : jobs) {
    sql.delete_lease.bind(1, job.id).bind(2, job.generation).run();
    if (sqlite3_changes(peer_.db_) != 1) fail("sqlite: stale lease");
    sql.delete_job.bind(1, job.id).run();
  }
  sql.commit.run();
}

}  // namespace

std::unique_ptr<QueueUnderTest> open_sqlite_peer(const QueueSettings& settings) {
  return std::make_unique<SqlitePeer>(settings);
}

}  // namespace wq::bench
