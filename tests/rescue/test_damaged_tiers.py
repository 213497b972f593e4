"""Damaged copies of real tiers: no row is made up, and what is lacking is said.

A few; `make torture PARTS=tiers` draws more.
"""

import random
from pathlib import Path

import pytest

from torture.tiers import tried


@pytest.mark.parametrize("number", range(8))
def test_a_damaged_tier_gives_no_false_row_and_hides_nothing(number: int, tmp_path: Path) -> None:
    damage, problem = tried(tmp_path, random.Random(f"rescue/{number}"))
    assert problem == "", damage
