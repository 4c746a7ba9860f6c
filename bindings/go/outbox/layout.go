package outbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LayoutKind is the form in which a job stands in Redis.
type LayoutKind int

// Kinds.
const (
	List      LayoutKind = iota // the payload at the tail of a list
	Stream                      // an entry of a stream; every member of the job is a field of its own
	PrismGo                     // lists and sorted sets of the PrismGo framework; the payload is its envelope
	WaitQueue                   // the keys of WaitQueue.js; the payload is the task id
)

// Layout says where and how a job stands in Redis. On a cluster all keys of a call must be on one
// node: put a hash tag into Key.
type Layout struct {
	Kind LayoutKind
	Key  string // List, Stream: the key; else what stands before the names of the keys
}

// ParseLayout reads list:KEY, stream:KEY, prismgo:PREFIX or waitqueue:NAMESPACE:ID. In it {queue}
// stands for the name of the queue.
func ParseLayout(text, queue string) (Layout, error) {
	kind, rest, _ := strings.Cut(text, ":")
	layout := Layout{Key: strings.ReplaceAll(rest, "{queue}", queue)}
	switch kind {
	case "list":
		layout.Kind = List
	case "stream":
		layout.Kind = Stream
	case "prismgo":
		layout.Kind = PrismGo
	case "waitqueue":
		layout.Kind = WaitQueue
		middle := strings.LastIndexByte(rest, ':')
		if middle <= 0 || middle+1 == len(rest) {
			return Layout{}, fmt.Errorf("outbox: waitqueue needs a namespace and a queue: waitqueue:NAMESPACE:ID")
		}
		layout.Key = "TaskQueue:" + layout.Key + ":"
	default:
		return Layout{}, fmt.Errorf("outbox: %q is none of list:KEY, stream:KEY, prismgo:PREFIX, waitqueue:NAMESPACE:ID", text)
	}
	if rest == "" {
		return Layout{}, fmt.Errorf("outbox: there is nothing behind %q", kind+":")
	}
	return layout, nil
}

// hasDelay reports whether Redis itself can hold a job until it is due.
func (l Layout) hasDelay() bool { return l.Kind == PrismGo }

// SeenLimits are how long and how many ids Redis remembers: longer than it may be away.
type SeenLimits struct {
	Keep  time.Duration // 0: 7 days
	Count int64         // 0: 1,000,000
}

func (l Layout) readyKey(queue string) string {
	switch l.Kind {
	case PrismGo:
		return l.Key + ":queues:" + queue
	case WaitQueue:
		return l.Key + "waitingQueue"
	}
	return l.Key
}

// seenKey is beside the jobs, so that a hash tag of theirs holds for it as well.
func (l Layout) seenKey(queue string) string { return l.readyKey(queue) + ":wq-seen" }

var waitQueueKeys = []string{"taskStateHashKv", "enqueuedAtHashKv", "taskGenerationHashKv", "runningHashKv",
	"reliabilityMigrationV1", "reliabilityMigrationWaitingV1"}

// apply is the call that takes a job in.
func (l Layout) apply(queue string, job *Job, seen SeenLimits) Request {
	ready := l.readyKey(queue)
	r := Request{
		Keys:      []string{l.seenKey(queue), ready},
		Arguments: []string{job.ID, strconv.FormatInt(seen.Keep.Milliseconds(), 10), strconv.FormatInt(seen.Count, 10)},
	}
	switch l.Kind {
	case List:
		r.Script = listScript
		r.Arguments = append(r.Arguments, string(job.Payload))
	case Stream:
		r.Script = streamScript
		r.Arguments = append(r.Arguments, streamFields(job)...)
	case PrismGo:
		r.Script = prismGoScript
		r.Keys = append(r.Keys, ready+":delayed", ready+":notify")
		r.Arguments = append(r.Arguments, string(job.Payload), strconv.FormatInt(job.runAtMillis(), 10))
	case WaitQueue:
		r.Script = waitQueueScript
		for _, name := range waitQueueKeys {
			r.Keys = append(r.Keys, l.Key+name)
		}
		r.Arguments = append(r.Arguments, string(job.Payload))
	}
	return r
}

// known is the call that asks whether an id is known: Applied if so, Known if not.
func (l Layout) known(queue, id string) Request {
	return Request{Script: knownScript, Keys: []string{l.seenKey(queue)}, Arguments: []string{id}}
}

func streamFields(job *Job) []string {
	fields := []string{"id", job.ID, "payload", string(job.Payload)}
	add := func(name, value string) { fields = append(fields, name, value) }
	if job.Priority != nil {
		add("priority", strconv.Itoa(*job.Priority))
	}
	if job.MaxAttempts != 0 {
		add("max_attempts", strconv.Itoa(job.MaxAttempts))
	}
	if job.Attempts != 0 {
		add("attempts", strconv.Itoa(job.Attempts))
	}
	if at := job.runAtMillis(); at != 0 {
		add("run_at_ms", strconv.FormatInt(at, 10))
	}
	if job.UniqueKey != "" {
		add("unique", job.UniqueKey)
	}
	if job.Group != "" {
		add("group", job.Group)
	}
	for _, header := range job.Headers {
		add("header:"+header.Name, string(header.Value))
	}
	return fields
}

// Lua hands at most some thousand values to one call.
const streamHeadersMax = 1000

// unfit is empty, or what of the job the layout has no place for.
func (l Layout) unfit(job *Job) string {
	switch {
	case l.Kind == Stream && len(job.Headers) > streamHeadersMax:
		return "more than 1,000 headers"
	case l.Kind == Stream:
		return ""
	case len(job.Headers) > 0:
		return "headers"
	case job.UniqueKey != "":
		return "a unique key"
	case job.Group != "":
		return "a group"
	case job.Priority != nil:
		return "a priority"
	case job.MaxAttempts != 0 || job.Attempts != 0:
		return "attempts"
	}
	return ""
}
