"""Records that are older than `retention.records` are removed, and everything still adds up."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import LOSS_OF_GAP, NoLoss
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
from seglake.task_engine.engine import Engine
from support import broker_disks
from support.audits import audited, checked, falsified, kinds
from support.cases import cases
from support.dying import Died, dying
from support.encoder import Partition, Record, Segment, record_batch
from support.erasures import erased_at
from support.lake_accounts import unpublished
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.latest_state import expected, state, updated
from support.made_logs import write_over
from support.views import viewed

_DAY_MS = 24 * 3600 * 1000
_OLD_MS = 1_600_000_000_000
_NOW_MS = time.time_ns() // 1_000_000
_FUTURE_MS = _NOW_MS + 100 * _DAY_MS
_BATCH = 5

Times = Mapping[tuple[str, int], Sequence[int]]


def _disk(folder: Path, times: Times) -> Path:
    """A log dir whose records have these times; five records are a batch, and one segment."""
    partitions = []
    for (topic, partition), own in times.items():
        records = [
            Record(f"k{offset % 7}".encode(), b"v" * offset, time_ms)
            for offset, time_ms in enumerate(own)
        ]
        segments = [
            Segment(start, [record_batch(start, records[start : start + _BATCH])])
            for start in range(0, len(records), _BATCH)
        ]
        partitions.append(Partition(topic, partition, segments))
    return write_over(folder / "disk", partitions)


def _expired(
    lake: Path,
    *,
    limit: object = "400d",
    dry_run: bool = False,
    **more: Any,  # as for `maintained`
) -> MaintainSummary:
    return maintained(lake, dry_run=dry_run, retention={"records": limit}, **more)


_ORDERS = ("orders", 0)
_AGES = {
    _ORDERS: [_OLD_MS] * 7 + [_OLD_MS + 1000] * 5 + [_NOW_MS] * 8,
    ("orders", 1): [_NOW_MS] * 5,
    ("clicks", 0): [_OLD_MS] * 10,
}
_LONGER = {key: [*times, *[_NOW_MS] * 5] for key, times in _AGES.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk and its lake, made by three runs: two blocks expire whole, and one in part."""
    folder = tmp_path_factory.mktemp("aged")
    for stop in (5, 15, 20):
        ingested(_disk(folder, {key: own[:stop] for key, own in _AGES.items()}), folder / "lake")
    return folder


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def _offsets(
    lake: Path, table: str = "records", column: str = "offset"
) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for row in read_table(lake, table):
        found.setdefault((row["topic"], row["partition"]), []).append(row[column])
    return {key: sorted(own) for key, own in found.items()}


_LEFT = {_ORDERS: [*range(10, 20)], ("orders", 1): [*range(5)]}


def _assert_whole(lake: Path, disk: Path) -> None:
    audit = audited(lake)
    assert (audit.exit_code, kinds(audit)) == (0, set()), audit.problems
    assert not any(check.has_problem for check in checked(disk, lake))
    assert unpublished(lake) == []


def test_records_up_to_the_first_young_batch_go_from_all_tables(lake: Path, made: Path) -> None:
    summary = _expired(lake)
    assert summary.exit_code == 0
    assert _offsets(lake) == _LEFT
    assert _offsets(lake, "batches", "base_offset") == {
        _ORDERS: [10, 15],
        ("orders", 1): [0],
    }
    found = {(e.topic, e.partition): e for e in summary.expired}
    assert {key: (e.start_offset, e.next_offset, e.records) for key, e in found.items()} == {
        _ORDERS: (0, 10, 10),
        ("clicks", 0): (0, 10, 10),
    }
    assert found[_ORDERS].payload_bytes == sum(range(10)) + 20
    assert (found[_ORDERS].oldest, found["clicks", 0].first_kept) == (
        "2020-09-13T12:26:40+00:00",
        None,
    )
    assert found[_ORDERS].newest == "2020-09-13T12:26:41+00:00"
    assert summary.swept == {"batches": 4}
    assert "in other tables expired: 4 rows of batches" in summary.to_text()
    _assert_whole(lake, made / "disk")


def test_sums_of_a_block_that_expires_in_part_are_counted(lake: Path) -> None:
    _expired(lake)
    rows = [
        row
        for row in read_table(lake, "checkpoints")
        if row["kind"] == "expired" and row["topic"] == "orders"
    ]
    parts = {row["upper_bound"]: row for row in rows if row["upper_bound"] is not None}
    assert {name: (row["start_offset"], row["records"]) for name, row in parts.items()} == {
        "generation 1": (0, 5),
        "generation 2": (5, 5),
    }
    assert (parts["generation 2"]["offset_sum"], parts["generation 2"]["value_bytes"]) == (35, 35)
    [whole] = [row for row in rows if row["upper_bound"] is None]
    assert (whole["start_offset"], whole["next_offset"], whole["records"]) == (0, 10, 0)


