"""Which transaction indexes and producer snapshots beside a replica are asked for an end."""

from pathlib import Path

from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.ingest_steps.repair.transaction_files import read_end_files
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Markers
from seglake.kafka_log.transactions.missing_markers import CopyFiles, KnownLog
from seglake.log_dirs.discovery import discover
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.indexed_log import EDGES, INDEXES, LOG
from support.planned import KEY
from support.transaction_logs import write_log


def _source(data: Path, stop_offset: int = OPEN_END) -> RepairSource:
    selects_topic = Settings().select.selects_topic
    (replica,) = discover([str(data)], LocalStorage(), selects_topic=selects_topic).replicas
    return RepairSource(
        replica=replica,
        files=replica.segments,
        gaps=(),
        requested=(),
        stop_offset=stop_offset,
        leader_epochs=LeaderEpochs(()),
    )


def _read(*sources: RepairSource, start: int = 0) -> list[CopyFiles]:
    log = KnownLog(
        key=KEY,
        markers=(),
        ends=Markers([]),
        holes=(),
        covered_offset=LOG.next_offset,
        waiting=(DataSpan(12, 3), DataSpan(start, 1)),
    )
    return read_end_files(sources, log, LocalStorage())


def test_a_replica_without_any_such_file_is_left_out(data: Path) -> None:
    write_log(data / "1", LOG, EDGES, has_files=False)
    write_log(data / "2", LOG, EDGES)
    (found,) = _read(_source(data / "1"), _source(data / "2"))
    assert [snapshot.offset for snapshot in found.snapshots] == [7, LOG.next_offset]


def test_each_segment_has_the_aborts_that_its_index_names(data: Path) -> None:
    write_log(data, LOG, EDGES)
    ((first, last),) = [found.segments for found in _read(_source(data))]
    assert (first.start_offset, first.next_offset, first.is_last) == (0, 7, False)
    assert (last.start_offset, last.next_offset, last.is_last) == (7, OPEN_END, True)
    assert [
        [(entry.producer_id, entry.last_offset) for entry in segment.aborted or ()]
        for segment in (first, last)
    ] == [[(1, 6)], [(1, 11)]]


def test_an_index_that_is_damaged_is_there_and_of_no_use(data: Path) -> None:
    partition = write_log(data, LOG, EDGES)
    (partition / INDEXES[0]).write_bytes(b"!")
    (partition / INDEXES[1]).unlink()
    (found,) = _read(_source(data))
    assert [(file.has_index, file.aborted) for file in found.segments] == [
        (True, None),
        (False, None),
    ]
    assert [Path(file.path).suffix for file in found.segments] == [".txnindex", ".log"]


def test_nothing_counts_where_the_replica_is_another_log(data: Path) -> None:
    write_log(data, LOG, EDGES)
    (found,) = _read(_source(data, stop_offset=11))
    assert [len(file.aborted or ()) for file in found.segments] == [1, 0]
    assert [snapshot.offset for snapshot in found.snapshots] == [7]
    (found,) = _read(_source(data, stop_offset=7))
    assert [file.start_offset for file in found.segments] == [0]


def test_files_in_front_of_what_waits_are_not_asked(data: Path) -> None:
    write_log(data, LOG, EDGES)
    (found,) = _read(_source(data), start=7)
    assert [file.start_offset for file in found.segments] == [7]
    assert [snapshot.offset for snapshot in found.snapshots] == [LOG.next_offset]
