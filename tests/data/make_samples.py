"""Makes samples/broker-0 from the archives of this folder: real partitions, three of them damaged.

    python tests/data/make_samples.py [--into <folder that does not exist yet>]

The result is a log dir as it may be found after a crash: no marker of a clean shutdown, one torn
tail, and two places where the disk lied. Checkpoint files list just the partitions that are there.
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
    parser = argparse.ArgumentParser(description="Make the sample broker disk.")
    parser.add_argument("--into", type=Path, default=root / "samples" / "broker-0")
    target: Path = parser.parse_args(argv).into
    if target.exists():
        parser.error(f"{target} is there already: remove it first")
    make(Path(__file__).parent, target)
    return 0


def make(archives: Path, target: Path) -> None:
    """Write the log dir `target` from the archives in the folder `archives`."""
    target.mkdir(parents=True)
    offsets: dict[str, dict[str, int]] = {name: {} for name in CHECKPOINTS}
    for scenario, partitions in PARTITIONS.items():
        for name, content in _files(archives / f"{scenario}.tar.xz", f"{scenario}/{LOG_DIR}/"):
            folder = name.partition("/")[0]
            if folder in partitions:
                (target / folder).mkdir(exist_ok=True)
                (target / name).write_bytes(content)
            elif name in CHECKPOINTS:
                known = _checkpoint_offsets(content)
                offsets[name] |= {partition: known[partition] for partition in partitions}
    _damage(target)
    torn = CUT.file.partition("/")[0]
    for name in CHECKPOINTS:
        offsets[name][torn] = CUT.batch_base_offset
        (target / name).write_bytes(_checkpoint(offsets[name]))
    (target / "log-start-offset-checkpoint").write_bytes(_checkpoint({}))
    (target / "meta.properties").write_bytes(META_PROPERTIES.encode("ascii"))


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