def test_dry_run_says_the_same_and_changes_nothing(lake: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    planned = _expired(lake, dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()} == before
    assert "orders-0: 10 records of 65 B would expire, offsets [0, 10), the oldest of 2020-09" in (
        planned.to_text()
    )
    done = _expired(lake)
    assert (planned.expired, planned.swept) == (done.expired, done.swept)
    assert planned.swept != {}
    assert _expired(lake).expired == []


def test_nothing_comes_back_by_any_later_run(lake: Path, tmp_path: Path) -> None:
    _expired(lake)
    disk = tmp_path / "disk"
    again = ingested(disk, lake, read={"older_copies": True})
    assert (again.records, again.exit_code) == (0, 0)
    replayed(lake, disk)
    retaken(lake, disk)
    assert _offsets(lake) == _LEFT
    longer = _disk(tmp_path, _LONGER)
    assert ingested(longer, lake, read={"older_copies": True}).exit_code == 0
    assert _offsets(lake) == {
        _ORDERS: [*range(10, 25)],
        ("orders", 1): [*range(10)],
        ("clicks", 0): [*range(10, 15)],
    }
    _assert_whole(lake, longer)


def test_both_engines_remove_the_same(made: Path, tmp_path: Path, engine: Engine) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    _expired(tmp_path / "lake", engine=engine)
    assert _offsets(tmp_path / "lake") == _LEFT
    _assert_whole(tmp_path / "lake", made / "disk")


def test_record_of_the_future_or_without_a_time_holds_back_what_is_above_it(
    tmp_path: Path,
) -> None:
    times = {
        _ORDERS: [_OLD_MS] * 5 + [_FUTURE_MS] + [_OLD_MS] * 9,
        ("orders", 1): [_OLD_MS] * 5 + [-1] + [_OLD_MS] * 9,
    }
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path, times), lake)
    summary = _expired(lake)
    assert _offsets(lake) == {key: [*range(5, 15)] for key in times}
    assert [finding.kind for finding in summary.findings] == [FindingKind.NOTE] * 2
    assert "with a time in the future" in summary.to_text()
    assert "with no time" in summary.to_text()


@pytest.mark.parametrize(
    ("limit", "topics"),
    [
        ({"orders": "400d"}, {"orders"}),
        ({"*": "400d", "click*": "off"}, {"orders"}),
        ({"c*": "9000d", "clicks": "1d"}, {"clicks"}),
        ("9000d", set()),
    ],
    ids=str,
)
def test_limit_of_a_topic_is_that_of_the_longest_glob(
    lake: Path, limit: object, topics: set[str]
) -> None:
    assert {each.topic for each in _expired(lake, limit=limit, dry_run=True).expired} == topics


