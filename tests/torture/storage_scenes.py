"""Runs over small lakes, to whose files something happens; each in this process, without workers.

A scene is a folder with a disk, a lake, or both, and what is run on them with a given storage.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.lake_audit.run import audit
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice, maintain
from seglake.pipelines.lake_replay.replay import replay
from seglake.pipelines.lake_report.run import report
from seglake.pipelines.lake_retake.retake import retake
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.pipelines.segment_inspect.run import inspect
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Storage
from seglake.task_engine.engine import LocalEngine
from support.damaged_replicas import batches_in
from support.elected_logs import write_elected
from support.encoder import Partition, Segment
from support.lakes import EVERYTHING_SUPERSEDED
from support.made_logs import TOPIC_IDS, made_segments, write_over
from support.retaken_lakes import LOSER, WINNER
from support.transaction_logs import TransactionLog, abort, commit, sent

_PIECE_BYTES = 1 << 12
_VALUE_BYTES = 150
_EARLIER = {("orders", 0): [0, 20], ("payments", 0): [0, 15]}
_LATER = {("orders", 0): [0, 20, 45], ("orders", 1): [0, 10], ("payments", 0): [0, 15, 25]}
_SENT = TransactionLog.of([sent(7), sent(), commit(7), sent(8), abort(8), sent()])
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Answer(NamedTuple):
    """How a run came to its end.

    Attributes:
        says: what it answers, the same behind each clean run; of a run that writes nothing.
        is_whole: whether it says that it has everything.
    """

    code: int
    says: str = ""
    is_whole: bool = True


Act = Callable[[str, Storage], Answer]
"""Takes where the folder lies, and the storage."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a run needs, made once, and the run.

    Attributes:
        writes: whether it commits to the lake.
    """

    make: Callable[[Path], None]
    act: Act
    writes: bool = True


def _scan(
    storage: Storage, engine: LocalEngine, upper_bound: str = "high_watermark"
) -> ScanContext:
    read = {"isolation": "read_committed", "upper_bound": upper_bound}
    settings = Settings.from_mappings([("test", {"read": read})])
    reporter = RunReporter(io.StringIO())
    return ScanContext(storage=storage, settings=settings, engine=engine, reporter=reporter)


def _ingest(folder: str, storage: Storage, upper_bound: str = "high_watermark") -> Answer:
    with LocalEngine(1) as engine:
        scan = _scan(storage, engine, upper_bound)
        # Below the least that settings allow, for many waves of a small log.
        object.__setattr__(scan.settings.read, "split_bytes", _PIECE_BYTES)
        object.__setattr__(scan.settings.read, "window_bytes", _PIECE_BYTES)
        object.__setattr__(scan.settings.write, "wave_bytes", 2 * _PIECE_BYTES)
        summary = ingest([f"{folder}/disk"], f"{folder}/lake", scan)
    found = summary.findings.of(FindingKind.LEFT_OUT, FindingKind.NOT_ON_DISK)
    return Answer(summary.exit_code, is_whole=not found)


def _replay(folder: str, storage: Storage) -> Answer:
    with LocalEngine(1) as engine:
        summary = replay(f"{folder}/lake", [f"{folder}/disk"], _scan(storage, engine))
    return Answer(summary.exit_code, is_whole=not summary.left_out)


def _retake(folder: str, storage: Storage) -> Answer:
    with LocalEngine(1) as engine:
        scan, lake = _scan(storage, engine), f"{folder}/lake"
        summary = retake([f"{folder}/disk"], lake, scan, selection=EVERYTHING_SUPERSEDED)
    return Answer(summary.exit_code, is_whole=not summary.left_out)


def _maintain(folder: str, storage: Storage) -> Answer:
    with LocalEngine(1) as engine:
        scan, choice = _scan(storage, engine), MaintenanceChoice()
        summary = maintain(f"{folder}/lake", scan, choice=choice)
    return Answer(summary.exit_code, is_whole=summary.exit_code == 0)


def _audit(folder: str, storage: Storage) -> Answer:
    with LocalEngine(1) as engine:
        found = audit(
            f"{folder}/lake",
            storage,
            engine,
            RunReporter(io.StringIO()),
            spill_folder=tempfile.gettempdir(),
        )
    return Answer(found.exit_code, to_text(found), is_whole=not found.problem_count)


def _report(folder: str, storage: Storage) -> Answer:
    return Answer(
        0, str(report(f"{folder}/lake", storage, spill_folder=tempfile.gettempdir(), now=_NOW))
    )


def _inspect(folder: str, storage: Storage) -> Answer:
    out = io.StringIO()
    code = inspect(f"{folder}/disk", storage, records=False, as_json=False, out=out)
    return Answer(code, out.getvalue())


def _first(base: Path) -> None:
    """There is no lake yet; in the log a batch is damaged, and transactions end both ways."""
    _write(base / "disk", _LATER)
    batches_in(base / "disk" / "orders-0")[2].damage()


def _more(base: Path) -> None:
    """The logs have grown since the last run."""
    _write(base / "disk", _EARLIER)
    _ingest(str(base), LocalStorage())
    _write(base / "disk", _LATER)


def _damaged_lake(base: Path) -> None:
    """What is damaged in the lake is whole on a disk that came later."""
    _first(base)
    _ingest(str(base), LocalStorage())
    _write(base / "disk", _LATER, broker_id=1)


def _grown_lake(base: Path) -> None:
    """The lake has a few files of each table, and one of a run that died long ago."""
    _first(base)
    _ingest(str(base), LocalStorage())
    left = base / "lake" / "records" / "topic=orders" / "left.parquet"
    left.write_bytes(b"left")
    os.utime(left, (0, 0))


def _lost_election(base: Path) -> None:
    """The lake has what lost an election, and knows."""
    disk = base / "disk"
    write_elected(disk, LOSER)
    _ingest(str(base), LocalStorage(), "log_end")
    write_elected(disk, WINNER, broker_id=1)
    _ingest(str(base), LocalStorage())


def _write(disk: Path, edges: Mapping[tuple[str, int], list[int]], broker_id: int = 0) -> None:
    partitions = [
        Partition(
            topic,
            partition,
            made_segments(topic, partition, stops, value_bytes=_VALUE_BYTES),
            topic_id=TOPIC_IDS[topic],
        )
        for (topic, partition), stops in edges.items()
    ]
    segment = Segment(0, _SENT.batches(0, _SENT.next_offset), aborted=_SENT.aborted())
    write_over(disk, [*partitions, Partition("clicks", 0, [segment])], broker_id=broker_id)


SCENES: Mapping[str, Scene] = {
    "first ingest": Scene(_first, _ingest),
    "second ingest": Scene(_more, _ingest),
    "repair": Scene(_damaged_lake, _ingest),
    "replay": Scene(_damaged_lake, _replay),
    "retake": Scene(_lost_election, _retake),
    "maintain": Scene(_grown_lake, _maintain),
    "audit": Scene(_damaged_lake, _audit, writes=False),
    "report": Scene(_damaged_lake, _report, writes=False),
    "inspect": Scene(_first, _inspect, writes=False),
}


def copied(base: Path, folder: Path) -> Path:
    """A copy over what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(base, folder)
