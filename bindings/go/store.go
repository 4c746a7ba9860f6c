package wq

// A store: opening, closing, and what concerns it as a whole.

// #cgo pkg-config: wq
// #cgo CFLAGS: -std=gnu11 -O2
// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options are for Open; the zero value takes every default.
type Options struct {
	NoCreate     bool // ErrNotFound if there is no store at the path
	ExpireLeases bool // leases of the time before are taken back at once
	// NoThreads makes the store run without threads of its own: Store.Tick drives everything, and
	// every call waits inside the library for its durability, with the thread of its goroutine.
	NoThreads bool

	IOThreads          bool          // a thread pool instead of io_uring
	SpareSegments      int           // zero-filled log segments kept ready; 0: 2; up to 64
	MemoryBudget       int64         // bytes of jobs held in memory; 0: 64 MiB; from 1 MiB
	PayloadMax         int64         // bytes; 0: 16 MiB; up to 256 MiB
	SegmentBytes       int64         // of the log; 0: 32 MiB; 16 KiB .. 1 GiB, a multiple of 4096
	CheckpointLogBytes int64         // log bytes that start a checkpoint; 0: 128 MiB
	DiskReserve        int64         // bytes; with less free enqueue answers ErrNoSpace; 0: 64 MiB
	MemoryWindow       time.Duration // bound of the loss window of Memory; 0: 50 ms; up to an hour
	EventsMax          int           // events kept for Store.Events; 0: none; up to 2^24
	Quota              int64         // bytes of all jobs; with more enqueue answers ErrFull; 0: none

	Keys       []Key  // all that payloads may be sealed with; see Store.Keys
	CurrentKey uint32 // ID of the one that seals new payloads; 0: none does

	// CallsMax bounds how many producing calls, and how many other ones, are inside the library at
	// once; further goroutines wait in Go. Each of them may hold a thread for as long as it waits
	// there for a lock, for room or for a disk. 0: 16 + 4 * GOMAXPROCS.
	CallsMax int
	// BlockedMax bounds how many calls wait inside the library for a job or an event, each with a
	// thread. Goroutines that wait for the same queues take one between them. When all are taken,
	// leases of still other queues look again every 5 to 100 ms instead. 0: 64.
	BlockedMax int
	// Logger gets what has no caller to be told to. nil: slog.Default().
	Logger *slog.Logger
}

// core is what queues, jobs and the poller need of a store. It does not refer to the Store, so that
// a Store that nobody has any more is found by its finalizer.
type core struct {
	handle    *C.wq_store
	gate      gate
	blocked   tokenSet
	completer *completer // nil with NoThreads
	producers slots      // calls that add to the store, and may have to wait for room
	others    slots
	waiting   slots // calls that wait inside for a job
	turns     turns
	logger    *slog.Logger
	closeOnce sync.Once
	closed    chan struct{} // closed when all is given back
}

// Store is an open store. All methods may be called by any goroutine, Close included.
type Store struct {
	core *core
	path string
}

var _ io.Closer = (*Store)(nil)

// Open opens the store in directory `path`, creating it if it is not there, and recovers from
// whatever happened before; Recovery tells what was found. nil options are all defaults. The
// directory is locked until Close: by anybody else it is ErrLocked.
func Open(path string, options *Options) (*Store, error) {
	if err := checkVersion(); err != nil {
		return nil, err
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, codeError("open", ErrInvalid, "path has a NUL byte")
	}
	if options == nil {
		options = &Options{}
	}
	c := newCore(options)
	if err := c.open(path, options); err != nil {
		return nil, err
	}
	if !options.NoThreads {
		completer, err := openCompleter(c.handle)
		if err != nil {
			c.close()
			return nil, err
		}
		c.completer = completer
	}
	s := &Store{core: c, path: path}
	runtime.SetFinalizer(s, func(s *Store) {
		s.core.logger.Warn("wq: a store was not closed", "path", s.path)
		go s.core.close()
	})
	return s, nil
}