def test_topic_that_kafka_has_compacted_is_noted(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    batches = [
        record_batch(base, [Record(b"k%d" % (base + at), b"v", _OLD_MS) for at in range(4)])
        for base in (0, 7)
    ]
    disk = write_over(tmp_path / "disk", [Partition("orders", 0, [Segment(0, batches)])])
    (disk / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 11\n")
    ingested(disk, lake)
    note = (
        "orders: Kafka has compacted it, so a key whose only record is too old loses its value,"
        " also in latest state. To keep it: retention.records.orders=off"
    )
    assert _expired(lake, dry_run=True).notes == [note]
    assert f"note: {note}" in _expired(lake).to_text()
    assert _expired(lake).notes == []


def test_latest_state_loses_keys_whose_records_have_expired_with_its_next_run(lake: Path) -> None:
    updated(lake, "orders", "clicks")
    before = state(lake, "clicks")
    _expired(lake)
    assert state(lake, "clicks") == before != []
    audit = audited(lake)
    assert (audit.exit_code, audit.latest is not None and len(audit.latest.notes)) == (0, 2)
    updated(lake)
    assert state(lake, "clicks") == []
    assert state(lake, "orders") == expected(lake, "orders")
    audit = audited(lake)
    assert (audit.exit_code, audit.latest is not None and len(audit.latest.notes)) == (0, 0)


def test_only_selected_topics_expire(lake: Path) -> None:
    found = _expired(lake, dry_run=True, select={"topics": ["clicks"]})
    assert {each.topic for each in found.expired} == {"clicks"}


_STEPS = ["redo", "records", "gaps", "checkpoints", "cleaned", "swept batches"]


@pytest.mark.parametrize("step", _STEPS)
def test_maintenance_killed_after_any_step_is_completed_by_the_next(
    lake: Path, made: Path, step: str
) -> None:
    with pytest.raises(Died):
        _expired(lake, after=dying(step))
    _expired(lake)
    assert _offsets(lake) == _LEFT
    _assert_whole(lake, made / "disk")


def test_audit_names_tables_that_are_not_swept(lake: Path, made: Path) -> None:
    with pytest.raises(Died):
        _expired(lake, after=dying("cleaned"))
    audit = audited(lake)
    assert (audit.exit_code, kinds(audit)) == (3, {"not_swept"})
    assert ingested(made / "disk", lake).records == 0
    [row] = viewed(
        lake,
        "SELECT covered, records, in_batches, expired FROM completeness WHERE topic = 'clicks'",
    )
    assert dict(row) == {"covered": 10, "records": 0, "in_batches": 0, "expired": 10}


def test_ingest_beside_it_is_committed_too(lake: Path, tmp_path: Path) -> None:
    longer = _disk(tmp_path, _LONGER)
    once = iter([True])

    def ingest(step: str) -> None:
        if step == "redo" and next(once, False):
            ingested(longer, lake)

    summary = _expired(lake, after=ingest)
    assert summary.exit_code == 0
    assert _offsets(lake) == {
        _ORDERS: [*range(10, 25)],
        ("orders", 1): [*range(10)],
        ("clicks", 0): [*range(10, 15)],
    }
    _assert_whole(lake, longer)


def test_later_expiries_add_to_earlier_ones(lake: Path, made: Path) -> None:
    _expired(lake, limit={"clicks": "400d"})
    maintained(lake)
    erased_at(lake, "orders", 0, [3, 12])
    _expired(lake)
    _expired(lake, limit="1d")
    assert _offsets(lake)[_ORDERS] == [10, 11, *range(13, 20)]
    _assert_whole(lake, made / "disk")


def test_lake_whose_rows_are_gone_is_left_alone(lake: Path) -> None:
    rows = [row for row in read_table(lake, "records") if row["offset"] != 3]
    falsified(lake, "records", lambda _: rows, operation="DELETE")
    summary = _expired(lake)
    assert summary.exit_code == 3
    assert {*summary.findings.reasons(FindingKind.LEFT_OUT)} == {"clicks", "orders"}


_DISKS = [
    ("01_v0_codecs", "stopped"),
    ("02_v1_codecs", "stopped"),
    ("05_compacted", "after"),
    ("06_transactions", "live"),
    ("07_delete_records", "stopped"),
    ("08_replicas", "diverged"),
    ("10_crash", "killed"),
    ("11_kraft", "stopped"),
    ("13_legacy_in_4x", "before"),
]


def _lost_in_gaps(audit: LakeAudit) -> int:
    """Offsets in gaps that are lost, or were when they expired."""
    lost = sum(
        gaps.offsets
        for partition in audit.partitions
        for cause, gaps in partition.gaps.items()
        if cause in LOSS_OF_GAP
    )
    return lost + audit.recovery.no_loss.get(NoLoss.EXPIRED_LOSS, 0)


@pytest.mark.parametrize(
    ("scenario", "copy", "keeps_half"),
    cases(
        [(*disk, keeps_half) for disk in _DISKS for keeps_half in (True, False)],
        # Half of a log goes at a place of its own on each disk, a whole one alike on all.
        telling={*((*_DISKS[at], True) for at in (2, 3, 5)), (*_DISKS[5], False)},
    ),
)
def test_logs_of_real_brokers_add_up_when_half_of_them_has_expired(
    tmp_path: Path, scenario: str, copy: str, *, keeps_half: bool
) -> None:
    disks, lake = broker_disks.unpacked(scenario) / "disks" / copy, tmp_path / "lake"
    everything = {"internal_topics": True}
    ingested(disks, lake, select=everything)
    before, offsets = audited(lake), _offsets(lake)
    is_different = [check.has_problem for check in checked(disks, lake)]
    times = (row["timestamp_ms"] for row in read_table(lake, "records"))
    ages = sorted(time_ms for time_ms in times if time_ms is not None)
    middle_ms = ages[len(ages) // 2] if keeps_half and ages else _NOW_MS
    limit = f"{max(1, int(time.time() - middle_ms / 1000))}s"
    summary = _expired(lake, limit={"*": limit, "_*": limit})
    assert summary.left_out == {}
    after = audited(lake)
    assert (after.problem_count, kinds(after)) == (before.problem_count, kinds(before))
    assert _lost_in_gaps(after) == _lost_in_gaps(before)
    assert [check.has_problem for check in checked(disks, lake)] == is_different
    left = _offsets(lake)
    starts = {(each.topic, each.partition): each.next_offset for each in summary.expired}
    assert bool(starts) == (scenario != "01_v0_codecs")  # whose records have no time
    assert left == {
        key: kept
        for key, own in offsets.items()
        if (kept := [offset for offset in own if offset >= starts.get(key, 0)])
    }
    for table in ("consumer_offsets", "transaction_state"):
        for row in read_table(lake, table):
            start = starts.get((f"__{table}", row["record_partition"]), 0)
            assert row["record_offset"] >= start
    again = ingested(disks, lake, select=everything, read={"older_copies": True})
    assert again.records == 0
    assert _offsets(lake) == left


def test_what_was_erased_and_expired_is_proved(lake: Path) -> None:
    erased_at(lake, "orders", 0, [7, 13, 14])
    _expired(lake)
    erased_at(lake, "orders", 0, [15, 18])
    audit = audited(lake)
    assert (audit.exit_code, kinds(audit)) == (0, set())
    assert len(viewed(lake, "SELECT * FROM current_gaps WHERE cause = 'erased'")) == 3


def test_partition_of_which_all_is_removed_is_named_so(lake: Path) -> None:
    _expired(lake)
    recovery = audited(lake).recovery
    [clicks] = [each for each in recovery.partitions if each.name == "clicks-0"]
    assert clicks.why_nothing == "expired or erased"
    assert any("no loss: 20 offsets expired" in line for line in recovery.lines())
