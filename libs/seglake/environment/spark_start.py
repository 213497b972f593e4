"""Starts Spark's JVM and its context, and explains why a start failed.

A master that is down is reported at once. A master that does not answer is reported before Spark's
own limit: after this limit, Spark would continue with a dead context. Only the wait for the master
is limited, since the driver may need minutes to fetch packages or to unpack an archive. Secrets are
set in the context, since every user of the machine can read the JVM's command line.
"""

import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, NoReturn, TypeVar

import pyspark
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from seglake.environment.errors import SparkStartError
from seglake.environment.interrupts import ends_process
from seglake.environment.spark_submit import is_submitted
from seglake.progress.run_reporter import leave_terminal, step_within
from seglake.storage.daemon_call import called

SECRET_NAMES = r"(?i)secret|password|token|access[._]?key|encryption[.]key"
"""Pattern of names of properties with secret values: Spark's own pattern, with names for S3."""

_STANDALONE = "spark://"
_CONNECT_SECONDS = 5
_INTERRUPTED_CODE = 130  # the code that shells use
_LOOK_SECONDS = 5  # on a quiet machine, Spark starts within this time
_ANSWER_SECONDS = 30  # Spark asks the master every 20 s, and gives up after 60 s
# message of Java 24 and newer; Hadoop before 3.5 causes it
_JAVA_TOO_NEW = "getSubject is not supported"
_WAITS_FOR_MASTER = "StandaloneSchedulerBackend.waitForRegistration("

_Started = TypeVar("_Started")


def known_configuration() -> SparkConf:
    """Return Spark's configuration so far: spark-submit's, or an empty configuration.

    PySpark reads the configuration from the JVM, so it must be connected to the JVM first.
    """
    if is_submitted():
        SparkContext._ensure_initialized()
    return SparkConf()


def start_context(conf: SparkConf) -> SparkContext:
    """Start a context, and a JVM unless spark-submit or another context has already started one.

    Args:
        conf: the complete configuration.

    Raises:
        SparkStartError: Spark does not start; the message names the master.
    """
    master = conf.get("spark.master") or ""
    with step_within("starting Spark"):
        _require_listener(master)
        gateway = SparkContext._gateway or start(lambda: _launch(conf), master)
        create = partial(SparkContext, conf=conf, gateway=gateway)
        return start(create, master, is_unanswered=lambda: _waits_for_master(gateway))


def start(
    create: Callable[[], _Started],
    master: str,
    *,
    is_unanswered: Callable[[], bool] = lambda: False,
) -> _Started:
    """Start a part of Spark; during the start, Ctrl-C ends a command's process at once.

    The start runs in a separate thread, so that waiting for a master can be given up. PySpark's own
    handler for Ctrl-C, which calls the JVM, is not set in such a thread.

    Args:
        create: starts the part and returns it.
        master: the URL of Spark's master, for messages.
        is_unanswered: returns whether the start waits for the master to accept the application.

    Raises:
        SparkStartError: Spark does not start, or the master does not answer in time.
    """
    leaves = ends_process.get() and threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if leaves:
        signal.signal(signal.SIGINT, lambda number, frame: _leave_interrupted())
    try:
        started = called(create)
        _await_master(started, is_unanswered, master)
        return started.result()
    except (PySparkException, Py4JError) as error:
        reason = _reason(error)
        advice = (
            f"This Java is too new for Spark {pyspark.__version__}: let JAVA_HOME name a Java 17."
            if _JAVA_TOO_NEW in reason
            else "Run again with -vv to see the output of its JVM."
        )
        raise SparkStartError(
            f"Spark did not start with master {master}: {reason}. {advice}"
        ) from error
    finally:
        if leaves:
            signal.signal(signal.SIGINT, before)


def _await_master(
    started: Future[_Started], is_unanswered: Callable[[], bool], master: str
) -> None:
    """Wait for the end of a start; raise SparkStartError if the master does not answer in time."""
    asked_s = None
    while not wait([started], _LOOK_SECONDS).done:
        if not is_unanswered():
            asked_s = None
            continue
        asked_s = asked_s if asked_s is not None else time.monotonic()
        if time.monotonic() - asked_s >= _ANSWER_SECONDS:
            raise SparkStartError(
                f"Spark's master {master} did not accept the application within"
                f" {_ANSWER_SECONDS} s. Check that the master's log or page shows this URL, that it"
                f" runs Spark {pyspark.__version__}, and that it can reach this machine"
                " (spark.driver.host)."
            )


def _waits_for_master(gateway: JavaGateway) -> bool:
    """Return whether a JVM thread waits for a standalone master to accept an application."""
    java: Any = gateway.jvm.java  # py4j has no types
    try:
        bean = java.lang.management.ManagementFactory.getThreadMXBean()
        # The frame to find is the sixth; a thread's text has its top eight frames.
        return any(_WAITS_FOR_MASTER in str(thread) for thread in bean.dumpAllThreads(False, False))
    except Py4JError:
        return False  # the JVM has ended, so the start will end, too


def _leave_interrupted() -> NoReturn:
    """End the process on Ctrl-C without cleaning up, which would hang."""
    leave_terminal()
    sys.stderr.write("seglake: interrupted while Spark started; it can be run again\n")
    sys.stderr.flush()
    os._exit(_INTERRUPTED_CODE)


def _require_listener(master: str) -> None:
    """Raise SparkStartError unless one of the standalone master's addresses accepts connections."""
    if not master.startswith(_STANDALONE):
        return
    problems = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            return  # Spark itself explains a malformed address
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS):
                return
        except (OSError, OverflowError) as error:
            problems.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise SparkStartError(
        f"Spark did not start: its master {master} does not answer ({'; '.join(problems)})."
        " Check that the master runs, and that its log or page shows this URL."
    )


def _launch(conf: SparkConf) -> JavaGateway:
    """Start a JVM, or connect to the JVM that spark-submit has started."""
    public = [(name, value) for name, value in conf.getAll() if not re.search(SECRET_NAMES, name)]
    gateway: JavaGateway = launch_gateway(SparkConf(loadDefaults=False).setAll(public))  # type: ignore[no-untyped-call]  # has no types
    return gateway


def _reason(error: Exception) -> str:
    """Return the message of Java or PySpark, without the line that names the failed call."""
    lines = str(error).strip().splitlines()
    is_call = lines[0].startswith("An error occurred while calling") and len(lines) > 1
    return lines[is_call].lstrip(": ").rstrip(".")
