"""Tests which cases run by default, and which share a worker."""

import pytest

from support.cases import Made, cases, every, leaves_out_matrix, make_cases_for, shared


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Made, "further", True)


def test_cases_that_tell_less_are_marked_and_tuples_are_several_parameters() -> None:
    single, pair = cases(["a", ("b", 1)], telling=["a"])
    assert (single.values, single.id, list(single.marks)) == (("a",), "a", [])
    assert (pair.values, pair.id) == (("b", 1), "b-1")
    assert list(pair.marks) == [pytest.mark.matrix]


def test_shared_cases_name_their_group_too() -> None:
    _, other = shared(cases([0, 1], telling=every(2, [0, 1])))
    assert list(other.marks) == [pytest.mark.matrix, pytest.mark.xdist_group("1")]


@pytest.mark.parametrize(
    ("expression", "is_out"),
    [
        *(("", False), ("matrix", False), ("spark", False), ("not slow", False)),
        *(("not matrix", True), ("spark and not (slow or matrix)", True)),
    ],
)
def test_cases_that_a_run_leaves_out_are_not_even_made(expression: str, *, is_out: bool) -> None:
    assert leaves_out_matrix(expression) is is_out
    make_cases_for(expression)
    assert len(cases([0, 1], telling=[1])) == 2 - is_out
