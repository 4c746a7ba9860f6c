// The sized structs of wq.h with anything in them and any size on them. Each lies at the end of a
// block of its own that is as long as its struct_size says (as its stride, in arrays), so that a
// sanitizer sees the first byte that the library touches outside. Pointers in it point to a buffer
// of the target's, lengths stay within it. The answer is a code of wq.h.
#include <cstddef>
#include <cstring>
#include <vector>

#include "fuzz_check.h"
#include "input.h"
#include "sim_store.h"

namespace wq {
namespace {

constexpr uint32_t largest_bytes = 64 * 1024;  // more can not be meant: refused unread

// A struct as a program may hand it in.
class Block {
 public:
  Block(Input& input, size_t known_bytes, size_t stride) {
    const auto size = input.take<uint16_t>();
    // Mostly around the sizes that mean something.
    declared_ = size % 4 == 0 ? input.take<uint32_t>()
                              : static_cast<uint32_t>(known_bytes) + size % 64 - size % 4 * 8;
    size_t room = declared_ > largest_bytes ? sizeof(uint32_t) : declared_;
    room = std::max({room, sizeof(uint32_t), stride});
    memory_.resize(room);
    const std::string bytes = input.bytes(std::min(room, known_bytes));
    std::memcpy(memory_.data(), bytes.data(), bytes.size());
    std::memcpy(memory_.data(), &declared_, sizeof declared_);
  }
  // Sets a field, as far as it lies inside.
  template <typename T>
  void set(size_t offset, T value) {
    if (offset + sizeof value <= memory_.size()) {
      std::memcpy(memory_.data() + offset, &value, sizeof value);
    } else if (offset < memory_.size()) {
      std::memset(memory_.data() + offset, 0, memory_.size() - offset);
    }
  }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(memory_.data());
  }

 private:
  uint32_t declared_ = 0;
  std::vector<std::max_align_t> unused_;
  std::vector<uint8_t> memory_;
};

struct Target {
  FuzzStore store;
  wq_queue* queue = nullptr;
  wq_cq* cq = nullptr;
  wq_batch* batch = nullptr;
  wq_token token{};

