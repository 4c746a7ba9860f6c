// The records that a job meets on its way without accidents, written by a FlatWriter: commands of
// vectors of structs and a few numbers, and the envelope of a payload that stands alone. Everything
// else is made by record_encode.cc, which also knows the rules that all records obey.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/command.h"
#include "engine/flat_writer.h"
#include "engine/record_internal.h"

namespace wq {

namespace fb {
struct LeaseGroup;
struct NewJob;
struct Token;
}  // namespace fb

// Fields that no such command has.
constexpr uint32_t fields_of_few =
    field_parts | field_delays | field_note | field_kv | field_imports | field_row | field_config |
    field_name | field_batch | field_states | field_unclean | field_priority | field_cron;

// Whether `tokens` say all of them.
bool all_acks(const std::vector<SettleItem>& settles);

// These fill in what stands in a record, wherever that is being made.
void fill(fb::Token* out, const std::vector<SettleItem>& settles);
void fill(fb::LeaseGroup* out, const std::vector<LeaseGroup>& groups);
void fill(fb::NewJob* out, const std::vector<NewJob>& jobs);
size_t envelopes_size(const std::vector<NewJob>& jobs);
void fill_envelopes(uint8_t* out, const std::vector<NewJob>& jobs);

class FlatRecords {
 public:
  FlatRecords();

  // Whether command() can make it. `fields`: command_fields() of its type.
  static bool fits(const Command& command, uint32_t fields);
  // Good until the next one.
  Bytes command(const Command& command, uint32_t fields);
  // Good until the next one.
  Bytes envelope(Bytes payload, int64_t enqueued_ms);

 private:
  FlatWriter writer_;
  std::array<std::unique_ptr<FlatHead>, 64> heads_;  // by type of command, made at its first use
  FlatWriter envelope_writer_;
  const FlatHead envelope_head_;
};

}  // namespace wq
