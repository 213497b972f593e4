"""The options that several commands have, each said once."""

import argparse

from seglake.cli.command_parser import CommandParser
from seglake.cli.option_values import delimiter, number
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.pipelines.record_print.line_format import LineFormat
from seglake.version import __version__


def new_parser(
    command: str, *, usage: str, description: str, example: str
) -> argparse.ArgumentParser:
    """Return a parser of one command; `example` has the options of a call in each line."""
    program = f"seglake {command}"
    examples = example.splitlines()
    calls = "".join(f"\n  {program} {options}" for options in examples)
    return CommandParser(
        prog=program,
        usage=f"{program} {usage}",
        description=description,
        epilog=f"example{'s' if len(examples) > 1 else ''}:{calls}",
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks, and leaves the options' column enough room for one line each."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


def add_partition_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for numbers of partitions, several at a time or repeated."""
    parser.add_argument(
        "--partition",
        metavar="N",
        type=number,
        nargs="+",
        action="extend",
        default=[],
        help="these partitions only",
    )


def add_read_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for isolation, upper bound and open transactions."""
    parser.add_argument(
        "--isolation",
        choices=[str(choice) for choice in Isolation],
        metavar="LEVEL",
        help=" | ".join(Isolation),
    )
    add_upper_bound_option(parser)


def add_upper_bound_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the upper bound of reading."""
    parser.add_argument(
        "--upper-bound",
        choices=[str(choice) for choice in UpperBound],
        metavar="BOUND",
        help=" | ".join(UpperBound),
    )


def add_older_copies_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to ingest records that the cleaner removed from copies that have them."""
    parser.add_argument(
        "--older-copies",
        action="store_const",
        const=True,
        help="take what older copies still have and the cleaner has removed since",
    )


def add_salvage_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to salvage untrusted rows from damaged batches."""
    parser.add_argument(
        "--salvage",
        action="store_const",
        const=True,
        help="records of batches with a wrong checksum, untrusted, into salvaged_records",
    )


def add_line_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for records written as lines."""
    add = parser.add_argument
    add(
        "--format",
        choices=[str(choice) for choice in LineFormat],
        default=str(LineFormat.JSON),
        dest="line_format",  # `format` is a setting
        metavar="FORMAT",
        help=f"{' | '.join(LineFormat)}; json is the default",
    )
    add(
        "--delimiter",
        metavar="TEXT",
        type=delimiter,
        help=r"behind each value, such as \n \t \0 \x1e (default: \n)",
    )
    add(
        "--key-delimiter",
        metavar="TEXT",
        type=delimiter,
        help=r"between key and value (default: \t)",
    )


def add_source_option(
    parser: argparse._ActionsContainer, *, is_required: bool, source_help: str
) -> None:
    """Add the option for sources, several at a time or repeated."""
    parser.add_argument(
        "--source",
        metavar="URI",
        nargs="+",
        action="extend",
        required=is_required,
        default=[],
        help=source_help,
    )


def add_topic_options(
    parser: argparse.ArgumentParser, *, topics_help: str, internal_help: str
) -> None:
    """Add the options that select topics, also internal ones."""
    add = parser.add_argument
    topics_help = f"{topics_help}; a leading ! excludes"
    add("--topics", metavar="GLOB", nargs="+", action="extend", help=topics_help)
    add("--internal-topics", action="store_const", const=True, help=internal_help)


def add_report_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for a page about the run."""
    parser.add_argument(
        "--report", metavar="FILE", help="write what there is to see as an HTML page, afterwards"
    )
    # By which the page names the command.
    parser.set_defaults(command=parser.prog.rpartition(" ")[2])


def add_source_id_and_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options for the name of the source, and for the engine."""
    parser.add_argument(
        "--source-id",
        metavar="ID",
        help="cluster, where meta.properties gives none, or what the lake calls it",
    )
    add_engine_option(parser)


def add_engine_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the engine."""
    parser.add_argument(
        "--engine",
        choices=["spark", "local"],
        default="spark",
        help="spark (default), or local: processes without a JVM",
    )


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for Spark's master and settings."""
    add = parser.add_argument
    add("--master", metavar="URL", help="Spark's master (default: local[*])")
    add_setting_options(parser)


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for settings, from files and one by one."""
    add = parser.add_argument
    add(
        "--config",
        metavar="FILE.toml",
        action="append",
        default=[],
        help="settings file (repeatable, later wins)",
    )
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one setting, as section.key=value (repeatable)",
    )


def add_output_options(parser: argparse.ArgumentParser, *, json_help: str | None = None) -> None:
    """Add the options for the form and the amount of output."""
    add = parser.add_argument
    if json_help is not None:
        add("--json", action="store_true", help=json_help)
    add("-v", "--verbose", action="count", default=0, help="say more; tracebacks of errors")
    add("-q", "--quiet", action="count", default=0, help="say less")
    add("--version", action="version", version=f"seglake {__version__}")


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for metrics and lineage of a run."""
    add = parser.add_argument
    add("--log-format", choices=["text", "json"], default="text", help="of stderr: text | json")
    add("--metrics", metavar="FILE", help="the run as gauges for Prometheus, as seglake.prom")
    add("--openlineage", metavar="FILE|URL", help="the run as events: appended, or sent")
