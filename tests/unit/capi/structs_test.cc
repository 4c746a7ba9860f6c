// The matrix of struct sizes through the real functions: each input struct as the library's, below
// its first release, longer with a zero tail, longer with a dirty one; each output struct likewise.
#include <functional>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

// A struct of wq.h with room for what a newer header might have appended.
template <typename T>
struct Padded {
  T value;
  unsigned char tail[24];
};

template <typename T>
void try_input_sizes(const char* name, const T& good, const std::function<int32_t(const T*)>& call,
                     int32_t good_code) {
  SCOPED_TRACE(name);
  const auto size = static_cast<uint32_t>(sizeof(T));
  Padded<T> in{good, {}};
  in.value.struct_size = size;
  in.tail[0] = 0xff;  // behind its end: not the library's business
  EXPECT_CODE(good_code, call(&in.value));
  for (const uint32_t wrong : {0u, 4u, size - 1, UINT32_MAX}) {
    in.value.struct_size = wrong;
    EXPECT_CODE(WQ_E_INVALID, call(&in.value)) << wrong;
    EXPECT_NE(std::strstr(last_error().message, "struct_size"), nullptr) << last_error().message;
  }
  in.tail[0] = 0;
  in.value.struct_size = size + 24;
  EXPECT_CODE(good_code, call(&in.value));
  in.tail[23] = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, call(&in.value));
  in.value.struct_size = size + 23;
  EXPECT_CODE(good_code, call(&in.value)) << "the dirty byte is outside now";
}

template <typename T>
void try_output_sizes(const char* name, const std::function<int32_t(T*)>& call) {
  SCOPED_TRACE(name);
  const auto size = static_cast<uint32_t>(sizeof(T));
  Padded<T> out;
  for (const uint32_t wrong : {0u, 4u, size - 1, UINT32_MAX}) {
    std::memset(&out, 0xee, sizeof out);
    out.value.struct_size = wrong;
    EXPECT_EQ(call(&out.value), WQ_E_INVALID) << wrong;
    EXPECT_EQ(out.tail[0], 0xee);
  }
  std::memset(&out, 0xee, sizeof out);
  out.value.struct_size = size;
  EXPECT_OK(call(&out.value));
  EXPECT_EQ(out.value.struct_size, size);
  EXPECT_EQ(out.tail[0], 0xee) << "written behind the end";
  std::memset(&out, 0xee, sizeof out);
  out.value.struct_size = size + 24;
  EXPECT_OK(call(&out.value));
  EXPECT_EQ(out.value.struct_size, size + 24);
  for (const unsigned char byte : out.tail) EXPECT_EQ(byte, 0) << "an unknown tail is zeroed";
}

using CapiStructs = CapiSim;

TEST_F(CapiStructs, Inputs) {
  const wq_job_spec spec = WQ_JOB_SPEC_INIT;
  try_input_sizes<wq_job_spec>(
      "wq_job_spec", spec,
      [&](const wq_job_spec* in) { return wq_enqueue(queue_, in, nullptr, nullptr, err()); },
      WQ_OK);
  const wq_call call = WQ_CALL_INIT;
  try_input_sizes<wq_call>(
      "wq_call", call,
      [&](const wq_call* in) {
        return wq_enqueue(queue_, &spec, const_cast<wq_call*>(in), nullptr, err());
      },
      WQ_OK);
  const wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  try_input_sizes<wq_queue_config>(
      "wq_queue_config", config,
      [&](const wq_queue_config* in) { return wq_queue_configure(queue_, in, nullptr, err()); },
      WQ_OK);
  try_input_sizes<wq_queue_config>(
      "wq_queue_config of open", config,
      [&](const wq_queue_config* in) {
        wq_queue* queue = nullptr;
        const int32_t code = wq_queue_open(store_, "new", 3, in, 0, &queue, err());
        wq_queue_close(&queue);
        return code;
      },
      WQ_OK);
  const wq_nack_options nack = WQ_NACK_OPTIONS_INIT;
  try_input_sizes<wq_nack_options>(
      "wq_nack_options", nack,
      [&](const wq_nack_options* in) { return wq_nack(queue_, 999, 1, in, nullptr, err()); },
      WQ_E_NOT_FOUND);
  const wq_dead_query query = WQ_DEAD_QUERY_INIT;
  try_input_sizes<wq_dead_query>(
      "wq_dead_query", query,
      [&](const wq_dead_query* in) {
        wq_batch* batch = nullptr;
        return wq_dead_list(queue_, in, &batch, nullptr, err());
      },
      WQ_EMPTY);
  wq_queue* empty = open_queue(store_, "empty");
  const wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  try_input_sizes<wq_lease_options>(
      "wq_lease_options", options,
      [&](const wq_lease_options* in) {
        wq_batch* batch = nullptr;
        return wq_lease(store_, &empty, 1, in, nullptr, nullptr, &batch, err());
      },
      WQ_EMPTY);
  wq_queue_close(&empty);
  const wq_backup_options backup_options = WQ_BACKUP_OPTIONS_INIT;
  try_input_sizes<wq_backup_options>(
      "wq_backup_options", backup_options,
      [&](const wq_backup_options* in) {
        return wq_backup_verify("/nowhere/to/be/found", in, nullptr, err());
      },
      WQ_E_NOT_FOUND);
  const wq_store_options store_options = WQ_STORE_OPTIONS_INIT;
  try_input_sizes<wq_store_options>(
      "wq_store_options", store_options,
      [&](const wq_store_options* in) {
        wq_store* store = nullptr;
        return wq_store_open("/nowhere/to/be/found", in, &store, err());
      },
      WQ_E_NOT_FOUND);
}

