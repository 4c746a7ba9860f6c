"""Key-value rows and locks: small values under keys, in the same log as the jobs.

Keys are bytes or str (as UTF-8), 1 to 512 bytes; values are bytes or str, up to 1 MiB, and are told
as bytes. Thread rule and errors are those of wq.queue, with NoSpaceError; `durability` defaults to
POWER for rows and PROCESS for locks. Each method blocks for durability and, at times, for a disk
read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Iterator, List, Optional

from . import _constants as k
from . import times
from ._lib import I64, NULL, U64, code_of, ffi, lib, new, number, set_bytes, text_bytes
from .call import Level, call_of
from .errors import Code
from .spec import Key
from .times import Duration
from .types import KvRow, from_c

if TYPE_CHECKING:
    from .store import Store


@dataclasses.dataclass(frozen=True)
class KvPut:
    """OK with the version of the new row, or CONFLICT: the condition did not hold. True if OK."""

    outcome: Code
    version: int

    def __bool__(self) -> bool:
        return bool(self.outcome)


@dataclasses.dataclass(frozen=True)
class KvSum:
    """OK with the new value, or CONFLICT: no number, or the condition did not hold. True if OK."""

    outcome: Code
    value: int

    def __bool__(self) -> bool:
        return bool(self.outcome)


@dataclasses.dataclass(frozen=True)
class KvPage:
    """A page of rows, and whether there are more behind it."""

    rows: List[KvRow]
    more: bool


def kv_options(ttl: Optional[Duration], if_absent: bool, if_version: Optional[int],
               if_value: Optional[Key], keep: List[Any]) -> Any:
    """A wq_kv_options; NULL if all is left out."""
    if ttl is None and not if_absent and if_version is None and if_value is None:
        return NULL
    options = new("wq_kv_options")
    keep.append(options)
    options.ttl_ms = times.to_ms(ttl, "ttl")
    options.flags = k.KV_IF_ABSENT if if_absent else 0
    if if_version is not None:
        options.version = number(if_version, "if_version", U64)
        options.flags |= k.KV_IF_VERSION
    if if_value is not None:
        set_bytes(options.value, text_bytes(if_value, "if_value"), keep)
        options.flags |= k.KV_IF_VALUE
    return options


class Kv:
    """The rows of a store: `store.kv`."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: Key) -> Optional[KvRow]:
        """One row, or None."""
        data = text_bytes(key, "key")
        out = ffi.new("wq_kv_page **")
        self._store._do(lib.wq_kv_get, data, len(data), out)
        rows = self._rows(out[0])
        return rows[0] if rows else None

    def put(self, key: Key, value: Key, *, ttl: Optional[Duration] = None,
            if_absent: bool = False, if_version: Optional[int] = None,
            if_value: Optional[Key] = None, durability: Level = None) -> KvPut:
        """Write a row, if the condition holds: there is none yet, or it has this version or value.
        It is gone after `ttl` (None: never)."""
        keep: List[Any] = []
        options = kv_options(ttl, if_absent, if_version, if_value, keep)
        data, content = text_bytes(key, "key"), text_bytes(value, "value")
        version = ffi.new("uint64_t *")
        code = self._store._do(lib.wq_kv_put, data, len(data), content, len(content), options,
                               call_of(durability), version)
        return KvPut(code_of(code), int(version[0]))

    def add(self, key: Key, delta: int = 1, *, ttl: Optional[Duration] = None,
            if_absent: bool = False, if_version: Optional[int] = None,
            if_value: Optional[Key] = None, durability: Level = None) -> KvSum:
        """Add to a counter. One that is not there counts as 0 and gets the `ttl`; one that is there
        keeps its end."""
        keep: List[Any] = []
        options = kv_options(ttl, if_absent, if_version, if_value, keep)
        data, total = text_bytes(key, "key"), ffi.new("int64_t *")
        number(delta, "delta", I64, -I64 - 1)
        code = self._store._do(lib.wq_kv_add, data, len(data), delta, options,
                               call_of(durability), total)
        return KvSum(code_of(code), int(total[0]))

    def erase(self, key: Key, *, if_version: Optional[int] = None,
              if_value: Optional[Key] = None, durability: Level = None) -> Code:
        """Remove a row: OK, EMPTY (no such row), or CONFLICT (the condition did not hold)."""
        keep: List[Any] = []
        options = kv_options(None, False, if_version, if_value, keep)
        data = text_bytes(key, "key")
        return code_of(self._store._do(lib.wq_kv_erase, data, len(data), options,
                                       call_of(durability)))

    def page(self, *, prefix: Key = b"", after: Key = b"", limit: int = 100) -> KvPage:
        """Up to `limit` (1 to 1,000) rows whose keys begin with `prefix` and lie behind `after`, in
        the order of their bytes."""
        keep: List[Any] = []
        query = new("wq_kv_query")
        query.limit = number(limit, "limit")
        set_bytes(query.prefix, text_bytes(prefix, "prefix"), keep)
        set_bytes(query.after, text_bytes(after, "after"), keep)
        out, more = ffi.new("wq_kv_page **"), ffi.new("int32_t *")
        self._store._do(lib.wq_kv_list, query, out, more)
        return KvPage(self._rows(out[0]), bool(more[0]))

    def list(self, prefix: Key = b"") -> Iterator[KvRow]:
        """All rows whose keys begin with `prefix`, page by page."""
        page = self.page(prefix=prefix)
        yield from page.rows
        while page.more and page.rows:
            page = self.page(prefix=prefix, after=page.rows[-1].key)
            yield from page.rows

    @staticmethod
    def _rows(handle: Any) -> List[KvRow]:
        if not handle:
            return []
        page, row, rows = ffi.gc(handle, lib.wqpy_kv_page_free), new("wq_kv_row"), []
        for i in range(lib.wq_kv_page_count(page)):
            lib.wq_kv_page_row(page, i, row)
            rows.append(from_c(KvRow, row))
        ffi.release(page)
        return rows


class Locks:
    """Locks of a store: `store.locks`. A lock is a kv row with the owner as its value, gone when
    its time is over. An owner is any token that nobody else uses."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def _lock(self, function: Any, key: Key, owner: Key, *args: Any) -> Code:
        data, who = text_bytes(key, "key"), text_bytes(owner, "owner")
        return code_of(self._store._do(function, data, len(data), who, len(who), *args))

    def take(self, key: Key, owner: Key, ttl: Optional[Duration] = None, *,
             durability: Level = None) -> Code:
        """Take it for `ttl` (None: until it is released): OK, also again; CONFLICT: another owner
        has it."""
        return self._lock(lib.wq_lock_take, key, owner, times.to_ms(ttl, "ttl"),
                          call_of(durability))

    def extend(self, key: Key, owner: Key, ttl: Optional[Duration] = None, *,
               durability: Level = None) -> Code:
        """Keep it for `ttl` from now on: OK, or STALE: the owner does not have it."""
        return self._lock(lib.wq_lock_extend, key, owner, times.to_ms(ttl, "ttl"),
                          call_of(durability))

    def release(self, key: Key, owner: Key, *, durability: Level = None) -> Code:
        """Give it up: OK, or STALE: the owner does not have it."""
        return self._lock(lib.wq_lock_release, key, owner, call_of(durability))
