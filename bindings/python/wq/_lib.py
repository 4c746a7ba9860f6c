"""The floor of the package: loads the extension module, checks that it fits the library, and gives
what all other files stand on: bytes in and out, errors, calls on handles.

Closing is safe at any moment. A Handle counts the calls that are inside it (append and pop of a
list are atomic under the GIL), so close() first lets them leave and only then frees the C handle;
waits are ended through their cancel tokens. The counting costs a tenth of a microsecond.
A child process after a fork only forgets its handles, as wq.h asks for."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _constants as k
from .errors import ClosedError, Code, InvalidError, VersionError, WqError, make_error

try:
    from ._wq import ffi as ffi
    from ._wq import lib as lib
except ImportError as problem:
    raise ImportError("the extension module wq._wq can not be loaded; was the package built, and "
                      f"is libwq.so where the loader finds it? ({problem})") from problem

BytesLike = Union[bytes, bytearray, memoryview]
NULL = ffi.NULL
_SURROGATES = "surrogateescape"


def _check_versions() -> None:
    """The handshake: header that the package was made from, header it was compiled with,
    library."""
    library = lib.wq_version()
    made_for = (k.VERSION_MAJOR, k.VERSION_MINOR)
    compiled = (lib.WQ_VERSION_MAJOR, lib.WQ_VERSION_MINOR)
    loaded = (library >> 16, library >> 8 & 0xff)
    if made_for != compiled or compiled != loaded:
        raise VersionError(f"the package wq is made for {made_for[0]}.{made_for[1]}, was compiled "
                           f"with the wq.h of {compiled[0]}.{compiled[1]}, and the library is "
                           f"{loaded[0]}.{loaded[1]}: install the same version of all three")
    for name, size in k.SIZES.items():
        if ffi.sizeof(name) < size:
            raise VersionError(f"{name} has {ffi.sizeof(name)} bytes in the wq.h that the package "
                               f"was compiled with, {size} in the one that it is made for: build "
                               "the package again")


_check_versions()


def version() -> str:
    """Version of the library, like "0.1.0"."""
    return text_of(lib.wq_version_string())


def build_info() -> str:
    """One line on how the library was built, for bug reports."""
    return text_of(lib.wq_build_info())


def format_version() -> int:
    """Version of the format on disk that the library writes."""
    return int(lib.wq_format_version())


# ---- bytes --------------------------------------------------------------------------------------

def text_of(chars: Any) -> str:
    return str(ffi.string(chars).decode("utf-8", "replace"))


def chars_text(chars: Any, size: int) -> str:
    """A text in a field of chars, which may have any byte in it, NUL as well."""
    return bytes(ffi.buffer(chars, size)).decode("utf-8", "replace")


def bytes_of(view: Any) -> bytes:
    """A copy of a wq_bytes."""
    return bytes(ffi.buffer(view.data, view.len)) if view.len else b""


def name_of(view: Any) -> str:
    """A name out of wq. Bytes that are no UTF-8 come as surrogates and go back in as they were."""
    return bytes_of(view).decode("utf-8", _SURROGATES)


def name_bytes(name: Union[str, bytes], what: str = "name") -> bytes:
    """A name on its way in."""
    if isinstance(name, str):
        return name.encode("utf-8", _SURROGATES)
    if isinstance(name, bytes):
        return name
    raise TypeError(f"{what} must be str or bytes, not {type(name).__name__}")


def data_bytes(data: BytesLike, what: str) -> bytes:
    """Data on its way in, as bytes; nothing is copied if it is bytes already."""
    if type(data) is bytes:
        return data
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"{what} must be bytes, not {type(data).__name__}; encode it first")


def text_bytes(text: Union[str, BytesLike], what: str) -> bytes:
    """An error text or a value for which text is as good as bytes."""
    if isinstance(text, str):
        return text.encode("utf-8", _SURROGATES)
    return data_bytes(text, what)


def error_bytes(text: Union[str, BytesLike]) -> bytes:
    """Why a job failed. Any str will do: a settle that is refused for its text leaves the job
    leased. Surrogates that are no bytes are told as \\ud83d."""
    if isinstance(text, str):
        try:
            return text.encode("utf-8", _SURROGATES)
        except UnicodeEncodeError:
            return text.encode("utf-8", "backslashreplace")
    return data_bytes(text, "error")


def path_bytes(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]) -> bytes:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise InvalidError("path: a NUL byte in it")
    return encoded


def set_bytes(target: Any, data: bytes, keep: List[Any]) -> None:
    """Point a wq_bytes at `data`; `keep` holds it until the call has been made."""
    if data:
        view = ffi.from_buffer(data)
        keep.append(view)
        target.data = view
        target.len = len(data)


def number(value: int, what: str, high: int = 2**32 - 1, low: int = 0) -> int:
    """An integer that fits its field, else InvalidError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise InvalidError(f"{what}: {value} is not in {low}..{high}")
    return value


