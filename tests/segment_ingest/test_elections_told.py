"""What the summary says of copies whose end won or lost an election after a run."""

from pathlib import Path

import pytest

from support import broker_disks
from support.encoder import EncodedBatch, Partition, Segment
from support.lakes import ingested
from support.made_logs import TOPIC_IDS, made_batches, write_over


def _disk(broker: str) -> Path:
    return broker_disks.log_dir("08_replicas", "diverged", broker)


def _batches(start: int, stop: int, epoch: int) -> list[EncodedBatch]:
    """Another leader wrote other bytes."""
    return made_batches("orders", epoch, range(start, stop), leader_epoch=epoch)


def _log(batches: list[EncodedBatch], *epochs: tuple[int, int]) -> Partition:
    segments = [Segment(0, batches)]
    return Partition("orders", 0, segments, topic_id=TOPIC_IDS["orders"], leader_epochs=epochs)


def test_run_that_only_lists_lost_batches_does_not_say_that_nothing_is_new(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk("broker2"), lake)
    text = ingested(_disk("broker0"), lake).to_text()
    assert text.startswith("no new records in 3 partitions of ")
    assert "; 6 batches of other replicas were quarantined" in text.splitlines()[0]
    assert ingested(_disk("broker0"), lake).to_text().startswith("nothing new in ")


def test_shorter_log_that_won_an_election_is_not_called_older(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk("broker0"), lake)
    summary = ingested(_disk("broker2"), lake)
    (said,) = (note for note in summary.notes if "the lake covers up to 234" in note)
    assert "a replica whose end won an election against rows that were ingested before" in said
    assert not any("older or lagging" in note for note in summary.notes)


@pytest.mark.parametrize(
    ("upper_bound", "said"),
    [
        ("log_end", ": a replica whose end lost an election, nothing"),
        ("high_watermark", ": an older or lagging replica, or one that lost an election, nothing"),
    ],
)
def test_shorter_log_that_lost_an_election_is_said_to_have_or_that_it_may(
    tmp_path: Path, upper_bound: str, said: str
) -> None:
    """Below the high watermark that was taken nobody looks into a log."""
    lake = tmp_path / "lake"
    for end in (20, 30):
        winner = _log([*_batches(0, 10, 1), *_batches(10, end, 3)], (1, 0), (3, 10))
        ingested(write_over(tmp_path / "winner", [winner], broker_id=1), lake)
    disk = write_over(tmp_path / "loser", [_log(_batches(0, 20, 1), (1, 0))], broker_id=2)
    for _ in range(2):
        summary = ingested(disk, lake, read={"upper_bound": upper_bound})
        assert [said in note for note in summary.notes].count(True) == 1