TEST_F(CapiStructs, Outputs) {
  const wq_job_spec spec = WQ_JOB_SPEC_INIT;
  try_output_sizes<wq_enqueued>("wq_enqueued", [&](wq_enqueued* out) {
    return wq_enqueue(queue_, &spec, nullptr, out, err());
  });
  try_output_sizes<wq_job_explanation>("wq_job_explanation", [&](wq_job_explanation* out) {
    return wq_job_explain(queue_, 1, out, nullptr, err());
  });
  try_output_sizes<wq_queue_explanation>("wq_queue_explanation", [&](wq_queue_explanation* out) {
    return wq_queue_explain(queue_, out, nullptr, err());
  });
  try_output_sizes<wq_store_stats>("wq_store_stats", [&](wq_store_stats* out) {
    return wq_store_get_stats(store_, out, err());
  });
  try_output_sizes<wq_recovery>(
      "wq_recovery", [&](wq_recovery* out) { return wq_store_get_recovery(store_, out, err()); });
  try_output_sizes<wq_verify_report>("wq_verify_report", [&](wq_verify_report* out) {
    return wq_store_verify(store_, out, err());
  });
  int backups = 0;
  try_output_sizes<wq_backup_report>("wq_backup_report", [&](wq_backup_report* out) {
    const std::string directory = "backup-" + std::to_string(++backups);
    return wq_store_backup(store_, directory.c_str(), nullptr, out, err());
  });
  try_output_sizes<wq_queue_config>("wq_queue_config", [&](wq_queue_config* out) {
    return wq_queue_get_config(queue_, out, err());
  });
  try_output_sizes<wq_queue_stats>("wq_queue_stats", [&](wq_queue_stats* out) {
    return wq_queue_get_stats(queue_, out, err());
  });
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  try_output_sizes<wq_job>("wq_job", [&](wq_job* out) { return wq_batch_job(batch, 0, out); });
  wq_batch_free(&batch);
}

TEST_F(CapiStructs, AnErrorObjectOfAnotherSize) {
  Padded<wq_error> out;
  std::memset(&out, 0xee, sizeof out);
  wq_struct_init(&out.value, sizeof(wq_error) + 8);
  EXPECT_EQ(wq_queue_pause(nullptr, nullptr, &out.value), WQ_E_INVALID);
  EXPECT_EQ(out.value.code, WQ_E_INVALID);
  EXPECT_EQ(out.tail[8], 0xee);
}

