"""Measures runs with nothing new over many quiet partitions, of several versions in turn.

    cd tests && ../.venv/bin/python -m bench.bench_quiet /tmp/quiet /before/libs ../libs

The first argument is a folder for the log dir and the lakes, which are made once; the others are
folders that have the package `seglake`. Each version has a lake of its own, made by itself; their
runs alternate, and medians are printed. Processor time counts, for machines are shared.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from bench.processes import measured
from support.encoder import Partition
from support.made_logs import made_segments, write_over

_SHOWN = "{:40} {:>8.2f} s of processors {:>8.2f} s in all   {:>3} new files\n"


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("versions", type=Path, nargs="+")
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    data = arguments.folder / "data"
    if not data.exists():
        topics = [f"topic-{number:03}" for number in range(max(arguments.partitions // 100, 1))]
        write_over(data, [_partition(topic, number) for topic in topics for number in range(100)])
    lakes = {
        path.resolve(): arguments.folder / f"lake-{number}"
        for number, path in enumerate(arguments.versions)
    }
    for libs, lake in lakes.items():
        if not lake.exists():
            _show(f"first run of {libs}", [_run(libs, data, lake)])
    found: dict[Path, list[tuple[float, float, int]]] = {libs: [] for libs in lakes}
    for _ in range(arguments.runs):
        for libs, lake in lakes.items():
            found[libs].append(_run(libs, data, lake))
    for libs, runs in found.items():
        _show(str(libs), runs)
    return 0


def _partition(topic: str, number: int) -> Partition:
    """One segment of twenty offsets, half of them above the high watermark."""
    return Partition(topic, number, made_segments(topic, number, [0, 20]), high_watermark=10)


def _run(libs: Path, data: Path, lake: Path) -> tuple[float, float, int]:
    """Processor time, time, and how many files the run added to the lake."""
    os.environ["PYTHONPATH"] = str(libs)
    before = _count(lake)
    command = [
        sys.executable,
        "-m",
        "seglake",
        "ingest",
        "--source",
        str(data),
        "--lake",
        str(lake),
    ]
    run = measured([*command, "--engine", "local", "-q"])
    return run.cpu_s, run.wall_s, _count(lake) - before


def _count(lake: Path) -> int:
    return sum(path.is_file() for path in lake.rglob("*")) if lake.exists() else 0


def _show(name: str, runs: list[tuple[float, float, int]]) -> None:
    medians = [statistics.median(values) for values in zip(*runs, strict=True)]
    sys.stdout.write(_SHOWN.format(name, medians[0], medians[1], int(medians[2])))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
