"""Starts Spark's JVM and its context, and explains why they do not start. Effect.

A master that does not answer is found before Spark would wait a minute for it. Secrets are not on
the JVM's command line, which every user of the machine can read: they are set in the context.
"""

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

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
"""Spark's own pattern of names whose values it hides, and S3's names that it lacks."""

_STANDALONE = "spark://"
_CONNECT_SECONDS = 5
_INTERRUPTED_CODE = 130  # the code that shells use
_ANSWER_SECONDS = 30  # Spark itself waits for 60, and continues with a dead context

_Started = TypeVar("_Started")


def known_configuration() -> SparkConf:
    """Return Spark's configuration so far: all of spark-submit's, or an empty one.

    PySpark reads it from the JVM, so it must be connected to the JVM first.
    """
    if is_submitted():
        SparkContext._ensure_initialized()
    return SparkConf()


def start_context(conf: SparkConf) -> SparkContext:
    """Start a context, and a JVM unless spark-submit or another context has started one.

    Args:
        conf: the complete configuration.

    Raises:
        SparkStartError: Spark does not start; the message names the master.
    """
    master = conf.get("spark.master") or ""
    with step_within("starting Spark"):
        _require_listener(master)
        gateway = SparkContext._gateway or start(lambda: _launch(conf), master)
        return start(lambda: SparkContext(conf=conf, gateway=gateway), master)


def start(create: Callable[[], _Started], master: str) -> _Started:
    """Start a part of Spark; during the start, Ctrl-C ends the process of a command at once.

    The start runs in a thread of its own, so that a master that does not answer can be given up.
    PySpark's own handler for Ctrl-C, which talks to the JVM, is not set in such a thread.

    Args:
        create: starts it and returns it.
        master: the URL of Spark's master, for messages and the time limit.

    Raises:
        SparkStartError: it does not start, or not in time.
    """
    leaves = ends_process.get() and threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if leaves:
        signal.signal(signal.SIGINT, lambda number, frame: _leave_interrupted())
    try:
        is_standalone = master.startswith(_STANDALONE)
        return called(create).result(_ANSWER_SECONDS if is_standalone else None)
    except TimeoutError as error:
        raise SparkStartError(
            f"Spark's master {master} did not take us on within {_ANSWER_SECONDS} s. See that this"
            " is its URL as its log or its page has it, that it runs Spark"
            f" {pyspark.__version__}, and that it can reach this machine (spark.driver.host)."
        ) from error
    except (PySparkException, Py4JError) as error:
        raise SparkStartError(
            f"Spark did not start with master {master}: {_reason(error)}. Run again with -vv to see"
            " what its JVM says."
        ) from error
    finally:
        if leaves:
            signal.signal(signal.SIGINT, before)


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
            return  # Spark's own message explains the mistake
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS):
                return
        except (OSError, OverflowError) as error:
            problems.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise SparkStartError(
        f"Spark did not start: nobody answers at its master {master} ({'; '.join(problems)})."
        " See that the master runs, and that this is its URL as its log or its page has it."
    )


def _launch(conf: SparkConf) -> JavaGateway:
    """Start a JVM, or connect to the one that spark-submit has started."""
    public = [(name, value) for name, value in conf.getAll() if not re.search(SECRET_NAMES, name)]
    gateway: JavaGateway = launch_gateway(SparkConf(loadDefaults=False).setAll(public))  # type: ignore[no-untyped-call]  # has no types
    return gateway


def _reason(error: Exception) -> str:
    """Return the message of Java or PySpark without the line that names the failed call."""
    lines = str(error).strip().splitlines()
    is_call = lines[0].startswith("An error occurred while calling") and len(lines) > 1
    return lines[is_call].lstrip(": ").rstrip(".")
