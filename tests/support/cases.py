"""Parameters of tests: the telling ones run by default, the whole matrix in `make test-all`."""

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

T = TypeVar("T")


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
