"""Damage of a partition, without what is being committed."""

from seglake.pipelines.lake_report.damage import PartitionDamage, partition_damage
from support.lakes import Row
from support.proofs import Proved


def _damage(*rows: Row) -> PartitionDamage:
    """Return the damage by rows of `quarantine`, of which generation 1 is committed."""
    made = [{"run_id": "r", **row} for row in rows]
    return partition_damage(Proved(published=1, quarantine=made).fact("damaged_places"), ())


def _places(*generations: int) -> list[Row]:
    return [{"position": at, "generation": each} for at, each in enumerate(generations)]


def test_damage_of_a_commit_that_is_not_in_the_ledger_is_left_out() -> None:
    assert _damage(*_places(2)) == PartitionDamage()
    found = _damage(*_places(1, 2, 1))
    assert [place.position for place in found.places] == [0, 2]
    assert found.place_count == 2


def test_a_resolution_that_is_not_in_the_ledger_resolves_nothing() -> None:
    resolved = {"generation": 2, "resolution": "sibling"}
    (place,) = _damage({"generation": 1}, resolved).places
    assert not place.is_resolved


def test_a_place_that_a_commit_on_its_way_has_again_stays() -> None:
    found = _damage({"generation": 1, "run_id": "a"}, {"generation": 2, "run_id": "b"})
    assert ([place.run_id for place in found.places], found.place_count) == (["a"], 1)


def test_places_on_their_way_take_no_others_place_in_the_list() -> None:
    found = _damage(*_places(*[2] * 59), {"position": 99, "generation": 1})
    assert ([place.position for place in found.places], found.place_count) == ([99], 1)
