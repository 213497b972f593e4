"""An audit proves that each salvaged row belongs to damage that the lake has, and comes once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.audits import audited, falsified
from support.lakes import Row, ingested, replayed
from support.made_logs import make_log_dir, value_of

EDGES = {("orders", 0): [0, 20, 40]}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Five records of a damaged batch are salvaged."""
    disk = make_log_dir(tmp_path / "disk", EDGES, broker_id=1)
    log = disk / "orders-0" / f"{20:020}.log"
    content = bytearray(log.read_bytes())
    content[content.index(value_of("orders", 0, 38))] ^= 1
    log.write_bytes(content)
    made = tmp_path / "lake"
    ingested(disk, made, read={"salvage": True})
    return made


def test_salvaged_records_are_counted_and_in_no_other_sum(lake: Path) -> None:
    audit = audited(lake)
    assert audit.salvaged == (5, 1)
    assert audit.problem_count == 0
    assert sum(partition.totals.records for partition in audit.partitions) == 35


def test_records_that_were_filled_since_are_not_counted(lake: Path, tmp_path: Path) -> None:
    replayed(lake, make_log_dir(tmp_path / "two", EDGES, broker_id=2))
    audit = audited(lake)
    assert (audit.salvaged, audit.problem_count) == ((0, 0), 0)


def moved(**values: object) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{**row, **values} for row in rows]


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("salvaged_records", lambda rows: [*rows, rows[0]], "salvaged more than once"),
        ("salvaged_records", moved(generation=9), "without a row in quarantine"),
        ("salvaged_records", moved(raw_sha256="0" * 64), "without a row in quarantine"),
        ("salvaged_records", moved(position=1), "without a row in quarantine"),
        ("salvaged_records", moved(offset=34), "at offsets that neighbouring valid batches"),
        ("salvaged_records", moved(offset=34), "salvaged more than once"),
        ("quarantine", moved(next_offset=37), "at offsets that neighbouring valid batches"),
        ("quarantine", moved(defect_code="bad_length"), "without a row in quarantine"),
    ],
)
def test_rows_that_do_not_belong_to_their_damage_are_a_problem(
    table: str, change: Callable[[list[Row]], list[Row]], words: str, lake: Path
) -> None:
    falsified(lake, table, change)
    audit = audited(lake)
    assert any(words in text and "orders-0" in text for text in audit.problems), audit.problems
    assert audit.exit_code == 3


def test_gone_file_of_the_table_is_a_problem(lake: Path) -> None:
    for file in (lake / "salvaged_records").glob("*.parquet"):
        file.unlink()
    (text,) = audited(lake).problems
    assert "salvaged_records" in text
