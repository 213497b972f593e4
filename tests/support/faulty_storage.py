"""A storage, and Delta tables, of which the n-th call of a kind goes wrong.

A plan counts every call to the storage and to delta-rs, from all threads of this process. It says
what becomes of the one it waits for, and remembers where that was.
"""

import contextlib
import errno
import io
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TypeVar, cast

import pytest
from deltalake import DeltaTable

from seglake.storage.errors import FileShrankError, PlaceError, StorageError
from seglake.storage.storage import FileInfo, Reader, Storage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

T = TypeVar("T")

_SLOW_S = 0.02
_BLOCK_BYTES = 2048  # which a file with a small buffer would write at once


class Op(StrEnum):
    """Calls, as they are counted; the last five are those of delta-rs."""

    LIST = "list"
    INFO = "info"
    OPEN = "open"
    READ = "read"
    READ_WHOLE = "read whole"
    WRITE_WHOLE = "write whole"
    CREATE = "create"
    WRITE = "write"
    CLOSE = "close"
    MAKE_FOLDER = "make folder"
    SYNC = "sync"
    DELETE = "delete"
    LOOK_FOR_TABLE = "look for table"
    CREATE_TABLE = "create table"
    OPEN_TABLE = "open table"
    UPDATE_TABLE = "update table"
    COMMIT = "commit"


class How(Enum):
    """Ways in which a call of a storage can fail."""

    FAIL = "fails"
    FAIL_FROM_NOW_ON = "fails, and each one after it"
    LATE_ERROR = "is done, and reports an error"
    SHORT = "is short"
    SLOW = "is slow"
    DISK_FULL = "finds the disk full"
    NO_MEMORY = "finds no memory"


_FOR_READING = (How.FAIL, How.FAIL_FROM_NOW_ON, How.SLOW, How.NO_MEMORY)
_FOR_WRITING = (*_FOR_READING, How.LATE_ERROR, How.DISK_FULL)
KINDS: Mapping[Op, Sequence[How]] = {
    Op.LIST: _FOR_READING,
    Op.INFO: _FOR_READING,
    Op.OPEN: _FOR_READING,
    Op.READ: (*_FOR_READING, How.SHORT),
    Op.READ_WHOLE: _FOR_READING,
    Op.WRITE_WHOLE: _FOR_WRITING,
    Op.CREATE: _FOR_WRITING,
    Op.WRITE: (*_FOR_WRITING, How.SHORT),
    Op.CLOSE: _FOR_WRITING,
    Op.MAKE_FOLDER: _FOR_WRITING,
    Op.SYNC: _FOR_WRITING,
    Op.DELETE: (How.FAIL, How.FAIL_FROM_NOW_ON, How.LATE_ERROR, How.SLOW),
    Op.LOOK_FOR_TABLE: _FOR_READING,
    Op.CREATE_TABLE: _FOR_WRITING,
    Op.OPEN_TABLE: _FOR_READING,
    Op.UPDATE_TABLE: _FOR_READING,
    Op.COMMIT: _FOR_WRITING,
}
"""Possible faults of each operation. Listings, reads and puts are whole, or errors."""


class Fault(NamedTuple):
    """A fault of the n-th call of an operation; the first call is number 1."""

    op: Op
    how: How
    n: int

    def __str__(self) -> str:
        return f"{self.op.value} {self.n} {self.how.value}"


