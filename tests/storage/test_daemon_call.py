"""Calls that may wait without end do not keep the process alive."""

import subprocess
import sys
import threading

import pytest

from seglake.storage.daemon_call import called


def test_the_answer_comes_from_another_thread() -> None:
    assert called(threading.get_ident).result(9) != threading.get_ident()


def test_what_the_call_raises_is_raised_where_it_is_waited_for() -> None:
    answer = called(lambda: int("no number"))
    with pytest.raises(ValueError, match="no number"):
        answer.result(9)


def test_the_process_ends_though_a_call_still_waits() -> None:
    program = (
        "import threading\n"
        "from seglake.storage.daemon_call import called\n"
        "called(threading.Event().wait)\n"
        "print('end')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "end\n"
