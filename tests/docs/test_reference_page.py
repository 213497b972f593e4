"""The docstrings of the public functions explain every argument and every option."""

import inspect
import re

import pytest

import seglake
from seglake.commands import EngineOptions, MaintainOptions, RetakeOptions, RunOptions
from seglake.environment.run_settings import SettingOptions

_FUNCTIONS = [name for name in seglake.__all__ if inspect.isfunction(getattr(seglake, name))]
_OPTIONS = (SettingOptions, EngineOptions, RunOptions, RetakeOptions, MaintainOptions)


def _explained(documented: object, section: str) -> set[str]:
    """The names that a section of a docstring explains."""
    _, _, rest = f"{inspect.getdoc(documented)}\n\n".partition(f"\n{section}:\n")
    return set(re.findall(r"^    (\w+): ", rest.partition("\n\n")[0], re.MULTILINE))


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_function_explains_each_of_its_arguments(name: str) -> None:
    function = getattr(seglake, name)
    assert _explained(function, "Args") == set(inspect.signature(function).parameters)


@pytest.mark.parametrize("options", _OPTIONS, ids=lambda options: options.__name__)
def test_options_explain_each_of_their_keys(options: type) -> None:
    earlier = _OPTIONS[: _OPTIONS.index(options)]  # what it extends is among these
    own = set(options.__annotations__).difference(*(known.__annotations__ for known in earlier))
    assert _explained(options, "Attributes") == own
