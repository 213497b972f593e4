"""What is said of one partition: what was skipped, and why."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.audits import assert_agrees, audited
from support.lakes import ingested
from support.made_logs import FIRST_MS, STEP_MS, make_log_dir

_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"


def test_windows_leave_ranges_that_are_called_skipped(tmp_path: Path) -> None:
    data, lake = tmp_path / "data", tmp_path / "lake"
    make_log_dir(data, {("orders", 0): [0, 100]})
    for start, stop in ((20, 40), (60, 80)):
        window = {"from_timestamp": _time(start), "to_timestamp": _time(stop)}
        ingested(data, lake, select=window)
    audit = audited(lake)
    (found,) = audit.partitions
    assert found.covered == ((20, 40), (60, 80))
    assert found.not_covered == ((0, 20), (40, 60))
    assert found.left is not None
    assert found.left[:2] == (80, 100)
    assert_agrees(audit, lake)


def _time(offset: int) -> datetime:
    return datetime.fromtimestamp((FIRST_MS + offset * STEP_MS) / 1000, UTC)


@pytest.mark.parametrize(
    ("isolation", "left"),
    [
        ("read_committed", (102, 128, "a transaction is open since offset 102")),
        ("read_uncommitted", None),
    ],
)
def test_what_lies_above_is_said_with_the_reason(
    isolation: str, left: tuple[int, int, str] | None, tmp_path: Path
) -> None:
    ingested(_SAMPLE, tmp_path / "lake", isolation=isolation, select={"topics": ["tx-a"]})
    first = audited(tmp_path / "lake").partitions[0]
    assert (first.partition.key.partition, first.left) == (0, left)


def test_what_lies_above_the_high_watermark_is_said(tmp_path: Path) -> None:
    orders = ("orders", 0)
    data = make_log_dir(tmp_path / "data", {orders: [0, 30]}, high_watermarks={orders: 20})
    ingested(data, tmp_path / "lake")
    (found,) = audited(tmp_path / "lake").partitions
    assert found.left == (20, 30, "it is above the high watermark 20")
