"""Searches all files of a lake for known bytes, also inside of Parquet, Avro and gzip."""

import gzip
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path

import fastavro
import pyarrow.parquet as pq

from support.payload_disks import found_in

_TYPED, _LATEST = "typed", "latest"
IN_VALUES = "the value's columns"


def places_of(lake: Path, hidden: Mapping[str, bytes]) -> dict[str, set[str]]:
    """Return where hidden bytes are: the columns of each table, other files by their folders."""
    found: dict[str, set[str]] = {}
    for path in sorted(lake.rglob("*")):
        inside = path.relative_to(lake)
        assert not found_in(str(inside).encode(), hidden), inside
        if path.is_file():
            for column, content in _contents(path):
                if found_in(content, hidden):
                    table, column = _named(inside, column)
                    found.setdefault(table, set()).add(column)
    return found


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a file holds, decompressed: for each column of Parquet, else as a whole."""
    data = path.read_bytes()
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        yield "", pickle.dumps([file.metadata.to_dict(), file.metadata.metadata])
        rows = file.read()
        yield from ((name, _pickled(rows.column(name).to_pylist())) for name in rows.column_names)
    elif path.suffix == ".avro":
        with path.open("rb") as opened:
            yield "", _pickled([*fastavro.reader(opened)])
    else:
        yield "", gzip.decompress(data) if path.suffix == ".gz" else data


def _pickled(values: list[object]) -> bytes:
    """Return values as bytes; texts and bytes are in them as they are."""
    return pickle.dumps(values)


def _named(inside: Path, column: str) -> tuple[str, str]:
    """Return the names that the page has for a table, or a folder in it, and for a column."""
    table, *folders = inside.parts[:-1] or ("",)
    if table == _TYPED:
        _, *folders = folders
        table, column = "typed/…", column if column.startswith("_") else IN_VALUES
    if table == _LATEST:
        _, *folders = folders
        table = "latest/…"
    if folders and folders[0].startswith("_"):
        own, *below = folders
        return f"{table}/{own}", f"{below[0]}/" if below else column
    return table, column
