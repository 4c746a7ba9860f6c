"""The one rule of times at the surface.

Durations: given as seconds (int or float) or as a timedelta; told as a timedelta.
Points in time: given as a datetime with a time zone or as Unix seconds; told as a datetime in UTC.
Where wq.h says "0: none", it is None here, both ways. Waits: 0 does not wait, None waits for ever.
All is kept in whole milliseconds; a duration above zero is at least one of them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

from .errors import InvalidError

Duration = Union[int, float, timedelta]
When = Union[int, float, datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)
_INT64_MAX = 2**63 - 1


def _whole_ms(seconds: float, name: str) -> int:
    if not math.isfinite(seconds):
        raise InvalidError(f"{name}: {seconds} is no time")
    ms = round(seconds * 1000)
    if abs(ms) > _INT64_MAX:
        raise InvalidError(f"{name}: {seconds} s does not fit")
    return 1 if ms == 0 and seconds > 0 else ms


def to_ms(value: Optional[Duration], name: str) -> int:
    """Milliseconds of a duration; None is 0."""
    if value is None:
        return 0
    if isinstance(value, timedelta):
        ms = value // _MS
        return 1 if ms == 0 and value else ms
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be seconds or a timedelta, not {type(value).__name__}")
    return _whole_ms(value, name)


def wait_ms(value: Optional[Duration], name: str) -> int:
    """Milliseconds of a wait; None is -1, for ever."""
    if value is None:
        return -1
    ms = to_ms(value, name)
    if ms < 0:
        raise InvalidError(f"{name}: a wait can not be negative; None waits for ever")
    return ms


def when_ms(value: Optional[When], name: str) -> int:
    """Unix milliseconds of a point in time; None is 0."""
    if value is None:
        return 0
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError(f"{name} must be a datetime with a time zone (or Unix seconds)")
        return (value - _EPOCH) // _MS
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a datetime or Unix seconds, not {type(value).__name__}")
    return _whole_ms(value, name)


def duration(ms: int) -> timedelta:
    """A duration that wq told."""
    return timedelta(milliseconds=ms)


def some_duration(ms: int) -> Optional[timedelta]:
    """A duration that wq told, 0 being none."""
    return timedelta(milliseconds=ms) if ms else None


def when(ms: int) -> Optional[datetime]:
    """A point in time that wq told, 0 being none."""
    return moment(ms) if ms else None


def moment(ms: int) -> datetime:
    """A point in time that wq told. One behind the year 9999 is the last moment."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)
