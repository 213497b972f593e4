"""Partitions in the order in which somebody should look at them."""

from pathlib import Path

from seglake.pipelines.lake_report.model import Level, OffsetState
from support.reports import reported
from support.wide_lake import write_wide_lake


def test_most_urgent_need_comes_first_then_the_most_lost_offsets_then_names(
    tmp_path: Path,
) -> None:
    write_wide_lake(tmp_path, 1500)
    found = reported(tmp_path).partitions
    levels = [each.level for each in found]
    assert levels == sorted(levels, reverse=True)
    assert set(levels) == set(Level)
    look = [each for each in found if each.level is Level.LOOK]
    needs = [each.findings[0].rank for each in look]
    assert needs == sorted(needs)
    missing = [each.count(OffsetState.MISSING) for each in look]
    assert missing == sorted(missing, reverse=True)
    fine = [(each.key.topic, each.key.partition) for each in found if each.level is Level.FINE]
    assert fine == sorted(fine)
