"""A parser of arguments that names near options and values where one is misspelled."""

import argparse
import sys
from itertools import takewhile
from typing import Any, NoReturn

from seglake.near_names import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """As argparse's, but for what it says of an option or a choice that does not exist."""

    _unknown: tuple[str, ...] = ()

    # Any: as argparse's overloads have it.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; what else was given that looks like an option is kept in mind."""
        given = sys.argv[1:] if args is None else [*args]
        named = [text.partition("=")[0] for text in takewhile(lambda text: text != "--", given)]
        known = self._option_string_actions
        self._unknown = tuple(name for name in named if name.startswith("--") and name not in known)
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """End with 2: a misspelled option also is why a required one is missing."""
        known = self._option_string_actions
        near = ((name, did_you_mean(name, known)) for name in self._unknown)
        said = [f"; there is no option {name}{meant}" for name, meant in near if meant]
        super().error(f"{message}{''.join(said)}")

    # Any: whatever an option takes.
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None
