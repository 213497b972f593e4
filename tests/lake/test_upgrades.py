"""Lakes of other versions: earlier ones are upgraded in place, later ones are refused.

`tests/data/lakes` keeps a lake of each format. The version of tomorrow is today's with a new table,
a new column, and the next format.
"""

import json
import os
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest
from deltalake import DeltaTable

import seglake
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import NewerLakeError
from seglake.lake.lake_format import FORMAT, marks
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import TABLES, Table
from seglake.storage.errors import LakeFolderError
from seglake.storage.local_storage import LocalStorage
from support.archives import unpack
from support.audits import audited
from support.lake_accounts import rows_of
from support.lakes import ingested, maintained, read_table
from support.made_logs import make_log_dir

_KEPT = Path(__file__).parents[1] / "data" / "lakes"
_ADDED = 2  # tables that the kept lake lacks
_LIBRARY = Path(seglake.__file__).parent
_TOMORROW = [
    ("version.py", '__version__ = "0.1.0"', '__version__ = "0.2.0"'),
    ("lake/lake_format.py", f"FORMAT = {FORMAT}\n", f"FORMAT = {FORMAT + 1}\n"),
    (
        "lake/tables.py",
        """    *timestamp_columns("committed_at"),
    *_GENERATION,
""",
        """    *timestamp_columns("committed_at"),
    *_GENERATION,
    *string_columns("said_by"),
    added=frozenset({"said_by"}),
""",
    ),
    (
        "ingest_steps/committing/wave.py",
        "    table = pa.RecordBatch.from_pylist(rows, schema=CHECKPOINTS.schema)\n",
        "    rows = [{**row, 'said_by': 'tomorrow'} for row in rows]\n"
        "    table = pa.RecordBatch.from_pylist(rows, schema=CHECKPOINTS.schema)\n",
    ),
    (
        "lake/tables.py",
        "TABLES = (\n",
        f"""TOMORROWS = OBSERVATIONS._replace(name="tomorrows", since={FORMAT + 1})

TABLES = (
    TOMORROWS,
""",
    ),
]


_CALLS = """
import contextlib, io, json, sys
from seglake.cli.main import main
answers = []
for argument in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(json.loads(argument))
    answers.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""


class _Answer(NamedTuple):
    code: int
    stdout: str
    stderr: str


@pytest.fixture(params=sorted(path.name.split(".")[0] for path in _KEPT.iterdir()))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A lake that an earlier version made of `_disk(20)`."""
    unpack(_KEPT / f"{request.param}.tar.gz", tmp_path)
    return tmp_path / "lake"


