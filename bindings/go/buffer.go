package wq

// Memory for leased jobs, and how the views of a batch are copied into it.

// #include "shim.h"
import "C"

import (
	"time"
	"unsafe"
)

const (
	jobsPerBlock   = 31   // jobs that share one allocation; 32 and its header would go into the next size
	sharedBytesMax = 2048 // byte slices up to here share blocks
	bytesPerBlock  = 16 << 10
	keptBytesMax   = 1 << 20 // the block of a JobBuffer grows up to here
)

// JobBuffer is memory for leased jobs that is used again and again; see LeaseOptions.Into. The zero
// value is ready. It belongs to one goroutine at a time.
type JobBuffer struct {
	jobs   []Job
	list   []*Job
	copier copier
}

// take returns n jobs, which have what they had before.
func (b *JobBuffer) take(n int) []*Job {
	if n > len(b.jobs) {
		b.jobs, b.list = make([]Job, n), make([]*Job, n)
	}
	b.copier.kept = true
	b.copier.block = b.copier.block[:0]
	for i := range n { // anew: what the caller did to its slice does not count
		b.list[i] = &b.jobs[i]
	}
	return b.list[:n:n]
}

// freshJobs returns n jobs of their own. They share blocks, so that many cost few allocations and one
// that is kept for long keeps no more than one block alive.
func freshJobs(n int) []*Job {
	jobs := make([]*Job, n)
	var block []Job
	for i := range jobs {
		if len(block) == 0 {
			block = make([]Job, min(jobsPerBlock, n-i))
		}
		jobs[i], block = &block[0], block[1:]
	}
	return jobs
}

// copier copies views out of a batch. Small ones share blocks, as jobs do. Those of a JobBuffer are
// overwritten together, so that there large ones share a block as well, and it grows.
type copier struct {
	block []byte
	kept  bool

	enqueued, leased, deadline lastTime
}

// lastTime is the time that was told last. Jobs of one batch mostly have the same ones.
type lastTime struct {
	ms   C.int64_t
	time time.Time // zero with 0
}

func (l *lastTime) at(ms C.int64_t) time.Time {
	if ms != l.ms {
		l.ms, l.time = ms, fromMillis(ms)
	}
	return l.time
}

func (c *copier) bytes(b C.wq_bytes) []byte {
	n := int(b.len)
	if n == 0 {
		return nil
	}
	from := unsafe.Slice((*byte)(b.data), n)
	if n > cap(c.block)-len(c.block) && !c.grow(n) {
		return append(make([]byte, 0, n), from...)
	}
	start := len(c.block)
	c.block = append(c.block, from...)
	return c.block[start : start+n : start+n]
}

// grow makes room for n bytes in a new block; false if so many get an allocation of their own.
func (c *copier) grow(n int) bool {
	size := bytesPerBlock
	if c.kept {
		size = min(max(size, 2*cap(c.block), n), keptBytesMax)
	} else if n > sharedBytesMax {
		return false
	}
	if n > size {
		return false
	}
	c.block = make([]byte, 0, size)
	return true
}

// readJobs copies the jobs of a batch, into `into` if it is not nil; queue_index says which of the
// queues each is of.
func readJobs(from *C.wqgo_jobs, queues []*Queue, into *JobBuffer) []*Job {
	n := int(from.count)
	told := unsafe.Slice(from.jobs, n)
	headers := unsafe.Slice(from.headers, from.headers_cap)
	var jobs []*Job
	var own copier
	c := &own
	if into != nil {
		jobs, c = into.take(n), &into.copier
	} else {
		jobs = freshJobs(n)
		if n == 1 {
			c.block = make([]byte, 0, min(told[0].payload.len, sharedBytesMax))
		}
	}
	for i := range jobs {
		if into != nil {
			*jobs[i] = Job{} // each by itself: of many the first would have left the nearest cache again
		}
		count := int(told[i].headers_count)
		c.job(jobs[i], &told[i], headers[:count], queues[told[i].queue_index])
		headers = headers[count:]
	}
	return jobs
}

// job fills a job that is all zero. Only what is set is stored: that is a fraction of the fields, and
// a whole Job built beside it and moved there would be written twice.
func (c *copier) job(j *Job, t *C.wq_job, headers []C.wq_header, from *Queue) {
	j.Token = Token{ID: uint64(t.id), Generation: uint64(t.generation)}
	j.State = State(t.state)
	j.Queue, j.from = from.name, from
	j.Payload = c.bytes(t.payload)
	j.Priority = int(t.priority)
	j.Attempts, j.MaxAttempts = int(t.attempts), int(t.max_attempts)
	j.Exceptions, j.MaxExceptions = int(t.exceptions), int(t.max_exceptions)
	j.Replays = int(t.replays)
	j.EnqueuedAt = c.enqueued.at(t.enqueued_ms)
	setTime(&j.ReadyAt, t.ready_ms)
	j.LeasedAt = c.leased.at(t.leased_ms)
	j.Deadline = c.deadline.at(t.deadline_ms)
	j.LeaseRemaining = duration(t.lease_remaining_ms)
	setTime(&j.DeadAt, t.dead_ms)
	j.DeadReason = DeadReason(t.dead_reason)
	setTime(&j.FirstDeadAt, t.first_dead_ms)
	setString(&j.LastError, t.last_error)
	j.Timeout = duration(t.timeout_ms)
	j.FailOnTimeout = t.flags&C.WQ_JOB_FAIL_ON_TIMEOUT != 0
	setTime(&j.ExpiresAt, t.expires_at_ms)
	setTime(&j.RetryUntil, t.retry_until_ms)
	if t.progress.len != 0 {
		j.Progress = c.bytes(t.progress)
	}
	j.Flow, j.FlowCancelled = uint64(t.flow), t.flow_cancelled != 0
	j.ChainCount = int(t.chain_count)
	setString(&j.Group, t.group)
	j.Parked = t.parked != 0
	setString(&j.Tenant, t.tenant)
	setString(&j.RateKey, t.rate_key)
	j.RateCost = int(t.rate_cost)
	j.Sealed, j.KeyID = t.flags&C.WQ_JOB_ENCRYPT != 0, uint32(t.key_id)
	j.PayloadCode = Code(t.payload_code)
	if len(headers) > 0 {
		j.Headers = make([]Header, len(headers))
		for i := range headers {
			j.Headers[i] = Header{Name: goString(headers[i].name), Value: c.bytes(headers[i].value)}
		}
	}
}

func setTime(to *time.Time, ms C.int64_t) {
	if ms != 0 {
		*to = time.UnixMilli(int64(ms))
	}
}

func setString(to *string, b C.wq_bytes) {
	if b.len != 0 {
		*to = goString(b)
	}
}
