"""Reading for one query: the records that an ingest takes, and of these what is asked for."""

import threading
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from seglake.pipelines.segment_query.errors import DataLossError
from seglake.pipelines.segment_query.read_plan import Requested, plan_reads
from seglake.pipelines.segment_query.record_stream import SCHEMA, records_of
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.cases import cases
from support.encoder import Partition, Segment, write_log_dir
from support.faults import batch, with_length
from support.lakes import Row, ingested, read_table
from support.made_logs import made_batches, make_log_dir

_SAMPLES = Path(__file__).parents[2] / "samples" / "broker-0"


def _read(
    source: Path,
    wanted: Requested | None = None,
    *,
    isolation: str = "read_committed",
    split_bytes: int | None = None,
    fails_on_loss: bool = True,
) -> list[Row]:
    settings = Settings.from_mappings([("test", {"read": {"isolation": isolation}})])
    if split_bytes is not None:
        object.__setattr__(settings.read, "split_bytes", split_bytes)
    tasks = plan_reads(
        [str(source)],
        LocalStorage(),
        settings,
        wanted or Requested(),
        fails_on_loss=fails_on_loss,
    )
    batches = [batch for task in tasks for batch in records_of(task, fails_on_loss=fails_on_loss)]
    rows: list[Row] = pa.Table.from_batches(batches, SCHEMA).to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def _taken(source: Path, lake: Path, isolation: str) -> list[Row]:
    ingested(source, lake, isolation=isolation)
    rows = [
        {name: value for name, value in row.items() if name in SCHEMA.names}
        for row in read_table(lake, "records")
    ]
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_query_reads_what_an_ingest_takes(isolation: str, tmp_path: Path) -> None:
    expected = _taken(_SAMPLES, tmp_path / "lake", isolation)
    assert _read(_SAMPLES, isolation=isolation, fails_on_loss=False) == expected
    pieces = _read(_SAMPLES, isolation=isolation, split_bytes=4096, fails_on_loss=False)
    assert pieces == expected


@pytest.mark.parametrize("scenario", ["05_compacted", "06_transactions"])
@pytest.mark.parametrize(
    "isolation", cases(["read_committed", "read_uncommitted"], telling=["read_committed"])
)
def test_any_range_of_offsets_has_the_rows_of_the_whole(scenario: str, isolation: str) -> None:
    log_dir = broker_disks.log_dir(scenario, broker_disks.copies(scenario)[-1])
    whole = _read(log_dir, isolation=isolation)
    assert whole
    random = Random(scenario + isolation)
    last = max(row["offset"] for row in whole)
    for _ in range(12):
        start, stop = sorted(random.randrange(last + 10) for _ in range(2))
        wanted = Requested().with_offsets(start, stop)
        found = _read(
            log_dir, wanted, isolation=isolation, split_bytes=random.choice([600, 1 << 20])
        )
        assert found == [row for row in whole if start <= row["offset"] < stop]


def test_damage_ends_the_query_and_says_where_it_is() -> None:
    with pytest.raises(
        DataLossError, match=r"v2-none-1: bad_length in .* at position 2862.*failOn"
    ):
        _read(_SAMPLES, Requested().with_topics(["v2-none"]))


def test_damage_that_is_not_asked_for_does_not() -> None:
    rows = _read(_SAMPLES, Requested().with_topics(["v2-none"]).with_offsets(150, None))
    assert [row["offset"] for row in rows] == list(range(150, 267))


def test_a_query_that_begins_inside_damage_ends() -> None:
    wanted = Requested().with_topics(["v2-none"]).with_partitions([1]).with_offsets(142, None)
    with pytest.raises(
        DataLossError, match=r"v2-none-1: the offsets \[142, 144\) have no readable record"
    ):
        _read(_SAMPLES, wanted)
    rows = _read(_SAMPLES, wanted, fails_on_loss=False)
    assert [row["offset"] for row in rows] == list(range(144, 267))


@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_offsets_that_are_missing_between_batches_end_the_query(
    split_bytes: int, tmp_path: Path
) -> None:
    parts = (made_batches("orders", 0, each) for each in (range(20), range(30, 50)))
    log = Partition("orders", 0, [Segment(0, [batch for part in parts for batch in part])])
    write_log_dir(tmp_path / "data", [log])
    with pytest.raises(
        DataLossError, match=r"orders-0: the offsets \[20, 30\) have no readable record"
    ):
        _read(tmp_path / "data", split_bytes=split_bytes)


def test_a_segment_that_is_gone_ends_the_query(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 50, 100, 150]})
    for file in (data / "orders-0").glob("00000000000000000050.*"):
        file.unlink()
    with pytest.raises(DataLossError, match=r"orders-0: no segment has the offsets \[50, 100\)"):
        _read(data)
    assert {row["offset"] for row in _read(data, fails_on_loss=False)}.isdisjoint(range(50, 100))


def test_offsets_that_a_damaged_segment_hides_are_not_said_to_have_no_segment(
    tmp_path: Path,
) -> None:
    first, last = (
        Segment(start, made_batches("orders", 0, range(start, start + 10))) for start in (0, 50)
    )
    log = Partition("orders", 0, [first, Segment(10, [], b"\xee" * 1000), last])
    write_log_dir(tmp_path / "data", [log])
    with pytest.raises(DataLossError, match=r"orders-0: bad_length in orders-0/0{18}10\.log"):
        _read(tmp_path / "data")


def test_one_offset_that_is_missing_between_two_segments_ends_the_query(tmp_path: Path) -> None:
    segments = [
        Segment(each.start, made_batches("orders", 0, each)) for each in (range(10), range(11, 20))
    ]
    write_log_dir(tmp_path / "data", [Partition("orders", 0, segments)])
    with pytest.raises(DataLossError, match=r"orders-0: no segment has the offsets \[10, 11\)"):
        _read(tmp_path / "data")


def _torn_and_damaged(folder: Path) -> Path:
    """A log with the high watermark 21 whose end is torn, and a batch with a false length."""
    batches = [batch(offset, 1) for offset in range(21)]
    batches[10] = with_length(batches[10], 1_000_000)
    torn = batch(21, 1).data[:-5]
    log = Partition("orders", 0, [Segment(0, batches, tail=torn)], high_watermark=21)
    write_log_dir(folder, [log])
    return folder


def test_torn_end_hides_neither_damage_nor_what_lies_between(tmp_path: Path) -> None:
    data = _torn_and_damaged(tmp_path / "data")
    with pytest.raises(DataLossError, match="bad_length"):
        _read(data)
    found = [row["offset"] for row in _read(data, fails_on_loss=False)]
    assert found == [offset for offset in range(21) if offset != 10]


def test_torn_end_behind_damage_is_no_gap(tmp_path: Path) -> None:
    data, lake = _torn_and_damaged(tmp_path / "data"), tmp_path / "lake"
    summary = ingested(data, lake)
    assert (summary.records, summary.defects) == (20, {"bad_length": 1})
    gaps = [(row["start_offset"], row["next_offset"]) for row in read_table(lake, "gaps")]
    assert gaps == [(10, 11)]


def test_nobody_decodes_for_a_query_that_has_ended() -> None:
    settings = Settings.from_mappings([])
    before = threading.active_count()
    for task in plan_reads(
        [str(_SAMPLES)], LocalStorage(), settings, Requested(), fails_on_loss=False
    ):
        stream = records_of(task, fails_on_loss=False)
        next(stream)
        stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert threading.active_count() == before
