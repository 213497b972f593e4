"""Tests which cases run by default, and which share a worker."""

import pytest

from support.cases import cases, every, shared


def test_cases_that_tell_less_are_marked_and_tuples_are_several_parameters() -> None:
    single, pair = cases(["a", ("b", 1)], telling=["a"])
    assert (single.values, single.id, list(single.marks)) == (("a",), "a", [])
    assert (pair.values, pair.id) == (("b", 1), "b-1")
    assert list(pair.marks) == [pytest.mark.matrix]


def test_shared_cases_name_their_group_too() -> None:
    _, other = shared(cases([0, 1], telling=every(2, [0, 1])))
    assert list(other.marks) == [pytest.mark.matrix, pytest.mark.xdist_group("1")]
