// Every field of every kind of row that stands for something of its own in a store: a job, a queue,
// a schedule, a batch, a kv row, an idempotency key, a done job, a rate key. Read from the rows
// themselves, so that whatever moves a store can be compared field by field, whoever made the move.
// The lists in store_fields.cc name each member of each struct, by a structured binding: a member
// that is added and not listed does not compile. Thread model: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/packing.h"
#include "engine/store.h"

namespace wq {

using Fields = std::map<std::string, std::string>;

// "job 5", "queue mail", "schedule x", "batch 7", "kv a", "key mail/k", "done mail/5", "rate
// mail/k"; "order mail" has the ids in the order in which they are leased, those that are held
// first.
using StoreFields = std::map<std::string, Fields>;

// Of a store as of its last checkpoint, without what is over at `now_ms`. Payloads are told as they
// were given.
StoreFields fields_of(const Store& store, const Keyring& keys, int64_t now_ms);
// The same of one that is closed, in a directory.
StoreFields fields_of(const std::string& directory, const Keyring& keys, int64_t now_ms);

// Fields that have their default in each row of `rows`, as "job.progress".
std::vector<std::string> unused_fields(const StoreFields& rows);

// What a move gives anew: places, numbers of queues, counts that follow from the jobs. An import
// makes jobs that are held ready.
StoreFields as_moved(StoreFields rows);
bool is_given_anew(const std::string& field);

// One line for each difference.
std::string difference(const StoreFields& expected, const StoreFields& found);

}  // namespace wq
