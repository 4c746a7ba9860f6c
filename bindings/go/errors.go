package wq

// Outcomes, codes and errors. Outcomes are above zero in wq.h, codes of errors below.

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"syscall"
)

// Outcome is how a call went that did what it says. Only OK means that something was done, unless
// the call says otherwise.
type Outcome int32

// Outcomes. Values are those of wq.h and never change.
const (
	OK        Outcome = C.WQ_OK
	Empty     Outcome = C.WQ_EMPTY     // nothing there, also after the wait
	Timeout   Outcome = C.WQ_TIMEOUT   // the time ran out before the wait was over
	Stale     Outcome = C.WQ_STALE     // the lease or entry is held by this generation no more
	Duplicate Outcome = C.WQ_DUPLICATE // the key is held by another job
	Disabled  Outcome = C.WQ_DISABLED  // the queue is disabled
	Paused    Outcome = C.WQ_PAUSED    // the queue is paused
	Cancelled Outcome = C.WQ_CANCELLED // the wait was cancelled, or the flow of the job was
	Conflict  Outcome = C.WQ_CONFLICT  // the object changed since it was read, or is in another state
)

// String returns the name as in wq.h without prefix, in lower case: "stale".
func (o Outcome) String() string {
	if o == OK {
		return "ok"
	}
	return lower(codeName(int32(o)))
}

// Retryable reports whether the same call may succeed later, with no change by the caller.
func (o Outcome) Retryable() bool { return C.wq_error_is_retryable(C.int32_t(o)) != 0 }

// Code is the code of an error. It is an error itself, as a target for errors.Is.
type Code int32

// Codes. Values are those of wq.h and never change.
const (
	ErrInvalid     Code = C.WQ_E_INVALID     // an argument or field is invalid; the message names it
	ErrTooLarge    Code = C.WQ_E_TOO_LARGE   // over a size limit; the message names it
	ErrUnsupported Code = C.WQ_E_UNSUPPORTED // not known to this library or platform
	ErrVersion     Code = C.WQ_E_VERSION     // binding, library and store do not match
	ErrNotFound    Code = C.WQ_E_NOT_FOUND   // the thing named is not there
	ErrClosed      Code = C.WQ_E_CLOSED      // the handle or its store is closed or shutting down
	ErrForked      Code = C.WQ_E_FORKED      // opened before a fork, in another process
	ErrLocked      Code = C.WQ_E_LOCKED      // the store is open elsewhere; the message has the pid
	ErrReadOnly    Code = C.WQ_E_READ_ONLY   // reserved
	ErrNoKey       Code = C.WQ_E_NO_KEY      // no key of the store opens or seals the payload
	ErrNoSpace     Code = C.WQ_E_NO_SPACE    // the disk is full or nearly full
	ErrFull        Code = C.WQ_E_FULL        // the queue or store is at its limit
	ErrNoMemory    Code = C.WQ_E_NO_MEMORY   // memory is out
	ErrIO          Code = C.WQ_E_IO          // an I/O error of the operating system
	ErrCorrupt     Code = C.WQ_E_CORRUPT     // stored data is damaged; message and offset say where
	ErrPoisoned    Code = C.WQ_E_POISONED    // an earlier storage failure stopped this store; reopen
	ErrInternal    Code = C.WQ_E_INTERNAL    // an internal check failed: a bug in wq
)

// Error returns the line of the library about the code.
func (c Code) Error() string { return "wq: " + C.GoString(C.wq_strerror(C.int32_t(c))) }

// Name returns the name as in wq.h without prefix: "NO_SPACE"; "UNKNOWN" for an unknown code.
func (c Code) Name() string { return codeName(int32(c)) }

// Retryable reports whether the same call may succeed later, with no change by the caller.
func (c Code) Retryable() bool { return C.wq_error_is_retryable(C.int32_t(c)) != 0 }

// MaybeCommitted reports whether a call that ended so may have changed the store all the same. After
// reopening look before you repeat.
func (c Code) MaybeCommitted() bool { return C.wq_error_maybe_committed(C.int32_t(c)) != 0 }

// Fatal reports whether the store is of no more use for changes and must be closed and reopened.
func (c Code) Fatal() bool { return C.wq_error_is_fatal(C.int32_t(c)) != 0 }

// Error is what a failed call returns. errors.Is finds its Code (wq.ErrNoSpace) and, if the operating
// system had a part in it, its errno (syscall.ENOSPC).
type Error struct {
	Op      string        // the operation: "enqueue"
	Code    Code          // programs decide by it
	Message string        // one line for a person
	Errno   syscall.Errno // 0 if the operating system had no part in it
	Offset  uint64        // byte offset in the file that the message names, else 0
}

// Error returns operation, name of the code and message in one line.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = C.GoString(C.wq_strerror(C.int32_t(e.Code)))
	}
	return "wq: " + e.Op + ": " + e.Code.Name() + ": " + text
}

// Is makes errors.Is(err, wq.ErrClosed) work.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the errno, if there is one.
func (e *Error) Unwrap() error {
	if e.Errno != 0 {
		return e.Errno
	}
	return nil
}

// Retryable reports what Code.Retryable does.
func (e *Error) Retryable() bool { return e.Code.Retryable() }

// MaybeCommitted reports what Code.MaybeCommitted does.
func (e *Error) MaybeCommitted() bool { return e.Code.MaybeCommitted() }

// Fatal reports what Code.Fatal does.
func (e *Error) Fatal() bool { return e.Code.Fatal() }

// UncertainError says that a change was made and will most probably become durable, but that the
// context ended before it had. errors.Is finds the error of the context.
type UncertainError struct {
	Op  string
	LSN uint64 // Store.WaitDurable tells when it is durable
	Err error  // of the context
}

// Error returns one line.
func (e *UncertainError) Error() string {
	return fmt.Sprintf("wq: %s: made as change %d, but not known to be durable: %v", e.Op, e.LSN, e.Err)
}

// Unwrap returns the error of the context.
func (e *UncertainError) Unwrap() error { return e.Err }

// Retryable reports whether err is of this package and the same call may succeed later.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Retryable()
}

// MaybeCommitted reports whether the call that returned err may have changed the store.
func MaybeCommitted(err error) bool {
	var uncertain *UncertainError
	var e *Error
	return errors.As(err, &uncertain) || errors.As(err, &e) && e.MaybeCommitted()
}

// Fatal reports whether the store that returned err must be closed and reopened.
func Fatal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Fatal()
}

// newError makes the error of a failed call from what the library filled in.
func newError(op string, err *C.wq_error) error {
	return &Error{
		Op:      op,
		Code:    Code(err.code),
		Message: C.GoString(&err.message[0]),
		Errno:   syscall.Errno(err.os_errno),
		Offset:  uint64(err.offset),
	}
}

func codeError(op string, code Code, message string) error {
	return &Error{Op: op, Code: code, Message: message}
}

func codeName(code int32) string { return C.GoString(C.wq_error_name(C.int32_t(code))) }

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
