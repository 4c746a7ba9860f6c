"""What a job is when it is enqueued: JobSpec and its parts, and how they become structs of the
library. Whatever is out of range is refused by the library, which names the field."""

from __future__ import annotations

import dataclasses
import enum
import operator
from typing import (TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union)

from . import _constants as k
from . import times
from ._lib import (U64, BytesLike, data_bytes, ffi, name_bytes, new, new_array, number,
                   set_bytes, text_bytes)
from .errors import InvalidError
from .times import Duration, When
from .types import Overlap, UniqueUntil

if TYPE_CHECKING:
    from .flow import Flow

Headers = Union[Mapping[Union[str, bytes], Union[str, BytesLike]],
                Sequence[Tuple[Union[str, bytes], Union[str, BytesLike]]]]
Key = Union[str, BytesLike]


class BackoffKind(enum.IntEnum):
    """Form of a backoff policy."""

    NONE = 0
    FIXED = k.BACKOFF_FIXED
    EXPONENTIAL = k.BACKOFF_EXPONENTIAL
    LIST = k.BACKOFF_LIST


@dataclasses.dataclass(frozen=True)
class Backoff:
    """Delay before the n-th retry. `jitter` is the part of each delay, 0.0 to 1.0, up to which by
    chance is left off, so that jobs which failed together do not come back together."""

    kind: BackoffKind = BackoffKind.NONE
    base: Optional[Duration] = None
    max: Optional[Duration] = None
    delays: Sequence[Duration] = ()
    jitter: float = 0.0

    @classmethod
    def fixed(cls, delay: Duration, *, jitter: float = 0.0) -> Backoff:
        """The same delay each time."""
        return cls(BackoffKind.FIXED, base=delay, jitter=jitter)

    @classmethod
    def exponential(cls, base: Duration, max: Duration, *, jitter: float = 0.0) -> Backoff:
        """base, twice base, four times base, ... at most max."""
        return cls(BackoffKind.EXPONENTIAL, base=base, max=max, jitter=jitter)

    @classmethod
    def steps(cls, delays: Sequence[Duration], *, jitter: float = 0.0) -> Backoff:
        """The delays one after another; the last one repeats. At most 32."""
        return cls(BackoffKind.LIST, delays=tuple(delays), jitter=jitter)


@dataclasses.dataclass
class JobSpec:
    """A job to enqueue. All but the payload may be left out.

    payload          bytes, 0 to 16 MiB
    headers          mapping or pairs of name and value; a name may come twice in pairs
    delay, run_at    ready after this time, or at it; not both
    priority         0 goes first, 255 last; default 100
    max_attempts     default: 1 + max_retries of the queue
    backoff          default: that of the queue
    expires_at       a job that did not start by then never does
    retry_until      an attempt that is lost at or after this time is the last
    timeout          told to the worker; also the length of its leases where a call names none
    max_exceptions   with so many nacks that count the job is dead
    fail_on_timeout  a lease that runs out is its last
    unique_key, unique_ttl, unique_until      one job of the queue holds the key at a time
    debounce_key, debounce, debounce_max      of jobs of the key in a row only the last one runs
    idempotency_key, idempotency              a second job of the key is the first one so long
    flow             the flow that it joins
    chain            jobs that follow, each enqueued by the ack of the one before
    group, group_limit   jobs of one group run one at a time, or so many
    overlap, overlap_delay   what becomes of it if its group is full when a lease comes to it
    tenant           the jobs of one priority are leased one of each tenant in turn
    rate_key, rate_cost  key_rate and throttle of its queue count by the key; the cost is how much
                     of the rate it uses up, default 1; not together with a group
    encrypt          whether its payload is stored sealed; default: as its queue is configured
    dry_run          answer what an enqueue would answer, and write nothing"""

    payload: BytesLike = b""
    headers: Optional[Headers] = None
    delay: Optional[Duration] = None
    run_at: Optional[When] = None
    priority: Optional[int] = None
    max_attempts: Optional[int] = None
    backoff: Optional[Backoff] = None
    expires_at: Optional[When] = None
    retry_until: Optional[When] = None
    timeout: Optional[Duration] = None
    max_exceptions: Optional[int] = None
    fail_on_timeout: bool = False
    unique_key: Optional[Key] = None
    unique_ttl: Optional[Duration] = None
    unique_until: UniqueUntil = UniqueUntil.DEFAULT
    debounce_key: Optional[Key] = None
    debounce: Optional[Duration] = None
    debounce_max: Optional[Duration] = None
    idempotency_key: Optional[Key] = None
    idempotency: Optional[Duration] = None
    flow: Union[int, Flow, None] = None
    chain: Sequence[NextJob] = ()
    group: Optional[Key] = None
    group_limit: Optional[int] = None
    overlap: Overlap = Overlap.PARK
    overlap_delay: Optional[Duration] = None
    tenant: Optional[Key] = None
    rate_key: Optional[Key] = None
    rate_cost: Optional[int] = None
    encrypt: Optional[bool] = None
    dry_run: bool = False


