"""Quarantine, data files and logs of tables that were changed or lost: the audit says so."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, falsified, kinds
from support.lakes import ingested, read_table
from support.made_logs import make_log_dir


def test_damage_that_is_no_longer_in_quarantine_is_missed(damaged: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    falsified(lake, "quarantine", lambda rows: [])
    found = audited(lake)
    assert kinds(found) == {"no_evidence", "bytes"}
    assert "quarantined_batches: 1 in the ledger, 0 in quarantine" in to_text(found)


def test_damage_that_is_resolved_explains_no_gap_and_is_counted_once(
    damaged: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    falsified(lake, "quarantine", lambda rows: [*rows, rows[0] | {"resolution": "sibling"}])
    found = audited(lake)
    assert kinds(found) == {"no_evidence"}
    (partition,) = found.partitions
    assert (partition.quarantine.spans, partition.quarantine.resolved) == (1, 1)


def test_the_damage_of_another_copy_is_not_counted(damaged: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    conflict = {"defect_code": "replica_conflict", "position": 17}
    falsified(lake, "quarantine", lambda rows: [*rows, rows[0] | conflict])
    (found,) = audited(lake).partitions
    assert (found.problems, found.quarantine.spans) == ((), 1)
    assert found.quarantine.by_code["replica_conflict"].spans == 1


def test_a_data_file_that_is_gone_is_named(lake: Path) -> None:
    (gone,) = (lake / "records").rglob("*.parquet")
    gone.unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems == (f"cannot open {gone}: no such file or folder",)


def test_a_data_file_that_is_no_parquet_is_named(lake: Path) -> None:
    (broken,) = (lake / "gaps").rglob("*.parquet")
    broken.write_bytes(b"PAR1 and no more")
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith(f"cannot read {broken}: ")


def _lie(lake: Path, table: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the log of a table says of its newest files."""
    log = sorted((lake / table / "_delta_log").glob("*.json"))[-1]
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            statistics = json.loads(action["add"]["stats"])
            change(statistics)
            action["add"]["stats"] = json.dumps(statistics)
    log.write_text("\n".join(map(json.dumps, actions)))


def test_rows_that_lying_statistics_hide_are_missed(lake: Path) -> None:
    _lie(lake, "records", lambda said: said["maxValues"].update(batch_base_offset=3))
    found = audited(lake, most_rows=20)
    assert found.exit_code == 3
    assert found.problems[0].startswith("records has 76 rows by the log of the table, and 0 are ")


@pytest.mark.parametrize("table", ["records", "batches", "quarantine", "gaps"])
def test_a_row_that_a_table_counts_and_no_file_has_is_missed(
    table: str, damaged: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    count = len(read_table(lake, table))
    _lie(lake, table, lambda said: said.update(numRecords=said["numRecords"] + 1))
    found = audited(lake)
    assert found.exit_code == 3
    assert [text.partition(" are found ")[0] for text in found.problems] == [
        f"{table} has {count + 1} rows by the log of the table, and {count}"
    ]


def test_a_last_table_that_is_two_commits_behind_is_no_unfinished_commit(tmp_path: Path) -> None:
    """As the others are ahead in their order, only the distance tells."""
    data, lake = tmp_path / "data", tmp_path / "lake"
    for stop in (10, 20, 30):
        ingested(make_log_dir(data, {("orders", 0): [0, stop]}), lake)
    for _ in range(2):
        newest = DeltaTable(str(lake / "checkpoints")).version()
        (lake / "checkpoints" / "_delta_log" / f"{newest:020d}.json").unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith("orders: the tables cannot belong together")


def test_a_table_put_back_from_a_copy_is_said(lake: Path, tmp_path: Path) -> None:
    older = DeltaTable(str(lake / "batches")).version()
    (lake / "batches" / "_delta_log" / f"{older:020d}.json").unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith(
        "cmp-v2: the tables cannot belong together, their generations are records 1, batches 0"
    )
