"""Prints the folder of the job files that spark-submit runs.

Run it as `python -m seglake.environment.job_files`.
"""

import sys
from pathlib import Path

JOB_FOLDER = Path(__file__).resolve().parents[1] / "jobs"
"""Folder of the job files: part of the wheel, and a link in a checkout."""


def main() -> int:
    """Print the folder of the job files; return the exit code."""
    sys.stdout.write(f"{JOB_FOLDER}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
