"""Erasures among other runs, in a few of the random orders of `make torture PARTS=erasures`."""

import random
from pathlib import Path

import pytest

from torture.erasures import tried


@pytest.mark.parametrize(("seed", "kills"), [(1, False), (2, True), (3, True), (218, False)])
def test_no_order_of_runs_brings_an_erased_record_back(
    tmp_path: Path, seed: int, kills: bool
) -> None:
    schedule, problem = tried(tmp_path, random.Random(seed), kills=kills)
    assert problem == "", schedule
