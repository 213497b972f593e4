"""Logs whose batches beside a gap are others than those of the lake fill nothing."""

from pathlib import Path

from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.damaged_replicas import marked_log, marks_in, replay_notes
from support.lakes import ingested


def test_replay_takes_nothing_of_another_log_without_topic_id(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(marked_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    notes = replay_notes(lake, marked_log(tmp_path / "b", 1, "b"))
    assert any("other batches next to them than the lake" in note for note in notes)
    assert marks_in(lake) == {"a"}
    assert standing_gaps(lake) == [StandingGap("orders", 0, 10, 15, "quarantined")]


def test_ingest_takes_nothing_of_another_log_given_as_a_sibling(tmp_path: Path) -> None:
    disks = [marked_log(tmp_path / "a", 1, "a", damaged=[2]), marked_log(tmp_path / "b", 2, "b")]
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    ingested(disks, lake)
    assert marks_in(lake) == {"a"}
    assert imbalances_of(lake) == []
