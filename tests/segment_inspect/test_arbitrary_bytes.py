"""Whatever a file holds, a look at it ends with a summary and every byte has its place."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Record,
    end_marker,
    message,
    record_batch,
    with_right_checksum,
    with_right_message_checksum,
    wrapper,
)

NAMES = (
    "00000000000000000000.log",
    "00000000000000000007.log.swap",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000000.snapshot",
    "00000000000000000000.index.deleted",
    "00000000000000000005-0000000001.checkpoint",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "meta.properties",
    ".kafka_cleanshutdown",
    "something-else",
)
HASTY = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MARKER = 5  # of `batches`: a control record is no record
RECORDS = [Record(b"k%d" % n, b"v" * n, 1_700_000_000_000 + n) for n in range(4)]


def batches() -> list[EncodedBatch]:
    return [
        record_batch(0, RECORDS),
        record_batch(4, RECORDS, codec=Codec.GZIP),
        message(8, RECORDS[0], 0),
        message(9, RECORDS[1], 1),
        wrapper(10, RECORDS, 1, Codec.SNAPPY),
        end_marker(14, ControlType.COMMIT, producer_id=3),
        record_batch(15, RECORDS, codec=Codec.ZSTD),
    ]


@pytest.mark.parametrize("name", NAMES)
@HASTY
@given(content=st.binary(max_size=300))
def test_arbitrary_bytes_in_any_file_are_shown(
    name: str, content: bytes, tmp_path: Path, json_look: Any, text_look: Any
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    lines = json_look(path, records=True)
    assert lines[0]["type"] == "file"
    assert lines[0]["size_bytes"] == len(content)
    assert lines[-1]["type"] == "summary"
    if "sound_bytes" in lines[-1]:
        assert accounted_bytes(lines[-1]) == len(content)
    assert text_look(path, records=True)


@HASTY
@given(
    place=st.integers(0, len(batches()) - 1),
    position=st.integers(0, 400),
    content=st.binary(min_size=1, max_size=8),
    is_checksum_right=st.booleans(),
)
def test_changed_bytes_in_a_segment_are_shown(
    place: int,
    position: int,
    content: bytes,
    is_checksum_right: bool,
    tmp_path: Path,
    json_look: Any,
    text_look: Any,
) -> None:
    pieces = [batch.data for batch in batches()]
    data = bytearray(pieces[place])
    start = 12 + position % (len(data) - 12)
    data[start : start + len(content)] = content[: len(data) - start]
    pieces[place] = bytes(data)
    if is_checksum_right:
        mend = with_right_checksum if data[16] == 2 else with_right_message_checksum
        pieces[place] = mend(bytes(data))
    path = tmp_path / NAMES[0]
    path.write_bytes(b"".join(pieces))
    lines = json_look(path, records=True)
    assert accounted_bytes(lines[-1]) == path.stat().st_size
    offsets = [line["offset"] for line in lines if line["type"] == "record"]
    # Under a right checksum a batch may claim the offsets of those behind it.
    stop = place if is_checksum_right else len(pieces)
    untouched = [b for n, b in enumerate(batches()[:stop]) if n not in (place, MARKER)]
    expected = {offset for b in untouched for offset in range(b.base_offset, b.last_offset + 1)}
    assert expected <= set(offsets)
    assert text_look(path, records=True)


@HASTY
@given(content=st.binary(max_size=120), offset=st.integers(0, 30))
def test_an_index_of_arbitrary_bytes_does_not_hide_an_offset(
    content: bytes, offset: int, tmp_path: Path, json_look: Any
) -> None:
    path = tmp_path / NAMES[0]
    path.write_bytes(b"".join(batch.data for batch in batches()))
    path.with_suffix(".index").write_bytes(content)
    *_, summary = json_look(path, offset=offset)
    assert ("no_record" in summary["findings_by_kind"]) == (offset >= 19)


def accounted_bytes(summary: dict[str, Any]) -> int:
    return int(summary["sound_bytes"] + summary["defect_bytes"] + summary["tail_bytes"])
