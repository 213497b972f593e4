"""A parser of arguments that suggests similar names for a misspelled option or value."""

import argparse
import sys
from itertools import takewhile
from typing import Any, NoReturn

from seglake.near_names import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """Argument parser with suggestions in its error messages."""

    options_elsewhere: frozenset[str] = frozenset()
    """Options of other commands; for these, only the plural or singular is suggested."""
    _unknown: tuple[str, ...] = ()

    # Any: argparse's overloads use it.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse; remember unknown options, which the error message names."""
        given = sys.argv[1:] if args is None else [*args]
        named = [text.partition("=")[0] for text in takewhile(lambda text: text != "--", given)]
        known = self._option_string_actions
        self._unknown = tuple(name for name in named if name.startswith("--") and name not in known)
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Exit with 2; for a misspelled option, suggest the name that was probably meant."""
        super().error(f"{message}{''.join(map(self._hint, self._unknown))}")

    def _hint(self, name: str) -> str:
        """Return the end of an error message about an unknown option; "" without a suggestion."""
        if name in self.options_elsewhere:
            other_number = {f"{name}s", name.removesuffix("s")} & self._option_string_actions.keys()
            meant = did_you_mean(name, other_number)
            return f"; {name} is an option of other commands only{meant}"
        meant = did_you_mean(name, self._option_string_actions)
        return f"; there is no option {name}{meant}" if meant else ""

    # Any: an option may have values of every type.
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None
