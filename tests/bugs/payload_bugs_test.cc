// Reported bugs about what is in a job: cases 14, 45, 57. wq stores bytes and never looks into
// them. What these cases ask of bindings and of worker loops comes with those; this is the core's
// part.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bugs/small_store.h"
#include "engine/record.h"

namespace wq {
namespace {

std::vector<JobView> dead_of(EngineHarness& harness, QueueId q) {
  DeadQuery query;
  query.oldest_first = true;
  Result<DeadPage> page = harness.engine().dead_list(q, query);
  EXPECT_TRUE(page.ok()) << page.status().message();
  return page.ok() ? std::move(page).value().jobs : std::vector<JobView>();
}

SettleItem item_of(const JobView& job, SettleKind kind, std::string_view error) {
  SettleItem item;
  item.id = job.id;
  item.generation = job.generation;
  item.kind = kind;
  item.delay_ms = kind == SettleKind::nack ? -1 : 0;
  item.error = error;
  return item;
}

std::map<std::string, std::string> headers_of(const JobView& job) {
  std::map<std::string, std::string> out;
  const auto envelope = decode_envelope(job.body.bytes());
  EXPECT_TRUE(envelope.ok());
  if (!envelope.ok()) return out;
  for (const Header& header : envelope.value().headers) {
    out[std::string(as_text(header.name))] = std::string(as_text(header.value));
  }
  return out;
}

// ---- 14: the store of failed jobs parses the payload, throws on a damaged one, and loses the job.

TEST(BugCase, C14_AnyPayloadCanDie) {
  const std::vector<std::string> payloads = {"", std::string("\xff\x00\xfe", 3),
                                             "{\"uuid\":", std::string(1 << 20, '\0'), "null"};
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    EngineHarness harness(small_store(kind));
    ASSERT_TRUE(harness.open().ok());
    QueueConfig config;
    config.max_retries = 0;
    const QueueId q = harness.queue("q", config, config_max_retries);
    std::vector<JobId> ids;
    for (const std::string& payload : payloads) ids.push_back(harness.enqueue(q, payload));
    const std::string error(10 << 20, 'e');
    for (size_t i = 0; i < payloads.size(); ++i) {
      const std::vector<JobView> jobs = harness.lease(q);  // the loop goes on
      ASSERT_EQ(jobs.size(), 1u);
      EXPECT_EQ(harness.settle(q, item_of(jobs[0], SettleKind::nack, error)), Code::ok);
    }
    ASSERT_TRUE(harness.engine().checkpoint().ok());
    ASSERT_TRUE(harness.kill_and_open().ok());
    const std::vector<JobView> dead = dead_of(harness, q);
    ASSERT_EQ(dead.size(), payloads.size());
    for (size_t i = 0; i < dead.size(); ++i) {
      EXPECT_EQ(dead[i].id, ids[i]);
      EXPECT_EQ(payload_of(dead[i]), payloads[i]);
      EXPECT_EQ(dead[i].reason, DeadReason::failed);
      EXPECT_EQ(dead[i].attempts, 1u);
      EXPECT_EQ(dead[i].last_error.size(), error_bytes_max);
      EXPECT_NE(dead[i].last_error.find("cut]"), std::string::npos);
      CallOptions call;
      const Token entry{dead[i].id, dead[i].generation};
      EXPECT_TRUE(harness.engine().dead_replay(q, entry, call).ok());
    }
    EXPECT_EQ(harness.lease(q, 100).size(), payloads.size());
    harness.expect_sound();
  }
}

// ---- 45: a string in another encoding makes an encoder fail; the call returns an id, and nothing
// was stored. Elsewhere a NUL in an error text left the job active for good.

TEST(BugCase, C45_BytesComeBackAsTheyWere) {
  const std::vector<std::string> texts = {
      "\x44\xfc\x73",
      std::string("\0", 1),
      std::string("a\0b", 3),
      "\xed\xa0\x80",  // half of a surrogate pair
      "9007199254740993",
      std::string(10'000, '['),
      "a\r\nb: c\r\n\r\n",
      "\xf0\x9f\x98",  // a character that is cut off
      "",
  };
  EngineHarness harness(small_store(StoreKind::rocks));
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.max_retries = 0;
  const QueueId q = harness.queue("q", config, config_max_retries);
  for (const std::string& text : texts) {
    const Header header{as_bytes("name"), as_bytes(text)};
    JobSpec spec;
    spec.headers = std::span(&header, 1);
    harness.enqueue(q, text, spec);
  }
  for (const std::string& text : texts) {
    const std::vector<JobView> jobs = harness.lease(q);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), text);
    EXPECT_EQ(headers_of(jobs[0]).at("name"), text);
    EXPECT_EQ(harness.settle(q, item_of(jobs[0], SettleKind::nack, text)), Code::ok);
  }
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  ASSERT_TRUE(harness.close().ok());
  ASSERT_TRUE(harness.open().ok());
  const std::vector<JobView> dead = dead_of(harness, q);
  ASSERT_EQ(dead.size(), texts.size());
  for (size_t i = 0; i < dead.size(); ++i) {
    EXPECT_EQ(payload_of(dead[i]), texts[i]);
    EXPECT_EQ(dead[i].last_error.substr(0, 8), texts[i].substr(0, 8));
    EXPECT_EQ(headers_of(dead[i]).at("name"), texts[i]);
  }
  harness.expect_sound();
}

TEST(BugCase, C45_ARefusedJobHasNoIdAndNoPlace) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const std::string long_name(256, 'n');
  for (const std::string& name : {std::string(), long_name}) {
    const Header header{as_bytes(name), as_bytes("v")};
    JobSpec spec;
    spec.headers = std::span(&header, 1);
    CallOptions call;
    JobId id = 0;
    EXPECT_LT(static_cast<int32_t>(harness.engine().enqueue(q, spec, call, id).code()), 0);
    EXPECT_EQ(id, 0u);
    EXPECT_EQ(call.lsn, 0u);
  }
  EXPECT_TRUE(harness.lease(q).empty());
  EXPECT_EQ(harness.enqueue(q, "next"), 1u);
}

