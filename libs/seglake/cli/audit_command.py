"""`seglake audit`: proves that no offset is missing; exits with 3 for unexplained offsets."""

from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of
from seglake.cli.outcome import run_job
from seglake.cli.recorded_run import Call, Command, Done, run_recorded
from seglake.cli.streams import write_out
from seglake.errors import ExitCode


def main(argv: Sequence[str]) -> int:
    """Run `seglake audit`, and return its exit code (see CONTRIBUTING.md)."""
    engine = parser_of("audit").parse_args(argv).print_sql
    if engine is not None:
        return run_job(partial(_print, engine), verbose=False, writes=False)
    return run_recorded(Command("audit", _audit, writes=False), argv)


def _print(engine: str) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.proof.queries import Dialect, script

    write_out(script(Dialect(engine)))
    return ExitCode.DONE


def _audit(call: Call) -> Done:
    from seglake.commands import EngineOptions, run_audit

    arguments, settings, view = call
    options = call.options(EngineOptions)
    found = run_audit(arguments.lake, arguments.source, settings, options, view)
    return Done(found, found.to_text(is_quiet=arguments.quiet > 0))
