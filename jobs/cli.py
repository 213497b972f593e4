"""`seglake <command>`: finds the job of a command and hands it the arguments."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from jobs import VERSION
from jobs.outcome import exit_with


class _Command(NamedTuple):
    module: str  # of the job, with main(argv) -> int; imported only when the command is called
    does: str


COMMANDS = {
    "ingest": _Command("jobs.ingest_segments", "turn Kafka log segments into Delta tables"),
    "audit": _Command("jobs.audit_lake", "prove that nothing is missing in the tables"),
    "inspect": _Command("jobs.inspect_segments", "show what a segment or another file holds"),
    "replay": _Command("jobs.replay_quarantine", "decode quarantined bytes again, fill gaps"),
    "sql": _Command("jobs.query_lake", "ask the tables in Spark SQL"),
}


def main(argv: Sequence[str]) -> int:
    """Run the command that `argv` names; its own arguments follow it."""
    arguments = _parser().parse_args(argv[:1])
    job = import_module(COMMANDS[arguments.command].module)
    code: int = job.main(argv[1:])
    return code


def entry_point() -> NoReturn:
    """What the installed command `seglake` runs."""
    exit_with(main)


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<9}{command.does}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="seglake",
        usage="seglake COMMAND ...",
        description="Turns raw Kafka log segments into Delta tables, without a broker.",
        epilog=f"commands:\n{listed}\n\n`seglake COMMAND --help` explains one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND", help="see below")
    parser.add_argument("--version", action="version", version=f"seglake {VERSION}")
    return parser


if __name__ == "__main__":
    entry_point()
