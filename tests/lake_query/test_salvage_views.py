"""The view of salvaged records has those whose damage stands."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import falsified
from support.lakes import Row, ingested, read_table, replayed, retaken
from support.made_logs import make_log_dir, value_of

Ask = Callable[[Path, str], list[dict[str, object]]]
EDGES = {("orders", 0): [0, 20, 40]}
SALVAGED = "SELECT offset FROM current_salvaged_records ORDER BY offset"


def damaged_disk(folder: Path, broker_id: int = 1) -> Path:
    """Its batch of the offsets 35 to 39 has a flipped bit."""
    disk = make_log_dir(folder, EDGES, broker_id=broker_id)
    log = disk / "orders-0" / f"{20:020}.log"
    content = bytearray(log.read_bytes())
    content[content.index(value_of("orders", 0, 38))] ^= 1
    log.write_bytes(content)
    return disk


@pytest.fixture
def salvaged(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake, read={"salvage": True})
    return lake


def offsets(ask: Ask, lake: Path) -> list[object]:
    return [row["offset"] for row in ask(lake, SALVAGED)]


def test_salvaged_records_are_in_no_other_view(ask: Ask, salvaged: Path) -> None:
    assert offsets(ask, salvaged) == [*range(35, 40)]
    for view in ("current_records", "settled_records", "readable_records", "latest_records"):
        assert ask(salvaged, f"SELECT offset FROM {view} WHERE offset >= 35") == []


def resolved(rows: list[Row]) -> list[Row]:
    return [*rows, *({**row, "resolution": "sibling", "raw": None} for row in rows)]


def test_rows_leave_the_view_with_their_damage(ask: Ask, salvaged: Path) -> None:
    """Nothing came in their place: what a replica says of the offsets may be that they are gone."""
    falsified(salvaged, "quarantine", resolved)
    assert offsets(ask, salvaged) == []
    assert len(read_table(salvaged, "salvaged_records")) == 5


def test_damage_of_a_later_retake_counts_anew(ask: Ask, salvaged: Path, tmp_path: Path) -> None:
    """The commit that resolved the damage of the first log resolves none that comes later."""
    whole = Selection(is_whole=True)
    retaken(salvaged, tmp_path / "disk", selection=whole, select={"topics": ["orders"]})
    assert offsets(ask, salvaged) == []
    replayed(salvaged, read={"salvage": True})
    assert offsets(ask, salvaged) == [*range(35, 40)]
    assert len(read_table(salvaged, "salvaged_records")) == 10


def test_a_lake_without_salvaged_records_has_the_view(ask: Ask, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    assert offsets(ask, lake) == []
