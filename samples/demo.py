"""What `make demo` shows: the sample broker disk becomes tables, twice, and the tables are asked.

Each command printed here can be typed as it stands. The questions share one Spark session, since
starting one takes longer than answering.
"""

import shutil
import sys
from pathlib import Path

from seglake.cli.main import main as seglake
from seglake.environment.spark_session import delta_session
from seglake.pipelines.lake_query.run import query
from seglake.pipelines.progress import RunReporter
from seglake.pipelines.progress_views import LogView
from seglake.pipelines.settings.settings import Settings

ROOT = Path(__file__).parents[1]
SOURCE = "samples/broker-0"
LAKE = "build/demo"
LONGEST_SILENCE_SECONDS = 5.0

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
        "SELECT partition, offset, timestamp, CAST(key AS STRING) AS key, length(value) AS bytes,"
        " size(headers) AS headers FROM topic_v2_zstd ORDER BY timestamp DESC, offset DESC LIMIT 5",
    ),
)


def show(text: str) -> None:
    """Print and flush, so that the order is kept beside what Spark's processes write."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def demo() -> int:
    """Run all of it; the exit code of the first command that fails."""
    shutil.rmtree(ROOT / LAKE, ignore_errors=True)
    ingest = ["ingest", "--source", SOURCE, "--lake", LAKE, "--engine", "local"]
    for title in ("Convert the disk:", "Again: nothing is new, so nothing is written:"):
        show(f"\n{title}\n$ seglake {' '.join(ingest)}")
        code = seglake(ingest)
        if code:
            return code
    spark = Settings.from_mappings([]).spark
    view = LogView(sys.stderr)
    view.every_seconds = LONGEST_SILENCE_SECONDS
    with RunReporter(sys.stderr, view=view) as reporter:
        reporter.step("getting ready for some questions")
        with delta_session(spark, application="demo", verbosity=0) as session:
            for title, text in QUESTIONS:
                show(f'\n{title.capitalize()}:\n$ seglake sql --lake {LAKE} "{text}"')
                reporter.step("asking")
                query(session, LAKE, text, as_json=False, out=sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(demo())
