// What the parts of record.h share: the rules that both sides of the format obey, and helpers of
// the decoders. Encoders WQ_CHECK the same rules that decoders test, so nothing can be written that
// would later be refused. Rules answer nullptr, or in one phrase what is wrong; they never
// allocate. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "base/codec.h"
#include "engine/command.h"
#include "engine/record.h"

namespace wq {

namespace fb {
struct Backoff;
struct QueueConfig;
}  // namespace fb

constexpr char command_identifier[] = "WQCM";
constexpr char queue_row_identifier[] = "WQQR";
constexpr char meta_row_identifier[] = "WQMR";
constexpr char cron_row_identifier[] = "WQCR";

// Every offset and length field of a FlatBuffer is aligned to this within the buffer.
constexpr size_t record_align_bytes = 4;
// Nesting of tables: a record, its config, the config's backoff.
constexpr uint32_t record_depth_max = 4;
// A vector of lanes has at most one per priority.
constexpr size_t lanes_max = 256;

// The optional parts of a command record, as bits; each type uses a fixed set of them.
enum CommandField : uint32_t {
  field_queue = 1u << 0,
  field_jobs = 1u << 1,
  field_tokens = 1u << 2,
  field_ids = 1u << 3,
  field_groups = 1u << 4,
  field_first_generation = 1u << 5,
  field_settles = 1u << 6,
  field_deadline = 1u << 7,
  field_states = 1u << 8,
  field_unclean = 1u << 9,
  field_name = 1u << 10,
  field_config = 1u << 11,
  field_row = 1u << 12,      // the field `rows` as one record
  field_imports = 1u << 13,  // `imports`, and the field `rows` with a record for each
  field_kv = 1u << 14,
  field_parts = 1u << 15,
  field_delays = 1u << 20,
  field_priority = 1u << 21,
  field_note = 1u << 22,
  field_batch = 1u << 23,
  field_cron = 1u << 24,
  field_of_no_command = 1u << 31,
};
// field_of_no_command for a value that is no CommandType.
uint32_t command_fields(CommandType type);

const char* check_command(const Command& command);
// Whether a transaction may have a part of this type. No part has parts of its own.
bool may_be_part(CommandType type);
const char* check_traits(const JobTraits& traits);
const char* check_backoff(BackoffKind kind, int64_t base_ms, int64_t max_ms,
                          std::span<const int64_t> list_ms);
const char* check_config(const QueueConfig& config);
const char* check_job_row(const JobRow& row);
// Of a job that an import brings into `queue`.
const char* check_imported_row(const JobRow& row, QueueId queue);
const char* check_queue_row(const QueueRow& row);
const char* check_meta_row(const MetaRow& row);
const char* check_cron_row(const CronRow& row);

// Verifies the bytes of an envelope completely. After it, trusted_payload() may read them.
// `depth`: how many jobs of a chain it stands behind. `traits` (may be null): but its views end
// with the call.
const char* check_envelope(Bytes bytes, uint32_t depth = 0, JobTraits* traits = nullptr);
// The same for an encoded NextJob, which stands behind `depth` jobs.
const char* check_next(Bytes bytes, uint32_t depth, JobTraits* traits);

const char* read_backoff(const fb::Backoff* table, Backoff& out);
const char* read_config(const fb::QueueConfig* table, QueueConfig& out);

// The elements of a FlatBuffers vector of scalars or (as pointers) of structs; an absent one is
// empty. A template over the vector keeps the FlatBuffers headers out of this one.
template <template <typename> class Vector, typename T>
Bytes vector_bytes(const Vector<T>* vector) {
  if (vector == nullptr) return {};
  constexpr size_t element_bytes = sizeof(std::remove_pointer_t<T>);
  return {reinterpret_cast<const std::byte*>(vector->Data()), vector->size() * element_bytes};
}

inline Status corrupt_record(const char* kind, const char* reason) {
  return Status(Code::corrupt, std::string(kind) + " record: " + reason);
}

// Values of the store lie at any address, but reading a FlatBuffer in place is only defined for
// aligned ones. This holds an aligned image of its input: the input itself if possible, else a
// copy.
class AlignedImage {
 public:
  explicit AlignedImage(Bytes input) : input_(input), image_(input) {
    if (reinterpret_cast<uintptr_t>(input.data()) % record_align_bytes == 0) return;
    std::byte* copy = inline_;
    if (input.size() > sizeof inline_) {
      heap_ = std::make_unique_for_overwrite<std::byte[]>(input.size());
      copy = heap_.get();
    }
    std::memcpy(copy, input.data(), input.size());
    image_ = {copy, input.size()};
  }
  AlignedImage(const AlignedImage&) = delete;
  AlignedImage& operator=(const AlignedImage&) = delete;

  Bytes bytes() const { return image_; }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(image_.data()); }
  size_t size() const { return image_.size(); }

  // The place in the input of a part of the image.
  Bytes in_input(Bytes part) const {
    if (part.empty()) return {};
    return input_.subspan(static_cast<size_t>(part.data() - image_.data()), part.size());
  }

 private:
  Bytes input_;
  Bytes image_;
  std::unique_ptr<std::byte[]> heap_;
  alignas(8) std::byte inline_[1024];
};

}  // namespace wq
