// What we look at in RocksDB's files before RocksDB does, on files of a store.
#include "engine/rocks_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "support/engine_harness.h"

namespace wq {
namespace {

using ByteVector = std::vector<std::byte>;

struct Region {
  uint64_t offset = 0;
  size_t bytes = 0;
};

// `regions`: what was read of the table.
Status check(const ByteVector& table, std::vector<Region>* regions = nullptr) {
  return check_table(table.size(), [&](uint64_t offset, size_t bytes, std::string& out) -> Status {
    if (regions) regions->push_back({offset, bytes});
    const Bytes rest = Bytes(table).subspan(std::min<size_t>(offset, table.size()));
    out = as_text(rest.first(std::min(bytes, rest.size())));
    return {};
  });
}

ByteVector flipped(ByteVector bytes, size_t at, int bit) {
  bytes[at] ^= std::byte{1} << bit;
  return bytes;
}

class RocksFormatTest : public testing::Test {
 protected:
  RocksFormatTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    const QueueId q = harness_.queue("q");
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 20; ++i) harness_.enqueue(q, "a job");
      const auto held = harness_.lease(q, 2);
      harness_.ack(q, held[0].id, held[0].generation);
      EXPECT_TRUE(harness_.engine().checkpoint().ok());
    }
    EXPECT_TRUE(harness_.close().ok());
  }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = StoreKind::sim_rocks;
    options.batch_rows_max = 4;  // files, not a batch
    return options;
  }
  std::map<std::string, ByteVector> files(const std::string& part) {
    std::map<std::string, ByteVector> found;
    for (const std::string& path : harness_.disk().files()) {
      if (path.find(part) != path.npos) found[path] = harness_.disk().read_file(path);
    }
    return found;
  }

  EngineHarness harness_;
};

TEST_F(RocksFormatTest, EachBitThatNobodyElseLooksAt) {
  const auto tables = files(".sst");
  ASSERT_GT(tables.size(), 3u);
  for (const auto& [path, table] : tables) {
    std::vector<Region> regions;
    const Status status = check(table, &regions);
    ASSERT_TRUE(status.ok()) << path << ": " << status.message();
    ASSERT_EQ(regions.size(), 3u);  // footer, index of the meta blocks, properties
    for (size_t i = 1; i < regions.size(); ++i) {
      for (size_t bit = 0; bit < regions[i].bytes * 8; ++bit) {
        const ByteVector bytes = flipped(table, regions[i].offset + bit / 8, bit % 8);
        ASSERT_EQ(check(bytes).code(), Code::corrupt) << path << " region " << i << " bit " << bit;
      }
    }
    for (size_t length = 0; length < table.size(); ++length) {
      const ByteVector cut(table.begin(), table.begin() + static_cast<ptrdiff_t>(length));
      ASSERT_EQ(check(cut).code(), Code::corrupt) << path << " cut to " << length;
    }
    // The kind of checksum, and the magic number.
    for (int bit = 0; bit < 8; ++bit) {
      ASSERT_EQ(check(flipped(table, table.size() - 53, bit)).code(), Code::corrupt);
      ASSERT_EQ(check(flipped(table, table.size() - 1, bit)).code(), Code::corrupt);
    }
  }
}

// No checksum covers it. With a length beyond the end RocksDB ran out of memory, with another
// version it took a block for one of another form, and both ended the process.
TEST_F(RocksFormatTest, AFooterWithOtherNumbers) {
  for (const auto& [path, table] : files(".sst")) {
    const size_t footer = table.size() - 53;
    for (int bit = 0; bit < 32; ++bit) {
      const ByteVector bytes = flipped(table, footer + 41 + bit / 8, bit % 8);
      ASSERT_EQ(check(bytes).code(), Code::corrupt) << path << " version bit " << bit;
    }
    size_t at = footer + 1;  // behind the two numbers of the index of meta blocks
    for (int numbers = 0; numbers < 2; ++at) {
      if ((table[at] & std::byte{0x80}) == std::byte{0}) ++numbers;
    }
    const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    for (const std::string& handle : {"\x01" + huge, huge + "\x01", huge + huge}) {
      ByteVector bytes = table;
      std::memcpy(bytes.data() + at, handle.data(), handle.size());
      ASSERT_EQ(check(bytes).code(), Code::corrupt) << path;
    }
  }
}

