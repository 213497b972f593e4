"""Starts Spark with JARs that match the installed Python packages, and with little log output.

Under spark-submit the JVM already runs, so its master and properties are kept. The properties of
seglake apply only if they are not set yet.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from seglake.environment.delta_jars import delta_jars, delta_package
from seglake.environment.errors import SparkStartError
from seglake.environment.hadoop_files import (
    USERS_CONF_FOLDER,
    every_spark_default,
    spark_conf_folder,
)
from seglake.environment.interrupts import ends_process
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars
from seglake.environment.spark_home import spark_home
from seglake.environment.spark_start import (
    SECRET_NAMES,
    known_configuration,
    start,
    start_context,
)
from seglake.environment.spark_submit import is_submitted
from seglake.settings.settings import SparkSettings
from seglake.spark_features import LOGGED_FAILURES, spark_has

_S3A = "s3a:"
_S3A_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_HDFS_USER = "HADOOP_USER_NAME"
_PYTHON_OF_WORKERS = "spark.pyspark.python"
# Spark puts these options before spark.driver.extraJavaOptions, which the user may have set.
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_LOG_LEVELS = ("off", "warn", "info")  # the index is the number of -v options

# PySpark logs a failing query as JSON with Java's whole stack, and raises the error as well.
_NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Print the Python line of a segmentation fault.
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.redaction.regex": SECRET_NAMES,
    # A metastore may accept calls but never answer; Hive's own limit is ten minutes.
    "spark.hadoop.hive.metastore.client.socket.timeout": "60s",
    "spark.hadoop.hive.metastore.connect.retries": "1",
    "spark.hadoop.hive.metastore.failure.retries": "0",
}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# The Delta logs of a lake are small. On one machine, parallel tasks cost more than they save.
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
    """Start Spark's core without SQL, for jobs that need only an engine; stop it after the block.

    It is stopped after the block.

    Args:
        settings: Spark's master and properties.
        application: the command's name, part of the application's name.
        verbosity: amount of Spark's output; nothing below 1.

    Raises:
        NoJavaError: there is no Java for Spark.
        SparkStartError: Spark does not start.
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
    """Return whether seglake started a Spark context; False if its caller started it."""
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
    """Start a session that reads Delta tables, and stop it after the block.

    Args:
        settings: Spark's master and properties.
        application: the command's name, part of the application's name.
        verbosity: amount of Spark's output; nothing below 1.
        lake: the lake to read, as a Hadoop URI.
        hadoop: Hadoop's properties for access to the lake; they are never shown.

    Raises:
        NoJavaError: there is no Java for Spark.
        DeltaJarsError, S3JarsError: the JARs for Delta or S3 are missing and cannot be fetched.
        SparkStartError: Spark does not start, or starts without Delta.
    """
    _prepare_environment()
    _quieten_python(verbosity)
    conf = _configuration(settings, application, verbosity)
    _choose_python_of_workers(conf)
    _add_delta(conf)
    if lake.startswith(_S3A):
        _add_jars(conf, "hadoop-aws", s3_jars)
    context = start_context(conf)
    _configure_hadoop(context, hadoop or {})
    session = start(SparkSession.builder.getOrCreate, _master(conf))
    with _stopped_after(session):
        _require_delta(session)
        if lake.startswith(_S3A):
            _require_s3a(session)
        yield session