U64 = 2**64 - 1
I64 = 2**63 - 1


_structs: Dict[str, Tuple[Any, int]] = {}  # the type of a pointer to it, and its size


def new(struct: str) -> Any:
    """A sized struct, all defaults."""
    try:
        kind, size = _structs[struct]
    except KeyError:
        kind, size = _structs[struct] = ffi.typeof(struct + " *"), ffi.sizeof(struct)
    value = ffi.new(kind)
    value.struct_size = size
    return value


def new_array(struct: str, count: int) -> Any:
    values = ffi.new(struct + "[]", count)
    size = ffi.sizeof(struct)
    for i in range(count):
        values[i].struct_size = size
    return values


# ---- errors -------------------------------------------------------------------------------------

_spare_errors: List[Any] = []


def take_error() -> Any:
    """A wq_error for one call. Spare ones are used again; the list is safe between threads."""
    try:
        return _spare_errors.pop()
    except IndexError:
        return new("wq_error")


def give_error(err: Any) -> None:
    """Back to the spare ones: it was not raised."""
    _spare_errors.append(err)


def error_of(code: int, err: Any) -> WqError:
    """The exception of a code below zero with what the library said about it."""
    if err is not None and err.code == code:
        return make_error(code, text_of(err.message), err.os_errno, err.offset)
    return make_error(code, text_of(lib.wq_strerror(code)))


CODE_OF = {int(code): code for code in Code}


def code_of(value: int) -> Code:
    """The Code of a number; one that this package does not know is still a Code."""
    try:
        return CODE_OF[value]
    except KeyError:
        return Code(value)


def call_free(function: Callable[..., int], *args: Any) -> int:
    """Call a function that has no handle; its last parameter is the error."""
    place = _outside.enter()
    try:
        err = take_error()
        code = function(*args, err)
        if code < 0:
            raise error_of(code, err)
        _spare_errors.append(err)
        return code
    finally:
        _outside.leave(place)


# ---- the end of the process ---------------------------------------------------------------------

class Outside:
    """Calls that no open handle knows of: those without one, and closings under way. The process
    must not end while a thread is in the library: exit() destroys what the library and the ones
    below it stand on, and daemon threads go on meanwhile."""

    def __init__(self) -> None:
        self._places: Dict[int, threading.Event] = {}
        self._numbers = itertools.count()

    def enter(self) -> int:
        number = next(self._numbers)
        self._places[number] = threading.Event()
        return number

    def leave(self, number: int) -> None:
        self._places.pop(number).set()

    def wait(self, end: float) -> None:
        """Until those that are in have left, but no longer than to `end`."""
        for event in list(self._places.values()):
            event.wait(max(0.0, end - time.monotonic()))


_outside = Outside()
_open_stores: Dict[int, "weakref.ref[Handle]"] = {}
# A callback that does not return must not hold up the end of the process for ever.
_PATIENCE_S = 30.0


def close_at_exit(store: Handle) -> None:
    """Close it when the process ends, if nobody did."""
    key = id(store)
    _open_stores[key] = weakref.ref(store, lambda _: _open_stores.pop(key, None))


def _at_exit() -> None:
    """Close what is open, and let everybody out. In a forked child there is nobody but us."""
    end = time.monotonic() + _PATIENCE_S
    stores = [store for store in (ref() for ref in list(_open_stores.values()))
              if store is not None and store._pid == os.getpid()]
    for store in stores:
        with contextlib.suppress(RuntimeError, WqError):
            store._close(end)
    _outside.wait(end)


