package wq

// What a job is told to be when it is enqueued.

// #include "shim.h"
import "C"

import (
	"time"
	"unsafe"
)

// Header is a name and any bytes that travel with a job.
type Header struct {
	Name  string
	Value []byte
}

// UniqueUntil is the moment in the life of a job that frees its unique key.
type UniqueUntil uint32

// Scopes of a unique key. The zero value is UntilDone.
const (
	UntilStarted UniqueUntil = C.WQ_UNIQUE_STARTED // its first lease
	UntilDone    UniqueUntil = C.WQ_UNIQUE_DONE    // its end or its death; a replay takes it again
	UntilGone    UniqueUntil = C.WQ_UNIQUE_GONE    // its end: a dead one still holds the key
)

// Overlap is what becomes of a job whose group is full when a lease comes to it.
type Overlap uint32

// Ways; the zero value is OverlapPark.
const (
	OverlapPark    Overlap = C.WQ_OVERLAP_PARK    // it waits for a slot
	OverlapRelease Overlap = C.WQ_OVERLAP_RELEASE // it is delayed by OverlapDelay
	OverlapSkip    Overlap = C.WQ_OVERLAP_SKIP    // it ends without having run
)

// Spec is a job to enqueue. Only what is set counts; limits are those at the top of wq.h.
type Spec struct {
	Payload     []byte
	Headers     []Header
	Delay       time.Duration // ready after this time; not together with RunAt
	RunAt       time.Time     // ready at this time, in the past: at once
	Priority    *int          // 0..255, 0 goes first; nil: 100
	MaxAttempts int           // 0: 1 + MaxRetries of the queue
	Backoff     Backoff       // Kind 0: the queue's

	ExpiresAt     time.Time     // a job that was not leased by then never is
	RetryUntil    time.Time     // an attempt that is lost at or after it is the last
	Timeout       time.Duration // told to the worker; also the default length of its leases
	FailOnTimeout bool          // a lease of it that runs out is its last
	MaxExceptions int           // dead with so many nacks that count; 0: no limit

	UniqueKey      string        // one job of the queue holds it; others are Duplicate
	UniqueTTL      time.Duration // it is held no longer than this; 0: no limit
	UniqueUntil    UniqueUntil
	DebounceKey    string        // of jobs within Debounce of each other only the last one runs
	Debounce       time.Duration // due this long after the last one
	DebounceMax    time.Duration // but no later than this after the first; 0: no limit
	IdempotencyKey string        // for Idempotency a further enqueue is Duplicate with this job's id
	Idempotency    time.Duration

	Flow       uint64 // the flow that it joins; 0: none
	Chain      []Next // jobs that follow, each enqueued by the ack before it
	Group      string // of the jobs with this key a limited number runs at once
	GroupLimit int    // 0: the queue's

	Overlap      Overlap       // goes with a Group
	OverlapDelay time.Duration // goes with OverlapRelease
	Tenant       string        // jobs of one priority are leased one of each tenant in turn
	RateKey      string        // Config.KeyRate and Throttle count by it; not together with a Group
	RateCost     int           // how much of the rate of its key it uses up; 0: 1
	Encrypt      *bool         // whether the payload is sealed; nil: as the queue is configured

	DryRun bool // only say what an enqueue would answer now
}

// Next is a job that does not exist yet: one of a chain, or what the end of a flow enqueues.
type Next struct {
	Queue string // must exist; empty in a chain: the queue of the job before
	Spec  Spec   // its Delay counts from the moment that sets it off; no keys, chain or flow
}

const _ = -unsafe.Offsetof(Spec{}.Payload) // it is the first field

const optionWords = (unsafe.Sizeof(Spec{}) - unsafe.Sizeof([]byte(nil))) / 8

// hasOptions reports whether anything but Payload may be set. Most jobs have nothing else, and one
// look at the words behind it costs a tenth of a look at each field.
func (s *Spec) hasOptions() bool {
	words := (*[optionWords]uint64)(unsafe.Add(unsafe.Pointer(s), unsafe.Sizeof(s.Payload)))[:]
	var set uint64
	for ; len(words) >= 8; words = words[8:] {
		set |= words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]
	}
	for _, word := range words {
		set |= word
	}
	return set != 0
}

