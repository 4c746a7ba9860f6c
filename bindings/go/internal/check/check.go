// Package check is what the tests of the packages on top of wq have in common.
package check

import (
	"errors"
	"path/filepath"
	"testing"

	"wq.internal/wq"
)

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// Equal ends the test if got is not want.
func Equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// Is ends the test if err is not want, nor wraps it.
func Is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// Open returns a store of the test's own, in a directory of the test's own, closed at its end.
func Open(t testing.TB, options wq.Options) *wq.Store {
	t.Helper()
	return OpenAt(t, filepath.Join(t.TempDir(), "store"), options)
}

// OpenAt opens the store at path, closed at the end of the test.
func OpenAt(t testing.TB, path string, options wq.Options) *wq.Store {
	t.Helper()
	options.SegmentBytes = 1 << 20
	s, err := wq.Open(path, &options)
	OK(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
