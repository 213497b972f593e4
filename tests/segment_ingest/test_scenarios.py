"""Every copy of the brokers' disks, in both isolations, against Kafka's own consumer and dump.

What differs from the oracles, and why that is right, stands in `KNOWN_BOUNDS` and
`LOCAL_STARTS`; a test shows that each of these differences is there. Everything else is equal.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from seglake.findings.kinds import FindingKind
from seglake.lake.tables import TABLES
from support import broker_disks
from support.accounts import imbalances_of
from support.broker_disks import LogDir, PartitionFacts
from support.cases import cases, shared
from support.conversions import DISK_COPIES, Conversions, DiskCopy
from support.converted import KNOWN_BOUNDS, LOCAL_STARTS, Converted, Log
from support.dumped_batches import (
    TIMESTAMP_TYPES,
    as_dumped,
    compare_first_offset,
    compare_run,
    messages_of,
)
from support.dumps import Dump, DumpBatch, DumpRecord
from support.lakes import Row, ingested, oracle_record, read_arrow, versions
from support.oracle import Isolation, OracleRecord, expected_records, partition_dump

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT_MS = range(-62_135_596_800_000, 253_402_300_800_000)  # years 1 to 9999
_LOG_NAME = re.compile(r"\d{20}\.log")

# Tails of two brokers that lost an election.
_DEFECTS = {("08_replicas", "diverged"): {"replica_conflict"}}
# The copies whose logs have holes, each with the causes that are proved for them.
_GAP_CAUSES = {
    ("05_compacted", "after"): {"compacted"},
    ("07_delete_records", "live"): {"deleted"},
    ("07_delete_records", "stopped"): {"deleted"},
    ("11_kraft", "stopped"): {"compacted"},
    ("12_tiered", "stopped"): {"remote"},
    ("13_legacy_in_4x", "after"): {"compacted"},
}


_COPIES = shared(
    cases(DISK_COPIES, telling=lambda copy: copy.is_telling, name="-".join),
)


@pytest.fixture(scope="module", params=_COPIES)
def converted(
    request: pytest.FixtureRequest,
    conversions: Conversions,
    tmp_path_factory: pytest.TempPathFactory,
) -> Converted:
    copy: DiskCopy = request.param
    first = conversions.of_copy(copy)
    again = shutil.copytree(first.lake, tmp_path_factory.mktemp("again") / "lake")
    select = {"internal_topics": True}
    second_summary = ingested(copy.disks, again, isolation=copy.isolation, select=select)
    return Converted(
        *copy,
        first.lake,
        first.summary,
        second_summary,
        versions(first.lake),
        versions(again),
        {table.name: read_arrow(first.lake, table.name) for table in TABLES},
    )


def test_records_are_those_a_consumer_got_field_by_field(converted: Converted) -> None:
    for facts in converted.consumed:
        expected = [
            record
            for record in _consumed(converted, facts)
            if _local_start(converted, facts) <= record.offset < converted.bound(facts)
        ]
        found = [oracle_record(row) for row in converted.records[facts.topic, facts.partition]]
        assert found == expected, facts


def test_records_that_nobody_consumed_are_those_of_the_dump(converted: Converted) -> None:
    for facts in converted.not_consumed:
        dump = _partition_dump(converted.log(facts), "")
        (log,) = {batch.file_name for batch in dump.batches if _LOG_NAME.fullmatch(batch.file_name)}
        control = {
            offset
            for batch in dump.batches_of(log)
            if batch.is_control and batch.base_offset is not None
            for offset in range(batch.base_offset, batch.last_offset + 1)
        }
        assert [
            DumpRecord(
                log,
                row["offset"],
                TIMESTAMP_TYPES[row["timestampType"]],
                row["timestamp_ms"],
                -1 if row["key"] is None else len(row["key"]),
                -1 if row["value"] is None else len(row["value"]),
                None,
                None,
            )
            for row in converted.records[facts.topic, facts.partition]
        ] == [
            record
            for record in dump.records
            if record.file_name == log
            and record.offset not in control
            and record.offset < facts.high_watermark
        ]


def test_there_are_records_of_no_other_log(converted: Converted) -> None:
    known = {(facts.topic, facts.partition) for facts in converted.partitions}
    assert {key for key, rows in converted.records.items() if rows} <= known
    assert set(converted.tables["records"]["source_id"].to_pylist()) <= {
        converted.summary.source_id
    }


def test_times_are_the_milliseconds_or_null(converted: Converted) -> None:
    times = converted.tables["records"].select(["timestamp_ms", "timestamp"])
    for time_ms, time in zip(*(column.to_pylist() for column in times.columns), strict=True):
        is_kept = time_ms is not None and time_ms != -1 and time_ms in _KEPT_MS
        assert time == (_EPOCH + timedelta(milliseconds=time_ms) if is_kept else None)


def test_states_of_transactions_tell_what_read_committed_leaves_out(converted: Converted) -> None:
    for facts in converted.consumed:
        rows = converted.records[facts.topic, facts.partition]
        states = {row["offset"]: row["transaction_state"] for row in rows}
        if facts.last_stable_offset is None:
            assert set(states.values()) <= {"none"}
            continue
        stable = range(_local_start(converted, facts), facts.last_stable_offset)
        log = (*converted.log(facts),)
        committed = {record.offset for record in expected_records(*log, Isolation.READ_COMMITTED)}
        given = {record.offset for record in expected_records(*log)}
        kept = {offset for offset, state in states.items() if state in ("none", "committed")}
        aborted = {offset for offset, state in states.items() if state == "aborted"}
        assert kept.intersection(stable) == committed.intersection(stable)
        if converted.isolation is Isolation.READ_UNCOMMITTED:
            assert aborted.intersection(stable) == (given - committed).intersection(stable)
            is_open = facts.last_stable_offset < facts.high_watermark
            assert ("open" in states.values()) == is_open
            assert all(o >= facts.last_stable_offset for o, s in states.items() if s == "open")
        else:
            assert set(states.values()) <= {"none", "committed"}


def test_batches_are_those_of_the_dump_field_by_field(converted: Converted) -> None:
    for facts in converted.partitions:
        rows = converted.batches[facts.topic, facts.partition]
        dump = _dump(converted, facts, rows)
        expected = list(_batches_in_reach(converted, facts, dump))
        runs = [row for row in rows if row["magic"] < 2 and row["codec"] == "none"]
        in_runs = {
            (each.file_name, each.position) for run in runs for each in messages_of(run, expected)
        }
        others = [row for row in rows if not (row["magic"] < 2 and row["codec"] == "none")]
        assert [as_dumped(row) for row in others] == [
            each for each in expected if (each.file_name, each.position) not in in_runs
        ], facts
        for run in runs:
            compare_run(run, messages_of(run, expected))
        for row in others:
            if row["base_offset"] != facts.log_start_offset or row["base_offset"] == 0:
                compare_first_offset(row, dump)


def test_every_byte_in_reach_is_in_a_batch(converted: Converted) -> None:
    ledger = converted.tables["checkpoints"].to_pylist()
    for facts in converted.partitions:
        rows = converted.batches[facts.topic, facts.partition]
        expected = _batches_in_reach(converted, facts, _dump(converted, facts, rows))
        size_bytes = sum(batch.size_bytes for batch in expected)
        assert sum(row["size_bytes"] for row in rows) == size_bytes
        key = (facts.topic, facts.partition)
        counted = [row["bytes"] for row in ledger if (row["topic"], row["partition"]) == key]
        assert sum(counted) == size_bytes
    assert converted.summary.counts.read_bytes == sum(row["bytes"] for row in ledger)


def test_each_partition_is_covered_from_zero_to_its_bound(converted: Converted) -> None:
    expected = {
        (facts.topic, facts.partition): (0, converted.bound(facts))
        for facts in converted.partitions
        if converted.bound(facts)
    }
    found = [
        ((row["topic"], row["partition"]), (row["start_offset"], row["next_offset"]))
        for row in converted.tables["checkpoints"].to_pylist()
    ]
    assert sorted(found) == sorted(expected.items())


def test_holes_have_the_causes_that_are_proved(converted: Converted) -> None:
    gaps = converted.tables["gaps"].to_pylist()
    expected = _GAP_CAUSES.get((converted.scenario, converted.copy), set())
    assert {gap["cause"] for gap in gaps} == expected
    log_starts = {
        (facts.topic, facts.partition): max(facts.log_start_offset, _local_start(converted, facts))
        for facts in converted.partitions
    }
    for gap in gaps:
        is_below_start = gap["next_offset"] <= log_starts[gap["topic"], gap["partition"]]
        assert is_below_start == (gap["cause"] != "compacted")


def test_nothing_is_damaged_and_nobody_has_to_look(converted: Converted) -> None:
    codes = set(converted.tables["quarantine"]["defect_code"].to_pylist())
    assert codes == _DEFECTS.get((converted.scenario, converted.copy), set())
    is_remote = "remote" in _GAP_CAUSES.get((converted.scenario, converted.copy), set())
    assert converted.summary.exit_code == (3 if is_remote else 0)
    assert converted.summary.left_out == {}
    assert converted.summary.findings.of(FindingKind.NOT_ON_DISK) == []
    assert converted.summary.counts.missing_offsets == 0


def test_the_summary_counts_what_the_tables_hold(converted: Converted) -> None:
    assert converted.summary.records == converted.tables["records"].num_rows
    assert converted.summary.counts.batches == converted.tables["batches"].num_rows
    states = Counter(converted.tables["records"]["transaction_state"].to_pylist())
    assert converted.summary.counts.open_rows == states["open"]


def test_the_summary_names_each_gap_of_the_tables(converted: Converted) -> None:
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in converted.tables["gaps"].to_pylist():
        place = row["cause"], f"{row['topic']}-{row['partition']}"
        spans.setdefault(place, []).append((row["start_offset"], row["next_offset"]))
    told = {
        (cause, name): found
        for cause, partitions in converted.summary.gaps.items()
        for name, found in partitions.items()
    }
    assert told.keys() == spans.keys()
    for place, found in told.items():
        assert (found.gaps, found.offsets) == (
            len(spans[place]),
            sum(stop - start for start, stop in spans[place]),
        )
        if place[0] != "compacted":
            met = {offset for start, stop in found.ranges for offset in range(start, stop)}
            assert met == {n for start, stop in spans[place] for n in range(start, stop)}


def test_the_lake_adds_up_and_nothing_is_doubled(converted: Converted) -> None:
    assert imbalances_of(converted.lake) == []


def test_a_second_run_commits_nothing(converted: Converted) -> None:
    assert converted.second_versions == converted.versions
    assert (converted.second_summary.planned.tasks, converted.second_summary.topics) == (0, [])
    assert converted.second_summary.exit_code == 0


@pytest.mark.parametrize("log", KNOWN_BOUNDS)
def test_known_bounds_are_below_what_the_consumer_got_later(log: Log) -> None:
    last = expected_records(*log)[-1].offset
    assert last >= KNOWN_BOUNDS[log]


@pytest.mark.parametrize("log", LOCAL_STARTS)
def test_what_lies_in_the_tier_only_was_given_to_the_consumer(log: Log) -> None:
    folder = broker_disks.log_dir(log.scenario, log.copy) / f"{log.topic}-{log.partition}"
    bases = [int(path.stem) for path in folder.glob("*.log")]
    assert min(bases) == LOCAL_STARTS[log]
    assert expected_records(*log)[0].offset < LOCAL_STARTS[log]


@cache
def _expected(log: Log, isolation: Isolation) -> list[OracleRecord]:
    return expected_records(*log, isolation)


def _consumed(converted: Converted, facts: PartitionFacts) -> list[OracleRecord]:
    return _expected(converted.log(facts), converted.isolation)


def _local_start(converted: Converted, facts: PartitionFacts) -> int:
    return LOCAL_STARTS.get(converted.log(facts), 0)


def _dump(converted: Converted, facts: PartitionFacts, rows: list[Row]) -> Dump:
    """The dump of the copy of the partition that was read."""
    name = f"{facts.topic}-{facts.partition}"
    places = [
        place
        for place in broker_disks.log_dirs(converted.scenario, converted.copy)
        if (place.path / name).is_dir()
    ]
    if len(places) > 1:
        (broker_id,) = {row["broker_id"] for row in rows}
        places = [place for place in places if place.broker == f"broker{broker_id}"]
    (place,) = places
    return _partition_dump(converted.log(facts), _prefix(converted, place))


@cache
def _partition_dump(log: Log, place: str) -> Dump:
    return partition_dump(*log, place)


def _prefix(converted: Converted, place: LogDir) -> str:
    places = broker_disks.log_dirs(converted.scenario, converted.copy)
    if len({place.broker for place in places}) > 1:
        return place.broker
    return place.name if len({place.name for place in places}) > 1 else ""


def _batches_in_reach(
    converted: Converted, facts: PartitionFacts, dump: Dump
) -> Iterator[DumpBatch]:
    """Batches between log start and bound, the one across the log start cut there; and markers of
    the segment that holds the log start."""
    bases = sorted(int(name[:20]) for name in dump.file_names if _LOG_NAME.fullmatch(name))
    first = max([base for base in bases if base <= facts.log_start_offset], default=0)
    for batch in dump.batches:
        is_log = _LOG_NAME.fullmatch(batch.file_name) is not None
        is_below = batch.last_offset < converted.bound(facts)
        is_in_log = batch.last_offset >= facts.log_start_offset or batch.is_control
        if is_log and is_below and is_in_log and int(batch.file_name[:20]) >= first:
            yield _cut(batch, facts.log_start_offset)


def _cut(batch: DumpBatch, log_start_offset: int) -> DumpBatch:
    """What of a batch lies in the log; a cut row tells a later base, so the last sequence too."""
    base, last_sequence = batch.base_offset, batch.last_sequence
    if base is None or last_sequence is None or batch.is_control or base >= log_start_offset:
        return batch
    has_sequence = last_sequence >= 0
    lacking = log_start_offset - base if has_sequence else 0
    return batch._replace(base_offset=log_start_offset, last_sequence=last_sequence - lacking)
