"""A disk that dies: one failed read of a partition leaves it out, with the reason."""

import io
from collections import Counter
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from seglake.task_engine.engine import Engine, LocalEngine
from support.made_logs import make_log_dir
from support.meanwhile import Meanwhile, once

_EDGES = [0, 20, 40, 60]
_TOPICS = ("a", "b", "c", "d", "e", "f")
_BAD = ("b-0", "d-0", "e-0")


class _Disk(LocalStorage):
    """Counts the reads of each log, and those that fail: all of folders that are dead."""

    def __init__(self) -> None:
        super().__init__()
        self.dead: tuple[str, ...] = ()
        self.reads: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def open_reader(self, path: str) -> Reader:
        inner = super().open_reader(path)
        return _Head(inner, path, self) if path.endswith(".log") else inner


class _Head:
    """Reads one file of the disk."""

    def __init__(self, inner: Reader, path: str, disk: _Disk) -> None:
        self._inner, self._path, self._disk = inner, path, disk

    @property
    def size_bytes(self) -> int:
        return self._inner.size_bytes

    def read(self, position: int, length: int) -> bytes:
        folder = Path(self._path).parent.name
        if folder in self._disk.dead:
            self._disk.failed[folder] += 1
            raise StorageError(action="read", path=self._path, reason="Input/output error")
        self._disk.reads[folder] += 1
        return self._inner.read(position, length)

    def __enter__(self) -> "_Head":
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._inner.__exit__(*raised)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "data", {(topic, 0): _EDGES for topic in _TOPICS})


def test_partitions_that_die_after_the_survey_cost_one_read_each_and_the_others_two_walks(
    data: Path, tmp_path: Path
) -> None:
    sound, dying = _Disk(), _Disk()
    _ingested(data, tmp_path / "whole", sound)
    changes = once(lambda: setattr(dying, "dead", _BAD))
    summary = _ingested(data, tmp_path / "lake", dying, Meanwhile(changes))
    assert dying.failed == dict.fromkeys(_BAD, 1)
    assert summary.exit_code == 3
    assert sorted(summary.left_out) == [*_BAD]
    assert all("Input/output error" in reason for reason in summary.left_out.values())
    assert summary.records == 60 * (len(_TOPICS) - len(_BAD))
    for folder in ("a-0", "c-0", "f-0"):
        assert dying.reads[folder] <= 2 * sound.reads[folder]
    dying.dead = ()
    assert _ingested(data, tmp_path / "lake", dying).records == 60 * len(_BAD)


def test_log_of_which_one_header_cannot_be_read_is_surveyed_no_further(
    data: Path, tmp_path: Path
) -> None:
    disk = _Disk()
    disk.dead = ("c-0",)
    summary = _ingested(data, tmp_path / "lake", disk)
    assert disk.failed == {"c-0": 1}
    assert (summary.exit_code, [*summary.left_out]) == (3, ["c-0"])
    assert summary.left_out["c-0"].endswith("/c-0/00000000000000000000.log: Input/output error")


def test_compacted_log_that_cannot_be_read_is_not_tried_again_unless_it_changed(
    data: Path, tmp_path: Path
) -> None:
    (data / "cleaner-offset-checkpoint").write_text("0\n1\nc 0 60\n")
    disk = _Disk()
    disk.dead = ("c-0",)
    _ingested(data, tmp_path / "lake", disk)
    assert disk.failed == {"c-0": 1}


def test_gaps_are_not_searched_in_a_log_that_could_not_be_read(data: Path, tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", _Disk()
    hidden = data / "c-0" / "00000000000000000020.log"
    hidden.rename(tmp_path / "kept.log")
    assert _ingested(data, lake, disk).counts.missing_offsets == 20
    make_log_dir(data, {(topic, 0): [*_EDGES, 80] for topic in _TOPICS})
    disk.dead = ("c-0",)
    summary = _ingested(data, lake, disk)
    assert (disk.failed, [*summary.left_out]) == ({"c-0": 1}, ["c-0"])
    disk.dead = ()
    assert _ingested(data, lake, disk).counts.repaired_records == 20


def _ingested(data: Path, lake: Path, disk: _Disk, engine: Engine | None = None) -> IngestSummary:
    settings = Settings.from_mappings([("test", {"read": {"upper_bound": "log_end"}})])
    with LocalEngine(1) as own:
        scan = ScanContext(
            storage=disk,
            settings=settings,
            engine=engine or own,
            reporter=RunReporter(io.StringIO()),
        )
        return ingest([str(data)], str(lake), scan)


class _NoIndexes(LocalStorage):
    """Cannot read an offset index."""

    def __init__(self, *, is_gone: bool) -> None:
        super().__init__()
        self._is_gone = is_gone

    def read_bytes(self, path: str) -> bytes:
        self._refuse(path)
        return super().read_bytes(path)

    def open_reader(self, path: str) -> Reader:
        self._refuse(path)
        return super().open_reader(path)

    def _refuse(self, path: str) -> None:
        if not path.endswith(".index"):
            return
        if self._is_gone:
            raise NotFoundError(action="read", path=path)
        raise StorageError(action="read", path=path, reason="Input/output error")


@pytest.mark.parametrize("is_gone", [True, False], ids=["deleted_meanwhile", "dead"])
def test_an_index_beside_an_empty_segment_costs_no_records(
    is_gone: bool, data: Path, lake: Path
) -> None:
    folder = make_log_dir(data, {("a", 0): _EDGES}) / "a-0"
    (folder / f"{60:020}.log").touch()
    (index := folder / f"{60:020}.index").write_bytes(bytes(8))
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=_NoIndexes(is_gone=is_gone),
            settings=Settings(),
            engine=engine,
            reporter=RunReporter(io.StringIO()),
        )
        summary = ingest([str(data)], str(lake), scan)
    named = [] if is_gone else [str(index)]
    assert (summary.counts.records, [*summary.findings.reasons(FindingKind.LEFT_OUT)]) == (
        60,
        named,
    )
    assert summary.exit_code == (0 if is_gone else 3)


@pytest.mark.parametrize("is_gone", [True, False], ids=["deleted_meanwhile", "dead"])
def test_an_index_that_is_needed_beside_damage_is_named_if_it_cannot_be_read(
    is_gone: bool, data: Path, lake: Path
) -> None:
    folder = make_log_dir(data, {("a", 0): _EDGES}) / "a-0"
    log, index = (folder / f"{20:020}.{ending}" for ending in ("log", "index"))
    content = bytearray(log.read_bytes())
    content[8:30] = bytes(22)  # the length of the first batch, and its checksum
    log.write_bytes(content)
    index.write_bytes(b"")
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=_NoIndexes(is_gone=is_gone),
            settings=Settings.from_mappings([("test", {"limits": {"fail_on_quarantine": False}})]),
            engine=engine,
            reporter=RunReporter(io.StringIO()),
        )
        summary = ingest([str(data)], str(lake), scan)
    reason = f"cannot read {index}: Input/output error; the segment is read without its index"
    named = [] if is_gone else [reason]
    assert (len(summary.defects), [*summary.left_out.values()]) == (1, named)
    assert summary.exit_code == (3 if named else 0)