@contextmanager
def _stopped_after(running: SparkContext | SparkSession) -> Iterator[None]:
    """Stop Spark after the block, except after Ctrl-C.

    Ctrl-C may have interrupted an exchange with the JVM, so the next call could read the answer to
    an earlier call. The JVM ends with our process.
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
    """Stop Spark; if the command's process is about to end, stop only the JVM's side.

    PySpark's side would wait up to a second for its own server, which is no longer needed.
    """
    context = running.sparkContext if isinstance(running, SparkSession) else running
    if ends_process.get():
        # The JVM may have died, which has been reported; Py4J raises its own errors, or a socket's.
        with suppress(Py4JError, OSError):
            context._jsc.stop()
    else:
        running.stop()


def _prepare_environment() -> None:
    """Set the variables that Spark's launcher reads; spark-submit sets them itself."""
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
        # Without spark-submit, Spark does not read this property.
        os.environ["PYSPARK_PYTHON"] = named
    elif is_submitted():
        return
    elif _is_local(_master(conf)):  # workers on this machine must have this Python's packages
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _quieten_python(verbosity: int) -> None:
    """Keep PySpark and py4j from printing tracebacks of exceptions that they also raise."""
    if spark_has(LOGGED_FAILURES):
        from pyspark.logger import PySparkLogger

        for name in _NOISY_LOGGERS:
            PySparkLogger.getLogger(name).disabled = verbosity < 1
    if verbosity < 1:
        logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _configuration(settings: SparkSettings, application: str, verbosity: int) -> SparkConf:
    """Return our defaults, overridden by spark-submit's properties and then by the settings."""
    conf = known_configuration()
    conf.setIfMissing("spark.master", settings.master)
    if settings.master != SparkSettings().master:
        conf.setMaster(settings.master)
    for name, value in (_ALWAYS | (_LOCAL if _is_local(_master(conf)) else {})).items():
        conf.setIfMissing(name, value)
    if user := os.environ.get(_HDFS_USER):  # tasks read and write as this user, too
        conf.setIfMissing(f"spark.executorEnv.{_HDFS_USER}", user)
    conf.setIfMissing("spark.app.name", f"seglake {application}")
    conf.setAll(list(settings.properties))
    if not is_submitted():
        level = _LOG_LEVELS[max(0, min(verbosity, len(_LOG_LEVELS) - 1))]
        # A value of ours replaces that of spark-defaults.conf, which only the JVM reads.
        given = conf.get(_JAVA_OPTIONS) or every_spark_default(os.environ).get(_JAVA_OPTIONS, "")
        log = (
            f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()} -Dseglake.log.level={level}"
        )
        conf.set(_JAVA_OPTIONS, f"{log} {given}".strip())
    return conf


def _compile_quickly(conf: SparkConf) -> None:
    """Limit a local command's JVM to Java's first compiler: the JVM only starts Python tasks.

    The second compiler only helps in runs of several minutes; without it, a run starts a sixth
    faster. A JVM that a notebook continues to use keeps both compilers.
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
    """Add JARs unless `module` is already given or the JVM is already running."""
    given = conf.get("spark.jars") or ""
    packages = conf.get("spark.jars.packages") or ""
    if is_submitted() or module in f"{given} {packages}":
        return
    jars = [str(jar) for jar in find(os.environ, spark_home())]
    conf.set("spark.jars", ",".join([*jars, *filter(None, [given])]))


def _configure_hadoop(context: SparkContext, properties: Mapping[str, str]) -> None:
    """Set Hadoop's properties where neither Spark's pages nor its SQL show them."""
    configuration = context._jsc.hadoopConfiguration()
    for name, value in properties.items():
        configuration.set(name, value)


def _master(conf: SparkConf) -> str:
    """Return Spark's master: the settings' one, else spark-submit's."""
    return conf.get("spark.master") or ""


def _require_delta(session: SparkSession) -> None:
    """Load Delta's classes now: Spark would only warn about missing ones, and fail later."""
    for class_name in _DELTA.values():
        _require_class(
            session,
            class_name,
            f"runs, but without Delta: its class {class_name} cannot be loaded. Under "
            f"spark-submit add --packages {delta_package(spark_home())} or the same as --jars; "
            "else check that spark.jars in the settings has the Delta JARs for this Spark.",
        )


def _require_s3a(session: SparkSession) -> None:
    """Load Hadoop's classes for S3; only a JVM that seglake did not start can lack them."""
    _require_class(
        session,
        _S3A_CLASS,
        f"runs, but cannot read S3: its class {_S3A_CLASS} cannot be loaded. Under spark-submit add"
        " what `python -m seglake.environment.s3_jars` prints to --jars; else check that spark.jars"
        " in the settings has all that hadoop-aws needs.",
    )


def _require_class(session: SparkSession, class_name: str, lacking: str) -> None:
    """Load a Java class; if that fails, raise SparkStartError with the text `lacking`."""
    java: Any = session.sparkContext._jvm  # py4j has no types
    try:
        java.org.apache.spark.util.Utils.classForName(class_name, True, False)
    except Py4JError as error:
        raise SparkStartError(f"Spark {session.version} {lacking}") from error


def _is_local(master: str) -> bool:
    return master.startswith("local")
