package wq

// Keys that payloads are sealed with. What is sealed and what is not stands in wq.h at ENCRYPTION.

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// Key is a key of AES-256-GCM: 32 random bytes, not made of a password, under a number of yours,
// which is stored with each payload. A store copies the bytes when it is opened and wipes its copy
// when it is closed; those here stay the caller's to wipe.
type Key struct {
	ID    uint32 // 1 and up
	Bytes []byte // 32
}

// fillKeys puts the keys into memory that the returned function wipes.
func (o *Options) fillKeys(a *arena, c *C.wq_store_options) (wipe func(), err error) {
	c.current_key = C.uint32_t(o.CurrentKey)
	if len(o.Keys) == 0 {
		return func() {}, nil
	}
	if len(o.Keys) > 1000 {
		return func() {}, codeError("open", ErrTooLarge, "more than 1,000 keys")
	}
	for _, key := range o.Keys {
		if len(key.Bytes) != 32 {
			return func() {}, codeError("open", ErrInvalid, "a key has not 32 bytes")
		}
	}
	list := alloc[C.wq_key](a, len(o.Keys))
	for i, key := range o.Keys {
		list[i].id, list[i].bytes = C.uint32_t(key.ID), a.bytes(key.Bytes)
	}
	c.keys, c.keys_count = &list[0], C.size_t(len(list))
	return func() {
		for _, key := range list {
			clear(unsafe.Slice((*byte)(key.bytes.data), key.bytes.len))
		}
	}, nil
}

// KeyUse is a key that the store was given, or that something in it is sealed with.
type KeyUse struct {
	ID       uint32
	Payloads uint64 // payloads and results that it has sealed; some may be gone since just now
	Known    bool   // the store was opened with it
	Current  bool   // new payloads are sealed with it
}

// Keys tells which keys the store has and needs, by ID. To rotate, open the store with a new key as
// the current one, and keep the old one until Payloads of it is 0. It does a checkpoint and reads all
// that is stored.
func (s *Store) Keys(ctx context.Context) ([]KeyUse, error) {
	a := getArena()
	defer a.put()
	for room := 16; ; {
		uses := alloc[C.wq_key_use](a, room)
		for i := range uses {
			uses[i].struct_size = C.sizeof_wq_key_use
		}
		_, err := s.core.read(ctx, "keys", a, func(f *C.wqgo_frame) C.int32_t {
			return C.wq_store_get_keys(s.core.handle, &uses[0], C.size_t(room), C.sizeof_wq_key_use, &f.count,
				&f.err)
		})
		if err != nil {
			return nil, err
		}
		count := int(a.frame.count)
		if count > room {
			room = count
			continue
		}
		keys := make([]KeyUse, count)
		for i, use := range uses[:count] {
			keys[i] = KeyUse{ID: uint32(use.id), Payloads: uint64(use.payloads),
				Known: use.flags&C.WQ_KEY_KNOWN != 0, Current: use.flags&C.WQ_KEY_CURRENT != 0}
		}
		return keys, nil
	}
}
