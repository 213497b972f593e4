"""Drawn clusters, decoded in steps and at once, have the rows that other libraries read."""

import random
from pathlib import Path

import pytest

from torture.typed import tried


@pytest.mark.parametrize("seed", ["35"])
def test_each_record_is_one_row_or_one_reject_whatever_the_steps(tmp_path: Path, seed: str) -> None:
    steps, problem = tried(tmp_path, random.Random(seed), kills=True)
    assert problem == "", steps
