"""`seglake register`: registers a lake's tables and views in a catalog."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import run_command
from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.lake_query.registration import CatalogDialect
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake register`, and return its exit code (see CONTRIBUTING.md)."""
    return run_command("register", _register, argv)


def _register(arguments: argparse.Namespace, settings: Settings) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.catalog_commands import run_register, run_register_iceberg, statements_of

    if arguments.print is not None:
        dialect = CatalogDialect(arguments.print)
        for statement in statements_of(arguments.lake, arguments.database, dialect, settings):
            sys.stdout.write(f"{statement};\n")
        return ExitCode.DONE
    if arguments.database is None:
        raise WrongCallError("name the database with --database; only --print can do without")
    place, verbosity = (arguments.lake, arguments.database), arguments.verbosity
    if arguments.iceberg is not None:
        done = run_register_iceberg(*place, arguments.iceberg, settings, verbosity=verbosity)
    else:
        metastore = arguments.metastore
        done = run_register(*place, settings, metastore=metastore, verbosity=verbosity)
    sys.stdout.write(f"{done.to_text()}\n")
    return ExitCode.DONE
