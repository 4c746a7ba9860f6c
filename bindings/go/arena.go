package wq

// Memory of C for the arguments of one call. Structs of wq.h hold pointers, which Go memory that
// crosses into C may not; so they are built in memory of C. Small bytes are copied there, large ones
// are pinned where they are. An arena belongs to one call at a time and is pooled.

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"time"
	"unsafe"
)

const (
	arenaFirstBytes = 4 << 10
	arenaKeptBytes  = 1 << 20 // a larger one is not kept between calls
	arenaBlockBytes = 4 << 20 // blocks beside it grow up to here
	arenaAlign      = 16
	callsPerLook    = 16 // at the clock
	yieldAfter      = 3 * time.Millisecond
	specsFirst      = 16
	specsKept       = 1024     // of more the array is made for the call
	copiedBytesMax  = 32 << 10 // longer slices are pinned instead
)

type arena struct {
	frame  *C.wqgo_frame
	base   unsafe.Pointer // kept between calls
	size   uintptr
	block  unsafe.Pointer // what is handed out of: base, or the last of spills
	room   uintptr        // bytes of the block
	used   uintptr
	wanted uintptr          // bytes asked for by this call: the size of the next base
	spills []unsafe.Pointer // blocks of this call beside the base
	pinner runtime.Pinner
	pinned bool
	jobs   *C.wqgo_jobs
	rows   *C.wqgo_rows

	// Specs for the jobs of an enqueue. Between calls all is zero but struct_size and payload, which
	// are written anew by each call, so that jobs without options need no clearing of 296 bytes each.
	specs     []C.wq_job_spec
	specsUsed int  // by this call
	optioned  bool // some have more, by this call

	calls   uint32        // since the arena was made
	yielded time.Duration // when yield last let others run, since the start of the program
}

var started = time.Now()

var arenas = sync.Pool{New: func() any {
	a := &arena{frame: (*C.wqgo_frame)(mustMalloc(C.sizeof_wqgo_frame))}
	*a.frame = C.wqgo_frame{}
	a.frame.err.struct_size = C.sizeof_wq_error
	a.frame.call.struct_size = C.sizeof_wq_call
	a.base, a.size = mustMalloc(arenaFirstBytes), arenaFirstBytes
	a.block, a.room = a.base, a.size
	runtime.SetFinalizer(a, (*arena).destroy)
	return a
}}

func mustMalloc(n uintptr) unsafe.Pointer { return C.malloc(C.size_t(n)) } // cgo stops when it is out

// getArena returns an arena with an empty frame; free it with put.
func getArena() *arena {
	a := arenas.Get().(*arena)
	call := &a.frame.call
	call.durability, call.cq, call.user_data, call.lsn = 0, nil, 0, 0
	a.frame.number, a.frame.sum, a.frame.count, a.frame.flag = 0, 0, 0, 0
	return a
}

func (a *arena) put() {
	if a.pinned {
		a.pinner.Unpin()
		a.pinned = false
	}
	if a.optioned {
		clear(a.specs[:a.specsUsed])
		a.optioned = false
	}
	a.specsUsed = 0
	for _, block := range a.spills {
		C.free(block)
	}
	a.spills = a.spills[:0]
	if a.jobs != nil && a.jobs.batch != nil {
		C.wqgo_jobs_drop(a.jobs)
	}
	if a.rows != nil && a.rows.page != nil {
		C.wqgo_rows_drop(a.rows)
	}
	if a.wanted > a.size && a.size < arenaKeptBytes {
		C.free(a.base)
		a.size = min(2*a.wanted, arenaKeptBytes)
		a.base = mustMalloc(a.size)
	}
	a.block, a.room, a.used, a.wanted = a.base, a.size, 0, 0
	arenas.Put(a)
}

// yield lets other goroutines run every few ms. The runtime takes a goroutine that was on its
// processor for 10 ms, and is inside C when it looks, for one that blocks there: it takes the
// processor away, starts a thread for it, and for some ms looks again every 20 us.
func (a *arena) yield() {
	if a.calls++; a.calls%callsPerLook != 0 {
		return
	}
	if now := time.Since(started); now-a.yielded > yieldAfter {
		a.yielded = now
		runtime.Gosched()
	}
}

func (a *arena) destroy() {
	C.free(unsafe.Pointer(a.frame))
	C.free(a.base)
	C.wqgo_jobs_free(a.jobs)
	C.wqgo_rows_free(a.rows)
	C.free(unsafe.Pointer(unsafe.SliceData(a.specs)))
}

// raw returns n bytes that are not cleared.
func (a *arena) raw(n uintptr) unsafe.Pointer {
	n = (n + arenaAlign - 1) &^ (arenaAlign - 1)
	a.wanted += n
	if n > a.room-a.used {
		a.room, a.used = max(n, min(2*a.room, arenaBlockBytes)), 0
		a.block = mustMalloc(a.room)
		a.spills = append(a.spills, a.block)
	}
	p := unsafe.Add(a.block, a.used)
	a.used += n
	return p
}

