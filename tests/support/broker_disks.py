"""Unpacks the archives of tests/data, once per machine and archive, and says where things lie.

The unpacked folders are shared by all tests and all processes: read them, copy what you change.
They are kept in `build/broker_disks/<sha256 of the archive>/<scenario>`, so a new archive is
unpacked anew and an old checkout finds its own.
"""

import hashlib
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.archives import unpack

_ROOT = Path(__file__).resolve().parents[2]
_ARCHIVES = _ROOT / "tests" / "data"
_UNPACKED = _ROOT / "build" / "broker_disks"
_INDEX = json.loads((_ARCHIVES / "index.json").read_text(encoding="utf-8"))

CORRUPT = "20_corrupt"
TYPED = "30_typed"
SCENARIOS: tuple[str, ...] = tuple(
    name.removesuffix(".tar.xz")
    for name in _INDEX["archives"]
    if not name.startswith((CORRUPT, TYPED))
)
TIERS: tuple[str, ...] = tuple(name.removesuffix(".tar.xz") for name in _INDEX["tiers"])
CORRUPT_CASES: tuple[str, ...] = tuple(_INDEX["corrupt_cases"])


class GoldenError(Exception):
    """An archive is missing, or is not the one index.json names."""


class PartitionFacts(NamedTuple):
    """Facts that the broker stated about one partition when its disk was copied.

    The offsets are exclusive upper bounds, but for the log start. None: the topic saw no
    transaction.
    """

    topic: str
    partition: int
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int | None
    record_count: int
    read_committed_record_count: int | None


class LogDir(NamedTuple):
    """One copied log dir: the folder with meta.properties and the partitions' folders."""

    broker: str
    name: str
    path: Path


@cache
def unpacked(scenario: str) -> Path:
    """The folder of a scenario, with scenario.json, disks/ and expected/; or that of a tier.

    Raises:
        GoldenError: the archive is missing or has another checksum than index.json says.
    """
    archive = _ARCHIVES / f"{scenario}.tar.xz"
    facts = {**_INDEX["archives"], **_INDEX["tiers"]}.get(archive.name)
    if facts is None or not archive.is_file():
        raise GoldenError(f"{archive.name} is not in {_ARCHIVES} or not in its index.json")
    expected = str(facts["sha256"])
    folder = _UNPACKED / expected
    if not folder.is_dir():
        content = archive.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            raise GoldenError(f"{archive.name} has SHA-256 {found}, index.json says {expected}")
        _unpack(archive, folder)
    return folder / scenario


def copies(scenario: str) -> tuple[str, ...]:
    """Names of the copies of the disks: `stopped`, `live`, `killed` and so on."""
    return tuple(_partitions_by_copy(scenario))


def log_dirs(scenario: str, copy: str) -> tuple[LogDir, ...]:
    """All log dirs of one copy, by broker and name."""
    found = sorted((unpacked(scenario) / "disks" / copy).glob("broker*/*/"))
    return tuple(LogDir(path.parent.name, path.name, path) for path in found)


def log_dir(scenario: str, copy: str, broker: str = "broker0", name: str = "data") -> Path:
    """One log dir; the defaults are right for every scenario of a single broker with one disk."""
    for found in log_dirs(scenario, copy):
        if (found.broker, found.name) == (broker, name):
            return found.path
    raise GoldenError(f"{scenario} copy {copy} has no log dir {broker}/{name}")


def partitions(scenario: str, copy: str) -> tuple[PartitionFacts, ...]:
    """The partitions of one copy, by name, as scenario.json has them."""
    return _partitions_by_copy(scenario)[copy]


@cache
def _partitions_by_copy(scenario: str) -> dict[str, tuple[PartitionFacts, ...]]:
    text = (unpacked(scenario) / "scenario.json").read_text(encoding="utf-8")
    found = {}
    for copy, facts in json.loads(text)["copies"].items():
        by_name = sorted(facts["partitions"].items())
        found[copy] = tuple(_partition_facts(name, numbers) for name, numbers in by_name)
    return found


def _partition_facts(name: str, numbers: dict[str, int]) -> PartitionFacts:
    topic, _, partition = name.rpartition("-")
    return PartitionFacts(
        topic=topic,
        partition=int(partition),
        log_start_offset=numbers["log_start_offset"],
        high_watermark=numbers["high_watermark"],
        last_stable_offset=numbers.get("last_stable_offset"),
        record_count=numbers["records"],
        read_committed_record_count=numbers.get("read_committed_records"),
    )


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack beside the target and rename: whoever comes first wins, nobody sees half a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
    try:
        unpack(archive, temporary)
        temporary.chmod(0o755)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
