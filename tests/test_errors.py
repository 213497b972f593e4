"""Errors come back from worker processes with their text and their facts."""

import pickle

import pytest

from seglake.errors import SeglakeError, WrongCallError
from seglake.lake.errors import DataFileError, TablesDisagreeError
from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.storage.errors import FileShrankError, UnsupportedUriError
from seglake.task_engine.errors import EngineError

_ERRORS = [
    SeglakeError("x"),
    EngineError(engine="local", reason="it died", task_index=3),
    FileShrankError(path="/x", expected_bytes=5, found_bytes=3),
    UnsupportedUriError(uri="ftp://x", schemes=["file:/x"]),
    TablesDisagreeError(topic="t", versions=[1, 2], reason="why"),
    DataFileError(path="/x", expected_bytes=5, found_bytes=None),
    WrongPathError(path="/x", reason="why"),
]


@pytest.mark.parametrize("error", _ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_as_it_was(error: SeglakeError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_wrong_call_is_told_from_a_failing_world() -> None:
    wrong = [error for error in _ERRORS if isinstance(error, WrongCallError)]
    assert [type(error).__name__ for error in wrong] == ["UnsupportedUriError", "WrongPathError"]
