"""`seglake completion`: prints a shell script that completes calls of seglake.

The script is generated from the parsers and needs no Python when Tab is pressed.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of
from seglake.cli.main import COMMANDS
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode

_FILES = frozenset({"source", "path", "config", "output", "report", "schemas"})
_FOLDERS = frozenset({"lake", "export"})


def main(argv: Sequence[str]) -> int:
    """Run `seglake completion`, and return its exit code."""
    given = parser_of("completion").parse_args(argv)
    return run_job(partial(_complete, given.shell), verbose=False, writes=False)


def _complete(shell: str) -> int:
    import shtab

    sys.stdout.write(f"{shtab.complete(_whole_parser(), shell)}\n")
    return ExitCode.DONE


def _whole_parser() -> argparse.ArgumentParser:
    """Return one parser with all commands; other calls build only their command's parser."""
    import shtab

    whole = argparse.ArgumentParser(prog="seglake", add_help=False)
    commands = whole.add_subparsers()
    for name, command in COMMANDS.items():
        parser = parser_of(name)
        # argparse has no public way to list the options of a parser.
        for action in parser._actions:
            if action.dest in _FILES | _FOLDERS:
                complete = shtab.FILE if action.dest in _FILES else shtab.DIRECTORY
                action.complete = complete  # type: ignore[attr-defined]  # read by shtab
        commands.add_parser(name, help=command.does, parents=[parser], add_help=False)
    helped = commands.add_parser("help", help="explain a command", add_help=False)
    helped.add_argument("command", choices=[*COMMANDS])
    commands.add_parser("version", help="print the version", add_help=False)
    return whole
