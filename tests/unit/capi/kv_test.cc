// Key-value rows, locks and transactions through wq.h: what each call answers, what it leaves, and
// what a wrong argument is told.
#include <functional>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

std::string text_of(const wq_bytes& bytes) {
  return std::string(static_cast<const char*>(bytes.data), bytes.len);
}

class CapiKv : public testing::Test {
 protected:
  CapiKv() : store_(sim_.open()), queue_(open_queue(store_, "q")) {}
  ~CapiKv() override {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
  }

  int32_t put(std::string_view key, std::string_view value, const wq_kv_options* options = nullptr,
              uint64_t* version = nullptr) {
    return wq_kv_put(store_, key.data(), key.size(), value.data(), value.size(), options, nullptr,
                     version, err());
  }
  std::string get(std::string_view key) {
    wq_kv_page* page = nullptr;
    const int32_t code = wq_kv_get(store_, key.data(), key.size(), &page, err());
    if (code == WQ_EMPTY) {
      EXPECT_EQ(page, nullptr);
      return "-";
    }
    EXPECT_CODE(WQ_OK, code);
    wq_kv_row row = WQ_KV_ROW_INIT;
    EXPECT_EQ(wq_kv_page_count(page), 1u);
    EXPECT_EQ(wq_kv_page_row(page, 0, &row), WQ_OK);
    EXPECT_EQ(text_of(row.key), key);
    const std::string value = text_of(row.value);
    wq_kv_page_free(&page);
    return value;
  }
  int32_t take(std::string_view owner, int64_t ttl_ms = 1'000) {
    return wq_lock_take(store_, "lock", 4, owner.data(), owner.size(), ttl_ms, nullptr, err());
  }
  int32_t extend(std::string_view owner) {
    return wq_lock_extend(store_, "lock", 4, owner.data(), owner.size(), 1'000, nullptr, err());
  }
  int32_t release(std::string_view owner) {
    return wq_lock_release(store_, "lock", 4, owner.data(), owner.size(), nullptr, err());
  }
  SeenJob leased() {
    enqueue(queue_, "job");
    wq_batch* batch = nullptr;
    EXPECT_OK(wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
    return seen_all(batch).at(0);
  }
  int32_t transact(const std::vector<wq_txn_op>& ops, std::vector<wq_txn_result>& results,
                   size_t& failed, wq_call* call = nullptr) {
    results.assign(ops.size(), WQ_TXN_RESULT_INIT);
    return wq_transact(store_, ops.data(), ops.size(), sizeof ops[0], call, results.data(),
                       sizeof results[0], &failed, err());
  }

  SimStore sim_;
  wq_store* store_;
  wq_queue* queue_;
};

wq_txn_op op_of(uint32_t kind) {
  wq_txn_op op = WQ_TXN_OP_INIT;
  op.kind = kind;
  return op;
}

TEST_F(CapiKv, PutGetAddErase) {
  EXPECT_EQ(get("a"), "-");
  uint64_t first = 0, second = 0;
  EXPECT_OK(put("a", std::string_view("\0x", 2), nullptr, &first));
  EXPECT_EQ(get("a"), std::string("\0x", 2));
  wq_kv_options options = WQ_KV_OPTIONS_INIT;
  options.flags = WQ_KV_IF_VERSION;
  options.version = first;
  EXPECT_OK(put("a", "", &options, &second));
  EXPECT_GT(second, first);
  EXPECT_EQ(get("a"), "");
  EXPECT_CODE(WQ_CONFLICT, put("a", "z", &options, &second));
  EXPECT_EQ(second, 0u);
  options.flags = WQ_KV_IF_ABSENT | WQ_KV_IF_VALUE;
  options.version = 0;
  EXPECT_OK(put("a", "1", &options));  // the value is empty, as expected
  int64_t sum = 0;
  EXPECT_OK(wq_kv_add(store_, "a", 1, 41, nullptr, nullptr, &sum, err()));
  EXPECT_EQ(sum, 42);
  EXPECT_OK(put("word", "x"));
  EXPECT_CODE(WQ_CONFLICT, wq_kv_add(store_, "word", 4, 1, nullptr, nullptr, &sum, err()));
  options = WQ_KV_OPTIONS_INIT;
  options.ttl_ms = 100;
  EXPECT_OK(put("t", "x", &options));
  sim_.clock.advance(100);
  EXPECT_EQ(get("t"), "-");
  EXPECT_OK(wq_kv_erase(store_, "a", 1, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_EMPTY, wq_kv_erase(store_, "a", 1, nullptr, nullptr, err()));
}

TEST_F(CapiKv, PagesGoOnWhereTheLastOneEnded) {
  for (const char* key : {"b1", "b2", "b3", "a", "c"}) EXPECT_OK(put(key, "x"));
  wq_kv_query query = WQ_KV_QUERY_INIT;
  query.prefix = {"b", 1};
  query.limit = 2;
  std::string keys, after;
  for (int32_t more = 1; more != 0;) {
    query.after = {after.data(), after.size()};
    wq_kv_page* page = nullptr;
    ASSERT_OK(wq_kv_list(store_, &query, &page, &more, err()));
    for (size_t i = 0; i < wq_kv_page_count(page); ++i) {
      wq_kv_row row = WQ_KV_ROW_INIT;
      ASSERT_EQ(wq_kv_page_row(page, i, &row), WQ_OK);
      after = text_of(row.key);
      keys += after + " ";
    }
    wq_kv_page_free(&page);
    keys += "/ ";
  }
  EXPECT_EQ(keys, "b1 b2 / b3 / ");
  wq_kv_page* page = nullptr;
  query.after = {"b3", 2};
  EXPECT_CODE(WQ_EMPTY, wq_kv_list(store_, &query, &page, nullptr, err()));
  EXPECT_OK(wq_kv_list(store_, nullptr, &page, nullptr, err()));
  EXPECT_EQ(wq_kv_page_count(page), 5u);
  wq_kv_row row = WQ_KV_ROW_INIT;
  EXPECT_EQ(wq_kv_page_row(page, 5, &row), WQ_E_INVALID);
  EXPECT_EQ(wq_kv_page_row(page, 0, nullptr), WQ_E_INVALID);
  wq_kv_page* const stale = page;
  wq_kv_page_free(&page);
  wq_kv_page_free(&page);
  EXPECT_EQ(wq_kv_page_count(stale), 0u);
  EXPECT_EQ(wq_kv_page_count(nullptr), 0u);
}

// PrismGo B.9 and the overlap guard: one owner, who alone extends and releases; a late one changes
// nothing.
TEST_F(CapiKv, ALockBelongsToItsOwner) {
  EXPECT_OK(take("one"));
  EXPECT_OK(take("one"));  // the answer may have been lost
  EXPECT_CODE(WQ_CONFLICT, take("two"));
  EXPECT_CODE(WQ_STALE, extend("two"));
  EXPECT_CODE(WQ_STALE, release("two"));
  sim_.clock.advance(900);
  EXPECT_OK(extend("one"));
  sim_.clock.advance(900);
  EXPECT_CODE(WQ_CONFLICT, take("two"));
  sim_.clock.advance(100);
  EXPECT_CODE(WQ_STALE, extend("one"));  // it ran out: nobody may go on as its owner
  EXPECT_CODE(WQ_STALE, release("one"));
  EXPECT_OK(take("two", 0));
  wq_queue_close(&queue_);
  wq_store_close(&store_);
  store_ = sim_.open();
  sim_.clock.advance(1'000'000'000);
  EXPECT_CODE(WQ_CONFLICT, take("one"));
  EXPECT_EQ(get("lock"), "two");
  EXPECT_OK(release("two"));
  EXPECT_OK(take("one"));
  EXPECT_CODE(WQ_E_INVALID, take(""));
}

TEST_F(CapiKv, ATransactionIsOneChangeAndNamesWhoRefusedIt) {
  const SeenJob job = leased();
  const wq_job_spec spec = spec_of("next");
  wq_settle_item ack = WQ_SETTLE_ITEM_INIT;
  ack.kind = WQ_SETTLE_ACK;
  ack.id = job.job.id;
  ack.generation = job.job.generation;
  std::vector<wq_txn_op> ops = {op_of(WQ_TXN_SETTLE), op_of(WQ_TXN_ENQUEUE), op_of(WQ_TXN_KV_ADD),
                                op_of(WQ_TXN_KV_CHECK)};
  ops[0].queue = ops[1].queue = queue_;
  ops[0].settle = &ack;
  ops[1].spec = &spec;
  ops[2].key = {"n", 1};
  ops[2].delta = 5;
  ops[3].key = {"lock", 4};
  wq_kv_options mine = WQ_KV_OPTIONS_INIT;
  mine.flags = WQ_KV_IF_VALUE;
  mine.value = {"me", 2};
  ops[3].options = &mine;
  std::vector<wq_txn_result> results;
  size_t failed = 0;
  EXPECT_CODE(WQ_CONFLICT, transact(ops, results, failed));
  EXPECT_EQ(failed, 3u);
  EXPECT_NE(std::string(last_error().message).find("ops[3]"), std::string::npos);
  for (const wq_txn_result& result : results) {
    EXPECT_EQ(result.code, WQ_CONFLICT);
    EXPECT_EQ(result.job_id, 0u);
  }
  EXPECT_EQ(get("n"), "-");
  EXPECT_OK(put("lock", "me"));
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_call call = WQ_CALL_INIT;
  call.cq = cq;
  call.user_data = 7;
  EXPECT_OK(transact(ops, results, failed, &call));
  EXPECT_EQ(failed, ops.size());
  EXPECT_EQ(results[1].job_id, job.job.id + 1);
  EXPECT_EQ(results[2].sum, 5);
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  ASSERT_OK(wq_cq_poll(cq, &event, 1, sizeof event, -1, &count, err()));
  EXPECT_EQ(event.user_data, 7u);
  EXPECT_EQ(event.lsn, call.lsn);
  wq_cq_close(&cq);
  EXPECT_CODE(WQ_STALE, transact(ops, results, failed));  // the token is used up
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(get("n"), "5");
}

struct StrangeOp {
  const char* what;
  std::function<void(wq_txn_op&)> make;
  int32_t code;
};

// Operations that mix what does not belong together.
std::vector<StrangeOp> strange_ops(wq_queue* queue) {
  static const wq_job_spec spec = spec_of("x");
  static wq_settle_item ack = WQ_SETTLE_ITEM_INIT;
  static wq_kv_options ttl = WQ_KV_OPTIONS_INIT;
  static wq_kv_options odd = WQ_KV_OPTIONS_INIT;
  ttl.ttl_ms = 1;
  odd.flags = 8;
  const auto row = [](uint32_t kind) {
    wq_txn_op op = op_of(kind);
    op.key = {"k", 1};
    return op;
  };
  return {
      {"kind 0", [](wq_txn_op& op) { op.kind = 0; }, WQ_E_UNSUPPORTED},
      {"kind 7", [](wq_txn_op& op) { op.kind = 7; }, WQ_E_UNSUPPORTED},
      {"no queue", [](wq_txn_op& op) { op.spec = &spec; }, WQ_E_INVALID},
      {"no spec", [=](wq_txn_op& op) { op.queue = queue; }, WQ_E_INVALID},
      {"spec and settle",
       [=](wq_txn_op& op) {
         op.queue = queue;
         op.spec = &spec;
         op.settle = &ack;
       },
       WQ_E_INVALID},
      {"no settle",
       [=](wq_txn_op& op) {
         op = op_of(WQ_TXN_SETTLE);
         op.queue = queue;
       },
       WQ_E_INVALID},
      {"row with a queue",
       [=](wq_txn_op& op) {
         op = row(WQ_TXN_KV_PUT);
         op.queue = queue;
       },
       WQ_E_INVALID},
      {"erase with a value",
       [=](wq_txn_op& op) {
         op = row(WQ_TXN_KV_ERASE);
         op.value = op.key;
       },
       WQ_E_INVALID},
      {"erase with a ttl",
       [=](wq_txn_op& op) {
         op = row(WQ_TXN_KV_ERASE);
         op.options = &ttl;
       },
       WQ_E_INVALID},
      {"check without a condition", [=](wq_txn_op& op) { op = row(WQ_TXN_KV_CHECK); },
       WQ_E_INVALID},
      {"unknown condition",
       [=](wq_txn_op& op) {
         op = row(WQ_TXN_KV_PUT);
         op.options = &odd;
       },
       WQ_E_UNSUPPORTED},
      {"no key", [](wq_txn_op& op) { op = op_of(WQ_TXN_KV_PUT); }, WQ_E_INVALID},
  };
}

TEST_F(CapiKv, WhatATransactionCanNotMean) {
  for (const StrangeOp& c : strange_ops(queue_)) {
    std::vector<wq_txn_op> ops = {op_of(WQ_TXN_KV_PUT), op_of(WQ_TXN_ENQUEUE)};
    ops[0].key = {"first", 5};
    c.make(ops[1]);
    std::vector<wq_txn_result> results;
    size_t failed = 9;
    EXPECT_CODE(c.code, transact(ops, results, failed)) << c.what;
    EXPECT_EQ(failed, 1u) << c.what;
    EXPECT_EQ(get("first"), "-") << c.what;
  }
  std::vector<wq_txn_result> results;
  size_t failed = 0;
  EXPECT_CODE(WQ_E_INVALID, transact({}, results, failed));
}

// What an export tells of the rows comes back by an import, but for the versions.
TEST_F(CapiKv, RowsMoveWithTheStore) {
  wq_kv_options options = WQ_KV_OPTIONS_INIT;
  options.ttl_ms = 5'000;
  EXPECT_OK(put("a", "1"));
  EXPECT_OK(put("t", std::string_view("\0", 1), &options));
  options.ttl_ms = 10;
  EXPECT_OK(put("gone", "x", &options));
  sim_.clock.advance(10);
  struct Rows {
    uint64_t counted = 0;
    std::vector<std::pair<std::string, std::string>> rows;
    std::vector<int64_t> expiries;
  } told;
  const auto visit = [](const wq_export_item* item, void* ctx) -> int32_t {
    auto& rows = *static_cast<Rows*>(ctx);
    if (item->store) rows.counted = item->store->kv_rows;
    if (item->kv) rows.rows.emplace_back(text_of(item->kv->key), text_of(item->kv->value));
    if (item->kv) rows.expiries.push_back(item->kv->expires_ms);
    return 0;
  };
  ASSERT_OK(wq_store_export(store_, nullptr, 0, visit, &told, err()));
  EXPECT_EQ(told.counted, 2u);
  ASSERT_EQ(told.rows.size(), 2u);
  Rows one_queue;
  ASSERT_OK(wq_store_export(store_, "q", 1, visit, &one_queue, err()));
  EXPECT_TRUE(one_queue.rows.empty());

  SimStore other;
  wq_store* next = other.open();
  std::vector<wq_kv_record> records;
  for (size_t i = 0; i < told.rows.size(); ++i) {
    wq_kv_record record = WQ_KV_RECORD_INIT;
    record.key = {told.rows[i].first.data(), told.rows[i].first.size()};
    record.value = {told.rows[i].second.data(), told.rows[i].second.size()};
    record.expires_ms = told.expiries[i];
    records.push_back(record);
  }
  const auto bring = [&] {
    return wq_import_kv(next, records.data(), records.size(), sizeof records[0], err());
  };
  EXPECT_CODE(WQ_CONFLICT, bring());
  wq_store_record head = WQ_STORE_RECORD_INIT;
  head.next_job_id = head.next_generation = 1;
  ASSERT_OK(wq_import_begin(next, &head, err()));
  EXPECT_OK(bring());
  EXPECT_CODE(WQ_E_INVALID, bring());  // they are there
  wq_kv_page* page = nullptr;
  EXPECT_CODE(WQ_CONFLICT, wq_kv_get(next, "a", 1, &page, err()));  // nobody uses half a store
  EXPECT_CODE(WQ_CONFLICT, wq_kv_put(next, "z", 1, "", 0, nullptr, nullptr, nullptr, err()));
  ASSERT_OK(wq_import_end(next, err()));
  Rows again;
  ASSERT_OK(wq_store_export(next, nullptr, 0, visit, &again, err()));
  EXPECT_EQ(again.rows, told.rows);
  EXPECT_EQ(again.expiries, told.expiries);
  wq_store_close(&next);
}

}  // namespace
}  // namespace wq::capi_test