class JobOptions(TypedDict, total=False):
    """The fields of a JobSpec but its payload, as keywords of enqueue."""

    headers: Optional[Headers]
    delay: Optional[Duration]
    run_at: Optional[When]
    priority: Optional[int]
    max_attempts: Optional[int]
    backoff: Optional[Backoff]
    expires_at: Optional[When]
    retry_until: Optional[When]
    timeout: Optional[Duration]
    max_exceptions: Optional[int]
    fail_on_timeout: bool
    unique_key: Optional[Key]
    unique_ttl: Optional[Duration]
    unique_until: UniqueUntil
    debounce_key: Optional[Key]
    debounce: Optional[Duration]
    debounce_max: Optional[Duration]
    idempotency_key: Optional[Key]
    idempotency: Optional[Duration]
    flow: Union[int, Flow, None]
    chain: Sequence[NextJob]
    group: Optional[Key]
    group_limit: Optional[int]
    overlap: Overlap
    overlap_delay: Optional[Duration]
    tenant: Optional[Key]
    rate_key: Optional[Key]
    rate_cost: Optional[int]
    encrypt: Optional[bool]
    dry_run: bool


@dataclasses.dataclass
class NextJob:
    """A job that does not exist yet: one of a chain, or what the end of a flow enqueues. `queue` is
    a name; None, in a chain: the queue of the job before. A delay counts from what sets it off."""

    spec: Union[JobSpec, BytesLike]
    queue: Union[str, bytes, None] = None


# ---- into C -------------------------------------------------------------------------------------

def spec_of(job: Union[JobSpec, BytesLike]) -> JobSpec:
    """A payload is a job without options."""
    return job if isinstance(job, JobSpec) else JobSpec(job)


def fill_headers(target: Any, headers: Optional[Headers], keep: List[Any]) -> None:
    """Set headers and headers_count of a struct."""
    if not headers:
        return
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    values = ffi.new("wq_header[]", len(pairs))
    keep.append(values)
    for header, (name, value) in zip(values, pairs):
        set_bytes(header.name, name_bytes(name, "header name"), keep)
        set_bytes(header.value, text_bytes(value, "header value"), keep)
    target.headers = values
    target.headers_count = len(pairs)


def permille(jitter: float) -> int:
    if isinstance(jitter, bool) or not isinstance(jitter, (int, float)):
        raise TypeError(f"jitter must be a number from 0 to 1, not {type(jitter).__name__}")
    if not 0 <= jitter <= 4_000_000:
        raise InvalidError(f"jitter: {jitter} is not from 0 to 1")
    return round(jitter * 1000)


def fill_backoff(target: Any, backoff: Optional[Backoff], keep: List[Any]) -> None:
    """Set the backoff_ fields of a job or of a queue's configuration."""
    if backoff is None:
        return
    delays = [times.to_ms(delay, "backoff") for delay in backoff.delays]
    target.backoff_kind = number(int(backoff.kind), "backoff kind")
    target.backoff_base_ms = times.to_ms(backoff.base, "backoff base")
    target.backoff_max_ms = times.to_ms(backoff.max, "backoff max")
    target.backoff_jitter_permille = permille(backoff.jitter)
    target.backoff_count = len(delays)
    if ffi.typeof(target.backoff_list_ms).kind == "array":
        if len(delays) > k.BACKOFF_LIST_MAX:
            raise InvalidError(f"backoff: {len(delays)} delays, {k.BACKOFF_LIST_MAX} at most")
        for i, delay in enumerate(delays):
            target.backoff_list_ms[i] = delay
    elif delays:
        values = ffi.new("int64_t[]", delays)
        keep.append(values)
        target.backoff_list_ms = values


