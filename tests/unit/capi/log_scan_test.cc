// wq_log_scan: what was done is in the log, in order; it stops on demand, keeps off an open store,
// and changes nothing.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

namespace fs = std::filesystem;

// Without threads nobody makes a spare segment, and the log stays in the one that it began with.
class CapiLogScan : public CapiReal {
 protected:
  void SetUp() override {
    CapiReal::SetUp();
    wq_queue_close(&queue_);
    wq_store_close(&store_);
    path_ += ".one";
    wq_store_options options = WQ_STORE_OPTIONS_INIT;
    options.flags = WQ_OPEN_NO_THREADS;
    ASSERT_OK(wq_store_open(path_.c_str(), &options, &store_, err()));
    queue_ = open_queue(store_, "q");
  }
};

struct Scanned {
  uint64_t lsn;
  std::string type;
  std::string text;
  std::string segment;
};

struct Collector {
  std::vector<Scanned> records;
  size_t stop_after = SIZE_MAX;

  static int32_t visit(const wq_log_record* record, void* ctx) {
    auto* self = static_cast<Collector*>(ctx);
    EXPECT_EQ(record->struct_size, sizeof(wq_log_record));
    const auto text = [](const wq_bytes& bytes) {
      return std::string(static_cast<const char*>(bytes.data), bytes.len);
    };
    self->records.push_back(
        {record->lsn, text(record->type), text(record->text), text(record->segment)});
    return self->records.size() >= self->stop_after ? 1 : 0;
  }
};

std::map<std::string, std::string> contents_of(const std::string& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file() || entry.path().filename() == "LOCK") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string& bytes = out[entry.path().string()];
    bytes.resize(entry.file_size());
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return out;
}

TEST_F(CapiLogScan, TellsWhatWasDoneInOrder) {
  enqueue(queue_, "payload that is not shown");
  const SeenJob job = lease(store_, queue_)[0];
  ASSERT_OK(wq_ack(queue_, job.job.id, job.job.generation, nullptr, err()));
  ASSERT_OK(wq_queue_delete(queue_, nullptr, err()));
  Collector collector;
  EXPECT_CODE(WQ_E_LOCKED, wq_log_scan(path_.c_str(), Collector::visit, &collector, err()));
  wq_store_close(&store_);
  const auto before = contents_of(path_);
  ASSERT_OK(wq_log_scan(path_.c_str(), Collector::visit, &collector, err()));
  EXPECT_TRUE(contents_of(path_) == before) << "a scan changes no file";
  std::vector<std::string> types;
  uint64_t last_lsn = 0;
  for (const Scanned& record : collector.records) {
    if (record.type == "mark") continue;
    EXPECT_GT(record.lsn, last_lsn);
    last_lsn = record.lsn;
    types.push_back(record.type);
    EXPECT_EQ(record.text.front(), '{');
    EXPECT_EQ(record.text.back(), '}');
    EXPECT_NE(record.text.find(record.type), std::string::npos) << record.text;
    EXPECT_EQ(record.segment.substr(0, 4), "log/");
  }
  // The checkpoint of the orderly close may have let old segments go, but this is one segment.
  const std::vector<std::string> expected = {"open",   "queue_declare", "enqueue", "lease",
                                             "settle", "queue_delete",  "close"};
  EXPECT_EQ(types, expected);

  Collector first;
  first.stop_after = 2;
  EXPECT_CODE(WQ_CANCELLED, wq_log_scan(path_.c_str(), Collector::visit, &first, err()));
  EXPECT_EQ(first.records.size(), 2u);
}

TEST_F(CapiLogScan, NoStoreNoFile) {
  Collector collector;
  EXPECT_CODE(WQ_E_NOT_FOUND,
              wq_log_scan((path_ + ".none").c_str(), Collector::visit, &collector, err()));
  EXPECT_FALSE(fs::exists(path_ + ".none"));
  fs::create_directory(path_ + ".empty");
  EXPECT_CODE(WQ_E_NOT_FOUND,
              wq_log_scan((path_ + ".empty").c_str(), Collector::visit, &collector, err()));
  EXPECT_TRUE(fs::is_empty(path_ + ".empty"));
  EXPECT_CODE(WQ_E_INVALID, wq_log_scan(nullptr, Collector::visit, &collector, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_log_scan("", Collector::visit, &collector, err()));
  wq_store_close(&store_);
  EXPECT_CODE(WQ_E_INVALID, wq_log_scan(path_.c_str(), nullptr, nullptr, err()));
  EXPECT_TRUE(collector.records.empty());
}

TEST_F(CapiLogScan, DamageIsToldWithItsPlace) {
  enqueue(queue_, std::string(1'000, 'x'));
  enqueue(queue_, "y");
  wq_store_close(&store_);
  for (const auto& entry : fs::directory_iterator(path_ + "/log")) {
    if (entry.path().extension() != ".seg") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const size_t at = bytes.find("xxxxxxxx");
    if (at == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(at));
    file.put('!');
  }
  Collector collector;
  EXPECT_CODE(WQ_E_CORRUPT, wq_log_scan(path_.c_str(), Collector::visit, &collector, err()));
  EXPECT_NE(std::strstr(last_error().message, ".seg"), nullptr) << last_error().message;
  EXPECT_NE(last_error().offset, 0u);
}

}  // namespace
}  // namespace wq::capi_test
