"""Input of a commit: topics with their finished files, and its checks. Syncs files."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import DataFileError, WaveError
from seglake.lake.parquet_files import DataFile, RemovedFile
from seglake.lake.tables import LOG_TABLES, CommitTables


class TopicWave(NamedTuple):
    """A topic's files for all tables, and the generation with which they are committed.

    Attributes:
        removed: files of the deciding table that the commit removes, because their rows are in
            `files` or obsolete. If a file is no longer in the table, the topic is lost.
    """

    topic: str
    generation: int
    files: tuple[DataFile, ...]
    removed: tuple[RemovedFile, ...] = ()


def check_waves(waves: Sequence[TopicWave], commits_to: CommitTables = LOG_TABLES) -> None:
    """Check the input of a commit.

    Raises:
        WaveError: a topic or a file appears twice, a generation is below 1, or a file belongs to
            another topic.
    """
    by_name = {table.name: table for table in commits_to.tables}
    seen: set[str] = set()
    paths: set[tuple[str, str]] = set()
    for wave in waves:
        if wave.topic in seen:
            raise WaveError(topic=wave.topic, reason="it comes twice")
        if wave.generation < 1:
            raise WaveError(topic=wave.topic, reason=f"generation {wave.generation} is below 1")
        seen.add(wave.topic)
        for file in wave.files:
            table = by_name.get(file.table)
            if file.topic != wave.topic or table is None or not table.serves(wave.topic):
                reason = f"{file.path} belongs to {file.table} of {file.topic}"
                raise WaveError(topic=wave.topic, reason=reason)
            if (file.table, file.path) in paths:
                raise WaveError(topic=wave.topic, reason=f"{file.path} comes twice")
            paths.add((file.table, file.path))
        for removed in wave.removed:
            if removed.topic != wave.topic:
                reason = f"{removed.log_path} is to be removed, but belongs to {removed.topic}"
                raise WaveError(topic=wave.topic, reason=reason)


def require_files(tables: LakeTables, files: Iterable[DataFile]) -> None:
    """Check that a commit's files exist, and make them durable, because delta-rs does neither.

    Raises:
        DataFileError: a file is missing or has another size.
    """
    paths = []
    for file in files:
        path = tables.storage.join(tables.lake_path, file.table, file.path)
        info = tables.storage.info(path)
        found_bytes = None if info is None else info.size_bytes
        if found_bytes != file.size_bytes or file.size_bytes == 0:
            raise DataFileError(path=path, expected_bytes=file.size_bytes, found_bytes=found_bytes)
        paths.append(path)
    tables.storage.sync(sorted(paths))
