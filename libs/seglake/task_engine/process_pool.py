"""Pool of processes of this machine, which run tasks of the local engine."""

import contextlib
import functools
import logging
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
from typing import TypeVar

from seglake.task_engine.errors import EngineError, task_failed

_LOG = logging.getLogger(__name__)
_LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"
T = TypeVar("T")
R = TypeVar("R")
_LONGEST_WAIT_SECONDS = 0.5


class ProcessPool:
    """Worker processes; the first run starts them, and a run with more tasks more of them."""

    def __init__(self, processes: int, preloaded: list[str]) -> None:
        """Store the arguments, which are those of `LocalEngine`."""
        self._processes = processes
        self._preloaded = preloaded
        self._pool: ProcessPoolExecutor | None = None
        self._worker_count = 0

    def start(self) -> None:
        """Start the fork server; see `LocalEngine.start`."""
        with _held_interrupts():
            _process_context(self._preloaded)

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], on_done: Callable[[int], None]
    ) -> list[R]:
        """Run the tasks in the pool; end all workers after any error."""
        try:
            with _held_interrupts():
                pool = self._pool_for(len(tasks))
                futures = [pool.submit(function, task) for task in tasks]
                finished = _finished_of(futures)
            for count, future in enumerate(_as_finished(finished, len(futures)), start=1):
                _raise_failure(future, futures)
                on_done(count)
        except BrokenProcessPool as error:
            self.end(at_once=True)
            reason = "a worker process ended before its task did (killed, or out of memory)"
            raise EngineError(engine="local", reason=reason) from error
        except BaseException:
            self.end(at_once=True)
            raise
        return [future.result() for future in futures]

    def _pool_for(self, task_count: int) -> ProcessPoolExecutor:
        """Return a pool with enough workers for the tasks; replace one that is too small."""
        count = min(self._processes, task_count)
        if self._pool is not None and self._worker_count < count:
            self._pool.shutdown()  # no worker has a task now
            self._pool = None
        if self._pool is None:
            self._worker_count = count
            _LOG.debug("opened a pool: processes=%d", count)
            self._pool = ProcessPoolExecutor(
                count,
                mp_context=_process_context(self._preloaded),
                initializer=_prepare_worker,
                initargs=(dict(os.environ),),
            )
        return self._pool

    def end(self, *, at_once: bool) -> None:
        """End the workers; `at_once` kills running tasks, which may leave unreferenced files."""
        if self._pool is None:
            return
        with _held_interrupts():  # a second Ctrl-C here would leave the pool's semaphores undeleted
            pool, self._pool = self._pool, None
            if at_once:
                # Python before 3.14 has no public method; `_processes` is None if the pool has
                # broken.
                for process in list((pool._processes or {}).values()):
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _process_context(preloaded: list[str]) -> BaseContext:
    """Return the start method of worker processes, which are never forks of the caller.

    delta-rs does not work in a fork of a process that has already used it. The imports for decoding
    take 0.8 s of a core.

    On Linux the fork server imports them once, without starting a thread, and workers are forked
    from it. The fork server lives as long as the caller's process, and serves later runs too. In
    two cases each worker does its own imports: on other systems, and if the folder for temporary
    files cannot have a socket, for example because its path exceeds some 70 bytes.
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


# do this only once, because changing the environment is unsafe while libraries run threads
@functools.cache
def _start_fork_server() -> None:
    """Start the fork server; its numpy starts no threads.

    numpy's threads are for linear algebra, which workers do not use, and they spin for a tenth of a
    second before they sleep. The caller's numpy is not affected.
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
    """Delay Ctrl-C while workers start or end.

    Workers inherit the signal mask, so Ctrl-C cannot end a worker before it ignores the signal. The
    mask alone is not enough, because Python calls the handler in the main thread even if another
    thread gets the signal.
    """
    resource_tracker.ensure_running()  # start the tracker first, because this unblocks the signal
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
    """Return a queue that receives each future when it is done.

    Call it inside `_held_interrupts`: a Ctrl-C during the call could leave a future locked, and the
    pool would wait for that future.
    """
    finished: SimpleQueue[Future[R]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(finished.put)
    return finished


def _as_finished(finished: SimpleQueue[Future[R]], count: int) -> Iterator[Future[R]]:
    """Yield each future when it is done.

    Waits are short, because a Ctrl-C just before a wait takes effect only after it.
    `concurrent.futures.as_completed` would wait until the next task is done.
    """
    while count:
        with contextlib.suppress(Empty):
            yield finished.get(timeout=_LONGEST_WAIT_SECONDS)
            count -= 1


def _raise_failure(future: Future[R], futures: Sequence[Future[R]]) -> None:
    """Raise the error of a finished task; do nothing if it has none."""
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
    if error is not None:
        raise task_failed(error, futures.index(future)) from error


def _prepare_worker(environment: dict[str, str]) -> None:
    """Make a worker ignore Ctrl-C, end with the driver, and use the driver's environment.

    This is needed because the fork server still has the environment of the first run.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)


def _end_with_driver() -> None:
    """End this process when the driver ends."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)