@pytest.fixture(scope="module")
def tomorrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as a later version has it."""
    folder = tmp_path_factory.mktemp("tomorrow")
    shutil.copytree(_LIBRARY, folder / "seglake")  # with the caches of what was compiled
    for name, today, later in _TOMORROW:
        path = folder / "seglake" / name
        text = path.read_text("utf-8")
        assert text.count(today) == 1, (name, today)
        path.write_text(text.replace(today, later), "utf-8")
    return folder


def _disk(folder: Path, stop: int) -> Path:
    edges = {("orders", 0): [0, stop], ("orders", 1): [0, 5], ("payments", 0): [0, stop]}
    return make_log_dir(folder / "disk", edges)


def _answers(libs: Path, *commands: list[str]) -> list[_Answer]:
    """What the package in a folder answers to commands, one after the other in one process."""
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, *map(json.dumps, commands)],
        env={**os.environ, "PYTHONPATH": str(libs)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [_Answer(*answer) for answer in json.loads(done.stdout.splitlines()[-1])]


def _files(lake: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()}


def _is_whole(lake: Path, disk: Path, clean: Path) -> bool:
    """Whether it has the rows of a new lake, and all of them are accounted for."""
    ingested(disk, clean)
    tables = ("records", "batches", "gaps", "quarantine")
    same = {name: rows_of(lake)[name] for name in tables} == {
        name: rows_of(clean)[name] for name in tables
    }
    return same and audited(lake).exit_code == 0


def _upgraded(added: str) -> str:
    return f"the lake was upgraded: {added}; earlier versions of seglake refuse it"


def _marks(lake: Path) -> list[dict[str, str]]:
    """Of each table that is there."""
    folders = [lake / table.name for table in TABLES]
    tables = [DeltaTable(str(folder)) for folder in folders if folder.exists()]
    found = [table.metadata().configuration for table in tables]
    return [{key: value for key, value in each.items() if "seglake" in key} for each in found]


def test_kept_lake_goes_on_as_if_this_version_had_made_it(kept: Path, tmp_path: Path) -> None:
    summary = ingested(_disk(tmp_path, 30), kept)
    assert (summary.exit_code, summary.records) == (0, 20)
    assert summary.notes == [_upgraded("table remote_log_metadata, table salvaged_records")]
    assert _is_whole(kept, tmp_path / "disk", tmp_path / "clean")
    assert _marks(kept) == [marks()] * len(TABLES)
    assert maintained(kept).exit_code == 0
    assert _is_whole(kept, tmp_path / "disk", tmp_path / "clean2")


def test_kept_lake_is_read_and_maintained_as_it_is(kept: Path, tmp_path: Path) -> None:
    before = _files(kept)
    assert _is_whole(kept, _disk(tmp_path, 20), tmp_path / "clean")
    assert _files(kept) == before
    assert maintained(kept).exit_code == 0
    assert _marks(kept) == [{}] * (len(TABLES) - _ADDED)


def test_table_that_came_later_is_added_and_said(kept: Path, tmp_path: Path) -> None:
    shutil.rmtree(kept / "observations")  # as in a lake from before there was this table
    summary = ingested(_disk(tmp_path, 30), kept)
    assert summary.notes == [
        _upgraded("table remote_log_metadata, table observations, table salvaged_records")
    ]
    assert _is_whole(kept, tmp_path / "disk", tmp_path / "clean")


def test_table_that_was_always_there_is_lost(kept: Path, tmp_path: Path) -> None:
    shutil.rmtree(kept / "gaps")
    with pytest.raises(LakeFolderError, match="it has lost the table gaps"):
        ingested(_disk(tmp_path, 30), kept)


def test_lake_with_a_mark_that_nobody_can_read_is_refused(tmp_path: Path) -> None:
    ingested(_disk(tmp_path, 20), tmp_path / "lake")
    table = DeltaTable(str(tmp_path / "lake" / "checkpoints"))
    table.alter.set_table_properties({"seglake.format": "x"}, raise_if_not_exists=False)
    with pytest.raises(NewerLakeError):
        ingested(_disk(tmp_path, 30), tmp_path / "lake")


def test_later_version_upgrades_a_lake_and_earlier_ones_refuse_it(
    kept: Path, tomorrow: Path, tmp_path: Path
) -> None:
    place, local = ["--lake", str(kept)], ["--engine", "local"]
    assert ingested(_disk(tmp_path, 30), kept).exit_code == 0
    source = ["--source", str(_disk(tmp_path, 40))]
    before = _files(kept)
    [refused] = _answers(tomorrow, ["audit", *place, *local])
    assert (refused.code, _files(kept) == before) == (2, True)
    assert (
        "is of an earlier version: it lacks column said_by of checkpoints. The next ingest or"
        " seglake maintain --upgrade adds it." in refused.stderr
    )
    query = "SELECT count(*) AS a, count(said_by) AS b, max(said_by) AS c FROM checkpoints"
    before = _files(kept)
    [foreseen] = _answers(tomorrow, ["maintain", "--upgrade", "--dry-run", *place, *local])
    assert (foreseen.code, _files(kept) == before) == (0, True), foreseen.stderr
    assert "would be added: table tomorrows, column said_by of checkpoints" in foreseen.stdout
    upgraded, taken, audit, asked, merged, again = _answers(
        tomorrow,
        ["maintain", "--upgrade", *place, *local, "--json"],
        ["ingest", "--isolation", "read_uncommitted", *source, *place, *local, "--json"],
        ["audit", *source, *place, *local],
        ["sql", *place, "--csv", query],
        ["maintain", *place, *local],
        ["sql", *place, "--csv", query],
    )
    assert [note["text"] for note in json.loads(upgraded.stdout)["findings"]] == [
        "the lake was upgraded: table tomorrows, column said_by of checkpoints; earlier versions"
        " of seglake refuse it"
    ]
    summary = json.loads(taken.stdout)
    assert (summary["records"], summary["findings"]) == (20, [])
    assert (audit.code, merged.code) == (0, 0), (audit.stdout, merged.stderr)
    assert asked.stdout.splitlines()[1:] == ["9,2,tomorrow"], asked.stderr
    assert again.stdout == asked.stdout
    before = _files(kept)
    said = rf"its format is {FORMAT + 1}, .*Install seglake 0\.2\.0, which made or upgraded it"
    with pytest.raises(NewerLakeError, match=said):
        ingested(_disk(tmp_path, 50), kept)
    with pytest.raises(NewerLakeError):
        audited(kept)
    assert _files(kept) == before


def test_upgrade_stops_where_a_later_version_upgrades_meanwhile(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = LakeTables(str(kept), LocalStorage())
    later = {"seglake.format": f"{FORMAT + 1}", "seglake.version": "0.2.0"}
    looked = LakeTables.require_safe_commits

    def overtaken(self: LakeTables) -> None:
        looked(self)
        for table in TABLES:
            if not (kept / table.name).exists():
                continue
            handle = DeltaTable(str(kept / table.name))
            handle.alter.set_table_properties(later, raise_if_not_exists=False)

    monkeypatch.setattr(LakeTables, "require_safe_commits", overtaken)
    with pytest.raises(NewerLakeError):
        create_missing(second)
    # The tables that the kept lake lacks were made before the marks were seen.
    found = dict(zip((table.name for table in TABLES), _marks(kept), strict=True))
    made = {"remote_log_metadata", "salvaged_records"}
    assert found == {name: marks() if name in made else later for name in found}


def test_upgrade_stops_where_a_later_version_s_comes_before_its_commit(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {"seglake.format": f"{FORMAT + 1}", "seglake.version": "0.2.0"}
    opened = LakeTables.unchecked

    def overtaken(self: LakeTables, table: Table) -> DeltaTable:
        handle = opened(self, table)
        other = DeltaTable(str(kept / table.name))
        other.alter.set_table_properties(later, raise_if_not_exists=False)
        return handle

    monkeypatch.setattr(LakeTables, "unchecked", overtaken)
    with pytest.raises(NewerLakeError):
        create_missing(LakeTables(str(kept), LocalStorage()))
    assert later in _marks(kept)


def test_one_that_comes_second_takes_what_the_first_did(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = LakeTables(str(kept), LocalStorage())
    looked = LakeTables.require_safe_commits

    def overtaken(self: LakeTables) -> None:
        monkeypatch.undo()
        looked(self)
        create_missing(LakeTables(str(kept), LocalStorage()))

    monkeypatch.setattr(LakeTables, "require_safe_commits", overtaken)
    assert create_missing(second) == [  # missing when it looked
        *("table remote_log_metadata", "table salvaged_records")
    ]
    assert _marks(kept) == [marks()] * len(TABLES)
    versions = [DeltaTable(str(kept / table.name)).version() for table in TABLES]
    assert [second.newest(table).version() for table in TABLES] == versions


def test_upgrade_whose_commit_is_refused_for_another_one_is_done(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = LakeTables.named

    def overtaken(self: LakeTables, action: str, table: Table) -> AbstractContextManager[None]:
        if action == "upgrade":  # the version is read, the commit on top of it comes next
            monkeypatch.undo()
            create_missing(LakeTables(str(kept), LocalStorage()))
        return named(self, action, table)

    monkeypatch.setattr(LakeTables, "named", overtaken)
    create_missing(LakeTables(str(kept), LocalStorage()))
    assert LakeTables.named is named
    assert _marks(kept) == [marks()] * len(TABLES)


def test_two_that_upgrade_at_once_both_succeed(kept: Path, tomorrow: Path) -> None:
    command = [sys.executable, "-m", "seglake", "maintain", "--upgrade", "--lake", str(kept)]
    environment = {**os.environ, "PYTHONPATH": str(tomorrow)}
    both = [
        subprocess.Popen([*command, "--engine", "local"], env=environment, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ends = [process.communicate()[1] for process in both]
    # Of two that merge the same files one may say that it lost: 3.
    assert {process.returncode for process in both} <= {0, 3}, ends
    assert DeltaTable(str(kept / "checkpoints")).schema().fields[-1].name == "said_by"


def test_table_of_a_topic_that_came_later_joins_the_commits_of_that_topic(tmp_path: Path) -> None:
    lake, topic = tmp_path / "lake", ("__remote_log_metadata", 0)
    select = {"internal_topics": True}
    for stop in (10, 20):
        disk = make_log_dir(tmp_path / "disk", {topic: [0, stop], ("orders", 0): [0, stop]})
        assert ingested(disk, lake, select=select).exit_code == 0
    shutil.rmtree(lake / "remote_log_metadata")
    for table in TABLES:
        if (lake / table.name).exists():  # as in a lake from before there was this table
            handle = DeltaTable(str(lake / table.name))
            handle.alter.set_table_properties({"seglake.format": "2"}, raise_if_not_exists=False)
    disk = make_log_dir(tmp_path / "disk", {topic: [0, 30], ("orders", 0): [0, 30]})
    summary = ingested(disk, lake, select=select)
    assert (summary.exit_code, summary.records) == (0, 20)
    assert summary.notes == [_upgraded("table remote_log_metadata")]
    rows = read_table(lake, "remote_log_metadata")
    assert sorted(row["record_offset"] for row in rows) == [*range(20, 30)]
    assert audited(lake).exit_code == 0
