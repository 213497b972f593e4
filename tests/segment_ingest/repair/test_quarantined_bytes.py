"""Quarantined bytes as sources of a replay."""

from pathlib import Path

from support.damaged_replicas import LARGE_LIMIT, lake_without_a_large_batch
from support.lakes import replayed


def test_no_file_is_left_of_the_bytes_that_were_decoded_again(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert list((lake / "records" / "_seglake" / "replay").iterdir()) == []
