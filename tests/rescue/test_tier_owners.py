"""A tier of another cluster is not ingested as this one's, and nothing unproved passes as green."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seglake.log_dirs.errors import WrongSourceError
from seglake.task_engine.engine import Engine
from support.audits import audited, checked
from support.broker_disks import unpacked
from support.lakes import ingested, read_table, replayed
from support.tiers import (
    AIVEN,
    CLUSTER,
    KEYS,
    LOCAL,
    PLAIN,
    TIERS,
    TieredDisk,
    consumed,
    copied,
    in_lake,
    new_id,
)


def _unproved(summary: Any) -> list[str]:
    """The tiers that nothing proves to be the cluster's; Any: each command has its summary."""
    found = json.loads(summary.to_json())["findings"]
    return [each["place"] for each in found if each["kind"] == "unproved_tier"]


def _without_events(disk: Path) -> None:
    for folder in disk.glob("data/__remote_log_metadata-*"):
        shutil.rmtree(folder)


@pytest.mark.parametrize("tier", AIVEN)
def test_a_tier_of_another_cluster_beside_a_disk_is_left_out(
    tier: str, engine: Engine, lake: Path
) -> None:
    sources = [unpacked(LOCAL), unpacked(tier) / "remote"]
    summary = ingested(sources, lake, isolation="read_committed", engine=engine, tiered=KEYS)
    assert summary.exit_code == 3
    ((place, reason),) = summary.left_out.items()
    assert place.startswith(str(sources[1]))
    assert "is another cluster's tier: topic" in reason
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_the_tier_of_another_cluster_is_known_without_events(tmp_path: Path, lake: Path) -> None:
    disk = copied(LOCAL, tmp_path / "disk").folder
    _without_events(disk)
    summary = ingested([disk / "data", unpacked(PLAIN) / "remote"], lake)
    assert summary.exit_code == 3
    assert len(summary.left_out) == 1
    ids = {(row["topic"], row["topic_id"]) for row in read_table(lake, "records")}
    assert len(ids) == len({topic for topic, _ in ids})


@pytest.mark.parametrize("named", [{}, {"source": {"source_id": "dGllcmVkLWNsdXN0ZXItMQ"}}])
def test_the_tier_of_another_cluster_is_a_wrong_call_for_a_lake(
    named: dict[str, Any], lake: Path
) -> None:
    ingested(unpacked(LOCAL) / "data", lake)
    wrong = unpacked(PLAIN) / "remote"
    for call in (
        lambda: ingested(wrong, lake, **named),
        lambda: replayed(lake, wrong, **named),
        lambda: checked(wrong, lake),
    ):
        with pytest.raises(WrongSourceError, match="is another cluster's tier: topic"):
            call()


def test_a_lake_says_nothing_of_a_tier_without_its_topics(disk: TieredDisk, lake: Path) -> None:
    ingested(unpacked("12_tiered") / "disks", lake)
    for call in (lambda: ingested(disk.remote, lake), lambda: replayed(lake, disk.remote)):
        with pytest.raises(
            WrongSourceError, match="If the tier is the cluster's, give --source-id, too"
        ):
            call()


@pytest.mark.parametrize("tier", TIERS)
def test_the_first_ingest_of_an_unproved_tier_is_not_green(
    tier: str, engine: Engine, lake: Path
) -> None:
    remote = unpacked(tier) / "remote"

    def run(*, dry_run: bool = False) -> Any:
        return ingested(
            remote,
            lake,
            isolation="read_committed",
            engine=engine,
            dry_run=dry_run,
            source=CLUSTER,
            tiered=KEYS,
            select={"topics": ["plain"]},
        )

    for dry_run in (True, False):
        summary = run(dry_run=dry_run)
        assert summary.exit_code == 3
        assert len(_unproved(summary)) == 1
        assert f"only this call says that {_unproved(summary)[0]} is the" in summary.to_text()
    assert run().exit_code == 0


def test_a_disk_an_event_or_a_run_before_proves_a_tier(disk: TieredDisk, lake: Path) -> None:
    only: dict[str, Any] = {"select": {"topics": ["plain"]}}
    shutil.rmtree(disk.data / "plain-0")
    shutil.rmtree(disk.data / "plain-1")
    assert not _unproved(ingested(disk.sources, lake.with_name("events"), **only))
    _without_events(disk.data.parent)  # other topics are left on the disk
    assert not _unproved(ingested(disk.sources, lake.with_name("topics"), **only))
    ingested(disk.data, lake)
    assert not _unproved(ingested(disk.remote, lake, **only))


