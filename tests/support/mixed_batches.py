"""Logs in which batches of all kinds follow each other, sound and odd ones."""

from collections.abc import Collection, Sequence

from hypothesis import strategies as st

from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Producer,
    Record,
    control_record,
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

CONTROL = Header(producer=PRODUCER, is_transactional=True, is_control=True)
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
    "abort": lambda offset: end_marker(offset, ControlType.ABORT, producer_id=9),
    "leader change": lambda offset: record_batch(offset, [control_record(2)], CONTROL),
    "empty": lambda offset: record_batch(offset, [], EMPTY),
    "append time": lambda offset: record_batch(offset, [Record()], APPENDED),
    "horizon": lambda offset: record_batch(offset, [Record()], Header(delete_horizon_ms=9)),
    "gzip": lambda offset: batch(offset, 2, Codec.GZIP),
    "zstd": lambda offset: batch(offset, 2, Codec.ZSTD),
    "gzip of another producer": lambda offset: record_batch(
        offset,
        [Record(b"k", b"v", n) for n in range(3)],
        Header(producer=Producer(9, 1, 5), is_transactional=True),
        codec=Codec.GZIP,
    ),
    "codec 6": lambda offset: payload_batch(offset, b"?", Header(record_count=1), codec=6),
    "message": lambda offset: message(offset, Record(), 1),
    "wrapper": lambda offset: wrapper(offset, [Record(), Record()], 1, Codec.GZIP),
    "bad checksum": lambda offset: bad_crc(batch(offset)),
    "raised": lambda offset: with_offset(batch(offset), offset + 1),
    "lowered": lambda offset: with_offset(batch(offset), max(offset - 1, 0)),
    "far away": lambda offset: with_offset(batch(offset), LIMIT),
}


_IN_RUNS = (
    *("plain", "of three", "gzip", "empty", "idempotent", "of a new leader"),
    *("transactional", "of another producer", "gzip of another producer", "marker", "abort"),
)


def drawn_kinds(odd: Collection[str] = tuple(KINDS)) -> st.SearchStrategy[list[str]]:
    """Patterns of what a run takes that are repeated, with at most two odd ones anywhere."""
    pattern = st.lists(st.sampled_from(_IN_RUNS), min_size=1, max_size=5)
    others = st.dictionaries(st.integers(0, 60), st.sampled_from(sorted(odd)), max_size=2)
    return st.builds(_with_others, pattern, st.integers(1, 20), others)


def _with_others(pattern: list[str], repeats: int, others: dict[int, str]) -> list[str]:
    return [others.get(place, kind) for place, kind in enumerate(pattern * repeats)]


def laid_out_kinds(
    kinds: Sequence[str], *, step: int = 3, hole: int = 0, first_offset: int = 0
) -> bytes:
    """Batches of these kinds, one each `step` offsets, with a hole in front of every third."""
    parts: list[EncodedBatch] = []
    offset = first_offset
    for place, kind in enumerate(kinds):
        offset += hole if place % 3 == 2 else 0
        parts.append(KINDS[kind](offset))
        offset += step
    return laid_out(*parts)
