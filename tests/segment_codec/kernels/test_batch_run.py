"""A walk by runs finds what the exact walk finds, batch for batch, whatever the bytes are."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seglake.segment_codec.formats.codec import CODECS
from seglake.segment_codec.formats.record_batch import HEADER_BYTES, RecordBatch
from seglake.segment_codec.kernels.batch_run import (
    FEWEST,
    BatchRun,
    plain_records_of,
    plain_run_of,
)
from seglake.segment_codec.walk import run_finder
from seglake.segment_codec.walk.segment import Item
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Producer,
    Record,
    end_marker,
    payload_batch,
    record_batch,
)
from support.faults import batch
from support.mixed_batches import (
    ALIKE,
    KINDS,
    LIMIT,
    PRODUCER,
    drawn_kinds,
    laid_out_kinds,
)
from support.run_walks import DEFAULT, Mode, unrolled, walked_both_ways
from support.walks import laid_out


def _runs(content: bytes, mode: Mode = DEFAULT) -> list[Item | BatchRun]:
    return walked_both_ways(content, mode).runs


MODES = st.builds(
    Mode,
    window_bytes=st.sampled_from([64, 300, 4096, 1 << 16]),
    breaks=st.lists(st.integers(0, 60), max_size=3).map(tuple),
    may_have_holes=st.booleans(),
    headers_only=st.booleans(),
    compares_neighbours=st.booleans(),
    base_offset=st.just(0),
    limit_offset=st.just(LIMIT),
    is_last=st.booleans(),
    durable_offset=st.just(0),
)


@given(
    kinds=drawn_kinds(),
    step=st.integers(1, 3),
    hole=st.integers(0, 4),
    mode=MODES,
)
@example(
    kinds=["plain"] * 6 + ["raised"] + ["plain"] * 3,
    step=1,
    hole=0,
    mode=Mode(compares_neighbours=True),
)
def test_runs_are_the_items(kinds: list[str], step: int, hole: int, mode: Mode) -> None:
    _runs(laid_out_kinds(kinds, step=step, hole=hole), mode)


@given(
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    kept=st.floats(0, 1),
    mode=MODES,
)
def test_runs_are_the_items_of_damaged_bytes(
    place: float, bit: int, kept: float, mode: Mode
) -> None:
    content = bytearray(
        laid_out_kinds(["plain", "marker"] * 5 + ["gzip", "empty"] * 3 + ["large"] * 5)
    )
    content[int(place * len(content))] ^= 1 << bit
    _runs(bytes(content[: int(kept * len(content))]), mode)


def test_damaged_marker_is_in_no_run() -> None:
    kinds = ["transactional"] * 4 + ["marker"] + ["transactional"] * 4
    content = laid_out_kinds(kinds)
    (run,) = _runs(content, Mode(headers_only=True))
    assert isinstance(run, BatchRun)
    for bit in range(8 * int(run.starts[4]), 8 * int(run.starts[5])):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        _runs(bytes(changed), Mode(headers_only=True))


@pytest.mark.parametrize(
    "kind",
    ["plain", "of three", "large", "gzip", "transactional", "horizon", "marker", "abort", "empty"],
)
def test_batches_of_a_kind_are_one_run(kind: str) -> None:
    (run,) = _runs(laid_out_kinds([kind] * 20))
    assert isinstance(run, BatchRun)
    assert (len(run), run.first_offset) == (20, 0)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - ALIKE))
def test_what_is_odd_ends_a_run(kind: str) -> None:
    """What can be said of the others by the header alone is in the run with them."""
    runs = _runs(laid_out_kinds(["plain"] * 8 + [kind] + ["plain"] * 80))
    in_runs = {"transactional", "of another producer", "idempotent", "of a new leader"}
    in_runs |= {"append time", "horizon", "gzip", "gzip of another producer", "zstd"}
    in_runs |= {"marker", "abort", "empty"}
    assert (len(runs) == 1) == (kind in in_runs)
    assert isinstance(runs[0], BatchRun)
    assert isinstance(runs[-1], BatchRun)  # it looks again, sooner or later


@given(places=st.dictionaries(st.integers(0, 16), st.integers(0, 255), max_size=2))
@example(places={8: 0})  # an abort
def test_marker_in_a_run_is_what_its_record_says(places: dict[int, int]) -> None:
    """What it says is read by a decoder that shares no code with the walk by runs."""
    usual = end_marker(0, ControlType.COMMIT, producer_id=7).data
    changed = bytearray(usual[HEADER_BYTES:])
    for place, byte in places.items():
        changed[place] = byte
    header = Header(producer=PRODUCER, is_transactional=True, is_control=True, record_count=1)
    parts = [payload_batch(at, bytes(changed), header) for at in range(4)]
    _runs(laid_out(*parts))


def test_some_batches_of_a_run_can_be_chosen() -> None:
    (run,) = _runs(laid_out_kinds(["plain", "marker", "of three"] * 4))
    assert isinstance(run, BatchRun)
    places = np.flatnonzero(~run.is_marker)
    chosen = run.chosen(places)
    assert [chosen.batch(index) for index in range(8)] == [
        run.batch(index) for index in places.tolist()
    ]
    assert [bytes(data) for data in plain_records_of(chosen, 1 << 20)] == [
        bytes(chosen.batch(index).payload) for index in range(8)
    ]
    plain = plain_run_of(chosen)
    spans = zip(plain.starts.tolist(), plain.stops.tolist(), strict=True)
    assert [plain.data[start:stop] for start, stop in spans] == [
        chosen.batch(index).payload for index in range(8)
    ]


def test_hole_ends_a_run_where_there_should_be_none() -> None:
    content = laid_out_kinds(["of three"] * 18, hole=2)
    (run,) = _runs(content)
    assert isinstance(run, BatchRun)
    assert not any(
        isinstance(item, BatchRun) for item in _runs(content, Mode(may_have_holes=False))
    )


def test_few_batches_are_no_run() -> None:
    assert all(isinstance(item, RecordBatch) for item in _runs(laid_out_kinds(["plain"] * 3)))


def test_few_batches_where_a_window_ends_are_read_again_with_those_behind_them() -> None:
    content = laid_out_kinds(["plain"] * 40, step=1)
    window_bytes = 13 * len(content) // (2 * 40)
    with patch.object(run_finder, "_MOST_BATCHES", FEWEST):
        found = _runs(content, Mode(window_bytes=window_bytes))
    assert [len(item) for item in found if isinstance(item, BatchRun)] == [FEWEST] * 10


def test_part_of_a_run_is_a_run_of_its_batches() -> None:
    (run,) = _runs(laid_out_kinds(["plain", "gzip"] * 5))
    assert isinstance(run, BatchRun)
    for start, stop in product(range(10), range(1, 11)):
        if start < stop:
            part = run.part(start, stop)
            assert unrolled([part]) == unrolled([run])[start:stop]
            assert part.size_bytes == int(part.sizes.sum())


def test_records_are_those_of_the_batches_up_to_one_that_claims_too_many() -> None:
    lying = payload_batch(6, b"\0" * 9, Header(record_count=9, last_offset_delta=8))
    parts = [batch(0), batch(2), batch(4), lying, batch(15)]
    (run,) = _runs(laid_out(*parts))
    assert isinstance(run, BatchRun)
    plain = plain_run_of(run)
    assert len(plain.starts) == 3
    expected = [bytes(run.batch(index).payload) for index in range(3)]
    spans = zip(plain.starts.tolist(), plain.stops.tolist(), strict=True)
    assert [bytes(plain.data[start:stop]) for start, stop in spans] == expected
    assert [bytes(data) for data in plain_records_of(run, 1 << 20)] == expected
    assert plain_run_of(run.part(3, 5)).starts.tolist() == []


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_compressed_records_are_read_up_to_what_cannot_be(codec: Codec) -> None:
    broken = payload_batch(6, b"?", Header(record_count=1), codec=codec)
    parts = [batch(0, 2, codec), batch(2, 2, codec), batch(4), broken, batch(8)]
    (run,) = _runs(laid_out(*parts))
    assert isinstance(run, BatchRun)
    found = [bytes(data) for data in plain_records_of(run, 1 << 20)]
    assert found == [bytes(run.batch(2).payload)] * 3
    assert CODECS[int(run.column("attributes")[0]) & 7].name == codec.name
    assert list(plain_records_of(run, 10)) == []


def test_headers_are_those_of_the_batches() -> None:
    header = Header(
        leader_epoch=5,
        producer=Producer(1 << 40, 3, 9),
        is_transactional=True,
        base_timestamp_ms=-(1 << 62),
        max_timestamp_ms=1 << 62,
    )
    record = Record(None, b"v", -(1 << 62))
    content = laid_out(*(record_batch(offset, [record], header) for offset in range(5)))
    (run,) = _runs(content)
    assert isinstance(run, BatchRun)
    assert run.column("producer_id").tolist() == [1 << 40] * 5
    assert run.column("partition_leader_epoch").dtype == np.int64
    assert [run.batch(index).header.max_timestamp_ms for index in range(5)] == [1 << 62] * 5
