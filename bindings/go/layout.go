package wq

// The structs of wq.h as this package was compiled with, for the test that holds them against the
// description of the header in bindings/api.

// #include "shim.h"
import "C"

import "reflect"

// layouts are the structs that cross, by their names in C.
func layouts() map[string]reflect.Type {
	return map[string]reflect.Type{
		"wq_backup_options":    reflect.TypeFor[C.wq_backup_options](),
		"wq_backup_report":     reflect.TypeFor[C.wq_backup_report](),
		"wq_bytes":             reflect.TypeFor[C.wq_bytes](),
		"wq_call":              reflect.TypeFor[C.wq_call](),
		"wq_cron":              reflect.TypeFor[C.wq_cron](),
		"wq_cron_spec":         reflect.TypeFor[C.wq_cron_spec](),
		"wq_dead_filter":       reflect.TypeFor[C.wq_dead_filter](),
		"wq_dead_query":        reflect.TypeFor[C.wq_dead_query](),
		"wq_dead_report":       reflect.TypeFor[C.wq_dead_report](),
		"wq_done_job":          reflect.TypeFor[C.wq_done_job](),
		"wq_enqueued":          reflect.TypeFor[C.wq_enqueued](),
		"wq_error":             reflect.TypeFor[C.wq_error](),
		"wq_event":             reflect.TypeFor[C.wq_event](),
		"wq_event_cursor":      reflect.TypeFor[C.wq_event_cursor](),
		"wq_flow_options":      reflect.TypeFor[C.wq_flow_options](),
		"wq_flow_status":       reflect.TypeFor[C.wq_flow_status](),
		"wq_header":            reflect.TypeFor[C.wq_header](),
		"wq_job":               reflect.TypeFor[C.wq_job](),
		"wq_job_explanation":   reflect.TypeFor[C.wq_job_explanation](),
		"wq_job_spec":          reflect.TypeFor[C.wq_job_spec](),
		"wq_key":               reflect.TypeFor[C.wq_key](),
		"wq_key_use":           reflect.TypeFor[C.wq_key_use](),
		"wq_kv_options":        reflect.TypeFor[C.wq_kv_options](),
		"wq_kv_query":          reflect.TypeFor[C.wq_kv_query](),
		"wq_kv_row":            reflect.TypeFor[C.wq_kv_row](),
		"wq_lease_options":     reflect.TypeFor[C.wq_lease_options](),
		"wq_nack_options":      reflect.TypeFor[C.wq_nack_options](),
		"wq_next_job":          reflect.TypeFor[C.wq_next_job](),
		"wq_queue_config":      reflect.TypeFor[C.wq_queue_config](),
		"wq_queue_error":       reflect.TypeFor[C.wq_queue_error](),
		"wq_queue_explanation": reflect.TypeFor[C.wq_queue_explanation](),
		"wq_queue_stats":       reflect.TypeFor[C.wq_queue_stats](),
		"wq_recovery":          reflect.TypeFor[C.wq_recovery](),
		"wq_settle_item":       reflect.TypeFor[C.wq_settle_item](),
		"wq_store_event":       reflect.TypeFor[C.wq_store_event](),
		"wq_store_options":     reflect.TypeFor[C.wq_store_options](),
		"wq_store_stats":       reflect.TypeFor[C.wq_store_stats](),
		"wq_token":             reflect.TypeFor[C.wq_token](),
		"wq_txn_op":            reflect.TypeFor[C.wq_txn_op](),
		"wq_txn_result":        reflect.TypeFor[C.wq_txn_result](),
		"wq_verify_report":     reflect.TypeFor[C.wq_verify_report](),
	}
}
