// Package wq embeds the wq queue engine: a durable job queue in a directory, with no server.
//
// A [Store] is a directory, opened by one process at a time. It holds queues, a [Queue] holds jobs.
// [Queue.Enqueue] returns when the job survives power loss (or the weaker level that was asked
// for); [Queue.Lease] and [Queue.Jobs] hand jobs out, [Worker] runs a pool of handlers over them.
//
// # Results
//
// A call has three kinds of ends. An error is something that went wrong: an [*Error] with a [Code],
// found by errors.Is(err, wq.ErrNoSpace) and the like. An [Outcome] other than [OK] is an expected
// other end of a call, and no error: [Stale] says that a lease was lost, [Duplicate] that a unique
// key is taken, [Conflict] that a condition does not hold. And when a context ends a call, the
// error is that of the context: by itself if nothing happened, within an [*UncertainError] if the
// change was made and only the wait for its durability was given up.
//
// # Durability
//
// Each changing call takes a [Durability] as an option; without one the default of its documentation
// in wq.h holds ([Power] for most, [Process] for leases, extends and locks, that of the queue for
// enqueues and settles). The call returns when the level is reached. With a [*Pending] as an option
// it returns as soon as the change is made, and [Pending.Wait] tells when the level is reached.
//
// # Goroutines and threads
//
// Everything here may be used by any number of goroutines at once, a [Job] included. A goroutine
// that waits for durability waits in Go: one poller goroutine per store, on the runtime's network
// poller, tells all of them, so ten thousand of them hold no thread. It is started when two wait at
// once; one that always waits alone does so in the library, with its thread. Of the goroutines that
// wait in Lease for the same queues one at a time waits in the library and holds a thread, the others
// queue up behind it in Go; see [Options.BlockedMax] for what happens with very many different sets
// of queues. All other calls are short and bounded in number, see [Options.CallsMax].
//
// # Times
//
// Durations are rounded up to whole milliseconds. A zero time.Time is "none".
//
// # Processes
//
// A child made by fork without exec can not use a store of its parent ([ErrForked]); os/exec is
// fine.
package wq
