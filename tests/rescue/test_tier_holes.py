"""A disk lost a segment between others, in which a transaction ends; a tier may have it."""

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
from support.encoder.record import EncodedBatch
from support.lakes import ingested
from support.tiers import COPY_FINISHED, Place, in_lake, new_id, started, updated

Segments = list[tuple[int, list[EncodedBatch]]]

_ROWS = [(0, b"first"), (1, b"k"), (3, b"later"), (4, b"last")]


def _disk(tmp_path: Path, local: Segments, lost: list[int]) -> list[Path]:
    """Write a disk with these segments except the lost ones, and a tier with four segments."""
    topic_id = uuid.uuid4()
    folder = tmp_path / "tier" / f"tx-0-{topic_id_text(topic_id)}"
    folder.mkdir(parents=True)
    place, values = Place("tx", 0, folder), list[bytes]()
    for start, batch in enumerate(_batches()[:4]):
        name, size = new_id(), len(batch.data)
        (folder / f"{start:020d}-{name}.log").write_bytes(batch.data)
        values.append(started(place, name, (start, start + 1), [(0, start)], size))
        values.append(updated(place, name, COPY_FINISHED))
    events = [record_batch(at, [Record(value=value)]) for at, value in enumerate(values)]
    segments = [Segment(base, batches) for base, batches in local if base not in lost]
    partitions = [
        Partition("tx", 0, segments, topic_id=topic_id, log_start_offset=0),
        Partition("__remote_log_metadata", 0, [Segment(0, events)]),
    ]
    write_log_dir(tmp_path / "disk", partitions)
    return [tmp_path / "disk", tmp_path / "tier"]


def _batches() -> list[EncodedBatch]:
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    return [
        record_batch(0, [Record(b"first")]),
        record_batch(1, [Record(b"k")], header),
        end_marker(2, ControlType.COMMIT, producer_id=7),
        record_batch(3, [Record(b"later")]),
        record_batch(4, [Record(b"last")]),
    ]


def _rows(lake: Path) -> list[tuple[int, bytes | None]]:
    return [(row[0], row[2]) for row in in_lake(lake).get("tx-0", [])]


def _alone() -> Segments:
    return [(offset, [batch]) for offset, batch in enumerate(_batches())]


@pytest.mark.parametrize("lost", [[2], [2, 3], [1, 2, 3]])
def test_a_lost_segment_is_read_from_the_tier_though_a_transaction_ends_there(
    lost: list[int], tmp_path: Path, engine: Engine, lake: Path
) -> None:
    sources = _disk(tmp_path, _alone(), lost)
    assert ingested(sources, lake, isolation="read_committed", engine=engine).exit_code == 0
    assert _rows(lake) == _ROWS
    assert audited(lake).exit_code == 0


def test_an_object_that_should_replace_a_lost_segment_is_named(tmp_path: Path, lake: Path) -> None:
    sources = _disk(tmp_path, _alone(), [2])
    (gone,) = (tmp_path / "tier").rglob(f"{2:020d}-*.log")
    content = gone.read_bytes()
    gone.unlink()
    summary = ingested(sources, lake, isolation="read_committed")
    why = f"[2, 3): the tier has no object of segment {gone.name[21:43]}"
    said = f"not ingested yet: tx-0: unreadable in the remote tier: {why}"
    assert (summary.exit_code, said in summary.to_text()) == (3, True)
    assert audited(lake).problems == (said,)
    gone.write_bytes(content)
    assert ingested(sources, lake, isolation="read_committed").exit_code == 0
    assert _rows(lake) == _ROWS


def test_offsets_that_wait_for_an_end_that_the_disk_lost_are_not_green(
    tmp_path: Path, lake: Path
) -> None:
    disk, tier = _disk(tmp_path, _alone(), [2])
    said = (
        "not ingested yet: tx-0: may wait for ever: a transaction from offset 1 on may have ended"
        " in damaged or missing bytes below offset 3"
    )
    for _ in range(2):
        summary = ingested(disk, lake, isolation="read_committed")
        assert (summary.exit_code, said in summary.to_text()) == (3, True)
        assert audited(lake).problems == (said,)
    assert ingested([disk, tier], lake, isolation="read_committed").exit_code == 0
    assert _rows(lake) == _ROWS
    assert audited(lake).exit_code == 0


def test_other_bounds_of_segments_are_no_hole(tmp_path: Path, lake: Path) -> None:
    """Each broker rolls its own segments: this one has in one what the tier has in two."""
    batches = _batches()
    local = [(0, batches[:1]), (1, batches[1:3]), (3, batches[3:])]
    sources = _disk(tmp_path, local, [])
    assert ingested(sources, lake, isolation="read_committed").exit_code == 0
    assert _rows(lake) == _ROWS
