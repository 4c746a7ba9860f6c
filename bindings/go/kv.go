package wq

// Key-value rows: small values in the same log as the jobs. And locks, which are rows.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"time"
	"unsafe"
)

// KV is the key-value rows of a store. Keys are any bytes.
type KV struct{ s *Store }

// KV returns the key-value rows of the store.
func (s *Store) KV() KV { return KV{s} }

// Row is a copy of a row.
type Row struct {
	Key     string
	Value   []byte
	Version uint64    // LSN of its last change: another one means that it was changed
	Expires time.Time // when it will be gone; zero: never
}

// RowOptions are the condition and the life of a row. The zero value: no condition, for ever.
type RowOptions struct {
	TTL       time.Duration // Put, and Add where there is no row yet: gone after this time; 0: never
	IfAbsent  bool          // only if there is no such row
	IfVersion *uint64       // only if it has this version
	IfValue   []byte        // not nil: only if it has this value
}

func (o *RowOptions) fill(a *arena) *C.wq_kv_options {
	c := one[C.wq_kv_options](a)
	c.struct_size = C.sizeof_wq_kv_options
	c.ttl_ms = millis(o.TTL)
	if o.IfAbsent {
		c.flags |= C.WQ_KV_IF_ABSENT
	}
	if o.IfVersion != nil {
		c.flags |= C.WQ_KV_IF_VERSION
		c.version = C.uint64_t(*o.IfVersion)
	}
	if o.IfValue != nil {
		c.flags |= C.WQ_KV_IF_VALUE
		c.value = a.bytes(o.IfValue)
	}
	return c
}

// Get reads one row. found is false if there is none.
func (kv KV) Get(ctx context.Context, key string) (row Row, found bool, err error) {
	a := getArena()
	defer a.put()
	k := a.str(key)
	outcome, err := kv.s.core.read(ctx, "kv_get", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wqgo_kv_get(kv.s.core.handle, k.data, k.len, a.rowsOut(), &f.err)
	})
	if err != nil {
		return Row{}, false, err
	}
	switch outcome {
	case OK:
		return readRow(a.rows.rows), true, nil
	case Empty:
		return Row{}, false, nil
	}
	return Row{}, false, importError("kv_get")
}

func importError(op string) error {
	return codeError(op, ErrUnsupported, "the store has an unfinished import")
}

func readRow(c *C.wq_kv_row) Row {
	row := Row{Key: goString(c.key), Value: goBytes(c.value), Version: uint64(c.version),
		Expires: fromMillis(c.expires_ms)}
	if row.Value == nil {
		row.Value = []byte{}
	}
	return row
}

// Put writes a row: new, or in place of the one that is there, with the TTL of this call. It returns
// the version of the new row. Outcomes: OK; Conflict (the condition does not hold).
func (kv KV) Put(ctx context.Context, key string, value []byte, o RowOptions, opts ...CallOption) (uint64, Outcome, error) {
	a := getArena()
	defer a.put()
	k, v, options := a.str(key), a.bytes(value), o.fill(a)
	r, err := kv.s.core.change(ctx, "kv_put", kv.s.core.producers, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_kv_put(kv.s.core.handle, k.data, k.len, v.data, v.len, options, &f.call, &f.number,
			&f.err)
	})
	return uint64(a.frame.number), r.outcome, err
}

// Add adds to a counter, a row whose value is a whole number in decimal; one that is not there counts
// as 0 and gets the TTL. It returns the new value. Outcomes: OK; Conflict (no number, the sum does
// not fit, or the condition does not hold).
func (kv KV) Add(ctx context.Context, key string, delta int64, o RowOptions, opts ...CallOption) (int64, Outcome, error) {
	a := getArena()
	defer a.put()
	k, options := a.str(key), o.fill(a)
	r, err := kv.s.core.change(ctx, "kv_add", kv.s.core.producers, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_kv_add(kv.s.core.handle, k.data, k.len, C.int64_t(delta), options, &f.call, &f.sum,
			&f.err)
	})
	return int64(a.frame.sum), r.outcome, err
}

// Erase removes a row. Outcomes: OK; Empty (no such row); Conflict (the condition does not hold).
func (kv KV) Erase(ctx context.Context, key string, o RowOptions, opts ...CallOption) (Outcome, error) {
	return kv.s.outcome(ctx, "kv_erase", kv.s.core.others, Power, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		k, options := a.str(key), o.fill(a)
		return C.wq_kv_erase(kv.s.core.handle, k.data, k.len, options, &f.call, &f.err)
	})
}

// List returns a page of up to `limit` rows (0: 100; up to 1,000) whose keys begin with `prefix` and
// are behind `after`, in the order of the bytes of their keys; more tells whether there are more.
func (kv KV) List(ctx context.Context, prefix, after string, limit int) (page []Row, more bool, err error) {
	const op = "kv_list"
	a := getArena()
	defer a.put()
	query := one[C.wq_kv_query](a)
	query.struct_size = C.sizeof_wq_kv_query
	query.prefix, query.after = a.str(prefix), a.str(after)
	if query.limit, err = number(op, "limit", limit); err != nil {
		return nil, false, err
	}
	outcome, err := kv.s.core.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wqgo_kv_list(kv.s.core.handle, query, a.rowsOut(), &f.flag, &f.err)
	})
	if err != nil || outcome == Empty {
		return nil, false, err
	}
	if outcome != OK {
		return nil, false, importError(op)
	}
	rows := unsafe.Slice(a.rows.rows, a.rows.count)
	page = make([]Row, len(rows))
	for i := range rows {
		page[i] = readRow(&rows[i])
	}
	return page, a.frame.flag != 0, nil
}

// All yields the rows whose keys begin with `prefix`, page by page.
func (kv KV) All(ctx context.Context, prefix string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		after := ""
		for {
			page, more, err := kv.List(ctx, prefix, after, 0)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
				after = row.Key
			}
			if !more {
				return
			}
		}
	}
}

// Lock takes the lock `key` for ttl (0: until it is released). The owner, any token that nobody else
// uses, gets it again for this time from now on. Outcomes: OK; Conflict (another owner has it).
func (s *Store) Lock(ctx context.Context, key, owner string, ttl time.Duration, opts ...CallOption) (Outcome, error) {
	return s.outcome(ctx, "lock_take", s.core.producers, Process, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		k, o := a.str(key), a.str(owner)
		return C.wq_lock_take(s.core.handle, k.data, k.len, o.data, o.len, millis(ttl), &f.call, &f.err)
	})
}

// ExtendLock keeps the lock for ttl from now on. Outcomes: OK; Stale (the owner does not have it).
func (s *Store) ExtendLock(ctx context.Context, key, owner string, ttl time.Duration, opts ...CallOption) (Outcome, error) {
	return s.outcome(ctx, "lock_extend", s.core.producers, Process, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		k, o := a.str(key), a.str(owner)
		return C.wq_lock_extend(s.core.handle, k.data, k.len, o.data, o.len, millis(ttl), &f.call, &f.err)
	})
}

// Unlock gives the lock up. Outcomes: OK; Stale (the owner does not have it).
func (s *Store) Unlock(ctx context.Context, key, owner string, opts ...CallOption) (Outcome, error) {
	return s.outcome(ctx, "lock_release", s.core.others, Process, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		k, o := a.str(key), a.str(owner)
		return C.wq_lock_release(s.core.handle, k.data, k.len, o.data, o.len, &f.call, &f.err)
	})
}
