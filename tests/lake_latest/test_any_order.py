"""Runs of `latest` among other runs, in a few of the random orders of `make torture`."""

import random
from pathlib import Path

import pytest

from torture.latest_state import tried


@pytest.mark.parametrize(("seed", "kills"), [(31, False), (100, True)])
def test_a_table_has_the_rows_of_the_views_whatever_ran_in_which_order(
    tmp_path: Path, seed: int, kills: bool
) -> None:
    steps, problem = tried(tmp_path, random.Random(seed), kills=kills)
    assert problem == "", steps
