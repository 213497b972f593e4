"""What a conversion asks of the columnar decoder beyond the records themselves."""

import tracemalloc
from dataclasses import replace

import pytest

from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.record import Record as Found
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.columns import ColumnBuilder
from seglake.segment_codec.kernels.outcomes import UnitOutcome
from support.decoders import ANY_SIZE, HIGHEST, LOWEST, by_reference, records_of
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
    record_bytes,
    varint,
    wrapper,
)
from support.run_walks import walked_both_ways
from support.walks import laid_out, sound_unit, sound_units

HEADERS = (("h", b"x"), ("", None))


def batch(offset: int, count: int = 3, headers: int = 1, codec: Codec = Codec.GZIP) -> Unit:
    records = [
        Record(b"k%d" % i, b"some longer value %d" % i, i, HEADERS * headers) for i in range(count)
    ]
    return sound_unit(record_batch(offset, records, codec=codec))


def broken(offset: int) -> Unit:
    """Two good records with headers, then one that does not parse."""
    good = [record_bytes(Record(b"lost", b"l" * 40, 0, HEADERS), i, 0) for i in range(2)]
    payload = b"".join(good) + b"\x0e" + bytes(2) + b"\xff" * 5
    return sound_unit(payload_batch(offset, payload, Header(record_count=3, last_offset_delta=2)))


def broken_set(offset: int) -> Unit:
    content = message_bytes(0, Record(b"lost", b"l" * 40), 1) + bytes(5)
    return sound_unit(payload_wrapper(offset, compressed(content, Codec.GZIP), 1, 1))


def flushed(
    units: list[Unit], floor: int = LOWEST, ceiling: int = HIGHEST
) -> tuple[list[Found], list[UnitOutcome]]:
    builder = ColumnBuilder(ANY_SIZE)
    for unit in units:
        assert builder.accepts(unit)
        builder.add(unit, floor, ceiling)
    columns, outcomes = builder.flush()
    assert [outcome.unit for outcome in outcomes] == units
    return records_of(columns), [each for each in outcomes if isinstance(each, UnitOutcome)]


def test_flush_of_nothing_is_empty() -> None:
    assert flushed([]) == ([], [])


OLD = [
    sound_unit(wrapper(0, [Record(b"k", b"value of some length", 5)] * 3, 1, Codec.SNAPPY)),
    sound_unit(wrapper(3, [Record(None, b"v")] * 2, 0, Codec.LZ4)),
    sound_unit(laid_out(*(message(i, Record(b"k", None, i), 1) for i in range(5, 9)))),
]
NEW = [batch(0), batch(3, codec=Codec.NONE), batch(6, headers=0), batch(9, codec=Codec.ZSTD)]


@pytest.mark.parametrize("units", [OLD, NEW], ids=["old", "new"])
def test_rows_of_a_flush_are_those_of_its_units_in_order(units: list[Unit]) -> None:
    found, outcomes = flushed(units)
    expected = [by_reference(unit) for unit in units]
    assert found == [record for records in expected for record in records]
    assert [outcome.record_count for outcome in outcomes] == list(map(len, expected))
    assert [outcome.first_offset for outcome in outcomes] == [
        records[0].offset for records in expected
    ]
    assert outcomes[-1].row_stop == len(found)


