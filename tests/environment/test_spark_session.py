"""What Spark is told, without starting it."""

import os
import re
import sys
from pathlib import Path

import pytest
from pyspark import SparkConf, SparkContext

from seglake.environment import spark_session, spark_start
from seglake.environment.interrupts import ends_process
from seglake.environment.spark_session import (
    _add_delta,
    _choose_python_of_workers,
    _compile_quickly,
    _configuration,
)
from seglake.settings.settings import SparkSettings


@pytest.fixture(autouse=True)
def own_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"):
        (tmp_path / name).touch()
    monkeypatch.setenv("SEGLAKE_JARS", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    # A JVM that another test left running would fill a configuration with its own properties.
    monkeypatch.setattr(SparkContext, "_jvm", None)
    return tmp_path


def told(verbosity: int = 0, master: str = "local[*]", **properties: str) -> dict[str, str]:
    given = tuple((name.replace("__", "."), value) for name, value in properties.items())
    conf = _configuration(SparkSettings(master, given), "ingest", verbosity)
    _add_delta(conf)
    return dict(conf.getAll())


def test_local_spark_listens_on_this_machine_only() -> None:
    conf = told()
    assert conf["spark.master"] == "local[*]"
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.ui.enabled"] == "false"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.python.worker.faulthandler.enabled"] == "true"


def test_cluster_must_reach_the_driver() -> None:
    conf = told(master="spark://host:7077")
    assert conf["spark.master"] == "spark://host:7077"
    assert {name for name in conf if name.startswith("spark.driver.")} == {
        "spark.driver.defaultJavaOptions"
    }


def test_tasks_act_for_the_user_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "spark.executorEnv.HADOOP_USER_NAME"
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    assert name not in told()
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    assert told(master="spark://host:7077")[name] == "alice"
    assert told(spark__executorEnv__HADOOP_USER_NAME="bob")[name] == "bob"


def test_property_of_the_settings_wins() -> None:
    assert told(spark__ui__enabled="true")["spark.ui.enabled"] == "true"


def test_what_spark_submit_was_told_goes_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"spark.master": "yarn", "spark.ui.enabled": "true", "spark.app.name": "theirs"}

    def known() -> SparkConf:
        return SparkConf(loadDefaults=False).setAll(list(said.items()))

    monkeypatch.setattr(spark_session, "known_configuration", known)
    conf = told()
    assert {name: conf[name] for name in said} == said
    assert told(master="local[2]")["spark.master"] == "local[2]"


def test_secrets_are_not_on_sparks_pages() -> None:
    redacted = re.compile(told()["spark.redaction.regex"])
    assert redacted.search("spark.hadoop.fs.s3a.bucket.b.secret.key")
    assert redacted.search("spark.hadoop.fs.s3a.access.key")
    assert not redacted.search("spark.hadoop.fs.s3a.endpoint")


def test_jvm_says_nothing_that_no_job_asked_for() -> None:
    lines = Path(spark_session.__file__).with_name("log4j2.properties").read_text("utf-8")
    assert "rootLogger.level = ${sys:seglake.log.level:-off}" in lines.splitlines()


@pytest.mark.parametrize(
    ("verbosity", "level"), [(-1, "off"), (0, "off"), (1, "warn"), (9, "info")]
)
def test_jvm_says_more_with_v(verbosity: int, level: str) -> None:
    options = told(verbosity, spark__driver__defaultJavaOptions="-Da=b")[
        "spark.driver.defaultJavaOptions"
    ]
    assert options.split()[1:] == [f"-Dseglake.log.level={level}", "-Da=b"]


def test_java_options_of_spark_defaults_stay_unless_the_settings_give_some(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = "spark.driver.defaultJavaOptions"
    (tmp_path / "spark-defaults.conf").write_text(f"{name} -Da=b -Dc=d\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert told()[name].split()[2:] == ["-Da=b", "-Dc=d"]
    assert told(spark__driver__defaultJavaOptions="-De=f")[name].split()[2:] == ["-De=f"]


@pytest.mark.parametrize(
    ("is_command", "master", "expected"),
    [
        (True, "local[*]", ["-XX:TieredStopAtLevel=1", "-Da=b"]),
        (True, "spark://host:7077", ["-Da=b"]),
        (False, "local[*]", ["-Da=b"]),
    ],
)
def test_java_compiles_quickly_in_a_command_whose_work_python_does(
    is_command: bool, master: str, expected: list[str]
) -> None:
    conf = SparkConf(loadDefaults=False).setMaster(master)
    conf.set("spark.driver.defaultJavaOptions", "-Da=b")
    before = ends_process.set(is_command)
    try:
        _compile_quickly(conf)
    finally:
        ends_process.reset(before)
    assert (conf.get("spark.driver.defaultJavaOptions") or "").split() == expected


def test_jars_of_the_settings_come_after_delta(own_jars: Path) -> None:
    assert told(spark__jars="mine.jar")["spark.jars"] == ",".join(
        [*(str(jar) for jar in sorted(own_jars.iterdir())), "mine.jar"]
    )


def test_delta_of_the_settings_is_not_brought_twice() -> None:
    conf = told(spark__jars__packages="io.delta:delta-spark_4.2_2.13:4.4.0")
    assert "spark.jars" not in conf
    assert conf["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"


@pytest.mark.parametrize(
    ("master", "named", "before", "chosen"),
    [
        ("local[2]", "", "elsewhere/python", sys.executable),
        ("local[2]", "env/bin/python", "", sys.executable),
        ("spark://host:7077", "", "", sys.executable),
        ("spark://host:7077", "", "elsewhere/python", "elsewhere/python"),
        ("spark://host:7077", "env/bin/python", "elsewhere/python", "env/bin/python"),
    ],
)
def test_python_of_the_workers(
    master: str, named: str, before: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", before)
    if not before:
        monkeypatch.delenv("PYSPARK_PYTHON")
    properties = (("spark.pyspark.python", named),) if named else ()
    _choose_python_of_workers(_configuration(SparkSettings(master, properties), "ingest", 0))
    assert os.environ["PYSPARK_PYTHON"] == chosen


def test_secrets_are_not_on_the_jvm_s_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[SparkConf] = []
    monkeypatch.setattr(spark_start, "launch_gateway", launched.append)
    properties = (
        ("spark.hadoop.fs.s3a.secret.key", "HIDDEN"),
        ("spark.hadoop.fs.s3a.endpoint", "http://127.0.0.1:9"),
    )
    spark_start._launch(_configuration(SparkSettings("local[2]", properties), "ingest", 0))
    told = dict(launched[0].getAll())
    assert "spark.hadoop.fs.s3a.secret.key" not in told
    assert told["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9"
    assert told["spark.master"] == "local[2]"
    assert "seglake.log.level" in told["spark.driver.defaultJavaOptions"]
