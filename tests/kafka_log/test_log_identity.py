"""Whether two batches are of one log or of two."""

import pytest

from seglake.kafka_log.log_identity import (
    Likeness,
    LogBatch,
    likeness,
    may_be_cleaned,
)
from seglake.kafka_log.segment_survey import LastBatch


def _found(
    first: int,
    last: int,
    crc: int = 1,
    *,
    magic: int = 2,
    wrapper: bool = False,
    whole: bool = True,
) -> LogBatch:
    header = LastBatch(last if wrapper else first, crc, 0)
    return LogBatch(header, first, last, magic, wrapper, whole)


def _taken(
    first: int,
    last: int,
    crc: int = 2,
    *,
    magic: int = 2,
    wrapper: bool = False,
    whole: bool = True,
) -> LogBatch:
    header = LastBatch(last if wrapper else first, crc, 0)
    return LogBatch(header, first, last, magic, wrapper, whole)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, Likeness.UNKNOWN),
        (_found(10, 19, crc=2), Likeness.SAME),
        (_found(10, 19), Likeness.OTHER),
        (_found(10, 14), Likeness.OTHER),
        (_found(8, 12), Likeness.OTHER),
        (_found(11, 19), Likeness.UNKNOWN),
        (_found(20, 29), Likeness.UNKNOWN),
        (_found(10, 19, crc=2)._replace(header=LastBatch(10, 2, 1)), Likeness.SAME),
        (_found(8, 12, crc=2), Likeness.SAME),
        (_found(11, 19, crc=2), Likeness.UNKNOWN),
    ],
)
def test_only_what_stands_at_the_place_of_a_batch_tells(
    found: LogBatch | None, expected: Likeness
) -> None:
    assert likeness(LastBatch(10, 2, 0), found) is expected


_BATCHES = [
    ("nothing was taken out of either", _taken(10, 19), _found(10, 19), False),
    ("of this disk's, something was", _taken(10, 19), _found(10, 19, whole=False), True),
    ("of the lake's, something was", _taken(10, 19, whole=False), _found(10, 19), True),
    ("a batch keeps its ends", _taken(10, 19), _found(10, 15, whole=False), False),
    ("messages are not rewritten", _taken(10, 90, magic=1), _found(10, 40, magic=1), False),
]
_WRAPPERS = [
    ("both are whole", (10, 19, True), (10, 19, True), False),
    ("its inside is taken out", (10, 19, True), (10, 19, False), True),
    ("its first records are taken out", (10, 19, True), (15, 19, True), True),
    ("its last records are taken out", (10, 19, True), (10, 15, True), True),
    ("and of the lake's", (12, 14, True), (10, 19, True), True),
    ("one reaches across the other's end", (10, 19, True), (15, 24, True), False),
]


@pytest.mark.parametrize("case", range(len(_BATCHES)), ids=[case[0] for case in _BATCHES])
def test_a_cleaner_leaves_its_traces_in_a_batch(case: int) -> None:
    _, taken, found, expected = _BATCHES[case]
    assert may_be_cleaned(taken, found, None, lake_is_compacted=True) is expected
    assert may_be_cleaned(taken, found, 10, lake_is_compacted=True) is expected
    assert may_be_cleaned(taken, found, 11, lake_is_compacted=False)


@pytest.mark.parametrize("case", range(len(_WRAPPERS)), ids=[case[0] for case in _WRAPPERS])
def test_a_cleaner_leaves_its_traces_in_a_wrapper(case: int) -> None:
    _, old, new, expected = _WRAPPERS[case]
    taken = _taken(old[0], old[1], magic=1, wrapper=True, whole=old[2])
    found = _found(new[0], new[1], magic=1, wrapper=True, whole=new[2])
    assert may_be_cleaned(taken, found, None, lake_is_compacted=True) is expected
    assert may_be_cleaned(taken, found, 0, lake_is_compacted=False) is expected


def test_whole_wrappers_of_different_lengths_are_no_cleaners_where_there_is_none() -> None:
    whole = _taken(10, 19, magic=1, wrapper=True), _found(10, 15, magic=1, wrapper=True)
    assert not may_be_cleaned(*whole, None, lake_is_compacted=False)
    thinned = _found(10, 15, magic=1, wrapper=True, whole=False)
    assert may_be_cleaned(whole[0], thinned, None, lake_is_compacted=False)


def test_a_batch_of_another_format_may_be_the_cleaners_if_there_is_one() -> None:
    taken, found = _taken(10, 19, magic=1, wrapper=True), _found(10, 19)
    assert not may_be_cleaned(taken, found, None, lake_is_compacted=False)
    assert may_be_cleaned(taken, found, None, lake_is_compacted=True)
    assert may_be_cleaned(taken, found, 0, lake_is_compacted=False)