TEST_F(CapiStructs, NullOutputs) {
  EXPECT_CODE(WQ_E_INVALID, wq_store_get_stats(store_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_get_recovery(store_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_verify(store_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_queues(store_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_queue_open(store_, "x", 1, nullptr, 0, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_queue_get_config(queue_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_queue_get_stats(queue_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_job_get(queue_, 1, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_dead_list(queue_, nullptr, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_dead_get(queue_, 1, 1, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_cq_open(store_, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID,
              wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_open("/x", nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, nullptr, nullptr, nullptr, err()));
  EXPECT_EQ(wq_list_name(nullptr, 0, nullptr), WQ_E_INVALID);
  EXPECT_EQ(wq_batch_job(nullptr, 0, nullptr), WQ_E_INVALID);
  EXPECT_EQ(wq_batch_header(nullptr, 0, 0, nullptr), WQ_E_INVALID);
}

// Arrays of structs whose element is larger or smaller than the library's.
TEST_F(CapiStructs, ArraysFollowTheElementSize) {
  Padded<wq_job_spec> specs[3];
  std::memset(specs, 0, sizeof specs);
  const char* payloads[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    specs[i].value.struct_size = i == 1 ? sizeof specs[1] : sizeof(wq_job_spec);
    specs[i].value.payload = {payloads[i], 1};
  }
  Padded<wq_enqueued> out[3];
  std::memset(out, 0xee, sizeof out);
  size_t accepted = 0;
  ASSERT_OK(wq_enqueue_many(queue_, &specs[0].value, 3, sizeof specs[0], 0, nullptr, &out[0].value,
                            sizeof out[0], &accepted, err()));
  EXPECT_EQ(accepted, 3u);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(out[i].value.struct_size, sizeof out[0]);
    EXPECT_EQ(out[i].value.code, WQ_OK);
    EXPECT_EQ(get(queue_, out[i].value.job_id)[0].payload, payloads[i]);
    EXPECT_EQ(out[i].tail[23], 0);
  }
  specs[1].tail[0] = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_enqueue_many(queue_, &specs[0].value, 3, sizeof specs[0], 0,
                                                nullptr, nullptr, 0, &accepted, err()));
  EXPECT_EQ(accepted, 0u);
  specs[1].tail[0] = 0;
  for (const size_t stride : {size_t{0}, sizeof(wq_job_spec) - 1}) {
    EXPECT_CODE(WQ_E_INVALID, wq_enqueue_many(queue_, &specs[0].value, 3, stride, 0, nullptr,
                                              nullptr, 0, nullptr, err()));
  }
  EXPECT_CODE(WQ_E_INVALID,
              wq_enqueue_many(queue_, &specs[0].value, 1, sizeof specs[0], 0, nullptr,
                              &out[0].value, sizeof(wq_enqueued) - 1, nullptr, err()));
  EXPECT_EQ(stats_of(queue_).enqueued_total, 3u);
}

TEST_F(CapiStructs, UnknownBitsAreUnsupportedAndChangeNothing) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.flags = 1u << 31;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  EXPECT_NE(std::strstr(last_error().message, "80000000"), nullptr) << last_error().message;
  spec.flags = 0;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_enqueue_many(queue_, &spec, 1, sizeof spec, 2, nullptr, nullptr,
                                                0, nullptr, err()));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = 64;  // the engine's own bit for the status
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_queue_configure(queue_, &config, nullptr, err()));
  wq_queue* queue = nullptr;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_queue_open(store_, "n", 1, nullptr, 2, &queue, err()));
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.flags = 1;
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_E_UNSUPPORTED,
              wq_lease(store_, &queue_, 1, &options, nullptr, nullptr, &batch, err()));
  options.flags = 0;
  options.reserved_0 = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED,
              wq_lease(store_, &queue_, 1, &options, nullptr, nullptr, &batch, err()));
  wq_nack_options nack = WQ_NACK_OPTIONS_INIT;
  nack.flags = 16;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_nack(queue_, 1, 1, &nack, nullptr, err()));
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_release(queue_, 1, 1, 0, 2, nullptr, err()));
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.flags = 2;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_dead_list(queue_, &query, &batch, nullptr, err()));
  wq_store_options store_options = WQ_STORE_OPTIONS_INIT;
  store_options.flags = 8;
  wq_store* store = nullptr;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_store_open("/x", &store_options, &store, err()));
  EXPECT_EQ(stats_of(queue_).enqueued_total, 0u);
}

}  // namespace
}  // namespace wq::capi_test
