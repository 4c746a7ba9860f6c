// A line of JSON for `wq push`: refused by a usage Failure of one line, or a job that the program
// finds a fault in, or one that wq.h takes.
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "fuzz_check.h"
#include "sim_store.h"

namespace wq {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  std::vector<cli::JobDraft> drafts;
  try {
    drafts.push_back(cli::parse_job_line(line, {}));
  } catch (const cli::Failure& failure) {
    FUZZ_CHECK(failure.exit_code == cli::exit_usage && !failure.message.empty());
    FUZZ_CHECK(failure.message.find('\n') == std::string::npos);
    return 0;
  }
  if (!cli::draft_problem(drafts[0], 16u << 20).empty()) return 0;
  static FuzzStore* const store = [] {
    auto* made = new FuzzStore;
    FUZZ_CHECK(made->open() == WQ_OK);
    return made;
  }();
  const cli::SpecList specs(drafts);
  wq_queue* queue = nullptr;
  FUZZ_CHECK(wq_queue_open(store->store, "q", 1, nullptr, 0, &queue, nullptr) == WQ_OK);
  wq_enqueued out = WQ_ENQUEUED_INIT;
  FUZZ_CHECK(wq_enqueue(queue, specs.data(), nullptr, &out, nullptr) == WQ_OK);
  wq_batch* batch = nullptr;
  wq_job job = WQ_JOB_INIT;
  FUZZ_CHECK(wq_job_get(queue, out.job_id, &batch, nullptr) == WQ_OK);
  FUZZ_CHECK(wq_batch_job(batch, 0, &job) == WQ_OK);
  FUZZ_CHECK(job.payload.len == drafts[0].payload.size());
  FUZZ_CHECK(job.headers_count == drafts[0].headers.size());
  wq_batch_free(&batch);
  FUZZ_CHECK(wq_job_cancel(queue, out.job_id, nullptr, nullptr) == WQ_OK);
  wq_queue_close(&queue);
  return 0;
}

}  // namespace wq
