"""Which records are printed, of a time and up to a number."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from seglake.pipelines.record_print.record_choice import RecordChoice


def _batch(*times_ms: int | None) -> pa.RecordBatch:
    return pa.record_batch({"timestamp_ms": pa.array(times_ms, pa.int64())})


def _chosen(choice: RecordChoice, *batches: pa.RecordBatch) -> list[list[int | None]]:
    return [rows.column("timestamp_ms").to_pylist() for rows in choice.of(batches)]


def test_times_are_half_open() -> None:
    batches = _batch(1, 5, 3), _batch(9), _batch(2)
    assert _chosen(RecordChoice(from_ms=2, to_ms=5), *batches) == [[3], [2]]
    assert _chosen(RecordChoice(from_ms=5), *batches) == [[5], [9]]
    assert _chosen(RecordChoice(to_ms=3), *batches) == [[1], [2]]


def test_a_record_without_a_time_lies_in_no_range() -> None:
    assert _chosen(RecordChoice(from_ms=-10), _batch(None, -1, -2)) == [[-2]]
    assert _chosen(RecordChoice(to_ms=10), _batch(None, -1, -2)) == [[-2]]
    assert _chosen(RecordChoice(), _batch(None, -1, -2)) == [[None, -1, -2]]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, []), (1, [[1]]), (2, [[1, 2]]), (3, [[1, 2], [3]]), (9, [[1, 2], [3, 4]])],
)
def test_a_limit_cuts_the_last_batch(limit: int, expected: list[list[int]]) -> None:
    assert _chosen(RecordChoice(limit=limit), _batch(1, 2), _batch(3, 4)) == expected


def test_a_limit_counts_what_is_chosen() -> None:
    choice = RecordChoice(from_ms=3, limit=2)
    assert _chosen(choice, _batch(1, 2), _batch(3, 1), _batch(4, 5)) == [[3], [4]]


def test_a_limit_ends_the_input() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield _batch(1, 2)
        pytest.fail("nothing more is wanted")

    assert len([*RecordChoice(limit=2).of(batches())]) == 1
