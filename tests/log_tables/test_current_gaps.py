"""Which gaps still stand, and which of them a replica could fill."""

import pyarrow as pa
import pytest

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.current_gaps import CurrentGap, fillable_gaps, fillable_rows
from seglake.log_tables.source_ledger import SourceLedger

_KEY = PartitionKey("orders", 0, "id")


def _range(
    start: int, stop: int, attempt_id: str, kind: str = "ingest", generation: int = 1
) -> dict[str, object]:
    return {
        "topic": "orders",
        "partition": 0,
        "topic_id": "id",
        "kind": kind,
        "start_offset": start,
        "next_offset": stop,
        "generation": generation,
        "isolation": "read_committed",
        "attempt_id": attempt_id,
    }


def _gap(
    start: int,
    stop: int,
    attempt_id: str,
    cause: GapCause = GapCause.QUARANTINED,
    topic_id: str | None = "id",
) -> dict[str, object]:
    return {
        "topic_id": topic_id,
        "topic": "orders",
        "partition": 0,
        "start_offset": start,
        "next_offset": stop,
        "cause": cause,
        "attempt_id": attempt_id,
    }


def test_a_repair_states_anew_what_is_left_of_a_gap() -> None:
    ledger = SourceLedger(
        [_range(0, 50, "first"), _range(10, 20, "second", kind="repair", generation=2)]
    )
    rows = [_gap(30, 40, "first"), _gap(10, 20, "first"), _gap(15, 20, "second")]
    assert fillable_gaps(rows, ledger) == {
        _KEY: [
            CurrentGap(_KEY, 15, 20, GapCause.QUARANTINED),
            CurrentGap(_KEY, 30, 40, GapCause.QUARANTINED),
        ]
    }


def test_a_repair_that_filled_a_gap_leaves_none() -> None:
    ledger = SourceLedger(
        [_range(0, 50, "first"), _range(10, 20, "second", kind="repair", generation=2)]
    )
    assert fillable_gaps([_gap(10, 20, "first")], ledger) == {}


def test_a_gap_without_a_topic_id_is_of_the_first_that_is_known() -> None:
    ledger = SourceLedger([_range(0, 50, "first")])
    assert list(fillable_gaps([_gap(1, 2, "first", topic_id=None)], ledger)) == [_KEY]


@pytest.mark.parametrize("cause", GapCause)
def test_only_damage_and_open_transactions_are_evidence(cause: GapCause) -> None:
    gap = CurrentGap(_KEY, 0, 1, cause)
    evident = GapCause.QUARANTINED, GapCause.MARKER, GapCause.UNDECIDED
    assert gap.lacks_evidence == (cause not in evident)


def test_what_the_cleaner_took_is_left_out_of_rows_that_are_read() -> None:
    causes = [GapCause.COMPACTED, GapCause.MISSING, GapCause.COMPACTED, GapCause.DELETED]
    rows = [_gap(start, start + 1, "a", cause) for start, cause in enumerate(causes)]
    table = pa.Table.from_pylist([{**row, "cause": str(row["cause"])} for row in rows])
    assert [row["start_offset"] for row in fillable_rows(table)] == [1, 3]
    assert [row["start_offset"] for row in fillable_rows(table.slice(1, 1))] == [1]
    assert [*fillable_rows(table.slice(0, 1))] == []
