"""Callbacks of the library into Python. What one raises (Ctrl-C raises KeyboardInterrupt in it)
stops the work and is raised again when the call of the library has returned: no exception crosses
C."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ._lib import ffi, lib


@ffi.def_extern()  # type: ignore[untyped-decorator,unused-ignore]
def wqpy_progress(first: int, second: int, context: Any) -> int:
    """What the library calls, for backups and for bulk changes of dead letters."""
    progress = ffi.from_handle(context)
    try:
        if progress.callback is not None and progress.callback(first, second) is False:
            return 1
        return 0
    except BaseException as problem:
        progress.problem = problem
        return 1


class Progress:
    """A progress callback for one call: returning False or raising stops the work. Without one it
    is there all the same, so that signal handlers of Python get to run."""

    __slots__ = ("callback", "problem", "context", "__weakref__")

    def __init__(self, callback: Optional[Callable[[int, int], object]]) -> None:
        self.callback = callback
        self.problem: Optional[BaseException] = None
        self.context = ffi.new_handle(self)

    @property
    def function(self) -> Any:
        """The C function."""
        return lib.wqpy_progress

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.context = None  # it and we refer to each other
        if self.problem is not None:
            raise self.problem
