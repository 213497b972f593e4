"""Partitions that the metadata log names and no disk has are named by ingest, audit and report."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.pipelines.lake_report.model import Level
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.broker_disks import log_dir
from support.lakes import ingested
from support.reports import reported

_WITH_INTERNAL = {"internal_topics": True}
_CHECKPOINTS = ("replication-offset-checkpoint", "recovery-point-offset-checkpoint")


def _without(folder: Path, names: Sequence[str]) -> Path:
    """The log dir of a broker whose other disk, with these partitions, is lost."""
    shutil.copytree(log_dir("11_kraft", "stopped"), folder)
    for name in names:
        shutil.rmtree(folder / name)
    lost = {tuple(name.rsplit("-", 1)) for name in names}
    for file in _CHECKPOINTS:
        version, _, *lines = (folder / file).read_text().splitlines()
        kept = [line for line in lines if tuple(line.split()[:2]) not in lost]
        (folder / file).write_text("\n".join([version, str(len(kept)), *kept]) + "\n")
    return folder


def _rescued(source: Path, lake: Path, engine: Engine | None = None) -> IngestSummary:
    read = {"upper_bound": "log_end"}
    return ingested(source, lake, engine=engine, select=_WITH_INTERNAL, read=read)


@pytest.fixture(scope="module")
def lost() -> list[str]:
    """Two user partitions, one with a sibling that stays, and one of Kafka's own."""
    names = sorted(path.name for path in log_dir("11_kraft", "stopped").glob("*-[1-9]"))
    users = [name for name in names if not name.startswith("__")]
    return [*users[:2], next(name for name in names if name.startswith("__consumer_offsets"))]


def test_a_partition_that_only_the_metadata_log_names_is_not_recovered(
    tmp_path: Path, engine: Engine, lost: list[str]
) -> None:
    lake = tmp_path / "lake"
    run = _rescued(_without(tmp_path / "disk", lost), lake, engine)
    assert run.exit_code == 3
    assert sorted(found.place for found in run.findings.of(FindingKind.NAMED_ONLY)) == sorted(lost)
    named = "NOT recovered: an unknown number of offsets of partitions that only the metadata log"
    assert named in run.to_text()
    audit, report = audited(lake), reported(lake)
    (problem,) = audit.problems
    count = f"{len(lost)} partitions that only the metadata log names"
    assert problem == f"not on disk: {count}: {', '.join(sorted(lost))}"
    for recovery in (run.recovery, audit.recovery, report.recovery):
        assert sorted(recovery.lost[Loss.NAMED_ONLY]) == sorted(lost)
        assert recovery.unread == ()
    assert "of partitions that only the metadata log names" in report.headline
    assert report.level is Level.LOOK


def test_it_is_named_once_and_until_a_disk_brings_it(tmp_path: Path, lost: list[str]) -> None:
    lake = tmp_path / "lake"
    disk = _without(tmp_path / "disk", lost)
    assert _rescued(disk, lake).exit_code == 3
    again = _rescued(disk, lake)
    assert (again.exit_code, sorted(again.recovery.lost[Loss.NAMED_ONLY])) == (0, sorted(lost))
    ingested(disk, lake)  # without the internal topics
    assert len(audited(lake).problems) == 1
    second = tmp_path / "second"
    second.mkdir()
    whole = log_dir("11_kraft", "stopped")
    shutil.copy(whole / "meta.properties", second)
    shutil.copytree(whole / lost[0], second / lost[0])
    ingested(second, lake, read={"upper_bound": "log_end"})
    assert lost[0] not in audited(lake).problems[0]
    _rescued(whole, lake)
    assert Loss.NAMED_ONLY not in reported(lake).recovery.lost
    assert audited(lake).recovery.lost == {}


def test_what_is_deleted_left_out_or_there_is_not_named(tmp_path: Path, lost: list[str]) -> None:
    whole = log_dir("11_kraft", "stopped")  # where topics were deleted and made again
    run = _rescued(whole, tmp_path / "lake")
    assert Loss.NAMED_ONLY not in run.recovery.lost
    topics = ["!" + name.rsplit("-", 1)[0] for name in lost]
    disk = _without(tmp_path / "disk", lost)
    chosen = {"internal_topics": True, "topics": [*dict.fromkeys(topics)]}
    run = ingested(disk, tmp_path / "chosen", select=chosen, read={"upper_bound": "log_end"})
    assert Loss.NAMED_ONLY not in run.recovery.lost
