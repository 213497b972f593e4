"""Filters that Spark pushes down narrow what is read, and never below what they let through."""

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from seglake.pipelines.segment_query.read_plan import Requested
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.spark_source.pushed_filters import requested_by

_TOPIC, _PARTITION, _OFFSET = ("topic",), ("partition",), ("offset",)


@pytest.mark.parametrize(
    ("filters", "offsets"),
    [
        ([], (0, OFFSET_MAX)),
        ([EqualTo(_OFFSET, 7)], (7, 8)),
        ([GreaterThan(_OFFSET, 7)], (8, OFFSET_MAX)),
        ([GreaterThanOrEqual(_OFFSET, 7), LessThan(_OFFSET, 9)], (7, 9)),
        ([LessThanOrEqual(_OFFSET, 9)], (0, 10)),
        ([In(_OFFSET, (5, 3, 9))], (3, 10)),
        ([In(_OFFSET, (5, None))], (5, 6)),
        ([GreaterThan(_OFFSET, -5)], (0, OFFSET_MAX)),
        ([GreaterThanOrEqual(_OFFSET, OFFSET_MAX + 5)], (OFFSET_MAX, OFFSET_MAX)),
        ([LessThan(_OFFSET, -5)], (0, 0)),
        ([Not(EqualTo(_OFFSET, 7))], (0, OFFSET_MAX)),
        ([GreaterThan(("headers", "offset"), 7)], (0, OFFSET_MAX)),
    ],
)
def test_offsets(filters: list[Filter], offsets: tuple[int, int]) -> None:
    assert requested_by(filters).offsets == offsets


def test_topics_and_partitions_of_all_filters_are_intersected() -> None:
    filters = [
        In(_TOPIC, ("a", "b", None)),
        EqualTo(_TOPIC, "b"),
        IsNotNull(_TOPIC),
        StringStartsWith(_TOPIC, "b"),
        In(_PARTITION, (1, 2)),
    ]
    assert requested_by(filters) == Requested(frozenset({"b"}), frozenset({1, 2}))


def test_what_no_filter_names_is_asked_for() -> None:
    assert requested_by([EqualTo(("key",), b"x"), Not(EqualTo(_TOPIC, "a"))]) == Requested()
