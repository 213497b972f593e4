"""Runs in Airflow's own Python: commands of Airflow one after the other, in one process.

To import Airflow and its providers takes it longer than most of its commands take to run.
"""

import json
import sys

END = "--- end of a command ---"


def main() -> None:
    """Run each command of the JSON on stdin as `airflow` would, and print a line behind it."""
    from airflow.cli.cli_parser import get_parser

    for arguments in json.load(sys.stdin):
        called = get_parser().parse_args(arguments)
        try:
            called.func(called)
        except SystemExit as end:
            print(end, flush=True)  # noqa: T201  # the caller looks at what came of it
        sys.stderr.flush()
        print(f"\n{END}", flush=True)  # noqa: T201  # its output is read


if __name__ == "__main__":
    main()
