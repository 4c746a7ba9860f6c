// Seeded random commands and rows for the tests of the encodings, and their comparison. Only what
// the type of a command gives a meaning to is filled and compared.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/prng.h"
#include "engine/batch.h"
#include "engine/record.h"

namespace wq {

constexpr CommandType all_command_types[] = {
    CommandType::open,         CommandType::close,           CommandType::queue_declare,
    CommandType::queue_clear,  CommandType::queue_configure, CommandType::queue_delete,
    CommandType::enqueue,      CommandType::lease,           CommandType::confirm,
    CommandType::extend,       CommandType::settle,          CommandType::expire,
    CommandType::promote,      CommandType::cancel,          CommandType::dead_replay,
    CommandType::dead_remove,  CommandType::import_begin,    CommandType::import_queue,
    CommandType::import_jobs,  CommandType::import_end,      CommandType::kv_write,
    CommandType::batch_create, CommandType::batch_seal,      CommandType::batch_cancel,
    CommandType::batch_lost,   CommandType::batch_forget,    CommandType::transact,
    CommandType::overlap,      CommandType::expire_jobs,     CommandType::reprioritise,
    CommandType::progress,     CommandType::key_release,     CommandType::key_forget,
    CommandType::dead_drop,    CommandType::drop_oldest,     CommandType::rate_rebase,
    CommandType::cron_put,     CommandType::cron_remove,     CommandType::cron_fire,
    CommandType::import_rows,
};

class SampleMaker {
 public:
  explicit SampleMaker(uint64_t seed) : prng_(seed) {}

  uint64_t number();                   // of random width, never 0
  int64_t time_ms();                   // 0 and up
  std::string bytes(size_t size_max);  // any bytes, may be empty
  std::string name();                  // a valid queue name
  Backoff backoff();
  JobTraits traits();  // half of the time none
  void add_chain(JobTraits& traits);
  QueueConfig config();
  RateLimit rate();
  Bytes envelope();                   // lives as long as this object
  Command command(CommandType type);  // its views live as long as this object
  JobRow job_row();
  QueueRow queue_row();
  MetaRow meta_row();
  Prng& prng() { return prng_; }

 private:
  std::string_view keep(std::string text);
  Packing pack(std::string& payload);  // a third of the time
  std::string sealed(std::string_view text);
  size_t item_count();
  void add_imports(Command& out);
  KvChange kv_change(CommandType type);
  void add_parts(Command& out);
  void add_cron(Command& out);
  void add_result(SettleItem& ack);
  Bytes cron_row();

  Prng prng_;
  Encoder encoder_;
  std::deque<std::string> kept_;
};

bool same_command(const Command& a, const Command& b);
bool same_job_row(const JobRow& a, const JobRow& b);
bool same_queue_row(const QueueRow& a, const QueueRow& b);
bool same_meta_row(const MetaRow& a, const MetaRow& b);

}  // namespace wq
