"""The SQL files of conf/ are what the product makes."""

from pathlib import Path

from seglake.pipelines.lake_query.scripts import duckdb_script, tables_script, views_script

CONF = Path(__file__).parents[2] / "conf"


def test_sql_files_are_the_text_the_product_makes() -> None:
    scripts = {"tables.sql": tables_script, "views.sql": views_script, "duckdb.sql": duckdb_script}
    assert {name: (CONF / name).read_text("utf-8") for name in scripts} == {
        name: script() for name, script in scripts.items()
    }
