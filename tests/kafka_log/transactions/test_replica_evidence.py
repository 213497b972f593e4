"""What damage hides of transactions on one disk is known from another."""

from pathlib import Path

import pytest

from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.transactions.replica_evidence import evidence_of
from support.accounts import imbalances_of
from support.encoder import DEFAULT_CLUSTER_ID, meta_properties
from support.found import unknown_outcomes
from support.lakes import ingested, read_table
from support.planned import replica, survey
from support.transaction_logs import (
    OUTSIDE,
    TOPIC,
    Step,
    TransactionLog,
    encoded,
    write_log,
)

_LOG = TransactionLog.of(
    [
        Step(OUTSIDE, records=3),
        Step(7, records=3),
        Step(8, records=3),
        Step(OUTSIDE, records=3),
        Step(7, is_commit=False),  # offset 12
        Step(OUTSIDE, records=3),
        Step(8, is_commit=True),  # offset 16
        Step(OUTSIDE, records=3),
        Step(7, records=3),
        Step(OUTSIDE, records=3),
    ]
)


def _strike(partition: Path, *offsets: int) -> None:
    """Damage the batches that begin at some offsets, so that their headers show it."""
    for offset in offsets:
        (placed,) = [each for each in _LOG.placed if each.offset == offset]
        batch = encoded(placed).data
        (log,) = [log for log in partition.glob("*.log") if batch in log.read_bytes()]
        struck = batch[:8] + b"\x7f" * 4 + batch[12:-1] + b"\xff"
        log.write_bytes(log.read_bytes().replace(batch, struck))


def _two_disks(folder: Path, edges: list[int] | None = None) -> tuple[Path, Path]:
    """Two copies of a log. The second has other damage than the first, and more of it, so that
    the first one is read."""
    one, other = folder / "one", folder / "other"
    for broker_id, disk in enumerate((one, other)):
        write_log(disk, _LOG, edges or [0], has_files=False)
        (disk / "meta.properties").write_text(meta_properties(broker_id, DEFAULT_CLUSTER_ID))
    _strike(other / f"{TOPIC}-0", 0, 9, 17, 23)
    return one, other


def _is_first_read(lake: Path) -> bool:
    """Whether the second gave no more than what repairs needed."""
    brokers = {row["base_offset"]: row["broker_id"] for row in read_table(lake, "batches")}
    return (brokers[3], brokers[6], brokers[20]) == (0, 0, 0)


def _records(lake: Path) -> dict[int, str]:
    rows = read_table(lake, "records")
    assert len({row["offset"] for row in rows}) == len(rows)
    return {row["offset"]: row["transaction_state"] for row in rows}


@pytest.mark.parametrize("offset", [12, 16], ids=["abort", "commit"])
def test_a_marker_that_is_damaged_is_known_from_another_copy(
    data: Path, lake: Path, offset: int
) -> None:
    one, other = _two_disks(data)
    _strike(one / f"{TOPIC}-0", offset)
    summary = ingested([one, other], lake, isolation="read_uncommitted")
    assert _is_first_read(lake)
    assert (unknown_outcomes(summary), summary.exit_code) == ([], 3)
    assert _records(lake) == _LOG.states(_LOG.next_offset)
    assert imbalances_of(lake) == []


def test_read_committed_goes_on_behind_a_marker_that_another_copy_has(
    data: Path, lake: Path
) -> None:
    one, other = _two_disks(data)
    _strike(one / f"{TOPIC}-0", 12, 16)
    ingested([one, other], lake, isolation="read_committed")
    stable = _LOG.stable_offset(_LOG.next_offset)
    expected = {
        offset: state
        for offset, state in _LOG.states(_LOG.next_offset).items()
        if state in ("none", "committed") and offset < stable
    }
    assert _records(lake) == expected


def test_a_marker_in_a_segment_that_is_gone_is_known_from_another_copy(
    data: Path, lake: Path
) -> None:
    one, other = _two_disks(data, [0, 12, 17])
    (one / f"{TOPIC}-0" / f"{12:020d}.log").unlink()
    summary = ingested([one, other], lake, isolation="read_uncommitted")
    assert _is_first_read(lake)
    assert (unknown_outcomes(summary), summary.left_out) == ([], {})
    assert _records(lake) == _LOG.states(_LOG.next_offset)
    assert imbalances_of(lake) == []


def test_a_copy_that_is_damaged_there_too_says_nothing(data: Path, lake: Path) -> None:
    one, other = _two_disks(data)
    for disk in (one, other):
        _strike(disk / f"{TOPIC}-0", 12)
    summary = ingested([one, other], lake, isolation="read_uncommitted")
    assert len(unknown_outcomes(summary)) > 0
    assert _records(lake)[3] == "open"


def test_a_copy_tells_nothing_from_where_it_is_another_log() -> None:
    lost_an_election = OtherReplica(replica(), (survey(0, 100),), 100, 60, 60)
    assert evidence_of(lost_an_election).sound == ((0, 60),)
