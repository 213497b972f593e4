"""Tiers in all settings, drawn at random: the lake has exactly what a consumer would get."""

import json
import random
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.audits import audited
from support.drawn_tiers import drawn_cluster
from support.lakes import ingested, replayed
from support.tiers import in_lake

_ISOLATIONS = ["read_committed", "read_uncommitted"]


@pytest.mark.parametrize("number", range(6))
def test_a_disk_and_its_tier_are_the_log_of_a_consumer(
    number: int, tmp_path: Path, engine: Engine, lake: Path
) -> None:
    drawn = drawn_cluster(random.Random(f"both/{number}"), tmp_path)
    isolation = _ISOLATIONS[number % 2]
    summary = ingested(
        drawn.sources,
        lake,
        isolation=isolation,
        engine=engine,
        tiered=drawn.settings,
        read=drawn.read,
    )
    assert in_lake(lake) == drawn.rows(isolation), drawn.facts
    assert summary.exit_code == 0, drawn.facts
    again = ingested(drawn.sources, lake, isolation=isolation, engine=engine, read=drawn.read)
    assert json.loads(again.to_json())["records"] == 0
    assert audited(lake).exit_code == 0, drawn.facts


@pytest.mark.parametrize("number", range(6))
def test_a_disk_first_and_its_tier_later_come_to_the_same(
    number: int, tmp_path: Path, lake: Path
) -> None:
    drawn = drawn_cluster(random.Random(f"replay/{number}"), tmp_path)
    isolation = _ISOLATIONS[number % 2]
    ingested(drawn.disks, lake, isolation=isolation, read=drawn.read)
    replayed(lake, *drawn.sources, tiered=drawn.settings, read=drawn.read)
    assert in_lake(lake) == drawn.rows(isolation), drawn.facts
    assert audited(lake).exit_code == 0, drawn.facts


def test_a_tier_brings_what_a_cleaned_follower_had_and_could_not_settle(
    tmp_path: Path, lake: Path
) -> None:
    drawn = drawn_cluster(random.Random("replay/219"), tmp_path)
    ingested(drawn.disks, lake, isolation="read_uncommitted", read=drawn.read)
    replayed(lake, *drawn.sources, tiered=drawn.settings, read=drawn.read)
    assert in_lake(lake) == drawn.rows("read_uncommitted"), drawn.facts


@pytest.mark.parametrize("number", [*range(7), 207])  # 207 ends in a hole of the cleaner
def test_a_tier_alone_is_the_log_up_to_its_end(number: int, tmp_path: Path, lake: Path) -> None:
    chance = random.Random(f"alone/{number}")
    drawn = drawn_cluster(chance, tmp_path, is_plain=True)
    isolation, source = _ISOLATIONS[number % 2], {"source_id": "c"}
    tier, read = drawn.tier, dict[str, str]()
    if not tier:
        return
    if drawn.facts["layout"] == "pinterest":
        # Without a high watermark, records after an open transaction are ingested, too.
        isolation, read = "read_uncommitted", {"upper_bound": "log_end"}
    ingested(tier, lake, isolation=isolation, source=source, tiered=drawn.settings, read=read)
    assert in_lake(lake) == drawn.rows(isolation, of_tier=True), drawn.facts


def test_the_newest_object_that_a_tier_alone_has_lost_is_named(tmp_path: Path, lake: Path) -> None:
    """Its manifest is there, and shows that the log goes on."""
    chance, lasts = random.Random("lost"), list[Path]()
    while len(lasts) != 1:  # another upload may have the same offsets
        drawn = drawn_cluster(chance, tmp_path / str(chance.random()), is_plain=True)
        first = drawn.logs[0].topic
        end = drawn.tiered[first][1]
        found = [path for tier in drawn.tier for path in tier.rglob(f"*{first}-*/0/*.rsm-manifest")]
        lasts = [path for path in found if f'"endOffset": {end - 1},' in path.read_text()]
    newest = lasts[0].with_suffix(".log")
    newest.rename(newest.with_suffix(".gone"))
    source = {"source_id": "c"}
    ingested(drawn.tier, lake, source=source, tiered=drawn.settings)
    for _ in range(2):
        summary = ingested(drawn.tier, lake, source=source, tiered=drawn.settings)
        assert summary.exit_code == 3
        assert f"the objects of the tier says {end}" in summary.to_text()
    newest.with_suffix(".gone").rename(newest)
    assert ingested(drawn.tier, lake, source=source, tiered=drawn.settings).exit_code == 0
