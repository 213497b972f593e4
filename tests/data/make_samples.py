"""Makes samples/broker-0 and samples/typed from the archives of this folder: real partitions.

    python tests/data/make_samples.py [--into <folder without these two>]

`broker-0` is a log dir as it may be found after a crash: no marker of a clean shutdown, one torn
tail, and two places where the disk lied. `typed` is whole: a topic of Avro and the topic of its
schema registry. Checkpoint files list just the partitions that are there.
"""

import argparse
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

CLUSTER_ID = "c2VnbGFrZS1zYW1wbGUtMQ"
META_PROPERTIES = f"#\n#made for the samples\nbroker.id=0\nversion=0\ncluster.id={CLUSTER_ID}\n"
LOG_DIR = "disks/stopped/broker0/data"
PARTITIONS = {
    "01_v0_codecs": ("v0-gzip-0", "v0-gzip-1"),
    "02_v1_codecs": ("v1-snappy-ct-0",),
    "03_v2_codecs": ("v2-lz4-0", "v2-none-1", "v2-zstd-0", "v2-zstd-1"),
    "06_transactions": ("tx-a-0", "tx-a-1", "tx-a-2"),
}
TYPED, TYPED_LOG_DIR = "30_typed", "disks/broker0"
TYPED_PARTITIONS = ("_schemas-0", "avro_orders-0", "avro_orders-1")
TYPED_FILES = (".kafka_cleanshutdown", "log-start-offset-checkpoint", "meta.properties")


class Patch(NamedTuple):
    """Bytes to write over others; `before` is what must be there."""

    file: str
    position: int
    before: bytes
    after: bytes


class Cut(NamedTuple):
    """A last segment that ends inside its last batch, and the offset where that batch begins.

    The log ends there for the checkpoints; the snapshot a clean stop left behind goes.
    """

    file: str
    size_bytes: int
    batch_base_offset: int
    snapshot_to_drop: str


PATCHES = (
    Patch("v2-zstd-1/00000000000000000000.log", 3440, b"\x9d", b"\x95"),
    Patch("v2-none-1/00000000000000000117.log", 2870, b"\x00\x00\x01\x9c", b"\x7f\xff\xff\xff"),
)
CUT = Cut(
    file="v2-lz4-0/00000000000000000000.log",
    size_bytes=9676,
    batch_base_offset=186,
    snapshot_to_drop="v2-lz4-0/00000000000000000208.snapshot",
)
CHECKPOINTS = ("replication-offset-checkpoint", "recovery-point-offset-checkpoint")


def main(argv: Sequence[str]) -> int:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Make the sample log dirs.")
    parser.add_argument("--into", type=Path, default=root / "samples")
    folder: Path = parser.parse_args(argv).into
    for name, make in (("broker-0", make_damaged), ("typed", make_typed)):
        target = folder / name
        if target.exists():
            parser.error(f"{target} is there already: remove it first")
        target.mkdir(parents=True)
        make(Path(__file__).parent, target)
    return 0


def make_damaged(archives: Path, target: Path) -> None:
    """Write a log dir with three damaged partitions from the archives in a folder."""
    offsets: dict[str, dict[str, int]] = {name: {} for name in CHECKPOINTS}
    for scenario, partitions in PARTITIONS.items():
        files = _files(archives / f"{scenario}.tar.xz", f"{scenario}/{LOG_DIR}/")
        for name, known in _written(files, target, partitions):
            offsets[name] |= known
    _damage(target)
    torn = CUT.file.partition("/")[0]
    for name in CHECKPOINTS:
        offsets[name][torn] = CUT.batch_base_offset
        (target / name).write_bytes(_checkpoint(offsets[name]))
    (target / "log-start-offset-checkpoint").write_bytes(_checkpoint({}))
    (target / "meta.properties").write_bytes(META_PROPERTIES.encode("ascii"))


def make_typed(archives: Path, target: Path) -> None:
    """Write a log dir with a topic of Avro and the topic of its schemas."""
    prefix = f"{TYPED}/{TYPED_LOG_DIR}/"
    for name, content in _files(archives / f"{TYPED}.tar.xz", prefix):
        if name in TYPED_FILES:
            (target / name).write_bytes(content)
    files = _files(archives / f"{TYPED}.tar.xz", prefix)
    for name, known in _written(files, target, TYPED_PARTITIONS):
        (target / name).write_bytes(_checkpoint(known))


def _written(
    files: Iterator[tuple[str, bytes]], target: Path, partitions: Sequence[str]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Write the files of some partitions; yield their offsets in each checkpoint file."""
    for name, content in files:
        folder = name.partition("/")[0]
        if folder in partitions:
            (target / folder).mkdir(exist_ok=True)
            (target / name).write_bytes(content)
        elif name in CHECKPOINTS:
            known = _checkpoint_offsets(content)
            yield name, {partition: known[partition] for partition in partitions}


def _files(archive: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None and member.name.startswith(prefix):
                yield member.name.removeprefix(prefix), content.read()


def _damage(target: Path) -> None:
    for patch in PATCHES:
        path = target / patch.file
        content = path.read_bytes()
        end = patch.position + len(patch.before)
        found = content[patch.position : end]
        if found != patch.before:
            raise ValueError(f"{patch.file} has {found.hex()} at position {patch.position}")
        path.write_bytes(content[: patch.position] + patch.after + content[end:])
    path = target / CUT.file
    path.write_bytes(path.read_bytes()[: CUT.size_bytes])
    (target / CUT.snapshot_to_drop).unlink()


def _checkpoint_offsets(content: bytes) -> dict[str, int]:
    lines = [line.split() for line in content.decode("ascii").splitlines()[2:]]
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in lines}


def _checkpoint(offsets: dict[str, int]) -> bytes:
    lines = ["0", str(len(offsets))]
    for name in sorted(offsets):
        topic, _, partition = name.rpartition("-")
        lines.append(f"{topic} {partition} {offsets[name]}")
    return "".join(f"{line}\n" for line in lines).encode("ascii")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
