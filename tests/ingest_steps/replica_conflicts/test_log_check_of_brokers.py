"""Disks of real brokers without topic ids: older copies, and topics that were made again."""

import shutil
from pathlib import Path

from seglake.findings.kinds import FindingKind
from support import broker_disks
from support.accounts import imbalances_of
from support.lakes import ingested
from support.taken import is_nothing_new, offsets_taken


def _without_ids(disk: Path, data: Path) -> Path:
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(disk, data)
    for path in data.glob("*/partition.metadata"):
        path.unlink()
    return data


def test_a_real_disk_from_before_the_cleaner_is_an_older_copy(data: Path, lake: Path) -> None:
    after, before = (broker_disks.log_dir("05_compacted", copy) for copy in ("after", "before"))
    assert ingested(_without_ids(after, data), lake).exit_code == 0
    (data / "cleaner-offset-checkpoint").unlink()
    summary = ingested(_without_ids(before, data), lake)
    assert is_nothing_new(summary)
    (note,) = (note for note in summary.notes if "older or lagging replicas" in note)
    assert note.startswith("10 partitions end below what the lake covers")


def test_a_real_topic_that_was_made_again_without_an_id_is_refused(data: Path, lake: Path) -> None:
    disk, topic = broker_disks.log_dir("07_delete_records", "stopped"), "dr-recreated"
    old = data.with_name("old")
    (deleted,) = disk.glob(f"{topic}-0.*-delete")
    shutil.copytree(deleted, old / f"{topic}-0")
    shutil.copy(disk / "meta.properties", old)
    taken = ingested(_without_ids(old, data), lake).records
    assert taken > 8
    summary = ingested(_without_ids(disk, data), lake)
    assert (summary.exit_code, list(summary.findings.reasons(FindingKind.REFUSED))) == (
        3,
        [f"{topic}-0"],
    )
    assert len(offsets_taken(lake, topic)) == taken
    assert offsets_taken(lake, "dr-mid")
    assert imbalances_of(lake) == []
