"""State of a lake between two commits."""

from pathlib import Path

from seglake.lake.app_versions import AppVersions
from seglake.lake.delta_commit import versions
from seglake.lake.tables import LOG_TABLES
from support.lake_rows import PLAIN_TABLES, SOURCE, Lake, read_offsets


def table_versions(lake: Lake) -> list[int]:
    """The versions of a plain topic's tables; equal ones: nothing was committed between."""
    return [lake.tables.open(table).version() for table in PLAIN_TABLES]


def redo_files(lake: Lake) -> list[str]:
    return sorted(path.name for path in Path(lake.tables.redo_folder_of(LOG_TABLES)).glob("*"))


def generations(lake: Lake, topic: str) -> AppVersions:
    return versions(lake.tables, SOURCE, [topic])[topic]


def assert_each_row_once(lake: Lake, topic: str, offsets: list[int]) -> None:
    for table in LOG_TABLES.of([topic]):
        assert read_offsets(lake, table, topic) == offsets, table.name
