"""Configuration of a queue: what can be set, and what is told."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any, List, Optional, TypedDict

from . import _constants as k
from . import times
from ._lib import U64, new, number
from .spec import Backoff, BackoffKind, fill_backoff
from .times import Duration
from .types import Durability, FullPolicy, Status


@dataclasses.dataclass(frozen=True)
class Rate:
    """At most `count` jobs begin within any `window`, evenly spread; up to `burst` of them at once
    after an idle time (0: 1)."""

    count: int
    window: Duration
    burst: int = 0


@dataclasses.dataclass(frozen=True)
class Throttle:
    """A circuit breaker for each rate key: after `count` exceptions of its jobs within any `window`
    no job of it begins for `cool` (None: as the window). A nack that counts is an exception; a
    fail, a release and a lease that ran out are none. An ack sets the count back."""

    count: int
    window: Duration
    cool: Optional[Duration] = None


class ConfigOptions(TypedDict, total=False):
    """What may be set of a queue; what is left out stays as it is, or has its default.

    max_running      leased and running jobs at once; 0: no bound
    max_retries      attempts after the first; default 3
    lease            length of a lease; default 60 s
    durability       default of enqueue and settle; default POWER
    backoff          delays between attempts; None, the default: at once
    job_ttl          a job that did not start so long after it was enqueued ends; None: never
    max_depth, max_bytes, full_policy    bounds of what waits, and what happens there; 0: none
    dead_max_count, dead_max_age         bounds of the dead letters; 0, None: none
    keep_done_count, keep_done_age       history of acked jobs; both left out: none
    group_limit      jobs of one group at once; default 1
    rate             how many jobs begin; None, the default: no limit
    key_rate         the same of the jobs of each rate_key alone
    throttle         when a rate_key cools down; None, the default: never
    encrypt          payloads of new jobs are stored sealed; see `keys` of Store.open
    compress_min_bytes   payloads of new jobs from this size on are stored compressed, if that makes
                     them smaller; 0, the default: none. Do not compress sealed payloads in which a
                     secret stands beside what others may choose: the length tells"""

    max_running: int
    max_retries: int
    lease: Duration
    durability: Durability
    backoff: Optional[Backoff]
    job_ttl: Optional[Duration]
    max_depth: int
    max_bytes: int
    full_policy: FullPolicy
    dead_max_count: int
    dead_max_age: Optional[Duration]
    keep_done_count: int
    keep_done_age: Optional[Duration]
    group_limit: int
    rate: Optional[Rate]
    key_rate: Optional[Rate]
    throttle: Optional[Throttle]
    encrypt: bool
    compress_min_bytes: int


@dataclasses.dataclass(frozen=True)
class QueueConfig:
    """The whole configuration of a queue as of one moment. `version` grows with each change: given
    to configure(), the change is refused (CONFLICT) if somebody else was faster.
    `consumers_paused`: paused, also behind DISABLED."""

    status: Status
    consumers_paused: bool
    version: int
    max_running: int
    max_retries: int
    lease: timedelta
    durability: Durability
    backoff: Optional[Backoff]
    job_ttl: Optional[timedelta]
    max_depth: int
    max_bytes: int
    full_policy: FullPolicy
    dead_max_count: int
    dead_max_age: Optional[timedelta]
    keep_done_count: int
    keep_done_age: Optional[timedelta]
    group_limit: int
    rate: Optional[Rate]
    key_rate: Optional[Rate]
    throttle: Optional[Throttle]
    encrypt: bool
    compress_min_bytes: int


# Option -> (bit of `fields`, field of the struct, what makes it a number). Those with no field are
# several fields and have functions of their own.
def _count(value: Any, name: str) -> int:
    return number(int(value) if isinstance(value, (Durability, FullPolicy)) else value, name)


def _flag(value: Any, name: str) -> int:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return int(value)


def _count64(value: Any, name: str) -> int:
    return number(value, name, U64)


_SIMPLE = {
    "max_running": (k.CONFIG_MAX_RUNNING, "max_running", _count),
    "max_retries": (k.CONFIG_MAX_RETRIES, "max_retries", _count),
    "lease": (k.CONFIG_LEASE_MS, "lease_ms", times.to_ms),
    "durability": (k.CONFIG_DURABILITY, "durability", _count),
    "job_ttl": (k.CONFIG_JOB_TTL, "job_ttl_ms", times.to_ms),
    "max_depth": (k.CONFIG_MAX_DEPTH, "max_depth", _count64),
    "max_bytes": (k.CONFIG_MAX_BYTES, "max_bytes", _count64),
    "full_policy": (k.CONFIG_FULL_POLICY, "full_policy", _count),
    "dead_max_count": (k.CONFIG_DEAD_MAX_COUNT, "dead_max_count", _count64),
    "dead_max_age": (k.CONFIG_DEAD_MAX_AGE, "dead_max_age_ms", times.to_ms),
    "keep_done_count": (k.CONFIG_KEEP_DONE, "keep_done_count", _count),
    "keep_done_age": (k.CONFIG_KEEP_DONE, "keep_done_age_ms", times.to_ms),
    "group_limit": (k.CONFIG_GROUP_LIMIT, "group_limit", _count),
    "encrypt": (k.CONFIG_ENCRYPT, "encrypt", _flag),
    "compress_min_bytes": (k.CONFIG_COMPRESS, "compress_min_bytes", _count),
}


def _fill_rate(config: Any, name: str, value: Any) -> int:
    """Set the fields rate_... or key_rate_..."""
    if isinstance(value, Rate):
        setattr(config, f"{name}_count", number(value.count, f"{name} count"))
        setattr(config, f"{name}_burst", number(value.burst, f"{name} burst"))
        setattr(config, f"{name}_window_ms", times.to_ms(value.window, f"{name} window"))
    elif value is not None:
        raise TypeError(f"{name} must be a Rate or None")
    return k.CONFIG_RATE if name == "rate" else k.CONFIG_KEY_RATE


def _fill_throttle(config: Any, value: Any) -> int:
    if isinstance(value, Throttle):
        config.throttle_count = number(value.count, "throttle count")
        config.throttle_window_ms = times.to_ms(value.window, "throttle window")
        config.throttle_cool_ms = times.to_ms(value.cool, "throttle cool")
    elif value is not None:
        raise TypeError("throttle must be a Throttle or None")
    return k.CONFIG_THROTTLE


def config_struct(options: ConfigOptions, version: Optional[int], keep: List[Any]) -> Any:
    """A wq_queue_config that names what `options` has."""
    config = new("wq_queue_config")
    keep.append(config)
    fields = 0
    for name, value in options.items():
        if name == "backoff":
            if value is not None and not isinstance(value, Backoff):
                raise TypeError("backoff must be a Backoff or None")
            fill_backoff(config, value, keep)
            fields |= k.CONFIG_BACKOFF
        elif name in ("rate", "key_rate"):
            fields |= _fill_rate(config, name, value)
        elif name == "throttle":
            fields |= _fill_throttle(config, value)
        elif name in _SIMPLE:
            bit, target, convert = _SIMPLE[name]
            setattr(config, target, convert(value, name))
            fields |= bit
        else:
            raise TypeError(f"a queue has no option '{name}'")
    if version is not None:
        config.version = number(version, "version", U64)
        fields |= k.CONFIG_VERSION
    config.fields = fields
    return config


def config_from(config: Any) -> QueueConfig:
    """What a wq_queue_config tells."""
    backoff = None
    if config.backoff_kind or config.backoff_jitter_permille:
        backoff = Backoff(
            BackoffKind(config.backoff_kind), times.some_duration(config.backoff_base_ms),
            times.some_duration(config.backoff_max_ms),
            tuple(times.duration(config.backoff_list_ms[i]) for i in range(config.backoff_count)),
            config.backoff_jitter_permille / 1000)
    rate = key_rate = throttle = None
    if config.rate_count:
        rate = Rate(config.rate_count, times.duration(config.rate_window_ms), config.rate_burst)
    if config.key_rate_count:
        key_rate = Rate(config.key_rate_count, times.duration(config.key_rate_window_ms),
                        config.key_rate_burst)
    if config.throttle_count:
        throttle = Throttle(config.throttle_count, times.duration(config.throttle_window_ms),
                            times.some_duration(config.throttle_cool_ms))
    return QueueConfig(
        status=Status(config.status), consumers_paused=bool(config.consumers_paused),
        version=config.version, max_running=config.max_running, max_retries=config.max_retries,
        lease=times.duration(config.lease_ms), durability=Durability(config.durability),
        backoff=backoff, job_ttl=times.some_duration(config.job_ttl_ms),
        max_depth=config.max_depth, max_bytes=config.max_bytes,
        full_policy=FullPolicy(config.full_policy), dead_max_count=config.dead_max_count,
        dead_max_age=times.some_duration(config.dead_max_age_ms),
        keep_done_count=config.keep_done_count,
        keep_done_age=times.some_duration(config.keep_done_age_ms),
        group_limit=config.group_limit, rate=rate, key_rate=key_rate, throttle=throttle,
        encrypt=bool(config.encrypt), compress_min_bytes=config.compress_min_bytes)
