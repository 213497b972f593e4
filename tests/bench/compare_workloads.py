"""Ingests the topics of `make bench-kafka` with two versions, and compares the rows.

    cd tests && ../.venv/bin/python -m bench.compare_workloads /before/.venv/bin/seglake \
        ../.venv/bin/seglake

Each version runs with both engines. DuckDB hashes the rows, without what each run makes anew; their
order, and what is in which file, may differ. Ends with 1 if any rows do, or none were compared.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from bench.bench_ingest import FOLDER
from bench.compare_versions import OF_A_RUN
from bench.kafka.topics import TOPICS

_TABLES = ("records", "batches", "gaps", "quarantine")
_ENGINES = ("local", "spark")

Digest = tuple[int, int]


def main() -> int:
    """Compare, and say what is the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER / "kafka", help="that of the bench")
    parser.add_argument("--workloads", nargs="+", help="of these only")
    arguments = parser.parse_args()
    names = arguments.workloads or [topic.name for topic in TOPICS]
    topics = [(log_dir, name) for log_dir, name in _topics(arguments.folder) if name in names]
    if not topics:
        sys.stdout.write(f"no such topics in {arguments.folder}: make bench-kafka fills them\n")
    is_same = bool(topics)
    for log_dir, topic in topics:
        found = [
            _digests(command, engine, log_dir, topic)
            for command in (arguments.before, arguments.after)
            for engine in _ENGINES
        ]
        for table, (count, _) in found[0].items():
            is_alike = all(digests[table] == found[0][table] for digests in found)
            is_same &= is_alike
            verdict = "same" if is_alike else "DIFFER"
            sys.stdout.write(f"{topic}: {table}, {count:,} rows, {verdict}\n")
    return 0 if is_same else 1


def _topics(folder: Path) -> Iterator[tuple[Path, str]]:
    """Log dirs, and topics in them."""
    names = [topic.name for topic in TOPICS]
    for log_dir in sorted(folder.glob("*/data")):
        yield from ((log_dir, name) for name in names if (log_dir / f"{name}-0").exists())


def _digests(command: Path, engine: str, log_dir: Path, topic: str) -> dict[str, Digest]:
    """What one version and engine make of a topic."""
    with tempfile.TemporaryDirectory() as lake:
        place = ["--source", str(log_dir), "--lake", lake, "--topics", topic]
        ingest = [str(command), "ingest", *place, "--engine", engine, "-q"]
        subprocess.run(ingest, stdout=subprocess.DEVNULL, check=True)
        return {table: _digest(Path(lake) / table) for table in _TABLES}


def _digest(table: Path) -> Digest:
    """How many rows there are, and a sum of their hashes."""
    files = DeltaTable(table).file_uris()
    if not files:
        return 0, 0
    rows = duckdb.read_parquet(files)
    names = ", ".join(f'"{name}"' for name in rows.columns if name not in OF_A_RUN)
    found = rows.aggregate(f"count(*), sum(hash({names})::hugeint)").fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


if __name__ == "__main__":
    sys.exit(main())
