"""What `make demo` shows: two sample log dirs become tables, which are asked.

Each command printed here can be typed as it stands.
"""

import shutil
import sys
from pathlib import Path

from seglake.cli.main import main as seglake
from seglake.errors import ExitCode

ROOT = Path(__file__).parents[1]
SOURCE, TYPED_SOURCE = "samples/broker-0", "samples/typed"
LAKE, TYPED_LAKE = "build/demo", "build/demo-typed"
LOCAL = ("--engine", "local")

RUNS = (
    (
        "a whole disk, with a topic of Avro",
        ("ingest", "--source", TYPED_SOURCE, "--lake", TYPED_LAKE, *LOCAL),
        ExitCode.DONE,
    ),
    (
        "its values become columns, with the schemas of the same disk",
        ("deserialize", "--lake", TYPED_LAKE, *LOCAL),
        ExitCode.DONE,
    ),
    (
        "orders of one region and price, written with three schemas",
        (
            "sql",
            "--lake",
            TYPED_LAKE,
            "SELECT _schema_id, customer, price, placed, address.city AS city, discount"
            " FROM typed_avro_orders"
            " WHERE _key.region = 'eu' AND price = 1.28 AND status = 'PAID' ORDER BY placed",
        ),
        ExitCode.DONE,
    ),
    (
        "a damaged disk; exit code 3, since a person should look at the damage",
        ("ingest", "--source", SOURCE, "--lake", LAKE, *LOCAL),
        ExitCode.LOOK,
    ),
    (
        "again: nothing is new, so nothing is written",
        ("ingest", "--source", SOURCE, "--lake", LAKE, *LOCAL),
        ExitCode.DONE,
    ),
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
    for lake in (LAKE, TYPED_LAKE):
        shutil.rmtree(ROOT / lake, ignore_errors=True)
    questions = ((title, ("sql", "--lake", LAKE, text), ExitCode.DONE) for title, text in QUESTIONS)
    for title, command, expected in (*RUNS, *questions):
        *options, last = command
        text = " ".join(options) + (f' "{last}"' if options[0] == "sql" else f" {last}")
        show(f"\n{title[0].upper()}{title[1:]}:\n$ seglake {text}")
        code = seglake([*command])
        if expected is not ExitCode.DONE:
            show(f"exit code {code}")
        if code != expected:
            return code or 1
    return 0


if __name__ == "__main__":
    sys.exit(demo())
