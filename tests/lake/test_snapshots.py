"""What a snapshot says: files with their rows and bounds, and each topic's generation."""

from pathlib import Path

import pytest

from seglake.lake.app_versions import app_id
from seglake.lake.delta_commit import commit_wave
from seglake.lake.table_view import read_snapshots
from seglake.lake.tables import CHECKPOINTS, GAPS, RECORDS, Table
from support.lake_drivers import commit_after_the_first_table
from support.lake_rows import SOURCE, Lake, attempt_of, new_attempt, next_wave


def _commit(lake: Lake, topic: str, offsets: range) -> None:
    wave = next_wave(lake, topic, offsets)
    commit_wave(lake.tables, attempt_of(SOURCE, new_attempt()), [wave])


def test_a_snapshot_names_the_files_with_topic_rows_and_bounds(lake: Lake) -> None:
    _commit(lake, "orders", range(10, 20))
    _commit(lake, "payments", range(5))
    found = read_snapshots(lake.tables, [RECORDS, CHECKPOINTS])
    orders, payments = sorted(found["records"].files, key=lambda file: file.topic or "")
    assert (orders.topic, orders.row_count) == ("orders", 10)
    assert orders.bounds["offset"] == (10, 19)
    assert "timestamp" not in orders.bounds
    assert Path(payments.path).stat().st_size == payments.size_bytes
    assert [file.topic for file in found["checkpoints"].files] == [None, None]


@pytest.mark.parametrize("table", [RECORDS, GAPS, CHECKPOINTS])
def test_a_snapshot_knows_the_generation_of_each_topic(table: Table, lake: Lake) -> None:
    for _ in range(2):
        _commit(lake, "orders", range(10))
    snapshot = read_snapshots(lake.tables, [table])[table.name]
    assert snapshot.generation(app_id(SOURCE, "orders")) == 2
    assert snapshot.generation(app_id(SOURCE, "payments")) == 0
    assert snapshot.generation(app_id("another", "orders")) == 0


def test_snapshots_taken_while_someone_commits_cover_no_more_than_they_hold(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_after_the_first_table(lake, monkeypatch)
    found = read_snapshots(lake.tables, [RECORDS, CHECKPOINTS])
    assert found[RECORDS.name].generation(app_id(SOURCE, "orders")) == 1
    assert found[CHECKPOINTS.name].generation(app_id(SOURCE, "orders")) == 0
