"""`seglake COMMAND`: finds the module of a command and passes it the arguments."""

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from seglake.cli.command_parser import CommandParser
from seglake.cli.outcome import exit_with
from seglake.version import __version__


class _Command(NamedTuple):
    # has main(argv) -> int; imported only when the command is called
    module: str
    does: str


COMMANDS = {
    "ingest": _Command("seglake.cli.ingest_command", "turn Kafka log segments into Delta tables"),
    "audit": _Command("seglake.cli.audit_command", "prove that nothing is missing in the tables"),
    "inspect": _Command(
        "seglake.cli.inspect_command", "show the contents of a segment or another file"
    ),
    "cat": _Command("seglake.cli.cat_command", "print records of disks or of a lake"),
    "replay": _Command("seglake.cli.replay_command", "decode quarantined bytes again, fill gaps"),
    "retake": _Command("seglake.cli.retake_command", "replace rows that lost an election"),
    "maintain": _Command("seglake.cli.maintain_command", "compact the tables, delete old files"),
    "erase": _Command("seglake.cli.erase_command", "remove records, now and in later runs"),
    "deserialize": _Command("seglake.cli.deserialize_command", "decode values into typed tables"),
    "latest": _Command("seglake.cli.latest_command", "keep tables of the newest record by key"),
    "report": _Command("seglake.cli.report_command", "show a lake as one HTML page"),
    "register": _Command("seglake.cli.register_command", "put the tables into a catalog"),
    "schemas": _Command("seglake.cli.schemas_command", "list the schemas of the schema registry"),
    "sql": _Command("seglake.cli.sql_command", "query the tables in SQL"),
    "warm-up": _Command("seglake.cli.warm_up_command", "compile and fetch what a first run needs"),
    "completion": _Command("seglake.cli.completion_command", "print a shell's completion script"),
}
NAMES = (*COMMANDS, "help", "version")
"""First arguments that are known; `help` and `version` mean --help and --version."""


def main(argv: Sequence[str]) -> int:
    """Run the command in the first argument, with the remaining arguments."""
    match [*argv]:
        case ["help", "help" | "version", *_]:
            argv = ["--help"]
        case ["help", *named]:
            argv = [*named, "--help"]
        case ["version", *_]:
            argv = ["--version"]
    arguments = _parser().parse_args(argv[:1])
    command = import_module(COMMANDS[arguments.command].module)
    code: int = command.main(argv[1:])
    return code


def entry_point() -> NoReturn:
    """Run the installed command `seglake`, and end the process with its exit code."""
    # Threads of numpy's linear algebra are not needed, and would busy-wait for a tenth of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    exit_with(main)


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name:<{width}}{command.does}" for name, command in COMMANDS.items())
    parser = CommandParser(
        prog="seglake",
        usage="seglake COMMAND ...",
        description="Turns raw Kafka log segments into Delta tables, without a broker.",
        epilog=f"commands:\n{listed}\n\n`seglake help COMMAND` explains one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=NAMES, metavar="COMMAND", help="see below")
    parser.add_argument("--version", action="version", version=f"seglake {__version__}")
    return parser
