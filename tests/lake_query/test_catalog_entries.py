"""A lake in a real Hive metastore, asked by a Spark that knows nothing of seglake."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.views import view_names
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.servers.hive_metastore import hive_metastore

pytestmark = [pytest.mark.own_spark, pytest.mark.timeout(900)]

_CALLS = """
import json, os, shutil, sys
import seglake
from seglake.catalog_commands import statements_of
from seglake.environment.run_settings import settings_of
from seglake.pipelines.lake_query.registration import CatalogDialect
from pyspark.sql import SparkSession
from seglake.environment.delta_jars import delta_jars
from seglake.environment.spark_home import spark_home

metastore, lake, grown, disk = sys.argv[1:]

def asked(*statements):
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    jars = ",".join(map(str, delta_jars(os.environ, spark_home())))
    for name, value in {
        "spark.jars": jars,
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": metastore,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    answers = [[list(row) for row in session.sql(each).collect()] for each in statements]
    session.stop()
    return answers

def registered(lake, database, metastore=metastore):
    try:
        done = seglake.register(lake, database, metastore=metastore)
    except seglake.SeglakeError as error:
        return [type(error).__name__, str(error)]
    return [list(done.tables), list(done.views), list(done.new), list(done.dropped)]

def moved(lake, database):
    shutil.move(lake, lake + "-gone")
    return registered(lake + "-gone", database)

def confused(lake, database):
    asked(*statements_of(lake, database, CatalogDialect.SPARK, settings_of({})))
    seglake.ingest(disk, lake, engine="local")
    return registered(lake, f"spark_catalog.{database}")

print(json.dumps({
    "first": registered(lake, "kafka"),
    "answers": asked(
        "SELECT topic, count(*) FROM kafka.records GROUP BY topic ORDER BY topic",
        "SELECT count(*) FROM kafka.topic_orders",
        "SELECT sum(covered) FROM kafka.completeness",
        "CREATE DATABASE taken",
        "CREATE VIEW taken.completeness AS SELECT 1 AS mine",
        "CREATE DATABASE filled",
        "CREATE TABLE filled.gaps (a INT) USING parquet",
        "CREATE DATABASE cased",
        "CREATE VIEW cased.topic_orders AS SELECT 2 AS mine",
        "CREATE DATABASE parquet",
        f"CREATE TABLE parquet.records USING parquet LOCATION '{lake}/records'",
        "CREATE DATABASE soon",
        f"CREATE TABLE soon.records USING delta LOCATION '{grown}/records'",
    ),
    "other lake": registered(grown, "kafka"),
    "taken view": registered(lake, "taken"),
    "taken table": registered(lake, "filled"),
    "view in lower case": registered(lake, "cased"),
    "other format": registered(lake, "parquet"),
    "no catalog": registered(lake, "nowhere.kafka"),
    "gone": moved(grown, "soon"),
    "without": registered(lake, "kafka", None),
    "left": asked(
        "SELECT * FROM taken.completeness", "SHOW TABLES IN taken", "SHOW TABLES IN filled",
        "SELECT * FROM cased.topic_orders",
    ),
    "confused": confused(lake, "pasted"),
    "names": asked(
        "SHOW VIEWS IN pasted LIKE 'topic_*'",
        "SELECT DISTINCT topic FROM pasted.topic_orders_b7e8acdd",
        "SELECT DISTINCT topic FROM pasted.topic_orders_1c168adb",
    ),
}, default=str))
"""


def test_tables_and_views_are_there_for_any_spark_and_nobody_s_own_are_touched(
    tmp_path: Path,
) -> None:
    lake, grown = tmp_path / "lake", tmp_path / "grown"
    edges = {("Orders", 0): [0, 20], ("payments", 0): [0, 5]}
    for place in (lake, grown):
        ingested(make_log_dir(tmp_path / "disk", edges), place)
    with hive_metastore(tmp_path / "metastore") as metastore:
        confused = make_log_dir(tmp_path / "confused", {("orders", 0): [0, 5]})
        answers = _answers(tmp_path, metastore, str(lake), str(grown), str(confused))
    tables, views = (
        [table.name for table in TABLES],
        [*view_names(), "topic_Orders", "topic_payments"],
    )
    assert answers["first"] == [tables, views, [*tables, *views], []]
    assert answers["answers"][:3] == [[["Orders", 20], ["payments", 5]], [[20]], [[25]]]
    for call, name in (
        ("other lake", "kafka."),
        ("taken view", "taken.completeness"),
        ("taken table", "filled.gaps"),
        ("view in lower case", "cased.topic_Orders"),
        ("other format", "parquet.records"),
        ("gone", "soon.records"),
    ):
        kind, text = answers[call]
        assert kind == "NameInUseError"
        assert text.startswith(name)
        assert "exists already and does not belong to this lake" in text
    for call, said in (
        ("no catalog", "Spark knows no catalog nowhere"),
        ("without", "Spark would have"),
    ):
        kind, text = answers[call]
        assert (kind, text[: len(said)]) == ("WrongCallError", said)
    marked = ["topic_Orders_b7e8acdd", "topic_orders_1c168adb"]
    views[views.index("topic_Orders") :] = [*marked, "topic_payments"]
    # The printed statements made the rest.
    assert answers["confused"] == [tables, views, marked, ["topic_orders"]]
    names, *topics = answers["names"]
    of_topics = [row[1] for row in names if row[1] != "topic_configs"]
    assert of_topics == [*sorted(map(str.lower, marked)), "topic_payments"]
    assert topics == [[["Orders"]], [["orders"]]]
    mine, in_taken, in_filled, cased = answers["left"]
    assert (mine, cased) == ([[1]], [[2]])
    assert [row[1] for row in (*in_taken, *in_filled)] == ["completeness", "gaps"]


# Any: what JSON may hold.
def _answers(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
