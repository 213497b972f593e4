"""A command of the product that stops at named points and asks what shall happen: a process's life.

At each point whoever works there, the driver or a task, connects to a socket, says where it is, and
waits for an answer. The product does its own work at its own pace between the points; nothing of it
is replaced.
"""

import errno
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from seglake.cli.main import main
from seglake.ingest_steps import run_context
from seglake.ingest_steps.committing import wave
from seglake.ingest_steps.run_context import RunContext
from seglake.lake import delta_commit, table_creation
from seglake.pipelines.lake_maintenance import maintain
from seglake.pipelines.lake_replay import replay
from seglake.pipelines.segment_ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.segment_decoding.decode import decode
from seglake.segment_decoding.tasks import DecodeTask, TaskReport
from seglake.task_engine.engine import LocalEngine

GO_ON = "go on"
DISK_FULL = "no byte can be written from now on"
NO_SPACE = "no space is left"
NO_MEMORY = "no memory is left"

A_FAULT = "a fault in seglake itself:"

_ADDRESS = "SEGLAKE_TESTS_POINTS"


def run_held(address: str, argv: Sequence[str], printed: str) -> NoReturn:
    """Be the process of a command that asks at each point; what it prints goes to a named pipe.

    Args:
        address: of a Unix socket.
    """
    output = os.open(printed, os.O_WRONLY | os.O_NONBLOCK)  # fails where nobody reads any more
    os.set_blocking(output, True)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ[_ADDRESS] = address
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)  # of Spark's
    _hold()
    code = 1
    try:
        code = main(argv)
    except Exception as fault:  # noqa: BLE001  (as the interpreter would end)
        sys.stdout.write(f"{A_FAULT} {type(fault).__name__}: {fault}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # what this process has from the one that it was forked of is not its own


def ask(point: str) -> None:
    """Say that this process is there, and do what the answer says."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ[_ADDRESS])
        connection.sendall(f"{os.getpid()} {point}\n".encode())
        answer = connection.makefile().readline().rstrip("\n")
    match answer:
        case "":  # whoever asked for it has gone
            os._exit(1)
        case _ if answer == DISK_FULL:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        case _ if answer == NO_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case _ if answer == NO_MEMORY:
            raise MemoryError


def held_decode(task: DecodeTask) -> TaskReport:
    """Decode a task as the product does, with a point before and one after it."""
    ask("task begun")
    report = decode(task)
    ask("task done")
    return report


def _hold() -> None:
    """Put the points into the product, in this process alone."""
    _ask_behind(RunReporter, "step", lambda reporter, text: str(text))
    _ask_behind(table_creation, "_create", lambda tables, table, **__: f"made {table.name}")
    _ask_behind(run_context, "discover", lambda *_, **__: "listed")
    _ask_behind(delta_commit, "published", lambda *_, **__: "ledger read")
    _ask_behind(ingest, "append_observations", lambda *_, **__: "observed")
    _ask_behind(LocalEngine, "run", lambda engine, function, *_, **__: f"{function.__name__} ran")
    begun = RunContext.begun
    _put(RunContext, "begun", lambda scan, *others: begun(replace(scan, after=ask), *others))
    _ask_behind(maintain, "replace_files", lambda view, *_, **__: f"merged {view.table.name}")
    for step, name in (("vacuumed", "vacuumed"), ("write_checkpoint", "checkpoint of")):
        _ask_behind(maintain, step, lambda _, table, *__, name=name, **___: f"{name} {table.name}")
    _ask_after(maintain, "recover")
    _ask_after(replay, "recover")
    _put(wave, "decode", held_decode)


# Any: functions of all kinds.
def _put(owner: Any, name: str, function: Callable[..., Any]) -> None:
    """Put a function in the place of the product's."""
    setattr(owner, name, function)


# Any: the same.
def _ask_behind(owner: Any, name: str, point: Callable[..., str]) -> None:
    original = getattr(owner, name)

    def and_ask(*arguments: Any, **named: Any) -> Any:
        outcome = original(*arguments, **named)
        ask(point(*arguments, **named))
        return outcome

    _put(owner, name, and_ask)


# Any: the same.
def _ask_after(owner: Any, name: str) -> None:
    """Put a point after each call that the product makes behind a step of a commit."""
    original = getattr(owner, name)

    def with_points(*arguments: Any, **named: Any) -> Any:
        return original(*arguments, **{**named, "after": ask})

    _put(owner, name, with_points)
