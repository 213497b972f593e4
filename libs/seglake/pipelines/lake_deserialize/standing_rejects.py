"""Rejects that no run has resolved: counts them, and finds their records to decode again."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seglake.lake.delta_tables import LakeTables
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.pipelines.lake_deserialize.topic_plan import TopicWork
from seglake.value_decoding.rows_task import Attempt, RecordOffsets
from seglake.value_decoding.tasks import RejectedRecords

_COLUMNS = ("topic_id", "partition", "offset", "part", "record_generation", "resolution")


def standing_rejects(tables: LakeTables, source_id: str, topic: str) -> RejectedRecords:
    """Return the rejects of a topic that no run has resolved."""
    numbers: dict[tuple[str, Attempt, int], int] = {}
    rows = tables.rows(VALUE_REJECTS, source_id, _COLUMNS, topic=topic)
    for row in rows.to_pylist():
        attempt = Attempt(row["topic_id"], row["partition"], row["record_generation"])
        place = row["part"], attempt, row["offset"]
        numbers[place] = numbers.get(place, 0) + (1 if row["resolution"] is None else -1)
    standing = [place for place, number in numbers.items() if number > 0]
    return RejectedRecords(_offsets(standing, "value"), _offsets(standing, "key"))


def _offsets(places: Iterable[tuple[str, Attempt, int]], part: str) -> RecordOffsets:
    found: dict[Attempt, set[int]] = {}
    for of, attempt, offset in places:
        if of == part:
            found.setdefault(attempt, set()).add(offset)
    return {attempt: frozenset(offsets) for attempt, offsets in found.items()}


def current_count(source: LakeRegistry, topic: str, offsets: RecordOffsets) -> int:
    """Return the number of records without those that lost an election."""
    count = 0
    for attempt, found in offsets.items():
        place = {"topic": topic, "topic_id": attempt.topic_id, "partition": attempt.partition}
        log = source.ledger.of_row(place)
        count += sum(log.is_current(offset, attempt.generation) for offset in found)
    return count


def retries_of(
    tables: LakeTables, source: LakeRegistry, generations: Mapping[str, int]
) -> Iterator[TopicWork]:
    """Yield the topics with unresolved rejects of values, whose records are decoded again.

    Args:
        tables: the lake.
        source: a registry and the ledger of its cluster.
        generations: the published generation of each topic's decoded values.
    """
    for topic, generation in generations.items():
        found = standing_rejects(tables, source.source_id, topic)
        if found.values:
            yield TopicWork(
                source=source,
                topic=topic,
                generation=generation + 1,
                attempts={attempt: [_range(each)] for attempt, each in found.values.items()},
                retried=found,
            )


# Any: columns of the ledger have many types.
def _range(offsets: frozenset[int]) -> Mapping[str, Any]:
    return {"kind": "", "start_offset": min(offsets), "next_offset": max(offsets) + 1}
