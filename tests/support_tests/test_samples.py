"""The sample disk is what its script makes of the archives, and what its README says."""

import subprocess
import sys
from pathlib import Path

from support import oracle

_ROOT = Path(__file__).resolve().parents[2]
_SAMPLE = _ROOT / "samples" / "broker-0"


def _content(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_sample_disk_is_what_the_script_makes(tmp_path: Path) -> None:
    script = _ROOT / "tests" / "data" / "make_samples.py"
    subprocess.run([sys.executable, script, "--into", tmp_path / "made"], check=True)
    assert _content(tmp_path / "made") == _content(_SAMPLE)


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
