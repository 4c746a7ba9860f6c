"""Transactions: enqueues, settles and writes of kv rows in one change, on any queues of a store.
All of them or, if one is refused, none; there is no state in between, for nobody, and none after a
crash."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union

from . import _constants as k
from ._lib import I64, NULL, BytesLike, code_of, error_of, ffi, lib, new, number, set_bytes, \
    text_bytes
from .call import Level, call_of
from .errors import Code
from .job import Job, Settle, Token
from .kv import kv_options
from .queue import Queue
from .spec import JobSpec, Key, new_spec, spec_of
from .times import Duration

if TYPE_CHECKING:
    from .store import Store


@dataclasses.dataclass(frozen=True)
class Transacted:
    """OK: all was done. STALE, CONFLICT, DISABLED: nothing was, because of the operation with the
    index `failed`; DUPLICATE: so too, and the job that holds its key is in `results[failed]`.
    `results` has one value per operation: the id of a new job, the sum of a counter, else None.
    True if OK."""

    outcome: Code
    failed: Optional[int]
    results: Sequence[Optional[int]]

    def __bool__(self) -> bool:
        return bool(self.outcome)


class Transaction:
    """Collects operations and does them at commit(): `store.transaction().ack(job).kv_put(...)`.
    Nothing happens before. Each operation is judged by the state before the first; a key may be
    named by one operation only, and a job be settled by one. A new job that meets the
    holder of its key refuses all; a debounced one takes the place of the one before it. Up to
    10,000 operations. For one thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queues: List[Optional[Queue]] = []
        self._fill: List[Tuple[int, Any]] = []
        self._jobs: List[Job] = []

    def _add(self, kind: int, queue: Optional[Queue], fill: Any) -> Transaction:
        self._queues.append(queue)
        self._fill.append((kind, fill))
        return self

    def enqueue(self, queue: Queue, job: Union[JobSpec, BytesLike]) -> Transaction:
        """Enqueue a job."""
        def fill(op: Any, keep: List[Any]) -> None:
            op.spec = new_spec(spec_of(job), keep)
        return self._add(k.TXN_ENQUEUE, queue, fill)

    def settle(self, item: Settle, queue: Optional[Queue] = None) -> Transaction:
        """Settle a job. The queue is that of the Job, or given for a pair (id, generation)."""
        if isinstance(item.job, Job):
            self._jobs.append(item.job)
            queue = queue or item.job.queue
        elif queue is None:
            raise TypeError("the queue must be given for a pair (id, generation)")

        def fill(op: Any, keep: List[Any]) -> None:
            struct = new("wq_settle_item")
            keep.append(struct)
            item.fill(struct, keep)
            op.settle = struct
        return self._add(k.TXN_SETTLE, queue, fill)

    def ack(self, job: Token, queue: Optional[Queue] = None, *,
            result: Optional[BytesLike] = None) -> Transaction:
        """Ack a job."""
        return self.settle(Settle.ack(job, result=result), queue)

    def _kv(self, kind: int, key: Key, value: Key, delta: int,
            options: Tuple[Any, ...]) -> Transaction:
        def fill(op: Any, keep: List[Any]) -> None:
            set_bytes(op.key, text_bytes(key, "key"), keep)
            set_bytes(op.value, text_bytes(value, "value"), keep)
            op.delta = number(delta, "delta", I64, -I64 - 1)
            ttl, if_absent, if_version, if_value = options
            struct = kv_options(ttl, if_absent, if_version, if_value, keep)
            if struct != NULL:
                op.options = struct
        return self._add(kind, None, fill)

    def kv_put(self, key: Key, value: Key, *, ttl: Optional[Duration] = None,
               if_absent: bool = False, if_version: Optional[int] = None,
               if_value: Optional[Key] = None) -> Transaction:
        """Write a row."""
        return self._kv(k.TXN_KV_PUT, key, value, 0, (ttl, if_absent, if_version, if_value))

    def kv_add(self, key: Key, delta: int = 1, *, ttl: Optional[Duration] = None,
               if_absent: bool = False, if_version: Optional[int] = None,
               if_value: Optional[Key] = None) -> Transaction:
        """Add to a counter."""
        return self._kv(k.TXN_KV_ADD, key, b"", delta, (ttl, if_absent, if_version, if_value))

    def kv_erase(self, key: Key, *, if_version: Optional[int] = None,
                 if_value: Optional[Key] = None) -> Transaction:
        """Remove a row; one that is not there is no obstacle."""
        return self._kv(k.TXN_KV_ERASE, key, b"", 0, (None, False, if_version, if_value))

    def kv_check(self, key: Key, *, if_absent: bool = False, if_version: Optional[int] = None,
                 if_value: Optional[Key] = None) -> Transaction:
        """Do all of it only if this holds."""
        return self._kv(k.TXN_KV_CHECK, key, b"", 0, (None, if_absent, if_version, if_value))

    def commit(self, *, durability: Level = None) -> Transacted:
        """Do it. An error has the index of the operation that was refused in `failed`.

        Durability: default the strongest of its operations. Blocks: for durability, memory and disk
        reads of rows. Raises besides: FullError, NoSpaceError."""
        keep: List[Any] = []
        count = len(self._fill)
        ops = ffi.new("wq_txn_op[]", count)
        results = ffi.new("wq_txn_result[]", count)
        failed = ffi.new("size_t *", count)
        for op, result, (kind, fill) in zip(ops, results, self._fill):
            op.struct_size = ffi.sizeof("wq_txn_op")
            result.struct_size = ffi.sizeof("wq_txn_result")
            op.kind = kind
            fill(op, keep)
        code = self._commit(ops, results, failed, call_of(durability))
        for job in self._jobs if code == 0 else ():
            job._set_settled()
        values: List[Optional[int]] = []
        for result, (kind, _) in zip(results, self._fill):
            values.append(int(result.job_id) if kind == k.TXN_ENQUEUE else
                          int(result.sum) if kind == k.TXN_KV_ADD else None)
        place = int(failed[0])
        return Transacted(code_of(code), place if code and place < count else None, values)

    def _commit(self, ops: Any, results: Any, failed: Any, call: Any) -> int:
        """Inside of all its queues and the store: none can be closed meanwhile."""
        with contextlib.ExitStack() as stack:
            ptr = stack.enter_context(self._store.inside())
            for op, queue in zip(ops, self._queues):
                if queue is not None:
                    op.queue = stack.enter_context(queue.inside())
            err = new("wq_error")
            code = int(lib.wq_transact(ptr, ops, len(ops), ffi.sizeof("wq_txn_op"), call, results,
                                       ffi.sizeof("wq_txn_result"), failed, err))
            if code < 0:
                problem = error_of(code, err)
                place = int(failed[0])
                problem.failed = place if place < len(ops) else None
                raise problem
            return code
