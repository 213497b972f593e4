"""Hints of runs at work: others see them, and whatever is wrong with them harms nobody."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.lake.running_runs import (
    RunningRun,
    announce,
    hint_path,
    others_at_work,
    withdraw,
)
from seglake.storage.errors import PlaceError, StorageError, StoreSilentError
from seglake.storage.local_storage import LocalStorage

_NOW_MS = 1_800_000_000_000
_HOUR_MS = 3_600_000


def _run(run_id: str, *topics: str, started_at_ms: int = _NOW_MS, **other: Any) -> RunningRun:
    run = RunningRun.here(
        run_id=run_id, source_id="cluster", topics=topics, started_at_ms=started_at_ms
    )
    return replace(run, **other)


@pytest.fixture
def tables(tmp_path: Path) -> LakeTables:
    return LakeTables(str(tmp_path), LocalStorage())


def _announced(tables: LakeTables, run: RunningRun) -> str:
    path = hint_path(tables)
    announce(tables, run, path)
    return path


def _seen(tables: LakeTables, run: RunningRun, now_ms: int = _NOW_MS) -> list[str]:
    path = _announced(tables, run)
    found = others_at_work(tables, run, path, now_ms)
    withdraw(tables, path)
    return [other.run_id for other in found]


def test_a_run_sees_the_others_until_they_are_withdrawn(tables: LakeTables) -> None:
    younger = _announced(tables, _run("b", "orders", started_at_ms=_NOW_MS - 1000))
    older = _announced(tables, _run("a", "orders", started_at_ms=_NOW_MS - 2000))
    assert _seen(tables, _run("c", "orders")) == ["a", "b"]
    withdraw(tables, older)
    assert _seen(tables, _run("c", "orders")) == ["b"]
    withdraw(tables, younger)
    withdraw(tables, younger)
    assert _seen(tables, _run("c", "orders")) == []
    assert [*Path(tables.running_folder).iterdir()] == []


@pytest.mark.parametrize(
    ("other", "is_seen"),
    [
        (_run("b", "orders", "payments"), True),
        (_run("b", "payments"), False),
        (_run("b"), True),  # too many topics to list
        (_run("b", "orders", source_id="another cluster"), False),
    ],
)
def test_only_runs_that_may_commit_the_same_topics_are_seen(
    other: RunningRun, is_seen: bool, tables: LakeTables
) -> None:
    _announced(tables, other)
    assert _seen(tables, _run("a", "orders")) == ["b"] * is_seen


def test_very_many_topics_count_as_all() -> None:
    assert _run("a", *(f"t{number}" for number in range(1001))).topics == ()
    assert len(_run("a", *(f"t{number}" for number in range(1000))).topics) == 1000


def test_hints_of_the_dead_and_of_long_ago_go(tables: LakeTables) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    _announced(tables, _run("dead", pid=process.pid))
    for run_id, seen_at_ms in [
        ("old", _NOW_MS - 25 * _HOUR_MS),
        ("far", _NOW_MS - 23 * _HOUR_MS),
        ("ahead", _NOW_MS + 25 * _HOUR_MS),  # a clock that nobody set
    ]:
        _announced(tables, _run(run_id, started_at_ms=seen_at_ms, host="elsewhere", pid=1))
    _announced(tables, _run("alive", pid=1))
    assert _seen(tables, _run("a")) == ["far", "alive"]
    assert len([*Path(tables.running_folder).iterdir()]) == 2


def test_a_run_of_days_is_believed_as_long_as_it_goes_on(tables: LakeTables) -> None:
    run = _run("long", started_at_ms=_NOW_MS - 72 * _HOUR_MS, host="elsewhere")
    path = hint_path(tables)
    announce(tables, replace(run, seen_at_ms=_NOW_MS - 5 * _HOUR_MS), path)
    announce(tables, replace(run, seen_at_ms=_NOW_MS - 1 * _HOUR_MS), path)
    assert _seen(tables, _run("a")) == ["long"]
    assert _seen(tables, _run("a"), _NOW_MS + 25 * _HOUR_MS) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run_id", 5),
        ("host", None),
        ("topics", [["orders"]]),
        ("topics", 5),
        ("started_at_ms", "1800000000000"),
        ("started_at_ms", 10**30),
        ("started_at_ms", -1),
        ("seen_at_ms", None),
        ("pid", 10**30),
        ("pid", 0),
        ("pid", "1"),
    ],
)
def test_a_hint_that_cannot_be_is_passed_over(
    field: str, value: object, tables: LakeTables
) -> None:
    hint = {**asdict(_run("b", "orders")), field: value}
    tables.storage.write_bytes(f"{tables.running_folder}/b.json", json.dumps(hint).encode())
    assert _seen(tables, _run("a", "orders")) == []


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"run_id": 5}'])
def test_what_is_no_hint_is_passed_over(content: bytes, tables: LakeTables) -> None:
    tables.storage.write_bytes(f"{tables.running_folder}/a.json", content)
    tables.storage.write_bytes(f"{tables.running_folder}/a.txt", content)
    assert _seen(tables, _run("a")) == []


def test_a_hint_of_a_later_version_is_passed_over(tables: LakeTables) -> None:
    hint = {**asdict(_run("b")), "more": 1}
    tables.storage.write_bytes(f"{tables.running_folder}/b.json", json.dumps(hint).encode())
    assert _seen(tables, _run("a")) == []


@pytest.mark.parametrize(
    ("verb", "seen"),
    [("write_bytes", ["b"]), ("list_folder", []), ("read_bytes", []), ("delete", ["b"])],
)
@pytest.mark.parametrize("kind", [StorageError, StoreSilentError])
def test_a_store_that_fails_costs_no_run(
    kind: type[PlaceError],
    verb: str,
    seen: list[str],
    tables: LakeTables,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise kind(action="reach", path="it", reason="Input/output error")

    _announced(tables, _run("b"))
    monkeypatch.setattr(LocalStorage, verb, fail)
    assert _seen(tables, _run("a")) == seen


def test_a_person_reads_who_and_since_when() -> None:
    run = _run("nightly", host="host-1")
    assert str(run) == "nightly, on host-1 since 2027-01-15 08:00 UTC"
