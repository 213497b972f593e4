"""How far a partition was ingested, as the ledger says."""

from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_tables.partition_ledger import Frontier
from seglake.log_tables.source_ledger import SourceLedger


def _row(start: int, stop: int, last: int | None, **other: object) -> dict[str, object]:
    row = {
        "topic": "orders",
        "partition": 0,
        "topic_id": None,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": stop,
        "generation": start,
        "isolation": "read_committed",
        "leader_epoch": None if last is None else 3,
        "last_batch_base_offset": last,
        "last_batch_crc": None if last is None else last * 10,
    }
    return row | other


_KEY = PartitionKey("orders", 0, None)


def test_the_frontier_is_where_the_highest_batch_was_taken() -> None:
    rows = [_row(0, 10, 5), _row(40, 60, 45), _row(60, 80, None), _row(10, 40, 35)]
    assert SourceLedger(rows).of(_KEY).frontier == Frontier(80, LastBatch(45, 450, 3), False)
    newest = [_row(40, 60, 45, generation=1), _row(0, 40, 35, generation=2)]
    assert SourceLedger(newest).of(_KEY).frontier == Frontier(60, LastBatch(45, 450, 3), False)
    assert SourceLedger([_row(0, 10, None)]).of(_KEY).frontier == Frontier(10, None, False)
    assert SourceLedger([_row(0, 10, 5, kind="repair")]).of(_KEY).frontier is None
    assert SourceLedger(rows).of(_KEY._replace(partition=1)).frontier is None


def test_the_frontier_tells_whether_the_ledger_names_the_topic() -> None:
    named = _KEY._replace(topic_id="a")
    rows = [_row(0, 10, 5), _row(10, 20, 15, topic_id="a"), _row(0, 30, 25, topic_id="b")]
    assert SourceLedger(rows).of(named).frontier == Frontier(20, LastBatch(15, 150, 3), True)
    assert SourceLedger(rows[:1]).of(named).frontier == Frontier(10, LastBatch(5, 50, 3), False)
    other = _row(0, 20, 15, topic_id="a", partition=1)
    assert SourceLedger([rows[0], other]).of(_KEY._replace(topic_id="b")).frontier is None


def test_an_election_takes_away_only_what_came_before_it_and_lies_in_it() -> None:
    kinds = {3: "superseded", 4: "retake"}
    rows = [_row(4, 8, None, kind=kind, generation=number) for number, kind in kinds.items()]
    log = SourceLedger(rows).of(_KEY)
    places = [(offset, generation) for offset in range(10) for generation in range(6)]
    lost = {place for place in places if not log.is_current(*place)}
    assert lost == {(offset, generation) for offset in range(4, 8) for generation in range(3)}
