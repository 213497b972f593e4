"""What `make bench-life` measures: a run after 10, 100, 1,000 and 10,000 runs before it.

A life is lived twice, with a maintenance after every week of hourly runs and without, both at the
same time. The first run is real, and so are those that are measured: a process that finds new
records in every topic, and one that finds none. The runs between are made up, see `made_runs`.
Those of more than six weeks ago are made a day at a time: their files were merged since, and their
log entries have expired.

Each lake is kept as it is at each mark. All are measured at the end, in turn.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
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
_DAY, _WEEK = 24, 168
_HOURLY_RUNS = 6 * _WEEK  # longer than the logs keep their entries
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
    parser.add_argument("--docs", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args(argv)
    folder = FOLDER / "life"
    shutil.rmtree(folder, ignore_errors=True)
    adopt_orphans()
    topics = [f"topic-{number:03}" for number in range(arguments.topics)]
    template = folder / "template"
    _ingest(_disk(folder / "disk", topics, 1), str(template))
    lives = [
        (template, topics, _WEEK, arguments.runs),
        (template, topics, 0, arguments.untidy_runs),
    ]
    with ProcessPoolExecutor(len(lives), get_context("spawn")) as pool:
        kept = list(chain.from_iterable(pool.map(_lived, *zip(*lives, strict=True))))
    with versitygw(folder / "s3") as s3:
        os.environ.update(s3.environment())
        marks = _measured(kept, topics, s3)
    (folder / "report.json").write_text(json.dumps([asdict(mark) for mark in marks], indent=2))
    lines = [
        f"Measured on {today()} with `{_command(arguments)}`, medians of {_REPEATS} runs in turn",
        f"Machine: {machine()}, which also ran the S3 server",
    ]
    text, picture = page(marks, lines, _CHART), chart(marks)
    (folder / "performance.md").write_text(text + "\n")
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
class _KeptLake:
    """A lake as it was at a mark; see `Mark`."""

    path: Path
    run_count: int
    is_maintained: bool
    maintain_s: float


def _lived(
    template: Path, topics: Sequence[str], week: int, runs: Sequence[int]
) -> list[_KeptLake]:
    """Live a life, and keep the lake at each mark.

    Args:
        week: runs between two maintenances, 0 for a life without.
    """
    if not runs:
        return []
    lake = template.with_name("maintained" if week else "untidy")
    made = MadeRuns(lake, template, topics, max(runs))
    maintain_s = 0.0
    kept = []
    for mark in runs:
        while made.run_count < mark:
            is_long_ago = week and made.run_count + _HOURLY_RUNS < mark
            made.add(_DAY if is_long_ago and made.run_count % _DAY == 0 else 1)
            if week and made.run_count % week == 0:
                maintain_s = made.maintain()
        path = lake.with_name(f"{lake.name}-{mark}")
        _copy(lake, path)
        kept.append(
            _KeptLake(path=path, run_count=mark, is_maintained=week > 0, maintain_s=maintain_s)
        )
        say(f"{path.name}: lived")
    return kept


def _copy(lake: Path, to: Path) -> None:
    """A copy that shares the files, which are never changed."""
    subprocess.run(["cp", "-al", lake, to], check=True)


def _measured(kept: Sequence[_KeptLake], topics: Sequence[str], s3: S3Server) -> list[Mark]:
    """What a run costs at each mark: all in turn, again and again."""
    bucket = s3.make_bucket(_BUCKET)
    found: list[dict[Kind, list[Measurement]]] = [{kind: [] for kind in Kind} for _ in kept]
    for lake in kept:
        _copy(lake.path, bucket / lake.path.name)
    for repeat in range(1, _REPEATS + 1):
        for lake, of_lake in zip(kept, found, strict=True):
            source = _disk(bucket.with_name("disk"), topics, lake.run_count + repeat)
            for kind in Kind:
                of_lake[kind].append(_ingest(source, str(bucket / lake.path.name)))
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
        for lake, of_lake in zip(kept, found, strict=True)
    ]


def _requests(lake: _KeptLake, topics: Sequence[str], s3: S3Server) -> dict[Kind, int]:
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
