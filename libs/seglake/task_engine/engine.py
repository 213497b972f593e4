"""Runs one top-level function over many task descriptions: the port and its two engines. Effect.

Functions are importable by name; tasks and results pickle. Both engines give the results in the
order of the tasks and call `on_done` in the caller's thread with the number finished so far.
A task may be run twice (a lost worker, a speculative copy); one result of it comes back.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from seglake.errors import SeglakeError
from seglake.task_engine.errors import EngineError
from seglake.task_engine.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["Engine", "LocalEngine", "SparkEngine"]

_LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"
T = TypeVar("T")
R = TypeVar("R")
_LONGEST_WAIT_SECONDS = 0.5


class Engine(Protocol):
    """Where tasks run."""

    def start(self) -> None:
        """Get ready for tasks that will come; may be left out."""

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        on_done: Callable[[int], None],
    ) -> list[R]:
        """Run the function once for each task and return the results in the tasks' order.

        Raises:
            EngineError: a task raised, or its worker died; the others are given up.
        """

    def spark_context(self) -> "SparkContext | None":
        """Return the running Spark, started if it must be; None if tasks run without one."""


class LocalEngine:
    """A pool of processes on this machine, started with the first run of more than one task.

    A single task runs in the caller's own process, and there are never more processes than tasks.
    Use it in a `with` block; leaving it ends the processes.

    Args:
        processes: how many tasks run at a time, at most.
        preloaded: modules that workers find imported already, where the platform can do that.
    """

    def __init__(self, processes: int, *, preloaded: Sequence[str] = ()) -> None:
        self._processes = processes
        self._preloaded = list(preloaded)
        self._pool: ProcessPoolExecutor | None = None
        self._worker_count = 0

    def spark_context(self) -> None:
        """Return None: there is no Spark."""

    def start(self) -> None:
        """Start what workers are forked from, and do not wait: to fork one would.

        Elsewhere than on Linux there is no such process, and this does nothing.
        """
        if self._processes > 1:
            with _held_interrupts():
                _process_context(self._preloaded)

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        on_done: Callable[[int], None],
    ) -> list[R]:
        if len(tasks) > 1 and self._processes > 1:
            return self._run_in_pool(function, tasks, on_done)
        results = []
        for index, task in enumerate(tasks):
            try:
                results.append(function(task))
            except Exception as error:
                raise _task_failed(error, index) from error
            on_done(index + 1)
        return results

    def _run_in_pool(
        self, function: Callable[[T], R], tasks: Sequence[T], on_done: Callable[[int], None]
    ) -> list[R]:
        try:
            with _held_interrupts():
                pool = self._pool_for(len(tasks))
                futures = [pool.submit(function, task) for task in tasks]
                finished = _finished_of(futures)
            for count, future in enumerate(_as_finished(finished, len(futures)), start=1):
                _raise_failure(future, futures)
                on_done(count)
        except BrokenProcessPool as error:
            self._end(at_once=True)
            reason = "a worker process ended before its task did (killed, or out of memory)"
            raise EngineError(engine="local", reason=reason) from error
        except BaseException:
            self._end(at_once=True)
            raise
        return [future.result() for future in futures]

    def _pool_for(self, task_count: int) -> ProcessPoolExecutor:
        count = min(self._processes, task_count)
        if self._pool is not None and self._worker_count < count:
            self._pool.shutdown()  # no worker has anything to do
            self._pool = None
        if self._pool is None:
            self._worker_count = count
            self._pool = ProcessPoolExecutor(
                count,
                mp_context=_process_context(self._preloaded),
                initializer=_prepare_worker,
                initargs=(dict(os.environ),),
            )
        return self._pool

    def _end(self, *, at_once: bool) -> None:
        """End the workers.

        Args:
            at_once: in the middle of their tasks: what they leave is unreferenced files.
        """
        if self._pool is None:
            return
        with _held_interrupts():  # a second Ctrl-C would leave the pool's semaphores behind
            pool, self._pool = self._pool, None
            if at_once:
                # No public way before Python 3.14; the attribute is None once the pool has broken.
                for process in list((pool._processes or {}).values()):
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self._end(at_once=kind is not None)


def _process_context(preloaded: list[str]) -> BaseContext:
    """How workers come into being: never as forks of the caller, which delta-rs does not survive.

    To import what decoding needs takes 0.8 s of a core. On Linux one process does so once, without
    starting a thread, and workers are forked from that; it lives as long as the caller's process,
    for the runs that follow. Elsewhere each worker begins from nothing; so it does where the folder
    for temporary files can hold no socket, as with a path of more than some 70 bytes.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(preloaded)
    try:
        _start_fork_server()
    except OSError:
        return multiprocessing.get_context("spawn")
    return context


@functools.cache  # once: to change the environment is not safe beside threads of libraries
def _start_fork_server() -> None:
    """Start what workers are forked from, with a numpy that starts no threads of its own.

    They are for linear algebra, which nothing here calls, and spin for a tenth of a second before
    they sleep. The caller's own numpy is not touched.
    """
    is_ours = _LINEAR_ALGEBRA not in os.environ
    if is_ours:
        os.environ[_LINEAR_ALGEBRA] = "1"
    try:
        forkserver.ensure_running()
    finally:
        if is_ours:
            os.environ.pop(_LINEAR_ALGEBRA, None)


@contextlib.contextmanager
def _held_interrupts() -> Iterator[None]:
    """Keep Ctrl-C waiting while workers come into being, or end.

    They inherit the mask, so none is hit before it has learned to leave Ctrl-C to the driver. The
    mask alone would not do: where another thread takes the signal, Python calls the handler in
    the main thread all the same.
    """
    resource_tracker.ensure_running()  # which lets it through as it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handler = signal.getsignal(signal.SIGINT)
    came: list[int] = []
    is_ours = threading.current_thread() is threading.main_thread() and handler is not None
    try:
        if is_ours:
            signal.signal(signal.SIGINT, lambda number, _: came.append(number))
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if is_ours:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _finished_of(futures: Sequence[Future[R]]) -> SimpleQueue[Future[R]]:
    """Where each future comes as it is done; call it with interrupts held.

    A Ctrl-C here could leave the lock of a future taken, and the pool waiting for it.
    """
    finished: SimpleQueue[Future[R]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(finished.put)
    return finished


def _as_finished(finished: SimpleQueue[Future[R]], count: int) -> Iterator[Future[R]]:
    """Each future as it is done.

    A Ctrl-C that comes when a wait is about to begin does not end that wait, whence many short ones
    (`concurrent.futures.as_completed` would sleep until the next task is done).
    """
    while count:
        with contextlib.suppress(Empty):
            yield finished.get(timeout=_LONGEST_WAIT_SECONDS)
            count -= 1


def _raise_failure(future: Future[R], futures: Sequence[Future[R]]) -> None:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
    if error is not None:
        raise _task_failed(error, futures.index(future)) from error


def _task_failed(error: BaseException, task_index: int) -> EngineError:
    reason = str(error) if isinstance(error, SeglakeError) else f"{type(error).__name__}: {error}"
    return EngineError(engine="local", reason=reason, task_index=task_index)


def _prepare_worker(environment: dict[str, str]) -> None:
    """Leave Ctrl-C to the driver, end with the driver however that ends, and have its environment.

    The process that workers are forked from has that of the first run.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)


def _end_with_driver() -> None:
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)
