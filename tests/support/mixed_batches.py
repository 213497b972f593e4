"""Logs in which batches of all kinds follow each other, sound and odd ones."""

from collections.abc import Sequence

from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Producer,
    Record,
    end_marker,
    message,
    payload_batch,
    record_batch,
    wrapper,
)
from support.faults import bad_crc, batch, with_offset
from support.walks import laid_out

LIMIT = 1 << 20
PRODUCER = Producer(7, 0, 0)
APPENDED = Header(log_append_time_ms=1_700_000_000_000)
EMPTY = Header(last_offset_delta=1, max_timestamp_ms=5, base_timestamp_ms=5, record_count=0)
BIG = [Record(b"k", bytes(range(256)) * 9)]

ALIKE = {"plain", "of three", "large", "raised", "lowered"}

KINDS = {
    "plain": lambda offset: batch(offset, 1),
    "of three": lambda offset: batch(offset, 3),
    "large": lambda offset: record_batch(offset, BIG),
    "transactional": lambda offset: record_batch(
        offset, [Record()], Header(producer=PRODUCER, is_transactional=True)
    ),
    "of another producer": lambda offset: record_batch(
        offset, [Record()], Header(producer=Producer(9, 1, 5), is_transactional=True)
    ),
    "idempotent": lambda offset: record_batch(
        offset, [Record(b"k", b"v", 7)], Header(producer=Producer(9, 0, offset))
    ),
    "of a new leader": lambda offset: record_batch(
        offset, [Record(b"k", b"v", offset)], Header(leader_epoch=1 + offset // 10)
    ),
    "marker": lambda offset: end_marker(offset, ControlType.COMMIT, producer_id=7),
    "empty": lambda offset: record_batch(offset, [], EMPTY),
    "append time": lambda offset: record_batch(offset, [Record()], APPENDED),
    "horizon": lambda offset: record_batch(offset, [Record()], Header(delete_horizon_ms=9)),
    "gzip": lambda offset: batch(offset, 2, Codec.GZIP),
    "zstd": lambda offset: batch(offset, 2, Codec.ZSTD),
    "codec 6": lambda offset: payload_batch(offset, b"?", Header(record_count=1), codec=6),
    "message": lambda offset: message(offset, Record(), 1),
    "wrapper": lambda offset: wrapper(offset, [Record(), Record()], 1, Codec.GZIP),
    "bad checksum": lambda offset: bad_crc(batch(offset)),
    "raised": lambda offset: with_offset(batch(offset), offset + 1),
    "lowered": lambda offset: with_offset(batch(offset), max(offset - 1, 0)),
    "far away": lambda offset: with_offset(batch(offset), LIMIT),
}


def laid_out_kinds(kinds: Sequence[str], *, step: int = 3, hole: int = 0) -> bytes:
    """Batches of these kinds, one each `step` offsets, with a hole in front of every third."""
    parts: list[EncodedBatch] = []
    offset = 0
    for place, kind in enumerate(kinds):
        offset += hole if place % 3 == 2 else 0
        parts.append(KINDS[kind](offset))
        offset += step
    return laid_out(*parts)
