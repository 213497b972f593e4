"""Counts keys that contain the requested key, if no key is equal to it. Runs in tasks.

Such keys may have a schema registry's frame, or be text in quotes: then the request means them, and
has to give their whole bytes.
"""

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.parquet_rows import read_rows
from seglake.lake.snapshots import StoredFile
from seglake.storage.storage import Storage

_FRAME_BYTES = 5  # a zero byte and a schema id
_LEAST_KEY_BYTES = 4
"""Shorter keys are in other keys by chance."""


class LongerKeys(NamedTuple):
    """Numbers of records whose key contains the requested key, and of those with a frame."""

    records: int = 0
    framed: int = 0


class LongerKeysTask(NamedTuple):
    """A data file of `records`."""

    storage: Storage
    path: str
    key: bytes


def longer_keys(run: RunContext, files: list[StoredFile], key: bytes) -> LongerKeys:
    """Count the records in files of `records` whose key contains a key."""
    if len(key) < _LEAST_KEY_BYTES:
        return LongerKeys()
    found = run.reporter.run_tasks(
        run.engine,
        count_longer,
        [LongerKeysTask(run.storage, file.path, key) for file in files],
        sizes=[file.size_bytes for file in files],
        text="searching longer keys",
    )
    return LongerKeys(sum(each.records for each in found), sum(each.framed for each in found))


def count_longer(task: LongerKeysTask) -> LongerKeys:
    """Count the records in a file whose key contains the requested key.

    Raises:
        StorageError: the file cannot be read.
    """
    records = framed = 0
    for rows in read_rows(task.storage, task.path, ["key"]):
        # Any: pyarrow's stubs do not know the column's type.
        keys: Any = rows.column("key").cast(pa.binary())
        pattern: Any = task.key  # pyarrow takes bytes, too
        longer = keys.filter(pc.match_substring(keys, pattern))
        found = [key for key in longer.to_pylist() if len(key) > len(task.key)]
        records += len(found)
        framed += sum(key[0] == 0 and task.key in key[_FRAME_BYTES:] for key in found)
    return LongerKeys(records, framed)