// checkVersion compares the header that this package was compiled with and the library that runs.
func checkVersion() error {
	const compiled = C.WQ_VERSION_MAJOR<<8 | C.WQ_VERSION_MINOR
	if running := C.wq_version(); uint32(running)>>8 != compiled {
		return codeError("open", ErrVersion, fmt.Sprintf(
			"compiled with wq.h %d.%d.%d, but the library is %s: build again with its own header",
			C.WQ_VERSION_MAJOR, C.WQ_VERSION_MINOR, C.WQ_VERSION_PATCH, LibraryVersion()))
	}
	return nil
}

func newCore(options *Options) *core {
	calls, blocked := options.CallsMax, options.BlockedMax
	if calls <= 0 {
		calls = 16 + 4*runtime.GOMAXPROCS(0)
	}
	if blocked <= 0 {
		blocked = 64
	}
	c := &core{
		gate:      gate{empty: make(chan struct{})},
		producers: make(slots, calls),
		others:    make(slots, calls),
		waiting:   make(slots, blocked),
		logger:    options.Logger,
		closed:    make(chan struct{}),
	}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	return c
}

func (c *core) open(path string, options *Options) error {
	a := getArena()
	defer a.put()
	o := one[C.wq_store_options](a)
	if err := options.fill(o); err != nil {
		return err
	}
	slot := one[*C.wq_store](a)
	wipe, err := options.fillKeys(a, o)
	defer wipe()
	if err != nil {
		return err
	}
	code := C.wq_store_open_abi(a.cString(path), o, C.WQ_ABI_VERSION, slot, &a.frame.err)
	if code != C.WQ_OK {
		return newError("open", &a.frame.err)
	}
	c.handle = *slot
	return nil
}

func (o *Options) fill(c *C.wq_store_options) error {
	c.struct_size = C.sizeof_wq_store_options
	if o.NoCreate {
		c.flags |= C.WQ_OPEN_NO_CREATE
	}
	if o.ExpireLeases {
		c.flags |= C.WQ_OPEN_EXPIRE_LEASES
	}
	if o.NoThreads {
		c.flags |= C.WQ_OPEN_NO_THREADS
	}
	if o.IOThreads {
		c.io_backend = C.WQ_IO_THREADS
	}
	for _, n := range []int64{o.MemoryBudget, o.PayloadMax, o.SegmentBytes, o.CheckpointLogBytes,
		o.DiskReserve, o.Quota} {
		if n < 0 {
			return codeError("open", ErrInvalid, "a size in the options is negative")
		}
	}
	var err error
	if c.spare_segments, err = number("open", "SpareSegments", o.SpareSegments); err != nil {
		return err
	}
	if c.events_max, err = number("open", "EventsMax", o.EventsMax); err != nil {
		return err
	}
	c.memory_budget_bytes = C.uint64_t(o.MemoryBudget)
	c.payload_bytes_max = C.uint64_t(o.PayloadMax)
	c.segment_bytes = C.uint64_t(o.SegmentBytes)
	c.checkpoint_log_bytes = C.uint64_t(o.CheckpointLogBytes)
	c.disk_reserve_bytes = C.uint64_t(o.DiskReserve)
	c.memory_window_ms = millis(o.MemoryWindow)
	c.quota_bytes = C.uint64_t(o.Quota)
	return nil
}

// close ends all waits, waits for the calls that are inside, flushes and gives everything back.
func (c *core) close() {
	c.closeOnce.Do(func() {
		defer close(c.closed)
		c.gate.shut()
		c.blocked.fireAll()
		<-c.gate.empty
		a := getArena()
		defer a.put()
		slot := one[*C.wq_store](a)
		*slot = c.handle
		C.wq_store_close(slot)
		if c.completer != nil {
			c.completer.close()
		}
	})
	<-c.closed
}

