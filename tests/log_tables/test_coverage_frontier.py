"""How far a partition was ingested, as the ledger says."""

from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_tables.coverage import Coverage, Frontier


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
    assert Coverage(rows).frontier(_KEY) == Frontier(80, LastBatch(45, 450, 3), False)
    newest = [_row(40, 60, 45, generation=1), _row(0, 40, 35, generation=2)]
    assert Coverage(newest).frontier(_KEY) == Frontier(60, LastBatch(45, 450, 3), False)
    assert Coverage([_row(0, 10, None)]).frontier(_KEY) == Frontier(10, None, False)
    assert Coverage([_row(0, 10, 5, kind="repair")]).frontier(_KEY) is None
    assert Coverage(rows).frontier(_KEY._replace(partition=1)) is None


def test_the_frontier_tells_whether_the_ledger_names_the_topic() -> None:
    named = _KEY._replace(topic_id="a")
    rows = [_row(0, 10, 5), _row(10, 20, 15, topic_id="a"), _row(0, 30, 25, topic_id="b")]
    assert Coverage(rows).frontier(named) == Frontier(20, LastBatch(15, 150, 3), True)
    assert Coverage(rows[:1]).frontier(named) == Frontier(10, LastBatch(5, 50, 3), False)
    other = _row(0, 20, 15, topic_id="a", partition=1)
    assert Coverage([rows[0], other]).frontier(_KEY._replace(topic_id="b")) is None
