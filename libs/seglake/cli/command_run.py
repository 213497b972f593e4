"""Runs a command: parses its arguments, makes its settings, and returns its exit code."""

import argparse
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.outcome import run_job
from seglake.settings.settings import Settings

Options = TypeVar("Options")


def run_command(
    command: str,
    run: Callable[[argparse.Namespace, Settings], int],
    argv: Sequence[str],
    *,
    writes: bool = False,
) -> int:
    """Run a command whose runs are not recorded, and return its exit code (see CONTRIBUTING.md).

    Args:
        command: the command's name on the command line.
        run: does the work and returns the exit code.
        argv: the command's arguments.
        writes: whether the command may commit to a lake.
    """
    arguments = parsed(command, argv)
    return run_job(
        lambda: run(arguments, settings_of(arguments)),
        verbose=arguments.verbose > 0,
        writes=writes and not arguments.dry_run,
    )


def parsed(command: str, argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of a command, and their sum of -v and -q as `verbosity`."""
    arguments = parser_of(command).parse_args(argv)
    arguments.verbosity = arguments.verbose - arguments.quiet
    return arguments


def options_of(kind: type[Options], arguments: argparse.Namespace) -> Options:
    """Return the arguments that are options of a function, as a dict of their type."""
    known = kind.__annotations__  # this includes inherited annotations
    return cast(Options, {name: each for name, each in vars(arguments).items() if name in known})
