"""Damage of a partition, from the rows that a report's queries return."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple

from seglake.findings.losing_tails import TailsOfPartition, tails_of_batches
from seglake.pipelines.lake_report.model import DamagedPlace

_NAMES = tuple(field.name for field in fields(DamagedPlace))


class PartitionDamage(NamedTuple):
    """Damage of one partition.

    Attributes:
        places: the listed damaged spans, unresolved spans first.
        place_count: number of all damaged spans, including spans that are not listed.
        tails: quarantined batches of replicas that lost an election.
    """

    places: tuple[DamagedPlace, ...] = ()
    place_count: int = 0
    tails: TailsOfPartition = MappingProxyType({})


# Any: columns have many types.
def partition_damage(
    places: Sequence[Mapping[str, Any]], losing: Sequence[Mapping[str, Any]]
) -> PartitionDamage:
    """Return the damage of a partition.

    Args:
        places: the partition's rows from the query `damaged_places`.
        losing: the partition's rows from the query `losing_batches`.
    """
    found = (DamagedPlace(**{name: row[name] for name in _NAMES}) for row in places)
    total = places[0]["total"] if places else 0
    return PartitionDamage(tuple(found), total, tails_of_batches(losing))
