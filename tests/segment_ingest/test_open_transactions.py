"""Transactions that are open when a run comes, and end before the next."""

from pathlib import Path

import pytest

from support.accounts import imbalances_of
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
)
from support.found import NOT_INGESTED_YET
from support.lakes import ingested, read_table
from support.made_logs import FIRST_MS, made_batches, write_over
from support.taken import is_nothing_new, offsets_taken

_ORDERS = ("orders", 0)

_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


def _transaction(is_commit: bool) -> list[EncodedBatch]:
    """Plain records, five of a transaction, plain ones of another producer, then the end."""
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    inside = record_batch(5, [Record(b"t", b"%d" % n, FIRST_MS) for n in range(5, 10)], header)
    kind = ControlType.COMMIT if is_commit else ControlType.ABORT
    return [
        *made_batches("orders", 0, range(5)),
        inside,
        *made_batches("orders", 0, range(10, 15)),
        end_marker(15, kind, producer_id=7),
        *made_batches("orders", 0, range(16, 21)),
    ]


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
def test_read_committed_waits_for_the_end_of_a_transaction(
    is_commit: bool, data: Path, lake: Path
) -> None:
    batches = _transaction(is_commit)
    write_over(data, [Partition("orders", 0, [Segment(0, batches[:3])])])
    summary = ingested(data, lake, isolation=_COMMITTED)
    assert offsets_taken(lake) == list(range(5))
    (left,) = summary.findings.of(*NOT_INGESTED_YET)
    assert left.ranges == ((5, 15),)
    assert "producer 7 has a transaction open since offset 5" in left.text
    assert is_nothing_new(ingested(data, lake, isolation=_COMMITTED))

    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    assert ingested(data, lake, isolation=_COMMITTED).findings.of(*NOT_INGESTED_YET) == []
    given = range(5, 10) if is_commit else ()
    assert offsets_taken(lake) == [*range(5), *given, *range(10, 15), *range(16, 21)]
    states = {row["base_offset"]: row["state"] for row in read_table(lake, "batches")}
    assert states[5] == ("decoded" if is_commit else "aborted")
    assert states[15] == "control"
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
def test_read_uncommitted_takes_open_rows_once_and_later_the_marker_that_ends_them(
    is_commit: bool, data: Path, lake: Path
) -> None:
    batches = _transaction(is_commit)
    write_over(data, [Partition("orders", 0, [Segment(0, batches[:3])])])
    assert ingested(data, lake).counts.open_rows == 5
    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    assert ingested(data, lake).counts.open_rows == 0
    assert offsets_taken(lake) == [*range(15), *range(16, 21)]
    states = {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}
    assert {states[offset] for offset in range(5, 10)} == {"open"}
    markers = [row for row in read_table(lake, "batches") if row["state"] == "control"]
    assert [(row["base_offset"], row["control_type"], row["producer_id"]) for row in markers] == [
        (15, "commit" if is_commit else "abort", 7)
    ]
    assert imbalances_of(lake) == []
