// The rules of a record, one by one: the encoder treats a breach as a broken invariant, the decoder
// answers CORRUPT and says which. Records that no encoder makes are built by hand here.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/record.h"
#include "engine/schema/command_generated.h"
#include "engine/schema/envelope_generated.h"
#include "engine/schema/rows_generated.h"

namespace wq {
namespace {

using flatbuffers::FlatBufferBuilder;

struct CommandRule {
  const char* what;
  CommandType type;
  std::function<void(Command&)> breach;
};

Bytes small_envelope() {
  static Encoder encoder;
  static const std::string bytes(as_text(encoder.envelope({}, as_bytes("x"), Backoff(), 1)));
  return as_bytes(bytes);
}

Command valid_command(CommandType type) {
  Command command;
  command.reset(type, 1);
  command.queue = 1;
  command.states = state_bit(JobState::ready);
  command.first_generation = 1;
  command.name = "q";
  command.jobs.push_back({.id = 1, .envelope = small_envelope()});
  command.ids = {1};
  command.groups.push_back({.queue = 1, .count = 1, .deadline_ms = 1});
  command.settles.push_back({.id = 1, .generation = 1});
  if (type == CommandType::key_forget) {
    command.kv.push_back({.key = "u1234k", .erase = true});
  } else {
    command.kv.push_back({.key = "k", .value = "v"});
  }
  if (type == CommandType::transact) {
    for (const CommandType part :
         {CommandType::enqueue, CommandType::settle, CommandType::kv_write}) {
      command.parts.push_back(valid_command(part));
    }
  }
  return command;
}

Backoff bad_list() {
  return {.kind = BackoffKind::list, .list_ms = {}};
}

const CommandRule command_rules[] = {
    {"forget no row", CommandType::key_forget, [](Command& c) { c.kv.clear(); }},
    {"forget a row that stays", CommandType::key_forget,
     [](Command& c) { c.kv[0] = {.key = "u1234k", .value = "x"}; }},
    {"release by no job", CommandType::key_release, [](Command& c) { c.settles.clear(); }},
    {"type 0", CommandType::open, [](Command& c) { c.type = static_cast<CommandType>(0); }},
    {"kv key", CommandType::kv_write, [](Command& c) { c.kv[0].key = ""; }},
    {"kv expiry", CommandType::kv_write, [](Command& c) { c.kv[0].expires_ms = -1; }},
    {"kv erase", CommandType::kv_write, [](Command& c) { c.kv[0].erase = true; }},
    {"no kv", CommandType::kv_write, [](Command& c) { c.kv.clear(); }},
    {"no parts", CommandType::transact, [](Command& c) { c.parts.clear(); }},
    {"part of a part", CommandType::transact,
     [](Command& c) { c.parts[0] = valid_command(CommandType::transact); }},
    {"part of another kind", CommandType::transact,
     [](Command& c) { c.parts[1] = valid_command(CommandType::lease); }},
    {"part of another time", CommandType::transact, [](Command& c) { c.parts[2].now_ms = 2; }},
    {"bad part", CommandType::transact, [](Command& c) { c.parts[0].jobs[0].id = 0; }},
    {"type 17", CommandType::open, [](Command& c) { c.type = static_cast<CommandType>(17); }},
    {"now", CommandType::open, [](Command& c) { c.now_ms = -1; }},
    {"queue", CommandType::settle, [](Command& c) { c.queue = 0; }},
    {"name empty", CommandType::queue_declare, [](Command& c) { c.name = ""; }},
    {"name control", CommandType::queue_declare, [](Command& c) { c.name = "a\tb"; }},
    {"no states", CommandType::queue_clear, [](Command& c) { c.states = 0; }},
    {"state gone", CommandType::queue_clear, [](Command& c) { c.states = 1; }},
    {"state 6", CommandType::queue_clear, [](Command& c) { c.states = 1u << 6; }},
    {"lease 0", CommandType::queue_configure, [](Command& c) { c.config.lease_ms = 0; }},
    {"lease long", CommandType::queue_configure,
     [](Command& c) { c.config.lease_ms = delay_ms_max + 1; }},
    {"retries", CommandType::queue_configure,
     [](Command& c) { c.config.max_retries = max_retries_max + 1; }},
    {"status", CommandType::queue_configure,
     [](Command& c) { c.config.status = static_cast<QueueStatus>(3); }},
    {"durability", CommandType::queue_configure,
     [](Command& c) { c.config.durability = static_cast<Durability>(0); }},
    {"rate burst", CommandType::queue_configure,
     [](Command& c) {
       c.config.rate = {1, 2, 1};
     }},
    {"key rate window", CommandType::queue_configure,
     [](Command& c) {
       c.config.key_rate = {1, 1, 0};
     }},
    {"group limit", CommandType::queue_configure, [](Command& c) { c.config.group_limit = 0; }},
    {"throttle count", CommandType::queue_configure,
     [](Command& c) {
       c.config.throttle = {throttle_count_max + 1, 1, 1};
     }},
    {"throttle time", CommandType::queue_configure,
     [](Command& c) {
       c.config.throttle = {1, 1, 0};
     }},
    {"throttle rest", CommandType::queue_configure,
     [](Command& c) {
       c.config.throttle = {0, 1, 1};
     }},
    {"version", CommandType::queue_configure, [](Command& c) { c.config.version = 0; }},
    {"full policy", CommandType::queue_configure,
     [](Command& c) { c.config.full_policy = static_cast<FullPolicy>(2); }},
    {"least size to compress", CommandType::queue_configure,
     [](Command& c) { c.config.compress_min_bytes = payload_bytes_absolute_max + 1; }},
    {"dead age", CommandType::queue_configure, [](Command& c) { c.config.dead_max_age_ms = -1; }},
    {"pause kept", CommandType::queue_configure, [](Command& c) { c.config.pause_kept = true; }},
    {"backoff kind", CommandType::queue_configure,
     [](Command& c) { c.config.backoff.kind = static_cast<BackoffKind>(4); }},
    {"backoff list", CommandType::queue_configure,
     [](Command& c) { c.config.backoff = bad_list(); }},
    {"backoff list long", CommandType::queue_configure,
     [](Command& c) {
       c.config.backoff = bad_list();
       c.config.backoff.list_ms.assign(backoff_list_max + 1, 1);
     }},
    {"backoff delay", CommandType::queue_configure,
     [](Command& c) { c.config.backoff = {.kind = BackoffKind::list, .list_ms = {-1}}; }},
    {"backoff base", CommandType::queue_configure,
     [](Command& c) { c.config.backoff = {.kind = BackoffKind::fixed, .base_ms = -1}; }},
    {"backoff cap", CommandType::queue_configure,
     [](Command& c) {
       c.config.backoff = {.kind = BackoffKind::exponential, .base_ms = 2, .max_ms = 1};
     }},
    {"no jobs", CommandType::enqueue, [](Command& c) { c.jobs.clear(); }},
    {"job id", CommandType::enqueue, [](Command& c) { c.jobs[0].id = 0; }},
    {"job due", CommandType::enqueue, [](Command& c) { c.jobs[0].due_ms = -1; }},
    {"no ids", CommandType::expire, [](Command& c) { c.ids.clear(); }},
    {"id 0", CommandType::promote,
     [](Command& c) {
       c.ids = {1, 0};
     }},
    {"sum of groups", CommandType::lease,
     [](Command& c) {
       c.ids = {1, 2};
     }},
    {"group queue", CommandType::lease, [](Command& c) { c.groups[0].queue = 0; }},
    {"group deadline", CommandType::lease, [](Command& c) { c.groups[0].deadline_ms = -1; }},
    {"group empty", CommandType::lease, [](Command& c) { c.groups.push_back({.queue = 1}); }},
    {"generation 0", CommandType::lease, [](Command& c) { c.first_generation = 0; }},
    {"generations wrap", CommandType::lease,
     [](Command& c) {
       c.first_generation = ~Generation{0};
       c.ids = {1, 2};
       c.groups[0].count = 2;
     }},
    {"deadline", CommandType::extend, [](Command& c) { c.deadline_ms = -1; }},
    {"no tokens", CommandType::extend, [](Command& c) { c.settles.clear(); }},
    {"two confirms", CommandType::confirm, [](Command& c) { c.settles.push_back(c.settles[0]); }},
    {"token id", CommandType::dead_remove, [](Command& c) { c.settles[0].id = 0; }},
    {"settle generation", CommandType::settle, [](Command& c) { c.settles[0].generation = 0; }},
    {"settle kind", CommandType::settle,
     [](Command& c) { c.settles[0].kind = static_cast<SettleKind>(5); }},
    {"settle flags", CommandType::settle,
     [](Command& c) { c.settles[0] = {1, 1, SettleKind::nack, 8, 0, 0, ""}; }},
    {"nack delay", CommandType::settle,
     [](Command& c) { c.settles[0] = {1, 1, SettleKind::nack, 0, 0, -2, ""}; }},
    {"nack delay long", CommandType::settle,
     [](Command& c) { c.settles[0] = {1, 1, SettleKind::nack, 0, 0, delay_ms_max + 1, ""}; }},
    {"release by policy", CommandType::settle,
     [](Command& c) { c.settles[0] = {1, 1, SettleKind::release, 0, 0, -1, ""}; }},
    {"release error", CommandType::settle,
     [](Command& c) { c.settles[0] = {1, 1, SettleKind::release, 0, 0, 0, "e"}; }},
    {"error long", CommandType::settle,
     [](Command& c) {
       static const std::string text(error_bytes_max + 1, 'e');
       c.settles[0] = {1, 1, SettleKind::fail, 0, 0, 0, text};
     }},
    {"release reason", CommandType::settle,
     [](Command& c) {
       c.settles[0] = {1, 1, SettleKind::release, 0, 0, 0, "", DeadReason::timeout};
     }},
    {"reason of the engine", CommandType::settle,
     [](Command& c) {
       c.settles[0] = {1, 1, SettleKind::fail, 0, 0, 0, "", DeadReason::lease_expired};
     }},
    {"reason unknown", CommandType::settle,
     [](Command& c) {
       c.settles[0] = {1, 1, SettleKind::nack, 0, 0, 0, "", static_cast<DeadReason>(10)};
     }},
    {"number of delays", CommandType::expire,
     [](Command& c) {
       c.delays_ms = {1, 2};
     }},
    {"delay", CommandType::expire, [](Command& c) { c.delays_ms = {-2}; }},
    {"delay long", CommandType::expire, [](Command& c) { c.delays_ms = {delay_ms_max + 1}; }},
    {"two priorities", CommandType::reprioritise,
     [](Command& c) {
       c.ids = {1, 2};
     }},
    {"two notes", CommandType::progress, [](Command& c) { c.settles.push_back(c.settles[0]); }},
    {"note long", CommandType::progress,
     [](Command& c) {
       static const std::string text(progress_bytes_max + 1, 'n');
       c.note = text;
     }},
    {"job ttl", CommandType::queue_configure, [](Command& c) { c.config.job_ttl_ms = -1; }},
    {"jitter", CommandType::queue_configure,
     [](Command& c) { c.config.backoff = {.kind = BackoffKind::fixed, .jitter_permille = 1'001}; }},
};

TEST(RecordRules, EncoderRefusesToBreakThem) {
  Encoder encoder;
  for (const CommandRule& rule : command_rules) {
    Command command = valid_command(rule.type);
    EXPECT_FALSE(encoder.command(command).empty()) << rule.what;
    rule.breach(command);
    EXPECT_THROW(encoder.command(command), CheckFailed) << rule.what;
  }
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::KvChange>>> put_kv(
    FlatBufferBuilder& b, const Command& c) {
  std::vector<flatbuffers::Offset<fb::KvChange>> changes;
  for (const KvChange& change : c.kv) {
    const auto key =
        b.CreateVector(reinterpret_cast<const uint8_t*>(change.key.data()), change.key.size());
    const auto value =
        b.CreateVector(reinterpret_cast<const uint8_t*>(change.value.data()), change.value.size());
    changes.push_back(fb::CreateKvChange(b, key, value, change.expires_ms, change.erase));
  }
  return b.CreateVector(changes);
}

std::string encode_blindly(const Command& c);

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Part>>> put_parts(
    FlatBufferBuilder& b, const Command& c) {
  std::vector<flatbuffers::Offset<fb::Part>> parts;
  for (const Command& part : c.parts) {
    const std::string bytes = encode_blindly(part);
    parts.push_back(fb::CreatePart(
        b, b.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())));
  }
  return b.CreateVector(parts);
}

flatbuffers::Offset<fb::QueueConfig> put_config(FlatBufferBuilder& b, const QueueConfig& config) {
  const Backoff& policy = config.backoff;
  const auto list = b.CreateVector(policy.list_ms);
  const auto backoff =
      fb::CreateBackoff(b, static_cast<uint8_t>(policy.kind), policy.base_ms, policy.max_ms, list,
                        static_cast<uint16_t>(policy.jitter_permille));
  return fb::CreateQueueConfig(
      b, config.max_running, config.max_retries, config.lease_ms,
      static_cast<uint8_t>(config.durability), static_cast<uint8_t>(config.status),
      policy.kind == BackoffKind::none ? 0 : backoff, config.version, config.job_ttl_ms,
      config.max_depth, config.max_bytes, static_cast<uint8_t>(config.full_policy),
      config.dead_max_count, config.dead_max_age_ms, config.pause_kept, config.keep_done_count,
      config.keep_done_age_ms, config.rate.count, config.rate.burst, config.rate.window_ms,
      config.group_limit, config.encrypt, config.compress_min_bytes, config.key_rate.count,
      config.key_rate.burst, config.key_rate.window_ms, config.throttle.count,
      config.throttle.window_ms, config.throttle.cool_ms);
}

// Encodes without any rule, field by field as the command has them.
std::string encode_blindly(const Command& c) {
  FlatBufferBuilder b;
  const auto bytes = [&](std::string_view text) {
    return b.CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const auto config = put_config(b, c.config);
  const auto name = bytes(c.name);
  std::string envelope_bytes;
  std::vector<fb::NewJob> jobs;
  for (const NewJob& job : c.jobs) {
    envelope_bytes += as_text(job.envelope);
    jobs.emplace_back(job.id, job.due_ms, static_cast<uint32_t>(job.envelope.size()),
                      job.max_attempts, job.priority);
  }
  const auto envelopes = bytes(envelope_bytes);
  const auto job_vector = b.CreateVectorOfStructs(jobs);
  std::vector<fb::LeaseGroup> groups;
  for (const LeaseGroup& g : c.groups) groups.emplace_back(g.deadline_ms, g.queue, g.count);
  const auto group_vector = b.CreateVectorOfStructs(groups);
  const auto ids = b.CreateVector(c.ids);
  std::vector<fb::Token> tokens;
  std::vector<flatbuffers::Offset<fb::SettleItem>> items;
  for (const SettleItem& s : c.settles) {
    const auto error = bytes(s.error);
    items.push_back(fb::CreateSettleItem(b, s.id, s.generation, static_cast<uint8_t>(s.kind),
                                         s.flags, s.priority, s.delay_ms, error,
                                         static_cast<uint8_t>(s.reason)));
    tokens.emplace_back(s.id, s.generation);
  }
  const auto settles = b.CreateVector(items);
  const auto token_vector = b.CreateVectorOfStructs(tokens);
  const auto kv = put_kv(b, c);
  const auto parts = put_parts(b, c);
  const CommandType t = c.type;
  const bool rows = t == CommandType::kv_write || t == CommandType::transact;
  const bool lease = t == CommandType::lease;
  const bool by_id = lease || t == CommandType::expire || t == CommandType::promote;
  const bool reprioritise = t == CommandType::reprioritise;
  const auto delays = b.CreateVector(c.delays_ms);
  const auto note = bytes(c.note);
  const bool by_token = t == CommandType::confirm || t == CommandType::extend ||
                        t == CommandType::dead_replay || t == CommandType::dead_remove ||
                        t == CommandType::progress || t == CommandType::key_release;
  const bool forget = t == CommandType::key_forget;
  fb::CommandBuilder table(b);
  table.add_type(static_cast<uint16_t>(t));
  table.add_now_ms(c.now_ms);
  const bool of_store = t == CommandType::open || t == CommandType::close || forget;
  if (!by_id && !rows && !of_store) table.add_queue(c.queue);
  if (t == CommandType::kv_write || forget) table.add_kv(kv);
  if (t == CommandType::transact) table.add_parts(parts);
  if (t == CommandType::enqueue) table.add_jobs(job_vector);
  if (t == CommandType::enqueue) table.add_envelopes(envelopes);
  if (by_token) table.add_tokens(token_vector);
  if (by_id || reprioritise) table.add_ids(ids);
  if (reprioritise) table.add_priority(c.priority);
  if (t == CommandType::expire && !c.delays_ms.empty()) table.add_delays_ms(delays);
  if (t == CommandType::progress) table.add_note(note);
  if (lease) table.add_groups(group_vector);
  if (lease) table.add_first_generation(c.first_generation);
  if (t == CommandType::settle) table.add_settles(settles);
  if (t == CommandType::confirm || t == CommandType::extend) table.add_deadline_ms(c.deadline_ms);
  if (t == CommandType::queue_clear) table.add_states(c.states);
  if (t == CommandType::queue_declare) table.add_name(name);
  if (t == CommandType::queue_declare || t == CommandType::queue_configure) {
    table.add_config(config);
  }
  b.Finish(table.Finish(), "WQCM");
  return std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
}

TEST(RecordRules, DecoderRefusesWhatBreaksThem) {
  for (const CommandRule& rule : command_rules) {
    Command command = valid_command(rule.type);
    Command decoded;
    const Status before = decode_command(as_bytes(encode_blindly(command)), decoded);
    EXPECT_TRUE(before.ok()) << rule.what << ": " << before.message();
    rule.breach(command);
    const Status after = decode_command(as_bytes(encode_blindly(command)), decoded);
    EXPECT_EQ(after.code(), Code::corrupt) << rule.what;
  }
}

Status decode_built(const std::function<void(fb::CommandBuilder&)>& fill,
                    const std::function<void(FlatBufferBuilder&)>& before = {}) {
  FlatBufferBuilder b;
  if (before) before(b);
  fb::CommandBuilder table(b);
  fill(table);
  b.Finish(table.Finish(), "WQCM");
  Command command;
  return decode_command({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()},
                        command);
}

TEST(RecordRules, AFieldOfAnotherTypeIsRefused) {
  EXPECT_TRUE(decode_built([](fb::CommandBuilder& t) { t.add_type(2); }).ok());
  const Status queue = decode_built([](fb::CommandBuilder& t) {
    t.add_type(2);
    t.add_queue(1);
  });
  EXPECT_EQ(queue.message(), "command record: a field that its type does not have");
  const Status deadline = decode_built([](fb::CommandBuilder& t) {
    t.add_type(6);
    t.add_queue(1);
    t.add_deadline_ms(1);
  });
  EXPECT_EQ(deadline.code(), Code::corrupt);
}

TEST(RecordRules, TokensAndSettlesExcludeEachOther) {
  flatbuffers::Offset<flatbuffers::Vector<const fb::Token*>> tokens;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SettleItem>>> settles;
  const auto before = [&](FlatBufferBuilder& b) {
    const std::vector<fb::Token> one = {fb::Token(1, 1)};
    tokens = b.CreateVectorOfStructs(one);
    settles = b.CreateVector(
        std::vector<flatbuffers::Offset<fb::SettleItem>>{fb::CreateSettleItem(b, 1, 1)});
  };
  const auto fill = [&](bool both) {
    return [&, both](fb::CommandBuilder& t) {
      t.add_type(11);
      t.add_queue(1);
      t.add_tokens(tokens);
      if (both) t.add_settles(settles);
    };
  };
  EXPECT_TRUE(decode_built(fill(false), before).ok());
  EXPECT_EQ(decode_built(fill(true), before).code(), Code::corrupt);
}

TEST(RecordRules, EnvelopesMustAddUp) {
  const auto decode_with = [](uint32_t envelope_bytes) {
    FlatBufferBuilder b;
    const Bytes envelope = small_envelope();
    const auto envelopes =
        b.CreateVector(reinterpret_cast<const uint8_t*>(envelope.data()), envelope.size());
    const std::vector<fb::NewJob> jobs = {fb::NewJob(1, 0, envelope_bytes, 0, 0)};
    const auto job_vector = b.CreateVectorOfStructs(jobs);
    b.Finish(fb::CreateCommand(b, 7, 1, 1, job_vector, envelopes), "WQCM");
    Command command;
    return decode_command({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()},
                          command);
  };
  const auto whole = static_cast<uint32_t>(small_envelope().size());
  EXPECT_TRUE(decode_with(whole).ok());
  EXPECT_EQ(decode_with(whole + 4).message(), "command record: envelopes are cut short");
  EXPECT_FALSE(decode_with(whole - 4).ok());
  EXPECT_FALSE(decode_with(0).ok());
  EXPECT_FALSE(decode_with(0xffff'fffc).ok());
}

TEST(RecordRules, Envelopes) {
  Encoder encoder;
  const Header no_name{{}, as_bytes("v")};
  EXPECT_THROW(encoder.envelope({&no_name, 1}, {}, Backoff(), 1), CheckFailed);
  const std::string long_name(header_name_bytes_max + 1, 'n');
  const Header named{as_bytes(long_name), {}};
  EXPECT_THROW(encoder.envelope({&named, 1}, {}, Backoff(), 1), CheckFailed);
  const std::string value(headers_bytes_max, 'v');
  const Header fat{as_bytes("n"), as_bytes(value)};
  EXPECT_THROW(encoder.envelope({&fat, 1}, {}, Backoff(), 1), CheckFailed);
  const std::vector<Header> many(headers_count_max + 1, {as_bytes("n"), {}});
  EXPECT_THROW(encoder.envelope(many, {}, Backoff(), 1), CheckFailed);
  EXPECT_THROW(encoder.envelope({}, {}, Backoff(), -1), CheckFailed);
  EXPECT_THROW(encoder.envelope({}, {}, bad_list(), 1), CheckFailed);

  const auto decode_built_envelope = [](size_t headers, std::string_view name, uint8_t kind) {
    FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<fb::Header>> list;
    for (size_t i = 0; i < headers; ++i) {
      const auto text = b.CreateVector(reinterpret_cast<const uint8_t*>(name.data()), name.size());
      list.push_back(fb::CreateHeader(b, text));
    }
    const auto header_vector = b.CreateVector(list);
    const auto backoff = fb::CreateBackoff(b, kind, 5);
    b.Finish(fb::CreateEnvelope(b, 0, 1, header_vector, backoff));
    return decode_envelope({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()})
        .status()
        .code();
  };
  EXPECT_EQ(decode_built_envelope(2, "n", 1), Code::ok);
  EXPECT_EQ(decode_built_envelope(headers_count_max + 1, "n", 1), Code::corrupt);
  EXPECT_EQ(decode_built_envelope(1, "", 1), Code::corrupt);
  EXPECT_EQ(decode_built_envelope(1, long_name, 1), Code::corrupt);
  EXPECT_EQ(decode_built_envelope(headers_count_max, std::string(65, 'n'), 1), Code::corrupt);
  EXPECT_EQ(decode_built_envelope(1, "n", 0), Code::corrupt);
  EXPECT_EQ(decode_built_envelope(1, "n", 9), Code::corrupt);
}

// Otherwise what was read and what is written of it would differ.
TEST(RecordRules, ABackoffHasOnlyThePartsOfItsKind) {
  const auto decode_backoff = [](BackoffKind kind, int64_t base_ms, int64_t max_ms,
                                 std::vector<int64_t> list) {
    FlatBufferBuilder b;
    const auto list_ms = list.empty() ? 0 : b.CreateVector(list);
    const auto backoff = fb::CreateBackoff(b, static_cast<uint8_t>(kind), base_ms, max_ms, list_ms);
    b.Finish(fb::CreateEnvelope(b, 0, 1, 0, backoff));
    return decode_envelope({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()})
        .status()
        .code();
  };
  EXPECT_EQ(decode_backoff(BackoffKind::fixed, 5, 0, {}), Code::ok);
  EXPECT_EQ(decode_backoff(BackoffKind::fixed, 5, 6, {}), Code::corrupt);
  EXPECT_EQ(decode_backoff(BackoffKind::fixed, 5, 0, {1}), Code::corrupt);
  EXPECT_EQ(decode_backoff(BackoffKind::exponential, 5, 6, {}), Code::ok);
  EXPECT_EQ(decode_backoff(BackoffKind::exponential, 5, 6, {1}), Code::corrupt);
  EXPECT_EQ(decode_backoff(BackoffKind::list, 0, 0, {1, 2}), Code::ok);
  EXPECT_EQ(decode_backoff(BackoffKind::list, 5, 0, {1, 2}), Code::corrupt);
  EXPECT_EQ(decode_backoff(BackoffKind::list, 0, 5, {1, 2}), Code::corrupt);
}

TEST(RecordRules, JobRows) {
  Encoder encoder;
  const JobRow valid{.queue = 1, .state = JobState::leased, .generation = 1};
  EXPECT_TRUE(decode_job_row(encoder.job_row(valid, {})).ok());
  const auto refused = [&](const std::function<void(JobRow&)>& breach) {
    JobRow row = valid;
    breach(row);
    EXPECT_THROW(encoder.job_row(row, {}), CheckFailed);
    FlatBufferBuilder b;
    const auto error = b.CreateVector(reinterpret_cast<const uint8_t*>(row.last_error.data()),
                                      row.last_error.size());
    fb::JobRowBuilder table(b);
    table.add_queue(row.queue);
    table.add_state(static_cast<uint8_t>(row.state));
    table.add_reason(static_cast<uint8_t>(row.reason));
    table.add_position(row.position);
    table.add_generation(row.generation);
    table.add_since_ms(row.since_ms);
    table.add_deadline_ms(row.deadline_ms);
    table.add_first_dead_ms(row.first_dead_ms);
    table.add_deadline_set_ms(row.deadline_set_ms);
    table.add_last_error(error);
    b.Finish(table.Finish());
    const auto decoded =
        decode_job_row({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()});
    return decoded.status().code() == Code::corrupt;
  };
  const std::string long_error(error_bytes_max + 1, 'e');
  EXPECT_TRUE(refused([](JobRow& r) { r.queue = 0; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.state = JobState::gone; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.state = static_cast<JobState>(6); }));
  EXPECT_TRUE(refused([](JobRow& r) { r.reason = static_cast<DeadReason>(10); }));
  EXPECT_TRUE(refused([](JobRow& r) { r.generation = 0; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.since_ms = -1; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.deadline_ms = -1; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.first_dead_ms = -1; }));
  EXPECT_TRUE(refused([](JobRow& r) { r.deadline_set_ms = -1; }));
  EXPECT_TRUE(refused([&](JobRow& r) { r.last_error = long_error; }));
  EXPECT_TRUE(refused([](JobRow& r) {
    r.state = JobState::delayed;
    r.position = uint64_t{1} << 63;
  }));
}

TEST(RecordRules, QueueAndMetaRows) {
  Encoder encoder;
  const QueueRow queue{.id = 1, .name = "q"};
  EXPECT_TRUE(decode_queue_row(encoder.queue_row(queue)).ok());
  const auto queue_refused = [&](const std::function<void(QueueRow&)>& breach) {
    QueueRow row = queue;
    breach(row);
    EXPECT_THROW(encoder.queue_row(row), CheckFailed);
  };
  queue_refused([](QueueRow& r) { r.id = 0; });
  queue_refused([](QueueRow& r) { r.name = "\xff"; });
  queue_refused([](QueueRow& r) { r.created_ms = -1; });
  queue_refused([](QueueRow& r) { r.config.lease_ms = 0; });
  queue_refused([](QueueRow& r) { r.lanes = {{1, 0, 0}, {1, 0, 0}}; });
  queue_refused([](QueueRow& r) { r.lanes.resize(257); });

  const MetaRow meta;
  EXPECT_TRUE(decode_meta_row(encoder.meta_row(meta)).ok());
  const auto meta_refused = [&](const std::function<void(MetaRow&)>& breach) {
    MetaRow row = meta;
    breach(row);
    EXPECT_THROW(encoder.meta_row(row), CheckFailed);
  };
  meta_refused([](MetaRow& r) { r.next_job_id = 0; });
  meta_refused([](MetaRow& r) { r.next_generation = 0; });
  meta_refused([](MetaRow& r) { r.next_queue_id = 0; });
  meta_refused([](MetaRow& r) { r.trash.push_back({.queue = 0, .state = JobState::ready}); });
  meta_refused([](MetaRow& r) { r.trash.push_back({.queue = 1, .state = JobState::leased}); });
  meta_refused([](MetaRow& r) {
    r.trash.push_back({.queue = 1, .state = JobState::dead, .seq_low = 2, .seq_high = 1});
  });

  FlatBufferBuilder b;
  const std::vector<fb::Lane> lanes = {fb::Lane(0, 0, 9), fb::Lane(0, 0, 9)};
  const std::vector<uint64_t> counts(job_state_count, 0);
  const std::vector<uint32_t> epochs(job_state_count - 1, 0);
  const std::vector<uint8_t> name = {'q'};
  const auto config = fb::CreateQueueConfig(b, 0, 3, 1, 3, 0, 0, 1);
  const auto row = fb::CreateQueueRow(b, 1, b.CreateVector(name), config, 0, b.CreateVector(counts),
                                      b.CreateVector(epochs));
  b.Finish(row, "WQQR");
  const auto decoded =
      decode_queue_row({reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize()});
  EXPECT_EQ(decoded.status().message(), "queue record: number of epochs");
}

}  // namespace
}  // namespace wq
