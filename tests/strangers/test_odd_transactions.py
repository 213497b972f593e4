"""Markers and transactional batches that no Kafka client writes, and what a consumer makes of them.

Kafka's consumer asks only batches with a producer id for the end of their transaction; a marker is
a commit or an abort, and the broker reads no other (EndTransactionMarker.java).
"""

from pathlib import Path

import pytest

from support.audits import audited, kinds
from support.encoder import Codec, Header, Partition, Record, Segment, record_batch
from support.encoder.control import ControlType, end_marker
from support.encoder.record_batch import Producer
from support.lakes import ingested, read_table
from support.made_logs import FIRST_MS, made_batches, write_over

_RECORDS = [Record(b"k", b"v", FIRST_MS + number) for number in range(3)]
_TAIL = made_batches("orders", 0, range(4, 10))


def _disk(folder: Path, producer_id: int, marker: int, codec: Codec = Codec.NONE) -> Path:
    """Transactional records at 0 to 2, a marker at 3, and plain records up to 10."""
    header = Header(producer=Producer(producer_id, 0, 0), is_transactional=True)
    batches = [
        record_batch(0, _RECORDS, header, codec=codec),
        end_marker(3, marker, producer_id=7),
    ]
    return write_over(folder, [Partition("orders", 0, [Segment(0, [*batches, *_TAIL])])])


def _states(lake: Path) -> list[str]:
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    return [row["transaction_state"] for row in rows if row["offset"] < 3]


@pytest.mark.parametrize("marker", [2, 7, -1, 32767])
def test_a_marker_of_another_type_is_named_as_damage(
    tmp_path: Path, lake: Path, marker: int
) -> None:
    summary = ingested(_disk(tmp_path / "disk", 7, marker), lake)
    assert summary.exit_code == 3
    [bad] = read_table(lake, "quarantine")
    assert (bad["base_offset"], bad["defect_code"]) == (3, "malformed_record")
    assert bad["defect_detail"] == f"a transaction marker has type {marker}"
    assert _states(lake) == ["open"] * 3
    assert kinds(audited(lake)) == set()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactional_records_without_a_producer_are_everybody_s(
    tmp_path: Path, lake: Path, isolation: str, codec: Codec
) -> None:
    disk = _disk(tmp_path / "disk", -1, ControlType.ABORT, codec)
    summary = ingested(disk, lake, isolation=isolation)
    assert (summary.exit_code, summary.records) == (0, 9)
    assert _states(lake) == ["none"] * 3
    assert audited(lake).exit_code == 0
