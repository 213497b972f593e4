"""Measures the erasure of one key against reading all records of the lake once.

    cd tests && ../.venv/bin/python -m bench.bench_erase --records 4000000

The lake has the records of one topic in files of 8 MiB; all keys differ. Reading takes all columns
of all files of `records`, row group by row group. Both use one process, in turn, and processor
time counts, for machines are shared. `--docs` writes the table in tests/bench/results.md.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable

from bench.machine import PAGE, machine, today, updated
from bench.workloads import W1, Workload, written
from seglake.lake.parquet_rows import read_rows
from seglake.lake.tables import RECORDS
from seglake.storage.local_storage import LocalStorage
from support.audits import audited
from support.erasures import erased
from support.lakes import ingested

COMMAND = "make bench-erase DOCS=yes"
_TOPIC = "plain"
_FILE_BYTES = 8 << 20


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        lake = _lake(Path(folder), arguments.records)
        paths = DeltaTable(str(lake / "records")).file_uris()
        first = next(read_rows(LocalStorage(), paths[0], ["key"]))
        key = str(first.column("key")[0].as_py(), "ascii")
        _read(paths)  # fills the caches
        steps = {
            "reading all records": lambda: _read(paths),
            "erasing one key": lambda: _erase(lake, key),
            "the same again: nothing is left": lambda: _erase(lake, key),
        }
        found = [(name, *_timed(step)) for name, step in steps.items()]
        if audited(lake).exit_code:
            raise SystemExit("the audit is not green")
    text = table(found, arguments.records)
    sys.stdout.write(f"{text}\n")
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
    return 0


def table(found: list[tuple[str, float, str]], records: int) -> str:
    """Return the seconds of each step as a table for the page."""
    lines = [
        f"{records:,} records, one process, processor time. {today()}, {machine()}.",
        "",
        "| step | s | of reading | what it did |",
        "| --- | --- | --- | --- |",
    ]
    whole = found[0][1]
    lines += [f"| {name} | {s:.1f} | {s / whole:.2f} | {did} |" for name, s, did in found]
    return "\n".join(lines)


def _lake(folder: Path, records: int) -> Path:
    """Ingest a log into a lake whose files are small, so that there are many."""
    log = Workload(_TOPIC, W1.shape, W1.codec, records, W1.records_per_batch, 1, 128 << 20)
    ingested(written(log, folder), folder / "lake", write={"target_file_bytes": _FILE_BYTES})
    return folder / "lake"


def _timed(step: Callable[[], str]) -> tuple[float, str]:
    """Return the processor seconds of a step, and what it did."""
    started = time.process_time()
    did = step()
    return time.process_time() - started, did


def _read(paths: list[str]) -> str:
    storage, names = LocalStorage(), RECORDS.file_schema.names
    rows = sum(part.num_rows for path in paths for part in read_rows(storage, path, names))
    return f"read {rows:,} rows of {len(paths)} files"


def _erase(lake: Path, key: str) -> str:
    summary = erased(lake, key=key, topics=[_TOPIC])
    [topic] = summary.topics
    return f"{summary.records:,} records erased, {topic.files} of {topic.read_files} files written"


if __name__ == "__main__":
    sys.exit(main())
