"""Makes the tables and views of a lake known to the catalog of a Spark session. Effect.

What has one of their names and is something else is never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from seglake.errors import WrongCallError
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.catalog_dialect import CatalogDialect
from seglake.pipelines.lake_query.errors import CatalogError
from seglake.pipelines.lake_query.scripts import LAKE_PROPERTY, statements_for
from seglake.pipelines.lake_query.views import VIEWS

_IN_MEMORY = "in-memory"


@dataclass(frozen=True, slots=True)
class Registration:
    """What a catalog has of a lake now.

    Attributes:
        new: names that it did not have before.
    """

    database: str
    lake: str
    tables: tuple[str, ...]
    views: tuple[str, ...]
    new: tuple[str, ...]

    def to_text(self) -> str:
        """One line for a person."""
        what = f"{len(self.tables)} tables and {len(self.views)} views of {self.lake}"
        return f"{what} are registered in {self.database}, {len(self.new)} of them are new"


def register(
    session: SparkSession, *, database: str, lake: str, topics: Mapping[str, str]
) -> Registration:
    """Create what is missing, and every view anew.

    Args:
        lake: its path, as Hadoop spells it.
        topics: views of topics, by name.

    Raises:
        WrongCallError: the session has no lasting catalog, or a name is taken.
        CatalogError: the catalog cannot be reached, or refuses a statement.
    """
    is_own_catalog = "." not in database
    if is_own_catalog and session.conf.get("spark.sql.catalogImplementation") == _IN_MEMORY:
        raise WrongCallError(
            "Spark would keep the tables in its memory and forget them: name a Hive metastore with"
            " --metastore thrift://HOST:PORT, or print the statements for another catalog with"
            " --print"
        )
    tables = tuple(table.name for table in TABLES)
    views = (*VIEWS, *topics)
    try:
        known = _known(session, database)
        place = _qualified(session, lake)
        for name in known & {*tables, *views}:
            _require_ours(session, f"{database}.{name}", place, is_table=name in tables)
        for statement in statements_for(
            CatalogDialect.SPARK, database=database, lake=place, topics=topics
        ):
            session.sql(statement)
    except (PySparkException, Py4JError) as error:
        raise CatalogError(f"the catalog refuses: {str(error).strip().splitlines()[0]}") from error
    new = tuple(name for name in (*tables, *views) if name not in known)
    return Registration(database, place, tables, views, new)


def _known(session: SparkSession, database: str) -> set[str]:
    """The tables and views that a database has; none if it is not there."""
    if not session.catalog.databaseExists(database):
        return set()
    return {row.tableName for row in session.sql(f"SHOW TABLES IN {database}").collect()}


def _require_ours(session: SparkSession, name: str, lake: str, *, is_table: bool) -> None:
    if is_table:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        place = {row.col_name: row.data_type for row in rows}.get("Location")
        wanted = f"{lake}/{name.rpartition('.')[2]}"
    else:
        rows = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
        place = {row.key: row.value for row in rows}.get(LAKE_PROPERTY)
        wanted = lake
    if place != wanted:
        raise WrongCallError(
            f"{name} is there already and is not of this lake ({place or 'it names none'}): choose"
            " another --database, or drop it first"
        )


def _qualified(session: SparkSession, lake: str) -> str:
    """A path with its scheme and host, as the catalog will have it."""
    context = session.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(lake)  # type: ignore[union-attr]  # only None before a start
    hadoop = context._jsc.hadoopConfiguration()
    return str(path.getFileSystem(hadoop).makeQualified(path).toString())
