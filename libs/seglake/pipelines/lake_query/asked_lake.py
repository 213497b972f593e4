"""The lake that is asked, once it is sure that it is one. Needs no engine."""

from seglake.lake.delta_tables import LakeTables
from seglake.storage.hdfs_access import HDFS_SCHEMES
from seglake.storage.storage import Storage


def require_lake(lake: str, storage: Storage) -> LakeTables:
    """The tables of a lake that has all of them.

    Raises:
        LakeFolderError: it has not, or its storage does not let us look.
        UnsupportedUriError: no storage answers to the URI.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    return tables


def is_on_hdfs(tables: LakeTables) -> bool:
    return tables.lake_path.partition(":")[0] in HDFS_SCHEMES
