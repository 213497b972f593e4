"""`make bench-kafka` on very little data: real brokers, all systems, the tables and the picture."""

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

_ROOT = Path(__file__).parents[2]
_HEADER = struct.Struct(">qiibIhiqqqhii")  # of a batch of format v2
_SYSTEMS = ("seglake, local engine", "seglake, Spark", "Spark's Kafka source", "plain Java")
_PROGRAMS = ("mvn", "java", "javac")
_MISSING = [name for name in _PROGRAMS if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(bool(_MISSING), reason=f"needs {_MISSING}, to fetch and run brokers"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a small run left everything."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, "-m", "bench.kafka.bench_kafka", "--folder", str(folder)]
    command += ["--scale", "0.0002", "--runs", "1", "--workloads"]
    command += ["w5", "transactions", "snappy", "v1"]
    done = subprocess.run(command, cwd=_ROOT / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:  # Any: what JSON can hold
    found = json.loads((folder / "report.json").read_text())
    return {each["topic"]["name"]: each for each in found}


def test_every_system_wrote_every_topic_cold_and_warm(report: dict[str, Any]) -> None:
    expected = {f"{system}, {start}" for system in _SYSTEMS for start in ("cold", "warm")}
    assert {name: set(each["jobs"]) for name, each in report.items()} == dict.fromkeys(
        report, expected
    )
    assert all(len(each["jobs"][f"{_SYSTEMS[0]}, warm"]) == 2 for each in report.values())
    assert report["w5"]["record_count"] == 100


def test_limit_is_known_of_the_current_format(report: dict[str, Any]) -> None:
    assert [name for name, each in report.items() if each["limit_s"] is None] == ["v1"]


@pytest.mark.parametrize(
    ("topic", "counts", "producer_ids"),
    [
        ("snappy", {138}, True),
        ("w5", {1}, False),
        ("transactions", {100, 1}, True),  # and markers
    ],
)
def test_batches_are_those_of_the_producer_that_was_asked_for(
    folder: Path, topic: str, counts: set[int], producer_ids: bool
) -> None:
    headers = list(_headers(folder / "4.3.0-scale-0.0002" / "data" / f"{topic}-0"))
    assert {header[12] for header in headers} == counts
    assert {header[9] >= 0 for header in headers} == {producer_ids}


def test_old_format_is_written_by_a_broker_that_still_can(folder: Path) -> None:
    log = folder / "3.9.2-scale-0.0002" / "data" / "v1-0" / f"{0:020}.log"
    assert log.read_bytes()[16] == 1


def test_tables_and_picture_are_written(folder: Path) -> None:
    text = (folder / "performance.md").read_text()
    assert "SCALE=0.0002" in text
    assert "| `transactions` |" in text
    ElementTree.parse(folder / "bench-kafka.svg")


def _headers(partition: Path) -> Iterator[tuple[int, ...]]:
    for log in sorted(partition.glob("*.log")):
        data = log.read_bytes()
        position = 0
        while position < len(data):
            header = _HEADER.unpack_from(data, position)
            yield header
            position += 12 + header[1]