@pytest.mark.parametrize("units", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize(
    ("floor", "ceiling"), [(0, 99), (2, 5), (4, 4), (7, 99), (-5, 1), (99, 999)]
)
def test_only_rows_between_floor_and_ceiling_come(
    units: list[Unit], floor: int, ceiling: int
) -> None:
    found, outcomes = flushed(units, floor, ceiling)
    everything = [record for unit in units for record in by_reference(unit)]
    assert found == [record for record in everything if floor <= record.offset < ceiling]
    assert [outcome.record_count for outcome in outcomes] == [len(by_reference(u)) for u in units]


def test_rows_that_are_not_wanted_are_checked_all_the_same() -> None:
    _, (outcome,) = flushed([broken(0)], floor=50)
    assert outcome.fault is not None


@pytest.mark.parametrize(
    ("units", "bad"),
    [
        ([batch(0), broken(3), batch(6)], {1}),
        ([broken(0), broken(3), batch(6), broken(9)], {0, 1, 3}),
        ([broken(0)], {0}),
        ([OLD[0], broken_set(4), OLD[2], broken_set(9)], {1, 3}),
    ],
    ids=["middle", "most", "alone", "wrappers"],
)
def test_broken_batch_is_rolled_back_and_its_neighbours_stay(
    units: list[Unit], bad: set[int]
) -> None:
    found, outcomes = flushed(units)
    assert {i for i, outcome in enumerate(outcomes) if outcome.fault is not None} == bad
    expected = [[] if i in bad else by_reference(unit) for i, unit in enumerate(units)]
    assert found == [record for records in expected for record in records]
    stops = [sum(map(len, expected[: i + 1])) for i in range(len(units))]
    assert [outcome.row_stop for outcome in outcomes] == stops


def test_more_headers_than_expected_make_the_columns_grow() -> None:
    units = [batch(0, headers=0), batch(3, count=2, headers=400), batch(5, headers=0), batch(8)]
    found, _ = flushed(units)
    assert [len(record.headers) for record in found] == [0] * 3 + [800] * 2 + [0] * 3 + [2] * 3
    assert found == [record for unit in units for record in by_reference(unit)]


def test_header_count_that_lies_takes_no_memory() -> None:
    body = bytes(3) + b"\1\1" + varint(1 << 30) + bytes(9000)
    payload = varint(len(body)) + body
    unit = sound_unit(payload_batch(0, payload, Header(record_count=1)))
    flushed([batch(0)])  # else what is compiled now is counted too
    tracemalloc.start()
    try:
        _, (outcome,) = flushed([unit])
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.fault is not None
    assert most_bytes < 1 << 24


def test_old_and_new_formats_do_not_share_a_flush() -> None:
    builder = ColumnBuilder(ANY_SIZE)
    for first, second in ((OLD[0], NEW[0]), (NEW[0], OLD[2])):
        assert builder.accepts(first)
        builder.add(first, LOWEST, HIGHEST)
        assert builder.accepts(first)
        assert not builder.accepts(second)
        builder.flush()
        assert builder.accepts(second)


def test_unit_that_does_not_decompress_leaves_the_builder_as_it_was() -> None:
    builder = ColumnBuilder(ANY_SIZE)
    builder.add(NEW[0], LOWEST, HIGHEST)
    before = builder.plain_bytes
    stream = sound_unit(payload_batch(3, b"no stream", Header(record_count=1), codec=1))
    with pytest.raises(DefectError):
        builder.add(stream, LOWEST, HIGHEST)
    assert builder.plain_bytes == before > 0
    columns, outcomes = builder.flush()
    assert records_of(columns) == by_reference(NEW[0])
    assert len(outcomes) == 1
    assert builder.plain_bytes == 0


def test_flush_has_nothing_of_the_flushes_before_it() -> None:
    builder = ColumnBuilder(ANY_SIZE)
    broken_batch, broken_wrapper = broken(0), broken_set(0)
    for units in (NEW, [broken_batch, NEW[2]], OLD, [broken_wrapper], [NEW[1]], OLD[2:], []):
        for unit in units:
            builder.add(unit, LOWEST, HIGHEST)
        columns, outcomes = builder.flush()
        valid = [unit for unit in units if unit not in (broken_batch, broken_wrapper)]
        sound = [each for each in outcomes if isinstance(each, UnitOutcome) and each.fault is None]
        assert [outcome.unit for outcome in sound] == valid
        assert records_of(columns) == [record for unit in valid for record in by_reference(unit)]
        assert len(outcomes) == len(units)


def test_append_time_is_for_the_rows_of_its_batch_only() -> None:
    def timed(offset: int, header: Header) -> EncodedBatch:
        return record_batch(offset, [Record(None, b"v", 4), Record(None, b"v", 5)], header)

    units = sound_units(
        laid_out(timed(0, Header()), timed(2, Header(log_append_time_ms=77)), timed(4, Header()))
    )
    found, _ = flushed(units)
    assert [record.timestamp_ms for record in found] == [4, 5, 77, 77, 4, 5]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_run_that_waits_keeps_no_piece_of_the_file(codec: Codec) -> None:
    content = laid_out(*[record_batch(at, [Record(b"k", b"v", 1)], codec=codec) for at in range(8)])
    (run,) = walked_both_ways(content).runs
    assert isinstance(run, BatchRun)
    piece = bytearray(run.data)
    builder = ColumnBuilder(ANY_SIZE)
    assert builder.add_run(replace(run, data=memoryview(piece)), LOWEST, HIGHEST, ANY_SIZE) == 8
    piece.clear()  # BufferError while anything looks into it
    columns, _ = builder.flush_runs()
    assert columns.offsets.tolist() == list(range(8))
