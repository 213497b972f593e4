"""A tier that is no source, on a disk without the broker's cache of remote indexes."""

import shutil
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.lakes import ingested, read_table, replayed
from support.tiers import LOCAL, TieredDisk, consumed, in_lake


def _gaps(lake: Path) -> set[tuple[str, int, int, int, str]]:
    return {
        (row["topic"], row["partition"], row["start_offset"], row["next_offset"], row["cause"])
        for row in read_table(lake, "gaps")
        if not row["topic"].startswith("__")
    }


def _without_cache(disk: TieredDisk) -> TieredDisk:
    shutil.rmtree(disk.data / "remote-log-index-cache")
    return disk


@pytest.mark.parametrize("has_log_starts", [True, False])
def test_events_on_the_disk_show_that_a_tier_has_what_the_disk_lacks(
    has_log_starts: bool, disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    with_cache = lake.with_name("with_cache")
    ingested(disk.data, with_cache, isolation="read_committed")
    _without_cache(disk)
    if not has_log_starts:
        (disk.data / "log-start-offset-checkpoint").unlink()
    ingested(disk.data, lake, isolation="read_committed", engine=engine)
    assert "missing" not in {cause for *_, cause in _gaps(lake)}
    if has_log_starts:
        assert _gaps(lake) == _gaps(with_cache)
    else:
        of_plain = {gap for gap in _gaps(with_cache) if gap[0] == "plain"}
        assert {gap for gap in _gaps(lake) if gap[0] == "plain"} == of_plain
    replayed(lake, disk.remote)
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_events_in_the_lake_show_it_too(disk: TieredDisk, lake: Path) -> None:
    """The disk with the partitions of the events was ingested by an earlier run."""
    events = disk.data.parent / "events"
    events.mkdir()
    for path in disk.data.glob("__remote_log_metadata-*"):
        path.rename(events / path.name)
    for path in disk.data.glob("*-checkpoint"):
        shutil.copy(path, events)
    shutil.copy(disk.data / "meta.properties", events)
    _without_cache(disk)
    ingested(disk.data, lake.with_name("without"), isolation="read_committed")
    assert "missing" in {cause for *_, cause in _gaps(lake.with_name("without"))}
    ingested(events, lake, isolation="read_committed", select={"internal_topics": True})
    ingested(disk.data, lake, isolation="read_committed")
    assert {cause for *_, cause in _gaps(lake)} == {"remote", "deleted"}
    replayed(lake, disk.remote)
    assert in_lake(lake).items() >= consumed(LOCAL, "read_committed").items()
