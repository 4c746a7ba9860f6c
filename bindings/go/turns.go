package wq

// Turns: of the goroutines that wait for a job of the same queues, one at a time waits inside the
// library. The others wait in Go for their turn, in order.

import "sync"

type turn struct {
	key  string
	uses int
	free chan struct{} // has one element when nobody has the turn
}

// turns is the turns that somebody has or waits for, by the queues in their order.
type turns struct {
	mu    sync.Mutex
	byKey map[string]*turn
}

func (t *turns) join(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[string]*turn{}
	}
	found := t.byKey[key]
	if found == nil {
		found = &turn{key: key, free: make(chan struct{}, 1)}
		found.free <- struct{}{}
		t.byKey[key] = found
	}
	found.uses++
	return found
}

func (t *turns) part(joined *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if joined.uses--; joined.uses == 0 {
		delete(t.byKey, joined.key)
	}
}
