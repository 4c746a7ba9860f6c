package outbox

import "time"

// BreakerOptions: after Failures in a row nothing is tried for a while, so that callers do not wait
// for a server that is gone. Then one attempt goes through; its end decides.
type BreakerOptions struct {
	Failures int           // in a row, before it opens; 0: 3
	Cool     time.Duration // how long it stays open the first time; 0: 1 s. It doubles with each
	CoolMax  time.Duration // further failure of the attempt after it, up to this; 0: 30 s
}

// BreakerState is whether calls go through.
type BreakerState int

// States.
const (
	Closed   BreakerState = iota // all go through
	Open                         // none does
	HalfOpen                     // one attempt is under way
)

// String returns "closed", "open" or "half_open".
func (s BreakerState) String() string { return [...]string{"closed", "open", "half_open"}[s] }

// breaker is locked by whoever owns it.
type breaker struct {
	options BreakerOptions
	state   BreakerState
	inARow  int
	cool    time.Duration
	until   time.Time
	opened  uint64
}

func newBreaker(options BreakerOptions) breaker {
	if options.Failures <= 0 {
		options.Failures = 3
	}
	if options.Cool <= 0 {
		options.Cool = time.Second
	}
	if options.CoolMax <= 0 {
		options.CoolMax = 30 * time.Second
	}
	return breaker{options: options}
}

// allows reports whether to try now. The one attempt is given away by the first call.
func (b *breaker) allows(now time.Time) bool {
	if b.state == Closed {
		return true
	}
	if b.state == HalfOpen || now.Before(b.until) {
		return false
	}
	b.state = HalfOpen
	return true
}

func (b *breaker) succeeded() { b.state, b.inARow, b.cool = Closed, 0, 0 }

func (b *breaker) failed(now time.Time) {
	b.inARow++
	if b.state == Closed && b.inARow < b.options.Failures {
		return
	}
	if b.state != Open {
		b.opened++
	}
	if b.cool == 0 {
		b.cool = b.options.Cool
	} else {
		b.cool = min(b.cool*2, b.options.CoolMax)
	}
	b.state, b.until = Open, now.Add(b.cool)
}

// gaveUp is for an attempt that its caller ended: it says nothing about the server.
func (b *breaker) gaveUp(now time.Time) {
	if b.state == HalfOpen {
		b.state, b.until = Open, now
	}
}
