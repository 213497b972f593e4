"""The arguments of every command: one parser each, and the settings they add up to."""

import argparse
import os
import re

from seglake import __version__
from seglake.cli.command_parser import CommandParser
from seglake.environment import run_settings
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.pipelines.record_print.line_format import LineFormat
from seglake.pipelines.settings.settings import LakeFormat, Settings

SHELLS = ("bash", "zsh", "fish")
"""Those that `seglake completion` knows."""


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that a command line adds up to: files, then --set, then options.

    Raises:
        WrongCallError: a file or an assignment cannot be read, or two options exclude each other.
        SettingsError: a key or a value is refused.
    """
    return run_settings.settings_of(vars(arguments), lambda name: f"--{name.replace('_', '-')}")


def ingest_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake ingest`."""
    parser = _parser(
        "ingest",
        usage="--source URI [URI ...] --lake URI [options]",
        description="Turn Kafka log segments into Delta tables; a later run ingests what is new.",
        example="--source /var/lib/kafka/data --lake /data/lake --topics 'orders*'",
    )
    add = parser.add_argument
    _add_source_option(
        parser,
        is_required=True,
        source_help="log dir, partition folder, or any folder above log dirs",
    )
    add("--lake", metavar="URI", required=True, help="folder of the tables, made when missing")
    _add_topic_options(
        parser,
        topics_help="ingest these topics only",
        internal_help="ingest __* topics too, some also as decoded tables",
    )
    add("--from-timestamp", metavar="TIME", help="ISO-8601; without a zone: UTC")
    add("--to-timestamp", metavar="TIME", help="the first time not ingested")
    _add_read_policy_options(parser)
    add(
        "--format",
        choices=[str(choice) for choice in LakeFormat],
        metavar="FORMAT",
        help="delta, or parquet: one conversion into an empty folder",
    )
    add("--stuck-after", metavar="TIME", help="exit code 3 where a bound stands longer, as 6h")
    _add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="print the plan, write nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    _add_report_option(parser)
    _add_spark_options(parser)
    _add_output_options(parser, json_help="one machine-readable summary line on stdout")
    _add_record_options(parser)
    return parser


