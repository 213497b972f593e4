"""Observations as rows, and the newest of each partition back from them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seglake.kafka_log.observation import LeftRange, Observation, StoppedBy
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables import observation_rows as observation_rows_module
from seglake.log_tables.observation_rows import (
    NewestPlaces,
    append_observations,
    newest_observations,
)
from seglake.log_tables.source_ledger import SourceLedger
from support.lake_rows import Lake, new_lake
from support.planned import ledger_covering

_T0 = datetime(2026, 11, 1, tzinfo=UTC)
_SOURCE = "cluster"
_KEYS = [PartitionKey("orders", number, "id") for number in range(3)]
_NOTHING = SourceLedger()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return new_lake(tmp_path / "lake")


def _seen(key: PartitionKey, hours: int, log_end: int) -> Observation:
    return Observation(
        key=key,
        broker_id=1,
        log_start_offset=0,
        high_watermark=10,
        last_stable_offset=9,
        log_end_offset=log_end,
        next_offset=9,
        stopped_by=StoppedBy.OPEN_TRANSACTION,
        detail="said",
        not_ingested=(LeftRange("why", 9, log_end), LeftRange("also", log_end, log_end)),
        first_log_end_offset=9,
        waiting_since=_T0,
        listing="high_watermark 1:10:0",
        observed_at=_T0 + timedelta(hours=hours),
        run_id="run",
    )


def _record(lake: Lake, *seen: Observation, source_id: str = _SOURCE) -> None:
    places = NewestPlaces(max(each.observed_at for each in seen))
    append_observations(lake.tables, seen, places, source_id=source_id, run_id="run")


def test_what_was_seen_comes_back_as_it_was(lake: Lake) -> None:
    whole = _seen(_KEYS[0], 1, 20)
    bare = Observation(
        key=_KEYS[1],
        broker_id=None,
        log_start_offset=None,
        high_watermark=None,
        stopped_by=StoppedBy.NO_SEGMENT,
        observed_at=_T0,
        run_id="run",
    )
    _record(lake, whole, bare)
    found = newest_observations(lake.tables, _SOURCE, _KEYS, _NOTHING)
    assert found.by_key == {_KEYS[0]: whole, _KEYS[1]: bare}


def test_the_newest_counts_and_no_more_files_are_read_than_that_takes(lake: Lake) -> None:
    _record(lake, *(_seen(key, 1, 20) for key in _KEYS))
    _record(lake, _seen(_KEYS[0], 2, 30))
    _record(lake, _seen(_KEYS[1], 3, 40))
    found = newest_observations(lake.tables, _SOURCE, _KEYS[:2], _NOTHING)
    assert [found.by_key[key].log_end_offset for key in _KEYS[:2]] == [30, 40]
    assert (len(found.by_key), found.file_count) == (2, 2)
    assert newest_observations(lake.tables, _SOURCE, _KEYS, _NOTHING).file_count == 3
    assert newest_observations(lake.tables, _SOURCE, [], _NOTHING).file_count == 0


def test_another_cluster_has_partitions_of_its_own(lake: Lake) -> None:
    _record(lake, _seen(_KEYS[0], 2, 99), source_id="another")
    _record(lake, _seen(_KEYS[0], 1, 20))
    found = newest_observations(lake.tables, _SOURCE, _KEYS, _NOTHING).by_key
    assert found[_KEYS[0]].log_end_offset == 20


def test_a_topic_that_was_made_again_was_seen_as_another(lake: Lake) -> None:
    again = _KEYS[0]._replace(topic_id="id2")
    _record(lake, _seen(again, 2, 5))
    _record(lake, _seen(_KEYS[0], 1, 20))
    found = newest_observations(lake.tables, _SOURCE, [_KEYS[0], again], _NOTHING).by_key
    assert [found[key].log_end_offset for key in (_KEYS[0], again)] == [20, 5]


def test_a_row_from_before_the_id_was_known_belongs_to_the_first_id(lake: Lake) -> None:
    _record(lake, replace(_seen(_KEYS[0], 1, 20), key=_KEYS[0]._replace(topic_id=None)))
    ledger = ledger_covering(_KEYS[0], (0, 9))
    found = newest_observations(lake.tables, _SOURCE, _KEYS, ledger).by_key
    assert list(found) == [_KEYS[0]]


def test_the_newest_row_of_a_file_counts_in_whatever_order_they_lie(lake: Lake) -> None:
    _record(lake, _seen(_KEYS[0], 2, 30), _seen(_KEYS[0], 3, 40), _seen(_KEYS[0], 1, 20))
    found = newest_observations(lake.tables, _SOURCE, _KEYS[:1], _NOTHING).by_key
    assert found[_KEYS[0]].log_end_offset == 40


def test_only_what_was_ingested_is_looked_for_far_back(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation_rows_module, "_FAR_BACK_FILES", 2)
    for hours in range(5):
        _record(lake, _seen(_KEYS[hours > 0], hours, 20 + hours))
    first, often, new = _KEYS
    ingested = ledger_covering(first, (0, 9))
    for ledger, file_count in ((ingested, 5), (_NOTHING, 2)):
        found = newest_observations(lake.tables, _SOURCE, [first, often, new], ledger)
        assert found.file_count == file_count
        assert (first in found.by_key) == (ledger is ingested)
        assert found.by_key[often].log_end_offset == 24
