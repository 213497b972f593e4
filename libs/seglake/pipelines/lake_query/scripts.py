"""The SQL files of conf/, which register tables and views elsewhere; a test compares them."""

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.views import DUCKDB_VIEWS, VIEWS

# No apostrophe and no semicolon in these comments: some clients look for them everywhere.
_TABLES_HEAD = (
    "-- The tables of seglake, for Spark with Delta. The variable lake is the whole path.\n"
)
_VIEWS_HEAD = (
    "-- The views of seglake, for Spark. Run where the tables have their names (tables.sql).\n"
)
_DUCKDB_HEAD = """\
-- The tables and views of seglake, for DuckDB with its extension delta. The variable lake is the
-- path.

SET TimeZone = 'UTC';
"""


def tables_script() -> str:
    """Statements for Spark that register the tables of the lake whose path is `${lake}`."""
    statements = (
        f"CREATE TABLE IF NOT EXISTS {table.name} USING delta LOCATION '${{lake}}/{table.name}';"
        for table in TABLES
    )
    return "\n".join((_TABLES_HEAD, *statements, ""))


def views_script() -> str:
    """Statements for Spark that create the views beside tables named records, gaps and so on."""
    return "\n".join((_VIEWS_HEAD, *(_view(name, text) for name, text in VIEWS.items())))


def duckdb_script() -> str:
    """Statements for DuckDB that create a view of each table of `lake`, and those upon them."""
    tables = (
        _view(table.name, f"SELECT * FROM delta_scan(getvariable('lake') || '/{table.name}')")
        for table in TABLES
    )
    views = (_view(name, text) for name, text in DUCKDB_VIEWS.items())
    return "\n".join((_DUCKDB_HEAD, *tables, *views))


def _view(name: str, text: str) -> str:
    return f"CREATE OR REPLACE VIEW {name} AS\n{text};\n"
