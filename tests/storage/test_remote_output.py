"""Files that are written elsewhere: nothing but `close` finishes them."""

from typing import TYPE_CHECKING

import pytest

from seglake.storage.remote_output import RemoteOutput

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(RemoteOutput):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[object] = []

    def _send(self, data: "ReadableBuffer") -> None:
        self.told.append(bytes(data))

    def _finish(self) -> None:
        self.told.append("finish")

    def _forget(self) -> None:
        self.told.append("forget")


def test_closing_finishes_the_file_once() -> None:
    with _Output() as output:
        assert (output.write(b"ab"), output.write(b""), output.tell()) == (2, 0, 2)
    output.close()
    assert output.told == [b"ab", "finish", "forget"]


def _fail_half_way(output: RemoteOutput) -> None:
    with output:
        output.write(b"half")
        raise KeyError


def test_block_that_fails_finishes_nothing() -> None:
    output = _Output()
    with pytest.raises(KeyError):
        _fail_half_way(output)
    assert output.closed
    assert "finish" not in output.told


def test_output_that_nobody_closed_is_not_finished() -> None:
    output = _Output()
    output.write(b"half")
    told = output.told
    del output
    assert told[-1] == "forget"
    assert "finish" not in told
