"""`seglake sql`: asks the tables in Spark SQL."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import settings_of, sql_parser
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode


def main(argv: Sequence[str]) -> int:
    """Run the job; a missing lake or a query that Spark refuses ends with 2."""
    arguments = sql_parser().parse_args(argv)
    return run_job(partial(_query, arguments), verbose=arguments.verbose > 0, writes=False)


def _query(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.environment.spark_session import delta_session
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_query.run import query, require_lake
    from seglake.pipelines.progress import RunReporter

    storage = open_storages(settings.spark.properties)
    path = require_lake(arguments.lake, storage)
    lake = storage.hadoop_uri(path)
    verbosity = arguments.verbose - arguments.quiet
    with RunReporter(sys.stderr, verbosity=verbosity) as reporter:
        reporter.step("starting Spark")
        with delta_session(
            settings.spark,
            application="sql",
            verbosity=verbosity,
            lake=lake,
            hadoop=storage.hadoop_properties(path),
        ) as session:
            reporter.close()
            query(session, lake, arguments.query, as_json=arguments.json, out=sys.stdout)
    return ExitCode.DONE
