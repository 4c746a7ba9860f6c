package wq

// Worker: a pool of handlers over one or more queues. It leases as many jobs as it has free places,
// keeps their leases alive, and settles them by what their handlers return, many with one call.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Handler works on a job. What it returns settles it:
//
//	nil                    ack
//	Permanent(err)         dead at once
//	RetryAfter(d, err)     nack with this delay
//	ReleaseAfter(d)        given back after d, the attempt is not counted
//	any other error        nack: tried again by the backoff policy while attempts are left
//	a panic                nack, with its text and stack; also one in Error() of what it returned
//
// Only nil itself acks: Permanent(nil) and RetryAfter(d, nil) do what they say, with a text of their
// own. A delay below zero is none, one of more than a hundred years is a hundred years.
//
// ctx ends when the lease is lost (context.Cause is ErrLeaseLost), when the flow of the job was
// cancelled (ErrFlowCancelled), when Timeout of the job is over, and when the worker stops and its
// StopTimeout is over (ErrStopping). A handler that returns an error then, because of it, leaves the job
// to be tried again; a job that was interrupted by ErrStopping is given back uncounted.
type Handler func(ctx context.Context, job *Job) error

// Causes of the end of the context of a handler.
var (
	ErrLeaseLost     = errors.New("wq: the lease of the job is lost")
	ErrFlowCancelled = errors.New("wq: the flow of the job was cancelled")
	ErrStopping      = errors.New("wq: the worker stops")
)

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// errNoReason stands for the nil that Permanent or RetryAfter was given. It is no ack: a job that is
// dead by mistake can be replayed, one that was acked by mistake is gone.
var errNoReason = errors.New("the handler gave no reason")

func reasonOf(err error) error {
	if err == nil {
		return errNoReason
	}
	return err
}

// Permanent makes a handler's error final: the job is dead, whatever attempts are left. Also with nil.
func Permanent(err error) error { return permanentError{reasonOf(err)} }

