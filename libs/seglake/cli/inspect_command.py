"""`seglake inspect`: shows the contents of Kafka's files to a person. Plain Python."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import run_command
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake inspect`; without --check it exits with 0 even if there is damage."""
    return run_command("inspect", _inspect, argv)


def _inspect(arguments: argparse.Namespace, settings: Settings) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.environment.storages import open_storages
    from seglake.pipelines.segment_inspect.run import inspect
    from seglake.pipelines.segment_inspect.shown_part import Part

    return inspect(
        arguments.path,
        open_storages(settings.spark.properties),
        records=arguments.records,
        as_json=arguments.json,
        out=sys.stdout,
        check=arguments.check,
        key_paths=settings.tiered.keys,
        part=Part(
            offset=arguments.offset,
            from_offset=arguments.from_offset,
            only_defects=arguments.only_defects,
        ),
    )
