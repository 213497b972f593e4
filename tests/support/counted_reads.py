"""Counts the bytes and requests with which a run reads segments."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from seglake.task_engine.engine import LocalEngine


class CountedReads(LocalStorage):
    """Local disks that count what is read of segments.

    Attributes:
        opened: folder and name of each segment, as often as it was opened.
        segment_bytes: of all segments.
        manifests: each manifest of a tier, as often as it was opened.
    """

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.segment_bytes = 0
        self.manifests: list[str] = []

    def open_reader(self, path: str) -> Reader:
        reader = super().open_reader(path)
        if path.endswith(".rsm-manifest"):
            self.manifests.append(path)
        if not path.endswith(".log"):
            return reader
        self.opened.append("/".join(Path(path).parts[-2:]))
        return _CountedReader(reader, self)


class _CountedReader:
    def __init__(self, reader: Reader, counts: CountedReads) -> None:
        self._reader = reader
        self._counts = counts

    @property
    def size_bytes(self) -> int:
        return self._reader.size_bytes

    def read(self, position: int, length: int) -> bytes:
        content = self._reader.read(position, length)
        self._counts.segment_bytes += len(content)
        return content

    def __enter__(self) -> Self:
        self._reader.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._reader.__exit__(*raised)


def counted(
    sources: Path | Iterable[Path],
    lake: Path,
    *,
    isolation: str = "read_uncommitted",
    source_id: str = "",
    **read: object,
) -> tuple[IngestSummary, CountedReads]:
    """Ingest the sources into a lake, and count what is read for it.

    Args:
        source_id: name of a cluster that the sources do not name.
        read: settings of that section.
    """
    storage = CountedReads()
    source = {"source_id": source_id} if source_id else {}
    layer = {"read": {"isolation": isolation, **read}, "source": source}
    settings = Settings.from_mappings([("test", layer)])
    paths = [sources] if isinstance(sources, Path) else sources
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=storage, settings=settings, engine=engine, reporter=RunReporter(io.StringIO())
        )
        return ingest([str(path) for path in paths], str(lake), scan), storage
