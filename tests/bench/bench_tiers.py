"""Measures an ingest from remote tiers against one of the same segments on a local disk.

    cd tests && ../.venv/bin/python -m bench.bench_tiers --records 2000000

The same log lies in each place, in chunks of 4 MiB in the tiers. All runs use one process, in turn.
Processor time counts, for machines are shared. `--docs` writes the table in tests/bench/results.md.
"""

import argparse
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import PAGE, machine, today, updated
from bench.processes import measured
from bench.workloads import W1, Workload, written
from support import aiven_objects

COMMAND = "make bench-tiers DOCS=yes"
_LOCAL = "local segments"
_CHUNK_BYTES = 4 << 20  # as in the plugin's own documentation
_DONE, _LOOK = 0, 3  # a tier alone is unproved, which ends with 3
_ONE = ("--engine", "local", "--set", "limits.local_processes=1", "--source-id", "bench")
_KEY = f"{aiven_objects.KEY_ID}={aiven_objects.key_file()}"


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        sources = _sources(Path(folder), arguments.records)
        found: dict[str, list[float]] = {name: [] for name in sources}
        for run in range(arguments.runs + 1):
            for name, source in sources.items():
                seconds = _seconds(source, Path(folder, "lake"))
                if run:  # the first one fills the caches
                    found[name].append(seconds)
    text = table({name: statistics.median(each) for name, each in found.items()}, arguments.records)
    sys.stdout.write(f"{text}\n")
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
    return 0


def table(seconds: Mapping[str, float], records: int) -> str:
    """Return the processor seconds of each place as a table for the page."""
    lines = [
        f"{records:,} records of one partition in lz4, one process, processor time of whole runs,"
        f" median. {today()}, {machine()}.",
        "",
        "| read from | processor s | as quick as local segments |",
        "| --- | --- | --- |",
    ]
    local = seconds[_LOCAL]
    for name, each in seconds.items():
        lines.append(f"| {name} | {each:.2f} | {local / each:.0%} |")
    return "\n".join(lines)


def _sources(folder: Path, records: int) -> Mapping[str, Path]:
    """Write the log to a local disk and to each kind of tier; return the places by name."""
    log = Workload("plain", W1.shape, W1.codec, records, W1.records_per_batch, 1, 1 << 30)
    disk = written(log, folder)
    (segment,) = (disk / "plain-0").glob("*.log")
    (disk / "meta.properties").unlink()  # the cluster is named by an option, as that of a tier is
    content = segment.read_bytes()
    found = {_LOCAL: disk}
    for is_compressed in (False, True):
        for is_encrypted in (False, True):
            words = ["compressed"] * is_compressed + ["encrypted"] * is_encrypted
            name = f"Aiven's tier, {' and '.join(words) or 'plain'}"
            found[name] = folder / f"tier-{is_compressed}-{is_encrypted}"
            stored = aiven_objects.stored(
                content,
                _CHUNK_BYTES,
                compressed=is_compressed,
                encrypted=is_encrypted,
                end_offset=records - 1,
            )
            stored.write(found[name] / f"plain-{aiven_objects.TOPIC_ID}" / "0")
    return found


def _seconds(source: Path, lake: Path) -> float:
    """Return the processor time of an ingest into a new lake."""
    shutil.rmtree(lake, ignore_errors=True)
    command = [sys.executable, "-m", "seglake", "ingest", "--source", str(source)]
    command += ["--lake", str(lake), "--tiered-key", _KEY, *_ONE]
    return measured(command, good_codes=(_DONE, _LOOK)).cpu_s


if __name__ == "__main__":
    sys.exit(main())