atexit.register(_at_exit)


# ---- handles ------------------------------------------------------------------------------------

# Of two threads that close a handle one does it. Re-entrant: garbage collection may close another.
_closing = threading.RLock()


class Waits:
    """The waits that go on in a handle: each has a cancel token of the library of its own, so that
    closing, Ctrl-C or a CancelToken can end one wait and leave all others alone."""

    __slots__ = ("tokens",)

    def __init__(self) -> None:
        self.tokens: List[Any] = []

    def fire(self) -> None:
        for token in list(self.tokens):
            lib.wq_cancel_fire(token)


class Inside:
    """A stay inside a handle. A class and no generator: it costs a third."""

    __slots__ = ("_handle", "_ident")

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._ident = threading.get_ident()

    def __enter__(self) -> Any:
        handle = self._handle
        try:  # the append is inside: a KeyboardInterrupt right behind it must find the except
            handle._users.append(self._ident)
            ptr = handle._ptr
            if ptr is None:
                raise ClosedError(f"the {handle._what} is closed")
            return ptr
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        handle = self._handle
        handle._users.remove(self._ident)
        if handle._drained is not None and not handle._users:
            handle._drained.set()


class Handle:
    """A handle of the library with a count of the calls inside it."""

    __slots__ = ("_ptr", "_users", "_drained", "_pid", "_waits", "_what", "__weakref__")

    def __init__(self, ptr: Any, what: str) -> None:
        self._ptr = ptr
        self._users: List[int] = []
        self._drained: Optional[threading.Event] = None
        self._pid = os.getpid()
        self._waits = Waits()
        self._what = what

    @property
    def closed(self) -> bool:
        """True once close() was called."""
        return self._ptr is None

    def inside(self) -> Inside:
        """For `with`: the C handle, which stays until the block is left."""
        return Inside(self)

    def _do(self, function: Callable[..., int], *args: Any) -> int:
        """function(handle, *args, err): the code, 0 or above. A code below zero is raised."""
        users = self._users
        ident = threading.get_ident()
        try:  # the append is inside: a KeyboardInterrupt right behind it must find the finally
            users.append(ident)
            ptr = self._ptr
            if ptr is None:
                raise ClosedError(f"the {self._what} is closed")
            err = take_error()
            code = function(ptr, *args, err)
            if code < 0:
                raise error_of(code, err)
            _spare_errors.append(err)
            return code
        finally:
            users.remove(ident)
            if self._drained is not None and not users:
                self._drained.set()

    def _close(self, end: Optional[float] = None) -> None:
        """Refuse new calls, end waits, let the calls inside leave (up to the time `end`, if there
        is one), and free the C handle."""
        forked = os.getpid() != self._pid
        if forked:  # the threads that were inside are not in this process, nor is who had the lock
            ptr, self._ptr = self._ptr, None
        else:
            if self._ptr is not None and threading.get_ident() in self._users:
                raise RuntimeError(f"the {self._what} can not be closed from inside one of its own "
                                   "calls (a callback or a signal handler)")
            with _closing:
                ptr, self._ptr = self._ptr, None
                if ptr is not None:
                    self._drained = threading.Event()
        if ptr is None:
            return
        leaving = _outside.enter()
        try:
            if not forked and self._drained is not None:
                self._waits.fire()
                if self._users and not self._drained.wait(
                        None if end is None else max(0.0, end - time.monotonic())):
                    return  # the process ends, and somebody is still in there
            ffi.release(ptr)
        finally:
            _outside.leave(leaving)


def from_handle(handle: Handle, kind: str, free: Any, function: Callable[..., int],
                *args: Any) -> Tuple[int, Any]:
    """function(handle, *args, out, err) of an object that is made: (code, the object or None). It
    is freed by `free` when Python has forgotten it."""
    out = ffi.new(kind + " **")
    code = handle._do(function, *args, out)
    return code, (ffi.gc(out[0], free) if out[0] else None)


def text_from(handle: Handle, function: Callable[..., int], *args: Any) -> str:
    """The text that function(handle, *args, &text, err) makes."""
    _, text = from_handle(handle, "wq_text", lib.wqpy_text_free, function, *args)
    return name_of(lib.wq_text_bytes(text)) if text is not None else ""