// fill tells C what the job is. c is all zero, but for struct_size and payload.
func (s *Spec) fill(op string, a *arena, c *C.wq_job_spec) error {
	c.struct_size = C.sizeof_wq_job_spec
	c.payload = a.bytes(s.Payload)
	if !s.hasOptions() {
		return nil
	}
	a.optioned = true
	c.headers, c.headers_count = a.headers(s.Headers)
	c.delay_ms = millis(s.Delay)
	c.run_at_ms = unixMillis(s.RunAt)
	if s.FailOnTimeout {
		c.flags |= C.WQ_JOB_FAIL_ON_TIMEOUT
	}
	if s.DryRun {
		c.flags |= C.WQ_JOB_DRY_RUN
	}
	c.backoff_kind = C.uint32_t(s.Backoff.Kind)
	c.backoff_base_ms, c.backoff_max_ms = millis(s.Backoff.Base), millis(s.Backoff.Max)
	c.backoff_list_ms, c.backoff_count = a.times(s.Backoff.List)
	c.expires_at_ms = unixMillis(s.ExpiresAt)
	c.retry_until_ms = unixMillis(s.RetryUntil)
	c.timeout_ms = millis(s.Timeout)
	c.unique_key = a.str(s.UniqueKey)
	c.unique_ttl_ms = millis(s.UniqueTTL)
	c.unique_until = C.uint32_t(s.UniqueUntil)
	c.debounce_key = a.str(s.DebounceKey)
	c.debounce_ms, c.debounce_max_ms = millis(s.Debounce), millis(s.DebounceMax)
	c.idempotency_key = a.str(s.IdempotencyKey)
	c.idempotency_ms = millis(s.Idempotency)
	c.flow = C.uint64_t(s.Flow)
	c.group, c.tenant, c.rate_key = a.str(s.Group), a.str(s.Tenant), a.str(s.RateKey)
	c.overlap, c.overlap_ms = C.uint32_t(s.Overlap), millis(s.OverlapDelay)
	if s.Encrypt != nil && *s.Encrypt {
		c.flags |= C.WQ_JOB_ENCRYPT
	} else if s.Encrypt != nil {
		c.flags |= C.WQ_JOB_PLAIN
	}
	var err error
	if s.Priority != nil {
		c.flags |= C.WQ_JOB_PRIORITY
		if c.priority, err = number(op, "priority", *s.Priority); err != nil {
			return err
		}
	}
	if s.MaxAttempts|s.MaxExceptions|s.GroupLimit|s.RateCost|s.Backoff.JitterPermille != 0 {
		if err := s.fillNumbers(op, c); err != nil {
			return err
		}
	}
	if len(s.Chain) > 0 {
		return s.fillChain(op, a, c)
	}
	return nil
}

func (s *Spec) fillNumbers(op string, c *C.wq_job_spec) (err error) {
	if c.max_attempts, err = number(op, "max_attempts", s.MaxAttempts); err != nil {
		return err
	}
	if c.max_exceptions, err = number(op, "max_exceptions", s.MaxExceptions); err != nil {
		return err
	}
	if c.group_limit, err = number(op, "group_limit", s.GroupLimit); err != nil {
		return err
	}
	if c.rate_cost, err = number(op, "rate_cost", s.RateCost); err != nil {
		return err
	}
	c.backoff_jitter_permille, err = number(op, "backoff_jitter_permille", s.Backoff.JitterPermille)
	return err
}

func (s *Spec) fillChain(op string, a *arena, c *C.wq_job_spec) error {
	chain := alloc[C.wq_next_job](a, len(s.Chain))
	for i := range s.Chain {
		if len(s.Chain[i].Spec.Chain) > 0 {
			return codeError(op, ErrUnsupported, "a job of a chain has a chain")
		}
		if err := s.Chain[i].fill(op, a, &chain[i]); err != nil {
			return err
		}
	}
	c.chain, c.chain_count, c.chain_size = &chain[0], C.size_t(len(chain)), C.sizeof_wq_next_job
	return nil
}

func (n *Next) fill(op string, a *arena, c *C.wq_next_job) error {
	c.struct_size = C.sizeof_wq_next_job
	c.queue_name = a.str(n.Queue)
	spec := one[C.wq_job_spec](a)
	c.spec = spec
	return n.Spec.fill(op, a, spec)
}
