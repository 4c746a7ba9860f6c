package outbox

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"wq.internal/wq"
)

// Job is a job on its way to Redis. A layout that has no place for a member that is set refuses it.
type Job struct {
	ID          string // empty: the relay draws one. The same id is taken in by Redis once
	Payload     []byte
	Headers     []wq.Header
	RunAt       time.Time // not before; zero: at once
	Priority    *int      // 0..255; nil: none of its own
	MaxAttempts int       // 0: none of its own
	Attempts    int       // made before it came here
	UniqueKey   string
	Group       string
}

func (j *Job) runAtMillis() int64 {
	if j.RunAt.IsZero() {
		return 0
	}
	return j.RunAt.UnixMilli()
}

// DrawID returns a random id, 26 characters, without letters that look like digits.
func DrawID() string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	var id [26]byte
	_, _ = rand.Read(id[:]) // as of Go 1.24 it does not fail, before it fails where the system does
	for i, b := range id {
		id[i] = letters[int(b)%len(letters)]
	}
	return string(id[:])
}

// A spooled job has payload and headers as they are, and what else it has in headers of the relay.
const headerPrefix = "wq-relay-"

// A job of the spool ends when Redis has it or refuses it, not because it was tried often.
const spoolAttempts = 1_000_001

// spooled is the job while it waits in a queue of wq. hold keeps it there until it is due; without
// it Redis is given the time. With inOrder the priority does not count in the queue, it goes with
// the job.
func (j *Job) spooled(hold, inOrder bool) wq.Spec {
	spec := wq.Spec{Payload: j.Payload, MaxAttempts: spoolAttempts}
	spec.Headers = append(spec.Headers, j.Headers...)
	add := func(name, value string) {
		spec.Headers = append(spec.Headers, wq.Header{Name: headerPrefix + name, Value: []byte(value)})
	}
	add("id", j.ID)
	priority := int64(0)
	if j.Priority != nil {
		priority = int64(*j.Priority) + 1
	}
	for _, number := range []struct {
		name  string
		value int64
	}{{"run-at-ms", j.runAtMillis()}, {"priority", priority}, {"max-attempts", int64(j.MaxAttempts)},
		{"attempts", int64(j.Attempts)}} {
		if number.value != 0 {
			add(number.name, strconv.FormatInt(number.value, 10))
		}
	}
	if j.UniqueKey != "" {
		add("unique", j.UniqueKey)
	}
	if j.Group != "" {
		add("group", j.Group)
	}
	if hold {
		spec.RunAt = j.RunAt
	}
	if !inOrder {
		spec.Priority = j.Priority
	}
	return spec
}

// fromSpool reads a job of the queue. One that some other program put there has no id of a relay: it
// gets one made of its wq id, the same at each attempt.
func fromSpool(stored *wq.Job, storeID string) Job {
	job := Job{Payload: stored.Payload}
	for _, header := range stored.Headers {
		own, isOwn := strings.CutPrefix(header.Name, headerPrefix)
		value := string(header.Value)
		number, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case isOwn && own == "id":
			job.ID = value
		case isOwn && own == "run-at-ms":
			job.RunAt = time.UnixMilli(number)
		case isOwn && own == "priority":
			job.Priority = wq.Ptr(int(number) - 1)
		case isOwn && own == "max-attempts":
			job.MaxAttempts = int(number)
		case isOwn && own == "attempts":
			job.Attempts = int(number)
		case isOwn && own == "unique":
			job.UniqueKey = value
		case isOwn && own == "group":
			job.Group = value
		default:
			job.Headers = append(job.Headers, header)
		}
	}
	if job.ID != "" {
		return job
	}
	job.ID = storeID + ":" + strconv.FormatUint(stored.ID, 10)
	if job.Priority = nil; stored.Priority != 100 {
		job.Priority = wq.Ptr(stored.Priority)
	}
	job.Group = stored.Group
	return job
}
