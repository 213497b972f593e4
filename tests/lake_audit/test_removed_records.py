"""Records removed by a commit that says so: all adds up, and nothing brings them back."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from support import broker_disks
from support.audits import audited, checked, falsified, kinds
from support.erasures import erased_at
from support.lakes import Row, ingested, read_table, replayed, retaken
from support.made_logs import make_log_dir
from support.views import viewed

_ORDERS = ("orders", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranges of one log, with four records erased at both sides of their edge."""
    folder = tmp_path_factory.mktemp("removed")
    for stop in (20, 30):
        ingested(_disk(folder, stop), folder / "lake")
    erased_at(folder / "lake", *_ORDERS, [3, 18, 19, 20])
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def _disk(folder: Path, stop: int) -> Path:
    return make_log_dir(folder / "disk", {_ORDERS: [0, 9, stop], ("orders", 1): [0, 5]})


def _offsets(lake: Path, view: str = "current_records") -> list[int]:
    query = f"SELECT \"offset\" FROM {view} WHERE topic = 'orders' AND partition = 0 ORDER BY 1"
    return [row["offset"] for row in viewed(lake, query)]


def _assert_explained(audit: LakeAudit) -> None:
    assert (audit.exit_code, audit.problem_count) == (0, 0), audit
    [first, _] = sorted(audit.partitions, key=lambda each: each.partition.key.partition)
    gaps = first.gaps["erased"]
    assert (gaps.gaps, gaps.offsets) == (4, 4)
    assert first.totals.accounted == first.covered_offsets == 30
    assert first.totals.records == 26


def test_audit_balances_erased_records_in_each_range(lake: Path) -> None:
    _assert_explained(audited(lake))


def test_comparison_with_the_disk_explains_them(lake: Path, tmp_path: Path) -> None:
    checks = checked(tmp_path / "disk", lake)
    assert not any(check.has_problem for check in checks)
    first = next(check for check in checks if check.partition == "orders-0")
    assert first.lake_records == 26
    # The second run found offset 19 in a larger batch.
    assert dict(first.report.left_out) == {"in a gap (erased)": 3, "rewritten by the cleaner": 1}


def test_views_count_them(lake: Path) -> None:
    [row] = viewed(
        lake,
        "SELECT covered, records, in_batches, erased, expired, missing FROM completeness"
        " WHERE partition = 0",
    )
    assert dict(row) == {
        "covered": 30,
        "records": 26,
        "in_batches": 0,
        "erased": 4,
        "expired": 0,
        "missing": 0,
    }
    assert len(viewed(lake, "SELECT * FROM current_gaps WHERE cause = 'erased'")) == 4


def test_later_runs_go_on_and_bring_nothing_back(lake: Path, tmp_path: Path) -> None:
    kept = [offset for offset in range(30) if offset not in (3, 18, 19, 20)]
    copy = _disk(tmp_path / "copy", 30)
    ingested([_disk(tmp_path, 40)], lake, read={"older_copies": True})
    ingested([_disk(tmp_path, 40), copy], lake, read={"older_copies": True})
    replayed(lake, copy)
    assert _offsets(lake) == [*kept, *range(30, 40)]
    assert audited(lake).exit_code == 0


def test_compacted_record_that_was_refilled_and_erased_is_not_refilled_again(
    tmp_path: Path,
) -> None:
    lake, disks = tmp_path / "lake", broker_disks.unpacked("05_compacted") / "disks"
    topics = {"topics": ["cmp-v2"]}
    ingested(disks / "after", lake, select=topics)
    before = ingested(disks / "before", lake, select=topics, read={"older_copies": True})
    assert before.exit_code == 0
    refills = [row for row in read_table(lake, "checkpoints") if row["kind"] == "refill"]
    [generation] = {row["generation"] for row in refills}
    rows = [row for row in read_table(lake, "records") if row["partition"] == 0]
    chosen = [row["offset"] for row in rows if row["generation"] == generation][:3]
    chosen += [row["offset"] for row in rows if row["generation"] != generation][:2]
    erased_at(lake, "cmp-v2", 0, chosen)
    assert audited(lake).exit_code == 0
    ingested(disks / "before", lake, select=topics, read={"older_copies": True})
    left = [row["offset"] for row in read_table(lake, "records") if row["partition"] == 0]
    assert sorted(left) == sorted({row["offset"] for row in rows} - {*chosen})
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize("erases_first", [True, False])
def test_rows_that_lost_an_election_may_be_erased_before_and_after_it(
    tmp_path: Path, *, erases_first: bool
) -> None:
    """Offset 200 is only in the log that lost, offset 175 is in both, offset 100 is before."""
    lake, chosen = tmp_path / "lake", (100, 175, 200)
    loser, winner = (
        broker_disks.log_dir("08_replicas", "diverged", f"broker{broker}") for broker in (0, 2)
    )
    ingested(loser, lake, read={"upper_bound": "log_end"})
    if erases_first:
        erased_at(lake, "rep", 0, chosen)
    ingested(winner, lake)
    assert kinds(audited(lake)) == {"superseded"}
    assert retaken(lake, winner).exit_code == 0
    assert audited(lake).exit_code == 0
    if not erases_first:
        erased_at(lake, "rep", 0, chosen)
        assert audited(lake).exit_code == 0
    [row] = viewed(lake, "SELECT records, erased FROM completeness WHERE partition = 0")
    current = viewed(lake, "SELECT * FROM current_records WHERE partition = 0")
    assert (row["records"], row["erased"]) == (len(current), 1 if erases_first else 2)


@pytest.mark.parametrize(
    ("table", "change", "found"),
    [
        ("gaps", lambda rows: [row for row in rows if row["cause"] != "erased"], "removed_gaps"),
        (
            "checkpoints",
            lambda rows: [
                row | {"key_bytes": 1} if row["kind"] == "erased" else row for row in rows
            ],
            "ledger_sums",
        ),
        ("checkpoints", lambda rows: [r for r in rows if r["kind"] != "erased"], "ledger_sums"),
        (
            "gaps",
            lambda rows: [r | {"attempt_id": "x"} if r["cause"] == "erased" else r for r in rows],
            "unknown_attempt",
        ),
    ],
)
def test_ledger_gaps_and_records_must_agree(
    lake: Path, table: str, change: Callable[[list[Row]], list[Row]], found: str
) -> None:
    falsified(lake, table, change)
    assert found in kinds(audited(lake))
