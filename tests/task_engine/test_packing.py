"""Items in order, as many a group as fit."""

import pytest

from seglake.task_engine.packing import packed


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
