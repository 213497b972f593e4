"""What a walk makes of a segment: each defect code, each tail, and which of two faults counts."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from segment_codec.errors import DefectCode, DefectError, OutOfBoundsError, TailKind
from segment_codec.message_set import MessageRun
from segment_codec.offset_order import OffsetOrder
from segment_codec.record_batch import RecordBatch
from segment_codec.segment import Defect, Item, Tail
from support.decoders import by_both
from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Record,
    compressed,
    end_marker,
    message,
    message_bytes,
    payload_batch,
    payload_wrapper,
    record_batch,
    with_right_checksum,
    with_right_message_checksum,
    wrapper,
)
from support.walks import laid_out, units_of, walked

LIMIT = 4000
BEYOND_THE_CODEC = {DefectCode.REPLICA_CONFLICT}  # two brokers' logs differ: a segment cannot tell


def batch(offset: int, count: int = 2, codec: Codec = Codec.NONE) -> EncodedBatch:
    return record_batch(
        offset, [Record(b"k", b"some text %d" % i) for i in range(count)], codec=codec
    )


def changed(part: EncodedBatch, position: int, content: bytes) -> EncodedBatch:
    end = position + len(content)
    return part._replace(data=part.data[:position] + content + part.data[end:])


def bad_crc(part: EncodedBatch) -> EncodedBatch:
    return changed(part, len(part.data) - 3, b"\xfe\xfe")


def with_magic(part: EncodedBatch, magic: int) -> EncodedBatch:
    return changed(part, 16, bytes([magic]))


def with_length(part: EncodedBatch, length: int) -> EncodedBatch:
    return changed(part, 8, length.to_bytes(4, "big", signed=True))


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
    "last_delta": Case(
        record_batch(2, [Record()], Header(last_offset_delta=-1)), DefectCode.MALFORMED_RECORD
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
    "message_twice": Case(message(1, Record(), 0), DefectCode.OFFSET_OUT_OF_ORDER),
}


def codes(items: list[Item], max_bytes: int) -> list[DefectCode]:
    """The defects in the order of the bytes, those that only decoding finds among them."""
    found = []
    for item in items:
        if isinstance(item, Defect):
            found.append(item.code)
        elif not isinstance(item, Tail):
            outcome = by_both(item, max_bytes if item.position else 1 << 20)
            if isinstance(outcome, DefectError):
                found.append(outcome.code)
    return found


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
    sound = [unit.first_offset for unit in units_of(items) if unit.position != len(start)]
    assert sound == ([0, 4, 6] if case.behind else [0])


TAILS: dict[str, tuple[bytes, TailKind]] = {
    "one_byte": (b"\1", TailKind.TORN),
    "sixteen_bytes": (batch(2).data[:16], TailKind.TORN),
    "header_only": (batch(2).data[:17], TailKind.TORN),
    "one_byte_less": (batch(2).data[:-1], TailKind.TORN),
    "message_cut": (message(2, Record(None, b"value"), 1).data[:-1], TailKind.TORN),
    "zero_byte": (bytes(1), TailKind.ZERO),
    "zeros": (bytes(5000), TailKind.ZERO),
    "garbage": (b"\xa5" * 80, TailKind.GARBAGE),
    "cut_with_an_offset_of_the_past": (batch(1).data[:-1], TailKind.GARBAGE),
    "zeros_then_garbage": (bytes(50) + b"\xa5" * 50, TailKind.GARBAGE),
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
    items = walked(start + end, is_last=True, settled_offset=2)
    assert items[1:] == [Tail(len(start), len(end), kind)]


@pytest.mark.parametrize(("end", "kind"), TAILS.values(), ids=TAILS.keys())
def test_the_same_bytes_end_an_earlier_segment_as_a_defect(end: bytes, kind: TailKind) -> None:
    items = walked(laid_out(batch(0)) + end, is_last=False)
    expected = {
        TailKind.TORN: {DefectCode.TRUNCATED_BATCH},
        TailKind.ZERO: {DefectCode.ZERO_FILLED},
        TailKind.GARBAGE: {DefectCode.BAD_LENGTH},
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
    for settled_offset in (0, 2):
        (tail,) = walked(content, is_last=True, settled_offset=settled_offset)[1:]
        assert isinstance(tail, Tail)
    (defect,) = walked(content, is_last=True, settled_offset=3)[1:]
    assert isinstance(defect, Defect)
    assert defect.code is DefectCode.CRC_MISMATCH


def test_bad_checksum_before_a_sound_batch_is_damage_in_the_last_segment_too() -> None:
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
    "delta_before_place": (
        record_batch(0, [Record()], Header(last_offset_delta=-1)),
        DefectCode.MALFORMED_RECORD,
    ),
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


def test_batch_that_came_late_is_taken_once() -> None:
    content = laid_out(batch(0), batch(6), batch(2), batch(4), batch(2), batch(8))
    items = walked(content)
    assert [unit.first_offset for unit in units_of(items)] == [0, 6, 2, 4, 8]
    assert codes(items, 1 << 20) == [DefectCode.OFFSET_OUT_OF_ORDER]


def test_messages_that_came_late_are_a_run_that_ends_where_the_order_is_right_again() -> None:
    late = [message(offset, Record(), 1) for offset in (2, 3, 7, 8)]
    items = walked(laid_out(batch(0), batch(5), *late))
    spans = [(unit.first_offset, unit.last_offset) for unit in units_of(items)]
    assert spans == [(0, 1), (5, 6), (2, 3), (7, 8)]


def test_order_goes_on_in_the_next_segment() -> None:
    order = OffsetOrder(0)
    walked(laid_out(batch(0), batch(2)), order=order, limit_offset=4)
    (item,) = walked(laid_out(batch(4)), base_offset=4, order=order)
    assert isinstance(item, RecordBatch)
    (again,) = walked(laid_out(batch(2)), base_offset=0, order=order)
    assert isinstance(again, Defect)
    assert (again.code, again.expected_offset) == (DefectCode.OFFSET_OUT_OF_ORDER, 6)


@pytest.mark.parametrize("breaks", [(), (3,), (1, 3, 5), (0, 99)], ids=str)
def test_run_ends_where_it_is_told_to(breaks: tuple[int, ...]) -> None:
    content = laid_out(*(message(offset, Record(None, b"v"), 0) for offset in range(6)))
    runs = units_of(walked(content, run_breaks=breaks))
    inside = [0, *(each for each in breaks if 0 < each < 6)]
    assert [run.first_offset for run in runs] == inside
    assert sum(run.message_count for run in runs if isinstance(run, MessageRun)) == 6


@pytest.mark.parametrize(
    "other",
    [
        message(3, Record(None, b"v"), 0),
        message(3, Record(None, b"v"), 1, log_append_time_ms=5),
        wrapper(3, [Record(None, b"v")], 1, Codec.GZIP),
        batch(3, 1),
    ],
    ids=["magic_0", "append_time", "wrapper", "batch"],
)
def test_run_holds_messages_of_one_kind(other: EncodedBatch) -> None:
    same = [message(offset, Record(None, b"v"), 1) for offset in range(6)]
    runs = units_of(walked(laid_out(*same[:3], other, *same[4:])))
    assert [(run.first_offset, run.last_offset) for run in runs] == [(0, 2), (3, 3), (4, 5)]


def test_run_is_found_whole_whatever_the_window_reads() -> None:
    content = laid_out(*(message(offset, Record(None, b"v" * 50), 1) for offset in range(100)))
    for window_bytes in (17, 90, 100, 1000, 1 << 20):
        (run,) = units_of(walked(content, window_bytes=window_bytes))
        assert isinstance(run, MessageRun)
        assert run.message_count == 100


def test_stop_inside_a_file_ends_the_walk() -> None:
    parts = [batch(0), batch(2), *(message(i, Record(), 0) for i in range(4, 8)), batch(8)]
    content = laid_out(*parts)
    stop = len(content) - len(parts[-1].data) - len(parts[-2].data)
    items = walked(content, stop=stop)
    assert [unit.last_offset for unit in units_of(items)] == [1, 3, 6]
    rest = walked(content, order=OffsetOrder(7), start=stop)
    assert [unit.last_offset for unit in units_of(rest)] == [7, 9]


def test_damage_before_a_stop_ends_at_the_stop() -> None:
    first = with_length(batch(0), len(batch(0).data) * 2 - 12)  # claims the next batch as well
    content = laid_out(first, batch(2), batch(4))
    stop = len(first.data)
    (item,) = walked(content, stop=stop)
    assert isinstance(item, Defect)
    assert (item.code, item.size_bytes) == (DefectCode.BAD_LENGTH, stop)


def test_headers_only_is_the_full_walk_on_sound_data() -> None:
    marker = end_marker(8, ControlType.COMMIT, producer_id=3)
    content = laid_out(
        batch(0),
        message(2, Record(None, b"v"), 0),
        wrapper(3, [Record(None, b"v")] * 2, 1, Codec.GZIP),
        batch(6, codec=Codec.ZSTD),
        marker,
        record_batch(9, [], Header(last_offset_delta=3)),
    )
    full, quick = walked(content), walked(content, headers_only=True)
    assert list(map(without_payload, quick)) == list(map(without_payload, full))
    payloads = [bytes(item.payload) for item in quick if isinstance(item, RecordBatch)]
    assert payloads == [b"", b"", marker.data[61:], b""]


@pytest.mark.parametrize(
    "part",
    [
        bad_crc(end_marker(2, ControlType.ABORT, producer_id=3)),
        record_batch(2, [Record()], Header(last_offset_delta=-1)),
    ],
    ids=["marker", "last_delta"],
)
def test_headers_only_checks_what_it_relies_on(part: EncodedBatch) -> None:
    items = walked(laid_out(batch(0), part, batch(4)), headers_only=True)
    assert [isinstance(item, Defect) for item in items] == [False, True, False]


def without_payload(item: Item) -> Any:
    if isinstance(item, RecordBatch):
        return (item.position, item.size_bytes, item.header)
    return item


def test_position_outside_the_file_is_a_bad_call() -> None:
    with pytest.raises(OutOfBoundsError):
        walked(laid_out(batch(0)), start=-1)
