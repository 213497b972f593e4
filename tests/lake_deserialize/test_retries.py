"""Rejected records are decoded again when their schema has turned up; nothing is there twice."""

import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.settings.settings import LimitsSettings
from support.audits import audited
from support.dying import Died, dying
from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import (
    add_schemas,
    add_values,
    decoded,
    elected_lake,
    int_of,
    made,
)
from support.typed_rows import table_rows, typed_rows
from support.views import viewed

_REJECTS = Again(rejects=True)
_ID_2 = bytes(4) + b"\x02"


def values(lake: Path) -> list[object]:
    return [row["value"] for row in typed_rows(lake, "t")]


def resolutions(lake: Path) -> list[tuple[int, str, str | None]]:
    rows = table_rows(lake, "value_rejects")
    found = [(row["offset"], row["part"], row["resolution"]) for row in rows]
    return sorted(found, key=lambda each: (each[0], each[1], each[2] or ""))


def is_proved(lake: Path) -> bool:
    audit = audited(lake)
    assert audit.typed is not None
    return not audit.typed.findings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with rejects before and after a typed row; the last one's schema is unknown."""
    folder = tmp_path_factory.mktemp("rejects")
    lake = made(folder, b"bad", int_of(1), _ID_2 + b"\x04")
    assert decoded(lake, "t").exit_code == ExitCode.LOOK
    assert (values(lake), len(resolutions(lake))) == ([1], 2)
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def test_a_schema_that_turns_up_in_the_registry_resolves_its_rejects(
    lake: Path, tmp_path: Path
) -> None:
    add_schemas(lake, tmp_path / "registry-2", '"int"')
    assert decoded(lake, "t").retried == []
    summary = decoded(lake, "t", again=_REJECTS)
    [found] = summary.retried
    assert (found.typed_rows, found.value_rejects, found.tables) == (1, -1, ["typed/t"])
    assert "t: 1 rejected record became typed rows, in typed/t" in summary.to_text()
    assert values(lake) == [1, 2]
    assert resolutions(lake) == [
        (0, "value", None),
        (2, "value", None),
        (2, "value", "decoded"),
    ]
    assert [(s.values, s.keys) for s in summary.standing] == [(1, 0)]
    assert is_proved(lake)


def test_a_second_retry_finds_nothing_and_still_names_what_stands(
    lake: Path, tmp_path: Path
) -> None:
    add_schemas(lake, tmp_path / "registry-2", '"int"')
    decoded(lake, "t", again=_REJECTS)
    versions = [DeltaTable(str(lake / name)).version() for name in ("typed/t", "value_rejects")]
    summary = decoded(lake, "t", again=_REJECTS)
    assert (summary.retried, summary.exit_code) == ([], ExitCode.LOOK)
    headline, *_, advice = summary.to_text().splitlines()
    assert headline.startswith("nothing new to decode; no rejected value decodes now (")
    assert advice.startswith("what to do about rejects: see why: `SELECT topic, part, reason")
    assert "rejected: t: 1 value in value_rejects, of this run or earlier ones" in summary.to_text()
    kinds = {"rejected": 1, "limit_crossed": 1}
    assert json.loads(summary.to_json())["findings_by_kind"] == kinds
    assert versions == [
        DeltaTable(str(lake / name)).version() for name in ("typed/t", "value_rejects")
    ]


def test_schemas_of_a_file_resolve_rejects_too(lake: Path, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "2.avsc").write_text('"int"')
    decoded(lake, "t", again=_REJECTS, schemas=str(folder))
    assert (values(lake), is_proved(lake)) == ([1, 2], True)
    assert {row["schema_id"] for row in table_rows(lake, "schemas")} == {1, 2}
    decoded(lake, "t")
    assert {row["schema_id"] for row in table_rows(lake, "schemas")} == {1, 2}


@pytest.mark.parametrize("step", ["redo", "value_rejects", "typed/t", "typed_checkpoints"])
def test_a_retry_that_died_is_completed_and_nothing_is_twice(
    lake: Path, tmp_path: Path, step: str
) -> None:
    add_schemas(lake, tmp_path / "registry-2", '"int"')
    with pytest.raises(Died):
        decoded(lake, "t", again=_REJECTS, after=dying(step))
    decoded(lake, "t", again=_REJECTS)
    assert (values(lake), len(resolutions(lake)), is_proved(lake)) == ([1, 2], 3, True)


def test_a_key_that_decodes_with_its_value_is_resolved_too(tmp_path: Path) -> None:
    pairs = [schema_pair("t-value", 1, 1), schema_pair("t-key", 1, 1)]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, [pair]) for pair in pairs]), lake)
    keys = [int_of(7), _ID_2 + b"\x04", b"bad", _ID_2 + b"\x06"]
    found = [int_of(1), _ID_2 + b"\x02", _ID_2 + b"\x02", int_of(2)]
    add_values(lake, tmp_path / "values", *found, keys=keys)
    assert [(s.values, s.keys) for s in decoded(lake, "t").standing] == [(2, 3)]
    pairs.append(schema_pair("t-value", 2, 2))
    ingested(write_registry(tmp_path / "more", [(0, [pair]) for pair in pairs]), lake)
    summary = decoded(lake, "t", again=_REJECTS)
    assert [(s.values, s.keys) for s in summary.standing] == [(0, 2)]
    rows = {row["_offset"]: (row["_key"], row["_key_raw"]) for row in typed_rows(lake, "t")}
    assert rows == {0: (7, None), 1: (2, None), 2: (None, b"bad"), 3: (None, keys[3])}
    assert is_proved(lake)


def test_rejects_of_rows_that_lost_an_election_do_not_stand(tmp_path: Path) -> None:
    lake, _ = elected_lake(tmp_path)
    summary = decoded(lake, "t")
    assert (summary.standing, summary.exit_code) == ([], ExitCode.DONE)
    assert viewed(lake, "SELECT 1 AS one FROM superseded_ranges") == [{"one": 1}]


def test_later_runs_name_rejects_that_stand_and_end_with_0(lake: Path, tmp_path: Path) -> None:
    summary = decoded(lake, "t")
    assert "rejected: t: 2 values" in summary.to_text()
    assert (summary.exit_code, "limit crossed" in summary.to_text()) == (ExitCode.DONE, False)


def test_a_run_that_completes_a_dead_one_ends_with_3_for_its_rejects(tmp_path: Path) -> None:
    lake = made(tmp_path, b"bad", int_of(1))
    with pytest.raises(Died):
        decoded(lake, "t", after=dying("value_rejects"))
    summary = decoded(lake, "t")
    assert (summary.recovered, summary.topics) == (["t"], [])
    assert summary.exit_code is ExitCode.LOOK


def test_rejects_that_a_setting_accepts_are_named_with_exit_code_0(lake: Path) -> None:
    summary = decoded(lake, "t", limits=LimitsSettings(fail_on_rejects=False))
    assert (len(summary.standing), summary.exit_code) == (1, ExitCode.DONE)
    assert "rejected: t: 2 values" in summary.to_text()
