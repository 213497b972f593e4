"""Effect: starts Spark for the jobs, quietly and with the versions that are installed with us.

Under spark-submit the JVM runs already: its master and properties are kept, ours only fill gaps.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from seglake.environment.delta_jars import delta_jars
from seglake.environment.errors import SparkStartError
from seglake.environment.hadoop_files import USERS_CONF_FOLDER, spark_conf_folder
from seglake.environment.interrupts import ends_process
from seglake.environment.jar_fetch import spark_home
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars
from seglake.environment.spark_start import (
    SECRET_NAMES,
    known_configuration,
    start,
    start_context,
)
from seglake.environment.spark_submit import is_submitted
from seglake.settings.settings import SparkSettings

_S3A = "s3a:"
_S3A_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_HDFS_USER = "HADOOP_USER_NAME"
_PYTHON_OF_WORKERS = "spark.pyspark.python"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_LOG_LEVELS = ("off", "warn", "info")  # by the number of -v

# PySpark prints a failing query as a line of JSON with Java's whole stack, beside raising it.
_NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.faulthandler.enabled": "true",  # a segfault shows its Python line
    "spark.redaction.regex": SECRET_NAMES,
    # A metastore that accepts calls and says nothing: Hive's own patience is ten minutes a call.
    "spark.hadoop.hive.metastore.client.socket.timeout": "60s",
    "spark.hadoop.hive.metastore.connect.retries": "1",
    "spark.hadoop.hive.metastore.failure.retries": "0",
}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Our tables' logs are small, and on one machine each task costs more than it saves.
_LOCAL_SQL = {
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "4",
}
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


_OURS: "WeakSet[SparkContext]" = WeakSet()


@contextmanager
def spark_context(
    settings: SparkSettings, *, application: str, verbosity: int
) -> Iterator[SparkContext]:
    """Spark's core alone, for jobs that need an engine and no SQL; stopped at the end.

    Raises:
        NoJavaError: there is no Java for it.
        SparkStartError: it does not start.
    """
    _prepare_environment()
    _quieten_python(verbosity)
    conf = _configuration(settings, application, verbosity)
    _compile_quickly(conf)
    _choose_python_of_workers(conf)
    context = start_context(conf)
    _OURS.add(context)
    with _stopped_after(context):
        yield context


def is_ours(context: SparkContext) -> bool:
    """Whether a context was started here, and not by whoever called."""
    return context in _OURS


@contextmanager
def delta_session(
    settings: SparkSettings,
    *,
    application: str,
    verbosity: int,
    lake: str = "",
    hadoop: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session that reads Delta tables; stopped at the end.

    Args:
        lake: what it is to read, as Hadoop spells it.
        hadoop: what Hadoop must be told to reach that; shown nowhere.

    Raises:
        NoJavaError: there is no Java for it.
        DeltaJarsError, S3JarsError: its JARs are neither there nor to be had.
        SparkStartError: it does not start, or starts without Delta.
    """
    _prepare_environment()
    _quieten_python(verbosity)
    conf = _configuration(settings, application, verbosity)
    _choose_python_of_workers(conf)
    _add_delta(conf)
    if lake.startswith(_S3A):
        _add_jars(conf, "hadoop-aws", s3_jars)
    context = start_context(conf)
    _tell_hadoop(context, hadoop or {})
    session = start(SparkSession.builder.getOrCreate, _master(conf))
    with _stopped_after(session):
        _require_delta(session)
        if lake.startswith(_S3A):
            _require_s3a(session)
        yield session