type retryError struct {
	error
	delay time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter makes the next attempt come after d, in place of the backoff policy. Also with nil.
func RetryAfter(d time.Duration, err error) error { return retryError{reasonOf(err), d} }

type releaseError struct{ delay time.Duration }

func (e releaseError) Error() string { return fmt.Sprintf("wq: job given back for %v", e.delay) }

// ReleaseAfter gives the job back for d without counting the attempt.
func ReleaseAfter(d time.Duration) error { return releaseError{d} }

// PanicError is a panic of a handler.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// WorkerOptions are for NewWorker.
type WorkerOptions struct {
	Queues []*Queue // in order of preference; at least one
	// Handler gets the jobs that Handlers has none for. Without it they are dead at once, with
	// DeadUnknownType.
	Handler Handler
	// Handlers are chosen by the value of the header TypeHeader of a job.
	Handlers   map[string]Handler
	TypeHeader string // empty: "type"

	Concurrency int           // handlers that run at once; 0: 1
	Lease       time.Duration // kept alive while the handler runs; 0: the shortest of the queues
	Heartbeat   time.Duration // 0: a third of the lease, at most 20 s
	StopTimeout time.Duration // how long a stop waits before it ends the contexts of handlers; 0: 30 s
	// MaxJobs, if it is not 0, ends Run after so many jobs; StopWhenEmpty when no job is ready.
	MaxJobs       int
	StopWhenEmpty bool
	Durability    Durability // of the settles; 0: that of the queue
	Logger        *slog.Logger
}

// WorkerStats count since the worker was made.
type WorkerStats struct {
	Running                                         int
	Leased, Acked, Nacked, Failed, Released, Panics uint64
	Lost                                            uint64 // settles that came too late (Stale)
}

// Worker is a pool of handlers. Run may be called once.
type Worker struct {
	o       WorkerOptions
	core    *core
	free    chan struct{} // a token for each place that is free
	mu      sync.Mutex
	held    map[*Queue]map[Token]*heldJob
	lease   time.Duration // of every job, whatever its timeout: the worker sees to that
	beat    time.Duration
	settler *settler
	jobs    sync.WaitGroup

	started                                               atomic.Bool
	running                                               atomic.Int64
	leased, acked, nacked, failed, released, panics, lost atomic.Uint64
}

// heldJob is a job whose handler runs.
type heldJob struct {
	job    *Job
	cancel context.CancelCauseFunc
	late   atomic.Bool // its timeout is over: its lease is not kept any more
}

// NewWorker makes a worker; Run starts it.
func NewWorker(o WorkerOptions) (*Worker, error) {
	if len(o.Queues) == 0 {
		return nil, codeError("worker", ErrInvalid, "there are no queues")
	}
	if o.Handler == nil && len(o.Handlers) == 0 {
		return nil, codeError("worker", ErrInvalid, "there is no handler")
	}
	for _, q := range o.Queues {
		if q == nil || q.core != o.Queues[0].core {
			return nil, codeError("worker", ErrInvalid, "a queue is nil or of another store")
		}
	}
	if o.TypeHeader == "" {
		o.TypeHeader = "type"
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = 30 * time.Second
	}
	o.Concurrency = max(o.Concurrency, 1)
	w := &Worker{o: o, core: o.Queues[0].core, held: map[*Queue]map[Token]*heldJob{}}
	if w.o.Logger == nil {
		w.o.Logger = w.core.logger
	}
	w.free = make(chan struct{}, o.Concurrency)
	for range o.Concurrency {
		w.free <- struct{}{}
	}
	w.settler = newSettler(w)
	return w, nil
}

// Stats returns what the worker did so far.
func (w *Worker) Stats() WorkerStats {
	return WorkerStats{
		Running: int(w.running.Load()), Leased: w.leased.Load(), Acked: w.acked.Load(),
		Nacked: w.nacked.Load(), Failed: w.failed.Load(), Released: w.released.Load(),
		Panics: w.panics.Load(), Lost: w.lost.Load(),
	}
}

// Run works until ctx ends, and then stops in an orderly way: no new jobs, handlers that run may end
// within StopTimeout, then their contexts end; Run returns when all have returned and all settles are
// durable. It returns nil after such a stop and when MaxJobs or StopWhenEmpty ended it, an error if the
// store is closed or of no more use.
func (w *Worker) Run(ctx context.Context) error {
	if !w.started.CompareAndSwap(false, true) {
		return codeError("worker", ErrInvalid, "Run was called before")
	}
	jobsCtx, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer interrupt(nil)
	beatDone, stopBeat := make(chan struct{}), make(chan struct{})
	w.chooseLease(ctx)
	go w.keepAlive(stopBeat, beatDone)
	go w.settler.run()

	err := w.fetch(ctx, jobsCtx)

	stopped := make(chan struct{})
	go func() {
		w.jobs.Wait()
		close(stopped)
	}()
	timer := time.NewTimer(w.o.StopTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		interrupt(ErrStopping)
		<-stopped
	}
	w.settler.stop()
	close(stopBeat)
	<-beatDone
	return err
}

// fetch leases jobs and starts their handlers until it has to stop.
func (w *Worker) fetch(ctx, jobsCtx context.Context) error {
	pause := time.Duration(0)
	for taken := 0; w.o.MaxJobs == 0 || taken < w.o.MaxJobs; {
		places := w.takePlaces(ctx, taken)
		if places == 0 {
			return nil
		}
		options := LeaseOptions{Max: places, Lease: w.lease, Wait: Forever}
		if w.o.StopWhenEmpty {
			options.Wait = 0
		}
		jobs, outcome, err := lease(ctx, w.core, w.o.Queues, options, nil)
		w.givePlaces(places - len(jobs))
		for _, job := range jobs {
			w.start(jobsCtx, job)
		}
		taken += len(jobs)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (errors.Is(err, ErrClosed) || Fatal(err) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotFound)):
			return err
		case err != nil:
			pause = min(max(2*pause, 100*time.Millisecond), 5*time.Second)
			w.o.Logger.Error("wq: lease failed, trying again", "error", err, "pause", pause)
			sleep(ctx, pause)
		case outcome != OK && w.o.StopWhenEmpty:
			return nil
		default:
			pause = 0
		}
	}
	return nil
}

// takePlaces waits for a free place and takes all that are free, as far as jobs may still be taken.
func (w *Worker) takePlaces(ctx context.Context, taken int) int {
	select {
	case <-w.free:
	case <-ctx.Done():
		return 0
	}
	for places := 1; ; places++ {
		if places == jobsPerLease || w.o.MaxJobs != 0 && taken+places == w.o.MaxJobs {
			return places
		}
		select {
		case <-w.free:
		default:
			return places
		}
	}
}

