// operations_test.cc: each operation of the surface once or more, by outcome; bytes intact. What
// the operations mean in full is shown by tests/conformance.
#include "store_fixture.hpp"

namespace {

using wq::Errc;
using wq::Outcome;
using wq_test::error_of;
using wq_test::hours;

class Operations : public wq_test::StoreTest {};

std::string every_byte() {
  std::string bytes;
  for (int i = 0; i < 256; i++) bytes += static_cast<char>(i);
  return bytes;
}

TEST_F(Operations, BytesComeBackAsGiven) {
  const std::string all = every_byte();
  const std::string big = std::string(1 << 20, '\xfe');
  queue_.configure({.keep_done = wq::KeepDone{.count = 10}}).value();
  for (const std::string& bytes : {std::string(), std::string(1, '\0'), all, big}) {
    const std::string header = bytes.size() > 1000 ? all : bytes;
    const std::string name = all.substr(1);
    const std::string group = "g" + header;
    const std::uint64_t id =
        put(bytes, {.headers = {{"h", header}, {name, "v"}}, .group = {group}});
    const wq::Job job = take();
    EXPECT_EQ(job.id(), id);
    EXPECT_EQ(job.payload(), wq::Bytes(bytes));
    EXPECT_EQ(job.header("h"), wq::Bytes(header));
    EXPECT_EQ(job.header(name), wq::Bytes("v"));
    EXPECT_FALSE(job.header("other"));
    EXPECT_EQ(job.progress(header).value(), Outcome::ok);
    EXPECT_EQ(queue_.get(id).value().progress_note(), wq::Bytes(header));
    EXPECT_EQ(job.nack({.error = header}).value(), Outcome::ok);
    const wq::Job again = take();
    EXPECT_EQ(again.last_error(), wq::Bytes(header));
    EXPECT_EQ(again.group(), wq::Bytes(group));
    EXPECT_EQ(again.ack(bytes).value(), Outcome::ok);
    EXPECT_EQ(queue_.history_get(id).value().result, bytes);
    const std::string row = bytes.size() > 1000 ? bytes : all;
    EXPECT_TRUE(store_.kv().put("k" + header, row).value());
    EXPECT_EQ(store_.kv().get("k" + header).value()->value, row);
  }
}

TEST_F(Operations, AJobSaysAllOfItself) {
  const wq::Time now = std::chrono::time_point_cast<wq::Millis>(std::chrono::system_clock::now());
  put("p", {.priority = 7,
            .max_attempts = 5,
            .expires_at = now + hours(1),
            .timeout = wq_test::seconds(30),
            .max_exceptions = 3,
            .fail_on_timeout = true});
  const wq::Job job = take();
  EXPECT_EQ(job.state(), wq::JobState::leased);
  EXPECT_EQ(job.priority(), 7u);
  EXPECT_EQ(job.attempts(), 1u);
  EXPECT_EQ(job.max_attempts(), 5u);
  EXPECT_EQ(job.timeout(), wq_test::seconds(30));
  EXPECT_EQ(job.queue_name(), wq::Bytes("q"));
  EXPECT_EQ(job.flow(), 0u);
  EXPECT_FALSE(job.flow_cancelled());
  EXPECT_EQ(job.raw().max_exceptions, 3u);
  EXPECT_EQ(wq::to_time(job.raw().expires_at_ms), now + hours(1));
  ASSERT_TRUE(job.deadline());
  EXPECT_LE(job.lease_remaining(), wq_test::seconds(30));
  EXPECT_GT(job.lease_remaining(), wq_test::seconds(10));
  EXPECT_GE(job.enqueued_at(), now - hours(1));
}

TEST_F(Operations, SettlesByOutcome) {
  put("a");
  const wq::Job job = take();
  EXPECT_EQ(job.confirm().value(), Outcome::ok);
  EXPECT_EQ(job.extend(hours(1)).value(), Outcome::ok);
  EXPECT_EQ(job.release({.front = true}).value(), Outcome::ok);
  EXPECT_EQ(job.ack().value(), Outcome::stale);
  EXPECT_EQ(job.extend().value(), Outcome::stale);
  const wq::Job next = take();
  EXPECT_EQ(next.nack({.delay = wq::Millis(0), .priority = 3, .exception = false}).value(),
            Outcome::ok);
  const wq::Job last = take();
  EXPECT_EQ(last.priority(), 3u);
  EXPECT_EQ(last.attempts(), 2u);
  EXPECT_EQ(last.fail("bad").value(), Outcome::ok);
  EXPECT_EQ(queue_.get(last.id()).value().dead_reason(), WQ_DEAD_FAILED);
  EXPECT_EQ(error_of(queue_.ack({last.id() + 1000, 1})), Errc::not_found);
  EXPECT_EQ(error_of(last.nack({.delay = wq::Millis(-7)})), Errc::invalid);
}

TEST_F(Operations, ManyAtOnce) {
  const wq::NewJob jobs[] = {{"a"}, {"b", {.unique = {"k"}}}, {"c", {.unique = {"k"}}}};
  const wq::ManyEnqueued many = queue_.enqueue_many(jobs);
  EXPECT_EQ(many.result.value(), Outcome::ok);
  EXPECT_EQ(many.accepted, 2u);
  EXPECT_EQ(many.jobs[2].code, WQ_DUPLICATE);
  EXPECT_EQ(many.jobs[2].job_id, many.jobs[1].job_id);
  const wq::Batch batch = queue_.lease({.max_jobs = 10}).value();
  ASSERT_EQ(batch.size(), 2u);
  std::vector<wq::Token> tokens;
  for (const wq::Job& job : batch) tokens.push_back(job.token());
  EXPECT_EQ(queue_.extend(tokens, hours(1)).result.value(), Outcome::ok);
  const wq::Settle settles[] = {wq::Settle::ack(tokens[0], "done"), wq::Settle::ack(tokens[0]),
                                wq::Settle::fail(tokens[1], "no", WQ_DEAD_UNKNOWN_TYPE)};
  const wq::ManySettled settled = queue_.settle_many(settles);
  EXPECT_EQ(settled.result.value(), Outcome::stale);
  EXPECT_EQ(settled.codes, (std::vector<std::int32_t>{WQ_OK, WQ_STALE, WQ_OK}));
  EXPECT_EQ(error_of(queue_.settle_many({}).result), Errc::invalid);
  EXPECT_EQ(error_of(queue_.enqueue_many({}).result), Errc::invalid);
  const wq::NewJob bad[] = {{"a"}, {"b", {.delay = wq::Millis(-1)}}};
  const wq::ManyEnqueued partial = queue_.enqueue_many(bad, wq::EnqueueMode::up_to_first_refusal);
  EXPECT_EQ(error_of(partial.result), Errc::invalid);
  EXPECT_EQ(partial.accepted, 1u);
}

TEST_F(Operations, QueuesAreConfiguredAndRead) {
  wq::QueueConfig config = queue_.config().value();
  EXPECT_EQ(config.max_retries, 1u);
  config.backoff = wq::Backoff::of_list({wq::Millis(1), wq::Millis(2)});
  config.lease = hours(2);
  EXPECT_EQ(queue_.configure(config).value(), Outcome::ok);
  EXPECT_EQ(queue_.configure(config).value(), Outcome::conflict);  // the version is another one
  EXPECT_EQ(queue_.config().value().backoff->list.size(), 2u);
  EXPECT_EQ(error_of(queue_.configure(
                {.backoff = wq::Backoff::of_list(std::vector<wq::Millis>(33, wq::Millis(1)))})),
            Errc::too_large);
  EXPECT_EQ(queue_.pause().value(), Outcome::ok);
  EXPECT_EQ(queue_.lease().value().outcome(), Outcome::paused);
  EXPECT_EQ(queue_.resume().value(), Outcome::ok);
  EXPECT_EQ(queue_.disable().value(), Outcome::ok);
  EXPECT_EQ(queue_.enqueue("x").value().outcome, Outcome::disabled);
  EXPECT_EQ(queue_.enable().value(), Outcome::ok);
  put("x");
  EXPECT_EQ(queue_.stats().value().ready, 1u);
  EXPECT_NE(queue_.explain().value().text, "");
  EXPECT_EQ(queue_.clear().value(), 1u);
  EXPECT_EQ(error_of(queue_.clear(1u << 31)), Errc::invalid);
  EXPECT_EQ(store_.queues().value(), std::vector<std::string>{"q"});
  EXPECT_EQ(error_of(store_.queue("none", {}, false)), Errc::not_found);
  EXPECT_EQ(queue_.remove().value(), Outcome::ok);
  EXPECT_EQ(error_of(queue_.stats()), Errc::not_found);
}

TEST_F(Operations, SingleJobs) {
  const std::uint64_t id = put("x", {.delay = hours(1)});
  EXPECT_EQ(queue_.explain(id).value().raw.causes & WQ_WHY_DELAYED, WQ_WHY_DELAYED);
  EXPECT_EQ(queue_.reprioritise(id, 5).value(), Outcome::ok);
  EXPECT_EQ(error_of(queue_.reprioritise(id, 256)), Errc::invalid);
  EXPECT_EQ(queue_.get(id).value().priority(), 5u);
  EXPECT_EQ(queue_.cancel(id).value(), Outcome::ok);
  EXPECT_EQ(error_of(queue_.get(id)), Errc::not_found);
  put("y");
  EXPECT_EQ(take().nack({.error = "why"}).value(), Outcome::ok);
  const std::vector<wq::QueueError> errors = queue_.errors().value();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_STREQ(errors[0].text, "why");
}

TEST_F(Operations, DeadLetters) {
  for (int i = 0; i < 5; i++) put("x");
  for (const wq::Job& job : queue_.lease({.max_jobs = 5}).value()) {
    EXPECT_EQ(job.fail("no route").value(), Outcome::ok);
  }
  const wq::DeadLetters dead = queue_.dead();
  std::vector<wq::Token> entries;
  wq::DeadQuery query{.oldest_first = true, .limit = 2};
  do {
    const wq::DeadPage page = dead.list(query).value();
    for (const wq::Job& job : page.jobs) entries.push_back(job.token());
    query.cursor = page.cursor;
  } while (query.cursor != 0);
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(dead.get(entries[0]).value()->last_error(), wq::Bytes("no route"));
  EXPECT_EQ(dead.replay(entries[0]).value(), Outcome::ok);
  EXPECT_EQ(dead.replay(entries[0]).value(), Outcome::stale);
  EXPECT_EQ(dead.get(entries[0]).value().outcome, Outcome::stale);
  EXPECT_EQ(dead.remove(entries[1]).value(), Outcome::ok);
  EXPECT_EQ(error_of(dead.remove_many({}).result), Errc::invalid);
  const wq::DeadReport dry = dead.remove_many({.dry_run = true, .error_part = "route"});
  EXPECT_EQ(dry.changed, 3u);
  const wq::DeadReport some = dead.replay_many({.entries = std::span(entries).subspan(2, 1)});
  EXPECT_EQ(some.result.value(), Outcome::ok);
  EXPECT_EQ(some.changed, 1u);
  const wq::Cancel fired = wq::Cancel::make();
  fired.fire();
  EXPECT_EQ(dead.remove_many({.all = true, .cancel = fired}).result.value(), Outcome::cancelled);
  int calls = 0;
  const auto stop = [](std::uint64_t, std::uint64_t, void* context) {
    ++*static_cast<int*>(context);
    return false;
  };
  const wq::DeadReport stopped =
      dead.remove_many({.all = true, .progress = stop, .context = &calls});
  EXPECT_EQ(stopped.result.value(), Outcome::cancelled);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(dead.purge().value(), 2u);
  EXPECT_EQ(dead.list().value().jobs.outcome(), Outcome::empty);
}

TEST_F(Operations, KeysHistoryChains) {
  const std::uint64_t id = put("x", {.unique = {"k", wq::UniqueUntil::done}});
  const wq::Enqueued met = queue_.enqueue("y", {.unique = {"k"}}).value();
  EXPECT_EQ(met.outcome, Outcome::duplicate);
  EXPECT_EQ(met.id, id);
  EXPECT_EQ(queue_.key_holder(wq::KeyKind::unique, "k").value(), id);
  EXPECT_EQ(take().release_key().value(), Outcome::ok);
  EXPECT_EQ(error_of(queue_.key_holder(wq::KeyKind::unique, "k")), Errc::not_found);
  const std::uint64_t waits = put("z", {.debounce = {"d", hours(1)}});
  EXPECT_EQ(queue_.key_cancel(wq::KeyKind::debounce, "d").value().found, waits);
  put("i", {.idempotency = {"once", hours(1)}});
  EXPECT_EQ(queue_.enqueue("i", {.idempotency = {"once", hours(1)}}).value().outcome,
            Outcome::duplicate);
  queue_.clear().value();

  queue_.configure({.keep_done = wq::KeepDone{.count = 2}}).value();
  const wq::Queue other = store_.queue("other").value();
  put("1", {.chain = {{"other", "2", {.headers = {{"n", "2"}}}}, {"", "3"}}});
  EXPECT_EQ(take().ack("r").value(), Outcome::ok);
  const wq::Job second = other.lease().value()[0];
  EXPECT_EQ(second.payload(), wq::Bytes("2"));
  EXPECT_EQ(second.header("n"), wq::Bytes("2"));
  EXPECT_EQ(second.ack().value(), Outcome::ok);
  EXPECT_EQ(other.lease().value()[0].payload(), wq::Bytes("3"));
  const wq::DonePage page = queue_.history_list().value();
  ASSERT_EQ(page.jobs.size(), 1u);
  EXPECT_EQ(page.jobs[0].result, "r");
  EXPECT_EQ(error_of(queue_.history_list(0, 100000)), Errc::invalid);
}

TEST_F(Operations, FlowsAndSchedules) {
  const wq::Flows flows = store_.flows();
  const std::uint64_t flow =
      *flows.create({.on_complete = wq::NextJob{"q", "end", {.priority = 1}}}).value();
  put("member", {.flow = flow});
  EXPECT_EQ(flows.seal(flow).value(), Outcome::ok);
  EXPECT_EQ(flows.status(flow).value().pending, 1u);
  const wq::Job member = take();
  EXPECT_EQ(member.flow(), flow);
  EXPECT_EQ(member.ack().value(), Outcome::ok);
  EXPECT_EQ(take().payload(), wq::Bytes("end"));
  EXPECT_EQ(flows.cancel(flow).value(), Outcome::conflict);
  EXPECT_EQ(flows.list().value().flows.size(), 1u);
  EXPECT_EQ(error_of(flows.list(0, 5000)), Errc::invalid);
  EXPECT_EQ(error_of(flows.status(flow + 1)), Errc::not_found);

  EXPECT_EQ(
      queue_
          .cron_put(
              "n",
              {.expression = "0 3 * * *", .zone = "Europe/Berlin", .payload = "p", .catch_up = 2})
          .value(),
      Outcome::ok);
  EXPECT_EQ(error_of(queue_.cron_put("n", {.expression = "bad"})), Errc::invalid);
  const wq::Crons crons = store_.crons();
  EXPECT_EQ(wq::Bytes(crons.get("n").value()[0].zone), wq::Bytes("Europe/Berlin"));
  EXPECT_EQ(crons.pause("n").value(), Outcome::ok);
  EXPECT_EQ(crons.list(&queue_).value()[0].flags, WQ_CRON_PAUSED);
  EXPECT_EQ(crons.resume("n").value(), Outcome::ok);
  EXPECT_EQ(crons.remove("n").value(), Outcome::ok);
  EXPECT_EQ(crons.list().value().size(), 0u);
}

TEST_F(Operations, RowsLocksTransactions) {
  const wq::Kv kv = store_.kv();
  EXPECT_EQ(kv.get("k").value().outcome, Outcome::empty);
  const std::uint64_t version = *kv.put("k", "1", {.ttl = hours(1)}).value();
  EXPECT_EQ(kv.put("k", "2", {.if_version = version + 1}).value().outcome, Outcome::conflict);
  EXPECT_TRUE(kv.put("k", "2", {.if_version = version}).value());
  EXPECT_EQ(kv.put("k", "3", {.if_absent = true}).value().outcome, Outcome::conflict);
  EXPECT_EQ(*kv.add("n", 5).value(), 5);
  EXPECT_EQ(*kv.add("n", -7).value(), -2);
  EXPECT_EQ(kv.list("", "", 1).value().rows[0].key, "k");
  EXPECT_TRUE(kv.list("", "", 1).value().more);
  EXPECT_EQ(kv.erase("k").value(), Outcome::ok);
  const wq::Lock mine = store_.lock("l", "me");
  const wq::Lock yours = store_.lock("l", "you");
  EXPECT_EQ(mine.take(hours(1)).value(), Outcome::ok);
  EXPECT_EQ(yours.take(hours(1)).value(), Outcome::conflict);
  EXPECT_EQ(mine.extend(hours(2)).value(), Outcome::ok);
  EXPECT_EQ(yours.release().value(), Outcome::stale);
  EXPECT_EQ(mine.release().value(), Outcome::ok);

  put("in");
  const wq::Job job = take();
  wq::Transaction change;
  change.settle(queue_, wq::Settle::ack(job.token()))
      .enqueue(queue_, "out", {.headers = {{"from", "in"}}})
      .kv_put("seen", "in", {.if_absent = true})
      .kv_add("count", 1)
      .kv_erase("gone")
      .kv_check("other", {.if_absent = true});
  const wq::TransactReport done = store_.transact(change);
  EXPECT_EQ(done.result.value(), Outcome::ok);
  EXPECT_EQ(done.results[3].sum, 1);
  EXPECT_EQ(queue_.get(done.results[1].job_id).value().payload(), wq::Bytes("out"));
  const wq::TransactReport again = store_.transact(change);
  EXPECT_EQ(again.result.value(), Outcome::stale);
  EXPECT_EQ(again.failed, 0u);
  EXPECT_EQ(error_of(store_.transact(wq::Transaction()).result), Errc::invalid);
}

TEST_F(Operations, TheStoreItself) {
  std::uint64_t lsn = 0;
  EXPECT_EQ(
      queue_.enqueue("x", {}, {.durability = wq::Durability::memory, .lsn = &lsn}).value().outcome,
      Outcome::ok);
  EXPECT_NE(lsn, 0u);
  EXPECT_EQ(store_.sync().value(), Outcome::ok);
  EXPECT_EQ(store_.wait_durable(lsn, wq::Durability::power, wq::Millis(0)).value(), Outcome::ok);
  EXPECT_EQ(error_of(store_.wait_durable(lsn + 100)), Errc::invalid);
  EXPECT_EQ(store_.checkpoint().value(), Outcome::ok);
  EXPECT_EQ(store_.stats().value().ready, 1u);
  EXPECT_EQ(store_.recovery().value().leases_kept, 0u);
  EXPECT_EQ(store_.verify().value().problems, 0u);
  EXPECT_NE(store_.metrics().value().find("wq_"), std::string::npos);
  EXPECT_EQ(error_of(store_.tick()), Errc::unsupported);
  wq::EventCursor cursor;
  EXPECT_EQ(store_.events(cursor).value().events.at(1).kind, WQ_EVENT_QUEUED);
  EXPECT_EQ(cursor.dropped(), 0u);
  const std::string copy = directory_ / "copy";
  EXPECT_TRUE(store_.backup(copy).value());
  EXPECT_TRUE(wq::backup_verify(copy).value());
  const wq::BackupOptions stop{
      .progress = [](std::uint64_t, std::uint64_t, void*) { return false; }};
  EXPECT_EQ(store_.backup(directory_ / "stopped", stop).value().outcome, Outcome::cancelled);
  EXPECT_TRUE(wq::backup_restore(copy, directory_ / "second").value());
  wq::Store second = wq::Store::open(directory_ / "second").value();
  EXPECT_EQ(second.stats().value().ready, 1u);
  EXPECT_EQ(error_of(wq::Store::open(directory_ / "second")), Errc::locked);
  EXPECT_EQ(store_.shutdown(wq::Millis(0)).value(), Outcome::ok);
  EXPECT_EQ(error_of(queue_.lease()), Errc::closed);
}

TEST(NoThreads, TickDrivesTheStore) {
  const wq_test::Directory directory;
  const wq::Store store = wq::Store::open(directory / "s", {.threads = false}).value();
  const wq::Queue queue = store.queue("q").value();
  queue.enqueue("x").value();
  EXPECT_TRUE(store.tick());
  EXPECT_EQ(queue.lease().value().size(), 1u);
}

}  // namespace
