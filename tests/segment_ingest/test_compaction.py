"""A log that is compacted between two runs, or while one reads it, is taken on and taken once."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support import broker_disks
from support.accounts import imbalances_of
from support.cases import cases, every
from support.encoder import EncodedBatch, Partition, Record, Segment, record_batch, write_checkpoint
from support.lakes import ingested, ingested_in_pieces, oracle_record, read_table
from support.made_logs import write_over
from support.meanwhile import Meanwhile, once
from support.oracle import Isolation, OracleRecord, expected_records, partition_dump
from support.taken import gaps_taken, is_nothing_new, ledger, offsets_taken

_COMMITTED = Isolation.READ_COMMITTED
_CLEANER_FILE, _ID_FILE = "cleaner-offset-checkpoint", "partition.metadata"
_DISKS = [
    ("05_compacted", "before", "after", [], 0),
    ("05_compacted", "after", "before", [], 1),
    ("05_compacted", "before", "after", [_ID_FILE, _CLEANER_FILE], 2),
    ("05_compacted", "after", "before", [_ID_FILE], 3),
    ("13_legacy_in_4x", "before", "after", [_ID_FILE], 4),
    ("13_legacy_in_4x", "after", "before", [_ID_FILE], 5),
]

Key = tuple[str, int]

# The last batch that was ingested is a wrapper without holes, and so is the rewritten one: without
# the cleaner's checkpoint nothing says that they are of one log.
_REFUSED_WITHOUT_CLEANER_FILE = {("cmp-v1-gzip", 0), ("cmp-v1-lat-snappy", 0)}


def _disk(scenario: str, copy: str, data: Path, lost: Sequence[str] = ()) -> dict[Key, int]:
    """Put a copy of a disk in place of what is there; the high watermarks of its partitions."""
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(broker_disks.log_dir(scenario, copy), data)
    for path in [path for name in lost for path in data.rglob(name)]:
        path.unlink()
    listed = broker_disks.partitions(scenario, copy)
    marks = {(item.topic, item.partition): item.high_watermark for item in listed}
    return {key: mark for key, mark in marks.items() if not key[0].startswith("__")}


def _cut(scenario: str, key: Key, random: Random) -> int:
    """The end of a batch that the cleaner has left: a high watermark that both can have had."""
    dumps = [partition_dump(scenario, copy, *key) for copy in ("before", "after")]
    before, after = ({batch.last_offset + 1 for batch in dump.batches} for dump in dumps)
    ends = sorted(before & after)
    return random.choice(ends[len(ends) // 4 : -1] or [0])


def _found(lake: Path) -> dict[Key, list[OracleRecord]]:
    found: dict[Key, list[OracleRecord]] = {}
    for row in read_table(lake, "records"):
        found.setdefault((row["topic"], row["partition"]), []).append(oracle_record(row))
    return {key: sorted(own, key=lambda record: record.offset) for key, own in found.items()}


def _covered(lake: Path) -> dict[Key, int]:
    covered: dict[Key, int] = {}
    for row in sorted(ledger(lake), key=lambda row: row["start_offset"]):
        key = row["topic"], row["partition"]
        assert row["start_offset"] == covered.get(key, 0)
        covered[key] = row["next_offset"]
    return covered


def _assert_sound(summary: IngestSummary) -> None:
    """Without the cleaner's checkpoint nothing says why some offsets are missing."""
    assert summary.exit_code == (3 if summary.counts.missing_offsets else 0)
    assert (summary.left_out, summary.counts.quarantined) == ({}, 0)


