"""Tombstones of a topic with several record types are in one of its tables, in all runs."""

import json
from pathlib import Path

from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import typed_names, typed_rows


def _register(lake: Path, folder: Path, *names: str) -> None:
    """Ingest a registry with a record type of each name, of the ids 1, 2 and so on."""
    pairs = []
    for number, name in enumerate(names, start=1):
        fields = [{"name": "a", "type": "int"}]
        text = json.dumps({"type": "record", "name": name, "fields": fields})
        pairs.append(schema_pair("t-value", number, number, schema=text))
    ingested(write_registry(folder, [(0, [each]) for each in pairs]), lake)


def _of(schema_id: int) -> bytes:
    return bytes([0, 0, 0, 0, schema_id, 2])


def test_later_runs_write_tombstones_to_the_table_that_was_created_first(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    _register(lake, tmp_path / "registry", "Zoe", "Eve")
    add_values(lake, tmp_path / "first", _of(1), _of(2), None)
    decoded(lake, "t")
    add_values(lake, tmp_path / "second", None, start=3)
    decoded(lake, "t")
    _register(lake, tmp_path / "registry", "Zoe", "Eve", "Ann")
    for start in (4, 6):
        add_values(lake, tmp_path / f"from-{start}", _of(3), None, start=start)
        decoded(lake, "t")
    rows = [(name, row) for name in typed_names(lake, "t") for row in typed_rows(lake, name)]
    assert len(rows) == 8
    assert {name for name, row in rows if row["_tombstone"]} == {"t__Eve"}