// Close ends the waits of all goroutines with ErrClosed, flushes everything and gives up the lock on
// the directory. Leases stay as they are and go on after the next Open. It never fails and may be
// called again. What can not be flushed is lost without a word: call Shutdown or Sync before if you
// want to know.
func (s *Store) Close() error {
	runtime.SetFinalizer(s, nil)
	s.core.close()
	return nil
}

// Path returns the directory as it was given to Open.
func (s *Store) Path() string { return s.path }

// Shutdown stops in an orderly way: no new leases from now on, also for those who wait in Lease
// (ErrClosed); then it waits until no job is leased or running, flushes and checkpoints. Enqueues
// and settles go on, so that running handlers can end. It can not be undone; Close follows.
// When ctx ends first the rest is done and the outcome is Timeout.
func (s *Store) Shutdown(ctx context.Context) (Outcome, error) {
	background := context.WithoutCancel(ctx)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		outcome, err := s.simple(background, "shutdown", func(a *arena) C.int32_t {
			return C.wq_store_shutdown(s.core.handle, 0, &a.frame.err)
		})
		if err != nil || outcome == OK || ctx.Err() != nil {
			return outcome, err
		}
		if err := s.untilDrained(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// untilDrained waits until no job is leased or running, or ctx ends.
func (s *Store) untilDrained(ctx context.Context, wait time.Duration) error {
	for {
		stats, err := s.Stats(context.WithoutCancel(ctx))
		if err != nil || stats.Leased+stats.Running == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
}

// simple is a call on the store with nothing but an outcome.
func (s *Store) simple(ctx context.Context, op string, do func(a *arena) C.int32_t) (Outcome, error) {
	a := getArena()
	defer a.put()
	return s.core.read(ctx, op, a, func(*C.wqgo_frame) C.int32_t { return do(a) })
}

// Sync flushes everything that was changed before the call, at whatever level, to Power.
func (s *Store) Sync(ctx context.Context) error {
	_, err := s.simple(ctx, "sync", func(a *arena) C.int32_t {
		return C.wq_store_sync(s.core.handle, &a.frame.err)
	})
	return err
}

// Checkpoint moves everything changed before the call to the settled state on disk. Never needed
// for safety; it shortens the next Open.
func (s *Store) Checkpoint(ctx context.Context) error {
	_, err := s.simple(ctx, "checkpoint", func(a *arena) C.int32_t {
		return C.wq_store_checkpoint(s.core.handle, &a.frame.err)
	})
	return err
}

// Tick does a bounded piece of maintenance, for stores opened with NoThreads; else it is
// ErrUnsupported. It returns how long nothing will be due: 0 means call again at once, -1 that
// nothing is planned.
func (s *Store) Tick(ctx context.Context) (time.Duration, error) {
	var next time.Duration
	_, err := s.simple(ctx, "tick", func(a *arena) C.int32_t {
		due := one[C.int64_t](a)
		code := C.wq_store_tick(s.core.handle, due, &a.frame.err)
		if next = duration(*due); *due < 0 {
			next = -1
		}
		return code
	})
	return next, err
}

const durableSlice = 50 * time.Millisecond

// WaitDurable waits until the change with this LSN has reached a level, Process or Power. It looks
// for at most 50 ms at a time, so that ctx can end it.
func (s *Store) WaitDurable(ctx context.Context, lsn uint64, level Durability) error {
	for {
		wait := durableSlice
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(deadline), 0))
		}
		outcome, err := s.simple(ctx, "wait_durable", func(a *arena) C.int32_t {
			return C.wq_store_wait_durable(s.core.handle, C.uint64_t(lsn), C.uint32_t(level),
				millis(wait), &a.frame.err)
		})
		if err != nil || outcome == OK {
			return err
		}
	}
}

// LibraryVersion returns the version of the library as text, "0.1.0".
func LibraryVersion() string { return C.GoString(C.wq_version_string()) }

// FormatVersion returns the version of the format on disk that the library writes.
func FormatVersion() uint32 { return uint32(C.wq_format_version()) }

// BuildInfo returns one line on how the library was built.
func BuildInfo() string { return C.GoString(C.wq_build_info()) }