@pytest.mark.parametrize(
    ("scenario", "first", "second", "lost", "seed"), cases(_DISKS, telling=every(4, _DISKS))
)
def test_a_log_that_is_cleaned_between_two_runs_is_taken_on(
    scenario: str, first: str, second: str, lost: list[str], seed: int, data: Path, lake: Path
) -> None:
    """Or was cleaned in the first run and not yet on the disk, of another broker, that is next."""
    marks = _disk(scenario, first, data, lost)
    random = Random(seed)
    cuts = {key: _cut(scenario, key, random) for key in marks}
    write_checkpoint(data / "replication-offset-checkpoint", cuts)
    ingested(data, lake, isolation=_COMMITTED)
    middle = {key: covered for key, covered in _covered(lake).items() if covered}
    assert len(middle) > len(marks) // 2

    ends = _disk(scenario, second, data, lost)
    summary = ingested(data, lake, isolation=_COMMITTED)
    _assert_sound(summary)
    refused = _REFUSED_WITHOUT_CLEANER_FILE if _CLEANER_FILE in lost else set()
    assert {*summary.findings.reasons(FindingKind.REFUSED)} == {f"{t}-{p}" for t, p in refused}
    assert not [note for note in summary.notes if "election" in note]
    assert _covered(lake) == ends | {key: middle[key] for key in refused}
    found = _found(lake)
    for key in ends:
        old = expected_records(scenario, first, *key, _COMMITTED)
        new = expected_records(scenario, second, *key, _COMMITTED)
        start = middle.get(key, 0)
        expected = [record for record in old if record.offset < start]
        expected += [each for each in new if each.offset >= start and key not in refused]
        assert found.get(key, []) == expected, key
    causes = {row["cause"] for row in read_table(lake, "gaps")}
    assert causes <= ({"compacted", "missing"} if _CLEANER_FILE in lost else {"compacted"})
    assert imbalances_of(lake) == []
    again = ingested(data, lake, isolation=_COMMITTED)
    assert (again.records, is_nothing_new(again)) == (0, not refused)


def _cleaned(data: Path) -> None:
    _disk("05_compacted", "after", data)


@pytest.mark.parametrize("after_tasks", cases([0, 3, 7], telling=[3]))
def test_a_log_that_is_cleaned_while_it_is_read_has_the_records_of_one_of_the_two(
    after_tasks: int, data: Path, lake: Path
) -> None:
    _disk("05_compacted", "before", data)
    engine = Meanwhile(once(partial(_cleaned, data)), after_tasks=after_tasks)
    summary = ingested_in_pieces(
        data, lake, _COMMITTED, split_bytes=8192, wave_bytes=1 << 30, engine=engine
    )
    assert summary.counts.quarantined == 0
    assert imbalances_of(lake) == []
    _check_either(lake)
    again = ingested_in_pieces(data, lake, _COMMITTED, split_bytes=8192, wave_bytes=1 << 30)
    assert (again.exit_code, again.counts.quarantined) == (0, 0)
    ends = {key: covered for key, covered in _covered(lake).items() if key[0].startswith("cmp-")}
    assert ends == {
        (partition.topic, partition.partition): partition.high_watermark
        for partition in broker_disks.partitions("05_compacted", "after")
    }
    _check_either(lake)
    assert imbalances_of(lake) == []


def _check_either(lake: Path) -> None:
    """Each record is one that a consumer got, and what both got below the coverage is there."""
    covered = _covered(lake)
    for key, found in _found(lake).items():
        if key[0].startswith("__"):
            continue
        before = expected_records("05_compacted", "before", *key, _COMMITTED)
        after = expected_records("05_compacted", "after", *key, _COMMITTED)
        assert len({record.offset for record in found}) == len(found), key
        assert set(found) <= {*before, *after}, key
        needed = {record for record in after if record.offset < covered[key]}
        assert needed <= set(found), key


def _batch(start: int, stop: int, size_bytes: int = 10) -> EncodedBatch:
    records = [Record(b"k", bytes(size_bytes), 1_700_000_000_000) for _ in range(start, stop)]
    return record_batch(start, records)


_LISTED = [_batch(start, start + 5) for start in range(0, 50, 5)]
# What the cleaner leaves of the first segment, and the high watermark that was listed.
_CLEANED = {
    "a batch reaches across what was listed": (
        [_batch(0, 5), _batch(10, 15), _batch(45, 50, 400)],
        50,
    ),
    "later offsets lie where others were": ([_batch(0, 5), _batch(60, 65)], 30),
    "all that was listed is there": ([_batch(0, 5), _batch(45, 50), _batch(60, 65, 400)], 50),
}


