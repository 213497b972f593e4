"""`seglake register`: registers a lake's tables and views in a catalog."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.lake_query.registration import CatalogDialect


def main(argv: Sequence[str]) -> int:
    """Run `seglake register`, and return its exit code (see CONTRIBUTING.md)."""
    arguments = parser_of("register").parse_args(argv)
    return run_job(partial(_register, arguments), verbose=arguments.verbose > 0, writes=False)


def _register(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.catalog_commands import run_register, run_register_iceberg, statements_of

    if arguments.print is not None:
        dialect = CatalogDialect(arguments.print)
        for statement in statements_of(arguments.lake, arguments.database, dialect, settings):
            sys.stdout.write(f"{statement};\n")
        return ExitCode.DONE
    if arguments.database is None:
        raise WrongCallError("name the database with --database; only --print can do without")
    verbosity = arguments.verbose - arguments.quiet
    place = arguments.lake, arguments.database
    if arguments.iceberg is not None:
        done = run_register_iceberg(*place, arguments.iceberg, settings, verbosity=verbosity)
    else:
        metastore = arguments.metastore
        done = run_register(*place, settings, metastore=metastore, verbosity=verbosity)
    sys.stdout.write(f"{done.to_text()}\n")
    return ExitCode.DONE