class FaultPlan:
    """Counts calls, and lets one of them go wrong.

    Attributes:
        met: the paths of the calls that went wrong.
        counts: how many calls of each kind there were.
    """

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self.met: list[str] = []
        self.counts: Counter[Op] = Counter()
        self._lock = threading.Lock()

    def at(self, op: Op, path: str) -> How | None:
        """Count a call; what becomes of it."""
        with self._lock:
            self.counts[op] += 1
            fault, count = self.fault, self.counts[op]
            if fault is None or op is not fault.op or count < fault.n:
                return None
            if count > fault.n and fault.how is not How.FAIL_FROM_NOW_ON:
                return None
            self.met.append(path)
        if fault.how is How.SLOW:
            threading.Event().wait(_SLOW_S)
            return None
        return fault.how

    def call(
        self,
        op: Op,
        path: str,
        real: Callable[[], T],
        error: Callable[[int], Exception],
        short: Callable[[], T] | None = None,
    ) -> T:
        """Make a call, or not.

        Args:
            error: makes what this kind of call raises, given a number of the system.
            short: what a short call does.
        """
        match self.at(op, path):
            case None:
                return real()
            case How.NO_MEMORY:
                raise MemoryError
            case How.DISK_FULL:
                raise error(errno.ENOSPC)
            case How.SHORT if short is not None:
                return short()
            case How.LATE_ERROR:
                real()
        raise error(errno.EIO)


