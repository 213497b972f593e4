"""What is said of partitions that gave no record."""

import pytest

from seglake.findings.loss_causes import Loss, NoLoss
from seglake.findings.recovery import PartitionRecovery
from seglake.kafka_log.gap_ranges import GapRanges


@pytest.mark.parametrize(
    ("no_loss", "words"),
    [
        ({}, "empty"),
        ({NoLoss.DELETED: 5}, "compacted, deleted or markers only"),
        ({NoLoss.WITHOUT_RECORD: 1, NoLoss.EXPIRED: 5}, "expired or erased"),
        ({NoLoss.ERASED: 5}, "expired or erased"),
    ],
)
def test_a_partition_without_records_names_what_removed_them(
    no_loss: dict[NoLoss, int], words: str
) -> None:
    assert PartitionRecovery(name="t-0", records=0, no_loss=no_loss).why_nothing == words


def test_a_partition_without_records_names_its_worst_loss() -> None:
    lost = {Loss.HIGH_WATERMARK: GapRanges.of([(5, 9)]), Loss.REFUSED: GapRanges.of([(0, 5)])}
    found = PartitionRecovery(name="t-0", records=0, lost=lost, no_loss={NoLoss.DELETED: 5})
    assert found.why_nothing == Loss.REFUSED.words
