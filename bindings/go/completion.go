package wq

// The completion queue of a store: one poller goroutine that tells every goroutine which waits for
// durability. It sleeps on the runtime's network poller (through a copy of the eventfd), so neither
// it nor those who wait hold a thread.

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	eventsPerPoll      = 512
	blockingPollMillis = 1000
)

// completion is one change under way. Told once: code first, then the channel.
type completion struct {
	told chan struct{} // one place; closed instead if many may wait
	many bool
	code int32
}

var completions = sync.Pool{New: func() any { return &completion{told: make(chan struct{}, 1)} }}

func (c *completion) tell(code int32) {
	c.code = code
	if c.many {
		close(c.told)
	} else {
		c.told <- struct{}{}
	}
}

// completionTable maps the user_data of calls to those who wait. A number is an index and how often
// the place was used, so that it never means two changes.
type completionTable struct {
	mu     sync.Mutex
	places []completionPlace
	free   []uint32
	open   int
}

type completionPlace struct {
	use     uint32
	waiting *completion
}

func (t *completionTable) add(c *completion) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var index uint32
	if n := len(t.free); n > 0 {
		index = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		index = uint32(len(t.places))
		t.places = append(t.places, completionPlace{})
	}
	place := &t.places[index]
	place.use++
	place.waiting = c
	t.open++
	return uint64(place.use)<<32 | uint64(index)
}

// take removes who waits under a number; nil if nobody does.
func (t *completionTable) take(number uint64) *completion {
	t.mu.Lock()
	defer t.mu.Unlock()
	index, use := uint32(number), uint32(number>>32)
	if int(index) >= len(t.places) || t.places[index].use != use {
		return nil
	}
	c := t.places[index].waiting
	if c != nil {
		t.places[index].waiting = nil
		t.free = append(t.free, index)
		t.open--
	}
	return c
}

// takeAll removes everybody.
func (t *completionTable) takeAll() []*completion {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*completion
	for i := range t.places {
		if c := t.places[i].waiting; c != nil {
			all = append(all, c)
			t.places[i].waiting = nil
			t.free = append(t.free, uint32(i))
		}
	}
	t.open = 0
	return all
}

// completer owns the completion queue and its poller.
type completer struct {
	cq     *C.wq_cq
	table  completionTable
	file   *os.File // a copy of the eventfd
	events []C.wq_event
	done   chan struct{} // closed when the poller has ended
}

func openCompleter(store *C.wq_store) (*completer, error) {
	a := getArena()
	defer a.put()
	slot := one[*C.wq_cq](a)
	if code := C.wq_cq_open(store, slot, &a.frame.err); code != C.WQ_OK {
		return nil, newError("open", &a.frame.err)
	}
	c := &completer{cq: *slot, done: make(chan struct{})}
	fd, err := syscall.Dup(int(C.wq_cq_eventfd(c.cq)))
	if err != nil {
		C.wq_cq_close(slot)
		return nil, &Error{Op: "open", Code: ErrIO, Message: "no file descriptor", Errno: err.(syscall.Errno)}
	}
	syscall.CloseOnExec(fd)
	c.file = os.NewFile(uintptr(fd), "wq completion queue")
	bytes := C.size_t(eventsPerPoll * C.sizeof_wq_event)
	c.events = unsafe.Slice((*C.wq_event)(mustMalloc(uintptr(bytes))), eventsPerPoll)
	go c.run()
	return c, nil
}

// run tells arrivals until the store is closed and close has set the deadline.
func (c *completer) run() {
	defer close(c.done)
	raw, err := c.file.SyscallConn()
	if err == nil {
		err = raw.Read(func(uintptr) bool { return !c.drain(0) })
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		for c.drain(blockingPollMillis) { // the descriptor can not be polled: with a thread then
		}
	}
	c.drain(0)
}

// drain tells all that has arrived, and waits for the first; false when the queue has ended.
func (c *completer) drain(waitMillis C.int64_t) bool {
	a := getArena()
	defer a.put()
	for {
		code := C.wq_cq_poll(c.cq, &c.events[0], eventsPerPoll, C.sizeof_wq_event,
			waitMillis, &a.frame.count, nil)
		if code != C.WQ_OK {
			return code == C.WQ_EMPTY
		}
		for i := range c.events[:a.frame.count] {
			event := &c.events[i]
			if waiting := c.table.take(uint64(event.user_data)); waiting != nil {
				waiting.tell(int32(event.code))
			}
		}
	}
}

// close ends the poller when the store is closed. Everybody is told: by the last events of the
// store, or that it is closed.
func (c *completer) close() {
	_ = c.file.SetReadDeadline(time.Unix(1, 0))
	<-c.done
	_ = c.file.Close()
	a := getArena()
	defer a.put()
	slot := one[*C.wq_cq](a)
	*slot = c.cq
	C.wq_cq_close(slot)
	for _, waiting := range c.table.takeAll() {
		waiting.tell(int32(ErrClosed))
	}
	C.free(unsafe.Pointer(&c.events[0]))
}

// Pending is a change whose durability is still under way. Give its address to a changing call as
// an option: the call returns as soon as the change is made, with its result, and Wait tells when
// the durability asked for is reached. One Pending serves one call; the zero value is ready.
type Pending struct {
	op   string
	lsn  uint64
	done *completion // nil: nothing was written, or it is durable
}

// Done returns a channel that is closed when Wait would not wait.
func (p *Pending) Done() <-chan struct{} {
	if p.done == nil {
		return closedChannel
	}
	return p.done.told
}

// LSN returns the number of the change in the log; 0 if the call changed nothing.
func (p *Pending) LSN() uint64 { return p.lsn }

// Wait waits until the change is durable. An error of the store means that it may be or may not be.
// When ctx ends first, the error is an *UncertainError, and Wait may be called again.
func (p *Pending) Wait(ctx context.Context) error {
	if p.done == nil {
		return nil
	}
	select {
	case <-p.done.told:
		return arrivalError(p.op, p.done.code)
	default:
	}
	select {
	case <-p.done.told:
		return arrivalError(p.op, p.done.code)
	case <-ctx.Done():
		return &UncertainError{Op: p.op, LSN: p.lsn, Err: ctx.Err()}
	}
}

func arrivalError(op string, code int32) error {
	if code >= 0 {
		return nil
	}
	return codeError(op, Code(code), "the change was made, but may not have become durable")
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
