"""What is recorded of a run, however it ends."""

import pytest

from seglake.errors import SeglakeError, WrongCallError
from seglake.run_records.run_record import RunEnd, RunStart, error_text, recorded, shown_place

_START = RunStart(
    command="ingest", run_id="r", engine="local", sources=["/disk"], lake="/lake", writes=True
)


class _Kept:
    def __init__(self) -> None:
        self.ends: list[RunEnd] = []

    def begin(self, start: RunStart) -> None:
        assert start is _START

    def end(self, start: RunStart, end: RunEnd) -> None:
        self.ends.append(end)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (WrongCallError("no such lake"), 2, "no such lake"),
        (SeglakeError("lost"), 1, "lost"),
        (PermissionError("denied"), 1, "denied"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError(b"what a record holds"), 1, "ValueError"),
    ],
)
def test_a_failure_is_recorded_with_its_exit_code_and_goes_on(
    error: BaseException, code: int, text: str
) -> None:
    kept = _Kept()
    with pytest.raises(type(error)), recorded([kept], _START):
        raise error
    assert [end.exit_code for end in kept.ends] == [code]
    assert error_text(error) == text
    assert not kept.ends[0].is_done


@pytest.mark.parametrize(("code", "is_done"), [(0, True), (3, True), (1, False)])
def test_a_run_that_a_person_should_look_at_is_done(code: int, is_done: bool) -> None:
    kept = _Kept()
    with recorded([kept], _START) as hand_over:
        hand_over(code, {"records": 7})
    assert (kept.ends[0].is_done, kept.ends[0].summary) == (is_done, {"records": 7})


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/data/lake", "/data/lake"),
        ("s3a://bucket/lake", "s3a://bucket/lake"),
        ("s3a://key:secret@bucket/lake", "s3a://bucket/lake"),
        ("s3a://key:sec@ret@bucket/a@b", "s3a://bucket/a@b"),
        ("hdfs://me@host:9000/lake", "hdfs://host:9000/lake"),
    ],
)
def test_a_place_is_shown_without_a_user(given: str, shown: str) -> None:
    assert shown_place(given) == shown


def test_a_local_place_is_shown_as_an_absolute_one() -> None:
    assert shown_place("lake").endswith("/lake")
    assert shown_place("lake").startswith("/")
