"""`maintain` keeps the tables of `deserialize` small: typed rows, rejects and their ledger."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from seglake.errors import WrongCallError
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
from support.dying import Died, dying
from support.lakes import ingested, maintained
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_values, decoded, int_of, made
from support.typed_rows import table_rows, typed_rows

_NAMES = ("typed/t", "value_rejects", "typed_checkpoints")
_A, _B = {"name": "a", "type": "int"}, {"name": "b", "type": "string"}


def _record(name: str, *fields: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [*fields]}


_SCHEMAS = (
    _record("R", _A),
    _record("R", _A, {"name": "r", "type": _record("S", _A)}),
    _record("R", _A, {"name": "r", "type": _record("S", _A, _B)}),
)
_VALUES = (b"\x02", b"\x04\x06", b"\x08\x0a\x02x")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose typed table got a file for each of three schemas, each with more fields."""
    folder = tmp_path_factory.mktemp("grown")
    lake, pairs = folder / "lake", []
    for number, (schema, value) in enumerate(zip(_SCHEMAS, _VALUES, strict=True), start=1):
        pairs.append(schema_pair("t-value", number, number, schema=json.dumps(schema)))
        disk = write_registry(folder / f"registry-{number}", [(0, [pair]) for pair in pairs])
        ingested(disk, lake)
        values = bytes([0, 0, 0, 0, number]) + value, b"bad"
        add_values(lake, folder / f"values-{number}", *values, start=2 * number - 2)
        decoded(lake, "t")
    return folder


@pytest.fixture
def grown(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def _file_counts(lake: Path) -> list[int]:
    return [len(DeltaTable(str(lake / name)).file_uris()) for name in _NAMES]


def _all_rows(lake: Path) -> list[list[dict[str, Any]]]:
    others = [sorted(table_rows(lake, name), key=str) for name in _NAMES[1:]]
    return [typed_rows(lake, "t"), *others]


def test_files_of_different_columns_become_one_with_the_same_rows(grown: Path) -> None:
    before = _all_rows(grown)
    assert _file_counts(grown) == [3, 3, 3]
    assert maintained(grown).exit_code == 0
    assert _file_counts(grown) == [1, 1, 1]
    assert _all_rows(grown) == before
    assert [row["r"] for row in typed_rows(grown, "t")] == [
        None,
        {"a": 3, "b": None},
        {"a": 5, "b": "x"},
    ]
    assert decoded(grown, "t").topics == []


def test_one_typed_table_can_be_maintained_alone(grown: Path) -> None:
    maintained(grown, MaintenanceChoice(tables=("typed/t",)))
    assert _file_counts(grown) == [1, 3, 3]
    with pytest.raises(WrongCallError, match="typed/s; did you mean typed/t"):
        maintained(grown, MaintenanceChoice(tables=("typed/s",)))


def test_maintain_completes_what_a_dead_run_began(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1), b"bad")
    with pytest.raises(Died):
        decoded(lake, "t", after=dying("value_rejects"))
    assert maintained(lake).recovered == ["t"]
    assert [row["value"] for row in typed_rows(lake, "t")] == [1]
    assert decoded(lake, "t").topics == []


def test_files_of_typed_tables_that_no_version_needs_are_deleted(grown: Path) -> None:
    left = grown / "typed" / "t" / "part-of-a-dead-run.parquet"
    left.write_bytes(b"dead")
    os.utime(left, (0, 0))
    maintained(grown)
    assert not left.exists()


def test_maintain_leaves_a_rebuild_that_has_dropped_nothing_to_the_next_run(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    with pytest.raises(Died):
        decoded(lake, "t", again=Again(everything=True), after=dying("drop"))
    assert maintained(lake).recovered == []
    assert [row["value"] for row in typed_rows(lake, "t")] == [1]
    assert [topic.typed_rows for topic in decoded(lake, "t").topics] == [1]