// ---- 57: a job whose type the new code does not know is taken off, fails to decode, and is gone;
// elsewhere the failure overwrote the arguments.

TEST(BugCase, C57_AJobThatNobodyKnowsIsKeptWhole) {
  EngineHarness harness(small_store(StoreKind::rocks));
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.max_retries = 2;
  const QueueId q = harness.queue("q", config, config_max_retries);
  const auto put = [&](std::string_view type, std::string_view payload) {
    const Header header{as_bytes("type"), as_bytes(type)};
    JobSpec spec;
    spec.headers = std::span(&header, 1);
    return harness.enqueue(q, payload, spec);
  };
  const JobId unknown = put("old.task", "first arguments");
  const JobId known = put("task", "others");
  int runs = 0;
  const auto work = [&](bool knows_old) {
    for (std::vector<JobView> jobs = harness.lease(q); !jobs.empty(); jobs = harness.lease(q)) {
      const bool can = knows_old || headers_of(jobs[0]).at("type") == "task";
      const SettleKind kind = can ? SettleKind::ack : SettleKind::nack;
      EXPECT_EQ(harness.settle(q, item_of(jobs[0], kind, can ? "" : "UNKNOWN_TYPE old.task")),
                Code::ok);
      runs += can;
      if (!can) continue;
      EXPECT_EQ(payload_of(jobs[0]), jobs[0].id == known ? "others" : "first arguments");
    }
  };
  work(false);
  EXPECT_EQ(runs, 1);
  ASSERT_TRUE(harness.kill_and_open().ok());
  const std::vector<JobView> dead = dead_of(harness, q);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].id, unknown);
  EXPECT_EQ(dead[0].attempts, 3u);
  EXPECT_EQ(dead[0].last_error, "UNKNOWN_TYPE old.task");
  EXPECT_EQ(payload_of(dead[0]), "first arguments");
  EXPECT_EQ(headers_of(dead[0]).at("type"), "old.task");
  CallOptions call;
  ASSERT_TRUE(harness.engine().dead_replay(q, Token{unknown, dead[0].generation}, call).ok());
  work(true);  // the handler is back
  EXPECT_EQ(runs, 2);
  harness.expect_sound();
}

// A worker that knows better than to try gives the job back, and no attempt is counted.
TEST(BugCase, C57_AnOldWorkerLeavesNewerJobsAlone) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const JobId id = harness.enqueue(q, "for version 2");
  for (int i = 0; i < 20; ++i) {
    const std::vector<JobView> jobs = harness.lease(q);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].attempts, 1u);
    EXPECT_EQ(harness.settle(q, item_of(jobs[0], SettleKind::release, "")), Code::ok);
  }
  const auto job = harness.engine().get(q, id);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job.value().attempts, 0u);
  EXPECT_EQ(harness.lease(q).at(0).attempts, 1u);
}

}  // namespace
}  // namespace wq
