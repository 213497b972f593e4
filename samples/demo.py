"""What `make demo` shows: the sample broker disk becomes tables, twice, and the tables are asked.

Each command printed here can be typed as it stands.
"""

import shutil
import sys
from pathlib import Path

from seglake.cli.main import main as seglake
from seglake.errors import ExitCode

ROOT = Path(__file__).parents[1]
SOURCE = "samples/broker-0"
LAKE = "build/demo"

RUNS = (
    ("Convert the disk; exit code 3, since a person should look at the damage:", ExitCode.LOOK),
    ("Again: nothing is new, so nothing is written:", ExitCode.DONE),
)
QUESTIONS = (
    (
        "how many rows each table has",
        " UNION ALL ".join(
            f"SELECT '{table}' AS table, count(*) AS rows FROM {table}"
            for table in ("records", "batches", "quarantine", "gaps", "checkpoints")
        ),
    ),
    (
        "how far each partition was taken",
        "SELECT topic, partition, next_offset FROM last_offsets ORDER BY topic, partition",
    ),
    (
        "what was quarantined, and why",
        "SELECT topic, partition, segment, position, length_bytes, defect_code, defect_detail"
        " FROM quarantine ORDER BY topic",
    ),
    (
        "which offsets are not there, and why",
        "SELECT topic, partition, start_offset, next_offset, cause FROM current_gaps ORDER BY 1, 2",
    ),
    (
        "the newest records of one topic",
        "SELECT partition, offset, timestamp, try_validate_utf8(key) AS key, octet_length(value)"
        " AS bytes FROM topic_v2_zstd ORDER BY timestamp DESC, offset DESC LIMIT 5",
    ),
)


def show(text: str) -> None:
    """Print and flush, so that the order is kept beside what Spark's processes write."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def demo() -> int:
    """Run every command; return 0, or the first exit code that is not the expected one."""
    shutil.rmtree(ROOT / LAKE, ignore_errors=True)
    ingest = ["ingest", "--source", SOURCE, "--lake", LAKE, "--engine", "local"]
    for title, expected in RUNS:
        show(f"\n{title}\n$ seglake {' '.join(ingest)}")
        code = seglake(ingest)
        show(f"exit code {code}")
        if code != expected:
            return code or 1
    for title, text in QUESTIONS:
        show(f'\n{title.capitalize()}:\n$ seglake sql --lake {LAKE} "{text}"')
        code = seglake(["sql", "--lake", LAKE, text])
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(demo())
