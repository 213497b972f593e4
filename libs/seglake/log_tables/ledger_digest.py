"""Caches the ledger's folded rows in a file, so that runs need not read the whole table.

The table `checkpoints` grows by a file per topic and run. The cache (digest) also has the table
version up to which it is complete. It is used only if the table's log still has this version and no
file was removed since. The cache can be deleted at any time.
"""

import contextlib
import gzip
import json
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from seglake.lake.delta_tables import LakeTables
from seglake.lake.log_growth import LogPlace, added_after, place_of
from seglake.lake.parquet_rows import read_files
from seglake.lake.table_log import TableState
from seglake.lake.tables import CHECKPOINTS
from seglake.log_tables.folded_ledger import Row, folded
from seglake.storage.errors import PlaceError

_FILE_NAME = "ledger.json.gz"
_FORMAT = 2
_DUE_AFTER_FILES, _DUE_AFTER_COMMITS = 64, 8
_DAMAGED = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)
_COLUMNS = (
    *("source_id", "topic_id", "topic", "partition", "kind", "start_offset", "next_offset"),
    *("high_watermark", "last_stable_offset", "log_end_offset", "leader_epoch"),
    *("last_batch_base_offset", "last_batch_crc", "isolation", "upper_bound", "attempt_id"),
    "generation",
)


class _Digest(NamedTuple):
    """Folded ledger rows of all sources, and the table version up to which they are complete."""

    rows: Sequence[Row]
    place: LogPlace | None


_NOTHING = _Digest((), None)


class LedgerDigest:
    """Folded ledger of a lake; each file of the table is read only once."""

    def __init__(self, tables: LakeTables) -> None:
        """Store the tables; nothing is read yet."""
        self._tables = tables
        self.path = tables.storage.join(tables.work_folder, _FILE_NAME)
        self._known = _NOTHING
        self._stored_place: LogPlace | None = None
        self._new_files = 0  # number of files read since the digest was stored
        self._as_of: TableState | None = None  # state of the table when it was last read

    def rows(self, source_id: str) -> list[Row]:
        """Return one source's folded rows in the newest version, for a `SourceLedger`.

        Raises:
            StorageError: a data file of the ledger cannot be read.
        """
        self.read()
        return [row for row in self._known.rows if row["source_id"] == source_id]

    def sources(self) -> set[str]:
        """Return the sources with rows in the newest version of the ledger."""
        self.read()
        return {row["source_id"] for row in self._known.rows}

    def store(self, *, if_due: bool) -> None:
        """Write the digest to the lake for later runs.

        A failed write is no error, because later runs can read the whole ledger.

        Args:
            if_due: whether to write only if there are 64 new files or 8 new commits.
        """
        place, stored = self._known.place, self._stored_place
        if place is None or place == stored:
            return
        commits = place.version - (stored.version if stored else 0)
        is_due = self._new_files >= _DUE_AFTER_FILES or commits >= _DUE_AFTER_COMMITS
        if is_due or not if_due:
            with contextlib.suppress(PlaceError):
                self._tables.storage.write_bytes(self.path, _to_bytes(self._known.rows, place))
                self._stored_place, self._new_files = place, 0

    def read(self) -> None:
        """Read the ledger up to its newest version.

        Raises:
            StorageError: a data file of the ledger cannot be read.
        """
        state = self._tables.state(CHECKPOINTS)
        if state is self._as_of:
            return
        version = state.version
        if version == 0:
            self._known = _NOTHING
            return
        rows, place = self._known if self._known.place is not None else self._loaded()
        new = None if place is None else added_after(self._tables, CHECKPOINTS, place, version)
        if new is None:
            handle = self._tables.newest(CHECKPOINTS)
            version = handle.version()
            rows, new = (), self._tables.file_paths(CHECKPOINTS, handle=handle)
            self._stored_place = None  # the digest does not fit the table's changes
        if new:
            found = read_files(self._tables.storage, CHECKPOINTS, new, _COLUMNS)
            rows = folded([*rows, *found.to_pylist()])
            self._new_files += len(new)
        self._known = _Digest(rows, place_of(self._tables, CHECKPOINTS, version))
        self._as_of = state

    def _loaded(self) -> _Digest:
        """Return the stored digest; empty if it has another format or is damaged."""
        try:
            stored = _from_bytes(self._tables.storage.read_bytes(self.path))
        except (PlaceError, *_DAMAGED):
            return _NOTHING
        self._stored_place = stored.place
        return stored


def _to_bytes(rows: Sequence[Row], place: LogPlace) -> bytes:
    """Return the digest as JSON in gzip, whose checksum detects damage."""
    content = {
        "format": _FORMAT,
        "place": place,
        "columns": _COLUMNS,
        "rows": [[row[name] for name in _COLUMNS] for row in rows],
    }
    return gzip.compress(json.dumps(content).encode(), compresslevel=1, mtime=0)


def _from_bytes(data: bytes) -> _Digest:
    """Return a stored digest; empty if it has another format.

    If the bytes are invalid, one of the errors in `_DAMAGED` is raised.
    """
    content = json.loads(gzip.decompress(data))
    if (content["format"], content["columns"]) != (_FORMAT, [*_COLUMNS]):
        return _NOTHING
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in content["rows"]]
    return _Digest(rows, LogPlace(*content["place"]))
