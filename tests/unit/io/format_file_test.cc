// The FORMAT file. Case 38(a) of the public bug reports, and who may open what.
#include "io/format_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/hash.h"
#include "log_test_util.h"
#include "test_seed.h"

namespace wq {
namespace {

using ByteVector = std::vector<std::byte>;

const std::string path = "store/FORMAT";

// A disk with a store of test_uuid().
SimDisk make_formatted_disk() {
  SimDisk disk = make_store_disk();
  bool created = false;
  const auto format = read_or_create_format(*disk.mount(), "store", test_uuid(), &created);
  EXPECT_TRUE(format.ok()) << format.status().message();
  EXPECT_TRUE(created);
  return disk;
}

// Lets the bytes pass the checksum after a change.
void reseal(ByteVector& bytes) {
  store_le<uint64_t>(bytes.data() + 56, hash64(Bytes(bytes).first(56), 0x77712d666f726d61));
}

TEST(FormatFile, CreatedOnceAndReadAgain) {
  SimDisk disk = make_formatted_disk();
  bool created = true;
  const auto again = read_or_create_format(*disk.mount(), "store", test_uuid(99), &created);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(created);
  EXPECT_EQ(again.value().uuid, test_uuid());
  EXPECT_EQ(again.value().version, store_format_version);
}

TEST(FormatFile, MissingIsNotFound) {
  SimDisk disk = make_store_disk();
  EXPECT_EQ(read_format(*disk.mount(), "store", Access::read).status().code(), Code::not_found);
}

// A store in somebody's directory would mix its files with theirs.
TEST(FormatFile, OnlyANewOrEmptyDirectoryBecomesAStore) {
  SimDisk disk = make_store_disk();
  EXPECT_TRUE(check_place_for_store(*disk.mount(), "store").ok());
  for (const char* left_over : {"store/LOCK", "store/FORMAT.tmp"}) {
    disk.write_file(left_over, {});
    EXPECT_TRUE(check_place_for_store(*disk.mount(), "store").ok()) << left_over;
  }
  disk.write_file("store/notes.txt", {});
  const Status refused = check_place_for_store(*disk.mount(), "store");
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("notes.txt"), std::string::npos) << refused.message();

  SimDisk store = make_formatted_disk();  // what lies in a store is nobody's business here
  store.write_file("store/notes.txt", {});
  EXPECT_TRUE(check_place_for_store(*store.mount(), "store").ok());
}

TEST(FormatFile, MissingBesideALogIsCorrupt) {
  SimDisk disk = make_formatted_disk();
  {
    OpenLog log = open_log(disk);
    append_records(*log.log, 1);
  }
  disk.remove_file(path);
  bool created = false;
  const auto result = read_or_create_format(*disk.mount(), "store", test_uuid(9), &created);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::corrupt);
  EXPECT_FALSE(created);
  EXPECT_FALSE(disk.has_file(path));
}

TEST(FormatFile, Case38DamagedFilesAreCorruptAndNamed) {
  const ByteVector good = make_formatted_disk().read_file(path);
  ASSERT_EQ(good.size(), 64u);
  std::vector<ByteVector> damaged = {ByteVector(64), {}};  // zeros of the same length, 0 bytes
  for (size_t length = 1; length < 64; ++length) {
    damaged.emplace_back(good.begin(), good.begin() + static_cast<ptrdiff_t>(length));
  }
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    damaged.push_back(good);
    damaged.back()[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  damaged.push_back(good);
  damaged.back().push_back(std::byte{1});
  for (const ByteVector& bytes : damaged) {
    SimDisk disk = make_formatted_disk();
    disk.write_file(path, bytes);
    const uint64_t events = disk.events();
    bool created = false;
    const auto result = read_or_create_format(*disk.mount(), "store", test_uuid(9), &created);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::corrupt);
    EXPECT_NE(result.status().message().find(path), std::string::npos);
    EXPECT_EQ(disk.events(), events) << "a refused open writes nothing";
  }
}

