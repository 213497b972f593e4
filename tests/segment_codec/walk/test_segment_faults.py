"""Every kind of damage in a segment: its code, what it costs, and how a segment may end."""

from dataclasses import dataclass, field

import pytest

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, TailKind
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Record,
    compressed,
    message,
    message_bytes,
    payload_batch,
    payload_wrapper,
    record_batch,
    with_right_checksum,
    with_right_message_checksum,
    wrapper,
)
from support.faults import bad_crc, batch, codes, with_length, with_magic
from support.walks import laid_out, units_of, walked

LIMIT = 4000

# Two brokers' logs differ, and chunks of a tier, which test_holes.py has: a segment cannot tell.
BEYOND_THE_CODEC = {DefectCode.REPLICA_CONFLICT, DefectCode.TIER_CHUNK_BAD}


@dataclass(frozen=True)
class Case:
    """A segment with one fault in its second batch, and what must be said of it."""

    middle: EncodedBatch | bytes
    code: DefectCode
    behind: bytes = field(default_factory=lambda: laid_out(batch(4), batch(6)))
    max_bytes: int = 1 << 20


INNER = message_bytes(0, Record(None, b"v"), 1)

CASES: dict[str, Case] = {
    "length_below_14": Case(with_length(batch(2), 13), DefectCode.BAD_LENGTH),
    "length_below_49": Case(with_length(batch(2), 48), DefectCode.BAD_LENGTH),
    "length_negative": Case(with_length(batch(2), -1), DefectCode.BAD_LENGTH),
    "length_past_end": Case(with_length(batch(2), 1 << 30), DefectCode.BAD_LENGTH),
    "length_into_the_next": Case(with_length(batch(2), 100), DefectCode.BAD_LENGTH),
    "length_v0_below_14": Case(
        with_length(message(2, Record(None, b"v"), 0), 13), DefectCode.BAD_LENGTH
    ),
    "garbage": Case(b"\xa5" * 90, DefectCode.BAD_LENGTH),
    "zeros": Case(bytes(100), DefectCode.ZERO_FILLED),
    "cut_at_the_end": Case(batch(2).data[:-9], DefectCode.TRUNCATED_BATCH, behind=b""),
    "few_bytes_at_the_end": Case(batch(2).data[:16], DefectCode.TRUNCATED_BATCH, behind=b""),
    "magic_3": Case(with_magic(batch(2), 3), DefectCode.UNSUPPORTED_MAGIC),
    "magic_negative": Case(with_magic(batch(2), 0x80), DefectCode.UNSUPPORTED_MAGIC),
    "crc": Case(bad_crc(batch(2)), DefectCode.CRC_MISMATCH),
    "crc_v0": Case(bad_crc(message(2, Record(None, b"val"), 0)), DefectCode.CRC_MISMATCH),
    "crc_v1": Case(bad_crc(message(2, Record(None, b"val"), 1)), DefectCode.CRC_MISMATCH),
    "crc_wrapper": Case(
        bad_crc(wrapper(2, [Record(None, b"val")], 1, Codec.GZIP)), DefectCode.CRC_MISMATCH
    ),
    "codec": Case(
        payload_batch(2, b"?", Header(record_count=1), codec=5), DefectCode.UNSUPPORTED_CODEC
    ),
    "codec_wrapper": Case(payload_wrapper(2, b"?", 1, 4), DefectCode.UNSUPPORTED_CODEC),
    "stream": Case(
        payload_batch(2, b"?", Header(record_count=1), codec=1), DefectCode.DECOMPRESSION_FAILED
    ),
    "limit": Case(batch(2, codec=Codec.GZIP), DefectCode.DECOMPRESSION_LIMIT, max_bytes=10),
    "count": Case(
        record_batch(2, [Record()], Header(record_count=2)), DefectCode.RECORD_COUNT_MISMATCH
    ),
    "record": Case(
        payload_batch(2, b"\1" * 9, Header(record_count=1)), DefectCode.MALFORMED_RECORD
    ),
    "message_lengths": Case(
        EncodedBatch(message_bytes(2, Record(None, b"v"), 0)[:-1], 2, 2, -1),
        DefectCode.TRUNCATED_BATCH,
        behind=b"",
    ),
    "inner_crc": Case(
        payload_wrapper(2, compressed(INNER[:-1] + b"w", Codec.GZIP), 1, 1),
        DefectCode.INNER_CRC_MISMATCH,
    ),
    "nested": Case(
        payload_wrapper(
            2, compressed(message_bytes(0, Record(None, b"v"), 1, 1), Codec.GZIP), 1, 1
        ),
        DefectCode.NESTED_WRAPPER,
    ),
    "before_the_segment": Case(batch(-5), DefectCode.OFFSET_OUT_OF_SEGMENT),
    "behind_the_segment": Case(batch(LIMIT - 1), DefectCode.OFFSET_OUT_OF_SEGMENT),
    "message_before_the_segment": Case(message(-5, Record(), 1), DefectCode.OFFSET_OUT_OF_SEGMENT),
    "message_lowest_offset": Case(
        message(-(1 << 63), Record(), 1), DefectCode.OFFSET_OUT_OF_SEGMENT
    ),
    "twice": Case(batch(0), DefectCode.OFFSET_OUT_OF_ORDER),
    "overlap": Case(batch(1), DefectCode.OFFSET_OUT_OF_ORDER),
    "raised": Case(batch(3), DefectCode.OFFSET_CONTRADICTED),
    "message_twice": Case(message(1, Record(), 0), DefectCode.OFFSET_OUT_OF_ORDER),
}


