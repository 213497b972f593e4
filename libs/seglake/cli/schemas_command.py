"""`seglake schemas`: lists and exports the schemas of a lake's registries."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import run_command
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake schemas`; exit with 3 if values of a schema cannot be decoded."""
    return run_command("schemas", _schemas, argv)


def _schemas(arguments: argparse.Namespace, settings: Settings) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_schemas.run import export_schemas, list_schemas
    from seglake.printable import show_count

    storage = open_storages(settings.spark.properties)
    source_id = settings.source.source_id
    found = list_schemas(arguments.lake, storage, arguments.registry, source_id, arguments.schemas)
    if arguments.export is not None:
        count = export_schemas(found, arguments.export, storage)
        if not arguments.quiet:
            print(f"seglake: {show_count(count, 'file')} in {arguments.export}", file=sys.stderr)
    sys.stdout.write(f"{found.to_json() if arguments.json else found.to_text()}\n")
    return found.exit_code