def _fill_keys(target: Any, spec: JobSpec, keep: List[Any]) -> None:
    for name in ("unique_key", "debounce_key", "idempotency_key", "group", "tenant", "rate_key"):
        value = getattr(spec, name)
        if value is not None:
            set_bytes(getattr(target, name), text_bytes(value, name), keep)
    target.unique_ttl_ms = times.to_ms(spec.unique_ttl, "unique_ttl")
    target.unique_until = number(int(spec.unique_until), "unique_until")
    target.debounce_ms = times.to_ms(spec.debounce, "debounce")
    target.debounce_max_ms = times.to_ms(spec.debounce_max, "debounce_max")
    target.idempotency_ms = times.to_ms(spec.idempotency, "idempotency")
    target.group_limit = number(spec.group_limit or 0, "group_limit")
    target.overlap = number(int(spec.overlap), "overlap")
    target.overlap_ms = times.to_ms(spec.overlap_delay, "overlap_delay")
    target.rate_cost = number(spec.rate_cost or 0, "rate_cost")


def next_jobs(jobs: Sequence[NextJob], keep: List[Any]) -> Any:
    """An array of wq_next_job."""
    values = new_array("wq_next_job", len(jobs))
    keep.append(values)
    for value, job in zip(values, jobs):
        if not isinstance(job, NextJob):
            raise TypeError(f"a chain is made of NextJob, not {type(job).__name__}")
        if job.queue is not None:
            set_bytes(value.queue_name, name_bytes(job.queue, "queue"), keep)
        spec = new("wq_job_spec")
        keep.append(spec)
        fill_spec(spec, spec_of(job.spec), keep)
        value.spec = spec
    return values


def fill_spec(target: Any, spec: JobSpec, keep: List[Any]) -> None:
    """Fill an initialised wq_job_spec. `keep` holds what it points at, until the call was made."""
    flags = 0
    set_bytes(target.payload, data_bytes(spec.payload, "payload"), keep)
    fill_headers(target, spec.headers, keep)
    fill_backoff(target, spec.backoff, keep)
    _fill_keys(target, spec, keep)
    target.delay_ms = times.to_ms(spec.delay, "delay")
    target.run_at_ms = times.when_ms(spec.run_at, "run_at")
    target.expires_at_ms = times.when_ms(spec.expires_at, "expires_at")
    target.retry_until_ms = times.when_ms(spec.retry_until, "retry_until")
    target.timeout_ms = times.to_ms(spec.timeout, "timeout")
    target.max_attempts = number(spec.max_attempts or 0, "max_attempts")
    target.max_exceptions = number(spec.max_exceptions or 0, "max_exceptions")
    if spec.priority is not None:
        target.priority = number(spec.priority, "priority")
        flags |= k.JOB_PRIORITY
    if spec.fail_on_timeout:
        flags |= k.JOB_FAIL_ON_TIMEOUT
    if spec.dry_run:
        flags |= k.JOB_DRY_RUN
    if spec.encrypt is not None:
        flags |= k.JOB_ENCRYPT if spec.encrypt else k.JOB_PLAIN
    target.flags = flags
    if spec.flow is not None:
        target.flow = number(operator.index(spec.flow), "flow", U64)
    if spec.chain:
        target.chain = next_jobs(spec.chain, keep)
        target.chain_count = len(spec.chain)
        target.chain_size = ffi.sizeof("wq_next_job")


def new_spec(spec: JobSpec, keep: List[Any]) -> Any:
    """A wq_job_spec of its own."""
    target = new("wq_job_spec")
    keep.append(target)
    fill_spec(target, spec, keep)
    return target


__all__ = ["Backoff", "BackoffKind", "Headers", "JobOptions", "JobSpec", "Key", "NextJob"]
