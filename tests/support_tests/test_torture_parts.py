"""Each part of `make torture` begins: one round of the parts that begin within seconds.

Cases of the other parts are tests of their rooms; their campaigns take longer before the first.
"""

import importlib

import pytest

from torture import erasures, schedules
from torture.__main__ import PARTS

_ELSEWHERE = {"faults", "storage_faults", "hostile_bytes", "latest_state", "typed"}
_ROUNDS = {"exhausted": 0.01, "schedules": 0.06, "tiers": 0.01, "erasures": 0.01}


def test_each_part_is_begun_here_or_elsewhere() -> None:
    assert {*PARTS} == _ELSEWHERE | _ROUNDS.keys()


@pytest.mark.parametrize("name", _ROUNDS)
def test_a_round_of_the_part_finds_nothing_wrong(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "_AT_A_TIME", 5)
    monkeypatch.setattr(erasures, "_SCHEDULES", 2)
    rows = [*importlib.import_module(f"torture.{name}").campaign(_ROUNDS[name], 1)]
    assert sum(row.tried for row in rows) > 0
    assert [row for row in rows if row.wrong] == []
