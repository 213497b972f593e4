"""`seglake warm-up`: compiles the decoder and fetches JARs before the first run needs them."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode


def main(argv: Sequence[str]) -> int:
    """Run `seglake warm-up`; exit with 1 if a fetch fails, with 3 if no Spark or Delta fits."""
    arguments = parser_of("warm-up").parse_args(argv)
    return run_job(partial(_warm_up, arguments), verbose=arguments.verbose > 0, writes=False)


def _warm_up(arguments: argparse.Namespace) -> int:
    from seglake.environment.errors import NoDeltaError, SparkUnpreparedError
    from seglake.environment.warm_up import warm_up

    def report(text: str) -> None:
        if not arguments.quiet:
            print(f"seglake: {text}", file=sys.stderr, flush=True)

    try:
        warm_up(report, with_s3=arguments.s3)
    except (NoDeltaError, SparkUnpreparedError) as error:
        print(f"seglake: {error}", file=sys.stderr, flush=True)
        return ExitCode.LOOK
    return ExitCode.DONE
