"""`seglake schemas`: lists and exports the schemas of a lake's registries."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run `seglake schemas`; exit with 3 if values of a schema cannot be decoded."""
    arguments = parser_of("schemas").parse_args(argv)
    return run_job(partial(_schemas, arguments), verbose=arguments.verbose > 0, writes=False)


def _schemas(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_schemas.run import export_schemas, list_schemas
    from seglake.printable import show_count

    storage = open_storages(settings.spark.properties)
    found = list_schemas(
        arguments.lake,
        storage,
        arguments.registry,
        settings.source.source_id,
        arguments.schemas,
    )
    if arguments.export is not None:
        count = export_schemas(found, arguments.export, storage)
        if not arguments.quiet:
            print(f"seglake: {show_count(count, 'file')} in {arguments.export}", file=sys.stderr)
    if arguments.json:
        sys.stdout.write(f"{found.to_json()}\n")
    else:
        sys.stdout.write(f"{found.to_text()}\n")
    return found.exit_code
