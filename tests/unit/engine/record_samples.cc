#include "unit/engine/record_samples.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "engine/payload_seal.h"

namespace wq {

uint64_t SampleMaker::number() {
  const uint64_t value = prng_.next() >> prng_.below(64);
  return value == 0 ? 1 : value;
}

int64_t SampleMaker::time_ms() {
  if (prng_.below(4) == 0) return 0;
  return static_cast<int64_t>(prng_.next() >> (1 + prng_.below(63)));
}

std::string SampleMaker::bytes(size_t size_max) {
  std::string out(prng_.below(size_max + 1), '\0');
  for (char& c : out) c = static_cast<char>(prng_.next());
  return out;
}

std::string SampleMaker::name() {
  const char* const letters[] = {
      "a", "Z", "-", " ", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  const size_t size_max = 1 + prng_.below(queue_name_bytes_max - 4);
  std::string out = "q";
  while (out.size() < size_max) out += letters[prng_.below(std::size(letters))];
  return out;
}

Backoff SampleMaker::backoff() {
  Backoff out;
  const auto delay_ms = [&] {
    return static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max) + 1));
  };
  out.kind = static_cast<BackoffKind>(prng_.below(4));
  if (out.kind == BackoffKind::fixed) out.base_ms = delay_ms();
  if (out.kind == BackoffKind::exponential) {
    out.max_ms = delay_ms();
    out.base_ms = static_cast<int64_t>(prng_.below(static_cast<uint64_t>(out.max_ms) + 1));
  }
  if (out.kind == BackoffKind::list) {
    out.list_ms.resize(1 + prng_.below(backoff_list_max));
    for (int64_t& entry : out.list_ms) entry = delay_ms();
  }
  if (out.kind != BackoffKind::none && prng_.below(2) == 0) {
    out.jitter_permille = static_cast<uint32_t>(prng_.below(jitter_permille_max + 1));
  }
  return out;
}

JobTraits SampleMaker::traits() {
  JobTraits out;
  if (prng_.below(2) == 0) return out;
  if (prng_.below(2) == 0) out.expires_ms = time_ms();
  if (prng_.below(2) == 0) out.retry_until_ms = time_ms();
  if (prng_.below(2) == 0) out.timeout_ms = static_cast<int64_t>(prng_.below(1'000'000));
  if (prng_.below(2) == 0) out.max_exceptions = static_cast<uint32_t>(prng_.next());
  out.fail_on_timeout = prng_.below(2) == 0;
  const auto up_to_delay_max = [&] {
    return static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max)));
  };
  if (prng_.below(2) == 0) {
    out.key_rule = static_cast<KeyRule>(1 + prng_.below(4));
    out.key = keep("k" + bytes(key_bytes_max - 1));
    out.key_ms = up_to_delay_max();
  }
  if (prng_.below(2) == 0) {
    out.idempotency_key = keep("i" + bytes(key_bytes_max - 1));
    out.idempotency_ms = 1 + up_to_delay_max();
  }
  if (prng_.below(2) == 0) out.batch = number();
  if (prng_.below(4) == 0) add_chain(out);
  if (prng_.below(2) == 0) {
    out.group = keep("g" + bytes(key_bytes_max - 1));
    out.group_limit = static_cast<uint32_t>(prng_.below(group_limit_max + 1));
    out.overlap = static_cast<OverlapRule>(prng_.below(3));
    if (out.overlap == OverlapRule::release)
      out.overlap_ms = std::max<int64_t>(1, up_to_delay_max());
  } else if (prng_.below(2) == 0) {
    out.rate_key = keep("r" + bytes(key_bytes_max - 1));
    out.rate_cost = 1 + static_cast<uint32_t>(prng_.below(rate_count_max));
  }
  if (prng_.below(2) == 0) out.tenant = keep("t" + bytes(key_bytes_max - 1));
  return out;
}

RateLimit SampleMaker::rate() {
  RateLimit out;
  out.count = 1 + static_cast<uint32_t>(prng_.below(rate_count_max));
  out.burst = 1 + static_cast<uint32_t>(prng_.below(out.count));
  out.window_ms = 1 + static_cast<int64_t>(prng_.below(static_cast<uint64_t>(rate_window_ms_max)));
  return out;
}