def test_every_code_has_a_case() -> None:
    assert {case.code for case in CASES.values()} | BEYOND_THE_CODEC == set(DefectCode)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("is_last", [False, True], ids=["earlier", "last"])
def test_fault_has_its_code_and_costs_no_other_batch(case: Case, is_last: bool) -> None:
    start = laid_out(batch(0))
    content = laid_out(start, case.middle, case.behind)
    items = walked(content, limit_offset=LIMIT, is_last=is_last and bool(case.behind))
    limits = [case.max_bytes if item.position == len(start) else 1 << 20 for item in items]
    found = [
        code for item, limit in zip(items, limits, strict=True) for code in codes([item], limit)
    ]
    assert found == [case.code]
    defective = [item for item in items if isinstance(item, Defect)]
    for defect in defective:
        assert (defect.position, defect.expected_offset) == (len(start), 2)
        assert defect.size_bytes == len(content) - len(start) - len(case.behind)
    valid = [unit.first_offset for unit in units_of(items) if unit.position != len(start)]
    assert valid == ([0, 4, 6] if case.behind else [0])


TAILS: dict[str, tuple[bytes, TailKind]] = {
    "an_offset": (batch(2).data[:8], TailKind.TORN),
    "sixteen_bytes": (batch(2).data[:16], TailKind.TORN),
    "header_only": (batch(2).data[:17], TailKind.TORN),
    "one_byte_less": (batch(2).data[:-1], TailKind.TORN),
    "message_cut": (message(2, Record(None, b"value"), 1).data[:-1], TailKind.TORN),
    "zero_byte": (bytes(1), TailKind.ZERO),
    "zeros": (bytes(5000), TailKind.ZERO),
    "bad_crc": (bad_crc(batch(2)).data, TailKind.UNFLUSHED),
    "bad_crc_then_zeros": (bad_crc(batch(2)).data + bytes(80), TailKind.UNFLUSHED),
    "bad_crc_twice": (laid_out(bad_crc(batch(2)), bad_crc(batch(4))), TailKind.UNFLUSHED),
    "bad_crc_then_cut": (laid_out(bad_crc(batch(2)), batch(4).data[:-1]), TailKind.UNFLUSHED),
    "bad_crc_message": (
        bad_crc(message(2, Record(None, b"val"), 1)).data,
        TailKind.UNFLUSHED,
    ),
}


def test_every_tail_has_a_case() -> None:
    assert {kind for _, kind in TAILS.values()} == set(TailKind)


@pytest.mark.parametrize(("end", "kind"), TAILS.values(), ids=TAILS.keys())
def test_end_of_the_last_segment_is_a_tail(end: bytes, kind: TailKind) -> None:
    start = laid_out(batch(0))
    items = walked(start + end, is_last=True, durable_offset=2)
    assert items[1:] == [Tail(len(start), len(end), kind)]


