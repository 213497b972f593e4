"""`audit` compares tables of latest state with the records."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, kinds
from support.erasures import erased, erased_at
from support.keyed_logs import Values, abort, commit, data, write, write_batches
from support.lakes import ingested
from support.latest_state import table_version, updated
from support.reports import reported

_LOG: list[Values] = [("a", b"1"), ("b", b"1"), ("a", b"2"), ("b", None)]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    ingested(write(tmp_path / "disk", *_LOG), tmp_path / "lake")
    updated(tmp_path / "lake", "orders")
    return tmp_path / "lake"


def test_a_table_that_has_the_newest_records_is_proved(lake: Path, tmp_path: Path) -> None:
    found = audited(lake)
    assert (found.exit_code, kinds(found)) == (0, set())
    assert "latest state: 2 keys in 1 table, 1 of them deleted" in to_text(found)
    ingested(write(tmp_path / "disk", *_LOG, ("c", b"1")), lake)
    behind = audited(lake)
    assert behind.exit_code == 0
    assert "note: latest/orders is not compared: it lacks 1 commit of " in to_text(behind)
    updated(lake)
    erased_at(lake, "orders", 0, [2])
    updated(lake)
    assert audited(lake).exit_code == 0


def test_a_commit_without_records_makes_no_table_lag_behind(lake: Path) -> None:
    before = table_version(lake)
    assert erased(lake, key="nobody").exit_code == 3
    after = audited(lake)
    assert (after.exit_code, after.problem_count) == (0, 0)
    assert "not compared" not in to_text(after)
    assert [each.lacks for each in reported(lake).latest] == [0]
    fenced = table_version(lake)
    assert updated(lake, dry_run=True).planned == []
    assert updated(lake).unchanged == ["orders"]
    assert before < table_version(lake) == fenced


def test_tables_without_rows_count_and_tables_that_cannot_be_read_are_not_called_empty(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(
        write_batches(tmp_path / "disk", [data(7, "a")]), lake, read={"upper_bound": "log_end"}
    )
    updated(lake, "orders")
    assert "latest state: 0 keys in 1 table, 0 of them deleted" in to_text(audited(lake))
    shutil.copytree(lake / "gaps", lake / "latest" / "gaps")
    assert "latest state: no table was read" in to_text(audited(lake))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE", "offset 2 is the newest of its key and lacks"),
        ("UPDATE", "offset 1 has a row and is not the newest of its key"),
    ],
)
def test_a_row_that_is_missing_or_older_ends_with_3(lake: Path, change: str, said: str) -> None:
    table = DeltaTable(str(lake / "latest" / "orders"))
    if change == "DELETE":
        table.delete('"offset" = 2')
    else:
        table.update(updates={"offset": "1"}, predicate="is_deleted")
    found = audited(lake)
    assert (found.exit_code, len(found.findings.of(FindingKind.LATEST_ROWS))) == (3, 1)
    text = to_text(found)
    assert said in text
    assert "NOT EXPLAINED: see the tables of latest state" in text
    updated(lake, rebuild=True)
    assert audited(lake).exit_code == 0


def test_transactions_that_were_settled_later_are_proved(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log = [data(7, "a"), data(8, "b"), commit(7), data(7, "a"), abort(8), abort(7)]
    for end in (2, 4, 6):
        ingested(write_batches(disk, log[:end]), lake, read={"upper_bound": "log_end"})
        updated(lake, "orders")
        assert not audited(lake).findings.of(FindingKind.LATEST_ROWS)