@contextmanager
def _stopped_after(running: SparkContext | SparkSession) -> Iterator[None]:
    """Stop Spark at the end, but not after Ctrl-C.

    That may have cut a conversation with the JVM in two, and the next answer would be a wrong one.
    The JVM ends by itself when our process does.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        _stop(running)
        raise
    _stop(running)


def _stop(running: SparkContext | SparkSession) -> None:
    """Stop Spark; in a command, whose process ends behind it, only the JVM's side.

    PySpark's side waits up to a second for a server of its own, which nobody asks any more.
    """
    context = running.sparkContext if isinstance(running, SparkSession) else running
    if ends_process.get():
        with suppress(Py4JError):  # the JVM has died, and what came of that is told already
            context._jsc.stop()
    else:
        running.stop()


def _prepare_environment() -> None:
    """Set what Spark's launcher reads from the environment; spark-submit has done so."""
    if is_submitted():
        return
    provide_java(os.environ)
    own_home, conf_folder = str(spark_home()), spark_conf_folder(os.environ)
    if conf_folder is not None and os.environ.get("SPARK_HOME") != own_home:
        os.environ[USERS_CONF_FOLDER] = conf_folder
    os.environ["SPARK_HOME"] = own_home
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _choose_python_of_workers(conf: SparkConf) -> None:
    """Set PYSPARK_PYTHON, which PySpark reads when its context starts."""
    named = conf.get(_PYTHON_OF_WORKERS)
    if named is not None and not _is_local(_master(conf)):
        os.environ["PYSPARK_PYTHON"] = named  # Spark itself heeds it under spark-submit only
    elif is_submitted():
        return
    elif _is_local(_master(conf)):  # they are on this machine and must have our packages
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _quieten_python(verbosity: int) -> None:
    """Keep PySpark and py4j from printing the tracebacks of what they raise as well."""
    for name in _NOISY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = verbosity < 1
    if verbosity < 1:
        logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _configuration(settings: SparkSettings, application: str, verbosity: int) -> SparkConf:
    """Ours where nobody says otherwise, then what spark-submit was told, then the settings."""
    conf = known_configuration()
    conf.setIfMissing("spark.master", settings.master)
    if settings.master != SparkSettings().master:
        conf.setMaster(settings.master)
    for name, value in (_ALWAYS | (_LOCAL if _is_local(_master(conf)) else {})).items():
        conf.setIfMissing(name, value)
    if user := os.environ.get(_HDFS_USER):  # for whom tasks act, too
        conf.setIfMissing(f"spark.executorEnv.{_HDFS_USER}", user)
    conf.setIfMissing("spark.app.name", f"seglake {application}")
    conf.setAll(list(settings.properties))
    if not is_submitted():
        level = _LOG_LEVELS[max(0, min(verbosity, len(_LOG_LEVELS) - 1))]
        given = conf.get(_JAVA_OPTIONS) or ""
        log = (
            f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()} -Dseglake.log.level={level}"
        )
        conf.set(_JAVA_OPTIONS, f"{log} {given}".strip())
    return conf


def _compile_quickly(conf: SparkConf) -> None:
    """Keep a command to Java's first compiler where all that Java does is hand tasks to Python.

    The second one is worth its cost in runs of minutes only: without it a run starts in a sixth
    less time. A JVM that a notebook goes on to use has both.
    """
    if ends_process.get() and _is_local(_master(conf)) and not is_submitted():
        given = conf.get(_JAVA_OPTIONS) or ""
        conf.set(_JAVA_OPTIONS, f"-XX:TieredStopAtLevel=1 {given}".strip())


def _add_delta(conf: SparkConf) -> None:
    for name, value in (_DELTA | (_LOCAL_SQL if _is_local(_master(conf)) else {})).items():
        conf.setIfMissing(name, value)
    _add_jars(conf, "delta-spark", delta_jars)


def _add_jars(
    conf: SparkConf, module: str, find: Callable[[Mapping[str, str], Path], list[Path]]
) -> None:
    """Add JARs unless `module` is given; a JVM that runs already cannot be given any more."""
    given = conf.get("spark.jars") or ""
    packages = conf.get("spark.jars.packages") or ""
    if is_submitted() or module in f"{given} {packages}":
        return
    jars = [str(jar) for jar in find(os.environ, spark_home())]
    conf.set("spark.jars", ",".join([*jars, *filter(None, [given])]))


def _tell_hadoop(context: SparkContext, properties: Mapping[str, str]) -> None:
    """Set Hadoop's properties where neither Spark's page nor its SQL shows them."""
    configuration = context._jsc.hadoopConfiguration()
    for name, value in properties.items():
        configuration.set(name, value)


def _master(conf: SparkConf) -> str:
    """Where Spark will run: under spark-submit that is its word unless the settings have one."""
    return conf.get("spark.master") or ""


def _require_delta(session: SparkSession) -> None:
    """Load Delta's classes: Spark itself only warns when they are missing, and fails later."""
    for class_name in _DELTA.values():
        _require_class(
            session,
            class_name,
            f"runs, but without Delta: its class {class_name} cannot be loaded. Under spark-submit"
            " add --packages io.delta:delta-spark_4.2_2.13:4.4.0 or the same as --jars; else see"
            " that spark.jars in the settings holds the Delta JARs that fit this Spark.",
        )


def _require_s3a(session: SparkSession) -> None:
    """Load Hadoop's classes for S3, which only a JVM that was running before us may lack."""
    _require_class(
        session,
        _S3A_CLASS,
        f"runs, but cannot read S3: its class {_S3A_CLASS} cannot be loaded. Under spark-submit add"
        " what `python -m seglake.environment.s3_jars` prints to --jars; else see that spark.jars"
        " in the settings has all that hadoop-aws needs.",
    )


def _require_class(session: SparkSession, class_name: str, lacking: str) -> None:
    """Load a class of Java's; `lacking` says what to do where that fails."""
    load = session.sparkContext._jvm.org.apache.spark.util.Utils.classForName  # type: ignore[union-attr]  # only None before a start
    try:
        load(class_name, True, False)
    except Py4JError as error:
        raise SparkStartError(f"Spark {session.version} {lacking}") from error


def _is_local(master: str) -> bool:
    return master.startswith("local")
