"""Items in order, as many a group as fit."""

import pytest

from seglake.task_engine.packing import packed, spread


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([3], [[3]]),
        ([2, 3, 5], [[2, 3], [5]]),
        ([9, 1, 1], [[9], [1, 1]]),  # one that is too large stands alone
        ([1, 9, 1], [[1], [9], [1]]),
        ([0, 0, 5, 0], [[0, 0, 5, 0]]),
    ],
)
def test_groups_are_filled_in_order_and_not_beyond_what_they_hold(
    sizes: list[int], groups: list[list[int]]
) -> None:
    assert packed(sizes, lambda size: size, 5) == groups


def test_a_group_holds_no_more_items_than_allowed() -> None:
    assert packed([0] * 5, lambda size: size, 1, most_items=2) == [[0, 0], [0, 0], [0]]


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([3], [[3]]),
        ([21, 21, 21, 22], [[21, 21], [21, 22]]),  # not 63 and 22
        ([1] * 9, [[1] * 9]),
        ([30, 60, 30], [[30], [60, 30]]),
        ([200, 1, 1], [[200], [1, 1]]),
        ([0, 0], [[0, 0]]),
    ],
)
def test_groups_are_as_few_as_allowed_and_alike(sizes: list[int], groups: list[list[int]]) -> None:
    assert spread(sizes, lambda size: size, 64) == groups


def test_there_are_as_many_groups_as_asked_for_if_there_are_items() -> None:
    assert spread([1, 1, 2], lambda size: size, 64, fewest=2) == [[1, 1], [2]]
    assert spread([9], lambda size: size, 64, fewest=2) == [[9]]
