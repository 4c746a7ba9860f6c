"""Waits that can be ended: by a CancelToken, by closing the store or queue, and by Ctrl-C.

A call that blocks in C does not see Python's signals. So in the main thread a wait is done by a
helper thread while the main thread waits for it in Python, where signal handlers run; if a handler
raises (KeyboardInterrupt does), the wait is ended through its cancel token, what it may have got is
given back by who asked, and the exception goes on. Other threads get no signals and wait by
themselves."""

from __future__ import annotations

import _thread
import threading
from typing import Any, Callable, List, Optional, Sequence, TypeVar

from ._lib import Handle, call_free, ffi, lib
from .errors import ClosedError

T = TypeVar("T")
# A signal that arrives just before the main thread blocks in a lock, or in another thread, does not
# wake it: Python marks it and goes on waiting. So the wait looks up that often.
_LOOK_S = 0.2


def _new_token() -> Any:
    out = ffi.new("wq_cancel **")
    call_free(lib.wq_cancel_new, out)
    return ffi.gc(out[0], lib.wqpy_cancel_free)


class CancelToken:
    """Ends waits from anywhere: another thread, a signal handler of Python, an event loop.

    One token may serve any number of calls at the same time. Fired, it stays so: calls that wait
    with it return Code.CANCELLED, and so does each later one before it does anything. A call that
    has its jobs already returns them. Thread: any. Blocks: no."""

    __slots__ = ("_fired", "_tokens", "__weakref__")

    def __init__(self) -> None:
        self._fired = False
        self._tokens: List[Any] = []

    @property
    def fired(self) -> bool:
        """Whether fire() was called."""
        return self._fired

    def fire(self) -> None:
        """End the waits. Twice does nothing more."""
        self._fired = True
        for token in list(self._tokens):
            lib.wq_cancel_fire(token)


def waiting(handles: Sequence[Handle], cancel: Optional[CancelToken],
            run: Callable[[Any], T]) -> T:
    """run(token), where the token is fired when `cancel` is or when one of the handles closes. The
    caller is inside all of the handles."""
    token = _new_token()
    lists = [handle._waits.tokens for handle in handles]
    if cancel is not None:
        lists.append(cancel._tokens)
    try:
        for tokens in lists:
            tokens.append(token)
        # Who fires looks at the list after setting its mark, so one of us two sees the other.
        if cancel is not None and cancel.fired:
            lib.wq_cancel_fire(token)
        for handle in handles:
            if handle._ptr is None:
                raise ClosedError(f"the {handle._what} is closed")
        result = run(token)
    finally:
        for tokens in lists:
            if token in tokens:
                tokens.remove(token)
    return result


def interruptible(token: Any, run: Callable[[], T]) -> T:
    """run(), which waits in C until it is done or `token` is fired; Ctrl-C ends it. When this
    raises, run() has ended; what it did is its caller's to undo."""
    if threading.current_thread() is not threading.main_thread():
        return run()
    done = threading.Event()
    results: List[T] = []
    problems: List[BaseException] = []

    def body() -> None:
        try:
            results.append(run())
        except BaseException as problem:  # told to the thread that waits
            problems.append(problem)
        finally:
            done.set()

    launched, start = True, _thread.start_new_thread
    try:
        # One call of C: when a handler raises here, the thread is on its way. Thread.start() waits
        # in Python, and would leave us without knowing.
        start(body, ())
        while not done.wait(_LOOK_S):
            pass
    except BaseException as problem:
        if type(problem) is RuntimeError and str(problem) == "can't start new thread":
            launched = False
        lib.wq_cancel_fire(token)
        while launched and not done.is_set():
            try:
                done.wait()
            except BaseException:  # a second Ctrl-C: the wait ends all the same, and soon
                continue
        raise
    if problems:
        raise problems[0]
    return results[0]
