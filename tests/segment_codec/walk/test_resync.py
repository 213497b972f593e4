"""Finding the way behind bytes that do not say how long they are."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.walk.segment import Item
from support.encoder import Codec, EncodedBatch, Record, message, record_batch, wrapper
from support.walk_work import counted_work
from support.walks import laid_out, units_of, walked
from torture.hostile.bombs import claims_between_batches, headers_that_claim_the_rest

Parts = list[EncodedBatch | bytes]


def batch(offset: int, value: bytes = b"some text", codec: Codec = Codec.NONE) -> EncodedBatch:
    return record_batch(offset, [Record(None, value)], codec=codec)


def lengthless(part: EncodedBatch) -> bytes:
    return part.data[:8] + b"\xff\xff\xff\xff" + part.data[12:]


def spans(items: list[Item]) -> list[tuple[str, int]]:
    return [
        (item.code if isinstance(item, Defect) else "tail", item.size_bytes)
        if isinstance(item, Defect | Tail)
        else ("unit", item.first_offset)
        for item in items
    ]


def test_bad_length_reaches_to_the_next_valid_batch() -> None:
    content = laid_out(batch(0), lengthless(batch(1)), batch(2), batch(3))
    size_bytes = len(batch(1).data)
    assert spans(walked(content)) == [
        ("unit", 0),
        ("bad_length", size_bytes),
        ("unit", 2),
        ("unit", 3),
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_old_formats_are_found_again_too(codec: Codec) -> None:
    records = [Record(None, b"value")]
    good = message(2, records[0], 0) if codec is Codec.NONE else wrapper(2, records, 0, codec)
    content = laid_out(batch(0), lengthless(message(1, records[0], 1)), good, batch(3))
    assert [kind for kind, _ in spans(walked(content))] == ["unit", "bad_length", "unit", "unit"]


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize(
    "outer",
    [
        lambda value: record_batch(1, [Record(None, value)]),
        lambda value: record_batch(1, [Record(None, value), Record(None, b"more")]),
        lambda value: record_batch(1, [Record(value, value)]),
        lambda value: message(1, Record(None, value), 0),
        lambda value: message(1, Record(value, None), 1),
        lambda value: message(1, Record(value, value), 1),
    ],
    ids=["batch", "batch_of_two", "batch_key", "v0", "v1_key", "v1_both"],
)
@pytest.mark.parametrize("end", [b"", bytes(99), batch(5).data], ids=["end", "zeros", "more"])
def test_batches_inside_a_value_are_never_mistaken_for_real_ones(
    outer: Callable[[bytes], EncodedBatch], end: bytes, is_last: bool
) -> None:
    value = laid_out(batch(2, b"inside"), batch(3, b"inside"), message(4, Record(b"inside"), 0))
    content = laid_out(batch(0), lengthless(outer(value)), end)
    found = [unit.first_offset for unit in units_of(walked(content, is_last=is_last))]
    assert found == ([0, 5] if len(end) > 0 and any(end) else [0])


def test_batches_inside_an_old_value_are_not_found_by_the_search_for_another_format() -> None:
    value = laid_out(batch(3, b"inside"), batch(4, b"inside"))
    outer = message(2, Record(None, value), 1).data
    endless = outer[:8] + (1 << 30).to_bytes(4, "big") + outer[12:]
    content = laid_out(batch(0), bad_crc(batch(1)), endless, batch(5))
    found = [unit.first_offset for unit in units_of(walked(content, is_last=True))]
    assert found == [0, 5]


def test_what_a_search_found_is_passed_over_once_higher_offsets_were_read() -> None:
    parts: Parts = [
        batch(0),
        bad_crc(batch(1)),
        batch(9),
        lengthless(batch(2)),
        batch(3),
        batch(10),
    ]
    items = walked(laid_out(*parts), is_last=True, compares_neighbours=False)
    kinds = ["unit", DefectCode.CRC_MISMATCH, "unit", DefectCode.BAD_LENGTH, "unit"]
    assert [kind for kind, _ in spans(items)] == kinds
    assert [unit.first_offset for unit in units_of(items)] == [0, 9, 10]


def test_two_damaged_places() -> None:
    parts: Parts = [
        batch(0),
        lengthless(batch(1)),
        batch(2),
        batch(3),
        lengthless(batch(4)),
        batch(5),
    ]
    kinds = [kind for kind, _ in spans(walked(laid_out(*parts)))]
    assert kinds == ["unit", "bad_length", "unit", "unit", "bad_length", "unit"]


def test_valid_batch_between_two_damaged_headers() -> None:
    parts: Parts = [batch(0), lengthless(batch(1)), batch(2), b"\xa5" * 70, batch(3), batch(4)]
    content = laid_out(*parts)
    assert [unit.first_offset for unit in units_of(walked(content))] == [0, 3, 4]
    anchor = len(batch(0).data) * 2
    found = units_of(walked(content, anchors=lambda: (anchor,)))
    assert [unit.first_offset for unit in found] == [0, 2, 3, 4]


def test_anchor_that_is_no_batch_start_misleads_no_one() -> None:
    content = laid_out(batch(0), lengthless(batch(1)), batch(2), batch(3))
    for anchors in (tuple(range(len(content))), (-5, 0, 7, len(content), 1 << 40)):
        assert spans(walked(content, anchors=partial(tuple, anchors))) == spans(walked(content))


def test_anchors_are_asked_for_only_where_there_is_damage() -> None:
    calls = []

    def anchors() -> tuple[int, ...]:
        calls.append(1)
        return ()

    walked(laid_out(batch(0), batch(1)), anchors=anchors)
    assert not calls
    content = laid_out(
        *(part for i in range(0, 8, 2) for part in (lengthless(batch(i)), batch(i + 1)))
    )
    walked(content, anchors=anchors)
    assert len(calls) == 1


def test_damage_at_the_end_of_an_earlier_segment() -> None:
    content = laid_out(batch(0), lengthless(batch(1)))
    assert spans(walked(content)) == [("unit", 0), ("bad_length", len(batch(1).data))]


def test_damage_at_the_end_of_the_last_segment() -> None:
    content = laid_out(batch(0), lengthless(batch(1)))
    assert spans(walked(content, is_last=True)) == [("unit", 0), ("bad_length", len(batch(1).data))]


def test_damage_at_the_start_of_a_segment() -> None:
    content = laid_out(lengthless(batch(0)), batch(1))
    assert [kind for kind, _ in spans(walked(content))] == ["bad_length", "unit"]


@pytest.mark.parametrize("end", [b"", bytes(5), bytes(40), batch(3).data[:12], batch(3).data[:40]])
def test_find_counts_when_the_file_ends_behind_it(end: bytes) -> None:
    content = laid_out(lengthless(batch(1)), batch(2), end)
    assert [unit.first_offset for unit in units_of(walked(content, is_last=True))] == (
        [2] if len(end) != 5 else []
    )


def test_zero_filled_span_before_the_next_batch() -> None:
    content = laid_out(batch(0), bytes(4096), batch(1))
    assert spans(walked(content)) == [("unit", 0), ("zero_filled", 4096), ("unit", 1)]
    content = laid_out(batch(0), bytes(4095), b"\1", batch(1))
    assert spans(walked(content)) == [("unit", 0), ("bad_length", 4096), ("unit", 1)]


def test_zeroed_page_costs_the_batches_it_touches() -> None:
    parts = [batch(offset, b"v" * 200) for offset in range(100)]
    content = bytearray(laid_out(*parts))
    content[4096:8192] = bytes(4096)
    size_bytes = len(parts[0].data)
    whole = set(range(100)) - set(range(4096 // size_bytes, -(-8192 // size_bytes)))
    items = walked(bytes(content))
    assert {unit.first_offset for unit in units_of(items)} == whole
    assert [item.code for item in items if isinstance(item, Defect)] == [DefectCode.BAD_LENGTH]


def test_wrong_length_that_lands_on_something_like_a_header_costs_no_valid_batch() -> None:
    lookalike = (7).to_bytes(8, "big") + (40).to_bytes(4, "big") + bytes(4) + b"\0" + bytes(60)
    behind = [batch(1), batch(2, lookalike), batch(3)]
    place = laid_out(*behind).index(lookalike)
    wrong = len(batch(0).data) + place - 12
    broken = batch(0).data[:8] + wrong.to_bytes(4, "big") + b"\xaa" + batch(0).data[13:40]
    broken += b"\xfe" + batch(0).data[41:]
    found = [unit.first_offset for unit in units_of(walked(laid_out(broken, *behind)))]
    assert found == [1, 2, 3]


def test_wrong_length_that_lands_on_the_end_costs_no_valid_batch() -> None:
    behind = laid_out(batch(1), batch(2))
    broken = batch(0).data[:8] + (len(batch(0).data + behind) - 12).to_bytes(4, "big")
    content = broken + batch(0).data[12:40] + b"\xfe" + batch(0).data[41:] + behind
    assert [unit.first_offset for unit in units_of(walked(content))] == [1, 2]


def test_found_across_the_pieces_of_the_scan() -> None:
    for filling in range((1 << 20) - 130, (1 << 20) + 10, 7):
        content = laid_out(lengthless(batch(0)), b"\xa5" * filling, batch(1), batch(2))
        assert len(units_of(walked(content))) == 2, filling


@pytest.mark.parametrize("magic", [1, 2])
def test_length_that_ends_where_a_later_batch_begins_hides_none(magic: int) -> None:
    """Its checksum holds up to the next batch, so it is the length that is false."""
    parts = [
        batch(n) if magic == 2 else wrapper(n, [Record(None, b"%d" % n)], 1, Codec.GZIP)
        for n in range(5)
    ]
    size = len(parts[1].data) + len(parts[2].data) - 12
    data = parts[1].data
    content = laid_out(parts[0], data[:8] + size.to_bytes(4, "big") + data[12:], *parts[2:])
    items = walked(content)
    assert [unit.last_offset for unit in units_of(items)] == [0, 2, 3, 4]
    assert spans(items)[1] == (DefectCode.BAD_LENGTH, len(data))


def test_checksum_of_no_bytes_proves_no_length() -> None:
    """A field of 0 is the checksum of no bytes, so a header right behind it would be an end."""
    header = bytes(7) + b"\x02" + (20).to_bytes(4, "big") + b"\xff" * 4 + bytes(2)
    damaged = (1).to_bytes(8, "big") + (58).to_bytes(4, "big") + bytes(1) + header
    damaged += b"\xff" * (70 - len(damaged))
    items = walked(laid_out(batch(0), damaged, batch(2)))
    assert spans(items)[1:2] == [(DefectCode.CRC_MISMATCH, 70)]


def counted(content: bytes, most_looks: int, **facts: Any) -> list[Item]:
    """Walk a segment, and look at no byte more than `most_looks` times on average."""
    with counted_work() as work:
        items = walked(content, window_bytes=4 << 20, **facts)
    assert work.looks < len(content)
    assert work.looked_bytes < most_looks * len(content)
    return items


def bad_crc(part: EncodedBatch) -> bytes:
    return part.data[:-3] + b"\xfe\xfe" + part.data[-1:]


def test_long_row_of_bad_checksums_is_searched_once() -> None:
    parts = [bad_crc(batch(offset, b"v" * 4000)) for offset in range(4000)]
    content = laid_out(batch(0, b""), *parts[1:], batch(4000))
    items = counted(content, 10, is_last=True)
    assert len(items) == 4001
    assert {item.code for item in items if isinstance(item, Defect)} == {DefectCode.CRC_MISMATCH}


def test_many_damaged_lengths_take_linear_work() -> None:
    parts = [batch(i, b"v" * 2000).data if i % 2 else lengthless(batch(i)) for i in range(6000)]
    assert len(units_of(counted(laid_out(*parts), 6))) == 3000


def test_many_damaged_messages_take_linear_work() -> None:
    huge = (1 << 31) - 1
    parts = []
    for offset in range(3000):
        data = message(offset, Record(None, b"v" * 1000), 0).data
        parts.append(data if offset % 2 else data[:8] + huge.to_bytes(4, "big") + data[12:])
    assert len(units_of(counted(laid_out(*parts), 3))) == 1500


def test_batches_within_batches_take_linear_work() -> None:
    inside = laid_out(*(batch(offset, b"inside") for offset in range(1, 40_000)))
    content = laid_out(lengthless(record_batch(0, [Record(None, inside)])), batch(50_000))
    assert [unit.first_offset for unit in units_of(counted(content, 16))] == [50_000]


@pytest.mark.parametrize("magic", [1, 2])
def test_headers_that_claim_the_rest_of_the_file_take_linear_work(magic: int) -> None:
    content = headers_that_claim_the_rest(magic, 800_000)
    assert units_of(counted(content, 500)) == []


@pytest.mark.parametrize("magic", [1, 2])
def test_batches_between_headers_that_claim_the_rest_take_linear_work(magic: int) -> None:
    assert len(units_of(counted(claims_between_batches(magic, 2000), 1500))) == 2000


def test_a_false_length_is_found_out_behind_many_headers_that_claim_the_rest() -> None:
    parts = [batch(3000 + n, batch(n).data).data for n in range(3)]
    size = len(parts[0]) + len(parts[1]) - 12
    false = parts[0][:8] + size.to_bytes(4, "big") + parts[0][12:]
    items = counted(claims_between_batches(1, 3000) + false + b"".join(parts[1:]), 1000)
    assert [unit.first_offset for unit in units_of(items)][-2:] == [3001, 3002]


def test_batches_of_another_segment_take_linear_work() -> None:
    parts = [batch((1 << 40) + offset, b"") for offset in range(2500)]
    items = counted(laid_out(*parts), 3)
    assert {item.code for item in items if isinstance(item, Defect)} == {
        DefectCode.OFFSET_OUT_OF_SEGMENT
    }
