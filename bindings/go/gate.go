package wq

// Gates count the calls that are inside the library with a handle. Closing shuts the gate and waits
// until all have left; only then the handle is given back, so that no call ever carries a handle
// that was closed and maybe opened anew as another one.

// #include "shim.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
)

const gateShut = int64(1) << 62

type gate struct {
	state atomic.Int64
	once  sync.Once
	empty chan struct{}
}

// enter reports whether the caller is inside; then it calls leave.
func (g *gate) enter() bool {
	if g.state.Add(1)&gateShut == 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.state.Add(-1) == gateShut {
		g.once.Do(func() { close(g.empty) })
	}
}

func (g *gate) isShut() bool { return g.state.Load()&gateShut != 0 }

// shut reports whether this call shut it. Wait for g.empty then.
func (g *gate) shut() bool {
	for {
		old := g.state.Load()
		if old&gateShut != 0 {
			return false
		}
		if g.state.CompareAndSwap(old, old|gateShut) {
			if old == 0 {
				g.once.Do(func() { close(g.empty) })
			}
			return true
		}
	}
}

// cancelToken ends one wait: by the end of a context, or by closing the store or one of the queues.
// It has a handle of the library only while the wait is inside the library.
type cancelToken struct {
	ended  chan struct{} // closed by end
	mu     sync.Mutex
	handle *C.wq_cancel
	fired  bool // the handle was; it stays so, and is not used again
	over   bool // end was called
}

// idleHandles keeps handles that never fired.
var idleHandles = make(chan *C.wq_cancel, 64)

func newToken() *cancelToken { return &cancelToken{ended: make(chan struct{})} }

// arm gets a handle for a wait inside the library.
func (t *cancelToken) arm(op string) (*C.wq_cancel, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, closedError(op)
	}
	select {
	case t.handle = <-idleHandles:
		return t.handle, nil
	default:
	}
	a := getArena()
	defer a.put()
	slot := one[*C.wq_cancel](a)
	if code := C.wq_cancel_new(slot, &a.frame.err); code != C.WQ_OK {
		return nil, newError(op, &a.frame.err)
	}
	t.handle = *slot
	return t.handle, nil
}

// disarm gives the handle up after the wait; a fire that comes later finds nothing.
func (t *cancelToken) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	handle := t.handle
	t.handle = nil
	if !t.fired {
		select {
		case idleHandles <- handle:
			return
		default:
		}
	}
	a := getArena()
	defer a.put()
	slot := one[*C.wq_cancel](a)
	*slot = handle
	C.wq_cancel_free(slot)
}

// fire ends a wait inside the library, if there is one.
func (t *cancelToken) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handle != nil && !t.fired {
		t.fired = true
		C.wq_cancel_fire(t.handle)
	}
}

// end ends the wait for good, wherever it is.
func (t *cancelToken) end() {
	t.mu.Lock()
	if !t.over {
		t.over = true
		close(t.ended)
	}
	t.mu.Unlock()
	t.fire()
}

// tokenSet is the tokens of the waits that a close has to end.
type tokenSet struct {
	mu     sync.Mutex
	shut   bool
	tokens map[*cancelToken]struct{}
}

// add reports false if the set was fired: then the wait must not begin.
func (s *tokenSet) add(t *cancelToken) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	if s.tokens == nil {
		s.tokens = map[*cancelToken]struct{}{}
	}
	s.tokens[t] = struct{}{}
	return true
}

func (s *tokenSet) remove(t *cancelToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, t)
}

func (s *tokenSet) fireAll() {
	s.mu.Lock()
	s.shut = true
	tokens := make([]*cancelToken, 0, len(s.tokens))
	for t := range s.tokens {
		tokens = append(tokens, t)
	}
	s.mu.Unlock()
	for _, t := range tokens {
		t.end()
	}
}

// slots (nil: no bound) bounds how many calls are inside the library at once, and so the threads that they take
// should all of them have to wait there for a lock, for room or for a disk.
type slots chan struct{}

func (s slots) take(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) give() {
	if s != nil {
		<-s
	}
}