TEST(RocksNames, ThoseThatItCanMake) {
  for (const char* name : {"000004.log", "123456789.sst", "MANIFEST-000005", "OPTIONS-000007",
                           "CURRENT", "IDENTITY", "LOCK", "000009.dbtmp", "x.sst"}) {
    EXPECT_TRUE(is_possible_name(name)) << name;
  }
  for (const char* name : {"000000.log", "18446744073709551615.log", "99999999999999999999.sst",
                           "MANIFEST-000000", "OPTIONS-18446744073709551615"}) {
    EXPECT_FALSE(is_possible_name(name)) << name;
  }
}

// The highest bit of the properties says that a hash index follows; RocksDB ended the process.
TEST_F(RocksFormatTest, AStoreWithDamagedPropertiesIsRefused) {
  for (const auto& [path, table] : files(".sst")) {
    std::vector<Region> regions;
    ASSERT_TRUE(check(table, &regions).ok());
    constexpr size_t trailer_bytes = 5;
    const size_t last = regions.back().offset + regions.back().bytes - trailer_bytes - 1;
    harness_.disk().write_file(path, flipped(table, last, 7));
    const Status opened = harness_.open();
    ASSERT_EQ(opened.code(), Code::corrupt) << path;
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_NE(opened.message().find(name), std::string::npos) << opened.message();
    EXPECT_NE(opened.message().find("checksum"), std::string::npos) << opened.message();
    harness_.disk().write_file(path, table);
  }
  EXPECT_TRUE(harness_.open().ok());
}

std::vector<size_t> records_of(const ByteVector& manifest) {
  std::vector<size_t> begins;
  for (size_t at = 0; at + 7 <= manifest.size();) {
    begins.push_back(at);
    at += 7 + load_le<uint16_t>(manifest.data() + at + 4);
  }
  return begins;
}

TEST_F(RocksFormatTest, ALengthInTheMiddleOfAManifest) {
  const auto manifests = files("MANIFEST-");
  ASSERT_EQ(manifests.size(), 1u);
  const auto& [path, manifest] = *manifests.begin();
  const std::vector<size_t> records = records_of(manifest);
  ASSERT_GT(records.size(), family_count);
  const std::vector<std::string> before = harness_.disk().files();
  for (const size_t at : records) {
    const ByteVector bytes = flipped(manifest, at + 5, 6);
    if (at == records.back()) {
      EXPECT_TRUE(check_manifest(bytes).ok());
      continue;
    }
    EXPECT_EQ(check_manifest(bytes).code(), Code::corrupt) << at;
    harness_.disk().write_file(path, bytes);
    const Status opened = harness_.open();
    ASSERT_EQ(opened.code(), Code::corrupt) << at;
    EXPECT_NE(opened.message().find("MANIFEST-"), std::string::npos) << opened.message();
    ASSERT_EQ(harness_.disk().files(), before) << "files were removed that only it names";
  }
  harness_.disk().write_file(path, manifest);
  EXPECT_TRUE(harness_.open().ok());
}

// As a power cut leaves it.
TEST_F(RocksFormatTest, EachBeginningOfAManifestIsWhole) {
  const auto manifests = files("MANIFEST-");
  const ByteVector& manifest = manifests.begin()->second;
  for (size_t length = 0; length <= manifest.size(); ++length) {
    const Status status = check_manifest(Bytes(manifest).first(length));
    ASSERT_TRUE(status.ok()) << length << ": " << status.message();
  }
}

}  // namespace
}  // namespace wq
