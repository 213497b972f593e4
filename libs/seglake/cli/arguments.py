"""The arguments of every command: one parser each, and the settings they add up to."""

import argparse

from seglake.cli.common_options import (
    add_engine_option,
    add_line_options,
    add_older_copies_option,
    add_output_options,
    add_partition_option,
    add_read_policy_options,
    add_record_options,
    add_report_option,
    add_salvage_option,
    add_setting_options,
    add_source_id_and_engine,
    add_source_option,
    add_spark_options,
    add_topic_options,
    add_upper_bound_option,
    new_parser,
)
from seglake.cli.option_values import number, offsets
from seglake.environment import run_settings
from seglake.pipelines.lake_query.registration import CatalogDialect
from seglake.pipelines.settings.settings import LakeFormat, Settings

SHELLS = ("bash", "zsh", "fish")
"""Shells that `seglake completion` knows."""


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the settings that a command line adds up to: files, then --set, then options.

    Raises:
        WrongCallError: a file or an assignment cannot be read, or two options exclude each other.
        SettingsError: a key or a value is refused.
    """
    return run_settings.settings_of(vars(arguments), lambda name: f"--{name.replace('_', '-')}")


def ingest_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake ingest`."""
    parser = new_parser(
        "ingest",
        usage="--source URI [URI ...] --lake URI [options]",
        description="Turn Kafka log segments into Delta tables; a later run ingests what is new.",
        example="--source /var/lib/kafka/data --lake /data/lake --topics 'orders*'",
    )
    add = parser.add_argument
    add_source_option(
        parser,
        is_required=True,
        source_help="log dir, partition folder, or any folder above log dirs",
    )
    add("--lake", metavar="URI", required=True, help="folder of the tables, made when missing")
    add_topic_options(
        parser,
        topics_help="ingest these topics only",
        internal_help="ingest Kafka's own topics too, such as __consumer_offsets",
    )
    _add_time_options(parser)
    add_read_policy_options(parser)
    add_older_copies_option(parser)
    add(
        "--rescue",
        action="store_const",
        const=True,
        help="disks of a dead cluster: everything that any of them still has",
    )
    add_salvage_option(parser)
    add(
        "--format",
        choices=[str(choice) for choice in LakeFormat],
        metavar="FORMAT",
        help="delta, or parquet: one conversion into an empty folder",
    )
    add("--stuck-after", metavar="TIME", help="exit code 3 where a bound stands longer, as 6h")
    add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="print the plan, write nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    add_report_option(parser)
    add_spark_options(parser)
    add_output_options(parser, json_help="one machine-readable summary line on stdout")
    add_record_options(parser)
    return parser


