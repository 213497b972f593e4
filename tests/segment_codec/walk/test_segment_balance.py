"""Whatever happens to the bytes of a segment, each byte is in one item and no record is made up."""

from collections.abc import Iterable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.segment import Item
from support.damage import NESTED_KEY, Damage, damages, segments, struck
from support.decoders import by_both
from support.encoder import EncodedBatch, positions_of
from support.walks import laid_out, sound_units, units_of, walked

REPEATABLE = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SMALL_WINDOW = 64
OUT_OF_PLACE = (DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT)


def contents(units: Iterable[Unit]) -> list[tuple[bytes | None, bytes | None]]:
    found = []
    for unit in units:
        records = by_both(unit)
        if isinstance(records, list):
            found += [(record.key, record.value) for record in records]
    return found


@REPEATABLE
@given(segments(), st.sampled_from([SMALL_WINDOW, 1 << 20]))
def test_valid_segment_is_all_units(batches: list[EncodedBatch], window_bytes: int) -> None:
    content = laid_out(*batches)
    items = walked(content, base_offset=batches[0].base_offset, window_bytes=window_bytes)
    assert items == sound_units(content, batches[0].base_offset)
    starts = {item.position for item in items}
    alone = [
        at for at, batch in zip(positions_of(batches), batches, strict=True) if not is_plain(batch)
    ]
    assert starts.issuperset(alone)


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_damaged_segment_gives_only_what_was_written(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool, is_small: bool
) -> None:
    base = batches[0].base_offset
    written = contents(sound_units(laid_out(*batches), base))
    damaged = struck(batches, blows, spare=False)
    items = walked(
        damaged.content,
        base_offset=base,
        is_last=is_last,
        window_bytes=SMALL_WINDOW if is_small else 1 << 20,
    )
    found = contents(units_of(items))
    assert NESTED_KEY not in {key for key, _ in found}
    assert set(found) <= set(written)
    assert len(found) == len(set(found)), "a record came out twice"


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans())
def test_batch_that_was_not_touched_and_is_indexed_comes_out(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool
) -> None:
    damaged = struck(batches, blows, spare=True)
    anchors = [position for position, _ in damaged.intact]
    items = walked(
        damaged.content, base_offset=batches[0].base_offset, is_last=is_last, anchors=anchors
    )
    for position, batch in damaged.intact:
        assert is_out(items, position, len(batch.data)), (position, batch, items)


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans())
def test_batches_behind_the_last_damage_come_out_without_an_index(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool
) -> None:
    damaged = struck(batches, blows, spare=True)
    items = walked(damaged.content, base_offset=batches[0].base_offset, is_last=is_last)
    stop = len(damaged.content)
    for position, batch in reversed(damaged.intact):
        if position + len(batch.data) != stop:
            break
        assert is_out(items, position, len(batch.data)), (position, batch, items)
        stop = position


@REPEATABLE
@given(segments(), st.lists(damages(), max_size=2), st.data())
def test_walks_of_the_pieces_are_the_walk_of_the_whole(
    batches: list[EncodedBatch], blows: list[Damage], data: st.DataObject
) -> None:
    base = batches[0].base_offset
    content = struck(batches, blows, spare=True).content
    whole = walked(content, base_offset=base)
    starts = [item.position for item in whole if isinstance(item, RecordBatch)]
    if not starts:
        return
    stop = data.draw(st.sampled_from(starts))
    before = walked(content, base_offset=base, stop=stop)
    assert [item for item in whole if item.position < stop] == before


def is_plain(batch: EncodedBatch) -> bool:
    return batch.data[16] < 2 and batch.data[17] & 7 == 0


def is_out(items: Iterable[Item], position: int, size_bytes: int) -> bool:
    """Whether a valid unit is these bytes, or a defect of place only; a run may hold more of them.

    A valid unit that covers only some of them began with equal bytes: no one could tell.
    """
    for item in items:
        if item.position <= position < item.position + item.size_bytes:
            if isinstance(item, Defect):
                is_whole = (item.position, item.size_bytes) == (position, size_bytes)
                return is_whole and item.code in OUT_OF_PLACE
            return not isinstance(item, Tail)
    return False