// One to three jobs, each inside of the one before.
void SampleMaker::add_chain(JobTraits& traits) {
  std::string following;
  const size_t jobs = 1 + prng_.below(3);
  for (uint32_t i = 0; i < jobs; ++i) {
    JobTraits inner;
    inner.batch = traits.batch;
    inner.chain = following;
    inner.chain_jobs = i;
    Encoder encoder;
    NextJob next;
    if (prng_.below(2) == 0) next.queue = "next";
    next.delay_ms = static_cast<int64_t>(prng_.below(1'000));
    std::string payload = bytes(40);
    const Packing packing = pack(payload);
    next.envelope = encoder.envelope({}, as_bytes(payload), backoff(), 1, inner, packing);
    following = encode_next(next);
  }
  traits.chain = keep(std::move(following));
  traits.chain_jobs = static_cast<uint32_t>(jobs);
}

// Not what comes out of a cipher: nothing that reads a record can tell.
std::string SampleMaker::sealed(std::string_view text) {
  std::string out = "k";
  while (out.size() < seal_extra_bytes) out += static_cast<char>(prng_.next());
  return out.append(text);
}

Packing SampleMaker::pack(std::string& payload) {
  Packing out;
  if (prng_.below(3) != 0) return out;
  out.flags = static_cast<uint8_t>(1 + prng_.below(packing_compressed | packing_sealed));
  out.plain_bytes = static_cast<uint32_t>(payload.size());
  const bool compressed = (out.flags & packing_compressed) != 0;
  if (compressed) out.plain_bytes += 1 + static_cast<uint32_t>(prng_.below(100));
  if (out.is_sealed()) payload = sealed(payload);
  return out;
}

QueueConfig SampleMaker::config() {
  QueueConfig out;
  out.max_running = static_cast<uint32_t>(prng_.next());
  out.max_retries = static_cast<uint32_t>(prng_.below(max_retries_max + 1));
  out.lease_ms = 1 + static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max)));
  out.durability = static_cast<Durability>(1 + prng_.below(3));
  out.status = static_cast<QueueStatus>(prng_.below(3));
  out.backoff = backoff();
  out.version = number();
  if (prng_.below(2) == 0) {
    out.job_ttl_ms = static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max)));
  }
  if (prng_.below(2) == 0) return out;
  out.max_depth = number();
  out.max_bytes = number();
  out.full_policy = static_cast<FullPolicy>(prng_.below(2));
  out.dead_max_count = number();
  out.dead_max_age_ms = static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max) + 1));
  out.pause_kept = out.status == QueueStatus::disabled && prng_.below(2) == 0;
  out.encrypt = prng_.below(2) == 0;
  out.compress_min_bytes = static_cast<uint32_t>(prng_.below(payload_bytes_absolute_max + 1));
  out.keep_done_count = static_cast<uint32_t>(prng_.next());
  out.keep_done_age_ms = static_cast<int64_t>(prng_.below(1'000'000));
  out.group_limit = 1 + static_cast<uint32_t>(prng_.below(group_limit_max));
  if (prng_.below(2) == 0) out.rate = rate();
  if (prng_.below(2) == 0) out.key_rate = rate();
  if (prng_.below(2) == 0) {
    out.throttle = {1 + static_cast<uint32_t>(prng_.below(throttle_count_max)), rate().window_ms,
                    rate().window_ms};
  }
  return out;
}

std::string_view SampleMaker::keep(std::string text) {
  kept_.push_back(std::move(text));
  return kept_.back();
}

size_t SampleMaker::item_count() {
  return 1 + prng_.below(prng_.below(8) == 0 ? 200 : 4);
}

