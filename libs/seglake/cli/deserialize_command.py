"""`seglake deserialize`: decodes keys and values into typed tables, or counts decodable ones."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake deserialize`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("deserialize", _deserialize, writes=True), argv)


def _deserialize(call: Call) -> Done:
    from seglake.commands import DeserializeOptions, run_deserialize

    options = call.options(DeserializeOptions)
    found = run_deserialize(call.arguments.lake, call.settings, options, call.view)
    return Done(found, found.to_text())
