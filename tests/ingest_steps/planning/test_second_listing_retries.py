"""A broker goes on while its disk is read: it deletes the oldest segments, and cleans others."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from seglake.ingest_steps import rounds
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.ingest_steps.planning.second_listing import retryable_replicas
from seglake.kafka_log.replica import (
    Checkpoints,
    PartitionKey,
    Replica,
    SegmentFile,
)
from support import broker_disks
from support.accounts import imbalances_of
from support.cases import cases
from support.encoder import delete_segment
from support.ingest_drivers import WAVES
from support.lakes import Sections, ingested, oracle_record, read_table
from support.made_logs import made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.oracle import expected_records
from support.taken import gaps_taken, is_nothing_new, offsets_taken, records_taken

_ORDERS, _PAYMENTS = ("orders", 0), ("payments", 0)
_EDGES = {_ORDERS: [0, 40, 80, 120], _PAYMENTS: [0, 30, 90]}
_VALUE_BYTES = 1024
_JUST_GONE = "its segment was deleted while the run read the log"


@pytest.fixture
def source(data: Path) -> Path:
    return make_log_dir(data, _EDGES, value_bytes=_VALUE_BYTES)


def _delete(source: Path, *base_offsets: int, topic: str = "orders") -> None:
    for base_offset in base_offsets:
        delete_segment(source / f"{topic}-0", base_offset)


def _gap_rows(lake: Path) -> list[tuple[int, int, str, str | None]]:
    rows = sorted(read_table(lake, "gaps"), key=lambda row: row["start_offset"])
    return [(row["start_offset"], row["next_offset"], row["cause"], row["detail"]) for row in rows]


@pytest.mark.parametrize(
    ("gone", "start", "sections"),
    cases(
        [((0,), 40, WAVES), ((0, 40), 80, {}), ((0,), 40, {}), ((0, 40), 80, WAVES)],
        telling=[((0,), 40, WAVES), ((0, 40), 80, {})],
    ),
)
def test_the_oldest_segments_that_go_after_the_plan_become_a_gap_in_the_same_run(
    gone: tuple[int, ...], start: int, sections: Sections, source: Path, lake: Path
) -> None:
    engine = Meanwhile(once(partial(_delete, source, *gone)))
    summary = ingested(source, lake, engine=engine, **sections)
    assert (summary.exit_code, summary.left_out) == (0, {})
    assert _gap_rows(lake) == [(0, start, "deleted", _JUST_GONE)]
    everything = {_ORDERS: range(start, 120), _PAYMENTS: range(90)}
    assert records_taken(lake) == made_records(everything, value_bytes=_VALUE_BYTES)
    assert imbalances_of(lake) == []
    assert is_nothing_new(ingested(source, lake, **sections))


def test_they_may_go_before_they_are_surveyed(
    source: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = once(partial(_delete, source, 0))

    def late_survey(*arguments: object) -> object:
        gone()
        return survey_partitions(*arguments)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr(rounds, survey_partitions.__name__, late_survey)
    assert ingested(source, lake).exit_code == 0
    assert _gap_rows(lake) == [(0, 40, "deleted", _JUST_GONE)]
    assert offsets_taken(lake) == list(range(40, 120))
    assert imbalances_of(lake) == []


def test_what_was_gone_before_the_run_has_another_detail(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [20, 40, 80, 120]})
    engine = Meanwhile(once(partial(_delete, data, 20)))
    assert ingested(data, lake, engine=engine).exit_code == 0
    assert _gap_rows(lake) == [(0, 20, "deleted", None), (20, 40, "deleted", _JUST_GONE)]


def test_only_what_is_not_taken_yet_becomes_a_gap(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 30]})
    ingested(data, lake)
    make_log_dir(data, {_ORDERS: [0, 40, 80]})
    engine = Meanwhile(once(partial(_delete, data, 0)))
    assert ingested(data, lake, engine=engine).exit_code == 0
    assert _gap_rows(lake) == [(30, 40, "deleted", _JUST_GONE)]
    assert offsets_taken(lake) == [*range(30), *range(40, 80)]
    assert imbalances_of(lake) == []


def test_a_log_that_is_deleted_whole_goes_on_where_it_begins_again(
    source: Path, lake: Path
) -> None:
    def retention() -> None:
        make_log_dir(source, {**_EDGES, _ORDERS: [120, 130]}, value_bytes=_VALUE_BYTES)

    summary = ingested(source, lake, engine=Meanwhile(once(retention)))
    assert (summary.exit_code, summary.left_out) == (0, {})
    assert _gap_rows(lake) == [(0, 120, "deleted", _JUST_GONE)]
    assert offsets_taken(lake) == list(range(120, 130))


def test_a_source_that_goes_whole_is_left_out(source: Path, lake: Path) -> None:
    summary = ingested(source, lake, engine=Meanwhile(once(lambda: shutil.rmtree(source))))
    assert (summary.exit_code, sorted(summary.left_out)) == (3, ["orders-0", "payments-0"])
    assert read_table(lake, "records") == []


def test_a_log_whose_segments_keep_going_is_left_to_the_next_run(source: Path, lake: Path) -> None:
    rest = iter([0, 40])
    summary = ingested(source, lake, engine=Meanwhile(lambda: _delete(source, next(rest))))
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert offsets_taken(lake, "payments") == list(range(90))
    assert ingested(source, lake).exit_code == 0
    assert gaps_taken(lake) == [(0, 80, "deleted")]
    assert imbalances_of(lake) == []


def _replica(
    sizes: dict[int, int], *, cleaner_offset: int | None = None, topic: str = "orders"
) -> Replica:
    files = tuple(
        SegmentFile(base, f"/d/{base}.log", f"{base}.log", size, None)
        for base, size in sizes.items()
    )
    checkpoints = Checkpoints(True, 100, None, None, cleaner_offset, False)
    return Replica(PartitionKey(topic, 0, None), 0, f"/d/{topic}", False, checkpoints, (), files)


_LISTED = {0: 10, 40: 20, 80: 30}
_NOW: dict[str, tuple[dict[int, int], bool]] = {
    "the oldest are gone": ({40: 20, 80: 30}, True),
    "and the last has grown": ({80: 35, 90: 1}, True),
    "all are gone": ({90: 5}, True),
    "nothing is gone": ({0: 10, 40: 20, 80: 30}, False),
    "one in the middle is gone": ({0: 10, 80: 30}, False),
    "the last is gone": ({0: 10, 40: 20}, False),
    "the oldest is gone, another is shorter": ({40: 19, 80: 30}, False),
    "the oldest is gone, another is longer": ({40: 21, 80: 30}, False),
    "the oldest is gone, the last is shorter": ({40: 20, 80: 29}, False),
    "no segment is left": ({}, False),
}


@pytest.mark.parametrize("case", _NOW)
def test_a_second_look_needs_an_explanation(case: str) -> None:
    sizes, is_readable = _NOW[case]
    found = retryable_replicas([_replica(_LISTED)], [_replica(sizes)], {"orders-0"})
    assert [bool(found)] == [is_readable]
    cleaned = _replica(sizes, cleaner_offset=40)
    may_be_read = bool(sizes) and sizes != _LISTED
    assert bool(retryable_replicas([_replica(_LISTED)], [cleaned], {"orders-0"})) == may_be_read
    assert retryable_replicas([_replica(_LISTED)], [_replica(sizes)], {"payments-0"}) == []
    assert retryable_replicas([], [_replica(sizes)], {"orders-0"}) == []


def test_retention_on_a_real_disk(data: Path, lake: Path) -> None:
    shutil.copytree(broker_disks.log_dir("07_delete_records", "stopped"), data)
    bases = sorted(int(path.stem) for path in (data / "dr-v1-0").glob("*.log"))
    expected = expected_records("07_delete_records", "stopped", "dr-v1", 0)
    gone = [base for base in bases if base <= expected[len(expected) // 2].offset][:-1]
    start = bases[len(gone)]
    assert gone
    engine = Meanwhile(once(partial(_delete, data, *gone, topic="dr-v1")))
    summary = ingested(data, lake, engine=engine)
    assert (summary.exit_code, summary.left_out) == (0, {})
    rows = [row for row in read_table(lake, "records") if row["topic"] == "dr-v1"]
    found = sorted(map(oracle_record, rows), key=lambda record: record.offset)
    assert found == [record for record in expected if record.offset >= start]
    details = [row["detail"] for row in read_table(lake, "gaps") if row["topic"] == "dr-v1"]
    assert _JUST_GONE in details
    assert imbalances_of(lake) == []
