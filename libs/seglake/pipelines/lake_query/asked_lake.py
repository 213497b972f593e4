"""Opens the lake of a query, and checks that the folder is a lake. Needs no engine."""

from seglake.lake.delta_tables import LakeTables
from seglake.storage.hdfs_access import HDFS_SCHEMES
from seglake.storage.storage import Storage


def require_lake(lake: str, storage: Storage) -> LakeTables:
    """Return the tables of a lake that has all mandatory ones.

    Args:
        lake: the lake's path or URI.
        storage: the storage of all paths.

    Raises:
        LakeFolderError: a mandatory table is missing, or the storage denies access.
        UnsupportedUriError: no storage supports this kind of URI.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    return tables


def is_on_hdfs(tables: LakeTables) -> bool:
    """Return whether the lake is on HDFS."""
    return tables.lake_path.partition(":")[0] in HDFS_SCHEMES
