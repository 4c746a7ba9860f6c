// encryption_test.cc: what is sealed and compressed, what opens, and what becomes of what does not.
#include <fstream>
#include <sstream>

#include "store_fixture.hpp"

namespace {

using wq::Errc;
using wq::Outcome;
using wq_test::error_of;

const std::string first_key(32, '\xa1');
const std::string second_key(32, '\xb2');

class Encryption : public testing::Test {
 protected:
  wq::Result<wq::Store> open_with(const std::vector<wq::EncryptionKey>& keys,
                                  std::uint32_t current) {
    store_.close();
    return wq::Store::open(directory_ / "store",
                           {.segment_bytes = 1 << 20, .keys = keys, .current_key = current});
  }
  void open(const std::vector<wq::EncryptionKey>& keys, std::uint32_t current) {
    store_ = open_with(keys, current).value();
    queue_ = store_.queue("q").value();
  }
  wq::Job take() { return queue_.lease().value()[0]; }
  bool is_in_files(const std::string& word) {
    namespace fs = std::filesystem;
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(directory_ / "store")) {
      std::stringstream text;
      if (entry.is_regular_file()) text << std::ifstream(entry.path()).rdbuf();
      if (text.str().find(word) != std::string::npos) return true;
    }
    return false;
  }

  wq_test::Directory directory_;
  wq::Store store_;
  wq::Queue queue_;
};

TEST_F(Encryption, KeysAreChecked) {
  EXPECT_EQ(error_of(open_with({{1, std::string_view(first_key).substr(1)}}, 1)), Errc::invalid);
  EXPECT_EQ(error_of(open_with({{0, first_key}}, 0)), Errc::invalid);
  EXPECT_EQ(error_of(open_with({{1, first_key}, {1, second_key}}, 1)), Errc::invalid);
  EXPECT_EQ(error_of(open_with({{1, first_key}}, 2)), Errc::invalid);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "store"));
}

TEST_F(Encryption, WithoutAKeyNothingIsSealedAndNothingSealedIsLeased) {
  open({}, 0);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.encrypt = true})), Errc::no_key);
  queue_.configure({.encrypt = true}).value();
  EXPECT_EQ(error_of(queue_.enqueue("x")), Errc::no_key);
  const std::uint64_t id = queue_.enqueue("x", {.encrypt = false}).value().id;
  EXPECT_EQ(error_of(queue_.lease()), Errc::no_key);
  EXPECT_TRUE(store_.keys().value().empty());
  EXPECT_EQ(queue_.get(id).value().payload(), wq::Bytes("x"));
  EXPECT_EQ(queue_.get(id).value().key_id(), 0u);
}

TEST_F(Encryption, SealedPayloadsAreInNoFileAndComeBackAsTheyWere) {
  open({{1, first_key}}, 1);
  queue_.configure({.encrypt = true, .compress_min_bytes = 100}).value();
  EXPECT_TRUE(*queue_.config().value().encrypt);
  EXPECT_EQ(queue_.config().value().compress_min_bytes, 100u);
  std::string every_byte;
  for (int i = 0; i < 256; i++) every_byte += static_cast<char>(i);
  const std::string payloads[] = {every_byte, std::string(100'000, 'x'), "a secret word", ""};
  for (const std::string& payload : payloads) queue_.enqueue(payload).value();
  queue_.enqueue("an open word", {.encrypt = false}).value();
  EXPECT_LT(queue_.stats().value().job_bytes, 5'000u) << "not compressed";
  EXPECT_EQ(store_.checkpoint().value(), Outcome::ok);
  EXPECT_TRUE(is_in_files("an open word"));
  EXPECT_FALSE(is_in_files("a secret word"));
  const wq::Batch batch = queue_.lease({.max_jobs = 10}).value();
  ASSERT_EQ(batch.size(), 5u);
  for (std::size_t i = 0; i < 4; i++) {
    EXPECT_EQ(batch[i].payload(), wq::Bytes(payloads[i]));
    EXPECT_EQ(batch[i].key_id(), 1u);
  }
  EXPECT_EQ(batch[4].payload(), wq::Bytes("an open word"));
  EXPECT_EQ(batch[4].key_id(), 0u);
}

TEST_F(Encryption, KeysAreRotatedAndAJobWithoutItsKeyWaitsAmongTheDead) {
  open({{1, first_key}}, 1);
  const std::uint64_t first = queue_.enqueue("first", {.encrypt = true}).value().id;
  open({{1, first_key}, {2, second_key}}, 2);
  queue_.enqueue("second", {.encrypt = true}).value();
  open({{2, second_key}}, 2);
  const std::vector<wq::KeyUse> keys = store_.keys().value();
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].id, 1u);
  EXPECT_EQ(keys[0].payloads, 1u);
  EXPECT_EQ(keys[0].flags, 0u);
  EXPECT_EQ(keys[1].payloads, 1u);
  EXPECT_EQ(keys[1].flags, WQ_KEY_KNOWN | WQ_KEY_CURRENT);
  const wq::Job unread = queue_.get(first).value();
  EXPECT_EQ(unread.payload_error(), Errc::no_key);
  EXPECT_TRUE(unread.payload().empty());
  EXPECT_EQ(unread.key_id(), 1u);
  const wq::Batch batch = queue_.lease({.max_jobs = 10}).value();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].payload(), wq::Bytes("second"));
  EXPECT_FALSE(batch[0].payload_error());
  EXPECT_EQ(queue_.get(first).value().dead_reason(), WQ_DEAD_UNREADABLE);
  open({{1, first_key}}, 1);
  EXPECT_EQ(queue_.dead().replay_many({.reason = WQ_DEAD_UNREADABLE}).changed, 1u);
  EXPECT_EQ(take().payload(), wq::Bytes("first"));
}

TEST_F(Encryption, ResultsSchedulesAndWhatFollowsAreSealedToo) {
  open({{1, first_key}}, 1);
  queue_.configure({.keep_done = wq::KeepDone{.count = 10}, .encrypt = true}).value();
  queue_.enqueue("first", {.chain = {{"", "next", {.encrypt = false}}}}).value();
  queue_.cron_put("yearly", {.expression = "0 0 1 1 *", .payload = "tick"}).value();
  const wq::Job job = take();
  EXPECT_EQ(job.ack("result").value(), Outcome::ok);
  EXPECT_EQ(take().key_id(), 0u);
  for (const bool known : {true, false}) {
    if (!known) open({{2, second_key}}, 2);
    const wq::DoneJob done = queue_.history_get(job.id()).value();
    EXPECT_EQ(done.result, known ? "result" : "");
    EXPECT_EQ(done.raw.result_code, known ? WQ_OK : WQ_E_NO_KEY);
    EXPECT_EQ(done.raw.key_id, 1u);
    const wq::CronList crons = store_.crons().get("yearly").value();
    EXPECT_EQ(wq::Bytes(crons[0].payload), wq::Bytes(known ? "tick" : ""));
    EXPECT_EQ(crons[0].payload_code, known ? WQ_OK : WQ_E_NO_KEY);
  }
}

}  // namespace
