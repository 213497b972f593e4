"""Prints the folder of the job files that spark-submit runs. Effect.

python -m seglake.environment.job_files
"""

import sys
from pathlib import Path

JOB_FOLDER = Path(__file__).resolve().parents[1] / "jobs"
"""Folder of the job files: in the wheel itself, in a checkout by a link."""


def main() -> int:
    """Print the folder of the job files."""
    sys.stdout.write(f"{JOB_FOLDER}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
