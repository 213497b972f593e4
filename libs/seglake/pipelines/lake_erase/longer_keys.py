"""Counts keys that contain the requested key, if no key is equal to it. Runs in tasks.

Such keys may have a schema registry's frame, or be text in quotes: then the request means them, and
has to give their whole bytes.
"""

from functools import partial
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


def longer_keys(run: RunContext, files: list[StoredFile], key: bytes) -> LongerKeys:
    """Count the records in files of `records` whose key contains a key."""
    if len(key) < _LEAST_KEY_BYTES:
        return LongerKeys()
    count = partial(count_longer, run.storage, key)
    found = run.of_files(count, files, "searching longer keys").values()
    return LongerKeys(sum(each.records for each in found), sum(each.framed for each in found))


def count_longer(storage: Storage, key: bytes, file: StoredFile) -> LongerKeys:
    """Count the records in a file of `records` whose key contains the requested key.

    Raises:
        StorageError: the file cannot be read.
    """
    records = framed = 0
    for rows in read_rows(storage, file.path, ["key"]):
        # Any: pyarrow's stubs do not know the column's type.
        keys: Any = rows.column("key").cast(pa.binary())
        pattern: Any = key  # pyarrow takes bytes, too
        longer = keys.filter(pc.match_substring(keys, pattern))
        found = [each for each in longer.to_pylist() if len(each) > len(key)]
        records += len(found)
        framed += sum(each[0] == 0 and key in each[_FRAME_BYTES:] for each in found)
    return LongerKeys(records, framed)
