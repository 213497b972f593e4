"""Turns a job's end into an exit code, and its failure into one paragraph for a person."""

import errno
import gc
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import NoReturn

from seglake.cli.streams import abandon_out, make_ready, out_is_gone
from seglake.environment.interrupts import ends_process
from seglake.errors import ExitCode, SeglakeError, WrongCallError
from seglake.printable import on_one_line

_RUST_LOG = "RUST_LOG"  # HDFS clients print warnings in addition to the errors that they raise
_VERBOSE = frozenset({"-v", "-vv", "-vvv", "--verbose"})
_explains: ContextVar[bool] = ContextVar("explains", default=True)
_INTERRUPTED = "seglake: interrupted"
_NO_MEMORY = "out of memory; what was committed stays. Run again with more memory"
_WRITING_INTERRUPTED = f"{_INTERRUPTED}; what was committed stays, the rest can be run again"


def run_job(job: Callable[[], int], *, verbose: bool, writes: bool, explains: bool = True) -> int:
    """Run a job and return its exit code, explaining a failure on stderr.

    An expected failure becomes one paragraph on stderr, with the traceback before it if `verbose`.
    An exception caused by a fault of seglake is left to `exit_with`.

    Args:
        job: does the work and returns its exit code.
        verbose: whether to print the traceback of a failure, too.
        writes: whether the job may commit to a lake.
        explains: whether to explain failures on stderr; False if the job explains them itself.
    """
    _explains.set(explains)
    if not verbose:
        os.environ.setdefault(_RUST_LOG, "off")
    code = int(ExitCode.DONE)
    try:
        code = job()
        sys.stdout.flush()
    except BrokenPipeError as error:
        if not out_is_gone():
            _explain(error, verbose=verbose)
            return ExitCode.FAILED
        abandon_out()
    except KeyboardInterrupt:
        if explains:
            print(_WRITING_INTERRUPTED if writes else _INTERRUPTED, file=sys.stderr)
        return ExitCode.INTERRUPTED
    except WrongCallError as error:
        _explain(error, verbose=verbose)
        return ExitCode.WRONG_CALL
    except (SeglakeError, OSError, MemoryError) as error:
        _explain(error, verbose=verbose)
        return ExitCode.FAILED
    return code


def exit_with(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run `main` with the command line's arguments, and end the process with its exit code.

    The process skips the interpreter's shutdown: during it, threads of the native storage clients
    still run, and they have ended finished audits with SIGABRT.

    Args:
        main: function that gets the arguments after the program's name and returns an exit code.
    """
    make_ready()
    sys.excepthook = _explain_fault
    # A run keeps most of its objects, so searching them for garbage would cost a tenth of its time.
    # A small ingest makes 240,000 and ends before the first search.
    gc.set_threshold(500_000, 20, 50)
    ends_process.set(True)
    try:
        code = main(sys.argv[1:])
    except SystemExit as ended:  # argparse raises this after help or an error message
        code = int(ended.code or 0)
    except KeyboardInterrupt:  # Ctrl-C before the job began
        print(_INTERRUPTED, file=sys.stderr)
        code = ExitCode.INTERRUPTED
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        if code == ExitCode.DONE:  # with another code, the job has already explained the failure
            _explain(error, verbose=False)
            code = ExitCode.FAILED
    sys.stderr.flush()
    _remove_scratch_folder()
    os._exit(code)


def _remove_scratch_folder() -> None:
    """Remove the folder of multiprocessing's socket, as the interpreter would at its end."""
    if "multiprocessing.forkserver" in sys.modules:
        from multiprocessing.util import get_temp_dir

        shutil.rmtree(get_temp_dir(), ignore_errors=True)


def _explain(error: Exception, *, verbose: bool) -> None:
    if not _explains.get():
        return
    if verbose:
        traceback.print_exception(error)
    print(f"seglake: {_text_of(error)}", file=sys.stderr)


def _text_of(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        return f"cannot write to standard output: {error.strerror}"
    return on_one_line(str(error))


def _explain_fault(
    kind: type[BaseException], fault: BaseException, trace: TracebackType | None
) -> None:
    """Explain an unexpected exception (`sys.excepthook`); Python then exits with 1."""
    if not _explains.get():
        return
    if not _VERBOSE.isdisjoint(sys.argv[1:]):
        traceback.print_exception(kind, fault, trace)
    what = on_one_line(f"{kind.__name__}: {fault}")
    print(
        f"seglake: a fault in seglake itself ({what}); nothing half-done is"
        " visible in the tables. Run again with -v for the traceback, and report it.",
        file=sys.stderr,
    )
