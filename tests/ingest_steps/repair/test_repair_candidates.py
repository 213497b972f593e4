"""What replicas and quarantined bytes have of the gaps of a lake."""

from pathlib import Path

from support.damaged_replicas import LARGE_LIMIT, lake_without_a_large_batch
from support.lakes import replayed


def test_dry_run_counts_a_gap_once_that_two_sources_could_fill(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    limits = {"max_decompressed_batch_bytes": LARGE_LIMIT}
    summary = replayed(lake, tmp_path / "disk", dry_run=True, limits=limits)
    assert (summary.planned_gaps, summary.planned_offsets) == (1, 5)
