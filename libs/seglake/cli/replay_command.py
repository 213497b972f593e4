"""`seglake replay`: decodes quarantined bytes again, and fills gaps."""

from collections.abc import Sequence

from seglake.cli.arguments import replay_parser
from seglake.cli.recorded_run import Call, Command, Summary, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    return run_recorded(Command("replay", _replay, writes=True), replay_parser().parse_args(argv))


def _replay(call: Call) -> tuple[Summary, str]:
    from seglake.api import run_replay

    arguments, settings, options, view = call
    summary = run_replay(arguments.lake, arguments.source, settings, options, view)
    return summary, summary.to_text(is_verbose=arguments.verbose > 0)
