"""What `make bench` measures: `seglake ingest` as a person runs it, on data made for it.

Nothing here passes or fails. Several runs are made in turn and their medians shown; on a busy
machine compare CPU seconds, or run it again.
"""

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.processes import ROOT, Measurement, adopt_orphans, measured
from bench.workloads import (
    FLAT_LZ4,
    FLAT_ZSTD,
    GIB,
    TINY,
    W1,
    W2,
    W5,
    Workload,
    log_bytes,
    written,
)

FOLDER = ROOT / "build" / "bench"
ENGINES = ("local", "spark")
_MIB = 1024 * 1024
_ONE_TASK = ("--set", "read.split_bytes=4294967296")
_BARE_SPARK = """
from seglake.environment.spark_session import spark_context
from seglake.settings.settings import SparkSettings
with spark_context(SparkSettings(), application="bench", verbosity=0):
    pass
"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Disk:
    """A workload that lies on the disk."""

    workload: Workload
    path: Path
    size_bytes: int


def main(argv: Sequence[str]) -> int:
    """Make the data, measure, print the tables, write them to report.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the amount of data")
    parser.add_argument("--runs", type=int, default=3, help="of each measurement")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args(argv)
    disks = _disks(arguments.scale, arguments.only)
    adopt_orphans()
    _ingested(disks["tiny"], "local")  # compiled code and files are in their caches then
    report: dict[str, Any] = {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
        },
        "scale": arguments.scale,
        "runs": arguments.runs,
    }
    for name in arguments.only:
        report[name] = PARTS[name](disks, arguments.engines, arguments.runs)
        show(name, report[name])
    report["machine"]["load_after"] = os.getloadavg()[0]
    path = FOLDER / "report.json"
    path.write_text(json.dumps(report, indent=2) + "\n")
    say(f"\nload {report['machine']['load']:.1f} to {report['machine']['load_after']:.1f}; {path}")
    return 0


def _disks(scale: float, parts: Sequence[str]) -> dict[str, Disk]:
    wanted = [TINY]
    if {"ingest", "memory"} & set(parts):
        wanted += [W1.scaled(scale), W2.scaled(scale)]
    if "ingest" in parts:
        wanted.append(W5.scaled(scale))
    if "memory" in parts:
        wanted += [each.scaled(scale) for each in (GIB, FLAT_LZ4, FLAT_ZSTD)]
    disks = {}
    for workload in wanted:
        path = written(workload, FOLDER / "data")
        disks[workload.topic] = Disk(workload, path, log_bytes(path))
    return disks


def _ingested(disk: Disk, engine: str, *options: str, samples_memory: bool = False) -> Measurement:
    """One run into an empty lake."""
    shutil.rmtree(FOLDER / "lake", ignore_errors=True)
    return _again(disk, engine, *options, samples_memory=samples_memory)


def _again(disk: Disk, engine: str, *options: str, samples_memory: bool = False) -> Measurement:
    """One run into the lake as it is."""
    command = [sys.executable, "-m", "seglake", "ingest", "--engine", engine, "--json"]
    command += ["--source", str(disk.path), "--lake", str(FOLDER / "lake"), *options]
    return measured(command, samples_memory=samples_memory)


def _ingest(disks: dict[str, Disk], engines: Sequence[str], runs: int) -> list[Row]:
    """Whole runs, from the command to its end."""
    cases = [(disks[topic], engine) for topic in ("w1", "w2", "w5") for engine in engines]
    found: list[list[Measurement]] = [[] for _ in cases]
    for _ in range(runs):
        for (disk, engine), own in zip(cases, found, strict=True):
            options = ("-v",) if engine == "local" else ()  # Spark's own lines would be steps
            own.append(_ingested(disk, engine, *options))
    return [
        _ingest_row(disk, engine, own) for (disk, engine), own in zip(cases, found, strict=True)
    ]


def _ingest_row(disk: Disk, engine: str, runs: list[Measurement]) -> Row:
    summary = json.loads(runs[-1].stdout)
    wall_s, cpu_s = median(run.wall_s for run in runs), median(run.cpu_s for run in runs)
    log_mib = disk.size_bytes / _MIB
    row = {
        "workload": disk.workload.topic,
        "engine": engine,
        "log MiB": log_mib,
        "wall s": wall_s,
        "CPU s": cpu_s,
        "MiB/s": log_mib / wall_s,
        "MiB/CPU s": log_mib / cpu_s,
        "krec/s": summary["records"] / wall_s / 1000,
        "out MiB": summary["written_bytes"] / _MIB,
    }
    if engine == "local":
        for step in ("start", "surveying", "decoding", "committing"):
            row[f"{step} s"] = median(run.steps.get(step, 0.0) for run in runs)
    return row


def _fixed(disks: dict[str, Disk], engines: Sequence[str], runs: int) -> list[Row]:
    """What a run costs before the first byte of data counts."""
    tiny = disks["tiny"]
    python = sys.executable
    imports = "import seglake.segment_decoding.decode"
    cases: dict[str, Callable[[], Measurement]] = {
        "python, nothing imported": lambda: measured([python, "-c", "pass"]),
        "seglake --version": lambda: measured([python, "-m", "seglake", "--version"]),
        "import of a worker": lambda: measured([python, "-c", imports]),
    }
    if "local" in engines:
        cases["1 MB disk, local"] = lambda: _ingested(tiny, "local")
        cases["again, nothing new, local"] = lambda: _again(tiny, "local")
    if "spark" in engines:
        cases["Spark started and stopped"] = lambda: measured([python, "-c", _BARE_SPARK])
        cases["1 MB disk, spark"] = lambda: _ingested(tiny, "spark")
        cases["again, nothing new, spark"] = lambda: _again(tiny, "spark")
    found: dict[str, list[Measurement]] = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            found[name].append(case())
    return [
        {
            "what": name,
            "wall s": median(run.wall_s for run in own),
            "CPU s": median(run.cpu_s for run in own),
        }
        for name, own in found.items()
    ]


def _memory(disks: dict[str, Disk], engines: Sequence[str], runs: int) -> list[Row]:
    """The most private memory of a process, also where one task has a segment of 1 GiB."""
    topics = ("w1", "w2", "gib", "flat-lz4", "flat-zstd")
    rows = [_memory_row(disks[topic], engine) for topic in topics for engine in engines]
    rows += [_memory_row(disks[topic], "local", *_ONE_TASK) for topic in ("gib", "flat-zstd")]
    return rows


def _memory_row(disk: Disk, engine: str, *options: str) -> Row:
    run = _ingested(disk, engine, *options, samples_memory=True)
    summary = json.loads(run.stdout)
    return {
        "workload": disk.workload.topic,
        "engine": engine,
        "log MiB": disk.size_bytes / _MIB,
        "tasks": summary["tasks"],
        "driver MiB": run.driver_bytes / _MIB,
        "worker MiB": run.worker_bytes / _MIB,
        "wall s": run.wall_s,
    }


PARTS = {"ingest": _ingest, "fixed": _fixed, "memory": _memory}


def show(title: str, rows: list[Row]) -> None:
    """Print rows as a table: text to the left, numbers to the right."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names] + [[_cell(row.get(name, "")) for name in names] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(names))]
    is_text = [isinstance(rows[0].get(name, 0.0), str) for name in names]
    say(f"\n{title}")
    for line in cells:
        padded = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(line, widths, is_text, strict=True)
        ]
        say("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return str(value)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
