"""How one changing call waits for its durability."""

from __future__ import annotations

from typing import Any, Union

from ._lib import NULL, new, number
from .types import Durability


class Call:
    """Passed as `durability` where a level alone is not enough: afterwards `lsn` is the log
    sequence number of the change, 0 if nothing was written. For one call at a time."""

    __slots__ = ("_raw",)

    def __init__(self, durability: Durability = Durability.DEFAULT) -> None:
        self._raw = raw = new("wq_call")
        raw.durability = number(int(durability), "durability")

    @property
    def lsn(self) -> int:
        """LSN of the record of the call."""
        return int(self._raw.lsn)


#: What `durability` takes: a level, a Call, or None for the default.
Level = Union[Durability, Call, None]


def call_of(level: Level) -> Any:
    """The wq_call of a level; NULL for the default."""
    if level is None:
        return NULL
    if isinstance(level, Call):
        return level._raw
    if isinstance(level, int) and not isinstance(level, bool):
        raw = new("wq_call")
        raw.durability = number(int(level), "durability")
        return raw
    raise TypeError(f"durability must be a Durability or a Call, not {type(level).__name__}")


