"""What conf/spark says to Spark is what Spark knows, and each line has its reason."""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pyspark
import pytest

from seglake.environment.setting_files import file_layers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).parents[1] / "conf" / "spark" / "cluster.conf"
_PROPERTY = re.compile(r"^(?:# )?(spark\.\S+) {2,}(\S+)$", re.MULTILINE)
_NAME = re.compile(r"\bspark(?:\.[a-zA-Z]+){2,}|^spark\.[a-z]+(?= )", re.MULTILINE)
_CONFIG = re.compile(r"org/apache/spark/internal/config/.*\$\.class")


def everything() -> str:
    """The file with what a user may fill in."""
    return re.sub(r"^# (?=spark\.\S+ {2,}\S+$)", "", FILE.read_text("utf-8"), flags=re.MULTILINE)


def read(path: Path) -> object:
    [(_, sections)] = file_layers([str(path)])
    section = sections["spark"]
    assert isinstance(section, dict)
    return section["properties"]


def test_every_property_stands_below_its_reason() -> None:
    text = FILE.read_text("utf-8")
    blocks = [block for block in text.split("\n\n") if _PROPERTY.search(block)]
    assert len(blocks) >= 8
    for block in blocks:
        first, *_ = block.splitlines()
        assert first.startswith("# ")
        assert not _PROPERTY.match(first)


def test_tasks_that_may_run_twice_may_fail_more_often_than_spark_allows() -> None:
    properties = read(FILE)
    assert isinstance(properties, dict)
    assert int(properties["spark.task.maxFailures"]) > 4  # Spark's default
    assert properties["spark.speculation"] == "true"


@pytest.mark.spark
def test_spark_reads_the_file_as_the_settings_do(
    spark_session: "SparkSession", tmp_path: Path
) -> None:
    filled = tmp_path / "filled.conf"
    filled.write_text(everything(), "utf-8")
    jvm = spark_session.sparkContext._jvm
    assert jvm is not None
    for path in (FILE, filled):
        properties = jvm.org.apache.spark.util.Utils.getPropertiesFromFile(str(path))
        told = {}
        names = properties.keys().iterator()
        while names.hasNext():
            name = names.next()
            told[name] = properties.apply(name)
        assert told == read(path)
    assert len(told) == len(_PROPERTY.findall(everything()))


@pytest.mark.spark
def test_spark_knows_every_property_that_the_file_names(spark_session: "SparkSession") -> None:
    jvm = spark_session.sparkContext._jvm
    assert jvm is not None
    loader = jvm.Thread.currentThread().getContextClassLoader()
    jar = next((Path(pyspark.__file__).parent / "jars").glob("spark-core_*.jar"))
    with ZipFile(jar) as classes:
        for name in filter(_CONFIG.fullmatch, classes.namelist()):
            class_name = name.removesuffix(".class").replace("/", ".")
            jvm.java.lang.Class.forName(class_name, True, loader)  # registers its entries
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    names = set(_NAME.findall(everything()))
    assert {"spark.archives", "spark.task.cpus", "spark.speculation"} <= names
    assert {name for name in names if find(name) is None} == set()
