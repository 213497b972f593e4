"""`seglake inspect`: what Kafka's files hold, for a person. Plain Python; also runs by path."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

try:
    from jobs.arguments import inspect_parser
    from jobs.outcome import exit_with, run_job
except ModuleNotFoundError as missing:
    sys.stderr.write(f"seglake: {missing}; use the Python that seglake is installed in\n")
    sys.exit(2)


def main(argv: Sequence[str]) -> int:
    """Run the job; it ends with 0 whatever the bytes are."""
    arguments = inspect_parser().parse_args(argv)
    return run_job(partial(_inspect, arguments), verbose=arguments.verbose > 0, writes=False)


def _inspect(arguments: argparse.Namespace) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from jobs.storages import open_storages
    from pipelines.segment_inspect.run import inspect

    return inspect(
        arguments.path,
        open_storages(()),
        records=arguments.records,
        offset=arguments.offset,
        as_json=arguments.json,
        out=sys.stdout,
    )


if __name__ == "__main__":
    exit_with(main)