Bytes SampleMaker::envelope() {
  std::vector<Header> headers(prng_.below(2) == 0 ? 0 : prng_.below(5));
  for (Header& header : headers) {
    header.name = as_bytes(keep("h" + bytes(20)));
    header.value = as_bytes(keep(bytes(40)));
  }
  std::string payload = bytes(prng_.below(4) == 0 ? 2'000 : 64);
  const Packing packing = pack(payload);
  const Bytes encoded =
      encoder_.envelope(headers, as_bytes(payload), backoff(), time_ms(), traits(), packing);
  return as_bytes(keep(std::string(as_text(encoded))));
}

Command SampleMaker::command(CommandType type) {
  Command out;
  out.reset(type, time_ms());
  out.unclean = prng_.below(2) == 0;
  out.queue = 1 + static_cast<QueueId>(prng_.below(0xffff'ffff));
  out.states = state_bit(static_cast<JobState>(1 + prng_.below(5))) |
               state_bit(static_cast<JobState>(1 + prng_.below(5)));
  out.deadline_ms = time_ms();
  out.first_generation = 1 + (prng_.next() >> 1);
  out.name = keep(name());
  out.config = config();
  const bool takes_jobs = type == CommandType::enqueue || type == CommandType::cron_fire ||
                          (type == CommandType::drop_oldest && prng_.below(2) == 0);
  if (takes_jobs) {
    for (size_t i = item_count(); i > 0; --i) {
      out.jobs.push_back({.id = number(),
                          .due_ms = time_ms(),
                          .max_attempts = static_cast<uint32_t>(prng_.below(5)),
                          .priority = static_cast<uint8_t>(prng_.next()),
                          .envelope = envelope()});
    }
  }
  for (size_t i = item_count(); i > 0; --i) out.ids.push_back(number());
  if (type == CommandType::lease) {
    out.ids.clear();
    for (size_t i = 1 + prng_.below(4); i > 0; --i) {
      const auto count = static_cast<uint32_t>(item_count());
      out.groups.push_back({1 + static_cast<QueueId>(prng_.below(1'000)), count, time_ms()});
      for (uint32_t j = 0; j < count; ++j) out.ids.push_back(number());
    }
  }
  add_imports(out);
  if (type == CommandType::transact) add_parts(out);
  for (size_t i = item_count(); i > 0; --i) {
    out.kv.push_back(kv_change(type));
  }
  if (type == CommandType::reprioritise) out.ids.resize(1);
  if (prng_.below(2) == 0) {
    for (size_t i = out.ids.size(); i > 0; --i) {
      out.delays_ms.push_back(static_cast<int64_t>(prng_.below(1'000)) - 1);
    }
  }
  out.priority = static_cast<uint8_t>(prng_.next());
  out.note = keep(bytes(prng_.below(3) == 0 ? progress_bytes_max : 10));
  add_cron(out);
  const bool one = type == CommandType::confirm || type == CommandType::progress;
  const bool acks_only = prng_.below(2) == 0;
  for (size_t i = one ? 1 : item_count(); i > 0; --i) {
    SettleItem item{.id = number(), .generation = number()};
    if (type == CommandType::settle && !acks_only) {
      item.kind = static_cast<SettleKind>(1 + prng_.below(4));
    }
    if (item.kind != SettleKind::ack) {
      item.flags = static_cast<uint8_t>(prng_.below(8));
      item.priority = static_cast<uint8_t>(prng_.next());
      item.delay_ms = static_cast<int64_t>(prng_.below(static_cast<uint64_t>(delay_ms_max) + 1));
      if (item.kind == SettleKind::nack && prng_.below(2) == 0) item.delay_ms = -1;
      if (item.kind != SettleKind::release) {
        item.error = keep(bytes(100));
        item.reason = prng_.below(2) == 0 ? DeadReason::none : DeadReason::unknown_type;
      }
    }
    if (type == CommandType::settle && item.kind == SettleKind::ack) add_result(item);
    out.settles.push_back(item);
  }
  out.batch = number();
  return out;
}

void SampleMaker::add_result(SettleItem& ack) {
  if (prng_.below(3) != 0) return;
  const bool is_sealed = prng_.below(2) == 0;
  ack.result = keep(is_sealed ? sealed(bytes(50)) : bytes(50));
  if (is_sealed) ack.flags |= settle_sealed;
}

void SampleMaker::add_cron(Command& out) {
  if (out.type == CommandType::cron_put) out.row = cron_row();
  const bool fires = out.type == CommandType::cron_fire;
  if (fires && prng_.below(2) == 0) out.ids.clear();
  out.cron.slot_ms = fires ? 1 + time_ms() / 4 : 0;
  out.cron.state.last_slot_ms = out.cron.slot_ms + time_ms() / 4;
  out.cron.state.next_due_ms = prng_.below(4) == 0 ? 0 : out.cron.state.last_slot_ms + 1;
  out.cron.state.created_ms = time_ms();
  out.cron.state.fired = number();
  out.cron.state.missed = number();
  out.cron.state.paused = !fires && prng_.below(2) == 0;
}

Bytes SampleMaker::cron_row() {
  const std::string expression = "*/" + std::to_string(1 + prng_.below(59)) + " * * * *";
  CronRow row{.expression = expression, .zone = prng_.below(2) == 0 ? "" : "Europe/Berlin"};
  row.catch_up = static_cast<uint32_t>(prng_.below(1'001));
  row.max_attempts = static_cast<uint32_t>(prng_.below(5));
  row.priority = static_cast<uint8_t>(prng_.next());
  row.envelope = envelope();
  return as_bytes(keep(std::string(as_text(encoder_.cron_row(row)))));
}

void SampleMaker::add_parts(Command& out) {
  constexpr CommandType types[] = {CommandType::enqueue, CommandType::settle,
                                   CommandType::kv_write};
  for (size_t i = item_count(); i > 0; --i) {
    Command part = command(types[prng_.below(3)]);
    part.now_ms = out.now_ms;
    out.parts.push_back(std::move(part));
  }
}

KvChange SampleMaker::kv_change(CommandType type) {
  KvChange out;
  out.key = keep("k" + bytes(prng_.below(3) == 0 ? key_bytes_max - 1 : 10));
  if (type == CommandType::import_rows) {
    out.value = keep(bytes(100));
    return out;
  }
  out.erase = type == CommandType::key_forget || prng_.below(3) == 0;
  if (out.erase) return out;
  out.value = keep(bytes(100));
  out.expires_ms = prng_.below(2) == 0 ? 0 : time_ms();
  return out;
}

void SampleMaker::add_imports(Command& out) {
  if (out.type == CommandType::import_begin) {
    out.row = as_bytes(keep(std::string(as_text(encoder_.meta_row(meta_row())))));
  }
  if (out.type == CommandType::import_queue) {
    out.row = as_bytes(keep(std::string(as_text(encoder_.queue_row(queue_row())))));
  }
  if (out.type == CommandType::batch_create) {
    BatchRow row;
    row.total = number() >> 2;
    row.done = row.total / 2;
    row.pending = row.total - row.done;
    out.row = as_bytes(keep(encode_batch_row(row)));
  }
  if (out.type != CommandType::import_jobs) return;
  for (size_t i = item_count(); i > 0; --i) {
    JobRow row = job_row();
    row.queue = out.queue;
    if (row.state == JobState::leased || row.state == JobState::running) {
      row.state = JobState::ready;
    }
    const bool dead = row.state == JobState::dead;
    row.reason = dead ? DeadReason::failed : DeadReason::none;
    out.imports.push_back(
        {number(), as_bytes(keep(std::string(as_text(encoder_.job_row(row, envelope())))))});
  }
}

JobRow SampleMaker::job_row() {
  JobRow out;
  out.queue = 1 + static_cast<QueueId>(prng_.below(0xffff'ffff));
  out.state = static_cast<JobState>(1 + prng_.below(5));
  out.priority = static_cast<uint8_t>(prng_.next());
  out.reason = static_cast<DeadReason>(prng_.below(10));
  out.epoch = static_cast<uint32_t>(prng_.next());
  out.attempts = static_cast<uint32_t>(prng_.below(10));
  out.exceptions = static_cast<uint32_t>(prng_.below(10));
  out.failures = static_cast<uint32_t>(prng_.below(10));
  out.max_attempts = static_cast<uint32_t>(prng_.below(10));
  out.replays = static_cast<uint32_t>(prng_.below(10));
  out.position = number() >> 1;
  out.generation = number();
  out.since_ms = time_ms();
  out.leased_ms = time_ms();
  out.deadline_ms = time_ms();
  out.key_until_ms = time_ms();
  out.first_dead_ms = time_ms();
  out.deadline_set_ms = time_ms();
  out.last_error = keep(bytes(prng_.below(3) == 0 ? error_bytes_max : 10));
  out.progress = keep(bytes(prng_.below(3) == 0 ? progress_bytes_max : 10));
  return out;
}

QueueRow SampleMaker::queue_row() {
  QueueRow out;
  out.id = 1 + static_cast<QueueId>(prng_.below(0xffff'ffff));
  out.name = name();
  out.config = config();
  out.totals = {number(), number(), number(), number(), number(), number(), number(),
                number(), number(), number(), number(), number(), number(), number()};
  if (prng_.below(2) == 0) {
    for (uint64_t& bytes : out.bytes) bytes = number();
  }
  for (uint64_t& count : out.counts) count = number();
  for (uint32_t& epoch : out.epochs) epoch = static_cast<uint32_t>(prng_.next());
  out.next_tail_seq = number();
  out.next_front_seq = number();
  out.next_dead_seq = number();
  out.created_ms = time_ms();
  out.rate_tat_ns = time_ms();
  out.expiring = number();
  const size_t lanes = prng_.below(4) == 0 ? 256 : prng_.below(4);
  for (size_t i = 0; i < lanes; ++i) {
    out.lanes.push_back({static_cast<uint8_t>(i), number(), number()});
  }
  return out;
}

MetaRow SampleMaker::meta_row() {
  MetaRow out;
  out.applied_lsn = number();
  out.next_job_id = number();
  out.next_generation = number();
  out.next_queue_id = 1 + static_cast<QueueId>(prng_.below(1'000));
  out.uuid_low = prng_.next();
  out.uuid_high = prng_.next();
  constexpr JobState states[] = {JobState::ready, JobState::delayed, JobState::dead};
  for (size_t i = prng_.below(4); i > 0; --i) {
    const uint64_t low = number() >> 1;
    out.trash.push_back({.queue = 1 + static_cast<QueueId>(prng_.below(1'000)),
                         .state = states[prng_.below(3)],
                         .epoch_below = static_cast<uint32_t>(prng_.next()),
                         .priority = static_cast<uint8_t>(prng_.next()),
                         .seq_low = low,
                         .seq_high = low + prng_.below(uint64_t{1} << 62),
                         .lsn = number()});
    out.trash.back().lines = out.trash.back().state == JobState::ready && prng_.below(2) == 0;
  }
  return out;
}

namespace {

bool same_bytes(Bytes a, Bytes b) {
  return as_text(a) == as_text(b);
}

bool same_job(const NewJob& a, const NewJob& b) {
  return std::tie(a.id, a.due_ms, a.max_attempts, a.priority) ==
             std::tie(b.id, b.due_ms, b.max_attempts, b.priority) &&
         same_bytes(a.envelope, b.envelope);
}

bool same_group(const LeaseGroup& a, const LeaseGroup& b) {
  return std::tie(a.queue, a.count, a.deadline_ms) == std::tie(b.queue, b.count, b.deadline_ms);
}

bool same_token(const SettleItem& a, const SettleItem& b) {
  return a.id == b.id && a.generation == b.generation;
}

bool same_settle(const SettleItem& a, const SettleItem& b) {
  return same_token(a, b) && a.result == b.result &&
         std::tie(a.kind, a.flags, a.priority, a.delay_ms, a.error, a.reason) ==
             std::tie(b.kind, b.flags, b.priority, b.delay_ms, b.error, b.reason);
}

template <typename T, typename Same>
bool same_all(const std::vector<T>& a, const std::vector<T>& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool same_import(const ImportedJob& a, const ImportedJob& b) {
  return a.id == b.id && as_text(a.row) == as_text(b.row);
}

bool same_kv(const KvChange& a, const KvChange& b) {
  return std::tie(a.key, a.value, a.expires_ms, a.erase) ==
         std::tie(b.key, b.value, b.expires_ms, b.erase);
}

bool same_tokens(const Command& a, const Command& b) {
  return a.queue == b.queue && same_all(a.settles, b.settles, same_token);
}

bool same_cron(const Command& a, const Command& b) {
  return a.queue == b.queue && a.name == b.name && a.cron.state == b.cron.state;
}

// Commands about rows beside the jobs.
bool same_row_command(const Command& a, const Command& b) {
  switch (a.type) {
    case CommandType::kv_write:
    case CommandType::key_forget:
    case CommandType::import_rows:
      return same_all(a.kv, b.kv, same_kv);
    case CommandType::transact:
      return same_all(a.parts, b.parts, same_command);
    case CommandType::batch_create:
      return a.batch == b.batch && as_text(a.row) == as_text(b.row);
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_forget:
      return a.batch == b.batch;
    case CommandType::batch_lost:
      return a.batch == b.batch && a.ids == b.ids;
    case CommandType::cron_put:
      return same_cron(a, b) && as_text(a.row) == as_text(b.row);
    case CommandType::cron_remove:
      return a.name == b.name;
    case CommandType::cron_fire:
      return same_cron(a, b) && a.cron.slot_ms == b.cron.slot_ms && a.ids == b.ids &&
             same_all(a.jobs, b.jobs, same_job);
    default:
      return false;
  }
}

}  // namespace

bool same_command(const Command& a, const Command& b) {
  if (a.type != b.type || a.now_ms != b.now_ms) return false;
  switch (a.type) {
    case CommandType::open:
      return a.unclean == b.unclean;
    case CommandType::close:
    case CommandType::import_end:
      return true;
    case CommandType::queue_declare:
      return a.queue == b.queue && a.name == b.name && a.config == b.config;
    case CommandType::queue_configure:
      return a.queue == b.queue && a.config == b.config;
    case CommandType::queue_clear:
      return a.queue == b.queue && a.states == b.states;
    case CommandType::queue_delete:
    case CommandType::rate_rebase:
      return a.queue == b.queue;
    case CommandType::enqueue:
      return a.queue == b.queue && same_all(a.jobs, b.jobs, same_job);
    case CommandType::lease:
      return a.first_generation == b.first_generation && a.ids == b.ids &&
             same_all(a.groups, b.groups, same_group);
    case CommandType::confirm:
    case CommandType::extend:
      return a.deadline_ms == b.deadline_ms && same_tokens(a, b);
    case CommandType::settle:
      return a.queue == b.queue && same_all(a.settles, b.settles, same_settle);
    case CommandType::expire:
      return a.ids == b.ids && a.delays_ms == b.delays_ms;
    case CommandType::promote:
    case CommandType::expire_jobs:
    case CommandType::overlap:
      return a.ids == b.ids;
    case CommandType::cancel:
      return a.queue == b.queue && a.ids == b.ids;
    case CommandType::reprioritise:
      return a.queue == b.queue && a.ids == b.ids && a.priority == b.priority;
    case CommandType::progress:
      return same_tokens(a, b) && a.note == b.note;
    case CommandType::dead_replay:
      return a.first_generation == b.first_generation && same_tokens(a, b);
    case CommandType::dead_remove:
    case CommandType::dead_drop:
    case CommandType::key_release:
      return same_tokens(a, b);
    case CommandType::drop_oldest:
      return a.queue == b.queue && a.ids == b.ids && same_all(a.jobs, b.jobs, same_job);
    case CommandType::import_begin:
      return as_text(a.row) == as_text(b.row);
    case CommandType::import_queue:
      return a.queue == b.queue && as_text(a.row) == as_text(b.row);
    case CommandType::import_jobs:
      return a.queue == b.queue && same_all(a.imports, b.imports, same_import);
    default:
      return same_row_command(a, b);
  }
}

bool same_job_row(const JobRow& a, const JobRow& b) {
  const auto parts = [](const JobRow& r) {
    return std::tie(r.queue, r.state, r.priority, r.reason, r.epoch, r.attempts, r.exceptions,
                    r.failures, r.max_attempts, r.replays, r.position, r.generation, r.since_ms,
                    r.leased_ms, r.deadline_ms, r.first_dead_ms, r.deadline_set_ms, r.last_error,
                    r.progress, r.key_until_ms);
  };
  return parts(a) == parts(b);
}

bool same_queue_row(const QueueRow& a, const QueueRow& b) {
  const auto parts = [](const QueueRow& r) {
    return std::tie(r.id, r.name, r.config, r.totals, r.next_tail_seq, r.next_front_seq,
                    r.next_dead_seq, r.created_ms, r.rate_tat_ns, r.expiring);
  };
  const auto same_lane = [](const LaneRow& x, const LaneRow& y) {
    return std::tie(x.priority, x.head_hint, x.count) == std::tie(y.priority, y.head_hint, y.count);
  };
  return parts(a) == parts(b) &&
         std::equal(std::begin(a.counts), std::end(a.counts), std::begin(b.counts)) &&
         std::equal(std::begin(a.epochs), std::end(a.epochs), std::begin(b.epochs)) &&
         std::equal(std::begin(a.bytes), std::end(a.bytes), std::begin(b.bytes)) &&
         same_all(a.lanes, b.lanes, same_lane);
}

bool same_meta_row(const MetaRow& a, const MetaRow& b) {
  const auto parts = [](const MetaRow& r) {
    return std::tie(r.applied_lsn, r.next_job_id, r.next_generation, r.next_queue_id, r.uuid_low,
                    r.uuid_high);
  };
  const auto same_trash = [](const TrashRow& x, const TrashRow& y) {
    return std::tie(x.queue, x.state, x.epoch_below, x.priority, x.seq_low, x.seq_high, x.lsn,
                    x.lines) == std::tie(y.queue, y.state, y.epoch_below, y.priority, y.seq_low,
                                         y.seq_high, y.lsn, y.lines);
  };
  return parts(a) == parts(b) && same_all(a.trash, b.trash, same_trash);
}

}  // namespace wq
