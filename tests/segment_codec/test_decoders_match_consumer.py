"""Every record of every real broker's disk, against what Kafka's consumer got from it.

Both decoders see every batch; what they say must also be the same. Offsets below the log start and
above the high watermark never reach a consumer; a follower's disk may lack the end of the log (08),
and tiered segments are no longer on the disk (12).
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import BytesSource, Window
from support import broker_disks, oracle
from support.broker_disks import SCENARIOS, PartitionFacts
from support.decoders import by_reference, records_by_columns
from support.oracle import OracleRecord
from support.walks import check_tiling


def test_all_scenarios_are_here() -> None:
    assert [name[:2] for name in SCENARIOS] == [f"{number:02d}" for number in range(14)]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_decoders_give_what_a_consumer_got(scenario: str) -> None:
    folders = 0
    for copy in broker_disks.copies(scenario):
        for facts in broker_disks.partitions(scenario, copy):
            expected = oracle.expected_records(scenario, copy, facts.topic, facts.partition)
            for place in broker_disks.log_dirs(scenario, copy):
                folder = place.path / f"{facts.topic}-{facts.partition}"
                if not folder.is_dir():
                    continue
                units = units_in(folder)
                found = consumed(units, facts)
                if copy == "diverged" and place.broker != "broker2":
                    folders += 1
                    continue  # its end is another than the leader's, which the consumer read
                if scenario == "08_replicas":
                    assert found == expected[: len(found)], folder
                elif scenario == "12_tiered":
                    assert found == expected[len(expected) - len(found) :], folder
                else:
                    assert found == expected, folder
                folders += 1
    assert folders


def units_in(folder: Path) -> list[Unit]:
    """The valid units of a folder, segment by segment; no broker wrote a defect."""
    logs = sorted(folder.glob("*.log"))
    order = OffsetOrder(int(logs[0].stem))
    units: list[Unit] = []
    for number, path in enumerate(logs, start=1):
        content = path.read_bytes()
        base = int(path.stem)
        is_last = number == len(logs)
        bounds = SegmentBounds(base, limit_after(base), is_last, durable_offset=0)
        items = list(SegmentWalk(Window(BytesSource(content)), bounds, order).items())
        check_tiling(items, 0, len(content))
        for item in items:
            assert not isinstance(item, Defect), (path, item)
            if isinstance(item, Tail):
                assert is_last, (path, item)
            else:
                units.append(item)
    return units


def consumed(units: Iterable[Unit], facts: PartitionFacts) -> list[OracleRecord]:
    """The records of user data in the offsets a consumer may see, decoded both ways."""
    data = [
        unit for unit in units if not (isinstance(unit, RecordBatch) and unit.header.is_control)
    ]
    types = [(unit, by_reference(unit)) for unit in data]
    by_rows = records_by_columns(data)
    assert by_rows == [record for _, records in types for record in records]
    return [
        as_consumed(record, unit)
        for unit, records in types
        for record in records
        if facts.log_start_offset <= record.offset < facts.high_watermark
    ]


def as_consumed(record: Record, unit: Unit) -> OracleRecord:
    is_append = (
        unit.header.is_log_append_time
        if isinstance(unit, RecordBatch)
        else (unit.is_log_append_time)
    )
    timestamp_type = "LogAppendTime" if is_append else "CreateTime"
    if unit.magic == 0:
        timestamp_type = "NoTimestampType"
    assert record.timestamp_ms is not None
    return OracleRecord.of(
        record.offset,
        record.timestamp_ms,
        timestamp_type,
        record.key,
        record.value,
        [(header.key.decode("utf-8", errors="replace"), header.value) for header in record.headers],
    )