const jobsPerLease = 256

func (w *Worker) givePlaces(n int) {
	for range n {
		w.free <- struct{}{}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// start runs the handler of a job in a goroutine of its own.
func (w *Worker) start(parent context.Context, job *Job) {
	w.leased.Add(1)
	w.running.Add(1)
	w.jobs.Add(1)
	ctx, cancel := context.WithCancelCause(parent)
	held := &heldJob{job: job, cancel: cancel}
	w.hold(held)
	go func() {
		defer w.jobs.Done()
		defer cancel(nil)
		if job.FlowCancelled {
			cancel(ErrFlowCancelled)
		}
		how := Settlement{Token: job.Token, Kind: SettleNack, Nack: Nack{Error: goexitText}}
		defer func() { // also when the handler ends its goroutine
			w.settler.settle(held, how)
			w.running.Add(-1)
			w.givePlaces(1)
		}()
		how = w.settlement(ctx, job, w.handle(ctx, held))
	}()
}

// handle runs the handler under the timeout of the job, and catches its panic.
func (w *Worker) handle(ctx context.Context, held *heldJob) (err error) {
	job := held.job
	handler := w.o.Handler
	if h, ok := w.o.Handlers[string(job.Header(w.o.TypeHeader))]; ok {
		handler = h
	}
	if handler == nil {
		return errUnknownType
	}
	if job.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, job.Timeout)
		defer stop()
		// What goes on after its time is not kept: the lease ends by itself then.
		defer context.AfterFunc(ctx, func() { held.late.Store(true) })()
	}
	defer func() {
		if value := recover(); value != nil {
			err = w.panicked(job, value)
		}
	}()
	err = handler(ctx, job)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		err = timeoutError{err}
	}
	return err
}

// panicked tells a panic; called where it was recovered, for its stack.
func (w *Worker) panicked(job *Job, value any) *PanicError {
	w.panics.Add(1)
	w.o.Logger.Error("wq: handler panicked", "queue", job.Queue, "id", job.ID, "panic", value)
	return &PanicError{Value: value, Stack: debug.Stack()}
}

const goexitText = "the handler ended its goroutine"

var errUnknownType = errors.New("the worker has no handler for jobs of this type")

type timeoutError struct{ error }

func (e timeoutError) Unwrap() error { return e.error }

// delayMax is the longest that the library takes. A longer one would refuse the settles of all jobs
// that end in the same moment.
const delayMax = 100 * 365 * 24 * time.Hour

func delayOf(d time.Duration) time.Duration { return min(max(d, 0), delayMax) }

// settlement is how a job ends by what its handler returned. The methods of an error are the
// handler's code, too: those of a nil pointer that was made an error panic.
func (w *Worker) settlement(ctx context.Context, job *Job, err error) (s Settlement) {
	defer func() {
		if value := recover(); value != nil {
			s = Settlement{Token: job.Token, Kind: SettleNack, Nack: Nack{Error: w.panicked(job, value).Error()}}
		}
	}()
	s.Token = job.Token
	var permanent permanentError
	var retry retryError
	var release releaseError
	var timeout timeoutError
	switch {
	case err == nil:
		s.Kind = SettleAck
		return s
	case errors.As(err, &release):
		s.Kind, s.Release.Delay = SettleRelease, delayOf(release.delay)
		return s
	case errors.Is(context.Cause(ctx), ErrStopping) && (errors.Is(err, context.Canceled) || errors.Is(err, ErrStopping)):
		s.Kind, s.Release.Front = SettleRelease, true
		return s
	case err == errUnknownType:
		s.Kind, s.Nack.Reason = SettleFail, DeadUnknownType
		w.o.Logger.Error("wq: no handler for a job", "queue", job.Queue, "id", job.ID,
			"type", string(job.Header(w.o.TypeHeader)))
	case errors.As(err, &permanent):
		s.Kind = SettleFail
	case errors.As(err, &timeout):
		s.Kind, s.Nack.Reason = SettleNack, DeadTimeout
		if job.FailOnTimeout {
			s.Kind = SettleFail
		}
	case errors.As(err, &retry):
		s.Kind, s.Nack.Delay = SettleNack, Ptr(delayOf(retry.delay))
	default:
		s.Kind = SettleNack
	}
	s.Nack.Error = err.Error()
	return s
}
