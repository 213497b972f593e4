"""Runs after one another take what is new, once, whatever happened to the disks between them."""

import itertools
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.segment_ingest.errors import IsolationConflictError
from pipelines.segment_ingest.summary import IngestSummary
from support import broker_disks
from support.accounts import imbalances_of
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    topic_id_text,
)
from support.lakes import Row, content, ingested, read_table, versions
from support.made_logs import (
    FIRST_MS,
    STEP_MS,
    TOPIC_IDS,
    Made,
    made_batches,
    made_records,
    made_segments,
    make_log_dir,
    write_over,
)

_ORDERS = ("orders", 0)
_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


def _found(lake: Path) -> list[Made]:
    rows = read_table(lake, "records")
    return sorted(Made(row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def _offsets(lake: Path, topic: str = "orders") -> list[int]:
    return sorted(row["offset"] for row in read_table(lake, "records") if row["topic"] == topic)


def _gaps(lake: Path) -> list[tuple[int, int, str]]:
    rows = read_table(lake, "gaps")
    return sorted((row["start_offset"], row["next_offset"], row["cause"]) for row in rows)


def _ranges(lake: Path) -> list[tuple[int, int]]:
    return sorted((row["start_offset"], row["next_offset"]) for row in _ledger(lake))


def _ledger(lake: Path) -> list[Row]:
    return read_table(lake, "checkpoints")


def _is_nothing_new(summary: IngestSummary) -> bool:
    return (summary.exit_code, summary.tasks, summary.topics, summary.records) == (0, 0, [], 0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a log dir is made and made again."""
    return tmp_path / "data"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def test_a_growing_log_is_taken_piece_by_piece(data: Path, lake: Path) -> None:
    disks: list[dict[tuple[str, int], list[int]]] = [
        {_ORDERS: [0, 10]},
        {_ORDERS: [0, 10, 25]},
        {_ORDERS: [0, 10, 30], ("payments", 0): [0, 4]},
        {_ORDERS: [0, 10, 30], ("payments", 0): [0, 4], ("orders", 1): [0, 7]},
        {_ORDERS: [30, 45], ("payments", 0): [0, 4], ("orders", 1): [0, 7]},
    ]
    everything: dict[tuple[str, int], range] = {}
    for edges in disks:
        ends = {key: range(stops[-1]) for key, stops in edges.items()}
        new = sum(len(end) - len(everything.get(key, ())) for key, end in ends.items())
        everything |= ends
        make_log_dir(data, edges)
        assert ingested(data, lake).records == new
        assert _found(lake) == made_records(everything)
        before = versions(lake)
        assert _is_nothing_new(ingested(data, lake))
        assert versions(lake) == before
        assert imbalances_of(lake) == []
    assert _gaps(lake) == []


def test_each_run_covers_what_follows_the_range_before(data: Path, lake: Path) -> None:
    for end in (5, 15, 25):
        make_log_dir(data, {_ORDERS: [0, end]})
        ingested(data, lake)
    assert _ranges(lake) == [(0, 5), (5, 15), (15, 25)]
    assert [row["generation"] for row in sorted(_ledger(lake), key=_start)] == [1, 2, 3]
    assert len({row["attempt_id"] for row in _ledger(lake)}) == 3


def _start(row: Row) -> int:
    return int(row["start_offset"])


def test_a_high_watermark_inside_a_batch_leaves_the_batch_for_later(data: Path, lake: Path) -> None:
    taken_before = 0
    for high_watermark, taken in ((3, 0), (7, 5), (9, 5), (10, 10), (12, 10), (20, 20)):
        make_log_dir(data, {_ORDERS: [0, 20]}, high_watermarks={_ORDERS: high_watermark})
        summary = ingested(data, lake)
        assert _offsets(lake) == list(range(taken))
        left = [each.from_offset for each in summary.left_for_later]
        assert left == ([high_watermark] if high_watermark < 20 else [])
        assert bool(summary.topics) == (taken > taken_before)
        taken_before = taken
    assert imbalances_of(lake) == []


def test_old_segments_that_go_leave_what_was_taken(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    ingested(data, lake)
    make_log_dir(data, {_ORDERS: [20, 30]})
    assert _is_nothing_new(ingested(data, lake))
    assert _offsets(lake) == list(range(30))


def test_segments_that_went_before_a_run_came_are_a_gap_below_the_log_start(
    data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake)
    make_log_dir(data, {_ORDERS: [25, 40]})
    ingested(data, lake)
    assert _offsets(lake) == [*range(10), *range(25, 40)]
    assert _gaps(lake) == [(10, 25, "deleted")]
    assert _ranges(lake) == [(0, 10), (10, 40)]
    assert imbalances_of(lake) == []


def test_a_log_start_inside_a_batch_cuts_it_record_by_record(data: Path, lake: Path) -> None:
    segments = made_segments("orders", 0, [0, 20])
    write_over(data, [Partition("orders", 0, segments, log_start_offset=7)])
    ingested(data, lake)
    assert _offsets(lake) == list(range(7, 20))
    assert imbalances_of(lake) == []
    (row,) = _ledger(lake)
    assert (row["start_offset"], row["next_offset"], row["log_start_offset"]) == (0, 20, 7)
    write_over(data, [Partition("orders", 0, segments, log_start_offset=13)])
    assert _is_nothing_new(ingested(data, lake))


def test_a_log_start_that_moves_beyond_what_was_taken_is_a_gap(data: Path, lake: Path) -> None:
    write_over(data, [Partition("orders", 0, made_segments("orders", 0, [0, 10]))])
    ingested(data, lake)
    segments = made_segments("orders", 0, [0, 30])
    write_over(data, [Partition("orders", 0, segments, log_start_offset=18)])
    ingested(data, lake)
    assert _offsets(lake) == [*range(10), *range(18, 30)]
    assert imbalances_of(lake) == []


def _transaction(is_commit: bool) -> list[EncodedBatch]:
    """Plain records, five of a transaction, plain ones of another producer, then the end."""
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    inside = record_batch(5, [Record(b"t", b"%d" % n, FIRST_MS) for n in range(5, 10)], header)
    kind = ControlType.COMMIT if is_commit else ControlType.ABORT
    return [
        *made_batches("orders", 0, range(5)),
        inside,
        *made_batches("orders", 0, range(10, 15)),
        end_marker(15, kind, producer_id=7),
        *made_batches("orders", 0, range(16, 21)),
    ]


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
def test_read_committed_waits_for_the_end_of_a_transaction(
    is_commit: bool, data: Path, lake: Path
) -> None:
    batches = _transaction(is_commit)
    write_over(data, [Partition("orders", 0, [Segment(0, batches[:3])])])
    summary = ingested(data, lake, isolation=_COMMITTED)
    assert _offsets(lake) == list(range(5))
    (left,) = summary.left_for_later
    assert left.from_offset == 5
    assert "producer 7 has a transaction open since offset 5" in left.reason
    assert _is_nothing_new(ingested(data, lake, isolation=_COMMITTED))

    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    assert ingested(data, lake, isolation=_COMMITTED).left_for_later == []
    given = range(5, 10) if is_commit else ()
    assert _offsets(lake) == [*range(5), *given, *range(10, 15), *range(16, 21)]
    states = {row["base_offset"]: row["state"] for row in read_table(lake, "batches")}
    assert states[5] == ("decoded" if is_commit else "aborted")
    assert states[15] == "control"
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
def test_read_uncommitted_takes_open_rows_once_and_later_the_marker_that_ends_them(
    is_commit: bool, data: Path, lake: Path
) -> None:
    batches = _transaction(is_commit)
    write_over(data, [Partition("orders", 0, [Segment(0, batches[:3])])])
    assert ingested(data, lake).open_rows == 5
    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    assert ingested(data, lake).open_rows == 0
    assert _offsets(lake) == [*range(15), *range(16, 21)]
    states = {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}
    assert {states[offset] for offset in range(5, 10)} == {"open"}
    markers = [row for row in read_table(lake, "batches") if row["state"] == "control"]
    assert [(row["base_offset"], row["control_type"], row["producer_id"]) for row in markers] == [
        (15, "commit" if is_commit else "abort", 7)
    ]
    assert imbalances_of(lake) == []


def _at(offset: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=FIRST_MS + offset * STEP_MS)
    return moment.isoformat()


_WINDOWS = (
    {"to_timestamp": _at(13)},
    {"from_timestamp": _at(13), "to_timestamp": _at(26)},
    {"from_timestamp": _at(26)},
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_time_windows_tile_in_any_order(order: Sequence[int], data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 40], ("orders", 1): [0, 5]})
    for number in order:
        ingested(data, lake, select=_WINDOWS[number])
        assert _is_nothing_new(ingested(data, lake, select=_WINDOWS[number]))
    everything = {_ORDERS: range(40), ("payments", 0): range(40), ("orders", 1): range(5)}
    assert _found(lake) == made_records(everything)
    assert imbalances_of(lake) == []
    assert _is_nothing_new(ingested(data, lake))


def test_a_window_takes_whole_batches_from_the_first_that_reaches_it(
    data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40]})
    ingested(data, lake, select=_WINDOWS[1])
    assert _offsets(lake) == list(range(10, 25))
    assert _ranges(lake) == [(10, 25)]


def test_a_full_run_takes_what_is_left_on_both_sides_of_a_window(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40]})
    ingested(data, lake, select=_WINDOWS[1])
    assert ingested(data, lake).records == 25
    assert _ranges(lake) == [(0, 10), (10, 25), (25, 40)]
    assert _offsets(lake) == list(range(40))
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("known", [_COMMITTED, _UNCOMMITTED])
def test_another_isolation_for_a_topic_that_was_taken_is_refused(
    known: str, data: Path, lake: Path
) -> None:
    asked = _UNCOMMITTED if known == _COMMITTED else _COMMITTED
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake, isolation=known)
    before = versions(lake)
    make_log_dir(data, {_ORDERS: [0, 20], ("payments", 0): [0, 5]})
    with pytest.raises(IsolationConflictError, match="topic orders") as caught:
        ingested(data, lake, isolation=asked)
    assert (caught.value.known, caught.value.asked) == (known, asked)
    assert versions(lake) == before
    summary = ingested(data, lake, isolation=asked, select={"topics": ["payments"]})
    assert summary.topics == ["payments"]


def test_topics_are_chosen_by_globs_and_the_others_taken_later(data: Path, lake: Path) -> None:
    topics = ("orders", "orders.eu", "payments", "Orders", "__consumer_offsets")
    make_log_dir(data, {(topic, 0): [0, 5] for topic in topics})

    def topics_after(*globs: str, internal: bool = False) -> list[str]:
        ingested(data, lake, select={"topics": list(globs), "internal_topics": internal})
        return sorted({row["topic"] for row in read_table(lake, "records")})

    assert topics_after("nothing*") == []
    assert topics_after("orders*", "!*.eu") == ["orders"]
    assert topics_after("?ayments") == ["orders", "payments"]
    assert topics_after() == ["Orders", "orders", "orders.eu", "payments"]
    assert topics_after(internal=True) == sorted(topics)
    assert imbalances_of(lake) == []


def test_a_dry_run_plans_and_writes_nothing(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake, dry_run=True)
    assert not lake.exists()
    ingested(data, lake)
    before = versions(lake)
    make_log_dir(data, {_ORDERS: [0, 25]})
    assert ingested(data, lake, dry_run=True).planned_offsets == 15
    assert versions(lake) == before


def _partition(topic_id: uuid.UUID | None, end: int, **other: str) -> Partition:
    segments = made_segments("orders", 0, [0, end])
    return Partition("orders", 0, segments, topic_id=topic_id, **other)  # type: ignore[arg-type]  # texts only


def test_a_topic_made_again_has_a_coverage_of_its_own(data: Path, lake: Path) -> None:
    first, second = TOPIC_IDS["orders"], TOPIC_IDS["orders again"]
    write_over(data, [_partition(first, 20)])
    ingested(data, lake)
    write_over(data, [_partition(second, 10)])
    assert ingested(data, lake).records == 10
    write_over(data, [_partition(second, 15)])
    assert ingested(data, lake).records == 5
    rows = read_table(lake, "records")
    by_id = {
        topic_id: sorted(
            row["offset"] for row in rows if row["topic_id"] == topic_id_text(topic_id)
        )
        for topic_id in (first, second)
    }
    assert by_id == {first: list(range(20)), second: list(range(15))}
    assert len(rows) == 35
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("ids", [(None, "orders"), ("orders", None), (None, None)], ids=str)
def test_a_topic_id_that_was_unknown_or_is_no_more_is_the_same_topic(
    ids: tuple[str | None, str | None], data: Path, lake: Path
) -> None:
    first, second = (None if name is None else TOPIC_IDS[name] for name in ids)
    write_over(data, [_partition(first, 10)])
    ingested(data, lake)
    write_over(data, [_partition(second, 10)])
    assert _is_nothing_new(ingested(data, lake))
    write_over(data, [_partition(second, 25)])
    assert ingested(data, lake).records == 15
    write_over(data, [_partition(first, 30)])
    assert ingested(data, lake).records == 5
    assert _offsets(lake) == list(range(30))
    assert imbalances_of(lake) == []


def test_a_folder_without_an_id_has_that_of_the_topics_other_partitions(
    data: Path, lake: Path
) -> None:
    other = Partition("orders", 1, made_segments("orders", 1, [0, 5]))
    write_over(data, [_partition(TOPIC_IDS["orders"], 10), other])
    ingested(data, lake)
    assert {row["topic_id"] for row in read_table(lake, "records")} == {
        topic_id_text(TOPIC_IDS["orders"])
    }


@pytest.mark.parametrize("suffix", ["delete", "stray"])
def test_folders_marked_for_deletion_are_skipped_and_named(
    suffix: str, data: Path, lake: Path
) -> None:
    dropped = Partition(
        "payments",
        0,
        made_segments("payments", 0, [0, 5]),
        folder_suffix=f".{uuid.uuid4().hex}-{suffix}",
    )
    write_over(data, [_partition(None, 10), dropped])
    summary = ingested(data, lake)
    assert summary.topics == ["orders"]
    (note,) = (note for note in summary.notes if "payments-0" in note)
    assert "given up" in note


def test_a_future_folder_is_read_only_where_it_is_alone(data: Path, lake: Path) -> None:
    suffix = f".{uuid.uuid4().hex}-future"
    write_over(data, [_partition(None, 10), _partition(None, 5, folder_suffix=suffix)])
    ingested(data, lake)
    assert _offsets(lake) == list(range(10))
    assert {row["segment"].split("/")[0] for row in read_table(lake, "batches")} == {"orders-0"}

    alone = data.with_name("alone")
    write_over(alone, [_partition(None, 5, folder_suffix=suffix)])
    other = lake.with_name("other_lake")
    marks = alone / "replication-offset-checkpoint"
    marks.write_text("0\n1\norders 0 5\n")
    ingested(alone, other)
    assert _offsets(other) == list(range(5))


def test_a_finished_swap_stands_for_the_segments_it_replaces(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    folder = data / "orders-0"
    cleaned = made_batches("orders", 0, range(5)) + made_batches("orders", 0, range(15, 20))
    (folder / f"{0:020d}.log.swap").write_bytes(b"".join(batch.data for batch in cleaned))
    ingested(data, lake)
    assert _offsets(lake) == [*range(5), *range(15, 30)]
    assert [(start, stop) for start, stop, _ in _gaps(lake)] == [(5, 15)]
    assert imbalances_of(lake) == []


def test_a_swap_of_what_was_taken_before_brings_nothing(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    ingested(data, lake)
    folder = data / "orders-0"
    cleaned = made_batches("orders", 0, range(5)) + made_batches("orders", 0, range(15, 20))
    (folder / f"{0:020d}.log.swap").write_bytes(b"".join(batch.data for batch in cleaned))
    assert _is_nothing_new(ingested(data, lake))
    assert _offsets(lake) == list(range(30))


@pytest.mark.parametrize("given", ["parent", "each", "both", "partitions"])
def test_several_log_dirs_are_found_and_none_is_taken_twice(
    given: str, data: Path, lake: Path
) -> None:
    make_log_dir(data / "d0", {_ORDERS: [0, 10]})
    make_log_dir(data / "deep" / "d1", {("orders", 1): [0, 10], ("payments", 0): [0, 10]})
    make_log_dir(data / "d2", {})
    each = [data / "d0", data / "deep" / "d1", data / "d2"]
    folders = [each[0] / "orders-0", each[1] / "orders-1", each[1] / "payments-0"]
    sources = {"parent": [data], "each": each, "both": [data, *each], "partitions": folders}
    assert ingested(sources[given], lake).records == 30
    assert _is_nothing_new(ingested(data, lake))
    everything = {_ORDERS: range(10), ("orders", 1): range(10), ("payments", 0): range(10)}
    assert _found(lake) == made_records(everything)
    assert imbalances_of(lake) == []


def _broker(data: Path, broker_id: int, end: int, epoch: int, high_watermark: int) -> Path:
    partition = Partition(
        "orders",
        0,
        made_segments("orders", 0, [0, end]),
        high_watermark=high_watermark,
        leader_epochs=[(epoch, 0)],
    )
    return write_over(data / f"broker{broker_id}", [partition], broker_id=broker_id)


def test_one_replica_is_read_and_its_bound_is_the_highest_of_its_epoch(
    data: Path, lake: Path
) -> None:
    _broker(data, 1, end=30, epoch=4, high_watermark=15)
    _broker(data, 2, end=25, epoch=4, high_watermark=20)
    _broker(data, 3, end=50, epoch=3, high_watermark=50)
    summary = ingested(data, lake)
    assert _offsets(lake) == list(range(20))
    assert {row["broker_id"] for row in read_table(lake, "batches")} == {1}
    assert [note for note in summary.notes if note.startswith("2 further replicas")]
    assert imbalances_of(lake) == []


def test_runs_on_different_replicas_continue_one_another(data: Path, lake: Path) -> None:
    one = _broker(data, 1, end=30, epoch=4, high_watermark=30)
    ingested(one, lake)
    lagging = _broker(data, 2, end=25, epoch=4, high_watermark=20)
    assert _is_nothing_new(ingested(lagging, lake))
    leading = _broker(data, 3, end=40, epoch=5, high_watermark=40)
    assert ingested(leading, lake).records == 10
    assert ingested(data, lake).records == 0
    assert _offsets(lake) == list(range(40))
    assert imbalances_of(lake) == []


_CUT_DISKS = [
    ("04_upgraded", "stopped", _UNCOMMITTED),
    ("05_compacted", "before", _COMMITTED),
    ("06_transactions", "stopped", _COMMITTED),
    ("07_delete_records", "stopped", _UNCOMMITTED),
    ("13_legacy_in_4x", "before", _UNCOMMITTED),
]


@pytest.mark.parametrize(("scenario", "copy", "isolation"), _CUT_DISKS)
def test_a_real_disk_that_grows_segment_by_segment_gives_the_tables_of_the_whole(
    scenario: str, copy: str, isolation: str, data: Path, lake: Path, tmp_path: Path
) -> None:
    whole = broker_disks.log_dir(scenario, copy)
    ingested(whole, tmp_path / "at_once", isolation=isolation)
    records = 0
    for segments in (1, 2, 4):
        _cut(whole, data, segments)
        records += ingested(data, lake, isolation=isolation).records
    assert ingested(whole, lake, isolation=isolation).exit_code == 0
    assert records
    for table in ("records", "batches", "gaps", "quarantine"):
        assert content(lake, table) == content(tmp_path / "at_once", table), table
    assert imbalances_of(lake) == []


def _cut(whole: Path, data: Path, segments: int) -> None:
    """A copy of a log dir as it was when each log had so many segments."""
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(whole, data)
    ends: dict[str, int] = {}
    for folder in data.iterdir():
        bases = sorted(int(path.stem) for path in folder.glob("*.log")) if folder.is_dir() else []
        for path in folder.iterdir() if len(bases) > segments else []:
            base = re.match(r"(\d{20})\.", path.name)
            if base is not None and int(base[1]) >= bases[segments]:
                path.unlink()
        if len(bases) > segments:
            ends[folder.name] = bases[segments]
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        _lower(data / name, ends)


def _lower(path: Path, ends: Mapping[str, int]) -> None:
    version, count, *lines = path.read_text().splitlines()
    lowered = []
    for line in lines:
        topic, partition, offset = line.split(" ")
        end = ends.get(f"{topic}-{partition}", int(offset))
        lowered.append(f"{topic} {partition} {min(int(offset), end)}")
    path.write_text("".join(f"{line}\n" for line in (version, count, *lowered)))


@pytest.mark.parametrize("has_remote_tier", [True, False], ids=["remote", "old_entry"])
def test_what_lies_below_the_first_segment_is_remote_only_where_there_is_a_remote_tier(
    has_remote_tier: bool, data: Path, lake: Path
) -> None:
    segments = made_segments("orders", 0, [20, 40])
    write_over(data, [Partition("orders", 0, segments, log_start_offset=5)])
    if has_remote_tier:
        (data / "remote-log-index-cache").mkdir()
    ingested(data, lake)
    remote = [(0, 5, "deleted"), (5, 20, "remote")]
    assert _gaps(lake) == (remote if has_remote_tier else [(0, 20, "deleted")])
    assert imbalances_of(lake) == []
