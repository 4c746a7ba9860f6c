package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lines of a script: tests/conformance/README.md, section 1.

type argument struct{ key, text string }

type line struct {
	op   string // "+" is a part
	args []argument
	now  time.Time
}

func parseLine(text string) (*line, error) {
	rest := strings.TrimLeft(text, " ")
	op, rest, _ := strings.Cut(rest, " ")
	l := &line{op: op, now: time.Now()}
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, found := strings.Cut(rest, "=")
		if !found {
			return nil, fmt.Errorf("no = behind %q", rest)
		}
		value, left, err := parseValue(after)
		if err != nil {
			return nil, err
		}
		l.args = append(l.args, argument{key, value})
		rest = left
	}
	return l, nil
}

func parseValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, " ")
		return value, rest, nil
	}
	var b strings.Builder
	i := 1
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch {
		case i+2 < len(text) && text[i] == 'x':
			n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", "", err
			}
			b.WriteByte(byte(n))
			i += 2
		case i < len(text) && (text[i] == '\\' || text[i] == '"'):
			b.WriteByte(text[i])
		default:
			return "", "", fmt.Errorf("bad escape in %q", text)
		}
	}
	if i >= len(text) {
		return "", "", fmt.Errorf("no end of %q", text)
	}
	value, rest = b.String(), text[i+1:]
	if strings.HasPrefix(rest, "*") {
		var count string
		count, rest, _ = strings.Cut(rest[1:], " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			return "", "", err
		}
		value = strings.Repeat(value, n)
	}
	return value, rest, nil
}

// fault is a script that can not be run to its end: exit 2.
type fault struct{ error }

func stop(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

func (l *line) has(key string) bool {
	for _, a := range l.args {
		if a.key == key {
			return true
		}
	}
	return false
}

func (l *line) hasPrefix(prefix string) bool {
	for _, a := range l.args {
		if strings.HasPrefix(a.key, prefix) {
			return true
		}
	}
	return false
}

func (l *line) get(key string) string {
	for _, a := range l.args {
		if a.key == key {
			return a.text
		}
	}
	return ""
}

func (l *line) need(key string) string {
	if !l.has(key) {
		stop("%s needs %s", l.op, key)
	}
	return l.get(key)
}

func (l *line) list(key string) []string {
	if l.get(key) == "" {
		return nil
	}
	return strings.Split(l.get(key), ",")
}

func (l *line) flag(name string) bool {
	for _, f := range l.list("flags") {
		if f == name {
			return true
		}
	}
	return false
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) { // beyond every bound, as beyond the type
		return n
	}
	if err != nil {
		stop("no number: %q", text)
	}
	return n
}

func (l *line) int(key string) int64 {
	if !l.has(key) {
		return 0
	}
	return number(l.get(key))
}

func (l *line) ms(key string) time.Duration { return time.Duration(l.int(key)) * time.Millisecond }

// time reads a point in time: +N and -N from now, else Unix ms; 0 is none.
func (l *line) time(key string) time.Time {
	text := l.get(key)
	switch {
	case text == "" || text == "0":
		return time.Time{}
	case text[0] == '+':
		return l.now.Add(time.Duration(number(text[1:])) * time.Millisecond)
	case text[0] == '-':
		return l.now.Add(-time.Duration(number(text[1:])) * time.Millisecond)
	}
	return time.UnixMilli(number(text))
}

func durations(list []string) []time.Duration {
	var out []time.Duration
	for _, text := range list {
		out = append(out, time.Duration(number(text))*time.Millisecond)
	}
	return out
}

// word finds a constant by its name in lower case; a number stands for itself.
func word[T ~uint32](text string, names []string) T {
	for i, name := range names {
		if name != "" && name == text {
			return T(i)
		}
	}
	if text == "" {
		return 0
	}
	return T(number(text))
}

var (
	durabilityNames = []string{"", "memory", "process", "power"}
	stateNames      = []string{"", "ready", "delayed", "leased", "running", "dead"}
	backoffNames    = []string{"", "fixed", "exponential", "list"}
	uniqueNames     = []string{"", "started", "done", "gone"}
	keyNames        = []string{"", "unique", "debounce", "idempotency"}
	settleNames     = []string{"", "ack", "nack", "fail", "release"}
	deadNames       = []string{"", "failed", "lease_expired", "timeout", "retry_until", "max_exceptions", "cancelled", "expired", "unknown_type", "unreadable"}
	fullNames       = []string{"refuse", "drop_oldest"}
	overlapNames    = []string{"park", "release", "skip"}
)
