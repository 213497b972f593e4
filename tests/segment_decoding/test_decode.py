"""Partitions whose files are not what was planned when they are decoded."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.accounts import imbalances_of
from support.ingest_drivers import WAVES
from support.lakes import Sections, ingested
from support.made_logs import made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.taken import records_taken
from support.three_logs import EDGES, VALUE_BYTES, all_records, orders_segment


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _grown(path: Path) -> None:
    """As by a cleaner that puts two segments into one."""
    path.write_bytes(path.read_bytes() + path.read_bytes()[-100:])


def _replaced(path: Path) -> None:
    """Another log under the same name, of the same length."""
    content = bytearray(path.read_bytes())
    content[17] ^= 0xFF
    path.write_bytes(content)


_CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "goes": (lambda source: orders_segment(source, 40).unlink(), "no such file"),
    "shrinks": (lambda source: _cut(orders_segment(source, 40)), "when it was listed"),
    "grows": (lambda source: _grown(orders_segment(source, 40)), "when it was listed"),
    "folder_goes": (lambda source: shutil.rmtree(source / "orders-0"), "no such file"),
    "is_another": (lambda source: _replaced(orders_segment(source, 0)), "changed"),
    "is_another_in_the_middle": (lambda source: _replaced(orders_segment(source, 40)), "changed"),
}


@pytest.mark.parametrize(
    ("change", "sections"),
    [
        *((change, {}) for change in _CHANGES),
        ("goes", WAVES),
        pytest.param("shrinks", WAVES, marks=pytest.mark.matrix),
        ("is_another_in_the_middle", {"read": {"decoded_bytes": 1}}),  # rows of it are written
    ],
)
def test_a_partition_that_changes_after_the_plan_is_left_out_and_taken_later(
    change: str, sections: Sections, source: Path, tmp_path: Path
) -> None:
    happens, reason = _CHANGES[change]
    whole, lake = tmp_path / "whole", tmp_path / "lake"
    shutil.copytree(source, whole)
    changes = once(lambda: happens(source))
    summary = ingested(source, lake, engine=Meanwhile(changes), **sections)
    assert summary.exit_code == 3
    assert list(summary.left_out) == ["orders-0"]
    assert reason in summary.left_out["orders-0"]
    assert str(source / "orders-0") in summary.left_out["orders-0"]
    others = [made for made in all_records() if made[:2] != ("orders", 0)]
    assert [made for made in records_taken(lake) if made[:2] != ("orders", 0)] == others
    assert imbalances_of(lake) == []

    shutil.rmtree(source)
    shutil.copytree(whole, source)
    again = ingested(source, lake, **sections)
    assert again.exit_code == 0
    assert records_taken(lake) == all_records()
    assert imbalances_of(lake) == []


def test_a_log_that_grows_after_the_plan_is_taken_as_far_as_planned(
    source: Path, tmp_path: Path
) -> None:
    edges = {**EDGES, ("orders", 0): [0, 40, 80, 150]}
    grown = make_log_dir(tmp_path / "grown", edges, value_bytes=VALUE_BYTES)
    lake = tmp_path / "lake"

    def grow() -> None:
        shutil.copytree(grown, source, dirs_exist_ok=True)

    summary = ingested(source, lake, engine=Meanwhile(grow))
    assert summary.exit_code == 0
    assert records_taken(lake) == all_records()
    second = ingested(source, lake)
    assert second.records == 30
    ranges = {key: range(stops[-1]) for key, stops in edges.items()}
    assert records_taken(lake) == made_records(ranges, value_bytes=VALUE_BYTES)
    assert imbalances_of(lake) == []