def replay_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake replay`."""
    parser = new_parser(
        "replay",
        usage="--lake URI [--source URI ...] [options]",
        description="Decode again what lies in quarantine, and fill what is missing from other"
        " replicas.",
        example="--lake /data/lake --set limits.max_decompressed_batch_bytes=256MiB",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add_source_option(
        parser,
        is_required=False,
        source_help="log dirs with other replicas; without: only quarantined bytes",
    )
    add_topic_options(
        parser,
        topics_help="look at these topics only",
        internal_help="look at Kafka's own topics too",
    )
    add_older_copies_option(parser)
    add_salvage_option(parser)
    add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="say what would be filled, commit nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    add_report_option(parser)
    add_spark_options(parser)
    add_output_options(parser, json_help="one machine-readable summary line on stdout")
    add_record_options(parser)
    return parser


def retake_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake retake`."""
    parser = new_parser(
        "retake",
        usage="--source URI [URI ...] --lake URI [options]",
        description="Ingest again what lost an election after it was ingested, from the log that"
        " won. The old\nrows stay as history: current_records leaves them out.",
        example="--source /var/lib/kafka/data --lake /data/lake --topics orders --partition 3",
    )
    add = parser.add_argument
    add_source_option(
        parser, is_required=True, source_help="log dirs with the log that won the election"
    )
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add_topic_options(
        parser, topics_help="these topics only", internal_help="Kafka's own topics too"
    )
    add_partition_option(parser)
    add("--all", action="store_true", help="whole partitions, also what lost no election")
    add_upper_bound_option(parser)
    add_older_copies_option(parser)
    add_source_id_and_engine(parser)
    add("--dry-run", action="store_true", help="say what would be ingested, write nothing")
    add("--run-id", metavar="ID", help="label of the run, written with every row")
    add_report_option(parser)
    add_spark_options(parser)
    add_output_options(parser, json_help="one machine-readable summary line on stdout")
    add_record_options(parser)
    return parser


def maintain_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake maintain`."""
    parser = new_parser(
        "maintain",
        usage="--lake URI [options]",
        description="Complete what runs that died began, turn many small files into few, write"
        " checkpoints\nof the logs, and delete what no version needs any more. No row changes.",
        example="--lake /data/lake --dry-run",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add("--topics", metavar="GLOB", nargs="+", action="extend", help="compact these topics only")
    add("--tables", metavar="NAME", nargs="+", action="extend", default=[], help="these only")
    add("--upgrade", action="store_true", help="first add what a lake of an earlier version lacks")
    add_engine_option(parser)
    add("--dry-run", action="store_true", help="say what would be done, change nothing")
    add("--run-id", metavar="ID", help="label of the run, written with its commits")
    add_spark_options(parser)
    add_output_options(parser, json_help="one machine-readable summary line on stdout")
    parser.set_defaults(source=[], report=None)  # as the other recorded commands
    add_record_options(parser)
    return parser


def audit_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake audit`."""
    parser = new_parser(
        "audit",
        usage="--lake URI [--source URI ...] [options]",
        description="Prove from the tables that every covered offset is accounted for; with"
        " --source, that\nthe records are those of the disks. What is not explained ends with 3.",
        example="--lake /data/lake --source /var/lib/kafka/data",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add_source_option(
        parser, is_required=False, source_help="log dirs to compare with, payload by payload"
    )
    add_source_id_and_engine(parser)
    add_report_option(parser)
    add_spark_options(parser)
    add_output_options(parser, json_help="everything as one machine-readable line on stdout")
    parser.set_defaults(run_id=None, dry_run=False)  # as the other recorded commands
    add_record_options(parser)
    return parser


def report_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake report`."""
    parser = new_parser(
        "report",
        usage="--lake URI --output FILE.html [options]",
        description="Show a lake as one HTML page: which partitions need a look, what of each is"
        " ingested,\nmissing or damaged, its runs, and what to do. The page loads nothing.",
        example="--lake /data/lake --output report.html",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add("--output", metavar="FILE", required=True, help="the page; an older one is replaced")
    add_setting_options(parser)
    add_output_options(parser)
    return parser


def register_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake register`."""
    parser = new_parser(
        "register",
        usage="--lake URI [--database NAME] (--metastore URI | --print [DIALECT] |"
        " --iceberg FOLDER) [options]",
        description="Make the tables and views of a lake known to a catalog, under their names. No"
        " data is copied.\nRun it again after new topics: each has a view.",
        example="--lake /data/lake --database kafka --metastore thrift://metastore:9083\n"
        "--lake /data/lake --print duckdb > lake.sql\n"
        "--lake s3://bucket/lake --database unity.kafka --print\n"
        "--lake s3://bucket/lake --database kafka --iceberg s3://bucket/iceberg",
    )
    add = parser.add_argument
    add("--lake", metavar="URI", required=True, help="folder of the tables")
    add(
        "--database",
        metavar="NAME",
        help="where they go; --print spark and duckdb can do without",
    )
    add = parser.add_mutually_exclusive_group().add_argument
    add("--metastore", metavar="URI", help="a Hive metastore, as thrift://HOST:PORT")
    add(
        "--print",
        metavar="DIALECT",
        nargs="?",
        choices=[str(dialect) for dialect in CatalogDialect],
        const=str(CatalogDialect.SPARK),
        help=f"print the statements, change nothing: {' | '.join(CatalogDialect)}",
    )
    add("--iceberg", metavar="FOLDER", help="describe the tables to readers of Iceberg, there")
    add_spark_options(parser)
    add_output_options(parser)
    return parser


def inspect_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake inspect`."""
    parser = new_parser(
        "inspect",
        usage="PATH [options]",
        description="Show what Kafka's files hold: a segment, an index or side file, a partition"
        " folder, a log dir,\nor the log dirs below a folder.",
        example="/var/lib/kafka/data/orders-0/00000000000000000000.log --records",
    )
    add = parser.add_argument
    add("path", metavar="PATH", help="file or folder to look into")
    add("--records", action="store_true", help="show the records too, not only the batches")
    add("--offset", metavar="N", type=number, help="look this offset up through the index")
    add("--from", metavar="N", type=number, dest="from_offset", help="the first offset shown")
    add("--limit", metavar="N", type=number, help="show at most N batches, records or partitions")
    add("--only-defects", action="store_true", help="show damage only")
    add("--check", action="store_true", help="end with 3 if something needs a look")
    add_setting_options(parser)
    add_output_options(parser, json_help="one JSON object a line")
    return parser


def cat_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake cat`."""
    parser = new_parser(
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
    add_source_option(
        place, is_required=False, source_help="segment, partition folder, log dir or folder above"
    )
    place.add_argument("--lake", metavar="URI", help="folder of the tables")
    add_topic_options(
        parser, topics_help="these topics only", internal_help="Kafka's own topics too"
    )
    add_partition_option(parser)
    add("--offsets", metavar="RANGE", type=offsets, help="FROM:TO, without TO; either may be empty")
    add("--from-timestamp", metavar="TIME", help="ISO-8601; without a zone: UTC")
    add("--to-timestamp", metavar="TIME", help="the first time not printed")
    add("--limit", metavar="N", type=number, help="print at most N records")
    add_line_options(parser)
    add_read_policy_options(parser)
    add("--source-id", metavar="ID", help="of a lake: this cluster only")
    add_setting_options(parser)
    add_output_options(parser)
    return parser


def sql_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake sql`."""
    parser = new_parser(
        "sql",
        usage='--lake URI ["SELECT ..."] [options]',
        description="Ask the tables. Tables: records batches quarantine gaps checkpoints"
        " observations,\nand of internal topics: consumer_offsets transaction_state"
        " cluster_metadata."
        "\nViews: current_records superseded_records superseded_ranges last_observations"
        " last_offsets\ncurrent_gaps completeness settled_records readable_records latest_records"
        " group_lag\ngroup_offsets topic_configs partition_leaders settled_metadata,"
        " and one topic_<name>\nfor each topic."
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
        help="default: DuckDB with Spark's functions, but Spark on HDFS",
    )
    form = parser.add_mutually_exclusive_group()
    form.set_defaults(form="table")
    for name, shown in (
        ("json", "one JSON object a row; binary as base64"),
        ("csv", "CSV; the same"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=shown)
    form.add_argument("--parquet", metavar="FILE", help="write the answer to a Parquet file")
    add_spark_options(parser)
    add_output_options(parser)
    return parser


def warm_up_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake warm-up`."""
    parser = new_parser(
        "warm-up",
        usage="[options]",
        description="Compile the decoder and fetch Spark's JARs for Delta, so that no first run"
        " waits for it.",
        example="--s3",
    )
    parser.add_argument("--s3", action="store_true", help="also the JARs to read lakes on S3 with")
    add_output_options(parser)
    return parser


def completion_parser() -> argparse.ArgumentParser:
    """Return the parser of `seglake completion`."""
    parser = new_parser(
        "completion",
        usage="SHELL",
        description="Print what makes a shell complete commands, options, choices and paths at Tab."
        "\nWhere a shell looks for it: docs/commands.md.",
        example="bash > ~/.local/share/bash-completion/completions/seglake",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" | ".join(SHELLS))
    return parser


def _add_time_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for both ends of a time window."""
    parser.add_argument(
        "--from-timestamp",
        metavar="TIME",
        help="begin with the first batch that has a record at or after it, and take that whole;"
        " ISO-8601, without a zone: UTC",
    )
    parser.add_argument(
        "--to-timestamp",
        metavar="TIME",
        help="stop before the first batch that has a record at or after it",
    )
