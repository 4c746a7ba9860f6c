// Pins size and layout of every public struct as of the release that each field came with. A
// failing line means that a program built before would no longer run: append fields, never move or
// resize them. first_release_bytes (sized.h) names the size of release 0.1 for structs that have
// grown since.
#include <wq.h>

#include <cstddef>

static_assert(sizeof(void*) == 8, "wq.h is laid out for 64-bit platforms");

#define WQ_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " changed its size")
#define WQ_AT(type, field, bytes) \
  static_assert(offsetof(type, field) == (bytes), #type "." #field " moved")

WQ_SIZE(wq_bytes, 16);
WQ_AT(wq_bytes, data, 0);
WQ_AT(wq_bytes, len, 8);

WQ_SIZE(wq_header, 32);
WQ_AT(wq_header, name, 0);
WQ_AT(wq_header, value, 16);

WQ_SIZE(wq_token, 16);
WQ_AT(wq_token, id, 0);
WQ_AT(wq_token, generation, 8);

WQ_SIZE(wq_key, 24);
WQ_AT(wq_key, id, 0);
WQ_AT(wq_key, reserved_0, 4);
WQ_AT(wq_key, bytes, 8);

WQ_SIZE(wq_error, 256);
WQ_AT(wq_error, struct_size, 0);
WQ_AT(wq_error, code, 4);
WQ_AT(wq_error, os_errno, 8);
WQ_AT(wq_error, flags, 12);
WQ_AT(wq_error, offset, 16);
WQ_AT(wq_error, message, 24);

WQ_SIZE(wq_call, 32);
WQ_AT(wq_call, struct_size, 0);
WQ_AT(wq_call, durability, 4);
WQ_AT(wq_call, cq, 8);
WQ_AT(wq_call, user_data, 16);
WQ_AT(wq_call, lsn, 24);

WQ_SIZE(wq_store_options, 104);
WQ_AT(wq_store_options, struct_size, 0);
WQ_AT(wq_store_options, flags, 4);
WQ_AT(wq_store_options, io_backend, 8);
WQ_AT(wq_store_options, spare_segments, 12);
WQ_AT(wq_store_options, memory_budget_bytes, 16);
WQ_AT(wq_store_options, payload_bytes_max, 24);
WQ_AT(wq_store_options, segment_bytes, 32);
WQ_AT(wq_store_options, checkpoint_log_bytes, 40);
WQ_AT(wq_store_options, disk_reserve_bytes, 48);
WQ_AT(wq_store_options, memory_window_ms, 56);
WQ_AT(wq_store_options, events_max, 64);
WQ_AT(wq_store_options, reserved_0, 68);
WQ_AT(wq_store_options, quota_bytes, 72);
WQ_AT(wq_store_options, keys, 80);
WQ_AT(wq_store_options, keys_count, 88);
WQ_AT(wq_store_options, current_key, 96);
WQ_AT(wq_store_options, reserved_1, 100);

WQ_SIZE(wq_recovery, 272);
WQ_AT(wq_recovery, struct_size, 0);
WQ_AT(wq_recovery, clean, 4);
WQ_AT(wq_recovery, applied_lsn, 8);
WQ_AT(wq_recovery, last_lsn, 16);
WQ_AT(wq_recovery, records_replayed, 24);
WQ_AT(wq_recovery, truncated_bytes, 32);
WQ_AT(wq_recovery, leases_kept, 40);
WQ_AT(wq_recovery, leases_expired, 48);
WQ_AT(wq_recovery, temp_files_removed, 56);
WQ_AT(wq_recovery, replay_ms, 64);
WQ_AT(wq_recovery, truncated_where, 72);

WQ_SIZE(wq_store_stats, 232);
WQ_AT(wq_store_stats, struct_size, 0);
WQ_AT(wq_store_stats, status, 4);
WQ_AT(wq_store_stats, io_backend, 8);
WQ_AT(wq_store_stats, queues, 12);
WQ_AT(wq_store_stats, ready, 16);
WQ_AT(wq_store_stats, delayed, 24);
WQ_AT(wq_store_stats, leased, 32);
WQ_AT(wq_store_stats, running, 40);
WQ_AT(wq_store_stats, dead, 48);
WQ_AT(wq_store_stats, last_lsn, 56);
WQ_AT(wq_store_stats, process_lsn, 64);
WQ_AT(wq_store_stats, durable_lsn, 72);
WQ_AT(wq_store_stats, applied_lsn, 80);
WQ_AT(wq_store_stats, resident_jobs, 88);
WQ_AT(wq_store_stats, resident_bytes, 96);
WQ_AT(wq_store_stats, memory_budget_bytes, 104);
WQ_AT(wq_store_stats, log_records, 112);
WQ_AT(wq_store_stats, log_bytes, 120);
WQ_AT(wq_store_stats, log_written_bytes, 128);
WQ_AT(wq_store_stats, log_live_bytes, 136);
WQ_AT(wq_store_stats, log_segments, 144);
WQ_AT(wq_store_stats, log_segments_spare, 152);
WQ_AT(wq_store_stats, flushes, 160);
WQ_AT(wq_store_stats, flush_us_total, 168);
WQ_AT(wq_store_stats, flush_us_max, 176);
WQ_AT(wq_store_stats, checkpoints, 184);
WQ_AT(wq_store_stats, checkpoint_us_last, 192);
WQ_AT(wq_store_stats, checkpoint_us_max, 200);
WQ_AT(wq_store_stats, waiting, 208);
WQ_AT(wq_store_stats, job_bytes, 216);
WQ_AT(wq_store_stats, quota_bytes, 224);

WQ_SIZE(wq_verify_report, 256);
WQ_AT(wq_verify_report, struct_size, 0);
WQ_AT(wq_verify_report, reserved_0, 4);
WQ_AT(wq_verify_report, jobs, 8);
WQ_AT(wq_verify_report, entries, 16);
WQ_AT(wq_verify_report, problems, 24);
WQ_AT(wq_verify_report, elapsed_ms, 32);
WQ_AT(wq_verify_report, first_problem, 40);

WQ_SIZE(wq_backup_options, 32);
WQ_AT(wq_backup_options, struct_size, 0);
WQ_AT(wq_backup_options, flags, 4);
WQ_AT(wq_backup_options, cancel, 8);
WQ_AT(wq_backup_options, progress, 16);
WQ_AT(wq_backup_options, progress_ctx, 24);

WQ_SIZE(wq_backup_report, 56);
WQ_AT(wq_backup_report, struct_size, 0);
WQ_AT(wq_backup_report, reserved_0, 4);
WQ_AT(wq_backup_report, lsn, 8);
WQ_AT(wq_backup_report, checkpoint_lsn, 16);
WQ_AT(wq_backup_report, files, 24);
WQ_AT(wq_backup_report, bytes, 32);
WQ_AT(wq_backup_report, created_ms, 40);
WQ_AT(wq_backup_report, elapsed_ms, 48);

WQ_SIZE(wq_queue_config, 384);
WQ_AT(wq_queue_config, struct_size, 0);
WQ_AT(wq_queue_config, fields, 4);
WQ_AT(wq_queue_config, max_running, 8);
WQ_AT(wq_queue_config, max_retries, 12);
WQ_AT(wq_queue_config, lease_ms, 16);
WQ_AT(wq_queue_config, durability, 24);
WQ_AT(wq_queue_config, status, 28);
WQ_AT(wq_queue_config, backoff_kind, 32);
WQ_AT(wq_queue_config, backoff_count, 36);
WQ_AT(wq_queue_config, backoff_base_ms, 40);
WQ_AT(wq_queue_config, backoff_max_ms, 48);
WQ_AT(wq_queue_config, version, 56);
WQ_AT(wq_queue_config, backoff_list_ms, 64);
WQ_AT(wq_queue_config, backoff_jitter_permille, 320);
WQ_AT(wq_queue_config, reserved_0, 324);
WQ_AT(wq_queue_config, job_ttl_ms, 328);
WQ_AT(wq_queue_config, max_depth, 336);
WQ_AT(wq_queue_config, max_bytes, 344);
WQ_AT(wq_queue_config, full_policy, 352);
WQ_AT(wq_queue_config, consumers_paused, 356);
WQ_AT(wq_queue_config, dead_max_count, 360);
WQ_AT(wq_queue_config, dead_max_age_ms, 368);
WQ_AT(wq_queue_config, encrypt, 376);
WQ_AT(wq_queue_config, compress_min_bytes, 380);

WQ_SIZE(wq_queue_stats, 184);
WQ_AT(wq_queue_stats, struct_size, 0);
WQ_AT(wq_queue_stats, status, 4);
WQ_AT(wq_queue_stats, ready, 8);
WQ_AT(wq_queue_stats, delayed, 16);
WQ_AT(wq_queue_stats, leased, 24);
WQ_AT(wq_queue_stats, running, 32);
WQ_AT(wq_queue_stats, dead, 40);
WQ_AT(wq_queue_stats, oldest_ready_age_ms, 48);
WQ_AT(wq_queue_stats, enqueued_total, 56);
WQ_AT(wq_queue_stats, leased_total, 64);
WQ_AT(wq_queue_stats, acked_total, 72);
WQ_AT(wq_queue_stats, nacked_total, 80);
WQ_AT(wq_queue_stats, failed_total, 88);
WQ_AT(wq_queue_stats, released_total, 96);
WQ_AT(wq_queue_stats, expired_total, 104);
WQ_AT(wq_queue_stats, dead_total, 112);
WQ_AT(wq_queue_stats, replayed_total, 120);
WQ_AT(wq_queue_stats, cancelled_total, 128);
WQ_AT(wq_queue_stats, cleared_total, 136);
WQ_AT(wq_queue_stats, jobs_expired_total, 144);
WQ_AT(wq_queue_stats, dropped_total, 152);
WQ_AT(wq_queue_stats, dead_dropped_total, 160);
WQ_AT(wq_queue_stats, waiting_bytes, 168);
WQ_AT(wq_queue_stats, job_bytes, 176);

WQ_SIZE(wq_job_spec, 216);
WQ_AT(wq_job_spec, struct_size, 0);
WQ_AT(wq_job_spec, flags, 4);
WQ_AT(wq_job_spec, payload, 8);
WQ_AT(wq_job_spec, headers, 24);
WQ_AT(wq_job_spec, headers_count, 32);
WQ_AT(wq_job_spec, delay_ms, 40);
WQ_AT(wq_job_spec, run_at_ms, 48);
WQ_AT(wq_job_spec, priority, 56);
WQ_AT(wq_job_spec, max_attempts, 60);
WQ_AT(wq_job_spec, backoff_kind, 64);
WQ_AT(wq_job_spec, backoff_count, 68);
WQ_AT(wq_job_spec, backoff_base_ms, 72);
WQ_AT(wq_job_spec, backoff_max_ms, 80);
WQ_AT(wq_job_spec, backoff_list_ms, 88);
WQ_AT(wq_job_spec, expires_at_ms, 96);
WQ_AT(wq_job_spec, retry_until_ms, 104);
WQ_AT(wq_job_spec, timeout_ms, 112);
WQ_AT(wq_job_spec, max_exceptions, 120);
WQ_AT(wq_job_spec, backoff_jitter_permille, 124);
WQ_AT(wq_job_spec, unique_key, 128);
WQ_AT(wq_job_spec, unique_ttl_ms, 144);
WQ_AT(wq_job_spec, unique_until, 152);
WQ_AT(wq_job_spec, reserved_0, 156);
WQ_AT(wq_job_spec, debounce_key, 160);
WQ_AT(wq_job_spec, debounce_ms, 176);
WQ_AT(wq_job_spec, debounce_max_ms, 184);
WQ_AT(wq_job_spec, idempotency_key, 192);
WQ_AT(wq_job_spec, idempotency_ms, 208);

WQ_SIZE(wq_enqueued, 24);
WQ_AT(wq_enqueued, struct_size, 0);
WQ_AT(wq_enqueued, code, 4);
WQ_AT(wq_enqueued, job_id, 8);
WQ_AT(wq_enqueued, lsn, 16);

WQ_SIZE(wq_lease_options, 32);
WQ_AT(wq_lease_options, struct_size, 0);
WQ_AT(wq_lease_options, max_jobs, 4);
WQ_AT(wq_lease_options, wait_ms, 8);
WQ_AT(wq_lease_options, lease_ms, 16);
WQ_AT(wq_lease_options, flags, 24);
WQ_AT(wq_lease_options, reserved_0, 28);

WQ_SIZE(wq_nack_options, 48);
WQ_AT(wq_nack_options, struct_size, 0);
WQ_AT(wq_nack_options, flags, 4);
WQ_AT(wq_nack_options, delay_ms, 8);
WQ_AT(wq_nack_options, priority, 16);
WQ_AT(wq_nack_options, reserved_0, 20);
WQ_AT(wq_nack_options, error, 24);
WQ_AT(wq_nack_options, reason, 40);
WQ_AT(wq_nack_options, reserved_1, 44);

WQ_SIZE(wq_settle_item, 64);
WQ_AT(wq_settle_item, struct_size, 0);
WQ_AT(wq_settle_item, kind, 4);
WQ_AT(wq_settle_item, id, 8);
WQ_AT(wq_settle_item, generation, 16);
WQ_AT(wq_settle_item, delay_ms, 24);
WQ_AT(wq_settle_item, flags, 32);
WQ_AT(wq_settle_item, priority, 36);
WQ_AT(wq_settle_item, error, 40);
WQ_AT(wq_settle_item, reason, 56);
WQ_AT(wq_settle_item, reserved_0, 60);

WQ_SIZE(wq_job, 216);
WQ_AT(wq_job, struct_size, 0);
WQ_AT(wq_job, state, 4);
WQ_AT(wq_job, id, 8);
WQ_AT(wq_job, generation, 16);
WQ_AT(wq_job, queue_index, 24);
WQ_AT(wq_job, priority, 28);
WQ_AT(wq_job, attempts, 32);
WQ_AT(wq_job, exceptions, 36);
WQ_AT(wq_job, max_attempts, 40);
WQ_AT(wq_job, replays, 44);
WQ_AT(wq_job, enqueued_ms, 48);
WQ_AT(wq_job, ready_ms, 56);
WQ_AT(wq_job, leased_ms, 64);
WQ_AT(wq_job, deadline_ms, 72);
WQ_AT(wq_job, lease_remaining_ms, 80);
WQ_AT(wq_job, dead_ms, 88);
WQ_AT(wq_job, dead_reason, 96);
WQ_AT(wq_job, headers_count, 100);
WQ_AT(wq_job, payload, 104);
WQ_AT(wq_job, queue_name, 120);
WQ_AT(wq_job, last_error, 136);
WQ_AT(wq_job, timeout_ms, 152);
WQ_AT(wq_job, expires_at_ms, 160);
WQ_AT(wq_job, retry_until_ms, 168);
WQ_AT(wq_job, max_exceptions, 176);
WQ_AT(wq_job, flags, 180);
WQ_AT(wq_job, progress, 184);
WQ_AT(wq_job, first_dead_ms, 200);
WQ_AT(wq_job, payload_code, 208);
WQ_AT(wq_job, key_id, 212);

WQ_SIZE(wq_dead_query, 56);
WQ_AT(wq_dead_query, struct_size, 0);
WQ_AT(wq_dead_query, flags, 4);
WQ_AT(wq_dead_query, cursor, 8);
WQ_AT(wq_dead_query, limit, 16);
WQ_AT(wq_dead_query, reason, 20);
WQ_AT(wq_dead_query, from_ms, 24);
WQ_AT(wq_dead_query, until_ms, 32);
WQ_AT(wq_dead_query, error_part, 40);

WQ_SIZE(wq_dead_filter, 96);
WQ_AT(wq_dead_filter, struct_size, 0);
WQ_AT(wq_dead_filter, flags, 4);
WQ_AT(wq_dead_filter, reason, 8);
WQ_AT(wq_dead_filter, reserved_0, 12);
WQ_AT(wq_dead_filter, from_ms, 16);
WQ_AT(wq_dead_filter, until_ms, 24);
WQ_AT(wq_dead_filter, error_part, 32);
WQ_AT(wq_dead_filter, entries, 48);
WQ_AT(wq_dead_filter, entries_count, 56);
WQ_AT(wq_dead_filter, limit, 64);
WQ_AT(wq_dead_filter, cancel, 72);
WQ_AT(wq_dead_filter, progress, 80);
WQ_AT(wq_dead_filter, progress_ctx, 88);

WQ_SIZE(wq_dead_report, 32);
WQ_AT(wq_dead_report, struct_size, 0);
WQ_AT(wq_dead_report, reserved_0, 4);
WQ_AT(wq_dead_report, changed, 8);
WQ_AT(wq_dead_report, examined, 16);
WQ_AT(wq_dead_report, elapsed_ms, 24);

WQ_SIZE(wq_event, 24);
WQ_AT(wq_event, struct_size, 0);
WQ_AT(wq_event, code, 4);
WQ_AT(wq_event, user_data, 8);
WQ_AT(wq_event, lsn, 16);

WQ_SIZE(wq_log_record, 88);
WQ_AT(wq_log_record, struct_size, 0);
WQ_AT(wq_log_record, reserved_0, 4);
WQ_AT(wq_log_record, lsn, 8);
WQ_AT(wq_log_record, durable_lsn, 16);
WQ_AT(wq_log_record, offset, 24);
WQ_AT(wq_log_record, size_bytes, 32);
WQ_AT(wq_log_record, segment, 40);
WQ_AT(wq_log_record, type, 56);
WQ_AT(wq_log_record, text, 72);

WQ_SIZE(wq_store_record, 56);
WQ_AT(wq_store_record, struct_size, 0);
WQ_AT(wq_store_record, reserved_0, 4);
WQ_AT(wq_store_record, lsn, 8);
WQ_AT(wq_store_record, next_job_id, 16);
WQ_AT(wq_store_record, next_generation, 24);
WQ_AT(wq_store_record, queues, 32);
WQ_AT(wq_store_record, jobs, 40);
WQ_AT(wq_store_record, kv_rows, 48);

WQ_SIZE(wq_queue_record, 48);
WQ_AT(wq_queue_record, struct_size, 0);
WQ_AT(wq_queue_record, reserved_0, 4);
WQ_AT(wq_queue_record, name, 8);
WQ_AT(wq_queue_record, created_ms, 24);
WQ_AT(wq_queue_record, config, 32);
WQ_AT(wq_queue_record, stats, 40);

WQ_SIZE(wq_job_record, 320);
WQ_AT(wq_job_record, struct_size, 0);
WQ_AT(wq_job_record, state, 4);
WQ_AT(wq_job_record, id, 8);
WQ_AT(wq_job_record, generation, 16);
WQ_AT(wq_job_record, priority, 24);
WQ_AT(wq_job_record, attempts, 28);
WQ_AT(wq_job_record, exceptions, 32);
WQ_AT(wq_job_record, failures, 36);
WQ_AT(wq_job_record, max_attempts, 40);
WQ_AT(wq_job_record, replays, 44);
WQ_AT(wq_job_record, enqueued_ms, 48);
WQ_AT(wq_job_record, since_ms, 56);
WQ_AT(wq_job_record, due_ms, 64);
WQ_AT(wq_job_record, leased_ms, 72);
WQ_AT(wq_job_record, dead_reason, 80);
WQ_AT(wq_job_record, backoff_kind, 84);
WQ_AT(wq_job_record, backoff_base_ms, 88);
WQ_AT(wq_job_record, backoff_max_ms, 96);
WQ_AT(wq_job_record, backoff_list_ms, 104);
WQ_AT(wq_job_record, backoff_count, 112);
WQ_AT(wq_job_record, reserved_0, 116);
WQ_AT(wq_job_record, headers, 120);
WQ_AT(wq_job_record, headers_count, 128);
WQ_AT(wq_job_record, payload, 136);
WQ_AT(wq_job_record, last_error, 152);
WQ_AT(wq_job_record, queue_name, 168);
WQ_AT(wq_job_record, expires_at_ms, 184);
WQ_AT(wq_job_record, retry_until_ms, 192);
WQ_AT(wq_job_record, timeout_ms, 200);
WQ_AT(wq_job_record, max_exceptions, 208);
WQ_AT(wq_job_record, flags, 212);
WQ_AT(wq_job_record, backoff_jitter_permille, 216);
WQ_AT(wq_job_record, reserved_1, 220);
WQ_AT(wq_job_record, progress, 224);
WQ_AT(wq_job_record, key, 240);
WQ_AT(wq_job_record, key_rule, 256);
WQ_AT(wq_job_record, reserved_2, 260);
WQ_AT(wq_job_record, key_ms, 264);
WQ_AT(wq_job_record, key_until_ms, 272);
WQ_AT(wq_job_record, idempotency_key, 280);
WQ_AT(wq_job_record, idempotency_ms, 296);
WQ_AT(wq_job_record, first_dead_ms, 304);
WQ_AT(wq_job_record, packing, 312);
WQ_AT(wq_job_record, plain_bytes, 316);

WQ_SIZE(wq_repair_finding, 96);
WQ_AT(wq_repair_finding, struct_size, 0);
WQ_AT(wq_repair_finding, kind, 4);
WQ_AT(wq_repair_finding, state, 8);
WQ_AT(wq_repair_finding, reserved_0, 12);
WQ_AT(wq_repair_finding, offset, 16);
WQ_AT(wq_repair_finding, first_lsn, 24);
WQ_AT(wq_repair_finding, last_lsn, 32);
WQ_AT(wq_repair_finding, count, 40);
WQ_AT(wq_repair_finding, where, 48);
WQ_AT(wq_repair_finding, queue, 64);
WQ_AT(wq_repair_finding, what, 80);

WQ_SIZE(wq_repair_report, 56);
WQ_AT(wq_repair_report, struct_size, 0);
WQ_AT(wq_repair_report, reserved_0, 4);
WQ_AT(wq_repair_report, damages, 8);
WQ_AT(wq_repair_report, jobs_found, 16);
WQ_AT(wq_repair_report, jobs_lost, 24);
WQ_AT(wq_repair_report, jobs_uncertain, 32);
WQ_AT(wq_repair_report, records, 40);
WQ_AT(wq_repair_report, records_missing, 48);

WQ_SIZE(wq_kv_record, 48);
WQ_AT(wq_kv_record, struct_size, 0);
WQ_AT(wq_kv_record, reserved_0, 4);
WQ_AT(wq_kv_record, expires_ms, 8);
WQ_AT(wq_kv_record, key, 16);
WQ_AT(wq_kv_record, value, 32);

WQ_SIZE(wq_export_item, 40);
WQ_AT(wq_export_item, struct_size, 0);
WQ_AT(wq_export_item, reserved_0, 4);
WQ_AT(wq_export_item, store, 8);
WQ_AT(wq_export_item, queue, 16);
WQ_AT(wq_export_item, job, 24);
WQ_AT(wq_export_item, kv, 32);

WQ_SIZE(wq_kv_options, 40);
WQ_AT(wq_kv_options, struct_size, 0);
WQ_AT(wq_kv_options, flags, 4);
WQ_AT(wq_kv_options, ttl_ms, 8);
WQ_AT(wq_kv_options, version, 16);
WQ_AT(wq_kv_options, value, 24);

WQ_SIZE(wq_kv_query, 40);
WQ_AT(wq_kv_query, struct_size, 0);
WQ_AT(wq_kv_query, limit, 4);
WQ_AT(wq_kv_query, prefix, 8);
WQ_AT(wq_kv_query, after, 24);

WQ_SIZE(wq_kv_row, 56);
WQ_AT(wq_kv_row, struct_size, 0);
WQ_AT(wq_kv_row, reserved_0, 4);
WQ_AT(wq_kv_row, version, 8);
WQ_AT(wq_kv_row, expires_ms, 16);
WQ_AT(wq_kv_row, key, 24);
WQ_AT(wq_kv_row, value, 40);

WQ_SIZE(wq_txn_op, 80);
WQ_AT(wq_txn_op, struct_size, 0);
WQ_AT(wq_txn_op, kind, 4);
WQ_AT(wq_txn_op, queue, 8);
WQ_AT(wq_txn_op, spec, 16);
WQ_AT(wq_txn_op, settle, 24);
WQ_AT(wq_txn_op, key, 32);
WQ_AT(wq_txn_op, value, 48);
WQ_AT(wq_txn_op, delta, 64);
WQ_AT(wq_txn_op, options, 72);

WQ_SIZE(wq_txn_result, 24);
WQ_AT(wq_txn_result, struct_size, 0);
WQ_AT(wq_txn_result, code, 4);
WQ_AT(wq_txn_result, job_id, 8);
WQ_AT(wq_txn_result, sum, 16);

WQ_SIZE(wq_event_cursor, 32);
WQ_AT(wq_event_cursor, struct_size, 0);
WQ_AT(wq_event_cursor, flags, 4);
WQ_AT(wq_event_cursor, epoch, 8);
WQ_AT(wq_event_cursor, sequence, 16);
WQ_AT(wq_event_cursor, dropped, 24);

WQ_SIZE(wq_store_event, 336);
WQ_AT(wq_store_event, struct_size, 0);
WQ_AT(wq_store_event, kind, 4);
WQ_AT(wq_store_event, sequence, 8);
WQ_AT(wq_store_event, lsn, 16);
WQ_AT(wq_store_event, at_ms, 24);
WQ_AT(wq_store_event, time_ms, 32);
WQ_AT(wq_store_event, job_id, 40);
WQ_AT(wq_store_event, generation, 48);
WQ_AT(wq_store_event, count, 56);
WQ_AT(wq_store_event, attempt, 64);
WQ_AT(wq_store_event, dead_reason, 68);
WQ_AT(wq_store_event, queue_name_len, 72);
WQ_AT(wq_store_event, reserved_0, 76);
WQ_AT(wq_store_event, queue_name, 80);

WQ_SIZE(wq_queue_error, 296);
WQ_AT(wq_queue_error, struct_size, 0);
WQ_AT(wq_queue_error, kind, 4);
WQ_AT(wq_queue_error, at_ms, 8);
WQ_AT(wq_queue_error, job_id, 16);
WQ_AT(wq_queue_error, generation, 24);
WQ_AT(wq_queue_error, attempt, 32);
WQ_AT(wq_queue_error, text_len, 36);
WQ_AT(wq_queue_error, text, 40);

WQ_SIZE(wq_job_explanation, 88);
WQ_AT(wq_job_explanation, struct_size, 0);
WQ_AT(wq_job_explanation, state, 4);
WQ_AT(wq_job_explanation, causes, 8);
WQ_AT(wq_job_explanation, dead_reason, 12);
WQ_AT(wq_job_explanation, until_ms, 16);
WQ_AT(wq_job_explanation, ahead, 24);
WQ_AT(wq_job_explanation, ahead_exact, 32);
WQ_AT(wq_job_explanation, queue_status, 36);
WQ_AT(wq_job_explanation, slots_taken, 40);
WQ_AT(wq_job_explanation, slots_max, 48);
WQ_AT(wq_job_explanation, consumers_waiting, 56);
WQ_AT(wq_job_explanation, holder_id, 64);
WQ_AT(wq_job_explanation, holder_generation, 72);
WQ_AT(wq_job_explanation, holder_age_ms, 80);

WQ_SIZE(wq_queue_explanation, 128);
WQ_AT(wq_queue_explanation, struct_size, 0);
WQ_AT(wq_queue_explanation, status, 4);
WQ_AT(wq_queue_explanation, causes, 8);
WQ_AT(wq_queue_explanation, reserved_0, 12);
WQ_AT(wq_queue_explanation, leasable, 16);
WQ_AT(wq_queue_explanation, oldest_ready_age_ms, 24);
WQ_AT(wq_queue_explanation, slots_taken, 32);
WQ_AT(wq_queue_explanation, slots_max, 40);
WQ_AT(wq_queue_explanation, consumers_waiting, 48);
WQ_AT(wq_queue_explanation, holder_id, 56);
WQ_AT(wq_queue_explanation, holder_generation, 64);
WQ_AT(wq_queue_explanation, holder_age_ms, 72);
WQ_AT(wq_queue_explanation, enqueue_rate_1m, 80);
WQ_AT(wq_queue_explanation, enqueue_rate_5m, 88);
WQ_AT(wq_queue_explanation, lease_rate_1m, 96);
WQ_AT(wq_queue_explanation, lease_rate_5m, 104);
WQ_AT(wq_queue_explanation, ack_rate_1m, 112);
WQ_AT(wq_queue_explanation, ack_rate_5m, 120);

WQ_SIZE(wq_key_use, 24);
WQ_AT(wq_key_use, struct_size, 0);
WQ_AT(wq_key_use, id, 4);
WQ_AT(wq_key_use, jobs, 8);
WQ_AT(wq_key_use, flags, 16);
WQ_AT(wq_key_use, reserved_0, 20);
