"""What `make bench-life` measures: a run after 10, 100, 1,000 and 10,000 runs before it.

A lake lives for each of these, and the last run was an hour ago; some get a maintenance after every
week of hourly runs. The first run is real, and so are those that are measured: a process that finds
new records in every topic, and one that finds none. The runs between are made up, see `made_runs`.
Those of more than five weeks ago are made a week at a time: their files were merged since, and
their log entries have expired. All lakes are measured at the end, in turn.
"""

import argparse
import json
import os
import shutil
import sys
import uuid
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from bench.bench_ingest import FOLDER, say
from bench.life.life_page import Kind, Mark, chart, page
from bench.life.made_runs import OFFSETS_A_RUN, MadeRuns
from bench.machine import PAGE, machine, today, updated
from bench.processes import Measurement, adopt_orphans, measured
from support.encoder import Partition
from support.made_logs import made_segments, write_over
from support.servers.s3_server import S3Server, versitygw

_TOPICS, _RUNS, _UNTIDY = 100, [10, 100, 1_000, 10_000], [10, 100, 1_000]
_WEEK = 168
_HOURLY_RUNS = 5 * _WEEK  # longer than the logs keep their entries
_BUCKET = "life"
_REPEATS = 5
_CHART = "bench-life.svg"
COMMAND = "make bench-life"


def main(argv: Sequence[str]) -> int:
    """Live both lives, and write what their runs cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=_TOPICS)
    parser.add_argument("--runs", type=int, nargs="+", default=_RUNS)
    parser.add_argument("--untidy-runs", type=int, nargs="*", default=_UNTIDY)
    parser.add_argument("--docs", action="store_true", help="write tests/bench/results.md")
    arguments = parser.parse_args(argv)
    folder = FOLDER / "life"
    shutil.rmtree(folder, ignore_errors=True)
    adopt_orphans()
    topics = [f"topic-{number:03}" for number in range(arguments.topics)]
    template = folder / "template"
    _ingest(_disk(folder / "disk", topics, 1), str(template))
    home = folder / "s3" / "data" / _BUCKET
    lives = [(home / f"maintained-{runs}", runs, _WEEK) for runs in arguments.runs]
    lives += [(home / f"untidy-{runs}", runs, 0) for runs in arguments.untidy_runs]
    longest_first = sorted(lives, key=lambda life: life[1], reverse=True)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        lived = {life: pool.submit(_lived, *life, template, topics) for life in longest_first}
        lakes = [lived[life].result() for life in lives]
    with versitygw(folder / "s3") as s3:
        os.environ.update(s3.environment())
        marks = _measured(lakes, topics, s3)
    (folder / "report.json").write_text(json.dumps([asdict(mark) for mark in marks], indent=2))
    lines = [
        f"Measured on {today()} with `{_command(arguments)}`, medians of {_REPEATS} runs in turn",
        f"Machine: {machine()}, which also ran the S3 server",
    ]
    text, picture = page(marks, lines, _CHART), chart(marks)
    (folder / "results.md").write_text(text + "\n")
    (folder / _CHART).write_text(picture)
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
        PAGE.with_name(_CHART).write_text(picture, "utf-8")
    say(f"{text}\n\n{folder}")
    return 0


def _command(arguments: argparse.Namespace) -> str:
    runs = "" if arguments.runs == _RUNS else f' RUNS="{" ".join(map(str, arguments.runs))}"'
    return COMMAND + runs + (f" TOPICS={arguments.topics}" if arguments.topics != _TOPICS else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _OldLake:
    """A lake that has lived; see `Mark`."""

    path: Path
    run_count: int
    is_maintained: bool
    maintain_s: float


def _lived(
    path: Path, run_count: int, week: int, template: Path, topics: Sequence[str]
) -> _OldLake:
    """Live a life.

    Args:
        week: runs between two maintenances, 0 for a life without.
    """
    made = MadeRuns(path, template, topics, run_count)
    maintain_s = 0.0
    while made.run_count < run_count:
        is_long_ago = week and made.run_count + week + _HOURLY_RUNS <= run_count
        made.add(week if is_long_ago else 1)
        if week and made.run_count % week == 0:
            maintain_s = made.maintain()
    say(f"{path.name} has lived")
    return _OldLake(path=path, run_count=run_count, is_maintained=week > 0, maintain_s=maintain_s)


def _measured(lakes: Sequence[_OldLake], topics: Sequence[str], s3: S3Server) -> list[Mark]:
    """What a run costs in each, on a local disk: all in turn, again and again."""
    found: list[dict[Kind, list[Measurement]]] = [{kind: [] for kind in Kind} for _ in lakes]
    for repeat in range(1, _REPEATS + 1):
        for lake, of_lake in zip(lakes, found, strict=True):
            source = _disk(s3.folder / "disk", topics, lake.run_count + repeat)
            for kind in Kind:
                of_lake[kind].append(_ingest(source, str(lake.path)))
                say(f"{lake.path.name}: {kind}, {of_lake[kind][-1].cpu_s:.2f} CPU seconds")
    return [
        Mark(
            is_maintained=lake.is_maintained,
            run_count=lake.run_count,
            wall_s={kind: median(run.wall_s for run in runs) for kind, runs in of_lake.items()},
            cpu_s={kind: median(run.cpu_s for run in runs) for kind, runs in of_lake.items()},
            peak_bytes={kind: max(r.driver_bytes for r in runs) for kind, runs in of_lake.items()},
            requests=_requests(lake, topics, s3),
            data_files=sum(path.suffix == ".parquet" for path in lake.path.rglob("*")),
            maintain_s=lake.maintain_s,
        )
        for lake, of_lake in zip(lakes, found, strict=True)
    ]


def _requests(lake: _OldLake, topics: Sequence[str], s3: S3Server) -> dict[Kind, int]:
    """Those of one more run, to the same lake on S3."""
    source = _disk(s3.folder / "disk", topics, lake.run_count + _REPEATS + 1)
    requests = {}
    for kind in Kind:
        before = s3.request_count()
        _ingest(source, f"s3://{_BUCKET}/{lake.path.name}")
        requests[kind] = s3.request_count() - before
    return requests


def _ingest(source: Path, lake: str) -> Measurement:
    command = [sys.executable, "-m", "seglake", "ingest", "--engine", "local", "-q"]
    return measured([*command, "--source", str(source), "--lake", lake], samples_memory=True)


def _disk(path: Path, topics: Sequence[str], run: int) -> Path:
    """What the broker's disk holds when a run comes: its own records, older ones are deleted."""
    edges = [(run - 1) * OFFSETS_A_RUN, run * OFFSETS_A_RUN]
    ids = {topic: uuid.uuid5(uuid.NAMESPACE_OID, topic) for topic in topics}
    partitions = [
        Partition(topic, 0, made_segments(topic, 0, edges), topic_id=ids[topic]) for topic in topics
    ]
    return write_over(path, partitions)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
