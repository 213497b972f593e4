"""Builds each command's parser, and the settings from parsed arguments.

The options are defined in options.toml, which this module reads.
"""

import argparse
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from seglake.cli import option_values
from seglake.cli.command_parser import CommandParser
from seglake.environment import run_settings
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.pipelines.lake_query.registration import CatalogDialect
from seglake.pipelines.record_print.line_format import LineFormat
from seglake.settings.settings import LakeFormat, Settings
from seglake.version import __version__

_CLOSED_SETS = {
    "CatalogDialect": CatalogDialect,
    "Isolation": Isolation,
    "LakeFormat": LakeFormat,
    "LineFormat": LineFormat,
    "UpperBound": UpperBound,
}
# `recorded_run` also reads these attributes of commands that lack the options.
_ABSENT: Mapping[str, object] = {"source": [], "report": None, "run_id": None, "dry_run": False}

# Any: a TOML table may hold values of every kind.
_Table = Mapping[str, Any]


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the settings of a command line: files, then --set, then single options.

    Raises:
        WrongCallError: a file or an assignment cannot be read, or two options exclude each other.
        SettingsError: a key or a value is refused.
    """
    return run_settings.settings_of(vars(arguments), lambda name: f"--{name.replace('_', '-')}")


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of the arguments of `seglake COMMAND`."""
    table = _tables()["commands"][command]
    program = f"seglake {command}"
    calls = "".join(f"\n  {program} {options}" for options in table["examples"])
    parser = CommandParser(
        prog=program,
        usage=f"{program} {table['usage']}",
        description=table["description"],
        epilog=f"example{'s' if len(table['examples']) > 1 else ''}:{calls}",
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    parser.options_elsewhere = frozenset(_tables()["options"])
    parser.set_defaults(**_ABSENT, command=command)
    for option in _listed(table["options"]):
        if isinstance(option, str):
            _add(parser, option, table)
            continue
        group = parser.add_mutually_exclusive_group(required=table.get("requires_one", False))
        for alternative in option:
            _add(group, alternative, table)
    return parser


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formatter that keeps line breaks and widens the options' column to fit every option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


@cache
def _tables() -> _Table:
    # importlib.resources would take a tenth of the time of --help.
    return tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))


def _listed(options: Iterable[str | list[str]]) -> Iterator[str | list[str]]:
    """Yield a command's options; replace names of option sets by their options."""
    for option in options:
        if isinstance(option, str):
            yield from _tables()["sets"].get(option, [option])
        else:
            yield option


def _add(parser: argparse._ActionsContainer, name: str, table: _Table) -> None:
    """Add one option to a parser, with the command's changes to it."""
    changed = {**_tables()["options"][name], **table.get("changes", {}).get(name, {})}
    option = {key: value for key, value in changed.items() if value != ""}
    flags = [option.pop("short")] if "short" in option else []
    choices = option.get("choices")
    if choices is not None:
        words = _CLOSED_SETS[choices] if isinstance(choices, str) else choices
        option["choices"] = [str(word) for word in words]
        option["help"] = option["help"].replace("{choices}", " | ".join(option["choices"]))
    if "type" in option:
        option["type"] = vars(option_values)[option["type"]]
    if option.get("action") == "version":
        option["version"] = f"seglake {__version__}"
    parser.add_argument(*flags, name, **option)