// alloc returns n elements of T in memory of C, cleared.
func alloc[T any](a *arena, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	s := unsafe.Slice((*T)(a.raw(unsafe.Sizeof(zero)*uintptr(n))), n)
	clear(s)
	return s
}

func one[T any](a *arena) *T { return &alloc[T](a, 1)[0] }

// jobSpecs returns n specs for fill: all zero, but for struct_size and payload.
func (a *arena) jobSpecs(n int) []C.wq_job_spec {
	if n > specsKept {
		return alloc[C.wq_job_spec](a, n)
	}
	if n > len(a.specs) {
		C.free(unsafe.Pointer(unsafe.SliceData(a.specs)))
		n := max(n, min(2*len(a.specs), specsKept), specsFirst)
		a.specs = unsafe.Slice((*C.wq_job_spec)(mustMalloc(uintptr(n)*C.sizeof_wq_job_spec)), n)
		clear(a.specs)
	}
	a.specsUsed = n
	return a.specs[:n]
}

// bytes makes b readable for C until put.
func (a *arena) bytes(b []byte) C.wq_bytes {
	if len(b) == 0 {
		return C.wq_bytes{}
	}
	if len(b) > copiedBytesMax {
		a.pinner.Pin(&b[0])
		a.pinned = true
		return C.wq_bytes{data: unsafe.Pointer(&b[0]), len: C.size_t(len(b))}
	}
	p := a.raw(uintptr(len(b)))
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	return C.wq_bytes{data: p, len: C.size_t(len(b))}
}

func (a *arena) str(s string) C.wq_bytes {
	return a.bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// cString returns a C string; one with a NUL inside is cut there by C, so callers check.
func (a *arena) cString(s string) *C.char {
	p := (*byte)(a.raw(uintptr(len(s)) + 1))
	b := unsafe.Slice(p, len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return (*C.char)(unsafe.Pointer(p))
}

func (a *arena) headers(h []Header) (*C.wq_header, C.size_t) {
	if len(h) == 0 {
		return nil, 0
	}
	list := alloc[C.wq_header](a, len(h))
	for i := range h {
		list[i].name = a.str(h[i].Name)
		list[i].value = a.bytes(h[i].Value)
	}
	return &list[0], C.size_t(len(h))
}

func (a *arena) times(list []time.Duration) (*C.int64_t, C.uint32_t) {
	if len(list) == 0 {
		return nil, 0
	}
	out := alloc[C.int64_t](a, len(list))
	for i, d := range list {
		out[i] = millis(d)
	}
	return &out[0], C.uint32_t(len(list))
}

func (a *arena) jobsOut() *C.wqgo_jobs {
	if a.jobs == nil {
		a.jobs = (*C.wqgo_jobs)(mustMalloc(C.sizeof_wqgo_jobs))
		*a.jobs = C.wqgo_jobs{}
	}
	return a.jobs
}

func (a *arena) rowsOut() *C.wqgo_rows {
	if a.rows == nil {
		a.rows = (*C.wqgo_rows)(mustMalloc(C.sizeof_wqgo_rows))
		*a.rows = C.wqgo_rows{}
	}
	return a.rows
}

// millis rounds away from zero, so that no wait becomes none and -1ns means for ever.
func millis(d time.Duration) C.int64_t {
	ms := d / time.Millisecond
	switch rest := d % time.Millisecond; {
	case rest > 0:
		ms++
	case rest < 0:
		ms--
	}
	return C.int64_t(ms)
}

// unixMillis maps the zero time to 0, none. The very start of 1970 is told as 1.
func unixMillis(t time.Time) C.int64_t {
	if t.IsZero() {
		return 0
	}
	if ms := t.UnixMilli(); ms != 0 {
		return C.int64_t(ms)
	}
	return 1
}

func fromMillis(ms C.int64_t) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

func duration(ms C.int64_t) time.Duration { return time.Duration(ms) * time.Millisecond }

// goBytes copies a view; nil if it is empty.
func goBytes(b C.wq_bytes) []byte {
	if b.len == 0 {
		return nil
	}
	return append(make([]byte, 0, b.len), unsafe.Slice((*byte)(b.data), b.len)...)
}

func goString(b C.wq_bytes) string {
	if b.len == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(b.data), b.len))
}

// number refuses what the C type of a field can not hold, as the library would.
func number(op, field string, n int) (C.uint32_t, error) {
	if n < 0 || n > 1<<32-1 {
		return 0, codeError(op, ErrInvalid, field+" is out of range")
	}
	return C.uint32_t(n), nil
}
