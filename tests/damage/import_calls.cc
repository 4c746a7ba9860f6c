#include "damage/import_calls.h"

#include <gtest/gtest.h>

#include <span>

namespace wq {
namespace {

ImportCall call_of(const JobImage& job) {
  Encoder encoder;
  const Envelope& in = job.envelope;
  const Bytes bytes =
      encoder.envelope(in.headers, in.payload, in.backoff, in.enqueued_ms, in.traits, in.packing);
  JobRow row = job.row;
  if (row.state != JobState::dead) row.reason = DeadReason::none;
  return [=, envelope = std::vector<std::byte>(bytes.begin(), bytes.end()),
          queue = std::string(job.queue_name), error = std::string(row.last_error),
          progress = std::string(row.progress), id = job.id,
          encrypt = job.encrypt](Engine& to, ImportedQueues& queues) -> Status {
    JobImage image;
    image.id = id;
    image.row = row;
    image.row.last_error = error;
    image.row.progress = progress;
    image.encrypt = encrypt;
    WQ_TRY_SET(image.envelope, decode_envelope(envelope));
    CallOptions call;
    return to.import_jobs(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const BatchImage& batch) {
  return [id = batch.id, bytes = encode_batch_row(batch.row)](Engine& to, ImportedQueues&) {
    const BatchImage image{id, *decode_batch_row(bytes)};
    CallOptions call;
    return to.import_batches({&image, 1}, call);
  };
}

ImportCall call_of(const DoneImage& done) {
  return [queue = std::string(done.queue_name), bytes = encode_done_row(done.row)](
             Engine& to, ImportedQueues& queues) {
    const DoneImage image{queue, *decode_done_row(bytes)};
    CallOptions call;
    return to.import_history(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const KeyImage& in) {
  return [in, queue = std::string(in.queue_name), key = std::string(in.key)](
             Engine& to, ImportedQueues& queues) {
    KeyImage image = in;
    image.key = key;
    CallOptions call;
    return to.import_keys(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const RateKeyImage& in) {
  return [in, queue = std::string(in.queue_name), key = std::string(in.key)](
             Engine& to, ImportedQueues& queues) {
    RateKeyImage image = in;
    image.key = key;
    CallOptions call;
    return to.import_rate_keys(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const KvImage& in) {
  return
      [in, key = std::string(in.key), value = std::string(in.value)](Engine& to, ImportedQueues&) {
        KvImage image = in;
        image.key = key;
        image.value = value;
        CallOptions call;
        return to.import_kv({&image, 1}, call);
      };
}

ImportCall call_of(const CronImage& in, const std::string& queue) {
  Encoder encoder;
  const Envelope& job = in.job;
  const Bytes bytes = encoder.envelope(job.headers, job.payload, job.backoff, 0, {}, job.packing);
  return [in, queue, name = std::string(in.name), expression = std::string(in.row.expression),
          zone = std::string(in.row.zone),
          envelope = std::vector<std::byte>(bytes.begin(), bytes.end())](
             Engine& to, ImportedQueues& queues) -> Status {
    CronImage image = in;
    image.name = name;
    image.row.expression = expression;
    image.row.zone = zone;
    WQ_TRY_SET(image.job, decode_envelope(envelope));
    CallOptions call;
    return to.import_schedule(queues.at(queue), image, call);
  };
}

}  // namespace

std::vector<ImportCall> import_calls(Engine& from) {
  std::vector<ImportCall> calls;
  const auto add = [&](const auto& image) -> Status {
    calls.push_back(call_of(image));
    return {};
  };
  std::vector<const CronImage*> images;
  ExportVisitor visitor;
  visitor.on_store = [&](const StoreImage& store) -> Status {
    calls.push_back([store](Engine& to, ImportedQueues&) {
      CallOptions call;
      return to.import_begin(store.next_job_id, store.next_generation, call);
    });
    return {};
  };
  visitor.on_schedules = [&](std::span<const CronImage> of_queue) -> Status {
    images.clear();
    for (const CronImage& image : of_queue) images.push_back(&image);
    return {};
  };
  visitor.on_queue = [&](const QueueRow& queue) -> Status {
    calls.push_back([queue](Engine& to, ImportedQueues& queues) -> Status {
      CallOptions call;
      WQ_TRY_SET(queues[queue.name], to.import_queue(queue, call));
      return {};
    });
    for (const CronImage* image : images) calls.push_back(call_of(*image, queue.name));
    return {};
  };
  visitor.on_kv = add;
  visitor.on_batch = add;
  visitor.on_key = add;
  visitor.on_done = add;
  visitor.on_rate_key = add;
  visitor.on_job = add;
  const Status status = from.export_store({}, visitor);
  EXPECT_TRUE(status.ok()) << status.message();
  calls.push_back([](Engine& to, ImportedQueues&) {
    CallOptions call;
    return to.import_end(call);
  });
  return calls;
}

}  // namespace wq
