package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"

	"wq.internal/wq"
)

// Results: tests/conformance/README.md, section 3.

func quoted(b string) string {
	if len(b) > 64 {
		h := fnv.New32a()
		h.Write([]byte(b))
		return fmt.Sprintf("bytes(%d,%08x)", len(b), h.Sum32())
	}
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(b) {
		switch c := b[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c >= 0x20 && c <= 0x7e:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, `\x%02x`, c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)

func queueName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return quoted(name)
}

// failure is the text of an error; a context that was over is the outcome that C tells.
func failure(err error) string {
	var e *wq.Error
	switch {
	case errors.As(err, &e):
		return "error WQ_E_" + e.Code.Name()
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	stop("an error that has no code: %v", err)
	return ""
}

func answer(outcome wq.Outcome, err error) string {
	if err != nil {
		return failure(err)
	}
	return outcome.String()
}

func jobOutcome(o wq.JobOutcome) string {
	if o.Code != 0 {
		return "error WQ_E_" + o.Code.Name()
	}
	return o.Outcome.String()
}

// fields collects key=value, leaving out what is 0 or empty.
type fields []string

func (f *fields) add(key string, value any) { *f = append(*f, fmt.Sprintf("%s=%v", key, value)) }

func (f *fields) number(key string, n int64) {
	if n != 0 {
		f.add(key, n)
	}
}

func (f *fields) count(key string, n uint64) {
	if n != 0 {
		f.add(key, n)
	}
}

func (f *fields) text(key, value string) {
	if value != "" {
		f.add(key, value)
	}
}

func (f *fields) bytes(key, value string) {
	if value != "" {
		f.add(key, quoted(value))
	}
}

func (f *fields) millis(key string, d time.Duration) { f.number(key, d.Milliseconds()) }

func (f *fields) set(key string, at time.Time) {
	if !at.IsZero() {
		f.add(key, "set")
	}
}

func (f *fields) flag(key string, on bool) {
	if on {
		f.add(key, 1)
	}
}

// key tells how something is sealed, and why it does not open.
func (f *fields) key(id uint32, name string, code wq.Code) {
	f.number("key_id", int64(id))
	if code != 0 {
		f.add(name, "WQ_E_"+code.Name())
	}
}

// flagWords joins two names as far as they are true.
func flagWords(first string, isFirst bool, second string, isSecond bool) string {
	switch {
	case isFirst && isSecond:
		return first + "," + second
	case isFirst:
		return first
	case isSecond:
		return second
	}
	return ""
}

func (f fields) String() string { return strings.Join(f, " ") }

func (r *runner) print(parts ...string) {
	r.out.WriteString(strings.Join(parts, " "))
	r.out.WriteByte('\n')
}

func (r *runner) row(parts ...string) {
	r.print("  " + strings.TrimRight(strings.Join(parts, " "), " "))
}

// nameOf is how an id is printed.
func (r *runner) nameOf(id uint64) string {
	if name, known := r.firstNames[id]; known {
		return name
	}
	return "?"
}

func (r *runner) flowName(flow uint64) string {
	if flow == 0 {
		return ""
	}
	if name, known := r.flowNames[flow]; known {
		return name
	}
	return "?"
}

func (r *runner) header(f *fields, headers []wq.Header) {
	for _, h := range headers {
		value := string(h.Value)
		switch h.Name {
		case "wq-batch":
			if id, err := strconv.ParseUint(value, 10, 64); err == nil && r.flowNames[id] != "" {
				value = r.flowNames[id]
			}
		case "wq-slot-ms":
			value = "*"
		}
		f.add("header", quoted(h.Name+"="+value))
	}
}

// told binds the token of a job that was told, and prints its row.
func (r *runner) told(j *wq.Job) {
	name := r.nameOf(j.ID)
	for _, n := range r.names {
		if n.token.ID == j.ID && !n.kept {
			n.token.Generation = j.Generation
		}
	}
	var f fields
	f.add("queue", queueName(j.Queue))
	f.add("state", j.State)
	f.add("priority", j.Priority)
	f.add("attempts", j.Attempts)
	f.add("max_attempts", j.MaxAttempts)
	f.add("payload", quoted(string(j.Payload)))
	f.number("exceptions", int64(j.Exceptions))
	f.number("replays", int64(j.Replays))
	f.text("dead_reason", j.DeadReason.String())
	f.set("deadline_ms", j.Deadline)
	f.set("dead_ms", j.DeadAt)
	f.set("first_dead_ms", j.FirstDeadAt)
	r.header(&f, j.Headers)
	if strings.HasPrefix(j.LastError, "the payload of job") {
		f.add("last_error", "*")
	} else {
		f.bytes("last_error", j.LastError)
	}
	f.millis("timeout_ms", j.Timeout)
	f.set("expires_at_ms", j.ExpiresAt)
	f.set("retry_until_ms", j.RetryUntil)
	f.number("max_exceptions", int64(j.MaxExceptions))
	f.text("flags", flagWords("fail_on_timeout", j.FailOnTimeout, "encrypt", j.Sealed))
	f.bytes("progress", string(j.Progress))
	f.text("flow", r.flowName(j.Flow))
	f.number("chain_count", int64(j.ChainCount))
	f.flag("flow_cancelled", j.FlowCancelled)
	f.bytes("group", j.Group)
	f.flag("parked", j.Parked)
	f.bytes("tenant", j.Tenant)
	f.bytes("rate_key", j.RateKey)
	if j.RateKey != "" {
		f.number("rate_cost", int64(j.RateCost))
	}
	f.key(j.KeyID, "payload_code", j.PayloadCode)
	r.row(name, f.String())
}

var whyNames = []struct {
	bit  wq.Why
	name string
}{
	{wq.WhyDelayed, "delayed"}, {wq.WhyPaused, "paused"}, {wq.WhyDisabled, "disabled"}, {wq.WhySlots, "slots"},
	{wq.WhyBehind, "behind"}, {wq.WhyHeld, "held"}, {wq.WhyLate, "late"}, {wq.WhyDead, "dead"},
	{wq.WhyStopped, "stopped"}, {wq.WhyEmpty, "empty"}, {wq.WhyGroup, "group"}, {wq.WhyRate, "rate"},
	{wq.WhyCooling, "cooling"},
}

func causes(why wq.Why) string {
	var list []string
	for _, w := range whyNames {
		if why&w.bit != 0 {
			list = append(list, w.name)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}
