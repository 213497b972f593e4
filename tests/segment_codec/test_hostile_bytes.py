"""Some of the hostile inputs of `make torture`, and all that were once too much."""

import base64
from pathlib import Path

import pytest

from support.cases import cases
from torture.hostile import bits, bombs
from torture.hostile.kinds import KINDS
from torture.hostile.worker import Found, repeated

ONCE_WRONG = Path(__file__).with_name("hostile_inputs.txt").read_text(encoding="ascii").split("\n")
INPUTS = [line for line in ONCE_WRONG if line and not line.startswith("#")]
QUICK = {
    *("snappy that claims 4 GiB", "snappy that claims the limit", "xerial, blocks that claim"),
    *("lz4 that claims 2^63", "zstd, blocks of one byte", "zstd that claims 2^64"),
    *("a record of 350,000 headers", "header counts that lie", "tiny records"),
}


@pytest.mark.parametrize(
    ("kind", "count"),
    [("lying", 300), ("damaged", 250), ("resealed", 250), ("internal_records", 1000)],
)
def test_hostile_bytes_break_no_promise(kind: str, count: int) -> None:
    for answer in repeated(kind, 1, range(count)):
        assert not isinstance(answer, Found), str(answer)


@pytest.mark.parametrize("kind", ["bits", "bits_of_brokers"])
def test_flipped_bit_costs_its_batch_alone(kind: str) -> None:
    step = bits.made_count() // 250 | 1  # odd: other bits of each byte
    for answer in repeated(kind, 1, range(0, bits.made_count(), step)):
        assert not isinstance(answer, Found), str(answer)


@pytest.mark.matrix
def test_every_bit_of_each_format_and_codec_costs_its_batch_alone() -> None:
    for answer in repeated("bits", 1, range(bits.made_count())):
        assert not isinstance(answer, Found), str(answer)


@pytest.mark.parametrize("name", cases(bombs.names(), telling=QUICK))
def test_bomb_takes_bounded_time(name: str) -> None:
    assert bombs.check(bombs.made(name)) >= 0


@pytest.mark.parametrize("line", INPUTS)
def test_input_that_was_once_wrong_breaks_no_promise(line: str) -> None:
    kind, content = line.split()
    KINDS[kind].check(base64.b64decode(content))