class FaultyStorage(Storage):
    """Another storage, to which a plan's fault happens; what it is told is told to that one."""

    def __init__(self, inner: Storage, plan: FaultPlan) -> None:
        self._inner = inner
        self._plan = plan

    def _call(self, op: Op, action: str, path: str, real: Callable[[], T]) -> T:
        return self._plan.call(op, path, real, _errors(action, path))

    def locate(self, uri: str) -> str:
        return self._inner.locate(uri)

    def list_folder(self, path: str) -> list[FileInfo]:
        return self._call(Op.LIST, "list", path, lambda: self._inner.list_folder(path))

    def info(self, path: str) -> FileInfo | None:
        return self._call(Op.INFO, "access", path, lambda: self._inner.info(path))

    def open_reader(self, path: str) -> Reader:
        reader = self._call(Op.OPEN, "open", path, lambda: self._inner.open_reader(path))
        return _FaultyReader(reader, self._plan, path)

    def read_bytes(self, path: str) -> bytes:
        return self._call(Op.READ_WHOLE, "read", path, lambda: self._inner.read_bytes(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self._call(Op.WRITE_WHOLE, "write", path, lambda: self._inner.write_bytes(path, data))

    def open_output(self, path: str) -> BinaryIO:
        output = self._call(Op.CREATE, "create", path, lambda: self._inner.open_output(path))
        return cast("BinaryIO", _FaultyOutput(output, self._plan, path))

    def delete(self, path: str) -> None:
        self._call(Op.DELETE, "delete", path, lambda: self._inner.delete(path))

    def delete_folder(self, path: str) -> None:
        self._call(Op.DELETE, "delete", path, lambda: self._inner.delete_folder(path))

    def discard(self, output: BinaryIO, path: str) -> None:
        inner = cast("_FaultyOutput", output).let_go()
        self._call(Op.DELETE, "delete", path, lambda: self._inner.discard(inner, path))

    def make_folder(self, path: str) -> None:
        self._call(Op.MAKE_FOLDER, "make folder", path, lambda: self._inner.make_folder(path))

    def sync(self, paths: Iterable[str]) -> None:
        listed = [*paths]
        first = listed[0] if listed else "nothing"
        self._call(Op.SYNC, "sync", first, lambda: self._inner.sync(listed))

    def needs_sync(self, path: str) -> bool:
        return self._inner.needs_sync(path)

    def requests_at_once(self, path: str) -> int:
        return self._inner.requests_at_once(path)

    def without_links(self, path: str) -> str:
        return self._inner.without_links(path)

    def creates_exclusively(self, folder: str) -> bool:
        return self._inner.creates_exclusively(folder)

    def pauses_s(self, path: str) -> Sequence[float]:
        return [0.0 for _ in self._inner.pauses_s(path)]

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        return self._inner.failure(action, path, text)

    def hadoop_uri(self, path: str) -> str:
        return self._inner.hadoop_uri(path)

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        return self._inner.hadoop_properties(path)

    def delta_options(self, path: str) -> Mapping[str, str]:
        return self._inner.delta_options(path)


class _FaultyReader:
    """A reader whose reads are counted."""

    def __init__(self, inner: Reader, plan: FaultPlan, path: str) -> None:
        self._inner = inner
        self._plan = plan
        self._path = path

    @property
    def size_bytes(self) -> int:
        return self._inner.size_bytes

    def read(self, position: int, length: int) -> bytes:
        return self._plan.call(
            Op.READ,
            self._path,
            lambda: self._inner.read(position, length),
            _errors("read", self._path),
            short=lambda: self._short(position, length),
        )

    def _short(self, position: int, length: int) -> bytes:
        """The file ends in the middle of what is asked for."""
        raise FileShrankError(
            path=self._path,
            expected_bytes=self.size_bytes,
            found_bytes=position + min(length, self.size_bytes - position) // 2,
        )

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._inner.__exit__(*raised)


class _FaultyOutput(io.RawIOBase):
    """An output whose writes and whose end are counted; it raises what files raise."""

    def __init__(self, inner: BinaryIO, plan: FaultPlan, path: str) -> None:
        self._inner = inner
        self._plan = plan
        self._path = path
        self._is_let_go = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._inner.tell()

    def write(self, data: "ReadableBuffer", /) -> int:
        def short() -> int:
            view = memoryview(data).cast("B")
            self._inner.write(view[: len(view) // 2])
            raise _system_error(errno.EIO)

        start = self._inner.tell()
        if start and start // _BLOCK_BYTES == (start + memoryview(data).nbytes) // _BLOCK_BYTES:
            return self._inner.write(data)
        return self._plan.call(
            Op.WRITE, self._path, lambda: self._inner.write(data), _system_error, short=short
        )

    def close(self) -> None:
        if self.closed or self._is_let_go:
            return
        self._plan.call(Op.CLOSE, self._path, self._close, _system_error)

    def _close(self) -> None:
        super().close()
        self._inner.close()

    def let_go(self) -> BinaryIO:
        """The real output, which this one will not close."""
        self._is_let_go = True
        return self._inner


@contextlib.contextmanager
def faulty_tables(plan: FaultPlan) -> Iterator[None]:
    """Let calls of delta-rs be counted, and go wrong, inside the block."""
    opened, updated = DeltaTable.__init__, DeltaTable.update_incremental
    committed, created = DeltaTable.create_write_transaction, DeltaTable.create
    looked_for = DeltaTable.is_deltatable

    # Any: whatever delta-rs takes.
    def call(op: Op, path: object, real: Callable[..., T], *args: Any, **options: Any) -> T:
        return plan.call(op, str(path), lambda: real(*args, **options), _delta_error)

    def open_table(self: DeltaTable, table_uri: str, *args: Any, **options: Any) -> None:
        call(Op.OPEN_TABLE, table_uri, opened, self, table_uri, *args, **options)

    def update_table(self: DeltaTable) -> None:
        call(Op.UPDATE_TABLE, self.table_uri, updated, self)

    def commit(self: DeltaTable, *args: Any, **options: Any) -> None:
        call(Op.COMMIT, self.table_uri, committed, self, *args, **options)

    def create(uri: str, *args: Any, **options: Any) -> DeltaTable:
        return call(Op.CREATE_TABLE, uri, created, uri, *args, **options)

    def look_for(uri: str, *args: Any, **options: Any) -> bool:
        return call(Op.LOOK_FOR_TABLE, uri, looked_for, uri, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTable, "__init__", open_table)
        patch.setattr(DeltaTable, "update_incremental", update_table)
        patch.setattr(DeltaTable, "create_write_transaction", commit)
        patch.setattr(DeltaTable, "create", staticmethod(create))
        patch.setattr(DeltaTable, "is_deltatable", staticmethod(look_for))
        yield


def _errors(action: str, path: str) -> Callable[[int], Exception]:
    return lambda number: StorageError(action=action, path=path, reason=os.strerror(number))


def _system_error(number: int) -> Exception:
    return OSError(number, os.strerror(number))


def _delta_error(number: int) -> Exception:
    return OSError(f"Generic object store error: {os.strerror(number)} (os error {number})")
