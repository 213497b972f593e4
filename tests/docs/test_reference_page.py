"""The reference has every public name, and their docstrings explain every argument and option."""

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import seglake
from seglake.commands import EngineOptions, MaintainOptions, RetakeOptions, RunOptions
from seglake.environment.run_settings import SettingOptions

_PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
_FUNCTIONS = [name for name in seglake.__all__ if inspect.isfunction(getattr(seglake, name))]
_OF_OTHERS = ("Any", "DeltaTable", "Iterator")
_OPTIONS = (SettingOptions, EngineOptions, RunOptions, RetakeOptions, MaintainOptions)


def _explained(documented: object, section: str) -> set[str]:
    """The names that a section of a docstring explains."""
    _, _, rest = f"{inspect.getdoc(documented)}\n\n".partition(f"\n{section}:\n")
    return set(re.findall(r"^    (\w+): ", rest.partition("\n\n")[0], re.MULTILINE))


def _shown() -> list[str]:
    return re.findall(r"^::: ([\w.]+)$", _PAGE.read_text("utf-8"), re.MULTILINE)


# Any: a class, a function or a text.
def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_reference_has_every_public_name_once() -> None:
    public = [name for name in _shown() if name.count(".") == 1]
    assert sorted(public) == sorted(f"seglake.{name}" for name in seglake.__all__)


def test_reference_has_the_options_of_every_function() -> None:
    taken = {
        str(inspect.signature(getattr(seglake, name)).parameters["options"].annotation)
        for name in _FUNCTIONS
    }
    named = {re.sub(r"\W", " ", text).split()[-1] for text in taken}
    assert named - {name.rpartition(".")[2] for name in _shown()} == set()


def test_reference_has_what_each_function_returns() -> None:
    returned = [
        str(inspect.signature(getattr(seglake, name)).return_annotation) for name in _FUNCTIONS
    ]
    named = {word for text in returned for word in re.findall(r"\b[A-Z]\w+", text)}
    assert named - {*_OF_OTHERS, *(name.rpartition(".")[2] for name in _shown())} == set()


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_function_explains_each_of_its_arguments(name: str) -> None:
    function = getattr(seglake, name)
    assert _explained(function, "Args") == set(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", [name for name in _shown() if is_dataclass(_named(name))])
def test_result_explains_each_of_its_fields(name: str) -> None:
    result = _named(name)
    known = {field.name for field in fields(result) if not field.name.startswith("_")}
    shown = [_named(each) for each in _shown()]
    explained = [_explained(kind, "Attributes") for kind in inspect.getmro(result) if kind in shown]
    assert set[str]().union(*explained) == known


@pytest.mark.parametrize("options", _OPTIONS, ids=lambda options: options.__name__)
def test_options_explain_each_of_their_keys(options: type) -> None:
    earlier = _OPTIONS[: _OPTIONS.index(options)]  # what it extends is among these
    own = set(options.__annotations__).difference(*(known.__annotations__ for known in earlier))
    assert _explained(options, "Attributes") == own
