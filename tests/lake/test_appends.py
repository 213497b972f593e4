"""A table that takes no part in the topics' commits: appends, and reading the newest rows first."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from seglake.lake import appends
from seglake.lake.appends import append_file, newest_rows
from seglake.lake.compaction import Merge, replace_files
from seglake.lake.errors import CommitUnknownError
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.table_commit import add_files
from seglake.lake.table_view import view_of
from seglake.lake.tables import OBSERVATIONS
from support.lake_drivers import commit
from support.lake_rows import NOW_MS, Lake, lake_at, wave
from support.processes import young

_DAY_MS = 24 * 3600 * 1000
_NAMES = ("topic", "log_end_offset")


def _file(lake: Lake, log_end: int) -> DataFile:
    values = {"topic": "orders", "partition": 0, "log_end_offset": log_end}
    row = values | {"observed_at": datetime(2026, 11, 1, tzinfo=UTC)}
    rows = pa.RecordBatch.from_pylist([row], schema=OBSERVATIONS.schema)
    with ParquetFile(lake.storage, lake.tables.lake_path, OBSERVATIONS, "") as file:
        file.write(rows)
        done = file.close()
    assert done is not None
    return done


def _append(lake: Lake, log_end: int, now_ms: int = NOW_MS) -> None:
    file = _file(lake, log_end)
    append_file(lake.tables, OBSERVATIONS, file, run_id="run", now_ms=now_ms)


def _ends(lake: Lake) -> list[int]:
    tables = newest_rows(lake.tables, OBSERVATIONS, _NAMES)
    return [row["log_end_offset"] for rows in tables for row in rows.to_pylist()]


def test_the_file_that_was_appended_last_is_read_first(lake: Lake) -> None:
    assert _ends(lake) == []
    for number in (2, 3, 1):
        _append(lake, number, NOW_MS + number)
    assert _ends(lake) == [3, 2, 1]


def test_an_append_is_one_commit_that_names_its_run_and_moves_no_generation(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(3)))
    _append(lake, 7)
    handle = DeltaTable(lake.tables.path(OBSERVATIONS))
    assert handle.version() == 1
    assert handle.history()[0]["run_id"] == "run"
    assert commit(lake, wave(lake, "orders", 2, range(3, 6))) == (("orders",), ())
    assert DeltaTable(lake.tables.path(OBSERVATIONS)).version() == 1


def _append_some(path: Path, driver: int) -> None:
    for number in range(5):
        _append(lake_at(path), driver * 10 + number)


def test_drivers_may_append_at_once_and_none_loses_its_rows(lake: Lake) -> None:
    drivers = [young().Process(target=_append_some, args=(lake.path, n)) for n in range(2)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join(100)
    assert [driver.exitcode for driver in drivers] == [0, 0]
    assert sorted(_ends(lake)) == [*range(5), *range(10, 15)]


def test_a_commit_that_only_seemed_to_fail_is_not_made_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    _append(lake, 1, NOW_MS - 2 * _DAY_MS)
    append_file(lake.tables, OBSERVATIONS, _file(lake, 2), run_id="first", now_ms=NOW_MS)
    tries: list[str] = []

    def lossy(*given: Any, **named: Any) -> str:
        tries.append(add_files(*given, **named))
        # Somebody replaces the file meanwhile, so that adding it again is no repetition.
        (old,) = (f for f in view_of(lake.tables, OBSERVATIONS).files if f.written_at_ms > NOW_MS)
        view = view_of(lake.tables, OBSERVATIONS)
        merge = Merge("", (old,))
        replace_files(view, [merge], [_file(lake, 3)], run_id="maintain", now_ms=NOW_MS)
        return "OSError: connection reset"

    monkeypatch.setattr(appends, "add_files", lossy)
    append_file(lake.tables, OBSERVATIONS, _file(lake, 3), run_id="run", now_ms=NOW_MS + 1)
    assert tries == [""]
    assert _ends(lake) == [3, 2, 1]


def test_a_commit_that_fails_each_time_is_said(lake: Lake) -> None:
    file = _file(lake, 1)
    log = Path(lake.tables.path(OBSERVATIONS), "_delta_log")
    (log / f"{1:020d}.json").mkdir()  # no commit can have this version
    with pytest.raises(CommitUnknownError, match="could not commit to observations in 5 attempts"):
        append_file(lake.tables, OBSERVATIONS, file, run_id="run", now_ms=NOW_MS)
