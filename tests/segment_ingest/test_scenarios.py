"""Every copy of the brokers' disks, in both isolations, against Kafka's own consumer and dump.

What differs from the oracles, and why that is right, stands in `_KNOWN_BOUNDS` and
`_LOCAL_STARTS`; a test shows that each of these differences is there. Everything else is equal.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from lake.tables import TABLES
from pipelines.segment_ingest.summary import IngestSummary
from support import broker_disks
from support.accounts import imbalances
from support.broker_disks import SCENARIOS, LogDir, PartitionFacts
from support.dumps import Dump, DumpBatch, DumpRecord
from support.lakes import Row, ingested, oracle_record, read_arrow, versions
from support.oracle import Isolation, OracleRecord, expected_records, partition_dump

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT_MS = range(-62_135_596_800_000, 253_402_300_800_000)  # years 1 to 9999
_LOG_NAME = re.compile(r"\d{20}\.log")
_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}


class Log(NamedTuple):
    scenario: str
    copy: str
    topic: str
    partition: int


_KNOWN_BOUNDS = {
    # The disks were copied while followers lagged: no copy's high watermark was higher yet. The
    # consumer read later, when they had caught up.
    Log("08_replicas", "lagging", "rep", 0): 135,
    # The leader wrote its high watermark a few seconds before it was copied.
    Log("08_replicas", "follower_down", "rep", 1): 135,
    # After kill -9 the high watermark on the disk is old. The consumer read after the recovery.
    Log("10_crash", "killed", "cr-plain", 0): 572,
    Log("10_crash", "killed", "cr-pre", 0): 731,
}

_LOCAL_STARTS = {
    # What lies below is in the remote tier only; the consumer was given it from there.
    Log("12_tiered", "stopped", "ti", 0): 375,
    Log("12_tiered", "stopped", "ti", 1): 345,
}

_NOT_CONSUMED = {
    # Internal logs that no consumer was asked to read, each with the high watermark on its disk.
    Log("05_compacted", "before", "__transaction_state", 1): 16,
    Log("05_compacted", "before", "__transaction_state", 3): 10,
    Log("05_compacted", "after", "__transaction_state", 1): 22,
    Log("05_compacted", "after", "__transaction_state", 3): 13,
    Log("10_crash", "killed", "__transaction_state", 2): 5,
    Log("10_crash", "recovered", "__transaction_state", 2): 5,
    Log("12_tiered", "stopped", "__transaction_state", 3): 25,
}

# The copies whose logs have holes, each with the causes that are proved for them.
_GAP_CAUSES = {
    ("05_compacted", "after"): {"compacted"},
    ("07_delete_records", "live"): {"deleted"},
    ("07_delete_records", "stopped"): {"deleted"},
    ("11_kraft", "stopped"): {"compacted"},
    ("12_tiered", "stopped"): {"remote"},
    ("13_legacy_in_4x", "after"): {"compacted"},
}


@dataclass
class Converted:
    """One copy of the disks in one isolation: what two runs said, and what is in the tables."""

    scenario: str
    copy: str
    isolation: Isolation
    lake: Path
    summary: IngestSummary
    second_summary: IngestSummary
    versions: dict[str, int]
    second_versions: dict[str, int]
    tables: dict[str, pa.Table]

    @cached_property
    def records(self) -> dict[tuple[str, int], list[Row]]:
        """In the order of their offsets."""
        return _by_partition(self.tables["records"], "offset")

    @cached_property
    def batches(self) -> dict[tuple[str, int], list[Row]]:
        """In the order of their bytes."""
        return _by_partition(self.tables["batches"], "segment", "position")

    @property
    def consumed(self) -> tuple[PartitionFacts, ...]:
        """The partitions that a consumer read."""
        return broker_disks.partitions(self.scenario, self.copy)

    @property
    def not_consumed(self) -> tuple[PartitionFacts, ...]:
        return tuple(
            PartitionFacts(log.topic, log.partition, 0, high_watermark, None, 0, None)
            for log, high_watermark in _NOT_CONSUMED.items()
            if (log.scenario, log.copy) == (self.scenario, self.copy)
        )

    @property
    def partitions(self) -> tuple[PartitionFacts, ...]:
        return (*self.consumed, *self.not_consumed)

    def log(self, facts: PartitionFacts) -> Log:
        return Log(self.scenario, self.copy, facts.topic, facts.partition)

    def bound(self, facts: PartitionFacts) -> int:
        """Up to where the partition is taken."""
        high_watermark = _KNOWN_BOUNDS.get(self.log(facts), facts.high_watermark)
        if self.isolation is Isolation.READ_COMMITTED and facts.last_stable_offset is not None:
            return min(high_watermark, facts.last_stable_offset)
        return high_watermark


def _by_partition(table: pa.Table, *order: str) -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in table.sort_by([(name, "ascending") for name in order]).to_pylist():
        found[row["topic"], row["partition"]].append(row)
    return found


_COPIES = [
    (scenario, copy, isolation)
    for scenario in SCENARIOS
    for copy in broker_disks.copies(scenario)
    for isolation in Isolation
]


@pytest.fixture(scope="module", params=_COPIES, ids="-".join)
def converted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Converted:
    scenario, copy, isolation = request.param
    lake = tmp_path_factory.mktemp("lake") / "lake"
    disks = broker_disks.unpacked(scenario) / "disks" / copy

    def run() -> tuple[IngestSummary, dict[str, int]]:
        select = {"internal_topics": True}
        return ingested(disks, lake, isolation=isolation, select=select), versions(lake)

    summary, first_versions = run()
    second_summary, second_versions = run()
    return Converted(
        scenario,
        copy,
        isolation,
        lake,
        summary,
        second_summary,
        first_versions,
        second_versions,
        {table.name: read_arrow(lake, table.name) for table in TABLES},
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
        assert [
            DumpRecord(
                Path(dump.batches[0].file_name).name,
                row["offset"],
                _TIMESTAMP_TYPES[row["timestampType"]],
                row["timestamp_ms"],
                -1 if row["key"] is None else len(row["key"]),
                -1 if row["value"] is None else len(row["value"]),
                None,
                None,
            )
            for row in converted.records[facts.topic, facts.partition]
        ] == dump.records


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
            (each.file_name, each.position) for run in runs for each in _messages_of(run, expected)
        }
        others = [row for row in rows if not (row["magic"] < 2 and row["codec"] == "none")]
        assert [_as_dumped(row) for row in others] == [
            each for each in expected if (each.file_name, each.position) not in in_runs
        ], facts
        for run in runs:
            _compare_run(run, _messages_of(run, expected))
        for row in others:
            _compare_first_offset(row, dump)


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
    assert converted.summary.read_bytes == sum(row["bytes"] for row in ledger)


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


def test_nothing_is_quarantined_and_nobody_has_to_look(converted: Converted) -> None:
    assert converted.tables["quarantine"].num_rows == 0
    assert converted.summary.exit_code == 0
    assert converted.summary.left_out == {}
    assert converted.summary.missing_offsets == 0


def test_the_summary_counts_what_the_tables_hold(converted: Converted) -> None:
    assert converted.summary.records == converted.tables["records"].num_rows
    assert converted.summary.batches == converted.tables["batches"].num_rows
    states = Counter(converted.tables["records"]["transaction_state"].to_pylist())
    assert converted.summary.open_rows == states["open"]


def test_the_lake_adds_up_and_nothing_is_doubled(converted: Converted) -> None:
    assert imbalances(converted.tables) == []


def test_a_second_run_commits_nothing(converted: Converted) -> None:
    assert converted.second_versions == converted.versions
    assert (converted.second_summary.tasks, converted.second_summary.topics) == (0, [])
    assert converted.second_summary.exit_code == 0


@pytest.mark.parametrize("log", _KNOWN_BOUNDS)
def test_known_bounds_are_below_what_the_consumer_got_later(log: Log) -> None:
    last = expected_records(*log)[-1].offset
    assert last >= _KNOWN_BOUNDS[log]


@pytest.mark.parametrize("log", _LOCAL_STARTS)
def test_what_lies_in_the_tier_only_was_given_to_the_consumer(log: Log) -> None:
    folder = broker_disks.log_dir(log.scenario, log.copy) / f"{log.topic}-{log.partition}"
    bases = [int(path.stem) for path in folder.glob("*.log")]
    assert min(bases) == _LOCAL_STARTS[log]
    assert expected_records(*log)[0].offset < _LOCAL_STARTS[log]


@cache
def _expected(log: Log, isolation: Isolation) -> list[OracleRecord]:
    return expected_records(*log, isolation)


def _consumed(converted: Converted, facts: PartitionFacts) -> list[OracleRecord]:
    return _expected(converted.log(facts), converted.isolation)


def _local_start(converted: Converted, facts: PartitionFacts) -> int:
    return _LOCAL_STARTS.get(converted.log(facts), 0)


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
    if len({each.broker for each in places}) > 1:
        return place.broker
    return place.name if len({each.name for each in places}) > 1 else ""


def _batches_in_reach(
    converted: Converted, facts: PartitionFacts, dump: Dump
) -> Iterator[DumpBatch]:
    """Batches below the bound, but for segments that lie below the log start as a whole."""
    bases = sorted(int(name[:20]) for name in dump.file_names if _LOG_NAME.fullmatch(name))
    first = max([base for base in bases if base <= facts.log_start_offset], default=0)
    for batch in dump.batches:
        is_log = _LOG_NAME.fullmatch(batch.file_name) is not None
        is_below = batch.last_offset < converted.bound(facts)
        if is_log and is_below and int(batch.file_name[:20]) >= first:
            yield batch


def _as_dumped(row: Row) -> DumpBatch:
    """A row of `batches` as the dump has it: -1 for what there is not, null for old formats."""
    is_v2 = row["magic"] == 2

    def known(name: str) -> int | None:
        return (-1 if row[name] is None else row[name]) if is_v2 else None

    base_sequence = known("base_sequence")
    span = row["last_offset"] - row["base_offset"]
    last_sequence = base_sequence
    if base_sequence is not None and base_sequence >= 0:
        last_sequence = (base_sequence + span) % 2**31
    return DumpBatch(
        file_name=Path(row["segment"]).name,
        position=row["position"],
        size_bytes=row["size_bytes"],
        magic=row["magic"],
        codec=row["codec"],
        crc=row["crc"],
        is_valid=True,
        last_offset=row["last_offset"],
        timestamp_type=_TIMESTAMP_TYPES[row["timestamp_type"]],
        max_timestamp_ms=-1 if row["max_timestamp_ms"] is None else row["max_timestamp_ms"],
        base_offset=row["base_offset"] if is_v2 else None,
        record_count=row["record_count"] if is_v2 else None,
        base_sequence=base_sequence,
        last_sequence=last_sequence,
        producer_id=known("producer_id"),
        producer_epoch=known("producer_epoch"),
        leader_epoch=known("leader_epoch"),
        is_transactional=row["is_transactional"] if is_v2 else None,
        is_control=row["is_control"] if is_v2 else None,
        delete_horizon_ms=row["delete_horizon_ms"],
    )


def _messages_of(run: Row, expected: list[DumpBatch]) -> list[DumpBatch]:
    """The old messages that one row stands for."""
    stop = run["position"] + run["size_bytes"]
    name = Path(run["segment"]).name
    return [b for b in expected if b.file_name == name and run["position"] <= b.position < stop]


def _compare_run(run: Row, messages: list[DumpBatch]) -> None:
    assert {(each.magic, each.codec, each.timestamp_type) for each in messages} == {
        (run["magic"], "none", _TIMESTAMP_TYPES[run["timestamp_type"]])
    }
    assert run["position"] == messages[0].position
    assert run["size_bytes"] == sum(each.size_bytes for each in messages)
    assert run["base_offset"] == messages[0].last_offset
    assert run["last_offset"] == messages[-1].last_offset
    assert run["record_count"] == len(messages)
    newest_ms = max(each.max_timestamp_ms for each in messages)
    assert run["max_timestamp_ms"] == (None if run["magic"] == 0 else newest_ms)


def _compare_first_offset(row: Row, dump: Dump) -> None:
    """An old wrapper's header does not tell where it begins; the records in it do."""
    name = Path(row["segment"]).name
    inside = [
        record.offset
        for record in dump.records
        if record.file_name == name and row["base_offset"] <= record.offset <= row["last_offset"]
    ]
    assert row["record_count"] == len(inside)
    if row["magic"] < 2:
        assert row["base_offset"] == inside[0]
