package wq

// The completion queue of a store, and who tells the goroutines that wait for durability. While one
// waits at a time, it polls the queue itself, with its thread: nobody has to be woken to wake it. As
// soon as several wait there is a poller goroutine for all. It sleeps on the runtime's network poller
// (through a copy of the eventfd), so that neither it nor those who wait hold a thread.

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	eventsPerPoll      = 512
	blockingPollMillis = 1000
	contextMillis      = 10   // how often a goroutine that polls looks at its context
	untoldMax          = 1024 // changes under way that nobody needs to wait for
)

// completion is one change under way. Told once: code first, then the channel.
type completion struct {
	told chan struct{} // one place; closed instead if many may wait
	many bool
	code int32
	from *completer
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

// reuse gives a completion back that nobody waits for, and nobody will tell.
func (c *completion) reuse() {
	if !c.many {
		c.from = nil
		completions.Put(c)
	}
}

func (c *completion) isTold() bool {
	if !c.many {
		return len(c.told) > 0
	}
	select {
	case <-c.told:
		return true
	default:
		return false
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

// add returns a number for who waits, and how many wait.
func (t *completionTable) add(c *completion) (uint64, int) {
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
	return uint64(place.use)<<32 | uint64(index), t.open
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

// completer owns the completion queue, and says who polls it: the leader or the poller, never both,
// since one would take what the other waits for.
type completer struct {
	cq     *C.wq_cq
	table  completionTable
	events []C.wq_event // of who polls

	mu      sync.Mutex
	leading bool // a goroutine that waits polls
	wanted  bool // the poller is; it follows the leader, and then nobody leads any more
	polling bool // the poller was started
	closing bool // nobody leads any more, no poller is started

	leader sync.Mutex    // held while it polls
	file   *os.File      // a copy of the eventfd, of the poller
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
	// Who leads keeps its processor for as long as a disk takes; the only one is not for that.
	c.wanted = runtime.GOMAXPROCS(0) == 1
	bytes := C.size_t(eventsPerPoll * C.sizeof_wq_event)
	c.events = unsafe.Slice((*C.wq_event)(mustMalloc(uintptr(bytes))), eventsPerPoll)
	return c, nil
}

// wantPoller lets others be told, whoever waits.
func (c *completer) wantPoller() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
	if !c.leading {
		c.startPoller()
	}
}

// startPoller is called with the lock held and nobody leading.
func (c *completer) startPoller() {
	if c.polling || c.closing {
		return
	}
	c.polling = true
	if fd, err := syscall.Dup(int(C.wq_cq_eventfd(c.cq))); err == nil {
		syscall.CloseOnExec(fd)
		c.file = os.NewFile(uintptr(fd), "wq completion queue")
	}
	go c.run()
}

// lead polls until `waiting` is told, ctx ends or the store is closed. If another goroutine leads it
// returns at once, and so it does if there is the poller: they will tell.
func (c *completer) lead(ctx context.Context, waiting *completion) {
	c.mu.Lock()
	if c.leading || c.wanted || c.closing {
		c.wanted = true
		if !c.leading {
			c.startPoller()
		}
		c.mu.Unlock()
		return
	}
	c.leading = true
	c.leader.Lock()
	c.mu.Unlock()
	var wait C.int64_t = blockingPollMillis
	if ctx.Done() != nil {
		wait = contextMillis
	}
	for code := C.int32_t(C.WQ_OK); code >= 0 && !waiting.isTold() && ctx.Err() == nil; {
		code = c.poll(wait)
	}
	c.leader.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leading = false
	if c.wanted {
		c.startPoller()
	}
}

// run tells arrivals until the store is closed and close has set the deadline.
func (c *completer) run() {
	defer close(c.done)
	err := os.ErrInvalid
	if c.file != nil {
		var raw syscall.RawConn
		if raw, err = c.file.SyscallConn(); err == nil {
			err = raw.Read(func(uintptr) bool { return !c.drain(0) })
		}
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		for c.drain(blockingPollMillis) { // the descriptor can not be polled: with a thread then
		}
	}
	c.drain(0)
}

// poll tells what has arrived, and waits for the first. WQ_OK, WQ_EMPTY, or the queue has ended.
func (c *completer) poll(waitMillis C.int64_t) C.int32_t {
	a := getArena()
	defer a.put()
	code := C.wq_cq_poll(c.cq, &c.events[0], eventsPerPoll, C.sizeof_wq_event, waitMillis,
		&a.frame.count, nil)
	if code != C.WQ_OK {
		return code
	}
	for i := range c.events[:a.frame.count] {
		event := &c.events[i]
		if waiting := c.table.take(uint64(event.user_data)); waiting != nil {
			waiting.tell(int32(event.code))
		}
	}
	return code
}

// drain tells all that has arrived, and waits for the first; false when the queue has ended.
func (c *completer) drain(waitMillis C.int64_t) bool {
	for {
		if code := c.poll(waitMillis); code != C.WQ_OK {
			return code == C.WQ_EMPTY
		}
	}
}

// close comes when the store is closed, which ends all polls. Everybody is told: by the last events
// of the store, or that it is closed.
func (c *completer) close() {
	c.mu.Lock()
	c.closing = true
	polling := c.polling
	c.mu.Unlock()
	if polling {
		if c.file != nil {
			_ = c.file.SetReadDeadline(time.Unix(1, 0))
		}
		<-c.done
		if c.file != nil {
			_ = c.file.Close()
		}
	}
	c.leader.Lock()
	c.drain(0)
	a := getArena()
	defer a.put()
	slot := one[*C.wq_cq](a)
	*slot = c.cq
	C.wq_cq_close(slot)
	for _, waiting := range c.table.takeAll() {
		waiting.tell(int32(ErrClosed))
	}
	C.free(unsafe.Pointer(&c.events[0]))
	c.leader.Unlock()
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
	if !p.done.isTold() {
		p.done.from.wantPoller()
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
	if !p.done.isTold() {
		p.done.from.lead(ctx, p.done)
	}
	select {
	case <-p.done.told: // it may be both; this is the better news
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
