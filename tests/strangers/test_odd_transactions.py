"""Markers and transactional batches that no Kafka client writes, and what a consumer makes of them.

Kafka's consumer asks only batches with a producer id for the end of their transaction; a marker is
a commit or an abort, and the broker reads no other (EndTransactionMarker.java).
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from support.audits import audited, kinds
from support.encoder import Codec, Header, Partition, Record, Segment, record_batch
from support.encoder.control import ControlType, end_marker
from support.encoder.record_batch import Producer
from support.lakes import by_partition, ingested
from support.made_logs import FIRST_MS, made_batches, write_over

_RECORDS = [Record(b"k", b"v", FIRST_MS + number) for number in range(3)]
_TAIL = made_batches("orders", 0, range(4, 10))


def _log(producer_id: int, marker: int, codec: Codec = Codec.NONE) -> Segment:
    """Transactional records at 0 to 2, a marker at 3, and plain records up to 10."""
    header = Header(producer=Producer(producer_id, 0, 0), is_transactional=True)
    data = record_batch(0, _RECORDS, header, codec=codec)
    return Segment(0, [data, end_marker(3, marker, producer_id=7), *_TAIL])


def _disk(folder: Path, logs: Iterable[Segment]) -> Path:
    """A partition for each log."""
    return write_over(folder, [Partition("orders", at, [log]) for at, log in enumerate(logs)])


def _states(lake: Path) -> list[list[str]]:
    """Of each partition, those of the transactional records."""
    records = by_partition(lake, "records")
    rows = (sorted(records[at], key=lambda row: row["offset"])[:3] for at in sorted(records))
    return [[row["transaction_state"] for row in own] for own in rows]


def test_a_marker_of_another_type_is_named_as_damage(tmp_path: Path, lake: Path) -> None:
    markers = (2, 7, -1, 32767)
    summary = ingested(_disk(tmp_path / "disk", (_log(7, marker) for marker in markers)), lake)
    assert summary.exit_code == 3
    quarantine = by_partition(lake, "quarantine")
    for partition, marker in enumerate(markers):
        [bad] = quarantine[partition]
        assert (bad["base_offset"], bad["defect_code"]) == (3, "malformed_record")
        assert bad["defect_detail"] == f"a transaction marker has type {marker}"
    assert _states(lake) == [["open"] * 3] * 4
    assert kinds(audited(lake)) == set()


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactional_records_without_a_producer_are_everybody_s(
    tmp_path: Path, lake: Path, isolation: str
) -> None:
    logs = (_log(-1, ControlType.ABORT, codec) for codec in (Codec.NONE, Codec.GZIP))
    summary = ingested(_disk(tmp_path / "disk", logs), lake, isolation=isolation)
    assert (summary.exit_code, summary.records) == (0, 18)
    assert _states(lake) == [["none"] * 3] * 2
    assert audited(lake).exit_code == 0