def replay_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake replay`."""
    parser = _parser(
        "replay",
        usage="--lake URI [--source URI ...] [options]",
        description="Decode again what lies in quarantine, and fill what is missing from other"
        " replicas.",
        example="--lake /data/lake --set limits.max_decompressed_batch_bytes=256MiB",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    _add_source_option(
        parser,
        is_required=False,
        source_help="log dirs with other replicas; without: only quarantined bytes",
    )
    _add_topic_options(
        parser, topics_help="look at these topics only", internal_help="look at __* topics too"
    )
    _add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="say what would be filled, commit nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    _add_report_option(parser)
    _add_spark_options(parser)
    _add_output_options(parser, json_help="one machine-readable summary line on stdout")
    _add_record_options(parser)
    return parser


def retake_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake retake`."""
    parser = _parser(
        "retake",
        usage="--source URI [URI ...] --lake URI [options]",
        description="Ingest anew what lost an election after it was ingested, from the log that"
        " won. The old\nrows stay as history: current_records leaves them out.",
        example="--source /var/lib/kafka/data --lake /data/lake --topics orders --partition 3",
    )
    add = parser.add_argument
    _add_source_option(
        parser, is_required=True, source_help="log dirs with the log that won the election"
    )
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    _add_topic_options(parser, topics_help="these topics only", internal_help="__* topics too")
    _add_partition_option(parser)
    add("--all", action="store_true", help="whole partitions, also what lost no election")
    _add_upper_bound_option(parser)
    _add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="say what would be ingested, write nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    _add_report_option(parser)
    _add_spark_options(parser)
    _add_output_options(parser, json_help="one machine-readable summary line on stdout")
    _add_record_options(parser)
    return parser


def audit_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake audit`."""
    parser = _parser(
        "audit",
        usage="--lake URI [--source URI ...] [options]",
        description="Prove from the tables that every covered offset is accounted for; with"
        " --source, that\nthe records are those of the disks. What is not explained ends with 3.",
        example="--lake /data/lake --source /var/lib/kafka/data",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    _add_source_option(
        parser, is_required=False, source_help="log dirs to compare with, payload by payload"
    )
    _add_source_id_and_engine(parser)
    _add_report_option(parser)
    _add_spark_options(parser)
    _add_output_options(parser, json_help="everything as one machine-readable line on stdout")
    parser.set_defaults(run_id=None, dry_run=False)  # as the other recorded commands
    _add_record_options(parser)
    return parser


def report_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake report`."""
    parser = _parser(
        "report",
        usage="--lake URI --output FILE.html [options]",
        description="Show a lake as one HTML page: which partitions need a look, what of each is"
        " ingested,\nmissing or damaged, its runs, and what to do. The page loads nothing.",
        example="--lake /data/lake --output report.html",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add("--output", metavar="FILE", required=True, help="the page; an older one is replaced")
    _add_setting_options(parser)
    _add_output_options(parser)
    return parser


def inspect_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake inspect`."""
    parser = _parser(
        "inspect",
        usage="PATH [options]",
        description="Show what Kafka's files hold: a segment, an index or side file, a partition"
        " folder, a log dir,\nor the log dirs below a folder.",
        example="/var/lib/kafka/data/orders-0/00000000000000000000.log --records",
    )
    add = parser.add_argument
    add("path", metavar="PATH", help="file or folder to look into")
    add("--records", action="store_true", help="show the records too, not only the batches")
    add("--offset", metavar="N", type=_number, help="look this offset up through the index")
    add("--from", metavar="N", type=_number, dest="from_offset", help="the first offset shown")
    add("--limit", metavar="N", type=_number, help="show at most N batches, records or partitions")
    add("--only-defects", action="store_true", help="show damage only")
    _add_output_options(parser, json_help="one JSON object a line")
    return parser


def cat_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake cat`."""
    parser = _parser(
        "cat",
        usage="(--source URI [URI ...] | --lake URI) [options]",
        description="Print records to stdout, one a line: those that ingest would take from disks,"
        " or those of a lake.\nPartition after partition, by offset.",
        example="--source /var/lib/kafka/data --topics orders --partition 3 --limit 10\n"
        "--source /var/lib/kafka/data/orders-3/00000000000000000000.log --format value\n"
        "--lake /data/lake --from-timestamp 2023-11-14T22:00 --to-timestamp 2023-11-15",
    )
    add = parser.add_argument
    place = parser.add_mutually_exclusive_group(required=True)
    _add_source_option(
        place, is_required=False, source_help="segment, partition folder, log dir or folder above"
    )
    place.add_argument("--lake", metavar="URI", help="folder of the tables")
    _add_topic_options(parser, topics_help="these topics only", internal_help="__* topics too")
    _add_partition_option(parser)
    add(
        "--offsets", metavar="RANGE", type=_offsets, help="FROM:TO, without TO; either may be empty"
    )
    add("--from-timestamp", metavar="TIME", help="ISO-8601; without a zone: UTC")
    add("--to-timestamp", metavar="TIME", help="the first time not printed")
    add("--limit", metavar="N", type=_number, help="print at most N records")
    _add_line_options(parser)
    _add_read_policy_options(parser)
    add("--source-id", metavar="ID", help="of a lake: this cluster only")
    _add_setting_options(parser)
    _add_output_options(parser)
    return parser


def sql_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake sql`."""
    parser = _parser(
        "sql",
        usage='--lake URI ["SELECT ..."] [options]',
        description="Ask the tables. Tables: records batches quarantine gaps checkpoints"
        " observations,\nand of internal topics: consumer_offsets transaction_state"
        " cluster_metadata."
        "\nViews: current_records superseded_records superseded_ranges last_observations"
        " last_offsets\ncurrent_gaps completeness settled_records readable_records latest_records"
        " group_offsets\nsettled_metadata, and one topic_<name> for each topic."
        "\nWithout a statement, a terminal gets a prompt; otherwise stdin is read.",
        example='--lake /data/lake "SELECT topic, count(*) FROM current_records GROUP BY topic"',
    )
    add = parser.add_argument
    add("query", metavar="SELECT", nargs="?", help="statements, separated by ;")
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add("-f", "--file", metavar="FILE", help="read the statements from a file; - is stdin")
    add(
        "--engine",
        choices=["duckdb", "spark"],
        help="default: DuckDB, but Spark on HDFS and for what only it can",
    )
    form = parser.add_mutually_exclusive_group()
    form.set_defaults(form="table")
    for name, shown in (
        ("json", "one JSON object a row; binary as base64"),
        ("csv", "CSV; the same"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=shown)
    form.add_argument("--parquet", metavar="FILE", help="write the answer to a Parquet file")
    _add_spark_options(parser)
    _add_output_options(parser)
    return parser


def warm_up_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake warm-up`."""
    parser = _parser(
        "warm-up",
        usage="[options]",
        description="Compile the decoder and fetch Spark's JARs for Delta, so that no first run"
        " waits for it.",
        example="--s3",
    )
    parser.add_argument("--s3", action="store_true", help="also the JARs to read lakes on S3 with")
    _add_output_options(parser)
    return parser


def completion_parser() -> argparse.ArgumentParser:
    """Arguments of `seglake completion`."""
    parser = _parser(
        "completion",
        usage="SHELL",
        description="Print what makes a shell complete commands, options, choices and paths at Tab."
        "\nWhere a shell looks for it: docs/commands.md.",
        example="bash > ~/.local/share/bash-completion/completions/seglake",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" | ".join(SHELLS))
    return parser


def _parser(command: str, *, usage: str, description: str, example: str) -> argparse.ArgumentParser:
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


def _add_partition_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition",
        metavar="N",
        type=_number,
        nargs="+",
        action="extend",
        default=[],
        help="these partitions only",
    )


def _add_read_policy_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--isolation",
        choices=[str(choice) for choice in Isolation],
        metavar="LEVEL",
        help=" | ".join(Isolation),
    )
    _add_upper_bound_option(parser)


def _add_upper_bound_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--upper-bound",
        choices=[str(choice) for choice in UpperBound],
        metavar="BOUND",
        help=" | ".join(UpperBound),
    )


def _add_line_options(parser: argparse.ArgumentParser) -> None:
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
        type=_delimiter,
        help=r"behind each value, such as \n \t \0 \x1e (default: \n)",
    )
    add(
        "--key-delimiter",
        metavar="TEXT",
        type=_delimiter,
        help=r"between key and value (default: \t)",
    )


def _add_source_option(
    parser: argparse._ActionsContainer, *, is_required: bool, source_help: str
) -> None:
    parser.add_argument(
        "--source",
        metavar="URI",
        nargs="+",
        action="extend",
        required=is_required,
        default=[],
        help=source_help,
    )


def _add_topic_options(
    parser: argparse.ArgumentParser, *, topics_help: str, internal_help: str
) -> None:
    add = parser.add_argument
    topics_help = f"{topics_help}; a leading ! excludes"
    add("--topics", metavar="GLOB", nargs="+", action="extend", help=topics_help)
    add("--internal-topics", action="store_const", const=True, help=internal_help)


def _add_report_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report", metavar="FILE", help="write what there is to see as an HTML page, afterwards"
    )
    # By which the page names the command.
    parser.set_defaults(command=parser.prog.rpartition(" ")[2])


def _add_source_id_and_engine(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--source-id", metavar="ID", help="cluster, where meta.properties gives none")
    add(
        "--engine",
        choices=["spark", "local"],
        default="spark",
        help="spark (default), or local: processes without a JVM",
    )


def _add_spark_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--master", metavar="URL", help="Spark's master (default: local[*])")
    _add_setting_options(parser)


def _add_setting_options(parser: argparse.ArgumentParser) -> None:
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


def _add_output_options(parser: argparse.ArgumentParser, *, json_help: str | None = None) -> None:
    add = parser.add_argument
    if json_help is not None:
        add("--json", action="store_true", help=json_help)
    add("-v", "--verbose", action="count", default=0, help="say more; tracebacks of errors")
    add("-q", "--quiet", action="count", default=0, help="say less")
    add("--version", action="version", version=f"seglake {__version__}")


def _add_record_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--log-format", choices=["text", "json"], default="text", help="of stderr: text | json")
    add("--metrics", metavar="FILE", help="the run as gauges for Prometheus, as seglake.prom")
    add("--openlineage", metavar="FILE|URL", help="the run as events: appended, or sent")


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, got {text!r}")
    return int(text)


def _offsets(text: str) -> tuple[int, int | None]:
    """FROM:TO; nothing for FROM is 0, nothing for TO is no bound."""
    first, colon, stop = text.partition(":")
    if not colon or not all(part.isdecimal() or not part for part in (first, stop)):
        raise argparse.ArgumentTypeError(f"expected FROM:TO, as 100:200, got {text!r}")
    bounds = int(first or 0), int(stop) if stop else None
    if bounds[1] is not None and bounds[0] >= bounds[1]:
        raise argparse.ArgumentTypeError(f"TO must lie above FROM, got {text!r}")
    return bounds


_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|([ntr0\\])|)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def _delimiter(text: str) -> bytes:
    """Bytes, some of them written with a backslash."""

    def unescaped(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            return bytes.fromhex(found[1].decode())
        if found[2] is None:
            raise argparse.ArgumentTypeError(
                rf"expected \n, \t, \r, \0, \\ or \xNN behind a backslash, got {text!r}"
            )
        return _ESCAPED[found[2]]

    return _ESCAPE.sub(unescaped, os.fsencode(text))
