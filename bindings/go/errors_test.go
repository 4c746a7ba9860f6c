package wq_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wq.internal/wq"
)

func isError(err, want error) bool { return errors.Is(err, want) }

// headerText is the wq.h that the package was compiled with.
func headerText(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("pkg-config", "--variable=includedir", "wq").Output()
	ok(t, err)
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "wq.h"))
	ok(t, err)
	return string(data)
}

// Every code of the header is known here by the same name and value.
func TestEveryCodeMaps(t *testing.T) {
	outcomes := map[string]wq.Outcome{"OK": wq.OK, "EMPTY": wq.Empty, "TIMEOUT": wq.Timeout, "STALE": wq.Stale,
		"DUPLICATE": wq.Duplicate, "DISABLED": wq.Disabled, "PAUSED": wq.Paused, "CANCELLED": wq.Cancelled,
		"CONFLICT": wq.Conflict}
	codes := map[string]wq.Code{"INVALID": wq.ErrInvalid, "TOO_LARGE": wq.ErrTooLarge,
		"UNSUPPORTED": wq.ErrUnsupported, "VERSION": wq.ErrVersion, "NOT_FOUND": wq.ErrNotFound,
		"CLOSED": wq.ErrClosed, "NO_KEY": wq.ErrNoKey, "FORKED": wq.ErrForked, "LOCKED": wq.ErrLocked, "READ_ONLY": wq.ErrReadOnly,
		"NO_SPACE": wq.ErrNoSpace, "FULL": wq.ErrFull, "NO_MEMORY": wq.ErrNoMemory, "IO": wq.ErrIO,
		"CORRUPT": wq.ErrCorrupt, "POISONED": wq.ErrPoisoned, "INTERNAL": wq.ErrInternal}
	header := headerText(t)
	section := header[strings.Index(header, "= codes */"):]
	section = section[:strings.Index(section, "/* ====")]
	found := 0
	for _, m := range regexp.MustCompile(`(?m)^#define WQ_(E_)?([A-Z_]+) \(?(-?\d+)\)?`).FindAllStringSubmatch(section, -1) {
		value, err := strconv.Atoi(m[3])
		ok(t, err)
		found++
		if m[1] == "" {
			equal(t, int(outcomes[m[2]]), value)
			equal(t, outcomes[m[2]].String(), strings.ToLower(m[2]))
			continue
		}
		code, known := codes[m[2]]
		if !known {
			t.Fatalf("the header has WQ_E_%s, this package does not", m[2])
		}
		equal(t, int(code), value)
		equal(t, code.Name(), m[2])
		e := &wq.Error{Op: "op", Code: code, Message: "text", Errno: syscall.EIO}
		is(t, e, code)
		is(t, e, syscall.EIO)
		equal(t, e.Error(), "wq: op: "+m[2]+": text")
		equal(t, wq.Retryable(e), code.Retryable())
		equal(t, wq.Fatal(e), code == wq.ErrPoisoned || code == wq.ErrInternal)
	}
	equal(t, found, len(outcomes)+len(codes))
	equal(t, wq.ErrNoSpace.Retryable(), true)
	equal(t, wq.ErrInvalid.Retryable(), false)
	equal(t, wq.Duplicate.Retryable(), true)
	equal(t, wq.ErrIO.MaybeCommitted(), true)
	equal(t, wq.Code(-77).Name(), "UNKNOWN")
	equal(t, wq.Outcome(77).String(), "unknown")
}

func TestErrorsHaveTheirParts(t *testing.T) {
	_, err := wq.Open(filepath.Join(t.TempDir(), "no", "such", "parent"), nil)
	is(t, err, wq.ErrNotFound)
	var e *wq.Error
	equal(t, errors.As(err, &e), true)
	equal(t, e.Op, "open")
	equal(t, e.Message != "", true)
	equal(t, wq.MaybeCommitted(err), false)

	s := open(t, nil)
	_, err = wq.Open(s.Path(), nil)
	is(t, err, wq.ErrLocked)
	equal(t, strings.Contains(err.Error(), strconv.Itoa(os.Getpid())), true)
	equal(t, wq.Retryable(err), true)
	_, err = wq.Open("with\x00nul", nil)
	is(t, err, wq.ErrInvalid)
	_, err = wq.Open(s.Path()+"2", &wq.Options{SegmentBytes: 5})
	is(t, err, wq.ErrInvalid)
	_, err = wq.Open(s.Path()+"2", &wq.Options{SpareSegments: -1})
	is(t, err, wq.ErrInvalid)
	_, err = wq.Open(s.Path()+"2", &wq.Options{Quota: -1})
	is(t, err, wq.ErrInvalid)
	_, err = wq.Open(s.Path()+"2", &wq.Options{NoCreate: true})
	is(t, err, wq.ErrNotFound)
}
