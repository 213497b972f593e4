"""The events of `__remote_log_metadata` say which objects of a tier are part of the log."""

import shutil
import uuid
from pathlib import Path

import pytest

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
from support.lakes import ingested
from support.tiers import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    LOCAL,
    Place,
    TieredDisk,
    add_events,
    consumed,
    gaps_of,
    id_of,
    in_lake,
    new_id,
    raw_id,
    started,
    updated,
)


def test_a_finished_upload_without_its_object_is_a_gap_with_its_reason(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    gone, *_ = disk.place("zstd").objects()[1:]
    start = int(gone.name[:20])
    stop = int(disk.place("zstd").objects()[2].name[:20])
    kept = gone.read_bytes()
    gone.unlink()
    assert ingested(disk.sources, lake, isolation="read_committed", engine=engine).exit_code == 3
    reason = f"the tier has no object of segment {id_of(gone)}"
    assert gaps_of(lake, "zstd") == {(start, stop, "remote", reason)}
    gone.write_bytes(kept)
    assert ingested(disk.sources, lake, isolation="read_committed", engine=engine).exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_an_object_that_hides_the_end_of_a_transaction_is_named_while_offsets_wait(
    tmp_path: Path, lake: Path
) -> None:
    topic_id = uuid.uuid4()
    folder = tmp_path / "tier" / f"tx-0-{topic_id_text(topic_id)}"
    place, producer = Place("tx", 0, folder), Producer(7, 0, 0)
    first = record_batch(0, [Record(b"first")])
    begun = record_batch(1, [Record(b"k")], Header(producer=producer, is_transactional=True))
    ended = end_marker(2, ControlType.COMMIT, producer_id=7)
    last = record_batch(3, [Record(b"later")])
    folder.mkdir(parents=True)
    names = [new_id(), new_id(), new_id()]
    objects = [folder / f"{offset:020d}-{names[offset]}.log" for offset in (0, 1, 2)]
    values = []
    for offset, batch in enumerate((first, begun, ended)):
        objects[offset].write_bytes(batch.data)
        size = len(batch.data)
        values.append(started(place, names[offset], (offset, offset + 1), [(0, offset)], size))
        values.append(updated(place, names[offset], COPY_FINISHED))
    events = [record_batch(at, [Record(value=value)]) for at, value in enumerate(values)]
    partitions = [
        Partition("tx", 0, [Segment(3, [last])], topic_id=topic_id, log_start_offset=0),
        Partition("__remote_log_metadata", 0, [Segment(0, events)]),
    ]
    write_log_dir(tmp_path / "disk", partitions)
    objects[2].unlink()
    sources = [tmp_path / "disk", tmp_path / "tier"]
    for _ in range(2):
        summary = ingested(sources, lake, isolation="read_committed")
        assert summary.exit_code == 3
        reason = f"[2, 3): the tier has no object of segment {names[2]}"
        said = f"not ingested yet: tx-0: unreadable in the remote tier: {reason}"
        assert said in summary.to_text()
        audit = audited(lake)
        assert (audit.exit_code, audit.problems) == (3, (said,))
    objects[2].write_bytes(ended.data)
    assert ingested(sources, lake, isolation="read_committed").exit_code == 0
    assert audited(lake).exit_code == 0
    rows = [(row[0], row[2]) for row in in_lake(lake)["tx-0"]]
    assert rows == [(0, b"first"), (1, b"k"), (3, b"later")]


def test_an_upload_that_did_not_end_is_not_read(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    place = disk.place("plain")
    first, second = place.objects()[:2]
    orphan = new_id()
    shutil.copy(second, first.with_name(f"{first.name[:21]}{orphan}.log"))
    start, stop = int(first.name[:20]), int(second.name[:20])
    add_events(disk, id_of(first), started(place, orphan, (start, stop), [(0, start)]))
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 0
    assert (
        "plain-0: the tier has objects that are not read: 1 (unfinished upload)"
        in summary.to_text()
    )
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


@pytest.mark.parametrize("missing_bytes", [0, 1])
def test_an_upload_of_which_only_a_part_is_there_is_not_read(
    missing_bytes: int, disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    """The events end after the beginning of the upload, as on a disk that was copied then."""
    place = disk.place("plain")
    first, following = place.objects()[1:3]
    begun = new_id()
    offsets = int(first.name[:20]), int(following.name[:20])
    event = started(place, begun, offsets, [(0, offsets[0])], first.stat().st_size + missing_bytes)
    add_events(disk, id_of(first), event, *[updated(place, id_of(first), DELETE_STARTED)])
    for path in [*place.folder.glob(f"*{id_of(first)}*")]:
        path.rename(path.with_name(path.name.replace(id_of(first), begun)))
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    everything = consumed(LOCAL, "read_committed")
    if missing_bytes:
        assert summary.exit_code == 3
        assert "are not read: 1 (unfinished upload)" in summary.to_text()
        rows = everything["plain-0"]
        everything["plain-0"] = [row for row in rows if not offsets[0] <= row[0] < offsets[1]]
    else:
        assert summary.exit_code == 0
        assert "confirms the remote segments of plain-0" in summary.to_text()
    assert in_lake(lake) == everything


@pytest.mark.parametrize("last", [DELETE_STARTED, DELETE_FINISHED])
def test_what_the_cluster_deleted_is_read_only_on_demand(
    last: int, disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    place = disk.place("plain")
    first = place.objects()[0]
    stop = int(place.objects()[1].name[:20])
    states = range(DELETE_STARTED, last + 1)
    add_events(disk, id_of(first), *(updated(place, id_of(first), state) for state in states))
    checkpoint = disk.data / "log-start-offset-checkpoint"
    checkpoint.write_text(checkpoint.read_text().replace("plain 0 0", f"plain 0 {stop}"))
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 0
    assert gaps_of(lake, "plain") == {(0, stop, "deleted", None)}
    assert in_lake(lake)["plain-0"][0][0] == stop
    everything = lake.with_name("everything")
    ingested(
        disk.sources,
        everything,
        isolation="read_committed",
        engine=engine,
        tiered={"take_deleted": True},
    )
    assert in_lake(everything)["plain-0"] == consumed(LOCAL, "read_committed")["plain-0"]


def test_an_upload_of_a_deposed_leader_is_not_read(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    place = disk.place("plain")
    first, second = place.objects()[:2]
    other = new_id()
    start, stop = int(first.name[:20]), int(second.name[:20])
    shutil.copy(second, first.with_name(f"{first.name[:21]}{other}.log"))  # other records
    add_events(
        disk,
        id_of(first),
        started(place, other, (start, stop), [(1, start)]),
        updated(place, other, COPY_FINISHED),
    )
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_without_the_events_the_objects_are_ingested_and_noted(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    for folder in disk.data.glob("__remote_log_metadata-*"):
        shutil.rmtree(folder)
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert "and 2 more: the sources lack these events" in summary.to_text()
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_with_some_of_the_events_only_the_other_partitions_are_unconfirmed(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    known = b"".join(path.read_bytes() for path in disk.data.glob("__remote_log_metadata-0/*.log"))
    shutil.rmtree(disk.data / "__remote_log_metadata-1")
    notes = ingested(disk.sources, lake, isolation="read_committed", engine=engine).notes
    (note,) = [note for note in notes if "confirms the remote" in note]
    for name in consumed(LOCAL, "read_committed"):
        topic, _, partition = name.rpartition("-")
        first = disk.place(topic, int(partition)).objects()[-1]
        assert (name in note) == (raw_id(first) not in known)
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_an_object_whose_name_contradicts_its_events_is_not_read(
    disk: TieredDisk, lake: Path
) -> None:
    first = disk.place("zstd").objects()[0]
    for path in disk.place("zstd").folder.glob(f"*{id_of(first)}*"):
        path.rename(path.with_name(f"{7:020}{path.name[20:]}"))
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 3
    ((_, _, cause, detail),) = gaps_of(lake, "zstd")
    assert cause == "remote"
    assert detail is not None
    assert "should begin at offset 0" in detail


def _events(disk: TieredDisk) -> list[Path]:
    return [*disk.data.glob("__remote_log_metadata-*/*.log")]


def _batch_starts(data: bytes | bytearray) -> list[int]:
    starts = [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + 12 + int.from_bytes(data[starts[-1] + 8 : starts[-1] + 12]))
    return starts[:-1]


def test_objects_that_are_newer_than_the_events_of_an_old_disk_are_read(
    disk: TieredDisk, lake: Path
) -> None:
    for path in _events(disk):
        data = path.read_bytes()
        starts = _batch_starts(data)
        path.write_bytes(data[: starts[len(starts) // 2]])
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (disk.data / name).unlink()
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert "no event in __remote_log_metadata confirms the remote segments of" in summary.to_text()
    assert summary.exit_code == 0  # also of tx-0, whose first upload had only begun
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_events_are_read_from_all_copies_of_their_topic(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    """One copy lacks their end, the other one their beginning and a batch that both should have."""
    other = disk.data.with_name("data-2")
    shutil.copytree(disk.data, other)
    for name in ("meta.properties", *(f"{topic}-0" for topic in ("plain", "zstd", "tx"))):
        path = other / name
        if path.is_file():
            text = path.read_text().replace("node.id=1", "node.id=2")
            lines = text.splitlines(keepends=True)
            path.write_text("".join(line for line in lines if "directory.id" not in line))
        else:
            shutil.rmtree(path)
    for path in _events(disk):
        data = path.read_bytes()
        starts = _batch_starts(data)
        path.write_bytes(data[: starts[2 * len(starts) // 3]])
        (later,) = other.glob(f"{path.parent.name}/*.log")
        hurt = bytearray(data)
        hurt[starts[len(starts) // 2] + 70] ^= 1
        cut = starts[len(starts) // 3]
        first = int.from_bytes(data[cut : cut + 8])
        later.with_name(f"{first:020}.log").write_bytes(hurt[cut:])
        later.unlink()
    summary = ingested(
        [disk.data, other, disk.remote], lake, isolation="read_committed", engine=engine
    )
    assert summary.exit_code == 0
    assert "confirms the remote" not in summary.to_text()
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_damage_among_the_events_is_named(disk: TieredDisk, lake: Path) -> None:
    for path in _events(disk):
        data = bytearray(path.read_bytes())
        starts = _batch_starts(data)
        data[starts[len(starts) // 2] + 70] ^= 1
        path.write_bytes(data)
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 3
    reasons = {Path(name).name: why for name, why in summary.left_out.items()}
    for path in _events(disk):
        assert "events of uploads are missing at [" in reasons[path.parent.name]