def test_a_tier_with_topics_that_no_disk_has_is_not_green(disk: TieredDisk, lake: Path) -> None:
    for folder in disk.data.glob("*-[01]"):
        if not folder.name.startswith("plain"):
            shutil.rmtree(folder)
    (tier,) = {path.parent for path in disk.remote.rglob("plain-*-*") if path.is_dir()}
    for folder in tier.glob("plain-*"):
        shutil.rmtree(folder)
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 3
    assert _unproved(summary) == [str(tier)]
    assert not _unproved(ingested(disk.sources, lake, isolation="read_committed"))


@pytest.mark.parametrize("has_events", [True, False])
def test_a_disk_without_topic_ids_is_one_log_with_its_tier(
    has_events: bool, disk: TieredDisk, lake: Path
) -> None:
    for path in disk.data.glob("*/partition.metadata"):
        path.unlink()
    if not has_events:
        _without_events(disk.data.parent)
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert bool(_unproved(summary)) != has_events
    assert in_lake(lake) == consumed(LOCAL, "read_committed")
    ids = {(row["topic"], row["topic_id"]) for row in read_table(lake, "records")}
    assert len(ids) == len({topic for topic, _ in ids})


def _made_again(tier: Path, topic: str, into: Path) -> Path:
    """Copy a topic of a tier with another id; return the folder of the copies."""
    other_id = new_id()
    for folder in tier.rglob(f"{topic}-?-{'?' * 22}"):
        shutil.copytree(folder, into / f"{folder.name[:-22]}{other_id}")
    return into


def test_a_topic_that_was_created_again_is_two_logs_and_noted(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    """As on brokers' disks: both come in."""
    _without_events(disk.data.parent)
    tier = disk.place("plain").folder.parent
    _made_again(tier, "plain", tier)
    dry = ingested(disk.sources, lake, isolation="read_committed", engine=engine, dry_run=True)
    said = [line for line in dry.to_text().splitlines() if "ingested: plain-0 of topic id" in line]
    assert len({*said}) == 2
    assert "would be ingested: zstd-0 [0, 2800) (" in dry.to_text()
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert "topic plain has 2 topic ids: it was created again" in summary.to_text()
    logs = Counter((row["topic"], row["topic_id"]) for row in read_table(lake, "records"))
    assert Counter(topic for topic, _ in logs)["plain"] == 2
    assert audited(lake).exit_code == 0


def test_two_prefixes_with_an_id_in_common_are_one_tier(disk: TieredDisk, lake: Path) -> None:
    """After a change of `key.prefix`, topics that go on have objects under both."""
    _without_events(disk.data.parent)
    shutil.rmtree(disk.data / "zstd-0")
    tier = disk.place("plain").folder.parent
    old = _made_again(tier, "plain", disk.remote / "old")
    zstd = disk.place("zstd").folder
    shutil.copytree(zstd, old / zstd.name)
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert not summary.left_out
    assert "topic plain has 2 topic ids: it was created again" in summary.to_text()
    everything = consumed(LOCAL, "read_committed")
    assert in_lake(lake)["zstd-0"] == everything["zstd-0"][: len(in_lake(lake)["zstd-0"])]


@pytest.mark.parametrize("with_disk", [True, False])
def test_prefixes_that_contradict_each_other_are_read_on_demand_only(
    with_disk: bool, disk: TieredDisk, lake: Path
) -> None:
    """They may be two clusters in one bucket, in whatever order they are given."""
    _without_events(disk.data.parent)
    tier = disk.place("plain").folder.parent
    old = _made_again(tier, "plain", disk.remote / "old")
    for folder in tier.iterdir():
        if not folder.name.startswith("plain"):
            shutil.rmtree(folder)

    def run(**tiered: bool) -> Any:
        sources = disk.sources if with_disk else [disk.remote]
        return ingested(sources, lake, source={} if with_disk else CLUSTER, tiered=tiered)

    said = "--set tiered.take_other_ids=true"
    if with_disk:
        (why,) = run().left_out.values()
        assert f"{old} is another cluster's tier" in why
        assert said in why
    else:
        with pytest.raises(WrongSourceError, match="are tiers of two clusters") as error:
            run()
        assert said in str(error.value)
    summary = run(take_other_ids=True)
    assert str(old) in _unproved(summary)
    assert "topic plain has 2 topic ids: it was created again" in summary.to_text()
    assert run().exit_code == 0  # the lake knows both by now
