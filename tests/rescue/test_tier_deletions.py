"""Offsets that only a tier had, and that the cluster deletes later, are not asked for any more."""

import shutil
import uuid
from pathlib import Path

from seglake.pipelines.lake_audit.text_report import to_text
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.encoder import (
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    topic_id_text,
    write_log_dir,
)
from support.lakes import ingested, replayed
from support.tiers import (
    DELETE_FINISHED,
    DELETE_STARTED,
    LOCAL,
    TieredDisk,
    add_events,
    consumed,
    gaps_of,
    id_of,
    in_lake,
    new_id,
    updated,
)


def _causes(lake: Path, topic: str) -> dict[str, list[tuple[int, int]]]:
    """The current gaps of partition 0 of a topic, by cause."""
    (found,) = [
        each
        for each in audited(lake).partitions
        if (each.partition.key.topic, each.partition.key.partition) == (topic, 0)
    ]
    return {cause: [*ranges.ranges] for cause, ranges in found.gaps.items()}


def _deleted(disk: TieredDisk, count: int) -> int:
    """Let the cluster delete the first uploads of plain-0; return the end of what they had."""
    place = disk.place("plain")
    gone = place.objects()[:count]
    end = int(place.objects()[count].name[:20])
    for path in gone:
        states = (DELETE_STARTED, DELETE_FINISHED)
        add_events(disk, id_of(path), *(updated(place, id_of(path), state) for state in states))
        for file in place.folder.glob(f"*{id_of(path)}*"):
            file.unlink()
    return end


def test_events_of_a_deletion_correct_the_gap_of_an_earlier_run(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    ingested(disk.data, lake, isolation="read_committed", engine=engine)
    (gap,) = _causes(lake, "plain")["remote"]
    end = _deleted(disk, 2)
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 0
    assert f"plain-0: the gaps [0, {end}) are now deleted instead of remote" in summary.to_text()
    assert 0 < end < gap[1]
    assert _causes(lake, "plain") == {"deleted": [(0, end)]}
    rows = consumed(LOCAL, "read_committed")["plain-0"]
    assert in_lake(lake)["plain-0"] == [row for row in rows if row[0] >= end]
    audit = audited(lake)
    assert (audit.exit_code, audit.recovery.lost) == (0, {})
    again = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert "not remote" not in again.to_text()


def test_a_log_start_that_rose_corrects_a_gap_below_it_and_keeps_the_rest(
    disk: TieredDisk, lake: Path
) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    ((_, end),) = _causes(lake, "plain")["remote"]
    starts = disk.data / "log-start-offset-checkpoint"
    starts.write_text(starts.read_text().replace("plain 0 0", "plain 0 300"))
    ingested(disk.data, lake, isolation="read_committed")
    assert _causes(lake, "plain") == {"deleted": [(0, 300)], "remote": [(300, end)]}
    old = lake.with_name("old")  # an older copy of the disk, by which nothing is deleted
    starts.write_text(starts.read_text().replace("plain 0 300", "plain 0 0"))
    shutil.copytree(lake, old)
    ingested(disk.data, old, isolation="read_committed")
    assert _causes(old, "plain") == {"deleted": [(0, 300)], "remote": [(300, end)]}


def test_a_tier_alone_that_begins_above_a_gap_leaves_open_who_deleted_it(
    disk: TieredDisk, lake: Path
) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    place = disk.place("plain")
    first = place.objects()[0]
    for file in place.folder.glob(f"*{id_of(first)}*"):
        file.rename(disk.data.parent / file.name)
    end = int(place.objects()[0].name[:20])
    assert f"[0, {end}) are now deleted_or_lost instead of remote" in "".join(
        finding.text for finding in replayed(lake, disk.remote).findings
    )
    assert _causes(lake, "plain") == {"deleted_or_lost": [(0, end)]}
    for file in disk.data.parent.glob(f"*{id_of(first)}*"):
        file.rename(place.folder / file.name)
    replayed(lake, disk.remote)
    assert in_lake(lake) == consumed(LOCAL, "read_committed")
    assert gaps_of(lake, "plain")


def test_the_log_start_of_an_audit_is_that_of_the_whole_log(disk: TieredDisk, lake: Path) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    local = int(min(disk.data.glob("plain-0/*.log")).name[:20])
    assert f"log start 0, first local offset {local}, high" in to_text(audited(lake))
    replayed(lake, *disk.sources)
    text = to_text(audited(lake))
    assert "first local offset" not in text
    assert f"log start {local}" not in text


def test_a_log_start_inside_a_batch_of_a_transaction_leaves_its_outcome_known(
    tmp_path: Path, lake: Path
) -> None:
    """The offsets of the batch below the log start are no hole in which a marker may have been."""
    topic_id, header = uuid.uuid4(), Header(producer=Producer(7, 0, 0), is_transactional=True)
    folder = tmp_path / "tier" / f"tx-0-{topic_id_text(topic_id)}"
    folder.mkdir(parents=True)
    of_transaction = record_batch(0, [Record(b"a"), Record(b"b"), Record(b"c")], header).data
    marker = end_marker(3, ControlType.COMMIT, producer_id=7).data
    (folder / f"{0:020d}-{new_id()}.log").write_bytes(of_transaction + marker)
    local = [Segment(4, [record_batch(4, [Record(b"d")])])]
    partition = Partition("tx", 0, local, topic_id=topic_id, log_start_offset=2)
    write_log_dir(tmp_path / "disk", [partition])
    (tmp_path / "disk" / "remote-log-index-cache").mkdir()
    ingested(tmp_path / "disk", lake, isolation="read_committed")
    assert _causes(lake, "tx") == {"deleted": [(0, 2)], "remote": [(2, 4)]}
    assert replayed(lake, tmp_path / "disk", tmp_path / "tier").exit_code == 0
    assert [(row[0], row[2]) for row in in_lake(lake)["tx-0"]] == [(2, b"c"), (4, b"d")]
