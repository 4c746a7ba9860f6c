"""Codes and exceptions. A call of wq ends with an outcome (0 and above), which is a value and never
an exception, or with an error (below 0), which is raised as the class of its code. All classes
derive
from WqError, so `except wq.WqError` catches everything that wq raises by itself; wrong types of
arguments are a TypeError as everywhere in Python.

Thread rule: everything here may be used from any thread."""

from __future__ import annotations

import enum
from typing import Dict, Type

from ._constants import CODES


class Code(enum.IntEnum):
    """How a call went: the codes of wq.h. True if it is OK, so that `if job.ack():` reads as it
    should; otherwise it compares like the number that it is."""

    OK = 0
    EMPTY = 1
    TIMEOUT = 2
    STALE = 3
    DUPLICATE = 4
    DISABLED = 5
    PAUSED = 6
    CANCELLED = 7
    CONFLICT = 8
    INVALID = -1
    TOO_LARGE = -2
    UNSUPPORTED = -3
    VERSION = -4
    NOT_FOUND = -20
    CLOSED = -21
    FORKED = -22
    LOCKED = -23
    READ_ONLY = -24
    NO_KEY = -25
    NO_SPACE = -40
    FULL = -41
    NO_MEMORY = -42
    IO = -60
    CORRUPT = -61
    POISONED = -62
    INTERNAL = -80

    def __bool__(self) -> bool:
        return self == 0

    def __str__(self) -> str:
        return self._name_

    @property
    def is_error(self) -> bool:
        """Below zero: an error. Zero and above are outcomes."""
        return int(self) < 0

    @classmethod
    def _missing_(cls, value: object) -> Code:
        # A newer library may have codes of its own: errors below zero, outcomes without effect
        # above.
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no code")
        code = int.__new__(cls, value)
        code._name_ = "UNKNOWN"
        code._value_ = value
        return code


class WqError(Exception):
    """An error of wq.

    code            its Code; programs decide by it or by the class, never by the text
    message         one line for a person
    retryable       the same call may succeed later with no change by the caller
    maybe_committed the store may have been changed all the same; look before you repeat
    fatal           the open store is of no more use for changes: close and reopen it
    os_errno        the number of the operating system, 0 if it had no part in it
    offset          byte offset in the file that the message names, else 0
    failed          transactions: index of the operation that was refused, else None"""

    code: Code = Code.INTERNAL

    def __init__(self, message: str, code: int | None = None, *, os_errno: int = 0,
                 offset: int = 0) -> None:
        super().__init__(message)
        if code is not None:
            self.code = Code(code)
        info = CODES.get(int(self.code))
        self.message = message
        self.name: str = info.name if info else "UNKNOWN"
        self.retryable: bool = bool(info and info.retryable)
        self.maybe_committed: bool = bool(info and info.maybe_committed)
        self.fatal: bool = bool(info and info.fatal)
        self.os_errno = os_errno
        self.offset = offset
        self.failed: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.message, int(self.code), self.os_errno, self.offset, self.failed)


class InvalidError(WqError, ValueError):
    """An argument or field is invalid; the message names it."""

    code = Code.INVALID


class TooLargeError(WqError, ValueError):
    """Over a size limit; the message names it."""

    code = Code.TOO_LARGE


class UnsupportedError(WqError):
    """Not known to this library or platform."""

    code = Code.UNSUPPORTED


class VersionError(WqError):
    """The package and the library, or the store and the library, do not match."""

    code = Code.VERSION


class NotFoundError(WqError, LookupError):
    """The thing named is not there."""

    code = Code.NOT_FOUND


class ClosedError(WqError):
    """The handle or its store is closed or shutting down."""

    code = Code.CLOSED


class ForkedError(WqError):
    """The handle was opened before a fork, in another process."""

    code = Code.FORKED


class LockedError(WqError):
    """The store is open elsewhere; the message has the process id."""

    code = Code.LOCKED


class ReadOnlyError(WqError):
    """The store is open for reading only. Reserved: no call does that yet."""

    code = Code.READ_ONLY


class NoKeyError(WqError):
    """No key of the store opens or seals the payload."""

    code = Code.NO_KEY


class NoSpaceError(WqError):
    """The disk is full or nearly full; settling and leasing go on."""

    code = Code.NO_SPACE


class FullError(WqError):
    """The queue or store is at its limit."""

    code = Code.FULL


class NoMemoryError(WqError):
    """Out of memory."""

    code = Code.NO_MEMORY


class StorageError(WqError):
    """The operating system reported an I/O error; see os_errno."""

    code = Code.IO


class CorruptError(WqError):
    """Stored data is damaged; message and offset say where."""

    code = Code.CORRUPT


class PoisonedError(WqError):
    """An earlier storage failure stopped this store; close and reopen it."""

    code = Code.POISONED


class InternalError(WqError):
    """An internal check failed: a bug in wq. The store is stopped."""

    code = Code.INTERNAL


ERRORS: Dict[int, Type[WqError]] = {
    int(cls.code): cls for cls in (
        InvalidError, TooLargeError, UnsupportedError, VersionError, NotFoundError, ClosedError,
        ForkedError, LockedError, ReadOnlyError, NoKeyError, NoSpaceError, FullError, NoMemoryError,
        StorageError, CorruptError, PoisonedError, InternalError)}


def make_error(code: int, message: str, os_errno: int = 0, offset: int = 0) -> WqError:
    """The exception of a code below zero; of an unknown one a plain WqError."""
    cls = ERRORS.get(code, WqError)
    return cls(message, code, os_errno=os_errno, offset=offset)


def _rebuild(message: str, code: int, os_errno: int, offset: int, failed: int | None) -> WqError:
    """For pickle: errors go from one process to another with all that they say."""
    error = make_error(code, message, os_errno, offset)
    error.failed = failed
    return error