TEST(FormatFile, NewerVersionsAndUnknownFeatures) {
  struct Case {
    size_t offset;
    uint64_t value;
    bool readable;
    bool writable;
  };
  const Case cases[] = {
      {8, 2, false, false},                 // format version
      {16, uint64_t{1} << 63, true, true},  // compatible
      {24, 1, true, false},                 // read-only compatible
      {32, 1, false, false},                // incompatible
  };
  for (const Case& c : cases) {
    SimDisk disk = make_formatted_disk();
    ByteVector bytes = disk.read_file(path);
    if (c.offset == 8) {
      store_le<uint32_t>(bytes.data() + 8, static_cast<uint32_t>(c.value));
      bytes.resize(100);  // a newer version may be longer
    } else {
      store_le<uint64_t>(bytes.data() + c.offset, c.value);
    }
    reseal(bytes);
    disk.write_file(path, bytes);
    const uint64_t events = disk.events();
    const auto read = read_format(*disk.mount(), "store", Access::read);
    const auto write = read_format(*disk.mount(), "store", Access::write);
    EXPECT_EQ(read.ok(), c.readable) << c.offset;
    EXPECT_EQ(write.ok(), c.writable) << c.offset;
    if (!c.writable) {
      EXPECT_EQ(write.status().code(), Code::version);
    }
    EXPECT_EQ(disk.events(), events);
  }
}

TEST(FormatFile, Case38NoPowerCutLeavesAPartOfIt) {
  const uint64_t seed = test_seed();
  SimDisk disk(seed);
  disk.start_recording();
  const auto io = disk.mount();
  ASSERT_TRUE(make_store_directory(*io, "store").ok());
  bool created = false;
  ASSERT_TRUE(read_or_create_format(*io, "store", test_uuid(1), &created).ok());
  const uint64_t first_done = disk.events();
  StoreFormat format;
  format.uuid = test_uuid(2);
  ASSERT_TRUE(write_format(*io, "store", format).ok());
  const uint64_t second_done = disk.events();
  SimHistory history(disk);
  Prng prng(seed);
  do {
    for (int i = 0; i < 40; ++i) {
      CrashImage crash;
      crash.data = static_cast<CrashData>(prng.below(4));
      crash.names = static_cast<CrashNames>(prng.below(4));
      crash.seed = prng.next();
      SimDisk image = history.disk().image(crash);
      const auto mounted = image.mount();
      const auto found = read_format(*mounted, "store", Access::write);
      if (!found.ok()) {
        EXPECT_EQ(found.status().code(), Code::not_found) << found.status().message();
        EXPECT_LT(history.event(), first_done);
        ASSERT_TRUE(make_store_directory(*mounted, "store").ok());
      } else if (history.event() >= second_done) {
        EXPECT_EQ(found.value().uuid, test_uuid(2));
      } else {
        EXPECT_TRUE(found.value().uuid == test_uuid(1) || found.value().uuid == test_uuid(2));
      }
      // Whatever was left, the store can be made or opened.
      EXPECT_TRUE(read_or_create_format(*mounted, "store", test_uuid(3), &created).ok());
    }
  } while (history.step());
  EXPECT_GE(history.event(), 10u);
}

// An open that ended between the rename and the directory sync leaves a name that is in the kernel
// only. The next one reads it there, so it has to make it durable before it relies on it.
TEST(FormatFile, ANameThatAnInterruptedOpenLeftIsMadeDurable) {
  SimDisk disk = make_store_disk();
  disk.inject({.ops = sim_sync_dir, .path = "store"});
  bool created = false;
  ASSERT_FALSE(read_or_create_format(*disk.mount(), "store", test_uuid(), &created).ok());
  ASSERT_TRUE(disk.has_file(path));
  EXPECT_FALSE(disk.image({}).has_file(path));
  ASSERT_TRUE(read_or_create_format(*disk.mount(), "store", test_uuid(9), &created).ok());
  EXPECT_FALSE(created);
  EXPECT_TRUE(disk.image({}).has_file(path));
}

TEST(FormatFile, StoreDirectoryIsDurableInItsParent) {
  SimDisk disk;
  ASSERT_TRUE(make_store_directory(*disk.mount(), "store").ok());
  ASSERT_TRUE(make_store_directory(*disk.mount(), "store").ok());
  SimDisk cut = disk.image({});
  EXPECT_TRUE(cut.mount()->list("store").ok());
}

}  // namespace
}  // namespace wq
