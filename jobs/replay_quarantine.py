"""`seglake replay`: decodes quarantined bytes again. Also runs by path and by spark-submit."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

try:
    from jobs.arguments import replay_parser, settings_of
    from jobs.outcome import exit_with, run_job
except ModuleNotFoundError as missing:
    sys.stderr.write(f"seglake: {missing}; use the Python that seglake is installed in\n")
    sys.exit(2)


def main(argv: Sequence[str]) -> int:
    """Run the job; see CONTRIBUTING.md for the exit codes."""
    arguments = replay_parser().parse_args(argv)
    return run_job(partial(_replay, arguments), verbose=arguments.verbose > 0, writes=True)


def _replay(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from jobs.engines import open_engine
    from jobs.storages import open_storages
    from pipelines.segment_ingest.progress import RunReporter
    from pipelines.segment_ingest.replay import replay

    verbosity = arguments.verbose - arguments.quiet
    with open_engine(arguments.engine, settings, verbosity=verbosity) as engine:
        summary = replay(
            arguments.lake,
            arguments.source,
            open_storages(settings.spark.properties),
            settings,
            engine,
            RunReporter(sys.stderr, verbosity=verbosity),
            run_id=arguments.run_id,
            dry_run=arguments.dry_run,
        )
    print(summary.to_json() if arguments.json else summary.to_text())
    return summary.exit_code


if __name__ == "__main__":
    exit_with(main)
