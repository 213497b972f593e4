"""Damage and missing offsets as rows of their tables."""

import hashlib

import pytest

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import GAPS, QUARANTINE
from seglake.log_tables.batch_rows import Place
from seglake.log_tables.quarantine_rows import (
    RawBytes,
    RowStamp,
    damage_columns,
    gap_row,
    most_raw_bytes,
    quarantine_row,
)
from seglake.log_tables.record_rows import Origin
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode

_KEY = PartitionKey("orders", 3, "id")
_RAW = RawBytes(b"damaged", is_complete=False)


def _defect(code: DefectCode = DefectCode.CRC_MISMATCH, codec_id: int | None = 4) -> Defect:
    return Defect(
        100,
        70,
        code,
        "why",
        expected_offset=10,
        base_offset=10,
        last_offset=14,
        record_count=5,
        magic=2,
        codec_id=codec_id,
        expected_crc=1,
        computed_crc=2,
    )


def test_a_row_of_damage_has_its_place_in_the_segment_and_its_sound_neighbours() -> None:
    place = Place(Origin("source", _KEY, "run", 7), 1, "orders-3/0.log", 1000, 5)
    table = QUARANTINE.to_arrow([quarantine_row(_defect(), _RAW, place, 9, 20)])
    (row,) = table.to_pylist()
    expected = {
        "source_id": "source",
        "topic_id": "id",
        "partition": 3,
        "broker_id": 1,
        "segment": "orders-3/0.log",
        "position": 1100,
        "length_bytes": 70,
        "previous_offset": 9,
        "next_offset": 20,
        "base_offset": 10,
        "last_offset": 14,
        "raw": b"damaged",
        "raw_sha256": hashlib.sha256(b"damaged").hexdigest(),
        "raw_is_complete": False,
        "resolution": None,
        "run_id": "run",
        "generation": 7,
    }
    assert {name: row[name] for name in expected} == expected
    assert table.schema.names == QUARANTINE.schema.names


@pytest.mark.parametrize(
    ("codec_id", "name"), [(0, "none"), (1, "gzip"), (4, "zstd"), (5, None), (None, None)]
)
def test_a_codec_that_kafka_has_not_given_out_has_no_name(
    codec_id: int | None, name: str | None
) -> None:
    assert damage_columns(_defect(codec_id=codec_id), _RAW)["codec"] == name


def test_a_starting_broker_would_cut_the_log_at_a_broken_frame_only() -> None:
    cuts = {
        code for code in DefectCode if damage_columns(_defect(code), _RAW)["kafka_would_truncate"]
    }
    assert cuts == {
        DefectCode.BAD_LENGTH,
        DefectCode.ZERO_FILLED,
        DefectCode.TRUNCATED_BATCH,
        DefectCode.UNSUPPORTED_MAGIC,
        DefectCode.CRC_MISMATCH,
    }


def test_no_byte_of_the_metadata_log_is_kept() -> None:
    assert (most_raw_bytes("orders", 50), most_raw_bytes("__cluster_metadata", 50)) == (50, 0)


def test_a_row_of_a_gap_names_the_attempt_that_wrote_it() -> None:
    stamp = RowStamp("source", "run", "attempt")
    table = GAPS.to_arrow([gap_row(_KEY, 20, 30, GapCause.REMOTE, "why", stamp)])
    (row,) = table.to_pylist()
    assert (row["partition"], row["start_offset"], row["next_offset"]) == (3, 20, 30)
    assert (row["cause"], row["detail"], row["attempt_id"]) == ("remote", "why", "attempt")
    assert table.schema.names == GAPS.schema.names
