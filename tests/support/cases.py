"""Parameters of tests: the telling ones run by default, the whole matrix in `make test-all`."""

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

import pytest
from _pytest.mark.expression import Expression
from _pytest.mark.structures import ParameterSet

T = TypeVar("T")


class Made:
    """Whether further cases are made at all: to find them and leave them out costs seconds."""

    further = True


def make_cases_for(marker_expression: str) -> None:
    """Make no further cases from now on if a run's `-m` leaves out whatever is `matrix`."""
    Made.further = not leaves_out_matrix(marker_expression)


def leaves_out_matrix(marker_expression: str) -> bool:
    """Return whether no `matrix` test can be chosen, be it marked otherwise too or not."""
    if not marker_expression:
        return False
    chosen = Expression.compile(marker_expression)
    return not any(chosen.evaluate(_Markers(has_others=has_others)) for has_others in (False, True))


class _Markers:
    """Markers of a test, `matrix` among them."""

    def __init__(self, *, has_others: bool) -> None:
        self._has_others = has_others

    def __call__(self, name: str, /, **_: str | int | bool | None) -> bool:
        return self._has_others or name == "matrix"


def cases(
    values: Iterable[T],
    *,
    telling: Callable[[T], bool] | Collection[T],
    name: Callable[[T], str] = str,
) -> list[ParameterSet]:
    """Each value as the one parameter of a test or fixture; those that tell less are `matrix`.

    A plain tuple is as many parameters as it has parts.

    Args:
        telling: the values that by themselves would notice nearly every break.
    """
    is_telling = telling if callable(telling) else telling.__contains__
    return [
        pytest.param(
            *_parts(value),
            id=name(value) if len(_parts(value)) == 1 else "-".join(map(_word, _parts(value))),
            marks=[] if is_telling(value) else [pytest.mark.matrix],
        )
        for value in values
        if Made.further or is_telling(value)
    ]


def _parts(value: object) -> tuple[object, ...]:
    return value if type(value) is tuple else (value,)


def shared(parameters: Iterable[ParameterSet]) -> list[ParameterSet]:
    """Return parameters as `cases` does; one worker runs all tests of a parameter."""
    return [
        parameter._replace(marks=[*parameter.marks, pytest.mark.xdist_group(str(parameter.id))])
        for parameter in parameters
    ]


def every(step: int, values: Iterable[T]) -> list[T]:
    """Every n-th value, the first one too: of values that tell alike."""
    return list(values)[::step]


def _word(part: object) -> str:
    """Return a name of a part that is the same in each process, unlike a function's repr."""
    return part.__name__.strip("_") if inspect.isfunction(part) else str(part)
