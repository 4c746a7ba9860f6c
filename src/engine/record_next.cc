// A job that does not exist yet, as bytes: what follows in a chain and what the end of a batch sets
// off. Its envelope stands in it as it will stand in the job, but for the time of enqueue.
#include "base/check.h"
#include "engine/next_job.h"
#include "engine/record_internal.h"
#include "engine/schema/envelope_generated.h"

namespace wq {

const char* check_next(Bytes bytes, uint32_t depth, JobTraits* traits) {
  const AlignedImage image(bytes);
  flatbuffers::Verifier verifier(image.data(), image.size(), record_depth_max, 1);
  if (!verifier.VerifyBuffer<fb::NextJob>()) return "next job is not well formed";
  const auto* table = flatbuffers::GetRoot<fb::NextJob>(image.data());
  const std::string_view queue = as_text(vector_bytes(table->queue()));
  if (!queue.empty() && !queue_name_valid(queue)) return "queue of the next job";
  if (table->delay_ms() < 0 || table->delay_ms() > delay_ms_max) return "delay of the next job";
  if (table->run_at_ms() < 0) return "time of the next job is negative";
  const Bytes envelope = vector_bytes(table->envelope());
  if (envelope.empty() || envelope.size() % record_align_bytes != 0) {
    return "envelope of the next job";
  }
  if (const char* reason = check_envelope(envelope, depth, traits)) return reason;
  return traits->has_keys() ? "next job has a key" : nullptr;
}

std::string encode_next(const NextJob& next) {
  WQ_CHECK(next.queue.empty() || queue_name_valid(next.queue));
  WQ_CHECK(next.delay_ms >= 0 && next.delay_ms <= delay_ms_max && next.run_at_ms >= 0);
  flatbuffers::FlatBufferBuilder b;
  const auto bytes_of = [&](Bytes bytes) {
    return b.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  const auto envelope = bytes_of(next.envelope);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> queue;
  if (!next.queue.empty()) queue = bytes_of(as_bytes(next.queue));
  b.Finish(fb::CreateNextJob(b, envelope, next.delay_ms, next.run_at_ms, queue, next.max_attempts,
                             next.priority));
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

NextJob trusted_next(Bytes bytes) {
  const auto* table = flatbuffers::GetRoot<fb::NextJob>(bytes.data());
  NextJob next;
  next.queue = as_text(vector_bytes(table->queue()));
  next.delay_ms = table->delay_ms();
  next.run_at_ms = table->run_at_ms();
  next.max_attempts = table->max_attempts();
  next.priority = table->priority();
  next.envelope = vector_bytes(table->envelope());
  return next;
}

uint32_t chain_length(Bytes chain, uint64_t batch) {
  JobTraits first;
  if (chain.size() > 2 * chain_bytes_max || check_next(chain, 1, &first)) return 0;
  return first.batch == batch && first.chain_jobs < chain_jobs_max ? first.chain_jobs + 1 : 0;
}

std::vector<std::byte> started_envelope(Bytes envelope, int64_t now_ms) {
  std::vector<std::byte> started(envelope.begin(), envelope.end());
  auto* table = flatbuffers::GetMutableRoot<flatbuffers::Table>(started.data());
  // In place: the field is there, since a time of 0 is never written for such a job.
  table->SetField<int64_t>(fb::Envelope::VT_ENQUEUED_MS, now_ms, 0);
  return started;
}

}  // namespace wq
