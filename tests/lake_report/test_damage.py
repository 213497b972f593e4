"""Damage of a partition, without what is being committed."""

from seglake.pipelines.lake_report.damage import Damage, damage_of
from support.lakes import Row
from support.proofs import Proved


def _places(*generations: int) -> list[Row]:
    rows = [
        {"position": at, "generation": generation, "run_id": "r"}
        for at, generation in enumerate(generations)
    ]
    return Proved(quarantine=rows).fact("damaged_places")


def test_damage_of_a_commit_that_is_not_in_the_ledger_is_left_out() -> None:
    assert damage_of(_places(2), (), 1) == Damage()
    found = damage_of(_places(1, 2, 1), (), 1)
    assert [place.position for place in found.places] == [0, 2]
    assert found.place_count == 2
