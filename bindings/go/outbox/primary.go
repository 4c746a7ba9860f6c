package outbox

import "context"

// Request is one script to run, atomically, over its keys and arguments.
type Request struct {
	Script    string
	Keys      []string
	Arguments []string
}

// Verdict is what is known of a request after it was sent.
type Verdict int

// Verdicts. Only Unavailable and Unknown are spooled.
const (
	Applied     Verdict = iota // the script returned 1
	Known                      // it returned 0: the id was known
	Rejected                   // the server said no, and would say so again (a key of another type)
	Unavailable                // nothing was done: no connection, or a server that is full, loading, read-only
	Unknown                    // sent, and no answer came in time: it may have been done
)

func (v Verdict) isPassing() bool { return v == Unavailable || v == Unknown }

// Answer is what became of one request.
type Answer struct {
	Verdict Verdict
	Text    string // of anything but Applied and Known: what happened, for people
}

// Primary is what a relay sends to: Redis, or what a test puts in its place. A relay calls it from
// one goroutine at a time.
type Primary interface {
	// Send runs the requests in order and waits for their answers, one for each. A later one may
	// have been done where an earlier one was not: whose order counts goes alone. When ctx ends,
	// what has no answer yet is Unknown.
	Send(ctx context.Context, requests []Request) []Answer
}
