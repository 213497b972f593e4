"""Quarantine, data files and logs of tables that were changed or lost: the audit says so."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.audits import audited
from support.lakes import read_table


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
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith("records has 76 rows by its Delta log, but 0 are within")


@pytest.mark.parametrize("table", ["records", "batches", "quarantine", "gaps"])
def test_a_row_that_a_table_counts_and_no_file_has_is_missed(
    table: str, damaged: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    count = len(read_table(lake, table))
    _lie(lake, table, lambda said: said.update(numRecords=said["numRecords"] + 1))
    found = audited(lake)
    assert found.exit_code == 3
    assert [text.partition(" are within ")[0] for text in found.problems] == [
        f"{table} has {count + 1} rows by its Delta log, but {count}"
    ]


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
