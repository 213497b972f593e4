"""What `make bench-scale` measures: sources of a thousand segments to a hundred thousand.

The segments are tiny, so what is measured is what each costs beside its bytes: listing, reading
headers, planning, decoding, committing. Then how well a few sources keep the cores busy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench.bench_ingest import FOLDER, say
from bench.machine import PAGE, machine, today, updated
from bench.processes import Measurement, adopt_orphans, measured
from bench.scale.made_disk import PARTITIONS_A_TOPIC, SEGMENTS_A_PARTITION, made_disk
from bench.scale.scale_page import Cost, Size, Spread, chart, page
from bench.workloads import GIB, written
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.many_requests import each
from seglake.storage.storage import Storage
from seglake.storage.storages import Storages
from support.servers.hdfs_cluster import hdfs_cluster
from support.servers.s3_server import S3Server, versitygw

_SIZES = [1_000, 10_000, 100_000]
_MOST_ON_HDFS = 10_000  # more take too long to copy
_REPEATS = 3
_HAS_DAMAGE = 3  # an exit code
_BUCKET = "scale"
_CHART = "bench-scale.svg"
COMMAND = "make bench-scale"


def main(argv: Sequence[str]) -> int:
    """Make the disks, measure, print a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--most-on-hdfs", type=int, default=_MOST_ON_HDFS)
    parser.add_argument("--no-spread", action="store_true", help="leave the large segments out")
    parser.add_argument("--docs", action="store_true", help="write tests/bench/results.md")
    arguments = parser.parse_args(argv)
    folder = FOLDER / "scale"
    shutil.rmtree(folder, ignore_errors=True)
    adopt_orphans()
    _ingest(str(made_disk(folder / "warm-up", 10)), folder / "warm-up-lake")  # compiled by then
    with versitygw(folder / "s3") as s3:
        os.environ.update(s3.environment())
        sizes = [
            _size(folder / "of", count, s3, arguments.most_on_hdfs) for count in arguments.segments
        ]
    spreads = [] if arguments.no_spread else [*_spreads(folder / "of")]
    report = [*map(asdict, sizes), *map(asdict, spreads)]
    (folder / "report.json").write_text(json.dumps(report, indent=2))
    facts = [
        f"Measured on {today()} with `{COMMAND}`: first runs once, others as medians of {_REPEATS}",
        f"Machine: {machine()}",
    ]
    text, picture = page(sizes, spreads, facts, _CHART), chart(sizes)
    (folder / "results.md").write_text(text + "\n")
    (folder / _CHART).write_text(picture)
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
        PAGE.with_name(_CHART).write_text(picture, "utf-8")
    say(f"{text}\n\n{folder}")
    return 0


def _size(folder: Path, count: int, s3: S3Server, most_on_hdfs: int) -> Size:
    shutil.rmtree(folder, ignore_errors=True)
    disk, lake = made_disk(folder / "disk", count), folder / "lake"
    first = _ingest(str(disk), lake)
    nothing = [_ingest(str(disk), lake) for _ in range(_REPEATS)]
    found = Size(
        segments=count,
        partitions=count // SEGMENTS_A_PARTITION,
        topics=-(-count // SEGMENTS_A_PARTITION // PARTITIONS_A_TOPIC),
        first=_cost([first]),
        nothing=_cost(nothing),
        file_count=sum(1 for _ in lake.rglob("*.parquet")),
        s3_requests=_s3_requests(disk, lake, s3),
        hdfs_calls=_hdfs_calls(disk, lake) if count <= most_on_hdfs else None,
    )
    say(f"{found}")
    return found


def _s3_requests(disk: Path, lake: Path, s3: S3Server) -> int:
    bucket = s3.make_bucket(_BUCKET)
    for path in (disk, lake):
        shutil.rmtree(bucket / path.name, ignore_errors=True)
        subprocess.run(["cp", "-al", path, bucket], check=True)
    return _requests(f"s3://{_BUCKET}", s3.request_count)


def _hdfs_calls(disk: Path, lake: Path) -> int:
    with ExitStack() as stack:
        hdfs = stack.enter_context(hdfs_cluster(disk.with_name("hdfs")))
        storage = Storages(HadoopProperties({}))
        for folder in (disk, lake):
            _copy(folder, storage, f"{hdfs.uri}/{folder.name}")
        return _requests(hdfs.uri, lambda: sum(hdfs.call_counts().values()))


def _copy(folder: Path, storage: Storage, target: str) -> None:
    def copy(path: Path) -> None:
        place = storage.join(target, path.relative_to(folder).as_posix())
        with storage.open_output(place) as output:
            output.write(path.read_bytes())

    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    each(copy, files, storage=storage, path=target)


def _requests(place: str, count: Callable[[], int]) -> int:
    """What a run sends that finds nothing new, behind one that has seen the files there."""
    sent = 0
    for _ in range(2):
        before = count()
        run = _ingest(f"{place}/disk", f"{place}/lake")
        sent = count() - before
        if (records := json.loads(run.stdout)["records"]) != 0:
            raise RuntimeError(f"{records} records were new at {place}")
    return sent


def _spreads(folder: Path) -> Iterator[Spread]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    whole = written(GIB, FOLDER / "data")
    yield _spread("one segment of 1 GiB", whole, folder)
    damaged = shutil.copytree(whole, folder / "damaged")
    (log,) = damaged.rglob("*.log")
    with log.open("r+b") as file:
        file.seek(log.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    yield _spread("the same with a damaged byte in the middle", damaged, folder)
    shutil.rmtree(damaged)
    skewed = made_disk(folder / "skewed", 10_000)
    (large,) = (path.parent for path in whole.rglob("*.log"))
    shutil.copytree(large, skewed / large.name, copy_function=os.link)
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        _version, _count, *others = (skewed / name).read_text().splitlines()
        *_, own = (whole / name).read_text().splitlines()
        lines = ["0", str(len(others) + 1), *others, own]
        (skewed / name).write_text("".join(f"{line}\n" for line in lines))
    yield _spread("it beside 10,000 tiny segments of 200 topics", skewed, folder)


def _spread(what: str, source: Path, folder: Path) -> Spread:
    lake = folder / "spread-lake"
    shutil.rmtree(lake, ignore_errors=True)
    run = _ingest(str(source), lake)
    found = Spread(
        what=what,
        cost=_cost([run]),
        task_count=json.loads(run.stdout)["tasks"],
        cores=os.cpu_count() or 1,
    )
    say(f"{found}")
    return found


def _ingest(source: str, lake: Path | str) -> Measurement:
    command = [sys.executable, "-m", "seglake", "ingest", "--engine", "local", "-q", "--json"]
    command += ["--source", source, "--lake", str(lake)]
    return measured(command, samples_memory=True, good_codes=(0, _HAS_DAMAGE))


def _cost(runs: Sequence[Measurement]) -> Cost:
    return Cost(
        wall_s=median(run.wall_s for run in runs),
        cpu_s=median(run.cpu_s for run in runs),
        peak_bytes=max(run.driver_bytes for run in runs),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