@pytest.mark.parametrize("has_checkpoint", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("what", _CLEANED)
def test_a_last_segment_that_grew_and_was_cleaned_before_it_was_read_loses_nothing(
    what: str, has_checkpoint: bool, data: Path, lake: Path
) -> None:
    """All happens in one run: its size tells nothing, for a last segment may grow."""
    kept, high_watermark = _CLEANED[what]
    cleaned = [*kept, _batch(70, 75, 400)]
    assert sum(len(each.data) for each in cleaned) > sum(len(each.data) for each in _LISTED)

    def grow_and_clean() -> None:
        active = Segment(100, [_batch(100, 105)])
        write_over(data, [Partition("orders", 0, [Segment(0, cleaned), active])])
        if has_checkpoint:
            write_checkpoint(data / "cleaner-offset-checkpoint", {("orders", 0): 100})

    write_over(data, [Partition("orders", 0, [Segment(0, _LISTED)], high_watermark)])
    summary = ingested(data, lake, engine=Meanwhile(once(grow_and_clean)))
    assert summary.counts.quarantined == 0
    if "all" in what:
        assert offsets_taken(lake) == [*range(5), *range(45, 50)]
    elif not has_checkpoint:
        assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
        assert "changed" in summary.left_out["orders-0"]
        assert offsets_taken(lake) == []
    offsets = [offset for each in cleaned for offset in range(each.base_offset, each.next_offset)]
    if has_checkpoint and "all" not in what:
        assert offsets_taken(lake) == [*offsets, *range(100, 105)]
    again = ingested(data, lake)
    _assert_sound(again)
    assert offsets_taken(lake) == [*offsets, *range(100, 105)]
    assert imbalances_of(lake) == []


@pytest.mark.parametrize(("cleaner_offset", "cause"), [(100, "compacted"), (40, "missing")])
def test_a_range_without_a_batch_is_compacted_where_the_cleaner_was_above_it(
    cleaner_offset: int, cause: str, data: Path, lake: Path
) -> None:
    segments = [Segment(0, [_batch(60, 65)]), Segment(100, [_batch(100, 105)])]
    write_over(data, [Partition("orders", 0, segments, high_watermark=50)])
    write_checkpoint(data / "cleaner-offset-checkpoint", {("orders", 0): cleaner_offset})
    ingested(data, lake)
    assert gaps_taken(lake) == [(0, 50, cause)]
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("is_first_cleaned", [True, False])
def test_a_hole_beside_a_segment_with_traces_of_the_cleaner_is_compacted(
    is_first_cleaned: bool, data: Path, lake: Path
) -> None:
    def segment(start: int, *, is_cleaned: bool) -> Segment:
        batch = _batch(start, start + 5)
        if is_cleaned:
            records = [Record(b"k", b"", 1_700_000_000_000, offset=start + n) for n in (0, 1, 2, 4)]
            batch = record_batch(start, records)
        return Segment(start, [batch])

    segments = [
        segment(0, is_cleaned=is_first_cleaned),
        segment(20, is_cleaned=not is_first_cleaned),
    ]
    write_over(data, [Partition("orders", 0, segments)])
    ingested(data, lake)
    assert gaps_taken(lake) == [(5, 20, "compacted")]
    assert imbalances_of(lake) == []


def test_what_the_cleaner_took_is_not_brought_back_from_a_copy_that_it_has_not_reached(
    data: Path, lake: Path
) -> None:
    whole = [_batch(start, start + 5) for start in range(0, 25, 5)]
    write_over(data, [Partition("orders", 0, [Segment(0, [whole[0], whole[-1]])])])
    write_checkpoint(data / "cleaner-offset-checkpoint", {("orders", 0): 25})
    ingested(data, lake)
    assert gaps_taken(lake) == [(5, 20, "compacted")]
    other = data.with_name("other")
    write_over(other, [Partition("orders", 0, [Segment(0, whole)])], broker_id=1)
    assert ingested(other, lake).counts.repaired_gaps == 0
    assert offsets_taken(lake) == [*range(5), *range(20, 25)]
