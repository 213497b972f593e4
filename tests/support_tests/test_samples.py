"""The sample disks are what their script makes of the archives, and what their README says."""

import subprocess
import sys
from pathlib import Path

from support import broker_disks, oracle

_ROOT = Path(__file__).resolve().parents[2]
_SAMPLES = _ROOT / "samples"


def _content(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_sample_disks_are_what_the_script_makes(tmp_path: Path) -> None:
    script = _ROOT / "tests" / "data" / "make_samples.py"
    subprocess.run([sys.executable, script, "--into", tmp_path / "made"], check=True)
    for name in ("broker-0", "typed"):
        assert _content(tmp_path / "made" / name) == _content(_SAMPLES / name)


def test_sample_damage_hits_the_batches_the_readme_names() -> None:
    hits = []
    for topic, partition, file_name, position in (
        ("v2-zstd", 1, "00000000000000000000.log", 3440),
        ("v2-none", 1, "00000000000000000117.log", 2870),
        ("v2-lz4", 0, "00000000000000000000.log", 9676),
    ):
        dump = oracle.partition_dump("03_v2_codecs", "stopped", topic, partition)
        hits += [
            (batch.position, batch.size_bytes, batch.base_offset, batch.last_offset)
            for batch in dump.batches_of(file_name)
            if batch.position <= position < batch.position + batch.size_bytes
        ]
    assert hits == [(2879, 1117, 53, 71), (2862, 424, 141, 143), (9176, 1014, 186, 207)]


def test_sample_counts_are_those_of_the_readme() -> None:
    places = [
        ("01_v0_codecs", "v0-gzip", (0, 1)),
        ("02_v1_codecs", "v1-snappy-ct", (0,)),
        ("03_v2_codecs", "v2-lz4", (0,)),
        ("03_v2_codecs", "v2-none", (1,)),
        ("03_v2_codecs", "v2-zstd", (0, 1)),
        ("06_transactions", "tx-a", (0, 1, 2)),
    ]
    unreadable = 19 + 3 + 22
    counts = {}
    for isolation in oracle.Isolation:
        counts[isolation.value] = -unreadable + sum(
            len(oracle.expected_records(scenario, "stopped", topic, partition, isolation))
            for scenario, topic, partitions in places
            for partition in partitions
        )
    assert counts == {"read_uncommitted": 2163, "read_committed": 2070}


def test_typed_sample_has_each_record_of_its_topics_in_the_archive() -> None:
    disk = broker_disks.unpacked("30_typed") / "disks" / "broker0"
    for folder in ("_schemas-0", "avro_orders-0", "avro_orders-1"):
        assert _content(_SAMPLES / "typed" / folder) == _content(disk / folder)
