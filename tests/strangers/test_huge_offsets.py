"""Logs whose offsets are near 2^63, or further than 2^31 above their segment's first one."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seglake.pipelines.lake_report.page_data import to_json
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support import written_lake
from support.audits import audited, checked
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    message,
    record_batch,
    write_checkpoint,
    write_log_dir,
)
from support.lakes import Row, ingested, read_table, replayed, retaken
from support.reports import reported
from support.views import viewed

FAR = 1 << 31
HALF = 1 << 62
LAST = (1 << 63) - 2  # the offset after it must be one, too


def batch(*offsets: int) -> EncodedBatch:
    return record_batch(
        offsets[0], [Record(b"k", b"%d" % offset, 1000, offset=offset) for offset in offsets]
    )


def offsets_of(lake: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in read_table(lake, "records"):
        found.setdefault(row["topic"], []).append(row["offset"])
    return {topic: sorted(offsets) for topic, offsets in found.items()}


def huge_disk(folder: Path) -> Path:
    old = [message(offset, Record(b"k", b"v", 1000), 1) for offset in (3, 1 << 33)]
    segments = {
        "far": [
            Segment(0, [batch(0), batch(7), batch(FAR + 5, FAR + 6)]),
            Segment(FAR + 9, [batch(FAR + 9)]),
        ],
        "far_v1": [Segment(0, old)],
        "huge": [
            Segment(HALF, [batch(HALF)]),
            Segment(LAST - 2, [batch(LAST - 2, LAST - 1), batch(LAST)]),
        ],
    }
    write_log_dir(folder, [Partition(topic, 0, own) for topic, own in segments.items()])
    cleaned = {
        (topic, 0): own[-1].base_offset or own[-1].next_offset for topic, own in segments.items()
    }
    write_checkpoint(folder / "cleaner-offset-checkpoint", cleaned)
    return folder


def test_sums_of_offsets_beyond_64_bits_are_those_of_the_ledger(
    engine: Engine, tmp_path: Path
) -> None:
    disk, lake = huge_disk(tmp_path / "disk"), tmp_path / "lake"
    assert ingested(disk, lake, engine=engine).exit_code == 0
    assert offsets_of(lake) == {
        "far": [0, 7, FAR + 5, FAR + 6, FAR + 9],
        "far_v1": [3, 1 << 33],
        "huge": [HALF, LAST - 2, LAST - 1, LAST],
    }
    assert audited(lake, engine=engine).problem_count == 0
    assert [check.has_problem for check in checked(disk, lake, engine=engine)] == [False] * 3


def in_transaction(*offsets: int) -> EncodedBatch:
    records = [Record(b"k", b"v", 1000, offset=offset) for offset in offsets]
    return record_batch(
        offsets[0], records, Header(producer=Producer(7, 0, 0), is_transactional=True)
    )


def marker(offset: int, control_type: ControlType) -> EncodedBatch:
    return end_marker(offset, control_type, producer_id=7)


def far_disk(folder: Path, segments: list[Segment]) -> Path:
    write_log_dir(folder, [Partition("far", 0, segments)])
    write_checkpoint(folder / "cleaner-offset-checkpoint", {("far", 0): segments[-1].next_offset})
    return folder


DATA = [batch(0), in_transaction(FAR + 5, FAR + 6)]
# Each log with the markers of its transaction: data and markers lie further than an index reaches.
FAR_LOGS: dict[str, Callable[[ControlType], list[Segment]]] = {
    "in_the_last_segment": lambda kind: [
        Segment(0, [*DATA, marker(FAR + 7, kind), batch(FAR + 8)])
    ],
    "before_another": lambda kind: [
        Segment(0, [*DATA, marker(FAR + 7, kind)]),
        Segment(FAR + 8, [batch(FAR + 8)]),
    ],
    "ended_in_another": lambda kind: [
        Segment(0, DATA),
        Segment(FAR + 7, [marker(FAR + 7, kind), batch(FAR + 8)]),
    ],
}


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_transactions_beyond_the_reach_of_an_index_are_read_to_their_end(
    engine: Engine, tmp_path: Path, lake: Path, kind: ControlType
) -> None:
    logs = {log: segments_of(kind) for log, segments_of in FAR_LOGS.items()}
    disk = tmp_path / "disk"
    write_log_dir(disk, [Partition(log, 0, own) for log, own in logs.items()])
    cleaned = {(log, 0): own[-1].next_offset for log, own in logs.items()}
    write_checkpoint(disk / "cleaner-offset-checkpoint", cleaned)
    summary = ingested(disk, lake, engine=engine, isolation="read_committed")
    assert (summary.exit_code, read_table(lake, "quarantine")) == (0, [])
    data = [FAR + 5, FAR + 6] if kind is ControlType.COMMIT else []
    assert offsets_of(lake) == {log: [0, *data, FAR + 8] for log in logs}
    assert audited(lake, engine=engine).problem_count == 0
    assert [check.has_problem for check in checked(disk, lake, engine=engine)] == [False] * 3


def test_a_log_that_grows_beyond_the_reach_of_an_index_goes_on(tmp_path: Path) -> None:
    lake, batches = tmp_path / "lake", [batch(0), batch(FAR + 5)]
    steps = [in_transaction(FAR + 6), marker(FAR + 7, ControlType.COMMIT), batch(FAR + 8)]
    for number, step in enumerate(steps):
        batches.append(step)
        disk = far_disk(tmp_path / f"disk{number}", [Segment(0, batches)])
        assert ingested(disk, lake, isolation="read_committed").exit_code == 0
    assert offsets_of(lake) == {"far": [0, FAR + 5, FAR + 6, FAR + 8]}


def test_damage_beyond_the_reach_of_an_index_is_filled_from_a_replica(tmp_path: Path) -> None:
    sound = [batch(0), *(batch(FAR + number) for number in range(5, 9))]
    broken = sound[2].data[:-1] + bytes([sound[2].data[-1] ^ 1])
    damaged = [*sound[:2], sound[2]._replace(data=broken), *sound[3:]]
    lake = tmp_path / "lake"
    assert ingested(far_disk(tmp_path / "d0", [Segment(0, damaged)]), lake).exit_code == 3
    replayed(lake, far_disk(tmp_path / "d1", [Segment(0, sound)]))
    assert offsets_of(lake) == {"far": [0, FAR + 5, FAR + 6, FAR + 7, FAR + 8]}


def test_an_offset_beyond_the_reach_of_an_index_counts_only_if_something_proves_it(
    tmp_path: Path,
) -> None:
    disk, lake = far_disk(tmp_path / "disk", [Segment(0, [batch(0), batch(FAR + 5)])]), tmp_path
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (disk / name).unlink()
    assert ingested(disk, lake / "lake", read={"upper_bound": "log_end"}).exit_code == 3
    (row,) = read_table(lake / "lake", "quarantine")
    assert (row["defect_code"], row["base_offset"]) == ("offset_out_of_segment", FAR + 5)
    assert offsets_of(lake / "lake") == {"far": [0]}


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def ask(request: pytest.FixtureRequest) -> Callable[[Path, str], list[Row]]:
    """Asks a lake in DuckDB and in Spark, whose BIGINT refuses a sum that does not fit."""
    if request.param == "duckdb":
        return viewed
    return partial(written_lake.ask, request.getfixturevalue("spark_session"))


def test_views_add_up_spans_of_several_generations(
    ask: Callable[[Path, str], list[Row]], tmp_path: Path
) -> None:
    disk, lake = huge_disk(tmp_path / "disk"), tmp_path / "lake"
    ingested(disk, lake)
    for _ in range(2):
        retaken(lake, disk, selection=Selection(is_whole=True))
    answer = ask(
        lake,
        "SELECT topic, covered, records, compacted, deleted, superseded, left_above "
        "FROM completeness ORDER BY topic",
    )
    assert [tuple(row.values()) for row in answer] == [
        ("far", FAR + 10, 5, FAR + 5, 0, 0, 0),
        ("far_v1", (1 << 33) + 1, 2, 3, 0, 0, 0),
        ("huge", LAST + 1, 4, LAST - 2 - HALF - 1, HALF, 0, 0),
    ]
    assert audited(lake).problem_count == 0


def test_report_counts_more_offsets_than_javascript_can(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(huge_disk(tmp_path / "disk"), lake)
    strips = [part[6] for part in json.loads(to_json(reported(lake)))["partitions"]]
    assert str(HALF) in [count for strip in strips for _, count, _ in strip]


def test_a_far_hole_is_recorded_once_and_no_later_run_fills_it_with_nothing(
    tmp_path: Path, lake: Path
) -> None:
    """The batch after the hole is no damage in it, though it is beyond 2^31."""
    segments = [Segment(0, [batch(0), batch(1 << 40)])]
    disk = tmp_path / "disk"
    write_log_dir(disk, [Partition("far", 0, segments)])
    first = ingested(disk, lake)
    assert "0 records in" not in first.to_text()
    rows = len(read_table(lake, "gaps"))
    assert rows == 1
    assert ingested(disk, lake).to_text().startswith("nothing new in 1 partition")
    assert replayed(lake, disk).to_text().startswith("no gap could be filled")
    assert len(read_table(lake, "gaps")) == rows