@pytest.mark.parametrize(("end", "kind"), TAILS.values(), ids=TAILS.keys())
def test_the_same_bytes_end_an_earlier_segment_as_a_defect(end: bytes, kind: TailKind) -> None:
    items = walked(laid_out(batch(0)) + end, is_last=False)
    expected = {
        TailKind.TORN: {DefectCode.TRUNCATED_BATCH},
        TailKind.ZERO: {DefectCode.ZERO_FILLED},
        TailKind.UNFLUSHED: {
            DefectCode.CRC_MISMATCH,
            DefectCode.TRUNCATED_BATCH,
            DefectCode.ZERO_FILLED,
            DefectCode.BAD_LENGTH,
        },
    }[kind]
    found = [item.code if isinstance(item, Defect) else item for item in items[1:]]
    if end.endswith(bytes(80)) and kind is TailKind.UNFLUSHED:
        assert found[0] is DefectCode.CRC_MISMATCH
    assert set(found) <= expected


def test_zeros_end_an_earlier_segment_unharmed_when_no_offset_is_missing() -> None:
    content = laid_out(batch(0)) + bytes(300)
    assert walked(content, limit_offset=2)[-1] == Tail(len(content) - 300, 300, TailKind.ZERO)
    (defect,) = walked(content, limit_offset=3)[1:]
    assert isinstance(defect, Defect)
    assert defect.code is DefectCode.ZERO_FILLED


def test_bad_checksum_below_the_settled_offset_is_damage() -> None:
    content = laid_out(batch(0), bad_crc(batch(2)))
    for durable_offset in (0, 2):
        (tail,) = walked(content, is_last=True, durable_offset=durable_offset)[1:]
        assert isinstance(tail, Tail)
    (defect,) = walked(content, is_last=True, durable_offset=3)[1:]
    assert isinstance(defect, Defect)
    assert defect.code is DefectCode.CRC_MISMATCH


def test_bad_checksum_before_a_valid_batch_is_damage_in_the_last_segment_too() -> None:
    content = laid_out(batch(0), bad_crc(batch(2)), batch(4))
    assert codes(walked(content, is_last=True), 1 << 20) == [DefectCode.CRC_MISMATCH]


def test_claims_of_a_defect_are_those_of_the_header() -> None:
    broken = bad_crc(batch(2))
    item = walked(laid_out(batch(0), broken, batch(4)))[1]
    assert isinstance(item, Defect)
    stored = int.from_bytes(broken.data[17:21], "big")
    assert (item.base_offset, item.magic, item.expected_crc) == (2, 2, stored)
    repaired = with_right_checksum(broken.data)
    assert item.computed_crc == int.from_bytes(repaired[17:21], "big")


ORDER: dict[str, tuple[EncodedBatch, DefectCode]] = {
    "length_before_magic": (with_length(with_magic(batch(2), 9), 13), DefectCode.BAD_LENGTH),
    "magic_before_crc": (bad_crc(with_magic(batch(2), 9)), DefectCode.UNSUPPORTED_MAGIC),
    "crc_before_codec": (
        bad_crc(payload_batch(2, b"?????", Header(record_count=1), codec=5)),
        DefectCode.CRC_MISMATCH,
    ),
    "crc_before_place": (bad_crc(batch(0)), DefectCode.CRC_MISMATCH),
    "segment_before_order": (batch(-5), DefectCode.OFFSET_OUT_OF_SEGMENT),
    "message_crc_before_place": (
        bad_crc(message(0, Record(None, b"val"), 1)),
        DefectCode.CRC_MISMATCH,
    ),
}


@pytest.mark.parametrize(("middle", "code"), ORDER.values(), ids=ORDER.keys())
def test_of_two_faults_the_earlier_check_gives_the_code(
    middle: EncodedBatch, code: DefectCode
) -> None:
    items = walked(laid_out(batch(0), middle, batch(4)), limit_offset=LIMIT)
    assert codes(items, 1 << 20) == [code]


@pytest.mark.parametrize("magic", [0, 1])
def test_message_whose_lengths_lie_is_malformed(magic: int) -> None:
    broken = message_bytes(2, Record(b"k", b"value"), magic)
    broken = broken[:-9] + (4).to_bytes(4, "big") + broken[-5:]
    items = walked(laid_out(batch(0), with_right_message_checksum(broken), batch(4)))
    assert codes(items, 1 << 20) == [DefectCode.MALFORMED_RECORD]
