"""Many requests to a place, side by side where that saves time."""

import _thread
import signal
import threading
import time

import pytest

from seglake.storage.errors import NotFoundError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.many_requests import each
from seglake.storage.storages import Storages

_STORAGE = Storages(HadoopProperties({}))


@pytest.mark.parametrize("path", ["/disk", "s3://bucket/disk", "hdfs://host:1/disk"])
def test_answers_come_in_the_order_of_the_items(path: str) -> None:
    numbers = [*range(200)]
    assert each(lambda number: -number, numbers, storage=_STORAGE, path=path) == [
        -number for number in numbers
    ]


def test_far_places_are_asked_from_several_threads_and_disks_from_one() -> None:
    both = threading.Barrier(2, timeout=10)
    each(lambda _: both.wait(), [1, 2], storage=_STORAGE, path="s3://bucket/disk")
    threads = {*each(lambda _: threading.get_ident(), [1, 2], storage=_STORAGE, path="/disk")}
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("path", ["/disk", "s3://bucket/disk"])
def test_first_error_ends_it(path: str) -> None:
    asked = []

    def ask(number: int) -> None:
        asked.append(number)
        if number:
            time.sleep(0.02)  # so that the first error is seen long before all were asked
        raise NotFoundError(action="list", path=f"{number}")

    with pytest.raises(NotFoundError):
        each(ask, [*range(1000)], storage=_STORAGE, path=path)
    assert len(asked) < 1000


def test_ctrl_c_waits_for_no_request_that_hangs() -> None:
    answered, answers = threading.Event(), []

    def ask(number: int) -> None:
        if number:
            _thread.interrupt_main()
        answered.wait(60)
        answers.append(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            each(ask, [0, 1], storage=_STORAGE, path="s3://bucket/disk")
        assert answers == []
    finally:
        answered.set()
        signal.signal(signal.SIGINT, before)
