// Changes of single jobs: another priority, a progress note.
#include "capi/capi_internal.h"

extern "C" {

int32_t wq_job_reprioritise(wq_queue* queue, uint64_t id, uint32_t priority, wq_call* call,
                            wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    if (priority > UINT8_MAX) return wq::invalid_field("priority", "is not in 0..255");
    return engine.reprioritise(queue->id, id, static_cast<uint8_t>(priority), how.options());
  });
}

int32_t wq_job_progress(wq_queue* queue, uint64_t id, uint64_t generation, const void* note,
                        size_t note_len, wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    wq::Bytes bytes;
    WQ_TRY(wq::read_bytes(note, note_len, "note", bytes));
    return engine.set_progress(queue->id, wq::Token{id, generation}, wq::as_text(bytes),
                               how.options());
  });
}

}  // extern "C"
