"""Partitions of the ledger's rows, and what they cover."""

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.log_tables.source_ledger import SourceLedger
from support.planned import KEY


def _row(start: int, stop: int, topic_id: str | None, generation: int = 1) -> dict[str, object]:
    return {
        "topic": KEY.topic,
        "partition": KEY.partition,
        "topic_id": topic_id,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": stop,
        "isolation": "read_committed",
        "generation": generation,
    }


def test_ledger_row_without_an_id_belongs_to_the_first_id_seen() -> None:
    ledger = SourceLedger([_row(0, 5, None, 1), _row(5, 9, "first", 2), _row(0, 3, "second", 3)])
    assert ledger.of(KEY._replace(topic_id="first")).covered == [(0, 9)]
    assert ledger.of(KEY._replace(topic_id="second")).covered == [(0, 3)]
    assert ledger.of(KEY._replace(topic_id="third")).covered == []
    assert ledger.latest_key(KEY.topic, KEY.partition).topic_id == "second"


def test_ledger_row_without_any_id_belongs_to_the_one_that_asks() -> None:
    ledger = SourceLedger([_row(0, 5, None)])
    assert ledger.of(KEY).covered == [(0, 5)]
    assert ledger.of(KEY._replace(topic_id="new")).covered == [(0, 5)]
    assert ledger.latest_key(KEY.topic, KEY.partition).topic_id is None


def test_repair_ranges_cover_nothing_anew() -> None:
    ledger = SourceLedger([_row(0, 5, "id"), _row(2, 9, "id", 2) | {"kind": "repair"}])
    assert ledger.of(KEY._replace(topic_id="id")).covered == [(0, 5)]


def test_the_first_isolation_of_a_topic_is_the_one_that_counts() -> None:
    rows = [_row(5, 9, None, 2) | {"isolation": "read_uncommitted"}, _row(0, 5, None, 1)]
    assert SourceLedger(rows).isolations.get(KEY.topic) == "read_committed"
    assert SourceLedger(rows).isolations.get("other") is None


def test_what_a_generation_brought_counts_up_to_the_election_that_it_lies_in_or_below() -> None:
    elections = [_election(20, 40, 2, 3), _election(10, 30, 4, None), _election(50, 60, 5, 7)]
    ledger = SourceLedger([_row(0, 60, None), *elections])
    until = {
        (offset, generation): ledger.of(KEY).counts_until(offset, generation)
        for offset in (25, 35, 45)
        for generation in (1, 2, 4)
    }
    assert until == {
        (25, 1): 10,
        (25, 2): 10,
        (25, 4): 50,
        (35, 1): 20,
        (35, 2): 50,
        (35, 4): 50,
        (45, 1): 50,
        (45, 2): 50,
        (45, 4): 50,
    }
    assert ledger.of(KEY).counts_until(60, 1) == OPEN_END
    assert [ledger.of(KEY).won_from(epoch) for epoch in (-1, 2, 3, 7)] == [20, 20, 50, OPEN_END]


def _election(
    start: int, stop: int, generation: int, leader_epoch: int | None
) -> dict[str, object]:
    row = _row(start, stop, None, generation)
    return row | {"kind": "superseded", "leader_epoch": leader_epoch}
