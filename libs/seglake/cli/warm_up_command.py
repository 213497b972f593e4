"""`seglake warm-up`: compiles the decoder and fetches JARs before the first run needs them."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import run_command
from seglake.errors import ExitCode
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake warm-up`; exit with 1 if a fetch fails, with 3 if no Spark or Delta fits."""
    return run_command("warm-up", _warm_up, argv)


def _warm_up(arguments: argparse.Namespace, _: Settings) -> int:
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
