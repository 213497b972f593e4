"""False offsets: no batch comes out at an offset that its neighbours disprove."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.offset_places import claims_of, first_offset_of
from seglake.segment_codec.walk.segment import Item
from seglake.segment_codec.walk.segment_bounds import limit_after
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Record,
    message,
    positions_of,
    record_batch,
    wrapper,
)
from support.faults import bad_crc, with_offset
from support.walks import laid_out, units_of, walked

Span = tuple[int, int]

KINDS = ("batch", "wrapper_0", "wrapper_1", "message_0", "message_1")


def made(kind: str, span: Span) -> EncodedBatch:
    """A batch of one format with a record for each offset of [start, stop)."""
    start, stop = span
    records = [Record(None, b"v%d" % offset) for offset in range(start, stop)]
    if kind == "batch":
        return record_batch(start, records)
    name, magic = kind.split("_")
    if name == "wrapper":
        return wrapper(start, records, int(magic), Codec.GZIP)
    return message(start, records[0], int(magic))


def spans(kind: str, counts: Sequence[int], start: int = 0) -> list[Span]:
    found: list[Span] = []
    for count in counts:
        found.append((start, start + (1 if kind.startswith("message") else count)))
        start = found[-1][1]
    return found


def moved(batch: EncodedBatch, first: int) -> EncodedBatch:
    """The batch with the offset that says it begins there."""
    stored = int.from_bytes(batch.data[:8], "big", signed=True)
    return with_offset(batch, stored + first - batch.base_offset)


def claimed(units: Sequence[Unit]) -> dict[int, int]:
    """Where each batch or message begins, by its position."""
    found: dict[int, int] = {}
    for unit in units:
        if isinstance(unit, MessageRun):
            found |= {claim.position: claim.first_offset for claim in claims_of(unit)}
        else:
            first = first_offset_of(unit)
            assert first is not None
            found[unit.position] = first
    return found


def reasons(items: Sequence[Item]) -> list[tuple[DefectCode, str]]:
    return [(item.code, item.detail) for item in items if isinstance(item, Defect)]


def as_spans(items: Sequence[Item]) -> list[Span]:
    return [(first_offset_of(unit) or 0, unit.last_offset + 1) for unit in units_of(items)]


@pytest.mark.parametrize("kind", KINDS)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=7),
    st.integers(0, 6),
    st.lists(st.integers(0, 63), min_size=1, max_size=3, unique=True),
    st.booleans(),
    st.booleans(),
)
def test_of_flipped_offsets_only_the_batch_itself_is_lost(
    kind: str, counts: list[int], index: int, bits: list[int], is_last: bool, is_replicated: bool
) -> None:
    log = [made(kind, span) for span in spans(kind, counts)]
    index %= len(log)
    end, positions = log[-1].next_offset, positions_of(log)
    stored = int.from_bytes(log[index].data[:8], "big")
    mask = sum(1 << bit for bit in bits)
    flipped = log[index]._replace(data=(stored ^ mask).to_bytes(8, "big") + log[index].data[8:])
    content = laid_out(*log[:index], flipped, *log[index + 1 :])
    items = walked(
        content,
        limit_offset=limit_after(0) if is_last else end,
        is_last=is_last,
        durable_offset=end if is_replicated else 0,
        may_have_holes=False,
    )
    found = claimed(units_of(items))
    truth = {at: batch.base_offset for at, batch in zip(positions, log, strict=True)}
    # The messages inside have offsets of their own in magic 0, and behind an offset of 0.
    is_zero = kind == "wrapper_1" and stored == mask and log[index].base_offset == 0
    if kind != "wrapper_0" and not is_zero:
        del truth[positions[index]]
    assert found == truth


RAISED = {"batch": 14, "wrapper_1": 14}


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("first", [11, 14, 19, 25, 40, 5, 9])
def test_neighbours_prove_where_a_batch_between_them_begins(kind: str, first: int) -> None:
    log = [made(kind, span) for span in [(0, 10), (10, 20), (20, 30), (30, 40)]]
    log[1] = moved(log[1], first)
    items = walked(laid_out(*log), is_last=True, may_have_holes=False)
    assert as_spans(items) == [(0, 10), (20, 30), (30, 40)]
    ((code, detail),) = reasons(items)
    assert detail.endswith("; its neighbours prove that it has offsets 10 to 19")
    assert code is (
        DefectCode.OFFSET_OUT_OF_ORDER if first < 10 else DefectCode.OFFSET_CONTRADICTED
    )


@pytest.mark.parametrize("first", [11, 14, 19, 25, 40, 5, 9])
def test_the_messages_of_a_wrapper_of_magic_0_prove_where_it_is(first: int) -> None:
    log = [made("wrapper_0", span) for span in [(0, 10), (10, 20), (20, 30), (30, 40)]]
    log[1] = moved(log[1], first)
    items = walked(laid_out(*log), is_last=True, may_have_holes=False)
    assert as_spans(items) == [(0, 10), (10, 20), (20, 30), (30, 40)]
    wrappers = [unit for unit in units_of(items) if isinstance(unit, Wrapper)]
    assert [unit.false_offset for unit in wrappers] == [None, first + 9, None, None]


def test_a_batch_lowered_into_a_hole_did_not_come_late() -> None:
    log = [made("batch", span) for span in [(0, 10), (30, 40), (40, 50), (50, 60)]]
    log[2] = moved(log[2], 15)
    items = walked(laid_out(*log), is_last=True, durable_offset=60)
    assert as_spans(items) == [(0, 10), (30, 40), (50, 60)]
    ((code, detail),) = reasons(items)
    assert code is DefectCode.OFFSET_CONTRADICTED
    assert detail.endswith("; its neighbours prove that it has offsets 40 to 49")


@pytest.mark.parametrize(
    "order",
    [
        [(0, 10), (20, 30), (10, 20), (30, 40)],
        [(0, 10), (30, 40), (10, 20), (20, 30), (40, 50)],
        [(0, 10), (20, 30), (10, 20)],
        [(0, 10), (30, 40), (10, 20), (20, 30)],
        [(10, 20), (0, 5), (20, 30)],
    ],
)
@pytest.mark.parametrize("kind", ["batch", "wrapper_1"])
def test_batches_that_came_late_are_no_false_ones(kind: str, order: list[Span]) -> None:
    content = laid_out(*(made(kind, span) for span in order))
    items = walked(content, is_last=True, may_have_holes=False)
    assert as_spans(items) == order
    assert reasons(items) == []


@pytest.mark.parametrize("kind", ["batch", "wrapper_1"])
def test_where_compaction_left_room_for_either_neither_is_trusted(kind: str) -> None:
    """The second begins at 20 to 27, or the third at 38 to 50."""
    log = [made(kind, span) for span in [(0, 10), (20, 25), (33, 38), (60, 70), (70, 80)]]
    log[1] = moved(log[1], 32)
    items = walked(laid_out(*log), is_last=True, may_have_holes=True)
    assert as_spans(items) == [(0, 10), (60, 70), (70, 80)]
    reason = "offsets 32 to 36 and 33 to 37 overlap, and nothing shows which are wrong"
    assert reasons(items) == [(DefectCode.OFFSET_CONTRADICTED, reason)] * 2


@pytest.mark.parametrize("kind", ["batch", "wrapper_1"])
def test_in_a_compacted_log_the_batch_that_goes_on_is_the_true_one(kind: str) -> None:
    log = [made(kind, span) for span in [(0, 10), (20, 25), (33, 38), (38, 50)]]
    log[1] = moved(log[1], 32)
    items = walked(laid_out(*log), is_last=True, may_have_holes=True)
    assert as_spans(items) == [(0, 10), (33, 38), (38, 50)]


def test_a_batch_that_has_no_room_where_it_would_have_been_is_the_true_one() -> None:
    """The second cannot lie between 10 and 12, so the third is false."""
    log = [made("batch", span) for span in [(0, 10), (20, 25), (25, 30), (60, 70)]]
    log[2] = moved(log[2], 12)
    items = walked(laid_out(*log), is_last=True, may_have_holes=True)
    assert as_spans(items) == [(0, 10), (20, 25), (60, 70)]


@pytest.mark.parametrize(
    ("durable_offset", "may_have_holes", "is_accepted"),
    [(0, False, False), (30, False, False), (35, False, True), (0, True, True)],
)
@pytest.mark.parametrize("kind", ["batch", "wrapper_1"])
def test_the_last_batch_of_a_log_is_proved_by_the_high_watermark(
    kind: str, durable_offset: int, may_have_holes: bool, is_accepted: bool
) -> None:
    log = [made(kind, span) for span in [(0, 10), (10, 20), (25, 35)]]
    items = walked(
        laid_out(*log),
        is_last=True,
        durable_offset=durable_offset,
        may_have_holes=may_have_holes,
    )
    assert len(units_of(items)) == (3 if is_accepted else 2)
    if not is_accepted:
        ((code, detail),) = reasons(items)
        assert code is DefectCode.OFFSET_CONTRADICTED
        assert detail == (
            "offsets 25 to 34 after offset 19 in a log without holes, and no later batch proves "
            "them"
        )


def test_holes_before_show_that_a_log_has_them() -> None:
    log = [made("batch", span) for span in [(0, 10), (15, 20), (20, 30), (35, 45)]]
    assert reasons(walked(laid_out(*log), is_last=True, may_have_holes=False)) == []
    sparse = record_batch(0, [Record(None, b"v")], Header(last_offset_delta=9))
    items = walked(laid_out(sparse, log[3]), is_last=True, may_have_holes=False)
    assert reasons(items) == []


def test_damage_explains_a_hole_at_the_end() -> None:
    log = [made("batch", span) for span in [(0, 10), (10, 20), (20, 30)]]
    items = walked(laid_out(log[0], bad_crc(log[1]), log[2]), is_last=True, may_have_holes=False)
    assert [code for code, _ in reasons(items)] == [DefectCode.CRC_MISMATCH]


def test_the_name_of_a_segment_proves_its_first_batch() -> None:
    log = [made("batch", span) for span in [(100, 110), (110, 120)]]
    content = laid_out(moved(log[0], 103), log[1])
    items = walked(content, base_offset=100, is_last=True, may_have_holes=False)
    assert as_spans(items) == [(110, 120)]
    assert reasons(items)[0][1].endswith("its neighbours prove that it has offsets 100 to 109")


def test_the_name_of_the_next_segment_proves_the_last_batch() -> None:
    log = [made("batch", span) for span in [(0, 10), (10, 20), (20, 30)]]
    ((code, detail),) = reasons(walked(laid_out(*log[:2], moved(log[2], 23)), limit_offset=30))
    assert code is DefectCode.OFFSET_OUT_OF_SEGMENT
    assert detail.endswith("its neighbours prove that it has offsets 20 to 29")


@pytest.mark.parametrize("magic", [0, 1])
def test_the_last_message_of_a_run_with_holes_is_judged_for_itself(magic: int) -> None:
    offsets = [0, 2, 5, 30, 9, 10, 11]  # the fourth was 7
    log = [message(offset, Record(None, b"v%d" % offset), magic) for offset in offsets]
    items = walked(laid_out(*log), is_last=True, may_have_holes=True)
    assert list(claimed(units_of(items)).values()) == [0, 2, 5, 9, 10, 11]


def test_a_headers_only_walk_leaves_contradictions_to_a_walk_in_full() -> None:
    log = [made("wrapper_1", span) for span in [(0, 10), (10, 20), (20, 30)]]
    sound = walked(laid_out(*log), headers_only=True, may_have_holes=False)
    assert reasons(sound) == []
    log[1] = moved(log[1], 14)
    odd = walked(laid_out(*log), headers_only=True, may_have_holes=False)
    assert [code for code, _ in reasons(odd)] == [DefectCode.OFFSET_OUT_OF_ORDER]


@pytest.mark.parametrize("kind", ["wrapper_0", "wrapper_1"])
@pytest.mark.parametrize("headers_only", [False, True])
def test_a_wrapper_that_begins_inside_the_one_before_is_out_of_order(
    kind: str, headers_only: bool
) -> None:
    log = [made(kind, span) for span in [(0, 10), (5, 15), (15, 20)]]
    items = walked(laid_out(*log), headers_only=headers_only)
    assert [code for code, _ in reasons(items)] == [DefectCode.OFFSET_OUT_OF_ORDER]


def test_of_a_wrapper_too_large_to_look_into_a_copy_is_out_of_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("seglake.segment_codec.walk.offset_places._MOST_WRAPPED_BYTES", 10)
    log = [made("wrapper_1", span) for span in [(0, 10), (10, 20), (10, 20), (20, 30)]]
    assert reasons(walked(laid_out(*log))) == [
        (
            DefectCode.OFFSET_OUT_OF_ORDER,
            "offsets 19 to 19 are not above 19, an offset of an earlier batch",
        )
    ]


def test_several_false_offsets_cost_their_batches_alone() -> None:
    random = Random(3)
    for _ in range(200):
        log = [made("batch", (start, start + 10)) for start in range(0, 120, 10)]
        false = sorted(random.sample(range(1, 11), 3))
        if any(after - before < 3 for before, after in pairwise(false)):
            continue  # then they are each other's neighbours
        for index in false:
            log[index] = moved(log[index], 10 * index + random.choice([-7, -3, 4, 9, 13, 300]))
        items = walked(laid_out(*log), is_last=True, may_have_holes=False)
        assert as_spans(items) == [
            (10 * index, 10 * index + 10) for index in range(12) if index not in false
        ]