  Target() {
    FUZZ_CHECK(store.open() == WQ_OK);
    FUZZ_CHECK(wq_queue_open(store.store, "q", 1, nullptr, 0, &queue, nullptr) == WQ_OK);
    FUZZ_CHECK(wq_cq_open(store.store, &cq, nullptr) == WQ_OK);
    const wq_job_spec spec = WQ_JOB_SPEC_INIT;
    FUZZ_CHECK(wq_enqueue(queue, &spec, nullptr, nullptr, nullptr) == WQ_OK);
    FUZZ_CHECK(wq_lease(store.store, &queue, 1, nullptr, nullptr, nullptr, &batch, nullptr) ==
               WQ_OK);
    wq_job job = WQ_JOB_INIT;
    FUZZ_CHECK(wq_batch_job(batch, 0, &job) == WQ_OK);
    token = {job.id, job.generation};
  }
  ~Target() {
    wq_batch_free(&batch);
    wq_cq_close(&cq);
    wq_queue_close(&queue);
  }
};

const char buffer[256] = "bytes that a struct may point to";
const wq_header header_buffer[4] = {
    {{"a", 1}, {"b", 1}}, {{"c", 1}, {"", 0}}, {{"d", 1}, {"e", 1}}, {{"", 0}, {"f", 1}}};
const int64_t list_buffer[32] = {1, 2, 3};

void set_bytes(Block& block, size_t offset, Input& input) {
  const uint8_t how = input.byte();
  const wq_bytes bytes{how & 1 ? buffer : nullptr, how};
  block.set(offset, bytes);
}

Block spec_block(Input& input, size_t stride) {
  Block block(input, sizeof(wq_job_spec), stride);
  set_bytes(block, offsetof(wq_job_spec, payload), input);
  const uint8_t how = input.byte();
  block.set(offsetof(wq_job_spec, headers), how & 1 ? header_buffer : nullptr);
  block.set(offsetof(wq_job_spec, headers_count), size_t{how} % 5u);
  block.set(offsetof(wq_job_spec, backoff_list_ms), how & 2 ? list_buffer : nullptr);
  return block;
}

Block call_block(Input& input, Target& target) {
  Block block(input, sizeof(wq_call), 0);
  block.set(offsetof(wq_call, cq), input.byte() & 1 ? target.cq : nullptr);
  return block;
}

int32_t produce(Input& input, Target& t) {
  if (input.byte() & 1) {
    Block spec = spec_block(input, 0);
    Block call = call_block(input, t);
    Block out(input, sizeof(wq_enqueued), 0);
    return wq_enqueue(t.queue, spec.as<wq_job_spec>(), call.as<wq_call>(), out.as<wq_enqueued>(),
                      nullptr);
  }
  const size_t spec_size = input.below(300);
  const size_t out_size = input.below(80);
  Block spec = spec_block(input, spec_size);
  Block out(input, sizeof(wq_enqueued), out_size);
  return wq_enqueue_many(t.queue, spec.as<wq_job_spec>(), 1, spec_size, input.byte() & 1, nullptr,
                         out.as<wq_enqueued>(), out_size, nullptr, nullptr);
}

int32_t settle(Input& input, Target& t) {
  if (input.byte() & 1) {
    Block options(input, sizeof(wq_nack_options), 0);
    set_bytes(options, offsetof(wq_nack_options, error), input);
    return wq_nack(t.queue, t.token.id, t.token.generation, options.as<wq_nack_options>(), nullptr,
                   nullptr);
  }
  const size_t item_size = input.below(200);
  Block item(input, sizeof(wq_settle_item), item_size);
  set_bytes(item, offsetof(wq_settle_item, error), input);
  int32_t code = 0;
  return wq_settle_many(t.queue, item.as<wq_settle_item>(), 1, item_size, &code, nullptr, nullptr);
}

int32_t read(Input& input, Target& t) {
  switch (input.byte() % 7) {
    case 0: {
      Block out(input, sizeof(wq_store_stats), 0);
      return wq_store_get_stats(t.store.store, out.as<wq_store_stats>(), nullptr);
    }
    case 1: {
      Block out(input, sizeof(wq_recovery), 0);
      return wq_store_get_recovery(t.store.store, out.as<wq_recovery>(), nullptr);
    }
    case 2: {
      Block out(input, sizeof(wq_verify_report), 0);
      return wq_store_verify(t.store.store, out.as<wq_verify_report>(), nullptr);
    }
    case 3: {
      Block out(input, sizeof(wq_queue_config), 0);
      return wq_queue_get_config(t.queue, out.as<wq_queue_config>(), nullptr);
    }
    case 4: {
      Block out(input, sizeof(wq_queue_stats), 0);
      return wq_queue_get_stats(t.queue, out.as<wq_queue_stats>(), nullptr);
    }
    case 5: {
      Block out(input, sizeof(wq_job), 0);
      return wq_batch_job(t.batch, 0, out.as<wq_job>());
    }
    default: {
      const size_t event_size = input.below(100);
      Block event(input, sizeof(wq_event), event_size);
      size_t count = 0;
      return wq_cq_poll(t.cq, event.as<wq_event>(), 1, event_size, 0, &count, nullptr);
    }
  }
}

int32_t observe(Input& input, Target& t) {
  size_t count = 0;
  switch (input.byte() % 4) {
    case 0: {
      Block out(input, sizeof(wq_job_explanation), 0);
      return wq_job_explain(t.queue, t.token.id, out.as<wq_job_explanation>(), nullptr, nullptr);
    }
    case 1: {
      Block out(input, sizeof(wq_queue_explanation), 0);
      return wq_queue_explain(t.queue, out.as<wq_queue_explanation>(), nullptr, nullptr);
    }
    case 2: {
      const size_t error_size = input.below(400);
      Block error(input, sizeof(wq_queue_error), error_size);
      return wq_queue_get_errors(t.queue, error.as<wq_queue_error>(), 1, error_size, &count,
                                 nullptr);
    }
    default: {
      const size_t event_size = input.below(400);
      Block cursor(input, sizeof(wq_event_cursor), 0);
      Block event(input, sizeof(wq_store_event), event_size);
      return wq_events_poll(t.store.store, cursor.as<wq_event_cursor>(), event.as<wq_store_event>(),
                            1, event_size, 0, nullptr, &count, nullptr);
    }
  }
}

int32_t other(Input& input, Target& t) {
  wq_batch* batch = nullptr;
  int32_t code = 0;
  switch (input.byte() % 5) {
    case 0: {
      Block config(input, sizeof(wq_queue_config), 0);
      Block call = call_block(input, t);
      return wq_queue_configure(t.queue, config.as<wq_queue_config>(), call.as<wq_call>(), nullptr);
    }
    case 1: {
      Block query(input, sizeof(wq_dead_query), 0);
      code = wq_dead_list(t.queue, query.as<wq_dead_query>(), &batch, nullptr, nullptr);
      break;
    }
    case 2: {
      Block options(input, sizeof(wq_lease_options), 0);
      options.set(offsetof(wq_lease_options, wait_ms), int64_t{0});
      code = wq_lease(t.store.store, &t.queue, 1, options.as<wq_lease_options>(), nullptr, nullptr,
                      &batch, nullptr);
      break;
    }
    case 3: {
      // The parent is not there, so nothing can be opened whatever the options say.
      Block options(input, sizeof(wq_store_options), 0);
      wq_store* store = nullptr;
      code = wq_store_open("no/such/directory", options.as<wq_store_options>(), &store, nullptr);
      FUZZ_CHECK(store == nullptr && code != WQ_OK);
      break;
    }
    default: {
      Block err(input, sizeof(wq_error), 0);
      code = wq_ack(t.queue, 1, input.take<uint64_t>(), nullptr, err.as<wq_error>());
    }
  }
  wq_batch_free(&batch);
  return code;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Target target;
  for (int i = 0; i < 8 && !input.empty(); ++i) {
    int32_t code = 0;
    switch (input.byte() % 5) {
      case 0:
        code = produce(input, target);
        break;
      case 1:
        code = settle(input, target);
        break;
      case 2:
        code = read(input, target);
        break;
      case 4:
        code = observe(input, target);
        break;
      default:
        code = other(input, target);
    }
    FUZZ_CHECK(code_known(code));
    FUZZ_CHECK(code != WQ_E_INTERNAL && code != WQ_E_POISONED);
  }
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  FUZZ_CHECK(wq_store_verify(target.store.store, &report, nullptr) == WQ_OK);
  return 0;
}

}  // namespace wq
