"""What `make bench-storage` measures: the same ingest from and to local disk, S3 and HDFS.

The servers run on this machine and take their share of its cores. Nothing here passes or fails: the
runs are made in turn, and medians and ratios to the local ones are shown.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.bench_ingest import FOLDER, Disk, Row, say, show
from bench.processes import Measurement, adopt_orphans, measured
from bench.workloads import W2, log_bytes, written
from seglake.storage.storage import Storage
from seglake.storage.storages import Storages
from support.servers.hdfs_cluster import hdfs_cluster
from support.servers.s3_server import versitygw

_BUCKET = "bench"
_REPLICATION = 3  # HDFS's default
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a disk lies and a lake is made; `requests` counts those that a store was sent."""

    name: str
    source: str
    lake: str
    storage: Storage
    requests: Callable[[], int]


def main(argv: Sequence[str]) -> int:
    """Make the data, copy it to each place, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the amount of data")
    parser.add_argument("--runs", type=int, default=3, help="of each measurement")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--replication", type=int, default=_REPLICATION, help="of HDFS")
    arguments = parser.parse_args(argv)
    path = written(W2.scaled(arguments.scale), FOLDER / "data")
    disk = Disk(W2, path, log_bytes(path))
    adopt_orphans()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=FOLDER)))
        places = _places(disk, scratch, arguments.replication, stack)
        rows = _measured(disk, places, arguments.engine, arguments.runs)
    what = f"{arguments.engine} engine, HDFS with {arguments.replication} data nodes"
    show(f"W2, {disk.size_bytes / _MIB:,.0f} MiB, {what} and replicas", rows)
    say(f"\nload {os.getloadavg()[0]:.1f}")
    return 0


def _places(disk: Disk, scratch: Path, replication: int, stack: ExitStack) -> list[Place]:
    s3 = stack.enter_context(versitygw(scratch / "s3"))
    hdfs = stack.enter_context(
        hdfs_cluster(
            scratch / "hdfs",
            data_node_count=replication,
            replication=replication,
            is_one_process=False,
        )
    )
    s3.make_bucket(_BUCKET)
    os.environ.update(s3.environment())  # for the commands that are measured
    storage = Storages(s3.properties())
    places = [
        Place("local", str(disk.path), str(scratch / "lake"), storage, lambda: 0),
        Place("S3", f"s3://{_BUCKET}/source", f"s3://{_BUCKET}/lake", storage, s3.request_count),
        Place(
            "HDFS",
            f"{hdfs.uri}/source",
            f"{hdfs.uri}/lake",
            storage,
            lambda: sum(hdfs.call_counts().values()),
        ),
    ]
    for place in places[1:]:
        _copy(disk.path, place)
    return places


def _copy(folder: Path, place: Place) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            target = place.storage.join(place.source, path.relative_to(folder).as_posix())
            with path.open("rb") as source, place.storage.open_output(target) as output:
                shutil.copyfileobj(source, output, 8 * _MIB)


def _measured(disk: Disk, places: Sequence[Place], engine: str, runs: int) -> list[Row]:
    found: dict[str, list[Measurement]] = {place.name: [] for place in places}
    requests: dict[str, int] = {}
    for run in range(runs + 1):  # the first one fills caches, and does not count
        for place in places:
            place.storage.delete_folder(place.lake)
            before = place.requests()
            command = [sys.executable, "-m", "seglake", "ingest", "--engine", engine, "--json"]
            command += ["--source", place.source, "--lake", place.lake]
            measurement = measured(command)
            requests[place.name] = place.requests() - before
            if run:
                found[place.name].append(measurement)
    return [_row(disk, place, found, requests) for place in places]


def _row(
    disk: Disk, place: Place, found: Mapping[str, list[Measurement]], requests: Mapping[str, int]
) -> Row:
    own = found[place.name]
    wall_s = median(run.wall_s for run in own)
    segments = sum(1 for _ in disk.path.rglob("*.log"))
    return {
        "place": place.name,
        "wall s": wall_s,
        "CPU s": median(run.cpu_s for run in own),
        "of local": wall_s / median(run.wall_s for run in found["local"]),
        "requests": requests[place.name],
        "per segment": requests[place.name] / segments,
        "records": json.loads(own[-1].stdout)["records"],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
